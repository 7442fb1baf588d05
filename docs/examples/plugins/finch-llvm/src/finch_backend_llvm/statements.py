"""Statements of assembly."""

from __future__ import annotations

from functools import singledispatchmethod
from typing import Any

import attrs
from llvmlite import ir

from finch_backend_llvm import values
from finch_backend_llvm.code import Code, integer
from finch_backend_llvm.expressions import Expressions
from finch_backend_llvm.scope import Variable
from finch_backend_llvm.values import BIT, INT64, POINTER, Value
from finch_core.errors import BackendError
from finch_core.ir.assembly import (
    OUT_OF_MEMORY,
    Assign,
    Block,
    Break,
    Comment,
    Fail,
    Fill,
    For,
    Grow,
    If,
    Let,
    Merge,
    Move,
    Parallel,
    Prefetch,
    Return,
    Statement,
    Store,
    Swap,
    While,
)
from finch_core.ir.dtypes import INTP
from finch_core.ir.expressions import Call, Literal

LARGEST = 2**63 - 1


@attrs.define(eq=False)
class Statements(Expressions):
    """Emits statements. ``control`` is the address of the control block, where there is one."""

    control: Any = None
    exits: list[tuple[int, Any]] = attrs.field(factory=list, init=False)
    """Where the kernel fails: the sites and the blocks from which control leaves."""
    leave: Any = None
    """The block after the kernel's body."""
    _loops: list[Any] = attrs.field(factory=list, init=False)
    _lanes: dict[str, str] = attrs.field(factory=dict, init=False)

    @property
    def builder(self) -> Any:
        return self.code.builder

    def block(self, block: Block) -> None:
        """All statements of ``block``; what it declares ends with it."""
        names = dict(self.names)
        for statement in block.statements:
            if self.builder.block.is_terminated:
                break
            self._run(statement)
        self.names = names

    @singledispatchmethod
    def _run(self, statement: Statement) -> None:
        raise BackendError(f"no statement of assembly: {statement!r}")

    @_run.register
    def _(self, statement: Comment) -> None:
        for line in statement.text.splitlines():
            self.builder.comment(line)

    # -- variables ----------------------------------------------------------------------

    @_run.register
    def _(self, statement: Let) -> None:
        value, var = self.value(statement.value), statement.var
        if statement.mutable:
            room = self.code.variable(value.type, value, var.name)
            self.names[var.name] = Variable(room)
        else:
            self.names[var.name] = value

    @_run.register
    def _(self, statement: Assign) -> None:
        name = statement.var.name
        value = self._reduced(statement) if name in self._lanes else self.value(statement.value)
        self.builder.store(value, self.names[name].room)

    def _reduced(self, statement: Assign) -> Value:
        """A step of a reduction that may be done in lanes: it alone may be reassociated."""
        value, name = statement.value, statement.var.name
        if not (isinstance(value, Call) and value.op.name == self._lanes[name]):
            return self.value(value)
        self._known = {}
        args = [self.emit(arg) for arg in value.args]
        self.code.flags = ("reassoc",)
        result = self.applied(value, args)
        self.code.flags = ()
        return result

    # -- control ------------------------------------------------------------------------

    @_run.register
    def _(self, statement: If) -> None:
        cond = self.value(statement.cond)
        if not statement.orelse:
            with self.builder.if_then(cond):
                self.block(statement.body)
            return
        with self.builder.if_else(cond) as (then, otherwise):
            with then:
                self.block(statement.body)
            with otherwise:
                self.block(statement.orelse)

    @_run.register
    def _(self, statement: While) -> None:
        with self.code.loop(lambda: self.value(statement.cond)) as done:
            self._inside(statement.body, done)

    @_run.register
    def _(self, statement: For) -> None:
        b = self.builder
        start, stop = self.value(statement.start), self.value(statement.stop)
        before = b.block
        head, body, done = (b.append_basic_block(name) for name in ("head", "body", "done"))
        b.branch(head)
        b.position_at_end(head)
        at = b.phi(INT64, statement.var.name)
        at.add_incoming(start, before)
        b.cbranch(b.icmp_signed("<", at, stop), body, done)
        b.position_at_end(body)
        self._turn(statement, at, done)
        if not b.block.is_terminated:
            at.add_incoming(b.add(at, integer(1), flags=("nsw",)), b.block)
            b.branch(head)
        b.position_at_end(done)

    @_run.register
    def _(self, statement: Parallel) -> None:
        """One part after another, by the one thread of this backend."""
        for item in statement.private:
            if item.init is None:
                self.empty(self.memory(item.target))
            else:
                value = self.value(item.init)
                room = self.code.variable(value.type, value, item.target.name)
                self.names[item.target.name] = Variable(room)
        self._run(For(statement.var, Literal(0, INTP), statement.count, statement.body))

    @_run.register
    def _(self, statement: Merge) -> None:
        self.block(statement.body)

    def empty(self, memory: Any) -> None:
        """Free what a buffer of the kernel's own holds."""
        c, null = self.code, ir.Constant(POINTER, None)
        self.builder.call(c.declared("free", ir.VoidType(), [POINTER]), [memory.base(c)])
        self.builder.store(null, memory.address.room)
        self.builder.store(integer(0), memory.capacity.room)

    def _turn(self, statement: For, at: Value, done: Any) -> None:
        lanes, names = self._lanes, self.names
        self._lanes = lanes | {var.name: op.name for var, op in statement.lanes}
        self.names = {**names, statement.var.name: at}
        self._inside(statement.body, done)
        self._lanes, self.names = lanes, names

    def _inside(self, body: Block, done: Any) -> None:
        self._loops.append(done)
        self.block(body)
        self._loops.pop()

    @_run.register
    def _(self, statement: Break) -> None:
        self.builder.branch(self._loops[-1])

    @_run.register
    def _(self, statement: Return) -> None:
        self.builder.ret(self.value(statement.value))

    @_run.register
    def _(self, statement: Fail) -> None:
        for k, value in enumerate(statement.values):
            self.builder.store(
                self.value(value), values.at_byte(self.builder, self.control, 8 * k), align=8
            )
        self._fail(statement.site)

    def _fail(self, site: int) -> None:
        self.exits.append((site, self.builder.block))
        self.builder.branch(self.leave)

    # -- memory -------------------------------------------------------------------------

    @_run.register
    def _(self, statement: Store) -> None:
        index, value = self.value(statement.index), self.value(statement.value)
        memory = self.memory(statement.buffer)
        place = values.element(self.builder, memory.base(self.code), index, memory.dtype)
        values.store(self.builder, value, place, memory.dtype, memory.tag)

    @_run.register
    def _(self, statement: Fill) -> None:
        start, stop, value = map(self.value, statement.expressions)
        b, memory = self.builder, self.memory(statement.buffer)
        base, at = memory.base(self.code), self.code.variable(INT64, start)
        with self.code.loop(lambda: b.icmp_signed("<", self.code.get(at), stop)):
            index = self.code.get(at)
            place = values.element(b, base, index, memory.dtype)
            values.store(b, value, place, memory.dtype, memory.tag)
            b.store(b.add(index, integer(1), flags=("nsw",)), at)

    @_run.register
    def _(self, statement: Move) -> None:
        to, begin, count = map(self.value, statement.expressions)
        b, c = self.builder, self.code
        target, source = self.memory(statement.target), self.memory(statement.source)
        none = b.icmp_signed("<", count, integer(0))
        size = b.mul(b.select(none, integer(0), count), integer(target.dtype.itemsize))
        into = values.element(b, target.base(c), to, target.dtype)
        out_of = values.element(b, source.base(c), begin, source.dtype)
        b.call(_copier(c, "memmove"), [into, out_of, size, ir.Constant(BIT, 0)])

    @_run.register
    def _(self, statement: Swap) -> None:
        b, c = self.builder, self.code
        pair = self.memory(statement.first), self.memory(statement.second)
        held = [(m.base(c), m.length(c), m.owned.get(c)) for m in pair if m.owned is not None]
        for memory, (address, capacity, owned) in zip(pair, reversed(held), strict=True):
            b.store(address, memory.address.room)
            b.store(capacity, memory.capacity.room)
            b.store(owned, memory.owned.room)
            if memory.home is not None:  # those of parallel loops are in no record
                b.store(address, memory.home, align=8)
                b.store(capacity, values.at_byte(b, memory.home, 8), align=8)

    @_run.register
    def _(self, statement: Prefetch) -> None:
        """A hint, which this backend ignores."""

    @_run.register
    def _(self, statement: Grow) -> None:
        b, c = self.builder, self.code
        size, memory = self.value(statement.size), self.memory(statement.buffer)
        with b.if_then(b.icmp_signed(">", size, memory.length(c)), likely=False):
            old = memory.length(c)
            double = b.shl(old, integer(1))
            wanted = b.select(b.icmp_signed(">", double, size), double, size)
            grow = c.helper("grow", POINTER, [POINTER, INT64, BIT, INT64, INT64], _grow)
            grow.attributes.add("noinline")
            grow.attributes.add("cold")
            owned = memory.owned
            assert owned is not None
            itemsize = integer(memory.dtype.itemsize)
            new = b.call(grow, [memory.base(c), old, owned.get(c), wanted, itemsize])
            failed = b.icmp_unsigned("==", new, ir.Constant(POINTER, None))
            with b.if_then(failed, likely=False):
                self._fail(OUT_OF_MEMORY)
            b.store(new, memory.address.room)
            b.store(wanted, memory.capacity.room)
            b.store(ir.Constant(BIT, 1), owned.room)


def _copier(c: Code, name: str) -> Any:
    params = [POINTER, POINTER, INT64, BIT]
    return c.declared(f"llvm.{name}.p0.p0.i64", ir.VoidType(), params)


def _grow(c: Code, args: Any) -> None:
    """``grow(old, count, owned, wanted, itemsize)``: room for ``wanted`` elements, of which the
    first ``count`` are the old ones, or null. Only memory of this call is reallocated."""
    old, count, owned, wanted, itemsize = args
    b, null = c.builder, ir.Constant(POINTER, None)
    with b.if_then(b.icmp_unsigned(">", wanted, b.udiv(integer(LARGEST), itemsize))):
        b.ret(null)
    size = b.mul(wanted, itemsize)
    with b.if_then(owned):
        realloc = c.declared("realloc", POINTER, [POINTER, INT64])
        b.ret(b.call(realloc, [old, size]))
    new = b.call(c.declared("malloc", POINTER, [INT64]), [size])
    with b.if_then(b.icmp_unsigned("!=", new, null)):
        b.call(_copier(c, "memcpy"), [new, old, b.mul(count, itemsize), ir.Constant(BIT, 0)])
    b.ret(new)
