"""Kernels: slots are loaded from the records first, and stored back at every exit."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
from llvmlite import ir

from finch_backend_llvm import scope, values
from finch_backend_llvm.casts import cast
from finch_backend_llvm.code import FALSE, TRUE, Code, integer
from finch_backend_llvm.complexes import pair
from finch_backend_llvm.expressions import function_name
from finch_backend_llvm.machine import ENTRY
from finch_backend_llvm.scope import Memory, Variable
from finch_backend_llvm.statements import Statements
from finch_backend_llvm.values import BIT, DOUBLE, INT64, POINTER, Value, value_type
from finch_core.interface.abi import FAILED
from finch_core.ir.assembly import Argument, Function, Kernel, Parallel, Record, Slot, Swap
from finch_core.ir.dtypes import INTP, Type, concrete
from finch_core.ir.expressions import Buffer, Var

_INT64, _DOUBLE, _SINGLE = np.dtype(np.int64), np.dtype(np.float64), np.dtype(np.float32)


def prototype(kernel: Kernel) -> str:
    """The kernel as a C function; addresses are passed as integers."""
    words = ["uint64_t"]
    for param in kernel.params:
        words += ["uint64_t"] if isinstance(param, Record) else _words(param.var.dtype)
    return f"int64_t(*)({', '.join(words)})"


def _words(dtype: Type) -> list[str]:
    """How a scalar is passed."""
    kind = concrete(dtype).kind
    if kind == "c":
        return ["double", "double"]
    return ["double" if kind == "f" else "uint64_t" if kind == "u" else "int64_t"]


def module_of(kernel: Kernel) -> Any:
    """The module of a kernel: its functions, and the kernel itself under the name ``ENTRY``.

    Raises ``BackendError`` for what is no assembly.
    """
    # names are told apart by their module's own context, so that compiling is safe in threads
    module = ir.Module(name=kernel.name, context=ir.Context())
    for function in kernel.functions:
        _function(module, function)
    _Entry(module, kernel).emit()
    return module


def _function(module: Any, function: Function) -> None:
    """An assembly function; a buffer is passed as its address and its capacity."""
    kinds: list[Any] = []
    for param in function.params:
        kinds += [POINTER, INT64] if isinstance(param, Buffer) else [value_type(param.dtype)]
    made = ir.Function(
        module, ir.FunctionType(value_type(function.dtype), kinds), function_name(function)
    )
    made.linkage = "internal"
    made.attributes.add("nounwind")
    rest = iter(made.args)
    names: dict[str, Any] = {}
    for param in function.params:
        first = next(rest)
        if isinstance(param, Buffer):
            names[param.name] = Memory(param.dtype, first, next(rest))
        else:
            names[param.name] = first
    emit = Statements(Code(ir.IRBuilder(made.append_basic_block("entry"))), names)
    emit.block(function.body)
    if not emit.builder.block.is_terminated:
        emit.builder.unreachable()


@attrs.define(eq=False)
class _Entry:
    """Emits the kernel's function."""

    module: Any
    kernel: Kernel
    emit_: Statements = attrs.field(init=False)
    own: list[Memory] = attrs.field(factory=list, init=False)
    places: list[tuple[Slot, Value]] = attrs.field(factory=list, init=False)
    """Each slot with the address where its record has it."""

    def emit(self) -> None:
        kinds: list[Any] = [POINTER]
        for param in self.kernel.params:
            kinds += [POINTER] if isinstance(param, Record) else self._kinds(param)
        function = ir.Function(self.module, ir.FunctionType(INT64, kinds), ENTRY)
        function.attributes.add("nounwind")
        b = ir.IRBuilder(function.append_basic_block("entry"))
        control, *rest = function.args
        self.emit_ = Statements(Code(b), control=control)
        self.emit_.leave = function.append_basic_block("leave")
        self._take(rest)
        self._body()

    @staticmethod
    def _kinds(param: Argument) -> list[Any]:
        return [DOUBLE if word == "double" else INT64 for word in _words(param.var.dtype)]

    def _take(self, args: list[Value]) -> None:
        """Bind arguments and the slots of records."""
        c, rest = self.emit_.code, iter(args)
        tags = scope.tags(self.module, self.kernel)
        for param in self.kernel.params:
            if isinstance(param, Argument):
                self.emit_.names[param.var.name] = _argument(c, param.var, rest)
                continue
            record = next(rest)
            for slot in param.slots:
                place = values.at_byte(c.builder, record, 8 * slot.offset)
                self.places.append((slot, place))
                tag = tags.get(slot.target.name, values.no_tag)
                self.emit_.names[slot.target.name] = _slot(c, slot, place, tag)

    def _own(self) -> None:
        """Bind the buffers that parallel loops have for themselves."""
        c = self.emit_.code
        loops = [s for s in self.kernel.body.walk() if isinstance(s, Parallel)]
        for target in (item.target for loop in loops for item in loop.private):
            if isinstance(target, Buffer):
                address = c.variable(POINTER, ir.Constant(POINTER, None))
                rooms = address, c.variable(INT64, integer(0)), c.variable(BIT, TRUE)
                self.emit_.names[target.name] = Memory(target.dtype, *map(Variable, rooms))
                self.own.append(self.emit_.names[target.name])

    def _body(self) -> None:
        self._own()
        b, emit = self.emit_.builder, self.emit_
        emit.block(self.kernel.body)
        if not b.block.is_terminated:
            emit.exits.append((-FAILED, b.block))
            b.branch(emit.leave)
        b.position_at_end(emit.leave)
        status = b.phi(INT64, "status")
        for site, block in emit.exits:
            status.add_incoming(integer(FAILED + site), block)
        self._finish(status)

    def _finish(self, status: Value) -> None:
        """Store back changed slots, and return the status."""
        for memory in self.own:
            self.emit_.empty(memory)
        exchanged = any(isinstance(s, Swap) for s in self.kernel.body.walk())
        b, moved = self.emit_.builder, ir.Constant(BIT, int(exchanged))
        for slot, place in self.places:
            if slot.written:
                moved = b.or_(moved, self._put_back(slot, place))
        moved = b.zext(moved, INT64)
        failed = b.icmp_signed("!=", status, integer(0))
        with b.if_then(failed, likely=False):
            b.store(moved, values.at_byte(b, self.emit_.control, 24), align=8)
        b.ret(b.select(failed, status, moved))

    def _put_back(self, slot: Slot, place: Value) -> Value:
        """Store a slot back to its record; returns whether it is a buffer that moved."""
        c, b, found = self.emit_.code, self.emit_.builder, self.emit_.names[slot.target.name]
        if isinstance(slot.target, Var):
            values.store(b, found.get(c), place, concrete(slot.target.dtype))
            return FALSE
        if found.owned is None:
            return FALSE
        moved = found.owned.get(c)
        with b.if_then(moved):
            b.store(found.base(c), place, align=8)
            b.store(found.length(c), values.at_byte(b, place, 8), align=8)
        return moved


