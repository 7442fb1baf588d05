"""Casts, in terms of those between integers, between floats, and of a float to a signed integer
that holds it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from finch_core.ir.builder import Builder
from finch_core.ir.dtypes import concrete
from finch_core.ir.expansions.forms import CASTS, HALF, SINGLE, DType, Form, apply, choose
from finch_core.ir.expressions import Expr, Literal

INT32, INT64 = np.dtype(np.int32), np.dtype(np.int64)
DOUBLE = np.dtype(np.float64)


def _form(sources: Iterable[str], targets: Iterable[str]) -> Callable[[Form], Form]:
    """Puts a form into the table, for casts between dtypes of these kinds, or of these names."""

    def enter(made: Form) -> Form:
        CASTS.update({(source, target): made for source in sources for target in targets})
        return made

    return enter


@_form("f", "i")
def _to_signed(b: Builder, x: Expr, target: DType) -> Expr:
    """Truncated; the least integer of 32 or 64 bits where it does not hold the number."""
    if concrete(x.dtype) == HALF:
        return x.cast(SINGLE).cast(target)
    if target.itemsize < 4:
        return x.cast(INT32).cast(target)
    limit = 2.0 ** (8 * target.itemsize - 1)
    exact = concrete(x.dtype).itemsize <= target.itemsize
    # floats around the limit are spaced by more than 1, but for doubles around 2**31
    above = x >= -limit if exact else x > -limit - 1
    least = Literal(np.iinfo(target).min, target)
    return choose(above.and_(x < limit), x.cast(target), least)


@_form("f", "u")
def _to_unsigned(b: Builder, x: Expr, target: DType) -> Expr:
    """What is left of the signed integer of 32 or 64 bits that is wider."""
    if concrete(x.dtype) == HALF:
        return x.cast(SINGLE).cast(target)
    if target.itemsize < 8:
        return x.cast(INT32 if target.itemsize < 4 else INT64).cast(target)
    limit = 2.0**63
    high = (x - limit).cast(INT64).cast(target) ^ Literal(1 << 63, target)
    return choose(x >= limit, high, x.cast(INT64).cast(target))


@_form("iuf", "b")
def _truth(b: Builder, x: Expr, target: DType) -> Expr:
    return x.ne(0)


@_form("c", "b")
def _complex_truth(b: Builder, z: Expr, target: DType) -> Expr:
    return apply("real", z).ne(0).or_(apply("imag", z).ne(0))


@_form("c", "iuf")
def _of_real_part(b: Builder, z: Expr, target: DType) -> Expr:
    return apply("real", z).cast(target)


def _part(dtype: DType) -> DType:
    return np.dtype(f"f{dtype.itemsize // 2}")


@_form("biuf", "c")
def _to_complex(b: Builder, x: Expr, target: DType) -> Expr:
    part = _part(target)
    return apply("complex", x.cast(part), Literal(0.0, part))


@_form("c", "c")
def _complex_to_complex(b: Builder, z: Expr, target: DType) -> Expr:
    part = _part(target)
    return apply("complex", apply("real", z).cast(part), apply("imag", z).cast(part))


@_form(("float64",), ("float16",))
def _to_half(b: Builder, x: Expr, target: DType) -> Expr:
    """A double to half precision: first to a float that is rounded to odd, so that rounding it
    again is exact."""
    near = b.let("near", x.cast(SINGLE))
    wide, bits = b.let("wide", near.cast(DOUBLE)), b.let("bits", apply("tobits", near))
    grown = apply("abs", wide) > apply("abs", x)
    odd = (bits - grown.cast(concrete(bits.dtype))) | 1
    exact = wide.eq(x).or_(x.ne(x))
    return apply("frombits", choose(exact, bits, odd)).cast(target)
