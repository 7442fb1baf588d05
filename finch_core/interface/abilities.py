"""What a format says it can do: the order in which it takes updates, the ways to read it, what it
can hold. Each has a default that asks nothing of an author."""

from __future__ import annotations

import enum
from typing import ClassVar

from finch_core.interface.capacity import Limit

RANDOM_ACCESS = "follow"
"""The protocol by which a single index is read, of levels that have it."""

PROTOCOLS = ("walk", "gallop", RANDOM_ACCESS)
"""The protocols that a program may name."""


class Order(enum.Enum):
    """Which updates a level takes, in terms of the loops around a write.

    ``ONCE``: each fiber is visited once, fibers and indices in increasing order. ``ANY``: any index
    of any assembled fiber, as often as one likes.
    """

    ONCE = "in order, once"
    ANY = "in any order"


class Abilities:
    """What a level can do. Subclasses say otherwise by attributes of the same names."""

    # -- written ------------------------------------------------------------------------

    order: ClassVar[Order] = Order.ANY
    """The order in which it takes updates."""
    thaws: ClassVar[bool] = True
    """Whether an assembled and frozen tensor can be updated again."""
    resumes: ClassVar[bool] = False
    """Whether a level of order *once* can be asked for a fiber again, to write behind what it has
    stored (``BoundLevel.resumed``): it refuses, while a program runs, what does not come behind."""
    limit: ClassVar[Limit | None] = None
    """What a fiber can hold, where that is not everything (see ``capacity``): writes of more are
    refused while a program runs. The test suites ask for no more."""

    @property
    def resets(self) -> bool:
        """Whether ``declare`` leaves what is assembled as it was, and ``reset`` empties a part of
        it: a parent then clears what was written, instead of assembling all of it again."""
        return False

    # -- read ---------------------------------------------------------------------------

    protocols: ClassVar[frozenset[str]] = frozenset({"walk"})
    """The ways to read it beside the default."""
    random_access: ClassVar[str] = ""
    """How one index of a fiber is found, where that takes more than constant time: ``a binary
    search of its runs``, say. Accesses against the order of the storage are warned of with it."""


__all__ = ["PROTOCOLS", "RANDOM_ACCESS", "Abilities", "Order"]
