"""The passes to Finch Normal Form, one file each, and the lowering of normal form to assembly."""

from finch_core.lower.concordize import concordize
from finch_core.lower.dimensionalize import dimensionalize
from finch_core.lower.index_casts import widths
from finch_core.lower.lifecycle import lifecycle
from finch_core.lower.pass_state import Check, Unit
from finch_core.lower.scopes import scopes
from finch_core.lower.scratch import scratch
from finch_core.lower.wrapperize import wrapperize
from finch_core.lower.write_order import orders

PASSES = (scopes, wrapperize, dimensionalize, lifecycle, concordize, widths, orders, scratch)
"""The passes, in order: each maps a statement and the ``Unit`` to a statement."""

__all__ = [
    "PASSES",
    "Check",
    "Unit",
    "concordize",
    "dimensionalize",
    "lifecycle",
    "orders",
    "scopes",
    "scratch",
    "widths",
    "wrapperize",
]
