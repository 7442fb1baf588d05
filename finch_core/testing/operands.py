"""Expected results of operators on every dtype, at edge cases."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import concrete
from finch_core.ir.operators import operator
from finch_core.testing.arrays import Array

DType = np.dtype[Any]

UNORDERED_ZEROS = frozenset("minimum maximum".split())
"""Operators for which NumPy does not define the order of 0.0 and -0.0."""

EPSILONS = 32
"""The error that an approximate function may have, in units in the last place."""


BEYOND = [np.nan, np.inf, -np.inf, 1e300, -1e300, 2.0**31, 2.0**63, 2.0**64, -1.0, 2.0**32 + 5]
"""Numbers that not every integer dtype holds."""
_LEAST32, _LEAST64 = -(2**31), -(2**63)
CAST_BEYOND: dict[str, list[int]] = {
    "int32": [_LEAST32] * 8 + [-1, _LEAST32],
    "int64": [_LEAST64] * 5 + [2**31, _LEAST64, _LEAST64, -1, 2**32 + 5],
    "uint8": [0] * 8 + [255, 0],
    "uint32": [0] * 5 + [2**31, 0, 0, 2**32 - 1, 5],
    "uint64": [2**63, 0, 2**63, 0, 2**63, 2**31, 2**63, 0, 2**64 - 1, 2**32 + 5],
}
"""What the contract makes of them (``docs/write-a-backend.md``)."""


def edges(dtype: DType) -> Array:
    """The edge cases of a dtype: extreme values, zeros of both signs, infinities, NaN."""
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info, width = np.iinfo(dtype), 8 * dtype.itemsize
        wanted = [info.min, info.min + 1, -width, -8, -7, -3, -2, -1, 0, 1, 2, 3, 5, 6, 7, 8, 33,
                  width - 1, width, 100, info.max // 2, info.max - 1, info.max]  # fmt: skip
        return np.array(sorted({v for v in wanted if info.min <= v <= info.max}), dtype)
    if dtype.kind == "c":
        axis = [0.0, -0.0, 1.0, -1.5, 3.0, np.inf, -np.inf, np.nan]
        return np.array([complex(a, b) for a in axis for b in axis], dtype)
    limits = np.finfo(dtype)
    sizes = [0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 6.9, 7.25, 1e10, limits.tiny,
             limits.smallest_subnormal, limits.max, np.inf]  # fmt: skip
    fitting = [size for size in sizes if size <= float(limits.max) or size == np.inf]
    return np.array([*fitting, *(-size for size in fitting), np.nan], dtype)


def typing(name: str, dtype: DType) -> tuple[tuple[DType, ...], DType] | None:
    """The dtypes of arguments and result of an operator on operands of one dtype, or ``None`` where
    it is not defined."""
    given = (np.dtype(bool), dtype, dtype) if name == "ifelse" else (dtype,) * _arity(name)
    try:
        wanted, result = operator(name).typing(given)
    except TypeError:
        return None
    return tuple(map(concrete, wanted)), concrete(result)


def _arity(name: str) -> int:
    return operator(name).arity[0]


def operator_names(dtype: DType) -> list[str]:
    """The primitive operators that are defined on a dtype, except ``tuple``."""
    return [n for n in prim.PRIMITIVES if n != "tuple" and typing(n, dtype) is not None]


def columns(name: str, dtype: DType) -> list[Array]:
    """The arguments of an operator: all edge cases of a dtype, or all pairs of them."""
    values = edges(dtype)
    if _arity(name) == 1:
        return [values]
    pairs = [np.repeat(values, len(values)), np.tile(values, len(values))]
    return pairs if _arity(name) == 2 else [np.arange(pairs[0].size) % 2 == 1, *pairs]


@cache
def meaning(name: str, dtype: DType) -> Array:
    """The results of ``Operator.evaluate`` on ``columns``."""
    signature = typing(name, dtype)
    assert signature is not None
    wanted, result = signature
    cast = [column.astype(t) for column, t in zip(columns(name, dtype), wanted, strict=True)]
    return np.array([operator(name).evaluate(*row) for row in zip(*cast, strict=True)], result)


def compare(name: str, dtype: DType, found: Array) -> None:
    """Raise ``AssertionError`` unless ``found`` is the operator's result: bit for bit, the signs of
    zeros included, or within ``EPSILONS`` where the operator is approximate."""
    wanted = meaning(name, dtype)
    assert found.dtype == wanted.dtype
    if name == "pow" and dtype.kind == "f":
        # -inf ** 0.5: NumPy's arrays give infinity, as C does, but its scalars give NaN
        base, exponent = columns(name, dtype)
        settled = ~(np.isneginf(base) & (exponent == 0.5))
        found, wanted = found[settled], wanted[settled]
    rounded = bool({dtype.kind, wanted.dtype.kind} & set(operator(name).approximate))
    with np.errstate(all="ignore"):
        if wanted.dtype.kind not in "fc" or not rounded:
            np.testing.assert_array_equal(found, wanted)
        elif wanted.dtype.kind == "f":
            rtol = EPSILONS * float(np.finfo(wanted.dtype).eps)
            np.testing.assert_allclose(found, wanted, rtol=rtol, atol=0)
        else:
            _near(found, wanted)
        if wanted.dtype.kind in "fc" and not rounded and name not in UNORDERED_ZEROS:
            _same_signs(found, wanted)


def _near(found: Array, wanted: Array) -> None:
    """Compare complex numbers by their distance, not by their parts."""
    finite, info = np.isfinite(wanted), np.finfo(wanted.dtype)
    np.testing.assert_array_equal(np.isfinite(found), finite)
    sizes = np.maximum(abs(wanted)[finite], info.tiny)
    assert (abs(found - wanted)[finite] / sizes).max(initial=0) <= EPSILONS * info.eps


def _same_signs(found: Array, wanted: Array) -> None:
    for part in ("real", "imag"):
        a, b = getattr(found, part), getattr(wanted, part)
        np.testing.assert_array_equal(np.signbit(a)[~np.isnan(b)], np.signbit(b)[~np.isnan(b)])


def castable(values: Array, target: DType) -> tuple[Array, Array]:
    """The results of a cast, and a mask of the values for which every processor gives the same."""
    real = values.dtype.kind == "c" and target.kind not in "bc"
    values = values.real if real else values
    with np.errstate(all="ignore"):
        wanted = values.astype(target)
    fits = np.ones(len(values), bool)
    if values.dtype.kind in "fc" and target.kind in "iu":
        info = np.iinfo(target)
        wide = values.astype(np.float64)  # the bounds are no numbers of a narrow dtype
        fits = (wide > float(info.min) - 1) & (wide < float(info.max)) | (wide == 0)
    return wanted, fits
