"""SparseBitmap: a bit for each index says whether its subfiber is stored; those stored lie next to
each other. Reads find the next one by counting trailing zeros, and any one by counting bits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import numpy as np

from finch_core.errors import FormatError
from finch_core.ir.dtypes import INTP
from finch_core.ir.expressions import Expr, Literal, Load, call
from finch_core.level import Field, Format, Mode, Order, check_child, integer_dtype
from finch_core.looplets import Jumper, Lookup, Looplet, Part, Run, Spike, Stepper, Switch, Thunk
from finch_core.looplets.routines import append_position, require_width
from finch_core.operators import operator
from finch_core.plugins import hookimpl
from finch_core.runtime.validation import check_pointers

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.interface.tensorlike import BoundLevel, Fiber

WORD = np.dtype(np.uint64)
ONE = Literal(np.uint64(1), WORD)


@attrs.frozen
class SparseBitmap(Format):
    """A level with ``w = ceil(shape / 64)`` words a fiber, of which bit ``i % 64`` of word
    ``p * w + i // 64`` tells whether index ``i`` of fiber ``p`` is stored. ``rank[k]`` bits are set
    before word ``k``: a subfiber is at the rank of its word plus the number of bits below its own.

    ``pointer`` is the dtype of ``rank``. Reads walk, gallop or follow; writes append in order.
    """

    lvl: Format = attrs.field(converter=check_child)
    pointer: np.dtype[Any] = attrs.field(default=INTP, converter=integer_dtype)

    name: ClassVar[str] = "SparseBitmap"
    order: ClassVar[Order] = Order.ONCE
    shares: ClassVar[bool] = False
    passes_values: ClassVar[bool] = True
    protocols: ClassVar[frozenset[str]] = frozenset({"walk", "gallop", "follow"})

    @property
    def fields(self) -> tuple[Field, ...]:
        return (
            Field("words", WORD, "a bit for each index, 64 a word"),
            Field("rank", self.pointer, "how many bits are set before each word"),
        )

    # -- seen from Python -------------------------------------------------------------------

    def sizes(
        self, positions: int, shape: int, fields: Mapping[str, Any]
    ) -> tuple[dict[str, int], int]:
        words = positions * -(-shape // 64)
        return {"words": words, "rank": words + 1}, int(fields["rank"][words])

    def blank(self, positions: int, shape: int) -> tuple[dict[str, Any], int]:
        words = positions * -(-shape // 64)
        return {"words": np.zeros(words, WORD), "rank": np.zeros(words + 1, self.pointer)}, 0

    def validate(self, positions: int, shape: int, fields: Mapping[str, Any]) -> None:
        check_pointers("rank", fields["rank"], positions * -(-shape // 64))

    def validate_contents(self, positions: int, shape: int, fields: Mapping[str, Any]) -> None:
        width = -(-shape // 64)
        words = fields["words"][: positions * width]
        wrong = np.flatnonzero(np.bitwise_count(words) != np.diff(fields["rank"][: len(words) + 1]))
        if wrong.size:
            raise FormatError(f"rank[{wrong[0] + 1}] does not count the bits of words[{wrong[0]}]")
        if shape % 64:
            beyond = np.flatnonzero(words[width - 1 :: width] >> np.uint64(shape % 64))
            if beyond.size:
                raise FormatError(f"words[{beyond[0] * width + width - 1}] has bits beyond {shape}")

    # -- the five functions -----------------------------------------------------------------

    def declare(self, ctx: Context, lvl: BoundLevel, init: Expr) -> None:
        assert lvl.child is not None
        lvl.state["stored"] = ctx.var(f"{lvl.name}_stored", 0)
        lvl.state["room"] = ctx.var(f"{lvl.name}_room", 0)
        lvl.state.pop("after", None)
        lvl.child.declare(ctx, init)

    def assemble(self, ctx: Context, lvl: BoundLevel, start: Expr, stop: Expr) -> None:
        words, width = lvl.buffer("words"), _width(lvl)
        ctx.grow(words, stop * width)
        ctx.fill(words, start * width, stop * width, 0)

    def freeze(self, ctx: Context, lvl: BoundLevel, stop: Expr) -> None:
        assert lvl.child is not None
        words, rank, stored = lvl.buffer("words"), lvl.buffer("rank"), lvl.state["stored"]
        require_width(ctx, stored, self.pointer, "stored entries", "pointer")
        ctx.grow(rank, stop * _width(lvl) + 1)
        ctx.store(rank, 0, 0)
        sum_ = ctx.var(f"{lvl.name}_sum", 0)
        with ctx.for_("k", 0, stop * _width(lvl)) as k:
            ctx.assign(sum_, sum_ + count(Load(words, k)))
            ctx.store(rank, k + 1, sum_)
        lvl.child.freeze(ctx, stored)

    def thaw(self, ctx: Context, lvl: BoundLevel, stop: Expr) -> None:
        assert lvl.child is not None
        stop = ctx.let(f"{lvl.name}_words", stop * _width(lvl))
        stored = ctx.var(f"{lvl.name}_stored", Load(lvl.buffer("rank"), stop), INTP)
        lvl.state["stored"] = stored
        lvl.state["room"] = ctx.var(f"{lvl.name}_room", stored)
        lvl.state["after"] = ctx.var(f"{lvl.name}_after", last_bit(ctx, lvl, ctx.lift(0), stop) + 1)
        lvl.child.thaw(ctx, stored)

    def unfurl(self, ctx: Context, fiber: Fiber, mode: Mode, protocol: str) -> Looplet:
        if mode is Mode.UPDATE:
            return Thunk(lambda ctx: _append(ctx, fiber))
        if protocol == "follow":
            return Thunk(lambda ctx: _follow(ctx, fiber))
        return Thunk(lambda ctx: _walk(ctx, fiber, Jumper if protocol == "gallop" else Stepper))


# -- bits ---------------------------------------------------------------------------------------


def count(word: Expr) -> Expr:
    """The number of set bits of a word."""
    return call(operator("popcount"), word).cast(INTP)


def below(i: Expr) -> Expr:
    """The bits of a word below that of index ``i``."""
    return (ONE << (i & 63).cast(WORD)) - ONE


def last_bit(ctx: Context, lvl: BoundLevel, start: Expr, stop: Expr) -> Expr:
    """The last bit that is set in words ``start`` up to ``stop``, counted from ``start``, or -1."""
    words, k = lvl.buffer("words"), ctx.var(f"{lvl.name}_k", stop)
    with ctx.while_((start < k).and_(Load(words, k - 1).eq(0))):
        ctx.assign(k, k - 1)
    found = ctx.var(f"{lvl.name}_found", -1)
    with ctx.if_(start < k):
        rest = ctx.var(f"{lvl.name}_high", Load(words, k - 1))
        for shift in (1, 2, 4, 8, 16, 32):  # set all bits below the highest, and count them
            ctx.assign(rest, rest | rest >> Literal(np.uint64(shift), WORD))
        ctx.assign(found, (k - 1 - start) * 64 + count(rest) - 1)
    return found


def _width(lvl: BoundLevel) -> Expr:
    """Words a fiber."""
    return (lvl.shape + 63) // 64


def _base(ctx: Context, fiber: Fiber) -> Expr:
    """The fiber's first word."""
    return ctx.let(f"{fiber.lvl.name}_base", fiber.pos * _width(fiber.lvl), INTP)


