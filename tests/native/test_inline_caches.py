"""Calls whose arguments are compared in C: what they take, what they leave to Python, and that they
keep nothing alive."""

import contextlib
import gc
import sys
import threading
import time
import weakref

import numpy as np
import pytest
from inline_cache_support import NEEDED, begin_at_once, copying, in_python, scaling, summing

from finch_backend_c import inline_cache
from finch_core import Tensor, asarray, kernel
from finch_core.errors import DimensionMismatch, FormatError, LifecycleError
from finch_core.runtime import inline_caches
from finch_core.runtime.lending import Writer
from finch_levels import Dense, Element, SparseHash, SparseList

VECTOR = Dense(Element(0.0))
pytestmark = NEEDED


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    begin_at_once(monkeypatch)


@pytest.fixture
def scaled():
    return scaling()


@pytest.fixture
def cached(scaled):
    """``scaled`` for arrays and a float, with an inline cache."""
    y = np.zeros(3)
    assert scaled(y, np.ones(3), 2.0) is y
    assert len(scaled._cached) == 1
    return scaled


def test_arrays_of_other_memory_and_shapes(cached):
    for n in (3, 0, 1, 7):
        y = np.zeros(n)
        assert cached(y, np.arange(float(n)), 3.0) is y
        assert y.tolist() == [3.0 * k for k in range(n)]
    assert in_python(cached) == 1
    assert cached.stats()["calls"] == 5


@pytest.mark.parametrize(
    ("y", "x", "by"),
    [
        (np.zeros(3), np.arange(6.0)[::2], 2.0),  # not contiguous
        (np.zeros(3), np.arange(3), 2.0),  # another dtype
        (np.zeros(3), np.arange(3.0), 2),  # another number
        (np.zeros(3), np.arange(3.0), np.float64(2.0)),
        (np.zeros(3, np.float32), np.arange(3.0), 2.0),
        (Tensor(VECTOR, np.zeros(3)), np.arange(3.0), 2.0),
        (np.zeros(3), Tensor(SparseList(Element(0.0)), np.arange(3.0)), 2.0),
        (np.zeros(3), np.arange(3.0).view(type("Mine", (np.ndarray,), {})), 2.0),
        (np.zeros(3), np.frombuffer(b"\0" * 17 + np.arange(2.0).tobytes(), "f8", 2, 17), 2.0),
    ],
)
def test_others_are_left_to_python(cached, y, x, by):
    assert cached(y, x, by) is y
    np.testing.assert_array_equal(np.asarray(y)[: x.shape[0]], np.asarray(x) * 2)
    assert in_python(cached) >= 1


def test_keywords_defaults_and_wrong_numbers_of_arguments(cached):
    y, x = np.zeros(2), np.ones(2)
    assert cached(y, x, by=4.0).tolist() == [4.0, 4.0]
    with pytest.raises(TypeError, match="lacks the argument 'by'"):
        cached(y, x)
    with pytest.raises(TypeError, match="takes 3 arguments, 4 were given"):
        cached(y, x, 2.0, 3.0)
    assert y.tolist() == [4.0, 4.0]


def test_outputs_that_may_not_be_written(cached):
    y, x = np.zeros(4), np.ones(4)
    with pytest.raises(LifecycleError, match="y is written, and shares memory with x"):
        cached(y, y, 2.0)
    with pytest.raises(LifecycleError, match="y is written, and shares memory with x"):
        cached(y[:3], y[1:], 2.0)
    y.flags.writeable = False
    with pytest.raises(FormatError, match="the array is read-only"):
        cached(y, x, 2.0)
    y.flags.writeable = True
    x.flags.writeable = False
    assert cached(y, x, 2.0).tolist() == [2.0] * 4
    assert y[:2].base is y
    assert cached(y[:2], y[2:], 2.0).tolist() == [4.0, 4.0]  # side by side


def test_arrays_that_are_changed_in_place(cached):
    y, x = np.zeros(6), np.arange(6.0)
    cached(y, x, 2.0)
    x.shape = 2, 3
    with pytest.raises(DimensionMismatch):
        cached(y, x, 2.0)
    x.shape = (6,)
    x.resize(4, refcheck=False)
    y[:] = 0
    cached(y, x, 2.0)
    assert y.tolist() == [0.0, 2.0, 4.0, 6.0, 0.0, 0.0]


def test_a_kernel_that_fails_says_why_and_goes_on(cached):
    before = in_python(cached)
    with pytest.raises(DimensionMismatch, match="dimension 0 of y has size 2"):
        cached(np.zeros(2), np.ones(3), 2.0)
    y = np.zeros(3)
    assert cached(y, np.ones(3), 2.0).tolist() == [2.0] * 3
    assert in_python(cached) == before


