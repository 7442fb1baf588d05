"""Bound calls through inline caches, and in Python where these miss."""

import threading

import numpy as np
import pytest
from inline_cache_support import NEEDED, begin_at_once, copying, scaling

from finch_core import Tensor, kernel
from finch_core.errors import DimensionMismatch, FormatError
from finch_levels import Dense, Element

VECTOR = Dense(Element(0.0))
pytestmark = NEEDED


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    begin_at_once(monkeypatch)


@pytest.fixture
def scaled():
    return scaling()


def test_bound_calls_refuse_an_array_that_has_changed_each_time(scaled):
    y, x = np.zeros(6), np.arange(6.0)
    call = scaled.bind(y, x, 2.0)
    call()
    x.dtype = np.int64
    for _ in range(4):
        with pytest.raises(FormatError, match="x has another shape, dtype or memory"):
            call()
    x.dtype = float
    y.shape = 6, 1
    for _ in range(4):
        with pytest.raises(FormatError, match="y has another shape, dtype or memory"):
            call()
    y.shape = (6,)
    y[:] = 0
    assert call().tolist() == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
    assert call() is y


def test_bound_calls_follow_what_calls_in_c_have_left():
    """An output is resized and moved by the bound call, by other calls, and by Python."""

    copied = copying()
    y, A = Tensor(VECTOR), Tensor(VECTOR, np.arange(3.0))
    call = copied.bind(y, A)
    for _ in range(3):
        assert call() is y
        assert y.to_numpy().tolist() == [0.0, 1.0, 2.0]
    other = Tensor(VECTOR, np.arange(5.0))
    copied(y, other)  # another shape
    with pytest.raises(DimensionMismatch, match="y has another shape"):
        call()
    copied(y, A)
    for _ in range(12):
        call()
        y.fill((3,))  # other memory
        call()
        assert y.to_numpy().tolist() == [0.0, 1.0, 2.0]


def test_bound_calls_of_other_threads_and_after_a_failure():
    @kernel(backend="c")
    def at(x, k):
        t = 0.0
        t += x[k[0]]
        return t

    x, k = np.arange(4.0), np.array([2])
    call = at.bind(x, k)
    found = [call()]

    def work():
        found.append(call())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    k[0] = 9
    with pytest.raises(IndexError):
        call()
    k[0] = 3
    found += [call(), call()]
    assert found == [2.0, 2.0, 3.0, 3.0]
    x.shape = 2, 2
    with pytest.raises(FormatError, match="x has another shape"):
        call()


@pytest.mark.parametrize("ready", [0, 1, 5])
def test_bound_calls_are_made_in_python_until_the_library_is_there(monkeypatch, ready):
    """An output that the kernel resizes meanwhile is followed; its inline cache begins with it."""
    asked = []

    def is_ready(_):
        asked.append(True)
        return len(asked) > ready

    monkeypatch.setattr("finch_backend_c.support.Shared.is_ready", is_ready)
    copied = copying()
    y, A = Tensor(VECTOR), Tensor(VECTOR, np.arange(3.0))
    call = copied.bind(y, A)
    for _ in range(100):
        assert call() is y
        assert y.to_numpy().tolist() == [0.0, 1.0, 2.0]
    assert len(asked) > ready
    copied(y, Tensor(VECTOR, np.arange(5.0)))
    for _ in range(2):
        with pytest.raises(DimensionMismatch, match="y has another shape"):
            call()
