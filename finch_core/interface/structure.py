"""The structure of a level: which indices of a fiber it stores, and in what pieces.

Array functions choose the format of a result by it: a result has the structure that follows from
those of the operands, and is stored by a level that declares this structure.
"""

from __future__ import annotations

import enum

from finch_core.records import frozen


class Pieces(enum.IntEnum):
    """What the stored part of a fiber consists of: single indices, ranges of indices with a
    subfiber each, or ranges of indices that share one subfiber."""

    POINTS = 0
    BLOCKS = 1
    RUNS = 2


@frozen
class Structure:
    """The structure of the fibers of a level.

    ``gaps``: indices may be absent, and hold the fill value. ``single``: there is at most one
    piece. ``pads``: one piece takes all indices between its first and its last, those that are
    not written too. ``joined``: levels of this format below one another share their entries,
    or fibers what they store, so that none is chosen for a dimension by itself.
    """

    pieces: Pieces = Pieces.POINTS
    gaps: bool = True
    single: bool = False
    pads: bool = False
    joined: bool = False


__all__ = ["Pieces", "Structure"]
