"""The abilities of a level format: the order of updates, read protocols, and capacity limits.

Each attribute has a default, so that an author may leave it out.
"""

from __future__ import annotations

import enum
from typing import ClassVar

from finch_core.interface.capacity import Limit
from finch_core.interface.offers import Fibers, Offer
from finch_core.interface.structure import Structure

RANDOM_ACCESS = "follow"
"""The protocol by which a single index is read, of levels that have random access."""

PROTOCOLS = ("walk", "gallop", RANDOM_ACCESS)
"""The protocols that a program may name."""


class Order(enum.Enum):
    """The updates that a level takes, in terms of the loops around a write.

    ``ONCE``: each fiber is visited once, fibers and indices in increasing order. ``ANY``: any
    index of any assembled fiber, any number of times.
    """

    ONCE = "in order, once"
    ANY = "in any order"


class Sharing(enum.Enum):
    """What the turns of a parallel loop may do to one level at the same time.

    ``DISJOINT``: update elements at different indices of its dimension: they share no memory, and
    updates change nothing else. ``IN_PLACE``: update different elements that are stored, in place.
    ``COPIED``: each part of the loop reduces into a copy of the leaf's values: a level above has no
    fields, and subfiber ``i`` of fiber ``p`` at position ``p * shape + i``; a leaf stores one value
    at each position, or one in all.
    ``ROWS``: each part writes the subfibers of indices of its own, ``p * shape + i``, in a level
    that begins at the first of them (``BoundLevel.first``). ``JOINED``: each part writes to a level
    of its own; these are appended one after another, by ``Format.join``, or element by element. An
    outermost level has ``ROWS`` too, takes any order or ``resumes``.
    """

    DISJOINT = "disjoint"
    IN_PLACE = "in place"
    COPIED = "copied"
    ROWS = "rows"
    JOINED = "joined"


class Abilities:
    """The abilities of a level. Subclasses override the attributes."""

    # -- written ------------------------------------------------------------------------

    order: ClassVar[Order] = Order.ANY
    """The order in which the level takes updates."""
    thaws: ClassVar[bool] = True
    """Whether an assembled and frozen tensor can be updated again."""
    resumes: ClassVar[bool] = False
    """Whether a level of order *once* can have a fiber unfurled again, to append to it
    (``BoundLevel.resumed``). Writes that do not come after the stored entries fail at run
    time."""
    reads_updates: ClassVar[bool] = False
    """Whether it can be read while it is updated: ``follow``, or the only looplet of a level that
    stores every index, finds what was written since the level was declared or thawed.

    A tensor of such levels may be read and updated in the same loops. Updates take any order, and
    ``unwrap`` of a leaf reads what was written."""
    shares: ClassVar[bool] = True
    """Whether several indices may share a subfiber, as in a run. Updates in place then change a
    run as a whole, or are refused; where each index has its own, they change any."""
    settles: ClassVar[bool] = False
    """Whether a leaf keeps a value that annihilates the operator of its updates, whatever follows:
    a product of floats that is zero stays zero, though zero times NaN is NaN. Not in ``strict``
    kernels. ``inexact_fixed_point`` (``looplets.short_circuit``) gives the condition."""
    limit: ClassVar[Limit | None] = None
    """What a fiber can hold, if that is not everything (see ``capacity``). Writes beyond it fail
    at run time. The test suites write no more."""

    parallel: ClassVar[frozenset[Sharing]] = frozenset()
    """What the turns of a parallel loop may do to it. Without any, an update of a tensor from
    outside of the loop is refused; it may be read, and be declared by each turn."""

    @property
    def resets(self) -> bool:
        """Whether ``declare`` keeps what is assembled, and ``reset`` empties a part of it.

        A parent then clears what was written, instead of assembling everything again.
        """
        return False

    # -- stored -------------------------------------------------------------------------

    structure: ClassVar[Structure] = Structure()
    """Which indices a fiber stores, and in what pieces: results of array functions get the format
    that has the structure of the result. The default fits any level."""

    @classmethod
    def offers(cls, fibers: Fibers) -> tuple[Offer, ...]:
        """What it takes to store fibers of these statistics, for ``choose_format``; nothing where
        the level cannot, or does not want to be chosen."""
        return ()

    # -- read ---------------------------------------------------------------------------

    protocols: ClassVar[frozenset[str]] = frozenset({"walk"})
    """The protocols by which it can be read, besides the default."""
    random_access: ClassVar[str] = ""
    """How one index of a fiber is found, if that takes more than constant time, such as ``a
    binary search of its runs``. Warnings of reads against the storage order quote it."""


__all__ = ["PROTOCOLS", "RANDOM_ACCESS", "Abilities", "Order", "Sharing"]
