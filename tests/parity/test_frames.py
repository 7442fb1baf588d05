"""Calls on records that are kept (``runtime.frames``), beside NumPy."""

import threading
from itertools import pairwise

import numpy as np
import pytest

import finch_array as fa
from finch_array import remembered
from finch_core import Tensor, kernel
from finch_core.errors import DimensionMismatch
from finch_core.interface.abi import bound_here
from finch_core.interface.dense_format import dense_format
from finch_core.runtime import worth
from finch_core.runtime.arrays import MOST_AT_ONCE, SMALL, dense_makers
from finch_core.runtime.frames import Frame
from finch_levels import Dense, Element, SparseList

CSR = Dense(SparseList(Element(0.0)))


def matrix(n: int, m: int, seed: int = 0) -> Tensor:
    return fa.random((n, m), 0.4, format=CSR, rng=seed)


def repeated(*calls, times=4):
    """Calls in turn, often enough that they are remembered."""
    return [[call() for call in calls] for _ in range(times)]


@pytest.fixture(autouse=True)
def compiled_for_good(monkeypatch):
    monkeypatch.setenv("FINCH_DRAFTS", "0")
    monkeypatch.setattr(worth, "WORTH_OF_VALUES", -1)  # few elements, too
    remembered._calls.clear()


def test_a_repeated_product_reads_the_operands_that_it_is_given():
    first, second = matrix(5, 4), matrix(5, 4, seed=1)
    rng = np.random.default_rng(0)
    for _ in range(6):
        for A in (first, second):
            x, y = rng.random(4), rng.random(5)
            np.testing.assert_allclose((A @ x).to_numpy(), A.to_numpy() @ x)
            np.testing.assert_allclose((y @ A).to_numpy(), y @ A.to_numpy())
    assert len(remembered._calls) == 2


def test_products_of_transposed_views_are_repeated_calls():
    first, second = matrix(5, 4), matrix(5, 4, seed=1)
    rng = np.random.default_rng(2)
    for _ in range(6):
        for A in (first, second):
            x, y = rng.random(4), rng.random(5)
            np.testing.assert_allclose((A.T @ y).to_numpy(), A.to_numpy().T @ y)
            np.testing.assert_allclose((x @ A.T).to_numpy(), x @ A.to_numpy().T)
            np.testing.assert_allclose((A @ x).to_numpy(), A.to_numpy() @ x)
    assert len(remembered._calls) == 3


def test_results_of_repeated_calls_have_memory_of_their_own():
    A, rng = matrix(6, 4), np.random.default_rng(1)
    xs = [rng.random(4) for _ in range(3 * MOST_AT_ONCE)]
    found = [A @ x for x in xs]
    for x, y in zip(xs, found, strict=True):
        np.testing.assert_allclose(y.to_numpy(), A.to_numpy() @ x)
    spans = sorted(span for y in found for span in y.memory)
    assert all(a[1] <= b[0] for a, b in pairwise(spans))
    found[0].to_numpy()[:] = 7.0
    np.testing.assert_allclose(found[1].to_numpy(), A.to_numpy() @ xs[1])


def test_each_thread_has_frames_of_its_own():
    A, x = matrix(5, 4), np.arange(4.0)
    repeated(lambda: A @ x)
    wrong, start = [], threading.Barrier(3)

    def work(seed):
        own = np.random.default_rng(seed)
        start.wait()
        for _ in range(300):
            z = own.random(4)
            if not np.allclose((A @ z).to_numpy(), A.to_numpy() @ z):
                wrong.append(seed)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


@pytest.mark.parametrize("shape", [(0,), (1,), (3,), (0, 4), (2, 5), (SMALL,), ()])
@pytest.mark.parametrize("dtype", [np.float64, np.int8, np.complex128, np.bool_])
def test_makers_give_tensors_with_records_that_name_their_memory(shape, dtype):
    make = dense_makers(dense_format(len(shape), dtype(0)), Tensor)(shape)
    made = [make() for _ in range(2 * MOST_AT_ONCE + 3)]
    assert len({tensor.address for tensor in made}) == len(made)
    for k, tensor in enumerate(made):
        array = tensor.to_numpy()
        assert array.shape == shape
        assert array.dtype == dtype
        assert tensor.address == tensor.record.ctypes.data
        assert tensor.record[len(shape)] == tensor.arrays[0].ctypes.data or not array.size
        array[...] = dtype(k % 2)
    for k, tensor in enumerate(made):
        assert (tensor.to_numpy() == dtype(k % 2)).all()


@kernel
def doubled(y, x):
    for i in range(len(x)):
        y[i] = 2 * x[i]


def frame_of(function, *args):
    for _ in range(2):
        function(*args)
    specialized = function.specialized(args)
    specialized.finish()
    return specialized, Frame(specialized, len(args))


@pytest.mark.parametrize("words", [True, False])
def test_a_frame_runs_on_the_records_that_it_is_given(words, monkeypatch):
    vector = Dense(Element(0.0))
    args = Tensor(vector, [0.0, 0.0, 0.0]), Tensor(vector, [1.0, 2.0, 3.0])
    specialized, _ = frame_of(doubled, *args)
    if not words:  # a backend whose bound kernels keep their arguments
        plain = specialized.compiled.function
        monkeypatch.setattr(
            specialized.compiled, "bound", lambda args, places: lambda: plain(*args)
        )
    frame = Frame(specialized, 2)
    for k in range(3):
        y, x = Tensor(vector, [0.0, 0.0, 0.0]), Tensor(vector, [k + 1.0, k + 2.0, k + 3.0])
        frame.words[1], frame.words[2] = y.address, x.address
        assert frame.run() == 0
        np.testing.assert_array_equal(y.to_numpy(), 2 * x.to_numpy())


def test_what_a_frame_runs_may_fail_or_move_memory():
    vector = Dense(Element(0.0))
    y, x = Tensor(vector, [0.0, 0.0, 0.0]), Tensor(vector, [1.0, 2.0, 3.0])
    _, frame = frame_of(doubled, y, x)
    short = Tensor(vector, [0.0, 0.0])
    frame.words[1], frame.words[2] = short.address, x.address
    with pytest.raises(DimensionMismatch):
        frame.after(frame.run(), (short, x))

    @kernel
    def squared(z, x):
        z[...] = 0.0
        for i in range(len(x)):
            z[i] = x[i] * x[i]

    sparse = SparseList(Element(0.0))
    values = np.arange(1.0, 101.0)
    _, frame = frame_of(squared, Tensor(sparse), Tensor(vector, values))
    z, x = Tensor(sparse), Tensor(vector, values)
    frame.words[1], frame.words[2] = z.address, x.address
    frame.after(frame.run(), (z, x))
    np.testing.assert_array_equal(z.to_numpy(), values**2)
    assert len(z.arrays[-1]) >= 100


def test_bound_calls_of_plain_functions_have_their_words():
    seen = []
    run = bound_here(lambda *args: seen.append(args) or 0, [1, 2, 3], [])
    run.words[2] = 5
    assert run() == 0
    assert seen == [(1, 2, 5)]
