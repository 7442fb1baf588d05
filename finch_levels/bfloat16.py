"""bfloat16, the dtype of ``ml_dtypes``: the upper half of a float32, computed in single precision
and rounded to nearest, ties to even."""

from __future__ import annotations

from typing import Any

import numpy as np

from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import Type
from finch_core.ir.expressions import Expr, Literal, call, cast
from finch_core.ir.stored_dtypes import StoredDtype
from finch_core.operators import Operator
from finch_core.plugins import hookimpl

UINT16: np.dtype[Any] = np.dtype(np.uint16)
UINT32: np.dtype[Any] = np.dtype(np.uint32)
FLOAT32: np.dtype[Any] = np.dtype(np.float32)


def _word(value: int) -> Literal:
    return Literal(np.uint32(value), UINT32)


def _decoded(bits: Expr) -> Expr:
    return call(prim.from_bits, cast(bits, UINT32) << _word(16))


def _encoded(value: Expr) -> Expr:
    bits = call(prim.to_bits, value)
    odd = (bits >> _word(16)) & _word(1)
    nearest = (bits + _word(0x7FFF) + odd) >> _word(16)
    quiet = (bits >> _word(16)) | _word(0x40)  # NaN stays NaN, whatever its lower bits
    return cast(call(prim.ifelse, call(prim.isnan, value), quiet, nearest), UINT16)


def _evaluate_decoded(bits: Any) -> Any:
    return np.left_shift(np.uint32(bits), np.uint32(16), dtype=np.uint32).view(np.float32)


def _evaluate_encoded(value: Any) -> Any:
    bits = np.float32(value).view(np.uint32)
    if value != value:
        return np.uint16((bits >> 16) | 0x40)
    return np.uint16((int(bits) + 0x7FFF + (int(bits) >> 16 & 1)) >> 16)


def _typing(source: np.dtype[Any], target: np.dtype[Any]) -> Any:
    def typing(types: tuple[Type, ...]) -> tuple[tuple[Type, ...], Type]:
        return (source,), target

    return typing


DECODE = Operator(
    "bfloat16_decode", _evaluate_decoded, _typing(UINT16, FLOAT32), definition=_decoded
)
ENCODE = Operator(
    "bfloat16_encode", _evaluate_encoded, _typing(FLOAT32, UINT16), definition=_encoded
)


def is_bfloat16(dtype: np.dtype[Any]) -> bool:
    """Whether ``dtype`` is that of ``ml_dtypes.bfloat16``."""
    return dtype.name == "bfloat16"


@hookimpl
def finch_dtypes() -> Any:
    """Floats with 8 bits of precision and the range of float32."""
    return StoredDtype("bfloat16", is_bfloat16, UINT16, FLOAT32, DECODE, ENCODE)
