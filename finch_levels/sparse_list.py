"""SparseList: a sorted list of the stored indices of each fiber, as in CSR, CSC and CSF (paper,
Table "The main level formats supported by Finch")."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from finch_core.errors import FormatError
from finch_core.interface.offers import Fibers, Offer
from finch_core.interface.rows import are_stored, ends_of_fibers, fibers_of
from finch_core.ir.builder import negation
from finch_core.ir.dtypes import INTP
from finch_core.ir.expressions import TRUE, Expr, Load, Var
from finch_core.level import Field, Format, Mode, Order, Sharing, check_child, integer_dtype
from finch_core.looplets import (
    Lookup,
    Looplet,
    Part,
    Run,
    Spike,
    Stepper,
    Switch,
    Thunk,
)
from finch_core.looplets.routines import (
    accumulate_counts,
    append_position,
    counts_of,
    equal,
    search,
)
from finch_core.plugins import hookimpl
from finch_core.records import field, frozen
from finch_levels.common.compressed import bounds_of, find, indices, pointers, steps, unfurled

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.interface.rows import Array
    from finch_core.interface.tensorlike import BoundLevel, Fiber


@frozen
class SparseList(Format):
    """A level that lists the stored subfibers of each fiber: fiber ``p`` has the positions
    ``ptr[p]`` up to ``ptr[p + 1]``; the subfiber at position ``q`` has index ``idx[q]``, and
    indices increase.

    ``index`` and ``pointer`` are the integer dtypes of ``idx`` and ``ptr``. Raises ``FormatError``
    for dtypes that are no integers. Can be read by ``walk``, ``gallop`` and ``follow``. Subfibers
    are appended in increasing order.
    """

    lvl: Format = field(converter=check_child)
    index: np.dtype[Any] = field(default=INTP, converter=integer_dtype)
    pointer: np.dtype[Any] = field(default=INTP, converter=integer_dtype)

    name: ClassVar[str] = "SparseList"
    layout: ClassVar[str] = "compressed"
    order: ClassVar[Order] = Order.ONCE
    shares: ClassVar[bool] = False
    resumes: ClassVar[bool] = True
    passes_values: ClassVar[bool] = True
    protocols: ClassVar[frozenset[str]] = frozenset({"walk", "gallop", "follow"})
    random_access: ClassVar[str] = "a binary search of its stored indices"
    parallel: ClassVar[frozenset[Sharing]] = frozenset({Sharing.IN_PLACE, Sharing.JOINED})

    @classmethod
    def offers(cls, fibers: Fibers) -> tuple[Offer, ...]:
        make = lambda lvl: cls(lvl, index=fibers.index, pointer=fibers.index)  # noqa: E731
        each = 0.22 + min(0.1, 2.2 / max(1, fibers.mean))  # long ones are summed in lanes
        each = each if fibers.depth == 1 else 2.0
        work = fibers.positions * 0.5 + fibers.stored * each + fibers.surprise
        why = f"{fibers.mean:.3g} indices in a fiber, an index for each"
        memory = fibers.bytes(fibers.positions, fibers.stored)
        return (Offer(make, why, fibers.stored, memory, work, 3 * np.log2(fibers.mean + 1)),)

    @property
    def fields(self) -> tuple[Field, ...]:
        return (
            pointers(self.pointer, "where each fiber starts"),
            indices("idx", self.index, "the index of each stored subfiber"),
        )

    def sizes(
        self, positions: int, shape: int, fields: Mapping[str, Any]
    ) -> tuple[dict[str, int], int]:
        stored = int(fields["ptr"][positions])
        return {"ptr": positions + 1, "idx": stored}, stored

    def blank(self, positions: int, shape: int) -> tuple[dict[str, Any], int]:
        empty = {"ptr": np.zeros(positions + 1, self.pointer), "idx": np.empty(0, self.index)}
        return empty, 0

    def validate(self, positions: int, shape: int, fields: Mapping[str, Any]) -> None:
        from finch_core.runtime.validation import check_indices, check_pointers

        check_pointers("ptr", fields["ptr"], positions)
        check_indices("idx", fields["idx"], fields["ptr"][: positions + 1], shape)

    # -- the five functions -------------------------------------------------------------

    def declare(self, ctx: Context, lvl: BoundLevel, init: Expr) -> None:
        assert lvl.child is not None
        ctx.grow(lvl.buffer("ptr"), 1)
        ctx.store(lvl.buffer("ptr"), 0, 0)
        lvl.state["stored"] = ctx.var(f"{lvl.name}_stored", 0)
        lvl.state["room"] = ctx.var(f"{lvl.name}_room", 0)
        lvl.state.pop("last", None)
        if lvl.resumed:
            lvl.state["last"] = ctx.var(f"{lvl.name}_last", -1)
        lvl.child.declare(ctx, init)

    def assemble(self, ctx: Context, lvl: BoundLevel, start: Expr, stop: Expr) -> None:
        ptr = lvl.buffer("ptr")
        ctx.grow(ptr, stop + 1)
        ctx.fill(ptr, start + 1, stop + 1, 0)

    def freeze(self, ctx: Context, lvl: BoundLevel, stop: Expr) -> None:
        assert lvl.child is not None
        accumulate_counts(ctx, lvl.buffer("ptr"), stop, lvl.state["stored"])
        lvl.child.freeze(ctx, lvl.state["stored"])

    def thaw(self, ctx: Context, lvl: BoundLevel, stop: Expr) -> None:
        assert lvl.child is not None
        ptr = lvl.buffer("ptr")
        stored = ctx.var(f"{lvl.name}_stored", Load(ptr, stop), INTP)
        lvl.state["stored"] = stored
        lvl.state["room"] = ctx.var(f"{lvl.name}_room", stored)
        lvl.state["last"] = counts_of(ctx, ptr, stop)
        lvl.child.thaw(ctx, stored)

    def join(
        self, ctx: Context, lvl: BoundLevel, part: BoundLevel, start: Expr, count: Expr
    ) -> None:
        ctx.grow(lvl.buffer("ptr"), start + count + 1)
        ctx.move(lvl.buffer("ptr"), start + 1, part.buffer("ptr"), 1, count)
        _join_subfibers(ctx, lvl, part)
        if "last" in lvl.state and "last" in part.state:
            last = part.state["last"]
            with ctx.if_(last >= 0):
                ctx.assign(lvl.state["last"], start + last)

    def extend(self, ctx: Context, lvl: BoundLevel, part: BoundLevel) -> None:
        ptr = lvl.buffer("ptr")
        ctx.store(ptr, 1, Load(ptr, ctx.lift(1)).cast(INTP) + part.state["stored"])
        _join_subfibers(ctx, lvl, part)
        if "last" in lvl.state:
            with ctx.if_(part.state["stored"] > 0):
                ctx.assign(lvl.state["last"], 0)

    def locate(self, fields: Mapping[str, Any], position: int, index: int, shape: int) -> int:
        start, stop = int(fields["ptr"][position]), int(fields["ptr"][position + 1])
        found = bisect_left(fields["idx"], index, start, stop)
        return found if found < stop and fields["idx"][found] == index else -1

    def from_rows(self, rows: Array, fill: Any) -> tuple[dict[str, Any], Array]:
        stored = are_stored(rows, fill)
        fibers, indices = stored.nonzero()
        return {"ptr": ends_of_fibers(stored), "idx": indices}, rows[fibers, indices]

    def to_rows(
        self, positions: int, shape: int, fields: Mapping[str, Any], below: Array | None, fill: Any
    ) -> Array:
        assert below is not None
        rows = np.full((positions, shape, *below.shape[1:]), fill, below.dtype)
        rows[fibers_of(fields["ptr"], positions), fields["idx"][: len(below)]] = below
        return rows

    def position_from(self, ctx: Context, fiber: Fiber, index: Expr) -> Expr:
        start, stop = bounds_of(ctx, fiber)
        return search(ctx, fiber.lvl.buffer("idx"), start, stop, index)

    def alike(
        self, ctx: Context, lvl: BoundLevel, other: BoundLevel, stop: Expr
    ) -> tuple[Expr, Expr]:
        ptr, idx = lvl.buffer("ptr"), lvl.buffer("idx")
        below = Load(ptr, stop).cast(INTP)
        same = equal(ctx, ptr, other.buffer("ptr"), stop + 1)
        return same.and_(equal(ctx, idx, other.buffer("idx"), below)), below

    def stored_before(self, ctx: Context, lvl: BoundLevel, stop: Expr) -> Expr | None:
        assert lvl.child is not None
        below = Load(lvl.buffer("ptr"), stop).cast(INTP)
        return lvl.child.format.stored_before(ctx, lvl.child, below)

    def unfurl(self, ctx: Context, fiber: Fiber, mode: Mode, protocol: str) -> Looplet:
        return unfurled(fiber, mode, protocol, update=_append, follow=_follow, walk=_walk)


def _join_subfibers(ctx: Context, lvl: BoundLevel, part: BoundLevel) -> None:
    """Append the indices and subfibers of ``part``."""
    assert lvl.child is not None
    assert part.child is not None
    stored, more = lvl.state["stored"], part.state["stored"]
    ctx.grow(lvl.buffer("idx"), stored + more)
    ctx.move(lvl.buffer("idx"), stored, part.buffer("idx"), 0, more)
    lvl.child.format.join(ctx, lvl.child, part.child, stored, more)
    ctx.assign(stored, stored + more)
    ctx.assign(lvl.state["room"], stored)


def _walk(ctx: Context, fiber: Fiber, kind: type[Stepper]) -> Iterator[Part]:
    """Read the stored indices in order."""
    fill = fiber.filled()
    body = lambda ctx, q: Spike(fill, fiber.subfiber(q))  # noqa: E731
    yield steps(ctx, fiber, kind, fiber.lvl.buffer("idx"), body, Run(fill))


def _follow(ctx: Context, fiber: Fiber) -> Iterator[Part]:
    """Look each index up by binary search."""
    idx = fiber.lvl.buffer("idx")
    start, stop = bounds_of(ctx, fiber)

    def lookup(ctx: Context, i: Expr) -> Part:
        q = find(ctx, fiber, idx, start, stop, i)
        found = (q < stop).and_(Load(idx, q).cast(INTP).eq(i))
        return Switch(found, fiber.subfiber(q), fiber.filled())

    yield Lookup(lookup)


def _append(ctx: Context, fiber: Fiber) -> Iterator[Part]:
    """Append a subfiber for each index that is written."""
    lvl, name = fiber.lvl, fiber.lvl.name
    stored, room, idx = lvl.state["stored"], lvl.state["room"], lvl.buffer("idx")
    first = ctx.let(f"{name}_first", stored)

    last = lvl.state.get("last")
    begun = ctx.lift(0) if last is None else ctx.let(f"{name}_begun", _count(lvl, fiber))

    def at(ctx: Context, i: Expr) -> Iterator[Part]:
        place: Expr = stored
        if last is not None:
            place = _place(ctx, fiber, last, begun + stored - first, i)
        append_position(ctx, lvl, stored, room, idx)
        dirty = ctx.var(f"{name}_dirty", False)
        yield fiber.subfiber(place, dirty)
        with ctx.if_(dirty):
            new = TRUE if place is stored else place.eq(stored)
            ctx.fork(new, lambda: _take(ctx, lvl, i))
            fiber.mark(ctx)

    yield Lookup(lambda ctx, i: Thunk(lambda ctx: at(ctx, i)))
    ctx.store(lvl.buffer("ptr"), fiber.pos + 1, begun + stored - first)
    if lvl.resumed and last is not None:
        with ctx.if_(first < stored):
            ctx.assign(last, fiber.pos)


def _take(ctx: Context, lvl: BoundLevel, i: Expr) -> None:
    """Commit the subfiber that was written at index ``i``."""
    stored = lvl.state["stored"]
    ctx.store(lvl.buffer("idx"), stored, i)
    ctx.assign(stored, stored + 1)


def _count(lvl: BoundLevel, fiber: Fiber) -> Expr:
    return Load(lvl.buffer("ptr"), fiber.pos + 1).cast(INTP)


_BEHIND = "append in order, or use SparseHash, which takes writes in any order"
_NOT_DECLARED = (
    "what is not declared is appended to: write to another tensor, which is declared, "
    "B[...] = fill, or use SparseHash, which takes writes in any order"
)


def _place(ctx: Context, fiber: Fiber, last: Var, count: Expr, i: Expr) -> Expr:
    """The position for index ``i`` in a fiber with ``count`` subfibers: after all of them, or the
    last of them where several loops write one after another."""
    lvl = fiber.lvl
    stored, idx = lvl.state["stored"], lvl.buffer("idx")
    before = ctx.let(
        f"{lvl.name}_before", ctx.ifelse(count > 0, Load(idx, stored - 1).cast(INTP), -1)
    )
    behind = before <= i if lvl.resumed else before < i
    with ctx.if_((fiber.pos < last).or_(negation(behind))):
        site = ctx.site(
            FormatError,
            f"index {{0}} of {fiber} is not after all that its SparseList stores",
            ctx.spans.get(fiber.tensor),
            hint=_BEHIND if lvl.resumed else _NOT_DECLARED,
        )
        ctx.fail(site, i)
    if not lvl.resumed:
        return stored
    return ctx.let(f"{lvl.name}_place", ctx.ifelse(before.eq(i), stored - 1, stored))


@hookimpl
def finch_level_format() -> type[Format]:
    """Register ``SparseList``."""
    return SparseList
