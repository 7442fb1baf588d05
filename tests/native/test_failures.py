"""Kernels that fail while they run: what they raise, and what they leave."""

import itertools

import numpy as np
import pytest
from failing import PROGRAMS, SPARSE, VECTORS, begun_output, fails, on, operands

from finch_backend_c.cbackend import CBackend
from finch_core import Tensor, _, kernel
from finch_core.errors import OutOfBounds
from finch_core.interpreter import Interpreter
from finch_core.validation import validate
from finch_levels import Dense, Element, Scalar, SparseList

QUICK = CBackend(flags=("-O1",))
BACKENDS = {"c": QUICK, "interpreter": Interpreter()}


def failing_c(n):
    return CBackend(flags=("-O1",), fail_alloc=n + 1)


def failing_interpreter(n):
    return Interpreter(fail_alloc=n)


@pytest.mark.parametrize("failing", [failing_c, failing_interpreter])
@pytest.mark.parametrize("name", PROGRAMS)
def test_each_allocation_may_fail(name, failing):
    tried = next(n for n in itertools.count() if not fails(name, failing(n)))
    assert tried > 0, "the program allocates nothing"


def gather(C, x, at):
    C[...] = 0
    for i in _:
        C[i] = x[at[i]]
    return C


def gather_into(C, x, at):
    for i in _:
        C[i] += x[at[i]]
    return C


AT = np.array([0, 3, 4, 12, 1])


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("format", [Dense(Element(0.0)), SPARSE])
@pytest.mark.parametrize("source", [Dense(Element(0.0)), SPARSE])
def test_a_gather_out_of_bounds_leaves_valid_tensors(backend, format, source):
    made = on(BACKENDS[backend], gather)
    x, C = Tensor(source, VECTORS[0]), Tensor(format, [7.0, 8.0, 0.0, 9.0])
    with pytest.raises(
        OutOfBounds, match="index 12 is out of bounds for dimension 0 of x of size 12"
    ):
        made(C, x, AT)
    validate(C)
    validate(x)
    np.testing.assert_array_equal(x.to_numpy(), VECTORS[0])
    assert not C.to_numpy().any(), "a declared output is left empty"
    made(C, x, AT % 12)
    np.testing.assert_array_equal(C.to_numpy(), VECTORS[0][AT % 12])


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_gather_out_of_bounds_leaves_what_was_stored(backend):
    made = on(BACKENDS[backend], gather_into)
    C = Tensor(SPARSE, [0.0, 0, 0, 0, 0])
    with pytest.raises(OutOfBounds):
        made(C, VECTORS[0], AT)
    validate(C)
    assert C.shape == (5,)


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_array_keeps_what_was_written_before_the_failure(backend):
    y = np.full(5, -1.0)
    with pytest.raises(OutOfBounds):
        on(BACKENDS[backend], gather_into)(y, VECTORS[0], AT)
    np.testing.assert_array_equal(y, [-1, 1, 2, -1, -1])


@pytest.mark.parametrize("backend", BACKENDS)
def test_appending_behind_what_is_stored_changes_nothing(backend):
    C = begun_output(SPARSE)
    before = C.to_numpy().copy()

    def add_all(C, A):
        for i in _:
            C[i] += A[i]

    with pytest.raises(TypeError, match="is not after all that its SparseList stores"):
        on(BACKENDS[backend], add_all)(C, operands()[1])
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
        on(BACKENDS[backend], add_all)(C, np.ones((3, 3)))
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


@pytest.mark.parametrize("length", [10**15, 2**62, 2**63 - 1])
def test_more_than_all_memory(length):
    def ones(y, n):
        y[...] = 0
        for i in range(0, n):
            y[i] = 1
        return y

    y = Tensor(Dense(Element(0.0)), [5.0])
    made = on(QUICK, ones)
    with pytest.raises(MemoryError, match="memory ran out"):
        made(y, length)
    validate(y)
    assert y.shape == (0,)
    np.testing.assert_array_equal(made(y, 3).to_numpy(), np.ones(3))
