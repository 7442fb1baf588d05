"""Sorting as a heapsort, which needs no memory of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from finch_core.ir.assembly import Block, Sort
from finch_core.ir.builder import Builder, Names
from finch_core.ir.expressions import Buffer, Expr, Literal, Load
from finch_core.ir.typing import typed


def heapsort(statement: Sort, names: Names) -> Block:
    """The statements that sort ``buffer[start:stop]`` in place.

    First each element from the middle down is sifted into the heap behind it, then the largest is
    moved to the end, again and again, and the element that was there is sifted in from the root.
    """
    buffer, b = statement.buffer, Builder(names)
    first = b.let("first", statement.start)
    rest = b.var("rest", statement.stop - first)
    root = b.var("root", rest >> 1)
    taken = b.var("taken", Literal(np.zeros((), buffer.dtype)[()], buffer.dtype), buffer.dtype)
    with b.while_(rest > 1):
        with b.if_(root > 0):
            b.assign(root, root - 1)
            b.assign(taken, Load(buffer, first + root))
        with b.else_():
            b.assign(rest, rest - 1)
            b.assign(taken, Load(buffer, first + rest))
            b.store(buffer, first + rest, Load(buffer, first))
        _sift(b, buffer, (first, root, rest), taken)
    return typed(b.finish())


def _sift(b: Builder, buffer: Buffer, heap: tuple[Expr, Expr, Expr], value: Any) -> None:
    """Put ``value`` into the heap of ``rest`` elements from ``first`` on, at ``root`` or below."""
    first, root, rest = heap
    hole = b.var("hole", root)
    child = b.var("child", 2 * root + 1)
    with b.while_(child < rest):
        larger = Load(buffer, first + child) < Load(buffer, first + child + 1)
        with b.if_((child + 1 < rest).and_(larger)):
            b.assign(child, child + 1)
        with b.if_(Load(buffer, first + child) <= value):
            b.break_()
        b.store(buffer, first + hole, Load(buffer, first + child))
        b.assign(hole, child)
        b.assign(child, 2 * hole + 1)
    b.store(buffer, first + hole, value)


__all__ = ["heapsort"]
