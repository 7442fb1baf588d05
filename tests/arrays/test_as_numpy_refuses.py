"""What is no number, and options without meaning here: refused, or taken, as NumPy does."""

from __future__ import annotations

import numpy as np
import pytest
from array_support import MATRICES, data, fa, same, tensor

from finch_core.errors import DimensionMismatch, FormatError, OutOfBounds

KINDS = pytest.mark.parametrize("kind", MATRICES)


@KINDS
def test_an_empty_array_of_floats_is_no_index(kind):
    A = tensor(data((4, 3)), MATRICES[kind])
    for index in (np.array([]), fa.asarray(np.array([])), (0, np.array([]))):
        with pytest.raises((FormatError, OutOfBounds), match="integer"):
            A[index]
        with pytest.raises((FormatError, OutOfBounds), match="integer"):
            A[index] = 1.0
    assert A[[]].shape == (0, 3)
    assert A[np.array([], int)].shape == (0, 3)


@pytest.mark.parametrize("dtype", [np.uint64, np.int8, np.uint8])
@pytest.mark.parametrize("name", ["logical_and", "logical_or", "logical_xor"])
def test_logical_functions_take_any_integer(name, dtype):
    values = np.array([[1, 0, 3], [0, 0, 7]], dtype)
    A = tensor(values, MATRICES["rows"])
    ufunc = getattr(np, name)
    for number in (-129, 300, 2**64, 0):
        wanted = ufunc(values, bool(number))
        for found in (ufunc(A, number), getattr(fa, name)(number, A), fa.lazy(A) * 0 + wanted):
            same(fa.compute(found).astype(bool), wanted)


def test_functions_of_numpy_that_refuse():
    A, x = tensor(data((3, 3)), MATRICES["rows"]), fa.asarray(np.array([1j, np.inf]))
    for function in (np.isposinf, np.isneginf):
        with pytest.raises(TypeError, match="complex numbers have no sign"):
            function(x)
    cube = fa.ones((3, 3, 3))
    for given in ([cube, A], [A, cube, A], [A], [A, A[0], A]):
        with pytest.raises(DimensionMismatch, match="multi_dot is of matrices"):
            np.linalg.multi_dot(given)
    same(
        np.linalg.multi_dot([A[0], A, A[:, 1]]), data((3, 3))[0] @ data((3, 3)) @ data((3, 3))[:, 1]
    )
    with pytest.raises(ZeroDivisionError):
        np.average(A, weights=fa.zeros((3, 3)))


@KINDS
@pytest.mark.parametrize("other", [None, "a", b"a", {}, int], ids=repr)
def test_nothing_equals_what_is_no_number(kind, other):
    A = tensor(data((4, 3)), MATRICES[kind])
    for array in (A, A.T, fa.astype(A, np.int8), fa.astype(A, bool)):
        equal, unequal = array == other, array != other
        same(equal, np.zeros(array.shape, bool))
        same(unequal, np.ones(array.shape, bool))
    if kind not in ("dense", "runs"):
        assert (other == A).nstored == (other != A).nstored == 0
    for compare in ("__lt__", "__ge__"):
        assert getattr(A, compare)(other) is NotImplemented


@KINDS
def test_zeros_around_a_matrix_are_trimmed(kind):
    a = np.zeros((5, 6))
    a[1, 2], a[3, 4] = 1.0, 2.0
    A = tensor(a, MATRICES[kind])
    for trim in ("f", "b", "fb", "BF"):
        rows = slice(1 if "f" in trim.lower() else 0, 4 if "b" in trim.lower() else None)
        columns = slice(2 if "f" in trim.lower() else 0, 5 if "b" in trim.lower() else None)
        same(np.trim_zeros(A, trim), a[rows, columns])
        same(np.trim_zeros(A, trim, 0), a[rows])
        same(np.trim_zeros(A, trim, axis=(-1,)), a[:, columns])
    assert np.trim_zeros(A * 0).shape == (0, 0)
    with pytest.raises(ValueError, match="trim is 'f', 'b' or 'fb', not 'x'"):
        np.trim_zeros(A, "x")


def test_messages_name_what_is_wrong():
    A = tensor(data((4, 3)), MATRICES["lists"])
    with pytest.raises(FormatError, match="fill takes a shape, and 3 is a number"):
        A.T.fill(3)
    with pytest.raises(TypeError, match=r"pow\(\) of a tensor takes no modulus: pow\(A, n\) % m"):
        pow(A, 2, 3)
    same(pow(A, 2), data((4, 3)) ** 2)
    for product in (lambda: A * "a", lambda: "a" * A, lambda: A * b"a"):
        with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \*: 'Tensor' and"):
            product()


def test_options_of_layout_are_taken():
    a = data((4, 3))
    A = tensor(a, MATRICES["lists"])
    same(np.sqrt(A, order="F"), np.sqrt(a))
    same(np.add(A, A, order="C", subok=False), a + a)
    with pytest.raises(TypeError, match="takes no where="):
        np.sqrt(A, where=A > 1)


def test_reductions_of_one_element_take_its_axis():
    x = fa.asarray(5.0)
    for function in (np.sum, np.prod, np.min, np.max):
        assert function(x, axis=0) == function(x, axis=-1) == 5.0
        with pytest.raises(OutOfBounds, match="axis 1 is out of bounds"):
            function(x, axis=1)
