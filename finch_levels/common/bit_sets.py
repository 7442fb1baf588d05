"""Sorting distinct indices by a bit set of two levels: a bit for each index, and a bit for each
word of these bits, so that walking the set skips what is empty.

It takes a few nanoseconds for each index, on any processor, and clears a word for each square of
the bits of a word; see ``docs/decisions/266-sorting-by-a-bit-set.md``.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from finch_core.ir import primitives as prim
from finch_core.ir.builder import Builder
from finch_core.ir.dtypes import INTP
from finch_core.ir.expressions import Buffer, Expr, Load, Var, call, lift


def sort_distinct(b: Builder, indices: Buffer, count: Expr, extent: Expr) -> Expr:
    """Emit a call that sorts ``indices[0:count]``: distinct, not negative, less than ``extent``.
    Gives their number.

    The set is built behind them: there is room for ``extent`` elements, at least five and at least
    eight for each index that is sorted.
    """
    function = b.function(
        f"sort_distinct_{indices.dtype}",
        (Buffer("a", indices.dtype), Var("count", INTP), Var("extent", INTP)),
        INTP,
        _sort_distinct,
    )
    return b.invoke(function, indices, count, extent)


def _sort_distinct(b: Builder, a: Buffer, count: Var, extent: Var) -> None:
    bits = a.dtype.itemsize * 8
    unsigned, shift, last = np.dtype(f"u{a.dtype.itemsize}"), bits.bit_length() - 1, bits - 1
    zero, one = lift(unsigned.type(0)), lift(unsigned.type(1))
    words = b.let("words", (extent + last) >> shift)
    groups = b.let("groups", (words + last) >> shift)
    first = b.let("first", count + groups)

    def word(at: Expr) -> Expr:
        return Load(a, at).cast(unsigned)

    def bit(k: Expr) -> Expr:
        return one << (k & last).cast(unsigned)

    b.fill(a, count, first, 0)
    with b.for_("k", 0, count) as k:
        index = b.let("index", Load(a, k).cast(INTP))
        w = b.let("w", index >> shift)
        group = b.let("group", word(count + (w >> shift)))
        # what is not in its group yet has any bits
        before = call(prim.ifelse, (group & bit(w)).ne(0), word(first + w), zero)
        b.store(a, first + w, (before | bit(index)).cast(a.dtype))
        b.store(a, count + (w >> shift), (group | bit(w)).cast(a.dtype))
    found = b.var("found", 0)
    with (
        b.for_("g", 0, groups) as g,
        _set_bits(b, "rest", word(count + g), g << shift) as w,
        _set_bits(b, "bits", word(first + w), w << shift) as index,
    ):
        b.store(a, found, index.cast(a.dtype))
        b.assign(found, found + 1)
    b.ret(found)


@contextmanager
def _set_bits(b: Builder, name: str, bits: Expr, base: Expr) -> Iterator[Expr]:
    """A loop over the bits that are set in ``bits``, from the lowest: ``base`` and its number."""
    rest = b.var(name, bits)
    with b.while_(rest.ne(0)):
        found = b.let(f"{name}_at", base + call(prim.ctz, rest).cast(INTP))
        b.assign(rest, rest & (rest - 1))
        yield found


__all__ = ["sort_distinct"]
