"""The backend of the page "How to write a backend", as it was for version 1."""

import ctypes
from functools import singledispatch

import attrs
import numpy as np
from finch_core.dtypes import concrete

from finch_core import assembly as asm
from finch_core import expressions as ex
from finch_core.errors import BackendError
from finch_core.operators import cast_value, literal_value


@attrs.frozen
class Writer:
    """Lines of Python, and the constants and operators that they mention."""

    lines: list = attrs.field(factory=list)
    names: dict = attrs.field(factory=dict)

    def constant(self, value):
        """A name for a value that has no text."""
        name = f"k{len(self.names)}"
        self.names[name] = value
        return name

    def line(self, depth, text):
        self.lines.append("    " * depth + text)


@singledispatch
def text(expr, w):
    raise BackendError(f"the Python backend has no {type(expr).__name__}")


@text.register
def _(expr: ex.Literal, w):
    return w.constant(literal_value(expr.value, expr.type))


@text.register
def _(expr: ex.Var, w):
    return f"v_{expr.name}"


@text.register
def _(expr: ex.Load, w):
    return f"v_{expr.buffer.name}[{text(expr.index, w)}]"


@text.register
def _(expr: ex.Cast, w):
    return f"cast({text(expr.value, w)}, {w.constant(expr.type)})"


@text.register
def _(expr: ex.Call, w):
    args = [text(arg, w) for arg in expr.args]
    if expr.op.name in ("and", "or"):
        return f"({args[0]} {expr.op.name} {args[1]})"
    if expr.op.name == "ifelse":
        return f"({args[1]} if {args[0]} else {args[2]})"
    return f"cast({w.constant(expr.op.evaluate)}({', '.join(args)}), {w.constant(expr.dtype)})"


@singledispatch
def write(stmt, w, depth):
    raise BackendError(f"the Python backend has no {type(stmt).__name__}")


def write_block(block, w, depth):
    for stmt in block.statements:
        write(stmt, w, depth)
    w.line(depth, "pass")


@write.register
def _(stmt: asm.Let | asm.Assign, w, depth):
    w.line(depth, f"v_{stmt.var.name} = {text(stmt.value, w)}")


@write.register
def _(stmt: asm.Store, w, depth):
    w.line(depth, f"v_{stmt.buffer.name}[{text(stmt.index, w)}] = {text(stmt.value, w)}")


@write.register
def _(stmt: asm.For, w, depth):
    var = f"v_{stmt.var.name}"
    w.line(depth, f"for {var} in range({text(stmt.start, w)}, {text(stmt.stop, w)}):")
    w.line(depth + 1, f"{var} = int64({var})")
    write_block(stmt.body, w, depth + 1)


@write.register
def _(stmt: asm.While, w, depth):
    w.line(depth, f"while {text(stmt.cond, w)}:")
    write_block(stmt.body, w, depth + 1)


@write.register
def _(stmt: asm.If, w, depth):
    w.line(depth, f"if {text(stmt.cond, w)}:")
    write_block(stmt.body, w, depth + 1)
    w.line(depth, "else:")
    write_block(stmt.orelse, w, depth + 1)


@write.register
def _(stmt: asm.Fail, w, depth):
    values = ", ".join(text(value, w) for value in stmt.values)
    w.line(depth, f"raise Failed({stmt.site}, [{values}])")


@write.register
def _(stmt: asm.Break, w, depth):
    w.line(depth, "break")


@write.register
def _(stmt: asm.Comment, w, depth):
    w.line(depth, f"# {stmt.text}")


@write.register
def _(stmt: asm.Prefetch, w, depth):
    """A hint, which Python has no use for."""


class Failed(Exception):
    def __init__(self, site, values):
        self.site, self.values = site, values


def array_at(address, count, dtype):
    """``count`` elements of memory that others own."""
    room = (ctypes.c_char * (int(count) * dtype.itemsize)).from_address(int(address))
    return np.frombuffer(room, dtype)


def place(slot, record):
    """Where a scalar is in its record."""
    dtype = concrete(slot.target.dtype)
    raw = array_at(record + 8 * slot.offset, dtype.itemsize, np.dtype(np.uint8))
    return raw.view(dtype)


def load_slot(slot, record):
    if not isinstance(slot.target, ex.Buffer):
        return place(slot, record)[0]
    address, count = array_at(record + 8 * slot.offset, 2, np.dtype(np.uint64))
    return array_at(address, count, slot.target.dtype)


@attrs.frozen
class PythonKernel:
    source: str
    params: tuple
    function: object

    def __call__(self, control, *args):
        variables, slots = {}, []
        for param, arg in zip(self.params, args, strict=True):
            if isinstance(param, asm.Argument):
                variables[f"v_{param.var.name}"] = concrete(param.var.dtype).type(arg)
            else:
                slots += [(slot, arg) for slot in param.slots]
        variables |= {f"v_{s.target.name}": load_slot(s, record) for s, record in slots}
        status = 0
        try:
            self.function(variables)
        except Failed as failed:
            array_at(control, 3, np.dtype(np.int64))[: len(failed.values)] = failed.values
            array_at(control + 24, 1, np.dtype(np.int64))[0] = 0
            status = 2 + failed.site
        for slot, record in slots:
            if slot.written and isinstance(slot.target, ex.Var):
                place(slot, record)[0] = variables[f"v_{slot.target.name}"]
        return status

    def adopt(self, address, nbytes):
        raise KeyError(f"nothing was allocated at {address:#x}")


class PythonBackend:
    name = "python"

    def available(self):
        return ""

    def compile(self, kernel, *, key=""):
        w = Writer()
        write_block(kernel.body, w, 0)
        source = "\n".join(w.lines)
        names = {**w.names, "cast": cast_value, "Failed": Failed, "int64": np.int64}
        code = compile(source, kernel.name, "exec")

        def function(variables):
            variables.update(names)
            exec(code, variables)

        return PythonKernel(source, kernel.params, function)

    def load(self, key, params):
        return None


def backend():
    return PythonBackend()
