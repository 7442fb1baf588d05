"""A handler of a signal raises while a tensor takes other buffers: it is as it was, or will be."""

import contextlib
import signal
import time

import numpy as np
import pytest

from finch_core import Tensor
from finch_levels import Dense, Element, SparseByteMap, SparseCOO, SparseHash, SparseList

E0 = Element(0.0)
SIZE = 200


def formats():
    return [
        Dense(SparseList(E0)), SparseHash(SparseHash(E0)), Dense(SparseByteMap(E0)),
        SparseCOO(SparseCOO(E0)),
    ]  # fmt: skip


class Raised(KeyboardInterrupt):
    pass


@pytest.fixture
def armed():
    """A list; while it has an element, the handler empties it and raises."""
    armed = []

    def handler(number, frame):
        if armed:
            armed.clear()
            raise Raised

    before = signal.signal(signal.SIGALRM, handler)
    yield armed
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # of files that were being opened
@pytest.mark.parametrize("fmt", formats(), ids=["csr", "hash", "bytemap", "coo"])
def test_an_assignment_is_done_or_not(armed, fmt):
    data = (np.random.default_rng(0).random((SIZE, SIZE)) < 0.05) * 1.0
    wanted = data.copy()
    wanted[3, 4] = 2.5
    for _ in range(20):  # compiles and imports what is needed
        tensor = Tensor(fmt, data)
        began = time.perf_counter()
        tensor[3, 4] = 2.5
        delay = time.perf_counter() - began
        tensor.to_numpy()
    end, done = time.perf_counter() + 2.0, []
    while time.perf_counter() < end:
        tensor = Tensor(fmt, data)
        done.append(False)
        with contextlib.suppress(Raised, RuntimeError):  # the latter of classes being made
            armed.append(True)
            signal.setitimer(signal.ITIMER_REAL, delay)
            tensor[3, 4] = 2.5
            done[-1] = True
            armed.clear()
        armed.clear()  # where another exception than the handler's is raised
        # near the end, where the buffers are taken
        delay = max(delay * (0.99 if done[-1] else 1.01), 1e-5)
        found = tensor.to_numpy()
        assert np.array_equal(found, wanted) or np.array_equal(found, data)
        assert not done[-1] or np.array_equal(found, wanted)
    assert {*done} == {False, True}


def test_records_are_written_at_once():
    """NumPy runs handlers while it walks a list, so a record is set from an array."""
    tensor = Tensor(Dense(SparseList(E0)), np.eye(3))
    rows = []

    class Watched(np.ndarray):
        def __setitem__(self, key, value):
            rows.append(type(value))
            super().__setitem__(key, value)

    tensor.record = tensor.record.view(Watched)
    tensor.adopt(Tensor(Dense(SparseList(E0)), np.eye(3)).record, tensor.arrays)
    assert rows == [np.ndarray]
