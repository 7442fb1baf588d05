"""The frontend: the source of an ``@kernel`` function, which is never run, becomes a program."""

from finch_core.frontend.inlining import expression_of
from finch_core.frontend.names import UNBOUND, lookup
from finch_core.frontend.parser import parse

__all__ = ["UNBOUND", "expression_of", "lookup", "parse"]
