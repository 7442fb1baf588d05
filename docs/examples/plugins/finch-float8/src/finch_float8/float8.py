"""``float8_e5m2``: the upper byte of a number in half precision, in which it is computed."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from finch_core.ir import primitives as prim
from finch_core.ir.expressions import Literal, call, cast
from finch_core.ir.stored_dtypes import StoredDtype
from finch_core.operators import Operator
from finch_core.plugins import hookimpl

UINT8, UINT16, FLOAT16 = np.dtype("u1"), np.dtype("u2"), np.dtype("f2")
FLOAT8 = np.dtype(ml_dtypes.float8_e5m2)


def word(value):
    return Literal(np.uint16(value), UINT16)


def decoded(bits):
    return call(prim.from_bits, cast(bits, UINT16) << word(8))


def encoded(value):
    """Round to nearest, ties to even; a NaN stays one."""
    bits = call(prim.to_bits, value)
    nearest = (bits + word(0x7F) + ((bits >> word(8)) & word(1))) >> word(8)
    quiet = (bits >> word(8)) | word(2)
    return cast(call(prim.ifelse, call(prim.isnan, value), quiet, nearest), UINT8)


DECODE = Operator(
    "float8_decode",
    lambda bits: np.uint8(bits).view(FLOAT8).astype(FLOAT16),
    lambda types: ((UINT8,), FLOAT16),
    definition=decoded,
)
ENCODE = Operator(
    "float8_encode",
    lambda value: np.float16(value).astype(FLOAT8).view(UINT8),
    lambda types: ((FLOAT16,), UINT8),
    definition=encoded,
)


@hookimpl
def finch_dtypes():
    return StoredDtype("float8", lambda dtype: dtype == FLOAT8, UINT8, FLOAT16, DECODE, ENCODE)