def _argument(c: Code, var: Var, rest: Any) -> Value:
    """A scalar argument in its dtype."""
    dtype = concrete(var.dtype)
    if dtype.kind == "c":
        part = values.real_dtype(dtype)
        return pair(c, *(cast(c, next(rest), _DOUBLE, part) for _ in range(2)))
    if dtype.kind != "f":
        return cast(c, next(rest), _INT64, dtype)
    # LLVM has no instruction from a double to half precision; what it holds is exact in both
    value = next(rest)
    if dtype.itemsize > 2:
        return cast(c, value, _DOUBLE, dtype)
    return cast(c, cast(c, value, _DOUBLE, _SINGLE), _SINGLE, dtype)


def _slot(c: Code, slot: Slot, place: Value, tag: values.Tag) -> Any:
    """What a slot's name stands for."""
    b, target = c.builder, slot.target
    if isinstance(target, Var):
        value = values.load(b, place, concrete(target.dtype))
        return Variable(c.variable(value.type, value, target.name)) if slot.written else value
    address = b.load(place, typ=POINTER, align=8, name=target.name)
    capacity = values.load(b, values.at_byte(b, place, 8), INTP)
    if not (target.growable and slot.written):
        return Memory(target.dtype, address, capacity, tag=tag)
    return Memory(
        target.dtype,
        Variable(c.variable(POINTER, address)),
        Variable(c.variable(INT64, capacity)),
        Variable(c.variable(BIT, FALSE)),
        tag,
        place,
    )
