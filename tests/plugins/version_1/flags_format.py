"""The format of the page "How to write a level format", as it was for version 1."""

import attrs
import numpy as np
from finch_core.expressions import Load
from finch_core.routines import positions_below

from finch_core.level import Field, Format, Mode, Order, check_child
from finch_core.looplets import Lookup, Run, Spike, Stepper, Switch, Thunk
from finch_core.plugins import hookimpl

BOOL = np.dtype(bool)


@attrs.frozen
class Flags(Format):
    """Subfiber ``i`` of fiber ``p`` is at ``p * shape + i``, and stored where ``flag`` says so."""

    lvl: Format = attrs.field(converter=check_child)

    name = "Flags"
    order = Order.ANY
    protocols = frozenset({"walk", "follow"})

    @property
    def fields(self):
        return (Field("flag", BOOL, "whether each subfiber is stored"),)

    def declare(self, ctx, lvl, init):
        lvl.child.declare(ctx, init)

    def assemble(self, ctx, lvl, start, stop):
        flag, end = lvl.buffer("flag"), positions_below(ctx, lvl, stop)
        ctx.grow(flag, end)
        ctx.fill(flag, start * lvl.shape, end, False)
        lvl.child.assemble(ctx, start * lvl.shape, end)

    def freeze(self, ctx, lvl, stop):
        lvl.child.freeze(ctx, stop * lvl.shape)

    def thaw(self, ctx, lvl, stop):
        lvl.child.thaw(ctx, stop * lvl.shape)

    def sizes(self, positions, shape, fields):
        return {"flag": positions * shape}, positions * shape

    def blank(self, positions, shape):
        return {"flag": np.zeros(positions * shape, bool)}, positions * shape

    def unfurl(self, ctx, fiber, mode, protocol):
        if mode is Mode.UPDATE:
            return Thunk(lambda ctx: update(ctx, fiber))
        if protocol == "follow":
            return Thunk(lambda ctx: follow(ctx, fiber))
        return Thunk(lambda ctx: walk(ctx, fiber))


def follow(ctx, fiber):
    flag = fiber.lvl.buffer("flag")
    base = ctx.let("base", fiber.pos * fiber.lvl.shape)

    def lookup(ctx, i):
        return Switch(Load(flag, base + i), fiber.subfiber(base + i), fiber.filled())

    yield Lookup(lookup)


def walk(ctx, fiber):
    flag, shape = fiber.lvl.buffer("flag"), fiber.lvl.shape
    base = ctx.let("base", fiber.pos * shape)
    q = ctx.var("next", 0)

    def skip(ctx):
        with ctx.while_((q < shape).and_(Load(flag, base + q).not_())):
            ctx.assign(q, q + 1)

    def seek(ctx, i):
        ctx.assign(q, i)
        skip(ctx)

    def following(ctx):
        ctx.assign(q, q + 1)
        skip(ctx)

    def last(ctx):
        k = ctx.var("last", shape)
        with ctx.while_((q < k).and_(Load(flag, base + k - 1).not_())):
            ctx.assign(k, k - 1)
        return k

    skip(ctx)
    yield Stepper(
        position=q,
        end=shape,
        stop=lambda q: q + 1,
        body=lambda ctx, q: Spike(fiber.filled(), fiber.subfiber(base + q)),
        seek=seek,
        bound=shape,
        tail=Run(fiber.filled()),
        start=ctx.lift(0),
        following=following,
        last=last,
    )


def update(ctx, fiber):
    flag = fiber.lvl.buffer("flag")
    base = ctx.let("base", fiber.pos * fiber.lvl.shape)

    def at(ctx, i):
        dirty = ctx.var("dirty", False)
        yield fiber.subfiber(base + i, dirty)
        with ctx.if_(dirty):
            ctx.store(flag, base + i, True)
            fiber.mark(ctx)

    yield Lookup(lambda ctx, i: Thunk(lambda ctx: at(ctx, i)))


class Counted(Flags):
    """Says how many subfibers it stores, as version 1 asked for it."""

    name = "Counted"

    def entries(self, positions, fields, below):
        return int(np.count_nonzero(fields["flag"][:below]))


@hookimpl
def finch_level_format():
    return [Flags, Counted]