def test_tensors():
    summed = summing()
    fmt = Dense(SparseList(Element(0.0)))
    y, first = Tensor(VECTOR, np.zeros(2)), Tensor(fmt, np.eye(2))
    summed(y, first)
    for k in range(2, 5):
        other = Tensor(fmt, k * np.eye(2))  # another tensor of the format, which is read
        summed(y, other)
    assert y.to_numpy().tolist() == [1.0 + 2 + 3 + 4] * 2
    assert in_python(summed) == 1
    new = Tensor(VECTOR, np.zeros(2))  # another output
    summed(new, first)
    assert new.to_numpy().tolist() == [1.0, 1.0]
    assert in_python(summed) == 2
    first[0, 1] = 5.0  # its buffers move
    summed(new, first)
    assert new.to_numpy().tolist() == [7.0, 2.0]
    changed = Tensor(Dense(SparseList(Element(1.0))), np.eye(2))
    summed(new, changed)
    assert new.to_numpy().tolist() == [8.0, 3.0]


def test_a_tensor_over_an_output():
    copied = copying()
    x = np.arange(3.0)
    over, other = asarray(x), asarray(np.arange(3.0))
    copied(np.zeros(3), other)
    copied(np.zeros(3), over)
    with pytest.raises(LifecycleError, match="shares memory"):
        copied(x, over)


def test_outputs_that_grow():
    copied = copying()
    fmt = SparseList(Element(0.0))
    y, one = Tensor(fmt), Tensor(fmt, np.eye(3)[1])
    for _ in range(4):
        assert copied(y, one) is y
    before = in_python(copied)
    for _ in range(4):
        assert copied(y, one).to_numpy().tolist() == [0.0, 1.0, 0.0]
    assert in_python(copied) == before
    assert y.writer.ended
    many = Tensor(fmt, np.arange(100.0))
    assert copied(y, many).to_numpy().tolist() == list(range(100))  # its buffers move
    for _ in range(4):
        copied(y, one)
    before = in_python(copied)
    assert copied(y, one).to_numpy().tolist() == [0.0, 1.0, 0.0]
    assert in_python(copied) == before
    lent = y.buffers["0_idx"]
    copied(y, Tensor(fmt, np.eye(3)[2]))
    assert y.to_numpy().tolist() == [0.0, 0.0, 1.0]
    assert lent.tolist() == [1]  # `y` was given memory of its own
    new = Tensor(fmt)
    assert copied(new, one).to_numpy().tolist() == [0.0, 1.0, 0.0]


def test_an_output_that_grows_has_one_writer():
    @kernel(backend="c")
    def filled(y, n):
        for i in range(n):
            y[i] += 1.0

    y = Tensor(SparseHash(Element(0.0)), (1 << 20,))
    for _ in range(6):
        filled(y, 4)
    assert filled._cached
    before = y.writer
    y.writer = Writer()  # of a call that goes on
    with pytest.raises(LifecycleError, match="y is being written by another call"):
        filled(y, 4)
    y.writer = before

    def fill():
        is_refused = True
        while is_refused:
            with contextlib.suppress(LifecycleError):
                filled(y, 1 << 20)
                is_refused = False

    thread = threading.Thread(target=fill)
    thread.start()
    while thread.is_alive():
        with contextlib.suppress(LifecycleError):
            filled(y, 4)
    thread.join()
    assert y.writer.ended
    filled(y, 4)
    assert y[5] == 1.0
    assert y[0] >= 8.0


def test_results_that_the_kernel_makes():
    @kernel(backend="c")
    def moments(x):
        s, q = 0.0, 0.0
        for i in _:
            s += x[i]
            q += x[i] * x[i]
        return s, q

    for n in range(1, 6):
        assert moments(np.arange(float(n))) == (sum(range(n)), sum(k * k for k in range(n)))
    assert in_python(moments) == 1


@pytest.mark.parametrize(
    "value", [3, -1, True, np.int32(-7), np.uint64(2**64 - 1), np.float32(-1.0), -1.0, float("inf")]
)
def test_numbers(value):
    @kernel(backend="c")
    def put(y, a):
        y[0] = a

    y = np.zeros(1, np.asarray(value).dtype)
    for _ in range(3):
        y[0] = 0
        put(y, value)
        assert y[0] == value
    assert in_python(put) == 1


def test_a_number_that_does_not_fit():
    @kernel(backend="c")
    def put(y, a):
        y[0] = a

    y = np.zeros(1, np.int64)
    put(y, 3)
    with pytest.raises(FormatError, match="does not fit in int64"):
        put(y, 2**63)
    put(y, -(2**63))
    assert y[0] == -(2**63)


def twice(a):
    return 2 * a