# -- looplets -----------------------------------------------------------------------------------


def _walk(ctx: Context, fiber: Fiber, kind: type[Stepper]) -> Iterator[Part]:
    """Iterate over the set bits. ``q`` is the position of the next one, which is the lowest bit
    of ``rest``: what is left of word ``k``."""
    lvl, name, base = fiber.lvl, fiber.lvl.name, _base(ctx, fiber)
    words, rank = lvl.buffer("words"), lvl.buffer("rank")
    end = ctx.let(f"{name}_q_stop", Load(rank, base + _width(lvl)), INTP)
    q = ctx.var(f"{name}_q", Load(rank, base), INTP)
    k, rest = ctx.var(f"{name}_k", base - 1), ctx.var(f"{name}_rest", 0, WORD)

    def skip(ctx: Context) -> None:
        with ctx.while_((q < end).and_(rest.eq(0))):
            ctx.assign(k, k + 1)
            ctx.assign(rest, Load(words, k))

    def following(ctx: Context) -> None:
        ctx.assign(q, q + 1)
        ctx.assign(rest, rest & (rest - ONE))
        skip(ctx)

    def seek(ctx: Context, i: Expr) -> None:
        with ctx.if_(i < lvl.shape):
            ctx.assign(k, base + (i >> 6))
            word = ctx.let(f"{name}_word", Load(words, k))
            ctx.assign(q, Load(rank, k).cast(INTP) + count(word & below(i)))
            ctx.assign(rest, (word >> (i & 63).cast(WORD)) << (i & 63).cast(WORD))
            skip(ctx)
        with ctx.else_():
            ctx.assign(q, end)

    skip(ctx)
    fill = fiber.filled()
    yield kind(
        position=q,
        end=end,
        stop=lambda q: (k - base) * 64 + call(operator("ctz"), rest).cast(INTP) + 1,
        body=lambda ctx, q: Spike(fill, fiber.subfiber(q)),
        seek=seek,
        bound=lvl.shape,
        tail=Run(fill),
        start=ctx.lift(0),
        following=following,
        last=lambda ctx: last_bit(ctx, lvl, base, base + _width(lvl)) + 1,
    )


