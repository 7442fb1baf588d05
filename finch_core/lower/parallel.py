"""Lowering of parallel loops: a loop over parts, each of which runs the turns of a range.

    for i in parallel(_):                  for part in parallel(range(parts)):
        for j in _:                            # from the first row of this part to that of the next
            y[i] += A[i, j] * x[j]     ->      for i in range(begin, end):
                                                   for j in _: y[i] += A[i, j] * x[j]

The number of parts and where they begin depend on the work alone (``work``), not on the number of
threads. What the turns reduce into, each part reduces into a copy of its own; what they append, it
appends to a tensor of its own. At its end, parts merge these in their order (``lower.races`` has
found which tensors those are).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import reduce
from typing import TYPE_CHECKING, Any

from finch_core.interface.abilities import Sharing
from finch_core.interface.level import Format, Mode
from finch_core.interface.plugin_calls import emitted
from finch_core.interface.tensorlike import ZERO, BoundLevel, BoundTensor, Fiber
from finch_core.ir.assembly import Block, Fill, Let, Merge, Parallel, Private, Statement
from finch_core.ir.assembly_rewrite import changed_names, names_in, renamed
from finch_core.ir.dtypes import INTP, concrete
from finch_core.ir.expressions import Access, Buffer, Expr, Index, Literal, Var
from finch_core.ir.program import Extent, Loop, Stmt, Update
from finch_core.ir.rewrite import rewrite_statements
from finch_core.lower.races import Reduction, Roles
from finch_core.lower.work import Work
from finch_core.records import define, evolve
from finch_core.symbolic.updates import neutral

if TYPE_CHECKING:
    from finch_core.interface.context import Context

LowerLoop = Callable[[Any, Loop], None]


def loops_in_turn(stmt: Stmt, parallel: Mapping[Index, Roles]) -> Stmt:
    """``stmt`` with parallel loops as plain ones where the parts compute the same bits: where they
    reduce into nothing, or into integers and bools. ``stmt`` itself if there are none."""

    def plain(node: Stmt) -> Stmt:
        if not isinstance(node, Loop) or not node.parallel:
            return node
        reduced = parallel[node.index].reduced
        exact = all(concrete(tensor.format.dtype).kind in "biu" for tensor in reduced)
        return evolve(node, parallel=False) if exact else node

    return rewrite_statements(stmt, plain)


def lower_turns(ctx: Context, stmt: Loop, count: Expr, lower: LowerLoop) -> bool:
    """Emit a loop of ``count`` turns whose indices are not known to increase; ``lower`` emits those
    of a range of numbers. False if parts append rows, which come in order."""
    if ctx.parallel[stmt.index].joined:
        return False
    lower_parallel(ctx, stmt, ZERO, count, lower, numbered=True)
    return True


def lower_parallel(
    ctx: Context, stmt: Loop, start: Expr, stop: Expr, lower: LowerLoop, numbered: bool = False
) -> None:
    """Emit a loop from ``start`` up to ``stop``, which is within what its index accesses, or counts
    the turns if they are ``numbered``; ``lower`` emits the loop of one part."""
    roles: Roles = ctx.parallel[stmt.index]
    name = stmt.index.name
    copies = [_Copy.of(ctx, tensor, found) for tensor, found in roles.reduced.items()]
    joined = [_Rows.of(ctx, tensor, lower) for tensor in sorted(roles.joined, key=str)]
    work = Work(ctx, stmt, start, stop, roles, numbered)
    for copy in copies:
        copy.prepare(ctx)
    parts = ctx.let(f"{name}_parts", work.parts([copy.size for copy in copies]))
    part = Var(ctx.names.fresh(f"{name}_part"), INTP)
    ctx.constant(part)
    before, ctx.thawed = ctx.thawed, ()
    own: list[_Copy | _Rows] = [*copies, *joined]
    fills = [
        found
        for tensor in (() if numbered else roles.disjoint)
        for found in _filled(ctx, stmt, tensor, start, stop)
    ]
    with ctx.block() as body:
        begin, end = work.bounds(part, parts)
        for fill, row in fills:
            ctx.fill(fill.buffer, begin * row, end * row, fill.value)
        with ctx.prover.assuming(start <= begin, begin <= end, end <= stop):
            merge = _part(ctx, stmt, lower, own, Extent(begin, end))
    ctx.thawed = before
    if merge:
        body.append(Merge(Block(tuple(merge))))
    block, private = _private(ctx, Block(tuple(body)), roles)
    private += [item for made in own for item in made.private]
    if block:
        loop = _loop_over_parts(part, parts, block, private, _shared(roles))
        ctx.emit(evolve(loop, any_count=isinstance(parts, Var) and not copies))


def _part(
    ctx: Context, stmt: Loop, lower: LowerLoop, own: list[_Copy | _Rows], extent: Extent
) -> list[Statement]:
    """Emit the loop of one part; gives the statements that merge what is its own."""
    begin, end = extent.start, extent.stop
    for made in own:
        made.begin(ctx, begin, end)
    with _standing_in([made.pair for made in own]):
        lower(ctx, evolve(stmt, extent=extent, parallel=False))
    for rows in own:
        if isinstance(rows, _Rows):
            rows.end(ctx, begin, end)
    with ctx.block() as merge:
        for made in own:
            made.merge(ctx, begin, end)
    return merge


def _loop_over_parts(
    part: Var, parts: Expr, block: Block, private: Iterable[Private], shared: Iterable[Buffer]
) -> Parallel:
    """The loop, with what ``block`` uses of what is private and of what it shares."""
    used, stored = names_in(block), changed_names(*block.statements)
    own = tuple(item for item in private if item.target.name in used)
    return Parallel(part, parts, block, own, tuple(b for b in shared if b.name in stored))


def _filled(
    ctx: Context, loop: Loop, tensor: BoundTensor, start: Expr, stop: Expr
) -> Iterator[tuple[Fill, Expr]]:
    """Take back the fills of a tensor of which each turn writes a row, so that each part fills its
    own rows; with the size of a row."""
    levels = tensor.level.levels()
    if not all(Sharing.COPIED in level.format.parallel for level in levels):
        return  # only then subfiber ``i`` of fiber ``p`` is at ``p * shape + i``
    sizes = [level.shape for level in levels if not level.format.is_leaf]
    indices = {
        part.target.indices[0] == loop.index
        for part in loop.body.walk()
        if isinstance(part, Update) and part.target.tensor.root is tensor
    }
    if indices != {True} or not (
        ctx.prover.equal(start, ZERO) and ctx.prover.equal(stop, sizes[0])
    ):
        return
    for buffer in levels[-1].parts.values():
        fill = ctx.take_back(buffer) if isinstance(buffer, Buffer) else None
        if fill is not None:
            yield fill, reduce(lambda a, b: a * b, sizes[1:], ctx.lift(1))


def _shared(roles: Roles) -> Iterator[Buffer]:
    """The buffers to which several parts store."""
    for tensor in sorted(roles.disjoint | roles.in_place - roles.joined, key=str):
        yield from (part for part in tensor.parts if isinstance(part, Buffer))


# -- tensors of each turn -------------------------------------------------------------------------


def _private(ctx: Context, block: Block, roles: Roles) -> tuple[Block, list[Private]]:
    """``block`` with new names for what private tensors consist of, and these."""
    changed, used = changed_names(*block.statements), names_in(block)
    found: list[Private] = []
    new: dict[str, Var | Buffer] = {}
    lets: list[Let] = []
    for tensor in sorted(roles.private, key=str):
        for target, init in _fields(tensor):
            is_buffer = isinstance(target, Buffer)
            if target.name not in (used if is_buffer else changed):
                continue
            own: Any = evolve(target, name=ctx.names.fresh(target.name))
            new[target.name] = own
            if tensor.format.ndim:
                found.append(Private(own, init))
            else:  # declared in each turn, before it is read
                lets.append(Let(own, init, mutable=True))
    block = renamed(block, new)
    return Block((*lets, *block.statements)) if lets else block, found


def _fields(tensor: BoundTensor) -> Iterator[tuple[Any, Any]]:
    """The variables and buffers of a tensor, with the first value of each variable."""
    for level in tensor.level.levels():
        if isinstance(level.shape, Var):
            yield level.shape, Literal(0, INTP)
        for field in level.format.fields:
            target = level.parts[field.name]
            init = None if field.is_buffer else Literal(field.init, concrete(field.dtype))
            yield target, init


# -- tensors of each part -------------------------------------------------------------------------


@define(eq=False)
class _Copy:
    """The copies of a tensor that is reduced into."""

    tensor: BoundTensor
    reduction: Reduction
    own: BoundLevel
    size: Expr
    before: Expr | None = None

    @classmethod
    def of(cls, ctx: Context, tensor: BoundTensor, reduction: Reduction) -> _Copy:
        levels = tensor.level.levels()
        sizes = [level.shape for level in levels if not level.format.is_leaf]
        size = reduce(lambda a, b: a * b, sizes, ctx.lift(1))
        if sizes:
            size = ctx.let(f"{tensor}_size", size)
        return cls(tensor, reduction, _own_level(ctx, tensor.level), size)

    @property
    def pair(self) -> tuple[BoundLevel, BoundLevel]:
        return self.tensor.level, self.own

    @property
    def leaf(self) -> BoundLevel:
        return self.own.levels()[-1]

    @property
    def buffers(self) -> list[Buffer]:
        return [part for part in self.leaf.parts.values() if isinstance(part, Buffer)]

    @property
    def neutral(self) -> Any:
        return neutral(self.reduction.merge, concrete(self.tensor.format.dtype))

    @property
    def private(self) -> Iterator[Private]:
        yield from map(Private, self.buffers)

    def prepare(self, ctx: Context) -> None:
        """What copies begin with, if the operator has no identity: updates repeat it."""
        if self.neutral is None:
            self.before = ctx.let(f"{self.tensor}_before", self.tensor.fiber.read(ctx))

    def begin(self, ctx: Context, begin: Expr, end: Expr) -> None:
        dtype = concrete(self.tensor.format.dtype)
        value = self.before
        if value is None:
            value = Literal(self.neutral, dtype)
        for field in self.leaf.format.fields:
            target = self.leaf.parts[field.name]
            if isinstance(target, Var):
                ctx.emit(Let(target, Literal(field.init, concrete(field.dtype)), mutable=True))
        self.leaf.format.assemble(ctx, self.leaf, ZERO, self.size)
        fill = self.tensor.format.fill_value
        if self.buffers and isinstance(value, Literal) and value == Literal(fill, dtype):
            return
        with self._positions(ctx) as pos:
            self.leaf.format.unwrap(ctx, self._at(self.leaf, pos), Mode.UPDATE, None, value)

    def merge(self, ctx: Context, begin: Expr, end: Expr) -> None:
        whole = self.tensor.level.levels()[-1]
        with self._positions(ctx) as pos:
            value = self.leaf.format.unwrap(ctx, self._at(self.leaf, pos), Mode.READ, None, None)
            target = self._at(whole, pos)
            whole.format.unwrap(ctx, target, Mode.UPDATE, self.reduction.merge, value)

    def _at(self, leaf: BoundLevel, pos: Expr) -> Fiber:
        return Fiber(leaf, pos, None, self.tensor)

    @contextmanager
    def _positions(self, ctx: Context) -> Iterator[Expr]:
        """A loop over the values of a copy."""
        if self.buffers:
            with ctx.for_("p", 0, self.size) as pos:
                yield pos
        else:
            yield ZERO


@define(eq=False)
class _Rows:
    """The rows of a tensor that each part writes to one of its own, ``made``."""

    tensor: BoundTensor
    made: BoundTensor
    lower: LowerLoop

    @classmethod
    def of(cls, ctx: Context, tensor: BoundTensor, lower: LowerLoop) -> _Rows:
        own = _own_level(ctx, tensor.level)
        for level, whole in zip(own.levels()[1:], tensor.level.levels()[1:], strict=True):
            level.resumed = whole.resumed  # a turn may write its row by several loops
        return cls(tensor, BoundTensor(f"{tensor}_part", tensor.format, own, local=True), lower)

    @property
    def pair(self) -> tuple[BoundLevel, BoundLevel]:
        return self.tensor.level, self.made.level

    @property
    def private(self) -> Iterator[Private]:
        for level in self.made.level.levels():
            for field in level.format.fields:
                init = None if field.is_buffer else Literal(field.init, concrete(field.dtype))
                yield Private(level.parts[field.name], init)

    @property
    def is_windowed(self) -> bool:
        """Whether a part has its own rows alone."""
        return Sharing.ROWS in self.tensor.format.parallel

    @property
    def appends(self) -> bool:
        """Whether levels append the fibers of others (``join``), or the outermost one the subfibers
        of another (``extend``)."""
        first, *levels = self.tensor.format.levels()
        takes = self.is_windowed or type(first).extend is not Format.extend
        return takes and all(type(lvl).join is not Format.join for lvl in levels)

    def begin(self, ctx: Context, begin: Expr, end: Expr) -> None:
        own, fill = self.made.level, self.tensor.format.fill_value
        own.declare(ctx, Literal(fill, self.tensor.format.dtype, structural=True))
        if self.is_windowed and own.child is not None:
            own.first = begin
            own.child.assemble(ctx, ZERO, end - begin)
        else:
            own.assemble(ctx, ZERO, 1)

    def end(self, ctx: Context, begin: Expr, end: Expr) -> None:
        """Finish the rows of a part, if they are copied one by one."""
        own = self.made.level
        if self.appends:
            return
        if self.is_windowed and own.child is not None:
            own.child.freeze(ctx, end - begin)
        else:
            own.freeze(ctx, 1)

    def merge(self, ctx: Context, begin: Expr, end: Expr) -> None:
        whole, own = self.tensor.level, self.made.level
        if not self.appends:
            self.lower(ctx, self._copying(ctx, begin, end))
        elif not self.is_windowed:
            emitted(whole.format, "extend", ctx, whole, own)
        elif whole.child is not None and own.child is not None:
            rows = ctx, whole.child, own.child, begin, end - begin
            emitted(whole.child.format, "join", *rows)

    def _copying(self, ctx: Context, begin: Expr, end: Expr) -> Loop:
        """The loops that copy what a part stores."""
        fiber = self.tensor.fiber
        indices = tuple(Index(ctx.names.fresh(f"row{k}")) for k in range(fiber.ndim))
        read = Access(self.made.fiber, indices)
        stmt: Any = Update(Access(fiber, indices), None, read, fresh=True)
        extents = [Extent(begin, end), *fiber.dims[1:]]
        for index, extent in reversed(list(zip(indices, extents, strict=True))):
            stmt = Loop(index, extent, stmt)
        found: Loop = stmt
        return found


def _own_level(ctx: Context, level: BoundLevel) -> BoundLevel:
    """A level like ``level``, and those below, of its dimensions, with other buffers."""
    child = None if level.child is None else _own_level(ctx, level.child)
    parts: dict[str, Var | Buffer] = {
        name: evolve(part, name=ctx.names.fresh(f"{part.name}_part"))
        for name, part in level.parts.items()
    }
    return BoundLevel(level.format, f"{level.name}_part", level.shape, parts, child)


@contextmanager
def _standing_in(pairs: list[tuple[BoundLevel, BoundLevel]]) -> Iterator[None]:
    """A context in which levels have the parts and the state of others."""
    both = [
        (whole, own)
        for pair in pairs
        for whole, own in zip(pair[0].levels(), pair[1].levels(), strict=True)
    ]
    for whole, own in both:
        _exchange(whole, own)
    try:
        yield
    finally:
        for whole, own in both:
            _exchange(whole, own)


def _exchange(whole: BoundLevel, own: BoundLevel) -> None:
    for name in ("parts", "state", "first", "resumed", "scratch"):
        held = getattr(whole, name)
        setattr(whole, name, getattr(own, name))
        setattr(own, name, held)


__all__ = ["loops_in_turn", "lower_parallel", "lower_turns"]
