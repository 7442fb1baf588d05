"""Results that are made of coordinates keep 32-bit indices where all operands have them."""

from __future__ import annotations

import numpy as np
import pytest
from array_support import fa, same

from finch_array import run
from finch_array.operands import stored
from finch_core import Tensor
from finch_levels import Dense, Element, SparseList

NARROW = Dense(SparseList(Element(0.0), index=np.int32, pointer=np.int32))
WIDE = Dense(SparseList(Element(0.0)))
VECTOR = SparseList(Element(0.0), index=np.int32, pointer=np.int32)


def narrow(shape=(6, 5), seed=0):
    return fa.random(shape, 0.4, format=NARROW if len(shape) == 2 else VECTOR, rng=seed)


def assigned(A):
    A[1] = np.arange(5.0)
    return A


def assigned_to_columns(A):
    A.T[1] = np.arange(6.0)
    return A


FUNCTIONS = {
    "concat": (lambda A: fa.concat([A, A]), lambda a: np.concatenate([a, a])),
    "concat along columns": (
        lambda A: fa.concat([A, A], axis=1), lambda a: np.concatenate([a, a], axis=1)
    ),
    "stack": (lambda A: fa.stack([A, A]), lambda a: np.stack([a, a])),
    "rows by numbers": (lambda A: A[[4, 0, 0]], lambda a: a[[4, 0, 0]]),
    "columns by numbers": (lambda A: A[:, [4, 0]], lambda a: a[:, [4, 0]]),
    "rows by a mask": (
        lambda A: A[np.arange(6) % 2 == 0], lambda a: a[np.arange(6) % 2 == 0]
    ),
    "sort": (fa.sort, np.sort),
    "sort columns": (lambda A: fa.sort(A, axis=0), lambda a: np.sort(a, axis=0)),
    "tril": (fa.tril, np.tril),
    "triu of a transpose": (lambda A: fa.triu(A.T), lambda a: np.triu(a.T)),
    "reshape": (lambda A: fa.reshape(A, (3, 10)), lambda a: a.reshape(3, 10)),
    "roll": (lambda A: fa.roll(A, 2, axis=1), lambda a: np.roll(a, 2, axis=1)),
    "repeat": (lambda A: fa.repeat(A, 2, axis=0), lambda a: np.repeat(a, 2, axis=0)),
    "tile": (lambda A: fa.tile(A, (2, 2)), lambda a: np.tile(a, (2, 2))),
    "kron": (lambda A: fa.kron(A, A), lambda a: np.kron(a, a)),
    "diagonal": (fa.diagonal, np.diagonal),
    "isin": (lambda A: fa.isin(A, [A.to_numpy().max()]), lambda a: np.isin(a, [a.max()])),
    "assignment": (assigned, lambda a: assigned(a.copy())),
    "assignment to a transpose": (
        assigned_to_columns, lambda a: assigned_to_columns(a.copy())
    ),
}  # fmt: skip


def widths(array):
    """The dtypes of the indices and positions that an array stores."""
    source = stored(array).source
    found = {
        source.arrays[field[key].number].dtype
        for field in source.layout.fields for key in ("ptr", "idx") if key in field
    }  # fmt: skip
    assert found
    return found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_have_the_narrow_indices_of_their_operands(name):
    ours, theirs = FUNCTIONS[name]
    for A in (narrow(), fa.asarray(np.zeros((6, 5)), format=NARROW)):
        wanted = theirs(A.to_numpy())
        found = ours(A)
        same(found, wanted)
        assert widths(found) == {np.dtype(np.int32)}


def test_a_diagonal_matrix_has_the_narrow_indices_of_its_vector():
    x = narrow((6,))
    found = np.diag(x, 2)
    same(found, np.diag(x.to_numpy(), 2))
    assert widths(found) == {np.dtype(np.int32)}


def test_one_wide_operand_makes_the_result_wide():
    A = narrow()
    B = Tensor(WIDE, A)
    for given in ([A, B], [B, A]):
        found = fa.concat(given)
        same(found, np.concatenate([A.to_numpy()] * 2))
        assert widths(found) == {np.dtype(np.int64)}


def test_dense_operands_do_not_make_the_result_wide():
    A = narrow()
    found = fa.concat([A, np.ones((1, 5))])
    same(found, np.concatenate([A.to_numpy(), np.ones((1, 5))]))
    assert widths(found) == {np.dtype(np.int32)}


def test_a_shape_beyond_32_bits_has_wide_indices():
    A = fa.random((2**17, 2**17), 2.0**-30, format=NARROW, rng=0)
    found = fa.reshape(A, (2**34,))
    assert widths(found) == {np.dtype(np.int64)}
    _, (places,), values = run.coordinates(found)
    _, (rows, columns), wanted = run.coordinates(A)
    assert len(wanted)
    np.testing.assert_array_equal(places, rows * 2**17 + columns)
    np.testing.assert_array_equal(values, wanted)


def test_a_function_of_a_value_to_be_computed_has_no_indices():
    x = fa.lazy(Tensor(Element(0.0), np.array(2.0))) + 0.0
    same(fa.compute(fa.asarray(np.digitize(x, [1.0, 3.0]))), np.digitize(np.array(2.0), [1.0, 3.0]))
