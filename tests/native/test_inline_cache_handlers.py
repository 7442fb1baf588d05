"""Handlers of signals in calls through inline caches: what they raise, and what they call."""

import contextlib
import signal
import sys
import time

import numpy as np
import pytest
from inline_cache_support import NEEDED, begin_at_once, copying, in_python, scaling

from finch_core import Tensor, kernel
from finch_levels import Dense, Element, SparseList

VECTOR = Dense(Element(0.0))
pytestmark = NEEDED


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    begin_at_once(monkeypatch)


@pytest.fixture
def scaled():
    return scaling()


@kernel(backend="c")
def spin(y, turns):
    for _i in range(turns):
        y[0] = y[0] * 0.5 + 1.0
    return y


def test_an_interrupt_and_a_handler_that_calls_the_kernel():
    y = np.zeros(1)
    for _ in range(3):
        spin(y, 10)
    assert spin._cached
    inner = np.zeros(1)

    def handler(number, frame):
        spin(inner, 1)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        began = time.perf_counter()
        with pytest.raises(KeyboardInterrupt):
            spin(y, 1 << 50)
        assert time.perf_counter() - began < 30
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert inner[0] == 1.0
    y[0] = 0
    assert spin(y, 2)[0] == 1.5


@contextlib.contextmanager
def entering(name, act):
    """``act`` is called where a function ``name`` is entered, as handlers of signals may be."""

    def entered(frame, event, argument):
        if event == "call" and frame.f_code.co_name == name:
            act()

    sys.setprofile(entered)
    try:
        yield
    finally:
        sys.setprofile(None)


def test_a_handler_that_raises_as_the_kernel_returns():
    copied = copying()
    fmt = SparseList(Element(0.0))
    y, one, many = Tensor(fmt), Tensor(fmt, np.eye(3)[1]), Tensor(fmt, np.arange(4000.0))
    for _ in range(8):
        copied(y, one)
    before, raised = in_python(copied), []

    def interrupt():
        if len(raised) < 2:  # in `settle`, and once more in `leave`
            raised.append(True)
            raise KeyboardInterrupt

    with entering("settle", interrupt), pytest.raises(KeyboardInterrupt):
        copied(y, many)  # its buffers move
    raised.clear()
    assert in_python(copied) == before
    assert y.nstored <= y.arrays[-1].size
    assert y.to_numpy().shape == (4000,)
    assert y.writer.ended
    copied(y, many)
    assert y.to_numpy().tolist() == many.to_numpy().tolist()


def test_a_handler_that_calls_the_kernel_before_its_result_is_taken():
    @kernel(backend="c")
    def total(x):
        s = 0.0
        for i in _:
            s += x[i]
        return s

    one, two = np.full(3, 1.0), np.full(3, 2.0)
    for _ in range(3):
        total(one)
    inner = []
    with entering("gather", lambda: inner or inner.append(total(two))):
        found = total(one)
    assert (found, inner) == (3.0, [6.0])
    call = total.bind(one)
    inner.clear()
    with entering("gather", lambda: inner or inner.append(total(two))):
        found = call()
    assert (found, inner) == (3.0, [6.0])
