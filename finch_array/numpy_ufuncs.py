"""NumPy's ufuncs that neither the language nor the standard has, written as functions of numbers
or of arrays. Their dtypes are NumPy's (``protocols``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from finch_array import functions as fn
from finch_array.elementwise import Elementwise


def _fmax(x: Any, y: Any) -> Any:
    return x if y != y or x >= y else y


def _fmin(x: Any, y: Any) -> Any:
    return x if y != y or x <= y else y


def _heaviside(x: Any, middle: Any) -> Any:
    return x if x != x else middle if x == 0 else 0 if x < 0 else 1


def _logaddexp2(x: Any, y: Any) -> Any:
    top = np.maximum(x, y)
    low = np.minimum(x, y)
    return top if np.isinf(top) else top + np.log1p(np.exp2(low - top)) / np.log(2.0)


def _fraction(x: Any) -> Any:
    return np.copysign(0.0 if np.isinf(x) else x - np.trunc(x), x)


def _float_power(x: Any, y: Any) -> Any:
    """``x ** y`` of float64 or complex128, where NumPy's operator has integers, too."""
    return fn.FUNCTIONS["pow"](x, y)


_FRACTION = Elementwise("modf", _fraction)


def _modf(x: Any) -> tuple[Any, Any]:
    """The fraction and the whole part of each element, both with its sign."""
    return _FRACTION(x), fn.trunc(x)


WRITTEN: dict[Any, Callable[..., Any]] = {
    np.fmax: Elementwise("fmax", _fmax), np.fmin: Elementwise("fmin", _fmin),
    np.heaviside: Elementwise("heaviside", _heaviside),
    np.logaddexp2: Elementwise("logaddexp2", _logaddexp2),
    np.modf: _modf, np.float_power: _float_power,
}  # fmt: skip
"""The function of arrays for each of these."""

__all__ = ["WRITTEN"]
