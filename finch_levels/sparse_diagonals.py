"""SparseDiagonals: a few diagonals, stored whole, as in SciPy's ``dia_array``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from finch_core.errors import FormatError
from finch_core.interface.offers import Fibers, Offer
from finch_core.interface.structure import Structure
from finch_core.interface.tensorlike import Fiber
from finch_core.ir.dtypes import INTP
from finch_core.ir.expressions import Expr, Load
from finch_core.level import Field, Format, Mode, Order, check_child
from finch_core.looplets import Lookup, Looplet, Part, Run, Spike, Stepper, Switch
from finch_core.looplets.routines import positions_below, search
from finch_core.plugins import hookimpl
from finch_core.records import evolve, field, frozen
from finch_levels.common.compressed import steps, unfurled
from finch_levels.common.runs import bind_scratch, copy_subfiber, empty_scratch, scratch_fields
from finch_levels.sparse_list import SparseList

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.interface.tensorlike import BoundLevel


@frozen
class SparseDiagonals(Format):
    """A level whose fibers store subfibers on the same few diagonals: fiber ``p`` stores the
    indices ``p + ofs[d]`` that are within the dimension, and index ``i`` of diagonal ``d`` is at
    position ``d * shape + i``. Offsets increase.

    A fiber has no coordinates of its own, and memory is for whole diagonals: it suits matrices with
    a few of them, which are nearly full. Can be read by ``walk``, ``gallop`` and ``follow``.
    Subfibers are appended in increasing order; until the level is frozen they are kept in a
    SparseList. Elements of a diagonal that were not written are fill values; a ``Pattern``, which
    cannot store them, cannot be below.
    """

    lvl: Format = field(converter=check_child)

    name: ClassVar[str] = "SparseDiagonals"
    layout: ClassVar[str] = "diagonals"
    structure: ClassVar[Structure] = Structure(joined=True)
    order: ClassVar[Order] = Order.ONCE
    shares: ClassVar[bool] = False
    thaws: ClassVar[bool] = False
    resumes: ClassVar[bool] = True
    pads: ClassVar[bool] = True
    passes_values: ClassVar[bool] = True
    protocols: ClassVar[frozenset[str]] = frozenset({"walk", "gallop", "follow"})
    random_access: ClassVar[str] = "a binary search of its diagonals"

    def __attrs_post_init__(self) -> None:
        if not self.lvl.holds_fill:
            raise FormatError(
                "a SparseDiagonals level stores whole diagonals, and their fill values a "
                f"{self.lvl.name} below it cannot hold",
                hint="Element(False) as the leaf, or a SparseList above the Pattern",
            )

    @classmethod
    def offers(cls, fibers: Fibers) -> tuple[Offer, ...]:
        if fibers.diagonals is None:
            return ()
        below = fibers.diagonals * fibers.shape
        ends = fibers.positions - fibers.crossed  # whose entries are found one by one
        inside = fibers.diagonals * fibers.crossed
        work = inside * min(0.12 + fibers.diagonals / 600, 0.22) + fibers.diagonals * 10
        work += ends * (3 + 0.6 * fibers.stored / max(1, fibers.positions))
        why = f"{fibers.diagonals} diagonals, of which {fibers.part(below)} is stored"
        lookup = 3 * np.log2(fibers.diagonals + 1)
        return (Offer(cls, why, below, 8 * fibers.diagonals, work, lookup, 12),)

    @property
    def fields(self) -> tuple[Field, ...]:
        return (
            Field("num", INTP, "the number of diagonals"),
            Field("ofs", INTP, "the index of each diagonal, less the fiber's position"),
            Field("at", INTP, "where the entries of each fiber, or diagonal, are", scratch=True),
            *scratch_fields(self._unsettled),
        )

    @property
    def _unsettled(self) -> Format:
        """The format that holds what is written until the level is frozen."""
        return SparseList(self.lvl)

    def sizes(
        self, positions: int, shape: int, fields: Mapping[str, Any]
    ) -> tuple[dict[str, int], int]:
        count = int(fields["num"][0])
        return {"num": 1, "ofs": count}, count * shape

    def entries(self, positions: int, shape: int, fields: Mapping[str, Any], below: int) -> int:
        offsets = fields["ofs"][: int(fields["num"][0])].astype(np.float64)
        lengths = np.minimum(positions, shape - offsets) - np.maximum(0, -offsets)
        return int(np.maximum(lengths, 0).sum())

    def blank(self, positions: int, shape: int) -> tuple[dict[str, Any], int]:
        return {"num": np.zeros(1, INTP), "ofs": np.empty(0, INTP), **empty_scratch(self)}, 0

    def validate(self, positions: int, shape: int, fields: Mapping[str, Any]) -> None:
        if not len(fields["num"]):
            raise FormatError("num has no element, and the format wants the number of diagonals")
        if fields["num"][0] < 0:
            raise FormatError(f"num[0] is {int(fields['num'][0])}, which is negative")

    def validate_contents(self, positions: int, shape: int, fields: Mapping[str, Any]) -> None:
        offsets = fields["ofs"][: int(fields["num"][0])]
        _check(offsets, np.diff(offsets, prepend=offsets[:1] - 1) > 0, "not greater than the last")
        _check(offsets, (offsets > -positions) & (offsets < shape), "of no diagonal")

    # -- the five functions -------------------------------------------------------------

    def declare(self, ctx: Context, lvl: BoundLevel, init: Expr) -> None:
        assert lvl.child is not None
        ctx.grow(lvl.buffer("num"), 1)
        ctx.store(lvl.buffer("num"), 0, 0)
        lvl.child.declare(ctx, init)
        bind_scratch(lvl, self._unsettled).declare(ctx, init)

    def assemble(self, ctx: Context, lvl: BoundLevel, start: Expr, stop: Expr) -> None:
        assert lvl.scratch is not None
        lvl.scratch.assemble(ctx, start, stop)

    def freeze(self, ctx: Context, lvl: BoundLevel, stop: Expr) -> None:
        assert lvl.child is not None
        assert lvl.scratch is not None
        lvl.scratch.freeze(ctx, stop)
        count = _find_diagonals(ctx, lvl, lvl.scratch, stop)
        end = ctx.let(f"{lvl.name}_end", positions_below(ctx, lvl, count))
        lvl.child.assemble(ctx, ctx.lift(0), end)
        anywhere = all(level.order is Order.ANY for level in self.lvl.levels())
        (_copy if anywhere else _copy_in_order)(ctx, lvl, lvl.scratch, stop)
        lvl.child.freeze(ctx, end)

    def unfurl(self, ctx: Context, fiber: Fiber, mode: Mode, protocol: str) -> Looplet:
        if mode is Mode.UPDATE:
            assert fiber.lvl.scratch is not None
            return evolve(fiber, lvl=fiber.lvl.scratch).unfurl(ctx, mode, protocol)
        return unfurled(fiber, mode, protocol, update=_follow, follow=_follow, walk=_walk)


def _check(offsets: np.ndarray[Any, Any], right: np.ndarray[Any, Any], what: str) -> None:
    """Raise ``FormatError`` for the first offset that is not ``right``."""
    wrong = np.flatnonzero(~right)
    if wrong.size:
        at = int(wrong[0])
        raise FormatError(f"ofs[{at}] is {int(offsets[at])}, {what}")


# -- reading --------------------------------------------------------------------------------


def _walk(ctx: Context, fiber: Fiber, kind: type[Stepper]) -> Iterator[Part]:
    """Read the diagonals in order: all of them, or from the first to the last that the fiber
    meets."""
    lvl, fill, here = fiber.lvl, fiber.filled(), fiber.pos
    ofs, name, count = lvl.buffer("ofs"), lvl.name, _count(ctx, lvl)
    least, most = (
        ctx.let(f"{name}_{which}", ctx.ifelse(count > 0, Load(ofs, at), 0))
        for which, at in (("least", ctx.lift(0)), ("most", count - 1))
    )
    start, stop = ctx.var(f"{name}_q", 0), ctx.var(f"{name}_q_stop", count)
    with ctx.if_((least + here < 0).or_(most + here >= lvl.shape)):
        ctx.assign(start, search(ctx, ofs, 0, count, 0 - here))
        ctx.assign(stop, search(ctx, ofs, start, count, lvl.shape - here))

    def body(ctx: Context, q: Expr) -> Part:
        return Spike(fill, fiber.subfiber(q * lvl.shape + (here + Load(ofs, q))))

    bounds = start, stop
    yield steps(ctx, fiber, kind, ofs, body, Run(fill), base=0 - here, bounds=bounds)


def _count(ctx: Context, lvl: BoundLevel) -> Expr:
    """The number of diagonals."""
    return ctx.let(f"{lvl.name}_count", Load(lvl.buffer("num"), ctx.lift(0)))


def _follow(ctx: Context, fiber: Fiber) -> Iterator[Part]:
    """Look the diagonal of each index up by binary search."""
    lvl, ofs, count = fiber.lvl, fiber.lvl.buffer("ofs"), _count(ctx, fiber.lvl)

    def lookup(ctx: Context, i: Expr) -> Part:
        key = ctx.let(f"{lvl.name}_ofs", i - fiber.pos)
        q = ctx.let(f"{lvl.name}_p", search(ctx, ofs, 0, count, key))
        found = (q < count).and_(Load(ofs, q).eq(key))
        return Switch(found, fiber.subfiber(q * lvl.shape + i), fiber.filled())

    yield Lookup(lookup)


# -- freezing -------------------------------------------------------------------------------


def _find_diagonals(ctx: Context, lvl: BoundLevel, listed: BoundLevel, stop: Expr) -> Expr:
    """Set the offsets of the diagonals on which the fibers up to ``stop`` list something, and in
    ``at`` the number of each; gives how many there are."""
    ptr, idx, at, ofs = (*map(listed.buffer, ("ptr", "idx")), *map(lvl.buffer, ("at", "ofs")))
    count, ends = ctx.var(f"{lvl.name}_count", 0), ctx.let(f"{lvl.name}_ends", stop + lvl.shape)
    ctx.grow(at, ends)
    ctx.fill(at, 0, ends, 0)
    with (
        ctx.for_("p", 0, stop) as p,
        ctx.for_("q", Load(ptr, p).cast(INTP), Load(ptr, p + 1).cast(INTP)) as q,
    ):
        ctx.store(at, Load(idx, q).cast(INTP) + (stop - 1 - p), 1)
    with ctx.for_("k", 0, ends) as k, ctx.if_(Load(at, k) > 0):
        ctx.grow(ofs, count + 1)
        ctx.store(at, k, count)
        ctx.store(ofs, count, k - (stop - 1))
        ctx.assign(count, count + 1)
    ctx.store(lvl.buffer("num"), 0, count)
    return count


def _copy(ctx: Context, lvl: BoundLevel, listed: BoundLevel, stop: Expr) -> None:
    """Copy the listed subfibers, fiber by fiber."""
    ptr, idx, at = (*map(listed.buffer, ("ptr", "idx")), lvl.buffer("at"))
    assert listed.child is not None
    assert lvl.child is not None
    with (
        ctx.for_("p", 0, stop) as p,
        ctx.for_("q", Load(ptr, p).cast(INTP), Load(ptr, p + 1).cast(INTP)) as q,
    ):
        i = ctx.let(f"{lvl.name}_i", Load(idx, q), INTP)
        target = Fiber(lvl.child, Load(at, i + (stop - 1 - p)) * lvl.shape + i)
        copy_subfiber(ctx, Fiber(listed.child, q), target)


def _copy_in_order(ctx: Context, lvl: BoundLevel, listed: BoundLevel, stop: Expr) -> None:
    """Copy the listed subfibers, diagonal by diagonal: the next of a fiber is on the next of its
    diagonals, or on a later one."""
    ptr, idx, at, ofs = (*map(listed.buffer, ("ptr", "idx")), *map(lvl.buffer, ("at", "ofs")))
    assert listed.child is not None
    assert lvl.child is not None
    with ctx.for_("p", 0, stop) as p:
        ctx.store(at, p, Load(ptr, p).cast(INTP))
    with ctx.for_("d", 0, Load(lvl.buffer("num"), ctx.lift(0))) as d:
        offset = ctx.let(f"{lvl.name}_offset", Load(ofs, d))
        first, last = (0 - offset).max(0), (lvl.shape - offset).min(stop)
        with ctx.for_("p", first, last) as p:
            q = ctx.let(f"{lvl.name}_next", Load(at, p))
            i = p + offset
            there = (q < Load(ptr, p + 1).cast(INTP)).and_(Load(idx, q).cast(INTP).eq(i))
            with ctx.if_(there):
                target = Fiber(lvl.child, d * lvl.shape + i)
                copy_subfiber(ctx, Fiber(listed.child, q), target)
                ctx.store(at, p, q + 1)


@hookimpl
def finch_level_format() -> type[Format]:
    """Register ``SparseDiagonals``."""
    return SparseDiagonals


__all__ = ["SparseDiagonals"]
