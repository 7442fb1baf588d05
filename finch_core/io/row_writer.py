"""Lines of numbers as text, by compiled kernels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from finch_core.io import row_kernels as kernels
from finch_core.io.number_text import Array

LONGEST_INDEX, LONGEST_VALUE = 20, 26
"""The most bytes of a number and what follows it."""

SIGN = np.uint64(1 << 63)


def lines(columns: Sequence[Array], values: Array) -> bytes | None:
    """A line for each value: its entries in the columns of integers, counted from 1, and the value;
    None if one is no number, or an integer beyond int64."""
    parts = _parts(values)
    if parts is None:
        return None
    digits, exponents, signs, whole = parts
    width, rows = digits.shape
    sizes = np.array([len(columns), width, width if whole else 0])
    indices = np.empty((len(columns), rows), np.int64)
    for row, column in zip(indices, columns, strict=True):
        row[:] = column
    text = np.empty(rows * (len(columns) * LONGEST_INDEX + width * LONGEST_VALUE) + 1, np.uint8)
    length = np.zeros((), np.int64)
    kernels.write_rows(text, sizes, indices, digits, exponents, signs, kernels.TENS, length)
    return text[: int(length)].tobytes()


def _parts(values: Array) -> tuple[Array, Array, Array, bool] | None:
    """Digits, exponents and signs of values, a row for each part, and whether they are integers."""
    if values.dtype.kind in "iub":
        if values.dtype.kind == "u" and len(values) and values.max() > np.iinfo(np.int64).max:
            return None
        numbers = values.astype(np.int64)[None]
        signs = (numbers < 0).astype(np.uint8)
        digits = np.where(signs, -numbers, numbers).view(np.uint64)
        return digits, np.zeros(numbers.shape, np.int64), signs, True
    if values.dtype.kind == "c":
        reals = np.stack([values.real, values.imag]).astype(np.float64)
    else:
        reals = np.ascontiguousarray(values[None], np.float64)
    if not np.isfinite(reals).all():
        return None
    bits = reals.view(np.uint64)
    digits, exponents = np.empty(bits.shape, np.uint64), np.empty(bits.shape, np.int64)
    for k in range(len(bits)):
        kernels.shortest(digits[k], exponents[k], bits[k], kernels.powers(above=True))
    return digits, exponents, (bits >= SIGN).astype(np.uint8), False


__all__ = ["lines"]
