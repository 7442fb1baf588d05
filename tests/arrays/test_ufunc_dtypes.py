"""``dtype=`` of ufuncs: the inputs are cast first, as by NumPy, so that nothing overflows."""

from __future__ import annotations

import numpy as np
import pytest
from array_support import MATRICES, fa, same, tensor

SMALL = np.array([[100, 0, 100], [0, -100, 3]], np.int8)
FLOATS = np.array([[1.5, 0.0, -2.5], [0.0, 4.0, 0.0]])

CALLS = (
    lambda x: np.add(x, x, dtype=np.int64), lambda x: np.multiply(x, x, dtype=np.float64),
    lambda x: np.square(x, dtype=np.int64), lambda x: np.sqrt(np.abs(x), dtype=np.float64),
    lambda x: np.matmul(x, x.T, dtype=np.int64), lambda x: np.vecdot(x, x, dtype=np.int32),
    lambda x: np.multiply.outer(x[0], x[0], dtype=np.int64), lambda x: np.add(x, 200, dtype="i8"),
    lambda x: np.add(x, 2.5, dtype=np.float32), lambda x: np.power(x, 2, dtype=np.int64),
    lambda x: np.less(x, 300, dtype=bool), lambda x: np.divmod(x, 7, dtype=np.int64)[1],
    lambda x: np.deg2rad(x, dtype=np.float64), lambda x: np.left_shift(x, 2, dtype=np.int64),
    lambda x: np.isnan(x, dtype=bool), lambda x: np.absolute(x, dtype=np.int32),
    lambda x: np.rint(x, dtype=np.float32), lambda x: np.add(x, x, casting="no"),
    lambda x: np.add(x, [1, 2, 3]), lambda x: np.add(x, [1, 2, 3], dtype=np.float32),
)  # fmt: skip


@pytest.mark.parametrize("kind", ["rows", "dense"])
@pytest.mark.parametrize("call", CALLS)
def test_inputs_are_cast_to_the_dtypes_of_the_loop(kind, call):
    same(call(tensor(SMALL, MATRICES[kind])), call(SMALL), 1e-6)


@pytest.mark.parametrize("kind", ["rows", "dense"])
def test_casts_of_floats_to_integers_come_first(kind):
    A = tensor(FLOATS, MATRICES[kind])
    for x in (A, fa.lazy(A)):
        found = np.add(x, x, dtype=np.int8, casting="unsafe")
        same(fa.compute(found), np.add(FLOATS, FLOATS, dtype=np.int8, casting="unsafe"))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: np.add(x, x, dtype=np.int8), lambda x: np.less(x, x, dtype=np.int64),
        lambda x: np.add(x, np.int8(1), casting="no"), lambda x: np.bitwise_and(x, 1, dtype="i8"),
    ],
)  # fmt: skip
def test_what_numpy_does_not_cast_is_refused(call):
    for x in (FLOATS, tensor(FLOATS, MATRICES["rows"])):
        with pytest.raises(TypeError):
            call(x)


def test_integers_that_the_dtype_cannot_hold_are_refused():
    for x in (SMALL, tensor(SMALL, MATRICES["rows"])):
        with pytest.raises(OverflowError, match="300 out of bounds for int8"):
            np.add(x, 300, dtype=np.int8)