def test_functions_and_names_that_are_bound_again(monkeypatch):
    @kernel(backend="c")
    def mapped(y, x):
        for i in range(x.shape[0]):
            y[i] = twice(x[i])

    y, x = np.zeros(2), np.ones(2)
    for _ in range(3):
        mapped(y, x)
    assert y.tolist() == [2.0, 2.0]
    monkeypatch.setitem(globals(), "twice", lambda a: 3 * a)
    mapped(y, x)
    assert y.tolist() == [3.0, 3.0]
    for _ in range(3):
        mapped(y, x)
    monkeypatch.undo()
    mapped(y, x)
    assert y.tolist() == [2.0, 2.0]


def test_several_specializations(scaled):
    for _ in range(3):
        for dtype in (float, np.float32, np.int64, np.int8, np.uint8, np.int16):
            y = np.zeros(3, dtype)
            scaled(y, np.arange(3, dtype=dtype), 2)
            assert y.tolist() == [0, 2, 4]
    assert len(scaled._cached) == inline_caches.MOST


def test_another_thread_and_a_call_within_a_call(cached):
    found = []

    def work():
        y = np.zeros(3)
        found.append(cached(y, np.ones(3), 5.0).tolist())

    for _ in range(3):
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert found == [[5.0] * 3] * 3
    assert cached(np.zeros(3), np.ones(3), 6.0).tolist() == [6.0] * 3


def test_nothing_is_kept_alive(scaled):
    class Other(np.ndarray):
        pass

    fmt = Dense(SparseList(Element(0.0)))

    summed = summing()
    y, x = np.zeros(3), np.ones(3)
    tensors = [Tensor(fmt, np.eye(3)) for _ in range(2)]
    for _ in range(3):
        scaled(y, x, 2.0)
        summed(y, tensors[0])
    kept = (y, x, *tensors, *(t.state for t in tensors))

    def counts():
        return [sys.getrefcount(value) for value in kept]

    before = counts()
    for k in range(100):
        scaled(y, x, 2.0)
        summed(y, tensors[k % 2])
        scaled(y, x.view(Other), 2.0)  # one that misses
    after = counts()
    # the inline cache holds the state of one of the two tensors
    assert sum(after) - sum(before) in (-1, 0, 1)
    gone = [weakref.ref(scaled), weakref.ref(tensors[0])]
    del scaled, tensors, kept
    gc.collect()
    assert gone[1]() is None


def test_a_kernel_and_its_inline_cache_are_freed():
    @kernel(backend="c")
    def added(y, x):
        for i in _:
            y[i] += x[i]

    y = np.zeros(2)
    for _ in range(3):
        added(y, np.ones(2))
    assert added._cached
    gone = [weakref.ref(added), weakref.ref(added._cached[0][1])]
    del added
    gc.collect()
    assert [ref() for ref in gone] == [None, None]


def test_another_layout_of_arrays_is_noticed(monkeypatch, scaled):
    """Where the fields of arrays are not where they are expected, Python compares."""
    monkeypatch.setattr(inline_cache._Library, "__init__", _misread(inline_cache._Library.__init__))
    inline_cache._shared.cache_clear()
    y = np.zeros(3)
    for _ in range(3):
        scaled(y, np.ones(3), 2.0)
    assert y.tolist() == [2.0] * 3
    assert scaled._cached == ()
    inline_cache._shared.cache_clear()


def _misread(begin):
    def changed(self, path):
        begin(self, path)
        self.reads_arrays = all(
            inline_cache._fields(lambda *_: None, a) == inline_cache._expected(a)
            for a in inline_cache._examples()
        )

    return changed


def test_calls_before_the_first_one_and_beside_the_compiler(monkeypatch, scaled):
    """The library is compiled beside the calls."""
    monkeypatch.undo()
    monkeypatch.setenv("FINCH_DRAFTS", "0")
    monkeypatch.setattr(inline_caches, "CALLS", 4)
    y = np.zeros(3)
    for _ in range(3):
        scaled(y, np.ones(3), 2.0)
    assert scaled._cached == ()
    end = time.perf_counter() + 60
    while scaled._cached == () and time.perf_counter() < end:
        scaled(y, np.ones(3), 2.0)
    assert scaled._cached


def test_a_draft_is_replaced_first(monkeypatch, scaled, tmp_path):
    monkeypatch.setenv("FINCH_DRAFTS", "1")
    monkeypatch.setenv("FINCH_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("finch_core.runtime.drafts.DRAFT_SECONDS", 1e9)
    monkeypatch.delenv("FINCH_CFLAGS", raising=False)  # with which there are no drafts
    y, x = np.zeros(3), np.ones(3)
    for _ in range(20):
        scaled(y, x, 2.0)
    (specialized,) = scaled._specializations.values()
    assert specialized.is_draft
    assert scaled._cached == ()
    specialized.finish()
    scaled(y, x, 3.0)
    assert scaled._cached
    assert scaled(y, x, 4.0).tolist() == [4.0] * 3
    assert scaled.stats()["calls"] == 22
