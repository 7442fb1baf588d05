"""Plain integers that 64 bits, or the dtype of an array, do not hold."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np

from finch_array.operands import NUMBERS


def is_word(number: Any) -> bool:
    """Whether a number is no plain integer beyond 64 bits, which kernels refuse."""
    return type(number) is not int or -(2**63) <= number < 2**63


def as_words(operands: Sequence[Any]) -> list[Any]:
    """The operands with plain integers beyond 64 bits as floats beside arrays of those, and as
    uint64 beside arrays of that alone. Raises ``OverflowError`` beside bools."""
    dtypes = [x.dtype for x in operands if hasattr(x, "dtype")]
    floats = any(dtype.kind in "fc" for dtype in dtypes)
    unsigned = dtypes and all(dtype == np.uint64 for dtype in dtypes)

    def word(x: Any) -> Any:
        if x.__class__ is not int or is_word(x):
            return x
        if dtypes and all(dtype.kind == "b" for dtype in dtypes):
            raise OverflowError(f"Python integer {x} out of bounds for int64")
        if floats:
            return float(x)
        return np.uint64(x) if unsigned and 0 <= x < 2**64 else x

    return list(map(word, operands))


def hold(arrays: Sequence[Any], number: int) -> bool:
    """Whether each array of integers can hold a number."""
    limits = (np.iinfo(x.dtype) for x in arrays if x.dtype.kind in "iu")
    return all(limit.min <= number <= limit.max for limit in limits)


def one_of(operand: Any) -> Any:
    """A number of an operand's dtype."""
    return operand if isinstance(operand, NUMBERS) else operand.dtype.type(1)


def exact(number: int) -> Any:
    """A plain integer as a number with a dtype that compares as it does with any integer."""
    for dtype in (np.int64, np.uint64):
        if np.iinfo(dtype).min <= number <= np.iinfo(dtype).max:
            return dtype(number)
    return float(number)


def check_range(dtype: np.dtype[Any], numbers: Sequence[Any]) -> None:
    """Raise ``OverflowError`` for a plain integer that an integer dtype cannot hold."""
    if dtype.kind not in "iu":
        return
    info = np.iinfo(dtype)
    for x in numbers:
        if type(x) is int and not info.min <= x <= info.max:
            raise OverflowError(f"Python integer {x} out of bounds for {dtype}")


def narrowed(operands: Sequence[Any], dtype: np.dtype[Any]) -> list[Any]:
    """Operands of a comparison with an array of integers, with plain integers in the array's dtype
    where it holds them: a vector has more of these."""
    least, greatest = _limits(dtype)
    return [dtype.type(x) if x.__class__ is int and least <= x <= greatest else x for x in operands]


@cache
def _limits(dtype: np.dtype[Any]) -> tuple[int, int]:
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


__all__ = ["as_words", "check_range", "exact", "hold", "is_word", "narrowed", "one_of"]
