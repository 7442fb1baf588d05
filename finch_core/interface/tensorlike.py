"""Tensors as the compiler sees them: levels bound to variables, fibers, and constants.

A *tensor-like* is anything that may be accessed: a ``Fiber`` of a bound level, a ``Constant``
(a subtensor of one value), a wrapper around another tensor-like, or a mask.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from finch_core import records
from finch_core.errors import FormatError, PluginError
from finch_core.interface.level import Format, Mode
from finch_core.interface.plugin_calls import described, emitted, part_of, unfurled, value_of
from finch_core.ir.dtypes import INTP, Type
from finch_core.ir.expected import integer
from finch_core.ir.expressions import FALSE, TRUE, Buffer, Expr, Literal, Var
from finch_core.ir.missing import Missing
from finch_core.ir.program import Extent
from finch_core.records import define, frozen

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.interface.looplet import Alternatives, Looplet
    from finch_core.ir.operators import Operator

ZERO, ONE = Literal(0, int), Literal(1, int)


class TensorLike:
    """The interface by which accesses use a tensor. ``dims`` gives the extents (None: no
    dimension, ``_``).

    A tensor-like that is an argument of kernels also has ``signature``, ``words()`` (its
    run-time values), ``nscalars`` (how many there are) and ``bind(scalars)``, itself with
    variables in their place (see ``signatures``).
    """

    __slots__ = ()
    memory: ClassVar[Any] = ()
    """Address ranges of the memory of an argument, as pairs; none by default."""

    @property
    def ndim(self) -> int:
        raise NotImplementedError

    @property
    def dtype(self) -> Type:
        raise NotImplementedError

    @property
    def fill_value(self) -> Any:
        """The value of elements that are not stored, a NumPy scalar; None if that has no
        meaning."""
        return None

    @property
    def dims(self) -> tuple[Extent | None, ...]:
        raise NotImplementedError

    @property
    def sizes(self) -> tuple[Extent | None, ...]:
        """The dimensions whose sizes a program may ask for: ``dims``, and those of wrappers whose
        accesses are rewritten."""
        return self.dims

    @property
    def shifts(self) -> tuple[Expr, ...]:
        """Numbers of the caller's by which dimensions are shifted whose indices nothing bounds: a
        program refuses those that are too far from 0 for the sums to be representable."""
        return ()

    @property
    def keeps_apart(self) -> bool:
        """Whether different indices are of different elements; parallel loops write no other."""
        return False

    @property
    def root(self) -> BoundTensor | None:
        """The argument or local that is finally read or written; None for a mask."""
        return None

    @property
    def whole(self) -> bool:
        """Whether this is the whole of its root, so that it can be declared."""
        return True

    def level_of(self, dim: int) -> Format | None:
        """The level that stores a dimension; None if there is none."""
        return None

    def protocol_of(self, dim: int) -> str:
        """The protocol that the program names for a dimension, or an empty string."""
        return ""

    def filled_beyond(self) -> TensorLike | None:
        """This tensor-like with its fill in place of ``missing``; None if it never is missing."""
        return None

    def mapped(self, view: Callable[[TensorLike], TensorLike]) -> TensorLike:
        """``view`` of this tensor-like; of each choice, of one that is chosen at run time."""
        return view(self)

    def unfurl(self, ctx: Context, mode: Mode, protocol: str) -> Looplet:
        """The looplet over the outermost dimension."""
        raise NotImplementedError

    def read(self, ctx: Context) -> Expr:
        """The value of a 0-dimensional tensor-like."""
        raise NotImplementedError

    def update(self, ctx: Context, op: Operator | None, value: Expr) -> None:
        """Emit the update of a 0-dimensional tensor-like."""
        raise NotImplementedError

    def is_stored(self, ctx: Context) -> Expr:
        """Whether a 0-dimensional tensor-like stores its value."""
        return TRUE

    @property
    def drops_updates(self) -> bool:
        """Whether updates have no effect."""
        return False

    @property
    def is_out_of_bounds(self) -> bool:
        """Whether reading or writing an element always fails."""
        return False

    def cases(self, ctx: Context) -> Alternatives | None:
        """The two cases of a 0-dimensional tensor-like, if a statement that reads it is worth
        emitting once for each. The value that ``read`` gives is right in both."""
        return None

    def settled(self, ctx: Context, op: Operator, dtype: np.dtype[Any]) -> Expr | None:
        """The condition under which further updates by ``op`` have no effect, so that a loop may
        end.

        For a 0-dimensional tensor-like; ``op`` computes in ``dtype``. None: no such condition,
        or the loop should not end early.
        """
        return None


@define(eq=False)
class BoundLevel:
    """A level of a bound tensor: its format, and the variables that hold its parts.

    ``lvl["ptr"]`` is the buffer or scalar of that name, ``lvl.shape`` the dimension. ``state``
    maps names to variables that live between declare (or thaw) and freeze.
    """

    format: Format
    name: str
    shape: Expr
    parts: dict[str, Var | Buffer]
    child: BoundLevel | None
    state: dict[str, Var] = records.field(factory=dict)
    scratch: BoundLevel | None = None
    """A level like the child that holds updates until they are final."""
    first: Expr = ZERO
    """The index of the first subfiber, of a level of ``Sharing.ROWS`` that has some of them."""
    resumed: bool = False
    """Whether several loops write to it before it is frozen (``lower/write_order.py``).

    A fiber, and the last subfiber in it, may then be unfurled again. See ``Format.resumes``.
    """

    def __getitem__(self, name: str) -> Any:
        return part_of(self.format, self.parts, name, (Var, Buffer), "field")

    def buffer(self, name: str) -> Buffer:
        found: Buffer = part_of(self.format, self.parts, name, Buffer, "buffer")
        return found

    def scalar(self, name: str) -> Var:
        found: Var = part_of(self.format, self.parts, name, Var, "scalar")
        return found

    def levels(self) -> tuple[BoundLevel, ...]:
        below = () if self.child is None else self.child.levels()
        return (self, *below)

    # The five functions, as a parent calls them on its child.

    def declare(self, ctx: Context, init: Expr) -> None:
        emitted(self.format, "declare", ctx, self, init)

    def assemble(self, ctx: Context, start: Any, stop: Any) -> None:
        emitted(self.format, "assemble", ctx, self, ctx.lift(start), ctx.lift(stop))

    def reset(self, ctx: Context, start: Any, stop: Any) -> None:
        emitted(self.format, "reset", ctx, self, ctx.lift(start), ctx.lift(stop))

    def freeze(self, ctx: Context, stop: Any) -> None:
        emitted(self.format, "freeze", ctx, self, ctx.lift(stop))

    def thaw(self, ctx: Context, stop: Any) -> None:
        emitted(self.format, "thaw", ctx, self, ctx.lift(stop))


@frozen
class Fiber(TensorLike):
    """The fiber at position ``pos`` of a level; ``dirty`` is set when anything in it is written.

    One of several positions, such as entries with the same coordinate, ends before ``stop``.
    """

    lvl: BoundLevel
    pos: Expr
    dirty: Var | None = None
    tensor: BoundTensor | None = records.field(default=None, eq=False, repr=False)
    stop: Expr | None = None

    def __str__(self) -> str:
        return str(self.tensor)

    @property
    def ndim(self) -> int:
        return self.lvl.format.ndim

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.lvl.format.dtype

    @property
    def fill_value(self) -> Any:
        return self.lvl.format.fill_value

    @property
    def dims(self) -> tuple[Extent | None, ...]:
        levels = self.lvl.levels()
        return tuple(Extent(ZERO, lvl.shape) for lvl in levels if not lvl.format.is_leaf)

    @property
    def keeps_apart(self) -> bool:
        return True

    @property
    def root(self) -> BoundTensor | None:
        return self.tensor

    def level_of(self, dim: int) -> Format | None:
        return self.lvl.format.levels()[dim]

    def subfiber(self, pos: Expr, dirty: Var | None = None, stop: Expr | None = None) -> Fiber:
        """The child's fiber at ``pos``, or at the positions up to ``stop``; writes to it set
        ``dirty`` (default: this fiber's own). Raises ``PluginError`` for a position that is no
        integer."""
        assert self.lvl.child is not None
        marked = self.dirty if dirty is None else dirty
        pos = integer(pos, "the position of a subfiber")
        return Fiber(self.lvl.child, pos, marked, self.tensor, stop)

    def filled(self) -> Constant:
        """A subtensor like this fiber's subfibers that consists of fill."""
        return Constant(Literal(self.fill_value, self.dtype, structural=True), self.ndim - 1)

    def mark(self, ctx: Context) -> None:
        """Emit that something in this fiber was written."""
        if self.dirty is not None:
            ctx.assign(self.dirty, True)

    def unfurl(self, ctx: Context, mode: Mode, protocol: str) -> Looplet:
        """The level's looplet; a protocol that the level lacks is replaced by its default."""
        format = self.lvl.format
        known = protocol if protocol in format.protocols else ""
        return unfurled(format, ctx, self, mode, known)

    def read(self, ctx: Context) -> Expr:
        if not self.lvl.format.is_leaf:
            raise self._no_value()
        value = value_of(self.lvl.format, ctx, self, Mode.READ, None, None)
        if self.tensor in ctx.contents and not isinstance(value, (Literal, Var)):
            ctx.elements[value] = self.tensor
        return value

    def _no_value(self) -> PluginError:
        """The error of a looplet that reads a value of this fiber, which has none."""
        levels = [] if self.tensor is None else self.tensor.level.levels()
        above = next((lvl.format for lvl in levels if lvl.child is self.lvl), None)
        maker = "a looplet" if above is None else f"a looplet of {described(above)}"
        return PluginError(
            f"{maker} reads the value of a subfiber, which is a fiber of "
            f"{described(self.lvl.format)}, and no leaf",
            hint="it yields the subfiber; a level that takes leaves alone has lvl converted by "
            "check_leaf",
        ).of("")

    def update(self, ctx: Context, op: Operator | None, value: Expr) -> None:
        emitted(self.lvl.format, "unwrap", ctx, self, Mode.UPDATE, op, value)

    def is_stored(self, ctx: Context) -> Expr:
        return self.lvl.format.is_stored(ctx, self)

    def cases(self, ctx: Context) -> Alternatives | None:
        return self.lvl.format.cases(ctx, self)

    def settled(self, ctx: Context, op: Operator, dtype: np.dtype[Any]) -> Expr | None:
        return self.lvl.format.settled(ctx, self, op, dtype)


@frozen
class Constant(TensorLike):
    """A subtensor with the same value everywhere; ``extents`` are its dimensions, if it has any."""

    value: Expr
    rank: int = 0
    extents: tuple[Extent | None, ...] = ()

    @property
    def ndim(self) -> int:
        return self.rank

    @property
    def dtype(self) -> Type:
        return self.value.dtype

    @property
    def dims(self) -> tuple[Extent | None, ...]:
        return self.extents or (None,) * self.rank

    def unfurl(self, ctx: Context, mode: Mode, protocol: str) -> Looplet:
        from finch_core.interface.run import Run

        if mode is Mode.UPDATE:
            raise FormatError("a constant cannot be updated")
        return Run(Constant(self.value, self.rank - 1, self.extents[1:]))

    @property
    def drops_updates(self) -> bool:
        """Nothing is stored where the value is known, as that of a fill; others are computed."""
        return isinstance(self.value, (Literal, Missing))

    def update(self, ctx: Context, op: Operator | None, value: Expr) -> None:
        if not self.drops_updates:
            raise FormatError(
                "an element that its level computes cannot be updated in place",
                hint="write to another tensor, or assign the whole of this one",
            )

    def read(self, ctx: Context) -> Expr:
        return self.value

    def is_stored(self, ctx: Context) -> Expr:
        """A mask stores what is true; a fill and what is beyond the bounds are not stored."""
        if isinstance(self.value, Missing):
            return FALSE
        if isinstance(self.value, Literal):
            return FALSE if self.value.structural or not self.value.value else TRUE
        return TRUE


@frozen
class Discard(TensorLike):
    """A subtensor whose updates have no effect."""

    like: TensorLike
    rank: int = 0

    @property
    def ndim(self) -> int:
        return self.rank

    @property
    def dtype(self) -> Type:
        return self.like.dtype

    @property
    def dims(self) -> tuple[Extent | None, ...]:
        return (None,) * self.rank

    def unfurl(self, ctx: Context, mode: Mode, protocol: str) -> Looplet:
        from finch_core.interface.run import Run

        return Run(Discard(self.like, self.rank - 1))

    def update(self, ctx: Context, op: Operator | None, value: Expr) -> None:
        pass

    @property
    def drops_updates(self) -> bool:
        return True


@define(eq=False)
class BoundTensor:
    """An argument or local: its name in the program, its levels, and who owns its memory."""

    name: str
    format: Format
    level: BoundLevel
    local: bool = False
    fixed: bool = False
    """Whether its memory cannot be resized."""
    shape: tuple[Expr, ...] | None = None
    """The shape with which a local is made, if it is."""
    sizeless: Var | None = None
    """1 if it was made without a shape, else 0; None if that cannot matter."""
    seen: TensorLike | None = None
    """The argument, where that is a wrapper around this tensor."""

    @property
    def fiber(self) -> Fiber:
        return Fiber(self.level, ZERO, None, self)

    def dimension(self, k: int) -> str:
        """How a message names the dimension of level ``k``: by its place in the argument, which a
        wrapper may have moved, as that of a SciPy array by columns does."""
        own = self.fiber.dims[k]
        if self.seen is not None and own in self.seen.dims:
            k = self.seen.dims.index(own)
        return f"dimension {k} of {self}"

    @property
    def parts(self) -> tuple[Var | Buffer, ...]:
        """The buffers and scalars of all levels."""
        return tuple(part for level in self.level.levels() for part in level.parts.values())

    def freeze_before_failure(self, ctx: Context) -> None:
        """Emit a freeze before a failure; on other paths updates continue."""
        levels = self.level.levels()
        states = [dict(level.state) for level in levels]
        self.level.freeze(ctx, 1)
        for level, state in zip(levels, states, strict=True):
            level.state = state

    def __str__(self) -> str:
        return self.name


def bind_level(format: Format, tensor: str, names: Any, depth: int = 0) -> BoundLevel:
    """Bind ``format`` and its children to variables named after tensor, depth and field."""
    child = format.child
    below = None if child is None else bind_level(child, tensor, names, depth + 1)
    prefix = tensor if depth == 0 and child is None else f"{tensor}{depth}"
    parts: dict[str, Var | Buffer] = {}
    for field in format.fields:
        name = names.fresh(f"{prefix}_{field.name}")
        parts[field.name] = (
            Buffer(
                name,
                field.dtype,
                growable=True,
                ascending=field.ascending,
                nonnegative=field.nonnegative,
            )
            if field.is_buffer
            else Var(name, field.dtype)
        )
    shape: Expr = ZERO if format.is_leaf else Var(names.fresh(f"{tensor}_n{depth}"), INTP)
    return BoundLevel(format, prefix, shape, parts, below)
