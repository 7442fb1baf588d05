"""Calls that are bound to their arguments mean what the calls themselves mean."""

import threading

import numpy as np
import pytest
import scipy.sparse as sp

from finch_core import DimensionMismatch, FormatError, LifecycleError, Tensor, _, asarray, kernel
from finch_core.testing import backend_names
from finch_levels import Dense, Element, Scalar, SparseByteMap, SparseList
from finch_wrappers import swizzle

CSR, VECTOR = Dense(SparseList(Element(0.0))), Dense(Element(0.0))
MATRIX = np.array([[0.0, 1.0, 0.0, 2.0], [3.0, 0.0, 0.0, 0.0], [0.0, 0.0, 4.0, 0.0]])


@pytest.fixture(params=backend_names())
def backend(request):
    return request.param


@pytest.fixture
def spmv(backend):
    @kernel(backend=backend)
    def spmv(y, A, x):
        y[...] = 0
        for i, j in _:
            y[i] += A[i, j] * x[j]
        return y

    return spmv


ARGUMENTS = {
    "tensors": lambda: (Tensor(VECTOR), Tensor(CSR, MATRIX), Tensor(VECTOR, np.ones(4))),
    "arrays": lambda: (np.zeros(3), MATRIX.copy(), np.ones(4)),
    "csr": lambda: (np.zeros(3), sp.csr_array(MATRIX), np.ones(4)),
    "csc": lambda: (np.zeros(3), sp.csc_array(MATRIX), np.ones(4)),
    "wrapped": lambda: (Tensor(VECTOR), swizzle(Tensor(CSR, MATRIX.T), (1, 0)), np.ones(4)),
    "empty": lambda: (Tensor(VECTOR), Tensor(CSR, np.zeros((3, 4))), np.ones(4)),
}


@pytest.mark.parametrize("kind", ARGUMENTS)
def test_a_bound_call_gives_what_the_call_gives(spmv, kind):
    y, A, x = ARGUMENTS[kind]()
    call = spmv.bind(y, A, x)
    dense = A.toarray() if sp.issparse(A) else np.asarray(A)
    for _again in range(3):
        assert call() is y
        np.testing.assert_array_equal(np.asarray(y), dense @ np.ones(4))


def test_values_are_those_of_the_time_of_the_call(spmv):
    y, A, x = ARGUMENTS["csr"]()
    call = spmv.bind(y, A, x)
    call()
    A.data *= 2
    x[:] = [1, 2, 3, 4]
    call()
    np.testing.assert_array_equal(y, 2 * MATRIX @ x)


def test_numbers_of_every_kind_keep_their_values(backend):
    @kernel(backend=backend)
    def combined(y, a, b, c, d):
        y[0] = a + b
        y[1] = c
        y[2] = d

    y = np.zeros(3, complex)
    call = combined.bind(y, -2, 0.5, np.uint64(2**64 - 1), 1.5 - 2j)
    call()
    call()
    assert y.tolist() == [-1.5, float(2**64 - 1), 1.5 - 2j]


def test_an_integer_beyond_64_bits_is_refused(backend):
    @kernel(backend=backend)
    def stored(y, a):
        y[0] = a

    with pytest.raises(FormatError, match="does not fit in int64"):
        stored.bind(np.zeros(1), 2**70)


def test_free_names_have_the_values_of_the_time_of_binding(backend):
    factor, total = 3.0, Scalar(0.0)

    @kernel(backend=backend)
    def summed(x):
        for i in _:
            total[()] += factor * x[i]

    call = summed.bind(np.arange(4.0))
    factor = 5.0
    call()
    call()
    assert total.value == 36.0


def test_an_output_that_grows_is_followed(backend):
    @kernel(backend=backend)
    def nonzeros(C, A):
        C[...] = 0
        for i, j in _:
            if A[i, j] != 0:
                C[i, j] = A[i, j]

    C, A = Tensor(CSR), np.zeros((40, 40))
    call = nonzeros.bind(C, A)
    for count in (1, 10, 40, 3):
        A[:] = 0
        A[:count, :count] = np.arange(1, count + 1)
        call()
        np.testing.assert_array_equal(C.to_numpy(), A)
        assert C.nstored == count * count


def test_buffers_that_others_replace_are_followed(spmv, backend):
    @kernel(backend=backend)
    def grown(x):
        x[...] = 0
        for i in range(4):
            x[i] = i + 1

    y, A, x = ARGUMENTS["tensors"]()
    call = spmv.bind(y, A, x)
    call()
    before = x.buffers["1_val"]
    x.fill((4,))
    assert x.buffers["1_val"].ctypes.data != before.ctypes.data
    grown(x)
    call()
    np.testing.assert_array_equal(y.to_numpy(), MATRIX @ [1, 2, 3, 4])


def test_temporaries_are_new_at_each_call_where_they_are_returned(backend):
    @kernel(backend=backend)
    def doubled(x):
        w = Tensor(VECTOR)
        w[...] = 0
        for i in _:
            w[i] = 2 * x[i]
        return w

    x = np.arange(3.0)
    call = doubled.bind(x)
    first = call()
    x += 1
    second = call()
    assert first.to_numpy().tolist() == [0, 2, 4]
    assert second.to_numpy().tolist() == [2, 4, 6]


