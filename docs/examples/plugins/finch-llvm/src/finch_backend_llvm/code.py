"""What rules emit into: a builder at some place of a function, and what the module provides."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import attrs
from llvmlite import ir

from finch_backend_llvm.values import BIT, DOUBLE, FLOAT, INT64, POINTER, Value


@attrs.define(eq=False)
class Code:
    """A place in a function under construction.

    ``flags`` are the fast-math flags of the operation that is being emitted: ``reassoc`` for the
    reductions that a ``For`` permits in lanes, and none at all elsewhere.
    """

    builder: Any
    flags: tuple[str, ...] = ()

    @property
    def module(self) -> Any:
        return self.builder.module

    # -- functions ----------------------------------------------------------------------

    def declared(self, name: str, result: Any, params: list[Any], *attributes: str) -> Any:
        """A function of the C library, by name."""
        found = self.module.globals.get(name)
        if found is None:
            found = ir.Function(self.module, ir.FunctionType(result, params), name)
            for attribute in ("nounwind", *attributes):
                found.attributes.add(attribute)
        return found

    def intrinsic(self, name: str, *args: Value, result: Any = None) -> Value:
        """A call of the intrinsic ``llvm.name`` on arguments of one type, which is the result's."""
        kind = args[0].type
        full = f"llvm.{name}.{kind.intrinsic_name}"
        types = [arg.type for arg in args]
        return self.builder.call(self.declared(full, result or kind, types), args)

    def math(self, name: str, *args: Value) -> Value:
        """A call of a function of the C library's ``math.h`` on floats of one width."""
        kind = args[0].type
        if kind not in (FLOAT, DOUBLE):
            wide = [self.builder.fpext(arg, FLOAT) for arg in args]
            return self.builder.fptrunc(self.math(name, *wide), kind)
        symbol = name if kind == DOUBLE else f"{name}f"
        function = self.declared(symbol, kind, [kind] * len(args), "readnone")
        return self.builder.call(function, args)

    def helper(
        self, name: str, result: Any, params: list[Any], body: Callable[[Code, Any], None]
    ) -> Any:
        """An internal function of the module; ``body(code, args)`` emits it when first used."""
        found = self.module.globals.get(name)
        if found is None:
            found = ir.Function(self.module, ir.FunctionType(result, params), name)
            found.linkage = "internal"
            found.attributes.add("nounwind")
            body(Code(ir.IRBuilder(found.append_basic_block("entry"))), found.args)
        return found

    # -- control ------------------------------------------------------------------------

    def variable(self, kind: Any, value: Value, name: str = "") -> Any:
        """A variable of the function with a first value; it becomes a register."""
        with self.builder.goto_entry_block():
            room = self.builder.alloca(kind, name=name)
            room.type = POINTER  # llvmlite would print a typed pointer
        self.builder.store(value, room)
        return room

    def get(self, room: Any) -> Value:
        """The value of a variable."""
        return self.builder.load(room, typ=room.allocated_type)

    @contextmanager
    def loop(self, cond: Callable[[], Value]) -> Iterator[Any]:
        """``while cond():``; gives the block behind the loop."""
        b = self.builder
        head, body, done = (b.append_basic_block(name) for name in ("head", "body", "done"))
        b.branch(head)
        b.position_at_end(head)
        b.cbranch(cond(), body, done)
        b.position_at_end(body)
        yield done
        if not b.block.is_terminated:
            b.branch(head)
        b.position_at_end(done)

    def choose(self, cond: Value, first: Callable[[], Value], second: Callable[[], Value]) -> Value:
        """``first()`` where ``cond`` holds, else ``second()``; only that one is evaluated."""
        b = self.builder
        with b.if_else(cond) as (then, otherwise):
            with then:
                a, came_from_a = first(), b.block
            with otherwise:
                c, came_from_c = second(), b.block
        result = b.phi(a.type)
        result.add_incoming(a, came_from_a)
        result.add_incoming(c, came_from_c)
        return result


def integer(value: int) -> Value:
    """A constant int64."""
    return ir.Constant(INT64, value)


TRUE, FALSE = ir.Constant(BIT, 1), ir.Constant(BIT, 0)
