"""Bits: a bit for each index says whether its subfiber is stored. Loops that count take 64 indices
at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import numpy as np

from finch_core.errors import FormatError
from finch_core.ir.dtypes import INTP
from finch_core.ir.expressions import Expr, Literal, Load
from finch_core.level import Fibers, Field, Format, Mode, Offer, Order, check_child
from finch_core.looplets import Lookup, Looplet, Packed, Part, Thunk
from finch_core.looplets.routines import positions_below
from finch_core.plugins import hookimpl

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.interface.tensorlike import BoundLevel, Fiber

WORD = np.dtype(np.uint64)
ONE = Literal(np.uint64(1), WORD)


@attrs.frozen
class Bits(Format):
    """Subfiber ``i`` of fiber ``p`` is at ``p * shape + i``, and stored where bit ``i % 64`` of
    word ``p * ceil(shape / 64) + i // 64`` is set.

    ``Bits(Pattern())`` is a set of indices, which takes a bit for each.
    """

    lvl: Format = attrs.field(converter=check_child)

    name: ClassVar[str] = "Bits"
    order: ClassVar[Order] = Order.ANY
    shares: ClassVar[bool] = False
    passes_values: ClassVar[bool] = True
    protocols: ClassVar[frozenset[str]] = frozenset({"walk", "follow"})

    @property
    def fields(self) -> tuple[Field, ...]:
        return (Field("words", WORD, "a bit for each index, 64 a word"),)

    # -- seen from Python -------------------------------------------------------------------

    def sizes(
        self, positions: int, shape: int, fields: Mapping[str, Any]
    ) -> tuple[dict[str, int], int]:
        return {"words": positions * -(-shape // 64)}, positions * shape

    def blank(self, positions: int, shape: int) -> tuple[dict[str, Any], int]:
        return {"words": np.zeros(positions * -(-shape // 64), WORD)}, positions * shape

    def entries(self, positions: int, shape: int, fields: Mapping[str, Any], below: int) -> int:
        words = fields["words"][: positions * -(-shape // 64)]
        return int(np.bitwise_count(words).sum(dtype=INTP))

    def validate_contents(self, positions: int, shape: int, fields: Mapping[str, Any]) -> None:
        width = -(-shape // 64)
        if shape % 64:
            last = fields["words"][: positions * width][width - 1 :: width]
            beyond = np.flatnonzero(last >> np.uint64(shape % 64))
            if beyond.size:
                raise FormatError(f"words[{beyond[0] * width + width - 1}] has bits beyond {shape}")

    @classmethod
    def offers(cls, fibers: Fibers) -> tuple[Offer, ...]:
        below = fibers.positions * fibers.shape
        work = below / 64 + fibers.stored * 1.5
        return (Offer(cls, f"a bit for each of {below} indices", below, below // 8, work, 1.0),)

    # -- the five functions -----------------------------------------------------------------

    def declare(self, ctx: Context, lvl: BoundLevel, init: Expr) -> None:
        assert lvl.child is not None
        lvl.child.declare(ctx, init)

    def assemble(self, ctx: Context, lvl: BoundLevel, start: Expr, stop: Expr) -> None:
        assert lvl.child is not None
        words, end = lvl.buffer("words"), positions_below(ctx, lvl, stop)
        ctx.grow(words, stop * _width(lvl))
        ctx.fill(words, start * _width(lvl), stop * _width(lvl), 0)
        lvl.child.assemble(ctx, start * lvl.shape, end)

    def freeze(self, ctx: Context, lvl: BoundLevel, stop: Expr) -> None:
        assert lvl.child is not None
        lvl.child.freeze(ctx, stop * lvl.shape)

    def thaw(self, ctx: Context, lvl: BoundLevel, stop: Expr) -> None:
        assert lvl.child is not None
        lvl.child.thaw(ctx, stop * lvl.shape)

    def unfurl(self, ctx: Context, fiber: Fiber, mode: Mode, protocol: str) -> Looplet:
        if mode is Mode.UPDATE:
            return Thunk(lambda ctx: _update(ctx, fiber))
        return Thunk(lambda ctx: _read(ctx, fiber, protocol == "follow"))


def _width(lvl: BoundLevel) -> Expr:
    """Words a fiber."""
    return (lvl.shape + 63) >> 6


def _bases(ctx: Context, fiber: Fiber) -> tuple[Expr, Expr]:
    """The fiber's first word, and its first subfiber."""
    lvl = fiber.lvl
    word = ctx.let(f"{lvl.name}_word", fiber.pos * _width(lvl), INTP)
    return word, ctx.let(f"{lvl.name}_base", fiber.pos * lvl.shape, INTP)


def _read(ctx: Context, fiber: Fiber, single: bool) -> Iterator[Part]:
    words, (first, base) = fiber.lvl.buffer("words"), _bases(ctx, fiber)
    bits = Packed(
        word=lambda k: Load(words, first + k),
        body=lambda ctx, i: fiber.subfiber(base + i),
        fill=fiber.filled(),
        start=ctx.lift(0),
        stop=fiber.lvl.shape,
    )
    yield Lookup(bits.at) if single else bits


def _update(ctx: Context, fiber: Fiber) -> Iterator[Part]:
    """Set the bit of each index at which something is written."""
    words, (first, base) = fiber.lvl.buffer("words"), _bases(ctx, fiber)

    def at(ctx: Context, i: Expr) -> Iterator[Part]:
        dirty = ctx.var(f"{fiber.lvl.name}_dirty", False)
        yield fiber.subfiber(base + i, dirty)
        with ctx.if_(dirty):
            k = ctx.let(f"{fiber.lvl.name}_k", first + (i >> 6))
            ctx.store(words, k, Load(words, k) | ONE << (i & 63).cast(WORD))
            fiber.mark(ctx)

    yield Lookup(lambda ctx, i: Thunk(lambda ctx: at(ctx, i)))


@hookimpl
def finch_level_format() -> type[Format]:
    """Register ``Bits``."""
    return Bits


__all__ = ["Bits"]
