"""What authors of level formats import (public; see ``docs/public-modules.md``)."""

from finch_core.interface.abilities import RANDOM_ACCESS, Order, Sharing
from finch_core.interface.level import Format, Mode, check_child, check_leaf
from finch_core.interface.offers import Fibers, Offer
from finch_core.interface.storage import Field, integer_dtype, leaf_dtype
from finch_core.interface.structure import Pieces, Structure

__all__ = [
    "RANDOM_ACCESS",
    "Fibers",
    "Field",
    "Format",
    "Mode",
    "Offer",
    "Order",
    "Pieces",
    "Sharing",
    "Structure",
    "check_child",
    "check_leaf",
    "integer_dtype",
    "leaf_dtype",
]
