"""SparseCOO: the coordinates of each stored entry, sorted, as in SciPy's ``coo_array``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from finch_core.errors import FormatError
from finch_core.interface.offers import Fibers, Offer
from finch_core.ir.dtypes import INTP
from finch_core.ir.expressions import Expr, Load, Var
from finch_core.level import (
    Field,
    Format,
    Mode,
    Order,
    Sharing,
    Structure,
    check_child,
    integer_dtype,
)
from finch_core.looplets import Lookup, Looplet, Part, Run, Spike, Stepper, Switch, Thunk
from finch_core.looplets.routines import (
    accumulate_counts,
    append_position,
    search,
)
from finch_core.plugins import hookimpl
from finch_core.records import evolve, field, frozen
from finch_levels.common.compressed import bounds_of, indices, pointers, steps, unfurled

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.interface.tensorlike import BoundLevel, Fiber


def _joined(child: Any) -> Format:
    """The child of a ``SparseCOO``: another one has the entries of its parent."""
    format = check_child(child)
    return evolve(format, joined=True) if isinstance(format, SparseCOO) else format


@frozen
class SparseCOO(Format):
    """A level that has an index for each entry: fiber ``p`` has the entries ``ptr[p]`` up to
    ``ptr[p + 1]``, and entry ``q`` has index ``idx[q]``.

    Levels of this format below one another share their entries: an entry has an index in each of
    them, as in ``SparseCOO(SparseCOO(Element(0.0)))``, and only the first has a ``ptr``. Entries
    are sorted by the index in the first level, then by that in the next, and differ in one.

    ``index`` and ``pointer`` are the integer dtypes of ``idx`` and ``ptr``; ``joined`` levels are
    those below the first. Raises ``FormatError`` for dtypes that are no integers. Can be read by
    ``walk``, ``gallop`` and ``follow``. Entries are appended in increasing order.
    """

    lvl: Format = field(converter=_joined)
    index: np.dtype[Any] = field(default=INTP, converter=integer_dtype)
    pointer: np.dtype[Any] = field(default=INTP, converter=integer_dtype)
    joined: bool = False

    name: ClassVar[str] = "SparseCOO"
    layout: ClassVar[str] = "coordinates"
    structure: ClassVar[Structure] = Structure(joined=True)
    order: ClassVar[Order] = Order.ONCE
    thaws: ClassVar[bool] = False
    shares: ClassVar[bool] = False
    parallel: ClassVar[frozenset[Sharing]] = frozenset({Sharing.IN_PLACE, Sharing.JOINED})
    passes_values: ClassVar[bool] = True
    protocols: ClassVar[frozenset[str]] = frozenset({"walk", "gallop", "follow"})
    random_access: ClassVar[str] = "a binary search of its entries"

    @property
    def groups(self) -> bool:
        """Whether several entries may have the same index, and differ in a level below."""
        return isinstance(self.lvl, SparseCOO)

    @classmethod
    def offers(cls, fibers: Fibers) -> tuple[Offer, ...]:
        if fibers.depth == 1:
            return ()

        def make(leaf: Format) -> Format:
            for _level in range(fibers.depth):
                leaf = cls(leaf, index=fibers.index, pointer=fibers.index)
            return leaf

        memory = fibers.bytes(fibers.positions, fibers.depth * fibers.entries)
        ends = 12.0 if fibers.stored >= 1 << 12 else 7.5  # of groups, which differ in length
        work = fibers.positions + fibers.stored * ends + fibers.entries * 0.36
        why = f"{fibers.entries / max(1, fibers.stored):.3g} entries share an outer index"
        lookup = 4 * np.log2(fibers.entries + 1)
        return (Offer(make, why, fibers.entries, memory, work, lookup, depth=fibers.depth),)

    @property
    def fields(self) -> tuple[Field, ...]:
        idx = indices("idx", self.index, "the index of each entry")
        if self.joined:
            return (idx,)
        role = "where the entries of each fiber start"
        return (pointers(self.pointer, role), idx)

    def sizes(
        self, positions: int, shape: int, fields: Mapping[str, Any]
    ) -> tuple[dict[str, int], int]:
        if self.joined:
            return {"idx": positions}, positions
        stored = int(fields["ptr"][positions])
        return {"ptr": positions + 1, "idx": stored}, stored

    def entries(self, positions: int, shape: int, fields: Mapping[str, Any], below: int) -> int:
        if self.joined or not self.groups or not below:
            return below
        new = _changes([fields["idx"][:below]])
        new[fields["ptr"][:positions][fields["ptr"][:positions] < below]] = True
        return int(np.count_nonzero(new))

    def blank(self, positions: int, shape: int) -> tuple[dict[str, Any], int]:
        empty = {"idx": np.empty(0, self.index)}
        if not self.joined:
            empty["ptr"] = np.zeros(positions + 1, self.pointer)
        return empty, 0

    def validate(self, positions: int, shape: int, fields: Mapping[str, Any]) -> None:
        from finch_core.runtime.validation import check_pointers, check_range

        if not self.joined:
            check_pointers("ptr", fields["ptr"], positions)
            positions = int(fields["ptr"][positions])
        check_range("idx", fields["idx"], positions, 0, shape - 1)

    def validate_below(self, positions: int, fields: Sequence[Mapping[str, Any]]) -> None:
        if self.joined:
            return
        starts = fields[0]["ptr"][: positions + 1]
        count = int(starts[-1])
        used = [fields[k]["idx"][:count] for k in range(_depth(self))]
        rises = _changes(used, rising=True)
        rises[starts[starts < count]] = True
        wrong = np.flatnonzero(~rises)
        if wrong.size:
            k = int(wrong[0])
            this, before = (tuple(int(i[at]) for i in used) for at in (k, k - 1))
            raise FormatError(f"idx[{k}] makes entry {k}, {this}, not greater than {before}")

    # -- the five functions -------------------------------------------------------------

    def declare(self, ctx: Context, lvl: BoundLevel, init: Expr) -> None:
        assert lvl.child is not None
        if not self.joined:
            ctx.grow(lvl.buffer("ptr"), 1)
            ctx.store(lvl.buffer("ptr"), 0, 0)
        for name in ("room",) if self.groups else ("stored", "room"):
            lvl.state[name] = ctx.var(f"{lvl.name}_{name}", 0)
        lvl.child.declare(ctx, init)

    def assemble(self, ctx: Context, lvl: BoundLevel, start: Expr, stop: Expr) -> None:
        ptr = lvl.buffer("ptr")
        ctx.grow(ptr, stop + 1)
        ctx.fill(ptr, start + 1, stop + 1, 0)

    def freeze(self, ctx: Context, lvl: BoundLevel, stop: Expr) -> None:
        assert lvl.child is not None
        if not self.joined:
            accumulate_counts(ctx, lvl.buffer("ptr"), stop, _stored(lvl))
        lvl.child.freeze(ctx, _stored(lvl))

    def unfurl(self, ctx: Context, fiber: Fiber, mode: Mode, protocol: str) -> Looplet:
        walk, follow = (_walk_groups, _follow_groups) if self.groups else (_walk, _follow)
        return unfurled(fiber, mode, protocol, update=_append, follow=follow, walk=walk)


def _depth(format: Format) -> int:
    """The number of levels that share their entries, from this one on."""
    return 1 + _depth(format.lvl) if isinstance(format, SparseCOO) else 0


def _changes(coords: Sequence[np.ndarray[Any, Any]], rising: bool = False) -> np.ndarray[Any, Any]:
    """Whether each entry differs from the one before it, or is greater (``rising``)."""
    found, same = np.ones(len(coords[0]), bool), True
    if len(found):
        found[1:] = False
    for coord in coords:
        further = coord[1:] > coord[:-1] if rising else coord[1:] != coord[:-1]
        found[1:] |= same & further
        same = same & (coord[1:] == coord[:-1])
    return found


# -- reading --------------------------------------------------------------------------------


def _bounds(ctx: Context, fiber: Fiber) -> tuple[Expr, Expr]:
    """The first entry of a fiber, and the one after its last."""
    if fiber.lvl.format.joined:  # type: ignore[attr-defined]
        return fiber.pos, fiber.pos + 1 if fiber.stop is None else fiber.stop
    return bounds_of(ctx, fiber)


def _walk(ctx: Context, fiber: Fiber, kind: type[Stepper]) -> Iterator[Part]:
    """Read entries of different indices in order."""
    fill, bounds = fiber.filled(), _bounds(ctx, fiber)
    body = lambda ctx, q: Spike(fill, fiber.subfiber(q))  # noqa: E731
    yield steps(ctx, fiber, kind, fiber.lvl.buffer("idx"), body, Run(fill), bounds=bounds)


def _walk_groups(ctx: Context, fiber: Fiber, kind: type[Stepper]) -> Iterator[Part]:
    """Read groups of entries of the same index in order."""
    name, idx, fill = fiber.lvl.name, fiber.lvl.buffer("idx"), fiber.filled()
    bounds = _bounds(ctx, fiber)
    alone = steps(ctx, fiber, kind, idx, lambda ctx, q: fill, Run(fill), bounds=bounds)
    q, stop = alone.position, bounds[1]
    end = ctx.var(f"{name}_end", q)

    def find_end(ctx: Context) -> None:
        same = (end <= q).or_(Load(idx, end).eq(Load(idx, q)))
        with ctx.while_((end < stop).and_(same)):
            ctx.assign(end, end + 1)

    def group(ctx: Context) -> Iterator[Part]:
        find_end(ctx)
        first, last = ctx.let(f"{name}_first", q), ctx.let(f"{name}_last", end)
        ctx.prover.know_le(first + 1, last)
        yield fiber.subfiber(first, stop=last)

    def seek(ctx: Context, i: Expr) -> None:
        alone.seek(ctx, i)
        ctx.assign(end, q)

    def following(ctx: Context) -> None:
        find_end(ctx)
        ctx.assign(q, end)

    body = lambda ctx, q: Spike(fill, Thunk(group))  # noqa: E731
    yield evolve(alone, body=body, seek=seek, following=following)


def _follow(ctx: Context, fiber: Fiber) -> Iterator[Part]:
    """Look each index up by binary search."""
    idx = fiber.lvl.buffer("idx")
    start, stop = _bounds(ctx, fiber)

    def lookup(ctx: Context, i: Expr) -> Part:
        q = ctx.let(f"{fiber.lvl.name}_p", search(ctx, idx, start, stop, i))
        found = (q < stop).and_(Load(idx, q).cast(INTP).eq(i))
        return Switch(found, fiber.subfiber(q), fiber.filled())

    yield Lookup(lookup)


def _follow_groups(ctx: Context, fiber: Fiber) -> Iterator[Part]:
    """Look the entries of each index up by two binary searches."""
    idx, name = fiber.lvl.buffer("idx"), fiber.lvl.name
    start, stop = _bounds(ctx, fiber)

    def lookup(ctx: Context, i: Expr) -> Part:
        q = ctx.let(f"{name}_p", search(ctx, idx, start, stop, i))
        end = ctx.let(f"{name}_end", search(ctx, idx, q, stop, i + 1))
        return Switch(q < end, fiber.subfiber(q, stop=end), fiber.filled())

    yield Lookup(lookup)


# -- writing --------------------------------------------------------------------------------


def _stored(lvl: BoundLevel) -> Var:
    """The number of entries, which the last of the levels that share them counts."""
    if lvl.format.groups:  # type: ignore[attr-defined]
        assert lvl.child is not None
        return _stored(lvl.child)
    return lvl.state["stored"]


def _append(ctx: Context, fiber: Fiber) -> Iterator[Part]:
    """Append entries; their indices in this level are stored once they are written below it."""
    lvl, name, stored = fiber.lvl, fiber.lvl.name, _stored(fiber.lvl)
    format, idx, room = lvl.format, lvl.buffer("idx"), lvl.state["room"]
    first = ctx.let(f"{name}_first", stored)

    def at(ctx: Context, i: Expr) -> Iterator[Part]:
        dirty = ctx.var(f"{name}_dirty", False)
        before = ctx.let(f"{name}_before", stored)
        if not format.groups:  # type: ignore[attr-defined]
            append_position(ctx, lvl, stored, room, idx)
        yield fiber.subfiber(stored, dirty)
        with ctx.if_(dirty):
            if format.groups:  # type: ignore[attr-defined]
                with ctx.if_(room < stored):
                    ctx.assign(room, (room * 2).max(stored))
                    ctx.grow(idx, room)
                ctx.fill(idx, before, stored, i)
            else:
                ctx.store(idx, stored, i)
                ctx.assign(stored, stored + 1)
            fiber.mark(ctx)

    yield Lookup(lambda ctx, i: Thunk(lambda ctx: at(ctx, i)))
    if not format.joined:  # type: ignore[attr-defined]
        ctx.store(lvl.buffer("ptr"), fiber.pos + 1, stored - first)


@hookimpl
def finch_level_format() -> type[Format]:
    return SparseCOO


__all__ = ["SparseCOO"]
