"""Kernels that fail while they run, beyond what the suite of backends asks: what they leave."""

import numpy as np
import pytest

from finch_core import Tensor, _, kernel
from finch_core.errors import OutOfBounds
from finch_core.runtime.validation import validate
from finch_core.testing import backend_names, on
from finch_levels import Dense, Element, Scalar, SparseList

BACKENDS = backend_names()
SPARSE = SparseList(Element(0.0))
VECTORS = np.array([[0, 1, 0, 2, 3, 0, 0, 4, 5, 6, 0, 7.0], [1, 0, 0, 3, 4, 0, 0, 5, 0, 8, 0, 9]])


def gather_into(C, x, at):
    for i in _:
        C[i] += x[at[i]]
    return C


AT = np.array([0, 3, 4, 12, 1])


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_gather_out_of_bounds_leaves_what_was_stored(backend):
    made = on(backend, gather_into)
    C = Tensor(SPARSE, [0.0, 0, 0, 0, 0])
    with pytest.raises(OutOfBounds):
        made(C, VECTORS[0], AT)
    validate(C)
    assert C.shape == (5,)


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_array_keeps_what_was_written_before_the_failure(backend):
    y = np.full(5, -1.0)
    with pytest.raises(OutOfBounds):
        on(backend, gather_into)(y, VECTORS[0], AT)
    np.testing.assert_array_equal(y, [-1, 1, 2, -1, -1])


@pytest.mark.parametrize("backend", BACKENDS)
def test_appending_behind_what_is_stored_changes_nothing(backend):
    before = np.zeros(VECTORS.shape[1])
    before[1] = 5
    C = Tensor(SPARSE, before)

    def add_all(C, A):
        for i in _:
            C[i] += A[i]

    with pytest.raises(TypeError, match="is not after all that its SparseList stores"):
        on(backend, add_all)(C, Tensor(SPARSE, VECTORS[1]))
    validate(C)
    np.testing.assert_array_equal(C.to_numpy(), before)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_nested_append_behind_what_is_stored_changes_nothing(backend):
    data = np.array([[0, 1.0, 0], [0, 0, 0], [0, 2, 0]])
    C = Tensor(SparseList(SPARSE), data)

    def add_all(C, A):
        for i, j in _:
            C[i, j] += A[i, j]

    with pytest.raises(TypeError, match="is not after all that its SparseList stores"):
        on(backend, add_all)(C, np.ones((3, 3)))
    validate(C)
    np.testing.assert_array_equal(C.to_numpy(), data)


@kernel
def doubled(C, A):
    C[...] = 0
    for i in _:
        C[i] = A[i] * 2
    return C


@pytest.mark.parametrize("format", [Dense(Element(0.0)), SPARSE])
def test_a_view_stays_valid_memory(format):
    C = doubled(Tensor(format), np.array([1.0, 2.0]))
    views = [array for array in C.buffers.values() if array.dtype == float]
    held = [view.copy() for view in views]
    for length in (3, 1000, 100_000):
        doubled(C, np.arange(1.0, 1.0 + length))
        views += [array for array in C.buffers.values() if array.dtype == float]
        held += [view.copy() for view in views[-1:]]
    C.fill((0,))
    del C
    for view, before in zip(views, held, strict=True):
        assert view.shape == before.shape
        view[:] = 3.0
        assert (view == 3.0).all()


def test_a_narrow_index_overflows_before_anything_is_lost():
    C = Tensor(SparseList(Element(0.0), index=np.int8))
    with pytest.raises(OverflowError, match="a dimension of 200 is too long for indices of int8"):
        doubled(C, np.ones(200))
    validate(C)
    np.testing.assert_array_equal(doubled(C, np.ones(100)).to_numpy(), np.full(100, 2.0))


def test_a_failed_scalar_is_declared_again():
    @kernel
    def total(s, x, at):
        s[...] = 0
        for i in _:
            s[()] += x[at[i]]
        return s

    s = Scalar(0.0)
    with pytest.raises(OutOfBounds):
        total(s, VECTORS[0], AT)
    assert s.value == 0.0
    assert total(s, VECTORS[0], AT[:3]).value == VECTORS[0][AT[:3]].sum()
