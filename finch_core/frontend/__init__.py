"""The frontend: ``@kernel`` functions, parsed and never run, become programs of ``notation``."""

from finch_core.frontend.inlining import expression_of
from finch_core.frontend.names import UNBOUND, lookup
from finch_core.frontend.parser import parse

__all__ = ["UNBOUND", "expression_of", "lookup", "parse"]