def _follow(ctx: Context, fiber: Fiber) -> Iterator[Part]:
    """Test the bit of each index."""
    name, base = fiber.lvl.name, _base(ctx, fiber)
    words, rank = fiber.lvl.buffer("words"), fiber.lvl.buffer("rank")

    def lookup(ctx: Context, i: Expr) -> Part:
        k = ctx.let(f"{name}_k", base + (i >> 6))
        word = ctx.let(f"{name}_word", Load(words, k))
        q = Load(rank, k).cast(INTP) + count(word & below(i))
        return Switch((word >> (i & 63).cast(WORD) & ONE).ne(0), fiber.subfiber(q), fiber.filled())

    yield Lookup(lookup)


def _append(ctx: Context, fiber: Fiber) -> Iterator[Part]:
    """Append a subfiber, and set the bit, of each index at which something is written."""
    lvl, name, base = fiber.lvl, fiber.lvl.name, _base(ctx, fiber)
    words, stored, after = lvl.buffer("words"), lvl.state["stored"], lvl.state.get("after")

    def at(ctx: Context, i: Expr) -> Iterator[Part]:
        append_position(ctx, lvl, stored, lvl.state["room"])
        dirty = ctx.var(f"{name}_dirty", False)
        yield fiber.subfiber(stored, dirty)
        with ctx.if_(dirty):
            if after is not None:
                message = "index {0} of a thawed SparseBitmap is not after all that it stores"
                ctx.require(base * 64 + i >= after, FormatError, message, i, hint="append in order")
            k = ctx.let(f"{name}_k", base + (i >> 6))
            ctx.store(words, k, Load(words, k) | (ONE << (i & 63).cast(WORD)))
            ctx.assign(stored, stored + 1)
            fiber.mark(ctx)

    yield Lookup(lambda ctx, i: Thunk(lambda ctx: at(ctx, i)))


@hookimpl
def finch_level_format() -> type[Format]:
    """Register ``SparseBitmap``."""
    return SparseBitmap


__all__ = ["SparseBitmap"]
