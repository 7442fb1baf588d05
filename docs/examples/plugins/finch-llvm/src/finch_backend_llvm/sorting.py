"""Sorting integers in place: introsort, that is quicksort, with insertion sort for few elements and
heapsort after too many bad splits."""

from __future__ import annotations

from typing import Any

import attrs
from llvmlite import ir

from finch_backend_llvm import integers
from finch_backend_llvm.code import Code, integer
from finch_backend_llvm.values import INT64, POINTER, DType, Value, element, load, store

FEW = 24
"""Up to this many elements insertion sort is fastest."""


@attrs.frozen
class _Sorter:
    """The functions that sort elements of ``dtype``."""

    dtype: DType

    def function(self, c: Code, part: str, count: int, body: Any) -> Any:
        """A function of an address and ``count`` integers."""
        name = f"{part}.{self.dtype.kind}{8 * self.dtype.itemsize}"
        params = [POINTER, *[INT64] * count]
        return c.helper(name, ir.VoidType(), params, lambda code, args: body(code, *args))

    def get(self, c: Code, base: Value, at: Value) -> Value:
        return load(c.builder, element(c.builder, base, at, self.dtype), self.dtype)

    def put(self, c: Code, base: Value, at: Value, value: Value) -> None:
        store(c.builder, value, element(c.builder, base, at, self.dtype), self.dtype)

    def less(self, c: Code, x: Value, y: Value) -> Value:
        return integers.compare(c, self.dtype, "<", x, y)

    def swap(self, c: Code, base: Value, i: Value, j: Value) -> None:
        first, second = self.get(c, base, i), self.get(c, base, j)
        self.put(c, base, i, second)
        self.put(c, base, j, first)

    # -- insertion ----------------------------------------------------------------------

    def insertion(self, c: Code, base: Value, start: Value, stop: Value) -> None:
        b, one = c.builder, integer(1)
        at = c.variable(INT64, b.add(start, one))
        with c.loop(lambda: b.icmp_signed("<", c.get(at), stop)):
            value, hole = self.get(c, base, c.get(at)), c.variable(INT64, c.get(at))
            self._shift(c, base, start, value, hole)
            self.put(c, base, c.get(hole), value)
            b.store(b.add(c.get(at), one), at)
        b.ret_void()

    def _shift(self, c: Code, base: Value, start: Value, value: Value, hole: Any) -> None:
        """Move what is larger than ``value`` up by one."""
        b = c.builder
        with c.loop(lambda: b.icmp_signed(">", c.get(hole), start)) as done:
            before = b.sub(c.get(hole), integer(1))
            other = self.get(c, base, before)
            shift = b.append_basic_block("shift")
            b.cbranch(self.less(c, value, other), shift, done)
            b.position_at_end(shift)
            self.put(c, base, c.get(hole), other)
            b.store(before, hole)

    # -- heapsort -----------------------------------------------------------------------

    def sift(self, c: Code, base: Value, root: Value, stop: Value) -> None:
        """Let ``base[root]`` sink in the heap ``base[0:stop]``."""
        b, one = c.builder, integer(1)
        at = c.variable(INT64, root)
        child = c.variable(INT64, b.add(b.shl(root, one), one))
        with c.loop(lambda: b.icmp_signed("<", c.get(child), stop)) as done:
            right = b.add(c.get(child), one)
            inside = b.icmp_signed("<", right, stop)
            right = b.select(inside, right, c.get(child))
            larger = self.less(c, self.get(c, base, c.get(child)), self.get(c, base, right))
            chosen = b.select(larger, right, c.get(child))
            sink = b.append_basic_block("sink")
            sinks = self.less(c, self.get(c, base, c.get(at)), self.get(c, base, chosen))
            b.cbranch(sinks, sink, done)
            b.position_at_end(sink)
            self.swap(c, base, c.get(at), chosen)
            b.store(chosen, at)
            b.store(b.add(b.shl(chosen, one), one), child)
        b.ret_void()

    def heap(self, c: Code, base: Value, count: Value) -> None:
        b, one, zero = c.builder, integer(1), integer(0)
        sift = self.function(c, "sift", 2, self.sift)
        root = c.variable(INT64, b.sdiv(count, integer(2)))
        with c.loop(lambda: b.icmp_signed(">", c.get(root), zero)):
            b.store(b.sub(c.get(root), one), root)
            b.call(sift, [base, c.get(root), count])
        last = c.variable(INT64, count)
        with c.loop(lambda: b.icmp_signed(">", c.get(last), one)):
            b.store(b.sub(c.get(last), one), last)
            self.swap(c, base, zero, c.get(last))
            b.call(sift, [base, zero, c.get(last)])
        b.ret_void()

    # -- quicksort ----------------------------------------------------------------------

    def quick(self, c: Code, base: Value, first: Value, last: Value, levels: Value) -> None:
        """Sort ``base[first:last]``; after ``levels`` bad splits heapsort takes over."""
        b, one = c.builder, integer(1)
        start, stop, left = (c.variable(INT64, v) for v in (first, last, levels))

        def size() -> Value:
            return b.sub(c.get(stop), c.get(start))

        with c.loop(lambda: b.icmp_signed(">", size(), integer(FEW))):
            with b.if_then(b.icmp_signed("==", c.get(left), integer(0))):
                heap = self.function(c, "heap", 1, self.heap)
                b.call(heap, [element(b, base, c.get(start), self.dtype), size()])
                b.ret_void()
            b.store(b.sub(c.get(left), one), left)
            low, high = self._split(c, base, c.get(start), c.get(stop))
            self._descend(c, base, start, stop, c.get(left), low, high)
        insertion = self.function(c, "insertion", 2, self.insertion)
        b.call(insertion, [base, c.get(start), c.get(stop)])
        b.ret_void()

    def _descend(
        self, c: Code, base: Value, start: Any, stop: Any, left: Value, low: Value, high: Value
    ) -> None:
        """Sort the smaller part; the next iteration sorts the larger one."""
        b = c.builder
        quick = c.module.globals[f"quick.{self.dtype.kind}{8 * self.dtype.itemsize}"]
        smaller = b.icmp_signed("<", b.sub(low, c.get(start)), b.sub(c.get(stop), high))
        with b.if_else(smaller) as (then, otherwise):
            with then:
                b.call(quick, [base, c.get(start), low, left])
                b.store(high, start)
            with otherwise:
                b.call(quick, [base, high, c.get(stop), left])
                b.store(low, stop)

    def _pivot(self, c: Code, base: Value, start: Value, stop: Value) -> Value:
        """The median of the first, the middle and the last element."""
        b = c.builder
        middle = b.add(start, b.sdiv(b.sub(stop, start), integer(2)))
        x, y, z = (self.get(c, base, at) for at in (start, middle, b.sub(stop, integer(1))))
        swap = self.less(c, y, x)
        x, y = b.select(swap, y, x), b.select(swap, x, y)
        upper = b.select(self.less(c, z, y), z, y)
        return b.select(self.less(c, upper, x), x, upper)

    def _split(self, c: Code, base: Value, start: Value, stop: Value) -> tuple[Value, Value]:
        """Split at a pivot: all before ``low`` are at most that, all from ``high`` at least."""
        b, one = c.builder, integer(1)
        pivot = self._pivot(c, base, start, stop)
        i, j = c.variable(INT64, start), c.variable(INT64, b.sub(stop, one))
        with c.loop(lambda: b.icmp_signed("<=", c.get(i), c.get(j))):
            with c.loop(lambda: self.less(c, self.get(c, base, c.get(i)), pivot)):
                b.store(b.add(c.get(i), one), i)
            with c.loop(lambda: self.less(c, pivot, self.get(c, base, c.get(j)))):
                b.store(b.sub(c.get(j), one), j)
            with b.if_then(b.icmp_signed("<=", c.get(i), c.get(j))):
                self.swap(c, base, c.get(i), c.get(j))
                b.store(b.add(c.get(i), one), i)
                b.store(b.sub(c.get(j), one), j)
        return b.add(c.get(j), one), c.get(i)


def sort(c: Code, dtype: DType, base: Value, start: Value, stop: Value) -> None:
    """Sort ``base[start:stop]`` ascending; nothing where ``stop <= start``."""
    sorter = _Sorter(dtype)
    quick = sorter.function(c, "quick", 3, sorter.quick)
    c.builder.call(quick, [base, start, stop, integer(64)])
