"""Signals that arrive while a kernel runs end it soon, and outputs stay valid."""

import contextlib
import gc
import os
import signal
import sys
import threading
import time

import numpy as np
import pytest

from finch_core import Tensor, _, kernel, swap
from finch_core.errors import OutOfBounds
from finch_core.locks import Lock
from finch_core.runtime.validation import is_valid
from finch_levels import Dense, Element, Scalar, SparseByteMap, SparseHash, SparseList

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="there is a timer on Linux alone")

SOON = 1.0
"""Seconds within which a kernel ends; the machine may be busy."""


@contextlib.contextmanager
def raised_interrupts():
    """A process that a shell starts in the background ignores Ctrl-C: kernels would run on."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(autouse=True)
def _raises_interrupts():
    with raised_interrupts():
        yield


@contextlib.contextmanager
def signal_in(seconds, number=signal.SIGINT):
    """Send this process a signal after a while; yields a list that gets the time it was sent."""
    sent = []

    def send():
        sent.append(time.perf_counter())
        os.kill(os.getpid(), number)

    timer = threading.Timer(seconds, send)
    timer.start()
    yield sent
    timer.cancel()
    timer.join()


def interrupted(call):
    """Whether Ctrl-C ends ``call`` at once; it is one that takes minutes."""
    with raised_interrupts(), signal_in(0.3) as sent, pytest.raises(KeyboardInterrupt):
        call()
    assert sent
    return time.perf_counter() - sent[0] < SOON


def one_loop(s, n):
    s[...] = 0
    for i in range(n):
        s[()] += i * i % 1000003
    return s


def nested(s, A, n):
    s[...] = 0
    for q in range(n):
        for i, j in _:
            s[()] += (A[i, j] * q) % 7
    return s


def stores(y, n, m):
    for q in range(n):
        for i in range(m):
            y[i] += q % 7


def append(C, n):
    C[...] = 0
    for i in range(n):
        if i * i % 1000003 < 100000:
            C[i % 1] += 1.0
    return C


def test_one_long_loop():
    run, s = kernel(one_loop), Scalar(0)
    run(s, 10)
    assert interrupted(lambda: run(s, 10**13))
    assert run(s, 3).value == 5


def test_loops_within_loops():
    run, A = kernel(nested), Tensor(Dense(SparseList(Element(0.0))), np.eye(2000))
    run(Scalar(0.0), A, 2)
    assert interrupted(lambda: run(Scalar(0.0), A, 10**9))


def test_an_array_keeps_what_was_written():
    run, y = kernel(stores), np.zeros(100)
    run(y, 1, 100)
    assert interrupted(lambda: run(y, 10**12, 100))
    assert np.isfinite(y).all()


@pytest.mark.parametrize("level", [SparseHash, SparseByteMap, Dense])
def test_an_output_is_empty_and_of_use(level):
    run, C = kernel(append), Tensor(level(Element(0.0)), (5,))
    run(C, 1)
    assert interrupted(lambda: run(C, 10**13))
    assert is_valid(C)
    assert not C.to_numpy().any()
    assert run(C, 4).to_numpy()[0] == 4


def grow(C, A, n):
    C[...] = 0
    for i in range(n):
        for j in _:
            C[i, j] = A[j] + 1.0
    return C


def test_an_output_that_grows_is_left_with_the_memory_it_has():
    """A signal may come while memory moves; it is asked for over and over."""
    run, A = kernel(grow), np.arange(1000.0)
    C = Tensor(Dense(SparseList(Element(0.0))))
    run(C, A, 3)
    for k in range(8):
        with contextlib.suppress(KeyboardInterrupt), signal_in(0.05 + 0.03 * k):
            for _turn in range(100):
                run(C, A, 20_000)
        assert is_valid(C)
        assert run(C, A, 2).to_numpy().tolist() == [(A + 1).tolist()] * 2
        C = Tensor(C.format) if k % 2 else C


def test_a_signal_that_comes_as_the_kernel_ends():
    """Python raises when the call returns: its outputs are settled all the same."""
    run, A = kernel(grow), np.arange(50.0)
    run(Tensor(Dense(SparseList(Element(0.0)))), A, 1)
    for k in range(40):
        C = Tensor(Dense(SparseList(Element(0.0))))
        with contextlib.suppress(KeyboardInterrupt), signal_in(0.001 + 0.0005 * k) as sent:
            while not sent or time.perf_counter() < sent[0] + SOON:  # Python ignores what a handler
                run(C, A, 400 + k)  # raises in the callback of a weak reference
        assert is_valid(C)
        assert run(C, A, 1).to_numpy().tolist() == [(A + 1).tolist()]


def raising_after(events, call):
    """Whether ``call`` is left by an exception raised at its ``events``-th call of a function or
    return of one in C: where Python runs the handlers of signals.

    Garbage is not collected meanwhile: Python ignores what is raised in a finalizer."""
    left = events

    def step(frame, event, arg):
        nonlocal left
        left -= event in ("call", "c_return", "c_exception")
        if left < 0:
            sys.setprofile(None)
            raise KeyboardInterrupt

    gc.disable()
    sys.setprofile(step)
    try:
        call()
    except KeyboardInterrupt:
        return True
    except OutOfBounds:
        pass
    finally:
        sys.setprofile(None)
        gc.enable()
    return False


def test_wherever_a_handler_raises_locks_are_free():
    """A lock that stayed held would keep other threads waiting for ever."""
    lock, taken, free = Lock(), [], []

    def take():
        free.append(lock.acquire(timeout=0.0))
        lock.release()

    def use():
        for _turn in range(3):
            with lock:
                taken.append(len(taken))

    for events in range(2000):
        raised = raising_after(events, use)
        other = threading.Thread(target=take)
        other.start()
        other.join()
        assert free[-1], f"held after a handler raised at event {events}"
        if not raised:
            break
    assert not raised
    assert events > 3


def turns(A, B, x, n):
    for t in range(n):
        B[...] = 0
        for j in _:
            B[j] = A[j] + x[j] * (t + 1)
        swap(A, B)


def too_far(C, x, p):
    C[...] = 0
    for i, j in _:
        C[i, j] = x[j] + x[p[i]]
    return C


def local(s, x, n):
    W = Tensor(SparseList(Element(0.0)), (1000,))
    s[...] = 0
    for i in range(n):
        W[...] = 0
        for j in _:
            if j < 20 * (i + 1):
                W[j] = x[j]
        for j in _:
            s[()] += W[j]


@pytest.mark.parametrize("name", ["grow", "fails", "swap", "fixed", "local"])
@pytest.mark.parametrize("bound", [False, True])
def test_wherever_a_handler_raises_outputs_stay_valid(name, bound):
    x, far = np.arange(1.0, 301.0), np.array([7, 3, 10**6])

    def sparse():
        return Tensor(SparseList(Element(0.0)), x * (x % 3 == 0))

    make = {
        "grow": lambda: (kernel(grow), [Tensor(Dense(SparseList(Element(0.0)))), x, 3]),
        "fails": lambda: (kernel(too_far), [Tensor(Dense(SparseList(Element(0.0)))), x, far]),
        "swap": lambda: (kernel(turns), [sparse(), sparse(), x, 3]),
        "fixed": lambda: (kernel(turns), [x.copy(), x.copy(), x, 3]),
        "local": lambda: (kernel(local), [Scalar(0.0), np.arange(1000.0), 3]),
    }[name]
    run, args = make()
    with contextlib.suppress(OutOfBounds):
        run(*args)
    for events in range(2000):
        args = make()[1]
        call = run.bind(*args) if bound else lambda args=args: run(*args)
        left = raising_after(events, call)
        assert all(is_valid(arg) for arg in args if isinstance(arg, Tensor))
        if name == "grow":
            assert run(*args).to_numpy().tolist() == [(x + 1).tolist()] * 3
        if not left:
            break
    assert events > 20
    assert not left


def test_a_handler_that_raises_nothing_lets_the_kernel_go_on():
    run, s, seen = kernel(one_loop), Scalar(0), []
    run(s, 10)
    before = signal.signal(signal.SIGUSR1, lambda *about: seen.append(run(Scalar(0), 3).value))
    try:
        with signal_in(0.2, signal.SIGUSR1):
            started = time.perf_counter()
            n = 10**6
            while time.perf_counter() - started < 1 and not seen:
                n *= 4
                assert run(s, n).value > 0
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert seen == [5]


@contextlib.contextmanager
def alarm(handler):
    """``handler`` runs 0.2 seconds from now."""
    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.2)
        yield
    finally:
        signal.signal(signal.SIGALRM, before)


def test_what_a_handler_raises_is_raised():
    run, s = kernel(one_loop), Scalar(0)
    run(s, 10)

    def late(*about):
        raise TimeoutError("too late")

    with alarm(late), pytest.raises(TimeoutError, match="too late"):
        run(s, 10**13)
    assert s.value == 0


def test_an_overflow_that_a_handler_raises_in_a_repeated_call_is_raised(monkeypatch):
    """It is not taken for a number that the kernel does not hold, for which the call is repeated
    with a message."""
    monkeypatch.setenv("FINCH_DRAFTS", "0")
    run, s = kernel(one_loop), Scalar(0)
    for _time in range(3):
        run(s, 10)
    assert run._calls
    raised = []

    def late(*about):
        raised.append(about)
        raise OverflowError("too much")

    with alarm(late), pytest.raises(OverflowError, match="too much"):
        run(s, 10**13)
    assert len(raised) == 1


def test_a_kernel_of_another_thread_goes_on():
    run, found = kernel(one_loop), []
    run(Scalar(0), 10)
    worker = threading.Thread(target=lambda: found.append(run(Scalar(0), 10**8).value))
    worker.start()
    with signal_in(0.1), pytest.raises(KeyboardInterrupt):
        time.sleep(5)
    worker.join()
    assert found == [run(Scalar(0), 10**8).value]


def converging(s, x):
    s[...] = 0
    while x[0] >= 0:
        s[()] += 1
        if s[()] < 0:
            break


def test_a_while_that_never_ends():
    run, s = kernel(converging), np.zeros(())
    run.lower(s, np.ones(1))  # compiles it: the signal is for the loop
    assert interrupted(lambda: run(s, np.ones(1)))
    assert interrupted(lambda: run(s, np.ones(1)))  # the next call works
