"""The level interface: the five functions by which a format takes part in compilation (paper,
Table "The five functions that define a level").

A *level* is a collection of fibers, numbered by *position*; a leaf level holds scalars. A
format is an immutable object (attrs, frozen, hashable) that names the buffers and scalars of
its level and emits the code that works on them. The compiler binds those to variables; only the
methods of ``Storage``, such as ``sizes`` and ``validate``, see arrays.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from finch_core.errors import FormatError
from finch_core.interface.abilities import Abilities
from finch_core.interface.storage import Storage
from finch_core.ir.expressions import TRUE

if TYPE_CHECKING:
    import numpy as np

    from finch_core.interface.context import Context
    from finch_core.interface.looplet import Alternatives, Looplet
    from finch_core.interface.rows import Array
    from finch_core.interface.tensorlike import BoundLevel, Fiber
    from finch_core.ir.expressions import Expr
    from finch_core.ir.operators import Operator


class Mode(enum.Enum):
    """Whether an access reads a frozen tensor or updates a thawed one."""

    READ = "read"
    UPDATE = "update"


class Format(Storage, Abilities):
    """The base class of level formats.

    Subclasses are attrs-frozen classes with a field ``lvl`` (the child format) unless they are
    leaves. They implement the five functions (a leaf ``unwrap`` in place of ``unfurl``),
    ``fields`` and ``sizes`` (see ``Storage``), and override the attributes of ``Abilities``.
    """

    name: ClassVar[str] = ""
    is_leaf: ClassVar[bool] = False
    is_variable: ClassVar[bool] = False
    """Whether it is the core's own leaf of plain names that a kernel assigns more than once."""

    @property
    def child(self) -> Format | None:
        """The format of the subfibers; None in a leaf."""
        return getattr(self, "lvl", None)

    def levels(self) -> tuple[Format, ...]:
        """This level and all levels below, outermost first."""
        found: list[Format] = [self]
        while (child := found[-1].child) is not None:
            found.append(child)
        return tuple(found)

    # -- the five functions -------------------------------------------------------------

    def declare(self, ctx: Context, lvl: BoundLevel, init: Expr) -> None:
        """Emit code that empties the level for updates; no position is assembled afterwards.

        ``init`` is the value to which the tensor is declared.
        """
        raise NotImplementedError

    def assemble(self, ctx: Context, lvl: BoundLevel, start: Expr, stop: Expr) -> None:
        """Emit code that allocates empty fibers at positions ``start`` up to ``stop``.

        Positions below ``start`` are assembled already.
        """
        raise NotImplementedError

    def freeze(self, ctx: Context, lvl: BoundLevel, stop: Expr) -> None:
        """Emit code that ends updates: positions up to ``stop`` are assembled before, readable
        after."""
        raise NotImplementedError

    def thaw(self, ctx: Context, lvl: BoundLevel, stop: Expr) -> None:
        """Emit code that resumes updates: positions up to ``stop`` are frozen before, assembled
        after."""
        raise NotImplementedError

    def unfurl(self, ctx: Context, fiber: Fiber, mode: Mode, protocol: str) -> Looplet:
        """The looplet over one fiber: of subfibers to read, or of subfibers to update.

        ``protocol`` is one of ``protocols``, or empty for the default.
        """
        raise NotImplementedError

    # -- a leaf has this in place of ``unfurl`` -----------------------------------------

    def unwrap(
        self, ctx: Context, fiber: Fiber, mode: Mode, op: Operator | None, value: Expr | None
    ) -> Expr | None:
        """The scalar of a leaf: returns its value (``READ``) or emits its update (``UPDATE``).

        The update is ``leaf = op(leaf, value)``, or plain assignment where ``op`` is None; it
        marks the fiber dirty if something was written.
        """
        raise NotImplementedError

    # -- only some formats have these ----------------------------------------------------

    def reset(self, ctx: Context, lvl: BoundLevel, start: Expr, stop: Expr) -> None:
        """Emit code that empties the assembled fibers at positions ``start`` up to ``stop``.

        Called only on levels with ``resets``.
        """
        raise NotImplementedError

    def join(
        self, ctx: Context, lvl: BoundLevel, part: BoundLevel, start: Expr, count: Expr
    ) -> None:
        """Emit code that appends the first ``count`` fibers of ``part``, at positions from
        ``start`` on, and makes room for them. Both are in update mode.

        Optional, for levels with ``Sharing.JOINED``: without it, elements are copied one by one.
        """
        raise NotImplementedError

    def extend(self, ctx: Context, lvl: BoundLevel, part: BoundLevel) -> None:
        """Emit code that appends the subfibers of the one fiber of ``part`` to the one fiber of
        ``lvl``, and makes room for them. Both are outermost levels in update mode, and the indices
        of ``part`` are after those of ``lvl``.

        Optional, for levels with ``Sharing.JOINED`` and without ``Sharing.ROWS``, as ``join`` is.
        """
        raise NotImplementedError

    def position_from(self, ctx: Context, fiber: Fiber, index: Expr) -> Expr | None:
        """The position of the first subfiber whose index is ``index`` or more, to divide the work
        of a parallel loop by what is stored; None: it is not known."""
        return None

    def stored_before(self, ctx: Context, lvl: BoundLevel, stop: Expr) -> Expr | None:
        """How many leaf values the fibers at positions below ``stop`` store, to divide work; None:
        it is not known."""
        return stop if self.is_leaf else None

    def alike(
        self, ctx: Context, lvl: BoundLevel, other: BoundLevel, stop: Expr
    ) -> tuple[Expr, Expr] | None:
        """Whether the fibers at positions below ``stop`` have the same subfibers as those of
        ``other``, a level of the same class and fields, each at the same position; and how many
        these are. The dimensions are equal.

        One walk then serves tensors of equal patterns. None (also by default): it is not known.
        """
        return None

    def locate(
        self, fields: Mapping[str, Any], position: int, index: int, shape: int
    ) -> int | None:
        """The position of subfiber ``index`` of the fiber at ``position``, found in the buffers
        (``fields``, as for ``sizes``); -1 where it is not stored. ``A[i, j]`` is read in this way;
        None (also by default): by a kernel."""
        return None

    def value_at(self, fields: Mapping[str, Any], position: int) -> Any:
        """The value of a leaf at a position, found in the buffers; None (also by default): it is
        read by a kernel."""
        return None

    def from_rows(self, rows: Array, fill: Any) -> tuple[dict[str, Any], Array] | None:
        """The fields of a level whose fibers have the elements of ``rows``, an array of shape
        ``(positions, shape, ...)`` whose further dimensions are those of the levels below; and the
        subfibers that are stored, as the rows of the level below. Of a leaf: its fields for the
        values ``rows``, and ``rows``.

        The buffers are those that a kernel makes which writes every element that is not ``fill``;
        their integers may be of any dtype. A few elements of an array are converted in this way;
        None (also by default): by a kernel."""
        return None

    def to_rows(
        self, positions: int, shape: int, fields: Mapping[str, Any], below: Array | None, fill: Any
    ) -> Array | None:
        """The fibers at ``positions`` as an array of shape ``(positions, shape, ...)``, given its
        buffers (``fields``, as for ``sizes``) and the rows ``below``, of the subfibers that are
        stored; of a leaf, its values: the inverse of ``from_rows``, in a new array, or in
        ``below``'s memory.

        Tensors of few elements become arrays in this way; None (also by default): by a kernel."""
        return None

    def is_stored(self, ctx: Context, fiber: Fiber) -> Expr:
        """Whether a leaf stores its value (see ``TensorLike.is_stored``); its parents do."""
        return TRUE

    def cases(self, ctx: Context, fiber: Fiber) -> Alternatives | None:
        """The two cases of a leaf's value (see ``TensorLike.cases``); None if there is only one."""
        return None

    def settled(
        self, ctx: Context, fiber: Fiber, op: Operator, dtype: np.dtype[Any]
    ) -> Expr | None:
        """The condition under which updates of a leaf have no further effect (see
        ``TensorLike.settled``)."""
        return None


def check_child(child: Any) -> Format:
    """``child`` if it is a level format (attrs converter); ``FormatError`` otherwise."""
    if isinstance(child, type) and issubclass(child, Format):
        child = child()
    if not isinstance(child, Format):
        raise FormatError(
            f"a level's child must be a level format, not {child!r}",
            hint="nest formats down to a leaf, as in Dense(SparseList(Element(0.0)))",
        )
    if child.is_leaf and (fields := child.fields) and not any(f.is_buffer for f in fields):
        raise FormatError(
            f"a {child.name} holds one value, which all positions of a level would share",
            hint="use Element, which has a value for each position",
        )
    return child


def check_leaf(child: Any) -> Format:
    """``check_child`` of a level that takes leaves alone, as it reads their values; the suites then
    nest nothing else in it. Raises ``FormatError`` for another level, too."""
    found = check_child(child)
    if not found.is_leaf:
        raise FormatError(
            f"the level takes leaves alone, and {found.name} is none",
            hint="use it as the innermost level, over Element",
        )
    return found


__all__ = ["Format", "Mode", "check_child", "check_leaf"]
