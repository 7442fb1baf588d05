"""The passes to Finch Normal Form, in order."""

from finch_core.lower.carried_values import carried_values
from finch_core.lower.concordize import concordize
from finch_core.lower.dimensionalize import dimensionalize
from finch_core.lower.early_exits import early_exits
from finch_core.lower.equal_patterns import equal_patterns
from finch_core.lower.fixed_reductions import fixed_reductions
from finch_core.lower.in_place import in_place
from finch_core.lower.index_casts import index_casts
from finch_core.lower.left_out import left_out
from finch_core.lower.lifecycle import lifecycle
from finch_core.lower.pass_state import Check, Unit
from finch_core.lower.races import races, stays_in_place
from finch_core.lower.scopes import scopes
from finch_core.lower.scratch import scratch
from finch_core.lower.wrapperize import wrapperize
from finch_core.lower.write_order import write_order

PASSES = (
    scopes,
    races,
    fixed_reductions,
    wrapperize,
    dimensionalize,
    left_out,
    in_place,
    stays_in_place,
    lifecycle,
    early_exits,
    carried_values,
    concordize,
    index_casts,
    equal_patterns,
    write_order,
    scratch,
)
"""The passes, in order: each maps a statement and the ``Unit`` to a statement."""

__all__ = [
    "PASSES",
    "Check",
    "Unit",
    "carried_values",
    "concordize",
    "dimensionalize",
    "in_place",
    "early_exits",
    "equal_patterns",
    "fixed_reductions",
    "index_casts",
    "left_out",
    "lifecycle",
    "races",
    "scopes",
    "scratch",
    "stays_in_place",
    "wrapperize",
    "write_order",
]
