"""Translates assembly to C: one method for each class of ``ir.assembly`` and ``ir.expressions``,
with a name derived from the class."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from finch_backend_c import ctree as c
from finch_backend_c.analysis import Usage, independence, is_nonnegative, nonnegative
from finch_backend_c.banks import in_banks, in_rounds, place, spelt_out
from finch_backend_c.bits import gathered, in_bits
from finch_backend_c.c_names import CNames
from finch_backend_c.jam import jammed
from finch_backend_c.lanes import Lanes, in_lanes, kept_around, permitted
from finch_backend_c.operators import Value, cast, constant, in_memory, operate
from finch_backend_c.parallel import Part
from finch_backend_c.peeling import branches, peeled
from finch_backend_c.registers import Reductions, Registers
from finch_backend_c.rooms import has_room, parted
from finch_backend_c.spelling import ctype, memory, suffix
from finch_core.ir import assembly as asm
from finch_core.ir import expressions as ir
from finch_core.ir.dtypes import INTP, Type, concrete
from finch_core.ir.primitives import PRIMITIVES
from finch_core.operators import Operator, literal_value
from finch_core.records import fields

_COMPOUND = frozenset("+-*/&|^")
_COMMUTATIVE = frozenset("+*&|^")
_PRIMITIVES = frozenset(PRIMITIVES)

Stmts = tuple[c.Stmt, ...]
Typed = tuple[tuple[np.dtype[Any], ...], np.dtype[Any]]


class Emitter:
    """Translates the statements of one kernel or function.

    ``scope`` assigns C names, ``functions`` are the C names of the assembly's functions,
    ``disabled`` the optimisations that are switched off. How a kernel fails and returns is up to
    ``fail`` and ``out``, which ``entry`` sets.
    """

    def __init__(
        self,
        scope: CNames,
        functions: dict[str, str],
        usage: Usage,
        disabled: frozenset[str] = frozenset(),
    ) -> None:
        self.scope, self.functions, self.usage = scope, functions, usage
        self.disabled = disabled
        self.dtypes: set[np.dtype[Any]] = set()
        self.cleanup = False
        self.outlined: list[str] = []
        """The texts of structs and functions that parallel loops need."""
        self._loop_names: dict[str, str] = {}
        self._replaced: Mapping[str, c.Expr] = {}
        self.kept: dict[Reductions, Lanes | Registers] = {}
        self._banks: Mapping[str, c.Name] = {}
        self._turns: list[str] = []
        self._parallels = 0
        self._nonnegative = nonnegative(usage)
        self._typings: dict[tuple[Operator, tuple[Type, ...]], Typed] = {}

    # -- expressions --------------------------------------------------------------------------

    def value(self, e: ir.Expr) -> Value:
        """An expression, with its C type if that is not its dtype's."""
        value: Value = getattr(self, "_value_" + type(e).__name__.lower())(e)
        if value.dtype.names is not None:
            self.dtypes.add(value.dtype)
        return value

    def node(self, e: ir.Expr) -> c.Expr:
        """An expression in a context where C converts it: an index, a stored value."""
        return self.value(e).node

    def buffer(self, buffer: ir.Buffer) -> c.Name:
        """The address of a buffer."""
        if buffer.dtype.names is not None:
            self.dtypes.add(buffer.dtype)
        return c.Name(self.scope.buffer(buffer.name))

    def capacity(self, buffer: ir.Buffer) -> c.Name:
        return c.Name(self.buffer(buffer).text + "_cap")

    def element(self, buffer: ir.Buffer, index: ir.Expr) -> c.Subscript:
        bank = self._banks.get(buffer.name)
        if bank is not None:
            return c.Subscript(bank, place(self.node(index), self._turns[-1]))
        at = self._unsigned(index) if self._is_nonnegative(index) else self.node(index)
        return c.Subscript(self.buffer(buffer), at)

    def past(self, buffer: ir.Buffer, index: ir.Expr) -> c.Expr:
        """The address of an element."""
        if isinstance(index, ir.Literal) and index.value == 0:
            return self.buffer(buffer)
        return c.Binary("+", self.buffer(buffer), self.node(index))

    def _value_literal(self, e: ir.Literal) -> Value:
        return constant(literal_value(e.value, e.type), concrete(e.type))

    def _value_var(self, e: ir.Var) -> Value:
        node, dtype = self._replaced.get(e.name), concrete(e.type)
        node = node or c.Name(self.scope.variable(e.name))
        return in_memory(node, dtype) if e.name in self.usage.assigned else Value(node, dtype)

    def variable_type(self, var: ir.Var) -> str:
        """The C type of a variable: that of memory where it is assigned to again, since C compilers
        vectorise reductions to bytes, and none to ``bool``."""
        assigned = var.name in self.usage.assigned
        return (memory if assigned else ctype)(concrete(var.type))

    @contextmanager
    def replaced(self, variables: Mapping[str, c.Expr]) -> Iterator[None]:
        """A context in which these variables are replaced by C expressions."""
        before, self._replaced = self._replaced, {**self._replaced, **variables}
        yield
        self._replaced = before

    @contextmanager
    def banked(self, arrays: Mapping[str, c.Name]) -> Iterator[None]:
        """A context in which updates of these buffers go to private copies."""
        before, self._banks = self._banks, {**self._banks, **arrays}
        yield
        self._banks = before

    @contextmanager
    def turning(self, turn: str) -> Iterator[None]:
        """A context in which this variable tells which private copy is updated."""
        self._turns.append(turn)
        yield
        self._turns.pop()

    @contextmanager
    def outlining(self) -> Iterator[None]:
        """A context in which the statements of another function are emitted."""
        state = self.cleanup, self._replaced, self.kept, self._banks, self._turns
        self.cleanup, self._replaced, self.kept, self._banks, self._turns = True, {}, {}, {}, []
        yield
        self.cleanup, self._replaced, self.kept, self._banks, self._turns = state

    def _emit_parallel(self, s: asm.Parallel) -> tuple[c.Stmt, ...]:
        self._parallels += 1
        return Part(self, s, self._parallels).statements()

    def _value_load(self, e: ir.Load) -> Value:
        return in_memory(self.element(e.buffer, e.index), e.buffer.dtype)

    def _value_cast(self, e: ir.Cast) -> Value:
        if e.type == INTP and self._is_nonnegative(e.value):
            return Value(self._unsigned(e.value), INTP, narrow=True)
        return cast(self.value(e.value), e.type)

    def _is_nonnegative(self, e: ir.Expr) -> bool:
        """Whether an expression is an element that is not negative, or a variable that holds one,
        of a signed integer narrower than an index."""
        return e.name in self._nonnegative if isinstance(e, ir.Var) else is_nonnegative(e)

    def _unsigned(self, e: ir.Expr) -> c.Expr:
        """An element that is not negative as an unsigned integer: to widen it costs nothing."""
        return c.Cast(f"u{ctype(concrete(e.dtype))}", self.node(e))

    def _value_length(self, e: ir.Length) -> Value:
        return Value(self.capacity(e.buffer), INTP)

    def _value_overlaps(self, e: ir.Overlaps) -> Value:
        ends = [
            part
            for b in (e.first, e.second)
            for part in (self.buffer(b), c.Binary("+", self.buffer(b), self.capacity(b)))
        ]
        return Value(c.Call("overlap", tuple(ends)), np.dtype(bool))

    def _value_invoke(self, e: ir.Invoke) -> Value:
        measured = Usage(e.function.body).measured
        args: list[c.Expr] = []
        for param, arg in zip(e.function.params, e.args, strict=True):
            if isinstance(arg, ir.Buffer):
                args.append(self.buffer(arg))
                args += [self.capacity(arg)] if param.name in measured else []
            else:
                assert isinstance(param, ir.Var), "a scalar goes to a variable"
                args.append(self._cast(arg, concrete(param.type)).node)
        return Value(c.Call(self.functions[e.function.name], tuple(args)), e.function.dtype)

    def _value_call(self, e: ir.Call) -> Value:
        op = e.op
        if op.definition is not None and op.name not in _PRIMITIVES:
            return cast(self.value(op.definition(*e.args)), concrete(e.dtype))
        wanted, result = self.typing(e)
        args = (self._cast(a, t) for a, t in zip(e.args, wanted, strict=True))
        return operate(op.name, tuple(args), result)

    def _cast(self, e: ir.Expr, dtype: np.dtype[Any]) -> Value:
        """An expression as ``dtype``; a constant is spelt in it."""
        return (
            self.value(ir.cast(e, dtype))
            if isinstance(e, ir.Literal)
            else cast(self.value(e), dtype)
        )

    def converted(self, e: ir.Expr, dtype: np.dtype[Any]) -> c.Expr:
        """An expression in the C type of this dtype."""
        return self._cast(e, dtype).exact().node

    def typing(self, e: ir.Call) -> Typed:
        """The dtypes of the arguments that an operator takes, and that of its result."""
        return self._typing(e.op, tuple(arg.dtype for arg in e.args))

    def is_plain(self, e: ir.Load) -> bool:
        """Whether a load is from the buffer itself, not from private copies."""
        return e.buffer.name not in self._banks

    def _typing(self, op: Operator, types: tuple[Type, ...]) -> Typed:
        if (op, types) not in self._typings:
            wanted, result = op.typing(types)
            self._typings[op, types] = tuple(map(concrete, wanted)), concrete(result)
        return self._typings[op, types]

    # -- statements ---------------------------------------------------------------------------

    def block(self, block: asm.Block) -> c.Block:
        """The statements of a block, each of which may take several in C."""
        return c.Block(tuple(s for statement in block.statements for s in self.emit(statement)))

    def emit(self, statement: asm.Statement) -> tuple[c.Stmt, ...]:
        emitted: tuple[c.Stmt, ...] = getattr(self, "_emit_" + type(statement).__name__.lower())(
            statement
        )
        return emitted

    def _emit_let(self, s: asm.Let) -> tuple[c.Stmt, ...]:
        value = self._cast(s.value, concrete(s.var.type))
        type = ("" if s.mutable else "const ") + self.variable_type(s.var)
        return (c.Declare(type, self.scope.variable(s.var.name), value.node),)

    def _emit_assign(self, s: asm.Assign) -> tuple[c.Stmt, ...]:
        target = self.value(s.var)
        return (self._update(target, s.value, self._cast(s.value, target.dtype)),)

    def _emit_store(self, s: asm.Store) -> tuple[c.Stmt, ...]:
        target = in_memory(self.element(s.buffer, s.index), s.buffer.dtype)
        value = self._cast(s.value, target.dtype)
        return (self._update(target, s.value, value.exact() if target.narrow else value),)

    def _update(self, target: Value, e: ir.Expr, value: Value) -> c.Stmt:
        """``target = value``, of the expression ``e``, or a compound assignment."""
        node = value.node
        return (
            self.assigned(target, node) if e.dtype == target.dtype else c.Assign(target.node, node)
        )

    def assigned(self, target: Value, node: c.Expr) -> c.Stmt:
        """``target = node``, of the same dtype, as ``++`` or a compound assignment if possible."""
        inner = node.operand if isinstance(node, c.Cast) and _cut(node, target) else node
        if not isinstance(inner, c.Binary) or inner.op not in _COMPOUND:
            return c.Assign(target.node, node)
        if inner.left == target.node:
            if inner.op == "+" and inner.right == c.Number("1") and target.dtype.kind in "iu":
                return c.Increment(target.node)
            return c.Assign(target.node, inner.right, inner.op + "=")
        if inner.right == target.node and inner.op in _COMMUTATIVE:
            return c.Assign(target.node, inner.left, inner.op + "=")
        return c.Assign(target.node, node)

    def _emit_for(self, s: asm.For) -> tuple[c.Stmt, ...]:
        if s.banks:
            return in_banks(self, s)
        if s.jam and (tiles := jammed(self, s)):
            return tiles
        if self._banks and spelt_out(s, self._banks):
            return in_rounds(self, s)
        if permitted(s, self.usage):
            return self._in_lanes(s)
        name = self.scope.variable(s.var.name)
        with self._keeping(s) as around:
            with self.turning(name):
                body = self.block(s.body)
            loop = self._parted(s, self._loop(s, name, body))
        return in_bits(self, s, loop) if gathered(s) else around(loop)

    @contextmanager
    def _keeping(self, s: asm.For | asm.While) -> Iterator[Callable[[Stmts], Stmts]]:
        """A context in which loops within ``s`` share lanes across iterations of ``s``. Yields a
        function that adds the lanes' initialisation and reduction around a loop."""
        lanes = kept_around(self, s)
        self.kept.update((kept.reductions, kept) for kept in lanes)
        before = tuple(part for kept in lanes for part in kept.declared())
        yield lambda loop: (*before, *loop, *(part for kept in lanes for part in kept.drained()))
        for kept in lanes:
            del self.kept[kept.reductions]

    def _in_lanes(self, s: asm.For) -> tuple[c.Stmt, ...]:
        if self._settled(s.stop, s):
            return in_lanes(self, s, self.node(s.stop))
        bound = self.scope.fresh(s.var.name + "_stop")
        held = c.Declare(f"const {ctype(concrete(s.var.type))}", bound, self.node(s.stop))
        return (held, *in_lanes(self, s, c.Name(bound)))

    def _loop(self, s: asm.For, name: str, body: c.Block) -> tuple[c.Stmt, ...]:
        """A counted loop. A bound that may change or is costly is evaluated once, in a variable."""
        type, start, stop = ctype(concrete(s.var.type)), self.node(s.start), self.node(s.stop)
        pragma = independence(s, self.usage)
        if self._settled(s.stop, s):
            return (c.For(type, name, start, stop, body, pragma=pragma),)
        if name in _names(stop) or pragma:
            bound = self.scope.fresh(name + "_stop")
            held = c.Declare(f"const {type}", bound, stop)
            return (held, c.For(type, name, start, c.Name(bound), body, pragma=pragma))
        return (c.For(type, name, start, stop, body, bound=self.loop_name(name + "_stop")),)

    def loop_name(self, wanted: str) -> str:
        """A C name for a variable that is local to a loop, which other loops may reuse."""
        if wanted not in self._loop_names:
            self._loop_names[wanted] = self.scope.fresh(wanted)
        return self._loop_names[wanted]

    def _settled(self, stop: ir.Expr, loop: asm.For) -> bool:
        """Whether a bound is cheap and loop-invariant."""
        if isinstance(stop, ir.Call) and stop.op.name in ("add", "sub"):
            return all(self._settled(a, loop) and not a.children for a in stop.args)
        if isinstance(stop, ir.Var):
            changed = Usage(loop.body).assigned | {loop.var.name}
            return stop.name not in changed
        return isinstance(stop, ir.Literal)

    def _emit_while(self, s: asm.While) -> tuple[c.Stmt, ...]:
        with self._keeping(s) as around:
            loop = self._parted(s, (c.While(self.node(s.cond), self.block(s.body)),))
        return around(loop)

    def _parted(self, s: asm.For | asm.While, loop: Stmts) -> Stmts:
        """Split the last of these statements, a loop, by its growth check (see ``rooms``), or peel
        its first iterations off (see ``peeling``)."""
        *before, last = loop
        if has_room(s):
            return loop if "rooms" in self.disabled else (*before, parted(self, s, last))
        if "peeling" in self.disabled or not isinstance(s, asm.For) or not branches(s):
            return loop
        assert isinstance(last, c.For)
        return loop if last.pragma else (*before, peeled(last))

    def _emit_if(self, s: asm.If) -> tuple[c.Stmt, ...]:
        cond, body = self.node(s.cond), self.block(s.body)
        if s.likely is not None:
            cond = c.Call("likely" if s.likely else "unlikely", (cond,))
        is_or = isinstance(cond, c.Binary) and cond.op == "||"
        if is_or and len(body.statements) == 1 and not s.orelse.statements:
            only = body.statements[0]
            if isinstance(only, c.Increment):  # of an if, gcc keeps the branches
                return (c.Assign(only.target, cond, "+="),)
        return (c.If(cond, body, self.block(s.orelse)),)

    def _emit_break(self, s: asm.Break) -> tuple[c.Stmt, ...]:
        return (c.Break(),)

    def _emit_comment(self, s: asm.Comment) -> tuple[c.Stmt, ...]:
        return (c.Comment(s.text),)

    def _emit_return(self, s: asm.Return) -> tuple[c.Stmt, ...]:
        return (c.Return(self.node(s.value)),)

    def _emit_grow(self, s: asm.Grow) -> tuple[c.Stmt, ...]:
        return (c.Evaluate(c.Call("GROW", (self.buffer(s.buffer), self.node(s.size)))),)

    def _emit_swap(self, s: asm.Swap) -> tuple[c.Stmt, ...]:
        return (c.Evaluate(c.Call("SWAP", (self.buffer(s.first), self.buffer(s.second)))),)

    def _emit_fill(self, s: asm.Fill) -> tuple[c.Stmt, ...]:
        before: list[c.Stmt] = []
        value = self._cast(s.value, s.buffer.dtype).node
        if not isinstance(s.value, ir.Literal | ir.Var):
            held = self.scope.fresh("filling")
            before.append(c.Declare(f"const {ctype(s.buffer.dtype)}", held, value))
            value = c.Name(held)
        name = self.loop_name("k")
        body = c.Block((c.Assign(c.Subscript(self.buffer(s.buffer), c.Name(name)), value),))
        loop = asm.For(ir.Var(name, INTP), s.start, s.stop, asm.Block())
        return (*before, *self._loop(loop, name, body))

    def _emit_move(self, s: asm.Move) -> tuple[c.Stmt, ...]:
        count = self.value(s.count).exact().node
        size = c.Binary("*", count, c.Call("sizeof", (c.Unary("*", self.buffer(s.target)),)))
        args = self.past(s.target, s.to), self.past(s.source, s.begin), size
        move = c.Evaluate(c.Call("memmove", args))
        return (c.If(c.Binary(">", count, c.Number("0")), c.Block((move,))),)

    def _emit_sort(self, s: asm.Sort) -> tuple[c.Stmt, ...]:
        count = self.node(s.stop)
        if not (isinstance(s.start, ir.Literal) and s.start.value == 0):
            count = c.Binary("-", count, self.node(s.start))
        name = "heapsort" if "sort" in self.disabled else "sort"
        function = f"{name}_{suffix(s.buffer.dtype)}"
        return (c.Evaluate(c.Call(function, (self.past(s.buffer, s.start), count))),)

    def _emit_prefetch(self, s: asm.Prefetch) -> tuple[c.Stmt, ...]:
        place = c.Unary("&", c.Subscript(self.buffer(s.buffer), self.node(s.index)))
        return (c.Evaluate(c.Call("__builtin_prefetch", (place,))),)

    def _emit_fail(self, s: asm.Fail) -> tuple[c.Stmt, ...]:
        control = c.Name("control")
        values = tuple(
            c.Assign(c.Subscript(control, c.Number(str(k))), self._cast(v, INTP).node)
            for k, v in enumerate(s.values)
        )
        code = c.Number(str(2 + s.site))
        if self.cleanup:
            return (*values, c.Assign(c.Name("status"), code), c.Goto("done"))
        return (*values, c.Assign(c.Subscript(control, c.Number("3")), c.Number("0")),
                c.Return(code))  # fmt: skip


def _cut(node: c.Cast, target: Value) -> bool:
    """Whether a cast only truncates to the target's width, as a store does."""
    return target.dtype.kind in "iu" and node.type == ctype(target.dtype)


def _names(node: c.Expr) -> set[str]:
    """The variables in an expression."""
    if isinstance(node, c.Name):
        return {node.text}
    found: set[str] = set()
    for slot in fields(type(node)):  # type: ignore[arg-type]
        part = getattr(node, slot.name)
        for child in part if isinstance(part, tuple) else (part,):
            found |= _names(child) if isinstance(child, c.Expr) else set()
    return found
