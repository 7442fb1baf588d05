"""What authors of level formats import (public; see ``docs/public-modules.md``)."""

from finch_core.interface.level import (
    RANDOM_ACCESS,
    Field,
    Format,
    Mode,
    Order,
    check_child,
    integer_dtype,
    leaf_dtype,
)

__all__ = [
    "RANDOM_ACCESS",
    "Field",
    "Format",
    "Mode",
    "Order",
    "check_child",
    "integer_dtype",
    "leaf_dtype",
]
