"""The dtype that is asked for is that of the result, whatever the leaf of the format and the dtypes
of NumPy's scalars; and the axes of traces."""

from __future__ import annotations

import numpy as np
import pytest
from array_support import MATRICES, data, fa, same, tensor

from finch_core import FormatError
from finch_levels import Dense, Element, SparseList

CSR = Dense(SparseList(Element(0.0)))
VECTOR = SparseList(Element(0.0))
DTYPES = np.bool_, np.int8, np.uint64, np.float32, np.complex64


@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.complex64])
def test_a_dtype_wins_over_the_leaf_of_a_format(dtype):
    a = data((3, 4))
    for made, wanted in (
        (fa.asarray(a, dtype=dtype, format=CSR), a.astype(dtype)),
        (fa.asarray(tensor(a, MATRICES["rows"]), dtype=dtype, format=CSR), a.astype(dtype)),
        (fa.eye(3, dtype=dtype, format=CSR), np.eye(3, dtype=dtype)),
        (fa.diags([1, 2], 1, dtype=dtype, format=CSR), np.diag(np.array([1, 2], dtype), 1)),
        (fa.arange(5, dtype=dtype, format=VECTOR), np.arange(5).astype(dtype)),
        (fa.linspace(0, 4, 3, dtype=dtype, format=VECTOR), np.array([0, 2, 4], dtype)),
        (fa.zeros((3, 2), dtype=dtype, format=CSR), np.zeros((3, 2), dtype)),
    ):
        same(made, wanted)
        assert made.fill_value.dtype == dtype
    assert fa.random((9, 9), 0.5, dtype=dtype, format=CSR).dtype == dtype
    assert fa.asarray(a, dtype=np.float64, format=CSR).format == CSR


def test_a_fill_that_the_dtype_does_not_hold_is_refused():
    for fill in (np.nan, 0.5, 300.0):
        with pytest.raises(FormatError, match="fill .* does not fit in int8"):
            fa.asarray(np.eye(3), dtype=np.int8, format=Dense(SparseList(Element(fill))))
    made = fa.asarray(np.eye(3), dtype=np.float32, format=Dense(SparseList(Element(0.1))))
    assert made.fill_value == np.float32(0.1)


@pytest.mark.parametrize("kind", ["rows", "dense"])
def test_dtypes_that_are_asked_for_of_sums(kind):
    a = np.array([[100, 0, 100], [0, -100, 3]], np.int8)
    for call in (
        lambda x: np.einsum("ij->", x, dtype=np.int64), lambda x: np.mean(x, dtype=np.int64),
        lambda x: np.trace(x, dtype=np.float32), lambda x: np.mean(x, axis=0, dtype=np.float32),
        lambda x: np.einsum("ij,ij->i", x, x, dtype=np.int8, casting="no"),
    ):  # fmt: skip
        same(call(tensor(a, MATRICES[kind])), call(a))
    for x in (a, tensor(a, MATRICES[kind])):
        with pytest.raises(TypeError, match="rule 'safe'"):
            np.einsum("ij->", x * 1.0, dtype=np.int8)


@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_in_einsum_have_a_dtype(dtype):
    a = data((4,), dtype, seed=1)
    A = tensor(a, ("SparseList",))
    for other in (*DTYPES, np.int32, np.float64):
        number = np.asarray(2, other)
        for text in ("i,->i", "i,->", ",i->i", "i,,i->"):
            parts = [part == "" for part in text.partition("->")[0].split(",")]
            found = np.einsum(text, *[fa.asarray(number) if n else A for n in parts])
            same(found, np.einsum(text, *[number if n else a for n in parts]))
        same(np.einsum(",->", fa.asarray(number), number), np.einsum(",->", number, number))


def test_traces_and_diagonals_take_the_axes_of_numpy():
    a = data((3, 4, 5), seed=2)
    for A in (tensor(a, ("Dense", "SparseList", "SparseList")), fa.asarray(a)):
        for call in (
            lambda x: np.trace(x), lambda x: np.trace(x, 1), lambda x: np.trace(x, -1, 2, 0),
            lambda x: x.trace(), lambda x: x.trace(offset=1), lambda x: x.diagonal(),
            lambda x: x.diagonal(1, 1, 2), lambda x: x.T.trace(), lambda x: np.diagonal(x, axis2=2),
        ):  # fmt: skip
            same(call(A), call(a))
        same(fa.linalg.trace(A), np.linalg.trace(a))
        same(fa.diagonal(A), np.linalg.diagonal(a))
