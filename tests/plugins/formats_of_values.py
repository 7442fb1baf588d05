"""Formats of plugins whose elements are not the values of a leaf's buffer."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from finch_core.errors import FormatError
from finch_core.interface.tensorlike import Constant
from finch_core.ir.dtypes import INTP
from finch_core.ir.expressions import Load, call
from finch_core.level import Field, Format, Mode, Order, check_child, check_leaf
from finch_core.looplets import Lookup, Switch

FLOAT = np.dtype(float)


@attrs.frozen
class _Leaf(Format):
    """A leaf of floats with one buffer."""

    fill: float = 0.0

    is_leaf = True
    order = Order.ANY
    reads_updates = True
    empty = staticmethod(lambda fill: fill)

    @property
    def dtype(self) -> Any:
        return FLOAT

    @property
    def fill_value(self) -> Any:
        return np.float64(self.fill)

    @property
    def fields(self) -> Any:
        return (Field("val", FLOAT, "a number for each position"),)

    def sizes(self, positions: int, shape: int, fields: Any) -> Any:
        return {"val": positions}, 0

    def declare(self, ctx: Any, lvl: Any, init: Any) -> None:
        pass

    def assemble(self, ctx: Any, lvl: Any, start: Any, stop: Any) -> None:
        ctx.grow(lvl.buffer("val"), stop)
        ctx.fill(lvl.buffer("val"), start, stop, float(self.empty(self.fill)))

    def freeze(self, ctx: Any, lvl: Any, stop: Any) -> None:
        pass

    def thaw(self, ctx: Any, lvl: Any, stop: Any) -> None:
        pass

    def unwrap(self, ctx: Any, fiber: Any, mode: Mode, op: Any, value: Any) -> Any:
        buffer = fiber.lvl.buffer("val")
        old = self.read(ctx, Load(buffer, fiber.pos))
        if mode is Mode.READ:
            return old
        new = value if op is None else call(op, old, value)
        ctx.store(buffer, fiber.pos, self.written(new))
        fiber.mark(ctx)
        return None

    def read(self, ctx: Any, stored: Any) -> Any:
        """The value of what is stored."""
        return stored

    def written(self, value: Any) -> Any:
        """What is stored for a value."""
        return value


@attrs.frozen
class Twice(_Leaf):
    """Stores each value times two."""

    name = "Twice"
    empty = staticmethod(lambda fill: 2 * fill)

    def read(self, ctx: Any, stored: Any) -> Any:
        return stored * 0.5

    def written(self, value: Any) -> Any:
        return value * 2.0


@attrs.frozen
class Maybe(_Leaf):
    """Stores NaN where there is no value."""

    name = "Maybe"
    empty = staticmethod(lambda fill: np.nan)

    def entries(self, positions: int, shape: int, fields: Any, below: int) -> int:
        return int((~np.isnan(fields["val"][:positions])).sum())

    def is_stored(self, ctx: Any, fiber: Any) -> Any:
        value = Load(fiber.lvl.buffer("val"), fiber.pos)
        return value.eq(value)

    def read(self, ctx: Any, stored: Any) -> Any:
        return ctx.ifelse(stored.eq(stored), stored, float(self.fill))


@attrs.frozen
class Shifted(Format):
    """Each element is one of the child plus a number for its fiber."""

    lvl: Format = attrs.field(converter=check_child)

    name = "Shifted"
    order = Order.ANY
    shares = False
    protocols = frozenset({"walk", "follow"})

    @property
    def fields(self) -> Any:
        return (Field("add", self.lvl.dtype, "what is added to each value of a fiber"),)

    def sizes(self, positions: int, shape: int, fields: Any) -> Any:
        return {"add": positions}, positions * shape

    def declare(self, ctx: Any, lvl: Any, init: Any) -> None:
        lvl.child.declare(ctx, init)

    def assemble(self, ctx: Any, lvl: Any, start: Any, stop: Any) -> None:
        ctx.grow(lvl.buffer("add"), stop)
        ctx.fill(lvl.buffer("add"), start, stop, 0)
        lvl.child.assemble(ctx, start * lvl.shape, stop * lvl.shape)

    def freeze(self, ctx: Any, lvl: Any, stop: Any) -> None:
        lvl.child.freeze(ctx, stop * lvl.shape)

    def thaw(self, ctx: Any, lvl: Any, stop: Any) -> None:
        lvl.child.thaw(ctx, stop * lvl.shape)

    def unfurl(self, ctx: Any, fiber: Any, mode: Mode, protocol: str) -> Any:
        base = fiber.pos * fiber.lvl.shape
        if mode is Mode.UPDATE:
            return Lookup(lambda ctx, i: fiber.subfiber(base + i))
        add = fiber.lvl.buffer("add")
        return Lookup(
            lambda ctx, i: Constant(fiber.subfiber(base + i).read(ctx) + Load(add, fiber.pos))
        )


@attrs.frozen
class Counted(Format):
    """Element ``i`` of fiber ``p`` is ``p + i``; nothing is stored."""

    lvl: Format = attrs.field(converter=check_leaf)

    name = "Counted"
    order = Order.ANY
    thaws = False
    protocols = frozenset({"walk", "follow"})
    limit = staticmethod(lambda fiber, fill: np.zeros(len(fiber), bool))
    fields = ()

    def sizes(self, positions: int, shape: int, fields: Any) -> Any:
        return {}, 0

    def declare(self, ctx: Any, lvl: Any, init: Any) -> None:
        lvl.child.declare(ctx, init)

    def assemble(self, ctx: Any, lvl: Any, start: Any, stop: Any) -> None:
        pass

    def freeze(self, ctx: Any, lvl: Any, stop: Any) -> None:
        pass

    def unfurl(self, ctx: Any, fiber: Any, mode: Mode, protocol: str) -> Any:
        if mode is Mode.UPDATE:
            raise FormatError("what is counted cannot be written")
        return Lookup(lambda ctx, i: Constant((fiber.pos + i).cast(self.lvl.dtype)))


@attrs.frozen
class Keyed(Format):
    """A list of one index for each fiber, and the largest value of it."""

    lvl: Format = attrs.field(converter=check_child)

    name = "Keyed"
    order = Order.ONCE
    thaws = False
    passes_values = True

    @property
    def fields(self) -> Any:
        return (Field("at", INTP, "the index"), Field("most", self.lvl.dtype, "the largest value"))

    def sizes(self, positions: int, shape: int, fields: Any) -> Any:
        return {"at": positions, "most": positions}, positions

    def declare(self, ctx: Any, lvl: Any, init: Any) -> None:
        lvl.child.declare(ctx, init)

    def assemble(self, ctx: Any, lvl: Any, start: Any, stop: Any) -> None:
        lvl.child.assemble(ctx, start, stop)

    def freeze(self, ctx: Any, lvl: Any, stop: Any) -> None:
        lvl.child.freeze(ctx, stop)

    def unfurl(self, ctx: Any, fiber: Any, mode: Mode, protocol: str) -> Any:
        at = Load(fiber.lvl.buffer("at"), fiber.pos)
        return Lookup(lambda ctx, i: Switch(at.eq(i), fiber.subfiber(fiber.pos), fiber.filled()))