def test_temporaries_that_are_not_returned(backend):
    @kernel(backend=backend)
    def squared(C, A):
        C[...] = 0
        for i in _:
            w = Tensor(SparseByteMap(Element(0.0)))
            w[...] = 0
            for k, j in _:
                w[j] += A[i, k] * A[k, j]
            for j in _:
                C[i, j] = w[j]

    C, A = Tensor(CSR), Tensor(CSR, MATRIX @ MATRIX.T)
    call = squared.bind(C, A)
    for _again in range(3):
        call()
        np.testing.assert_array_equal(C.to_numpy(), A.to_numpy() @ A.to_numpy())


def test_a_failing_call_can_be_repeated(backend):
    @kernel(backend=backend)
    def gathered(y, x, at):
        for i in _:
            y[i] = x[at[i]]

    y, at = np.zeros(3), np.array([0, 7, 1])
    call = gathered.bind(y, np.arange(4.0), at)
    for _again in range(2):
        with pytest.raises(IndexError, match="7"):
            call()
    at[1] = 3
    call()
    assert y.tolist() == [0, 3, 1]


def test_a_failing_call_leaves_a_resized_output_that_can_be_written_again(backend):
    @kernel(backend=backend)
    def gathered(C, x, at):
        C[...] = 0
        for i in _:
            C[i] = x[at[i]]

    C, at = Tensor(SparseList(Element(0.0))), np.array([0, 7, 1])
    call = gathered.bind(C, np.arange(4.0), at)
    with pytest.raises(IndexError):
        call()
    at[1] = 3
    call()
    assert C.to_numpy().tolist() == [0, 3, 1]


def test_threads_run_one_bound_call(spmv):
    y, A, x = ARGUMENTS["arrays"]()
    call, found = spmv.bind(y, A, x), []

    def repeated():
        for _again in range(3):
            found.append(call() is y)

    for _thread in range(3):
        thread = threading.Thread(target=repeated)
        thread.start()
        thread.join()
    call()
    assert found == [True] * 9
    np.testing.assert_array_equal(y, MATRIX @ np.ones(4))


def test_other_threads_notice_what_has_changed(spmv):
    y, A, x = ARGUMENTS["tensors"]()
    call, errors = spmv.bind(y, A, x), []
    call()

    def refused():
        try:
            call()
        except DimensionMismatch as error:
            errors.append(error)

    for _thread in range(2):
        x.fill((5,))
        thread = threading.Thread(target=refused)
        thread.start()
        thread.join()
    assert len(errors) == 2


@pytest.mark.parametrize("changed", ["y", "A", "x"])
def test_another_shape_is_refused_until_it_is_the_old_one(spmv, changed):
    args = dict(zip("yAx", ARGUMENTS["tensors"](), strict=True))
    call = spmv.bind(*args.values())
    call()
    tensor = args[changed]
    shape = tensor.shape
    tensor.fill(tuple(n + 1 for n in shape))
    for _again in range(2):
        with pytest.raises(DimensionMismatch, match=f"{changed} has another shape"):
            call()
    tensor.fill(shape)
    call()


def test_an_array_with_another_shape_is_refused(spmv):
    y, A, x = np.zeros(3), MATRIX.copy(), np.ones(4)
    call = spmv.bind(y, A, x)
    x.shape = (2, 2)
    with pytest.raises(FormatError, match="x has another shape, dtype or memory"):
        call()
    x.shape = (4,)
    call()
    with pytest.raises(ValueError, match="resize"):
        x.resize(100, refcheck=False)


def test_a_sparse_array_with_other_parts_is_refused(spmv):
    y, A, x = ARGUMENTS["csr"]()
    call = spmv.bind(y, A, x)
    A.data = A.data.copy()
    with pytest.raises(FormatError, match="A has another shape, dtype or memory"):
        call()
    np.testing.assert_array_equal(y, 0)


def test_a_function_that_has_changed_is_noticed(backend):
    def twice(a):
        return 2 * a

    @kernel(backend=backend)
    def applied(y, x):
        for i in _:
            y[i] = twice(x[i])

    y, x = np.zeros(2), np.ones(2)
    call = applied.bind(y, x)
    call()
    twice.__defaults__ = (1,)
    with pytest.raises(FormatError, match="has another meaning"):
        call()


def test_memory_that_an_output_comes_to_share_is_refused(spmv):
    y, A, x = Tensor(VECTOR, np.zeros(4)), Tensor(CSR, np.eye(4)), Tensor(VECTOR, np.ones(4))
    call = spmv.bind(y, A, x)
    call()
    y.adopt(x.record, x.arrays)
    with pytest.raises(LifecycleError, match="shares memory"):
        call()


@pytest.mark.parametrize(
    ("x", "remedy"),
    [
        (np.ones((4, 2))[:, 0], "np.ascontiguousarray"),
        (sp.coo_array((np.ones(4), (np.arange(4)[::-1],)), shape=(4,)), "asarray"),
    ],
    ids=["strided", "coo"],
)
def test_what_every_call_would_copy_is_refused(spmv, x, remedy):
    y, A, _x = ARGUMENTS["tensors"]()
    with pytest.raises(FormatError, match="x is copied at each call") as error:
        spmv.bind(y, A, x)
    assert remedy in error.value.hint
    assert spmv.bind(y, A, asarray(np.ascontiguousarray(np.ones(4))))() is y
