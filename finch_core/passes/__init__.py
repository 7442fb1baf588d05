"""The passes to Finch Normal Form, one file each, in the order of the pipeline."""

from finch_core.passes.concordize import concordize
from finch_core.passes.dimensionalize import dimensionalize
from finch_core.passes.lifecycle import lifecycle
from finch_core.passes.orders import orders
from finch_core.passes.scopes import scopes
from finch_core.passes.scratch import scratch
from finch_core.passes.unit import Check, Unit
from finch_core.passes.widths import widths
from finch_core.passes.wrapperize import wrapperize

PASSES = (scopes, wrapperize, dimensionalize, lifecycle, concordize, widths, orders, scratch)
"""The pipeline: each maps a statement and the ``Unit`` to a statement."""

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
