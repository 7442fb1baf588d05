"""NumPy arrays and numbers as arguments: remembered by where they are, and never for what they
were."""

import copy
import mmap
import pickle

import numpy as np
import pytest

from finch_core import FinchError, FormatError, Tensor, _, asarray, kernel
from finch_core.runtime import arguments
from finch_core.runtime import specialization as entries
from finch_levels import Dense, Element, SparseList


@kernel(backend="interpreter")
def scaled(y, x, a):
    for i in _:
        y[i] += a * x[i]
    return y


@kernel(backend="interpreter")
def total(s, A):
    for i, j in _:
        s[()] += A[i, j]
    return s


def test_an_array_comes_back_itself():
    y, x = np.zeros(3), np.arange(3.0)
    for turn in range(3):
        assert scaled(y, x, 2.0) is y
        assert y.tolist() == [0.0, 2.0 * (turn + 1), 4.0 * (turn + 1)]


def test_a_shape_that_was_changed_in_place_is_seen():
    s, A = np.zeros(()), np.arange(6.0).reshape(2, 3)
    total(s, A)
    A.shape = (3, 2)
    total(s, A)
    assert s == 30
    A.shape = (6,)
    with pytest.raises(FinchError):
        total(s, A)


def test_an_array_that_was_resized_is_seen():
    x = np.ones(3)
    for size in (3, 50_000, 2):
        x.resize(size)
        y = np.zeros(size)
        assert scaled(y, x, 1.0).sum() == x.sum()


def test_a_dtype_that_was_changed_in_place_is_seen():
    x, y = np.array([1, 2, 3]), np.zeros(3)
    scaled(y, x, 1)
    x.dtype = np.float64
    x[:] = 0.5
    assert scaled(y, x, 1).tolist() == [1.5, 2.5, 3.5]


def test_memory_that_is_used_again_belongs_to_the_new_array():
    memory = mmap.mmap(-1, 4096)
    y = np.zeros(2)
    for turn in range(4):
        x = np.frombuffer(memory, np.float64, 2)  # always at one address
        x[:] = turn
        scaled(y, x, 1.0)
        del x
    assert y.tolist() == [6.0, 6.0]


@pytest.mark.parametrize("backwards", [False, True])
def test_arrays_that_are_not_contiguous_are_read_as_they_are(backwards):
    matrix = np.arange(12.0).reshape(3, 4)
    for column in range(4):
        x = matrix[::-1, column] if backwards else matrix[:, column]
        assert scaled(np.zeros(3), x, 1.0).tolist() == x.tolist()
    assert total(np.zeros(()), matrix.T) == matrix.sum()


def test_an_array_that_is_not_aligned_is_read():
    raw = np.zeros(8 * 3 + 1, np.uint8)
    x = raw[1:].view(np.float64)
    x[:] = [1.0, 2.0, 3.0]
    for _turn in range(2):
        assert scaled(np.zeros(3), x, 1.0).tolist() == [1.0, 2.0, 3.0]


def test_an_array_that_became_read_only_is_not_written():
    y, x = np.zeros(3), np.ones(3)
    scaled(y, x, 1.0)
    y.flags.writeable = False
    with pytest.raises(FormatError, match="read-only"):
        scaled(y, x, 1.0)
    with pytest.raises(FormatError, match="read-only"):
        scaled(asarray(y), x, 1.0)
    assert y.tolist() == [1.0, 1.0, 1.0]


def test_empty_arrays_may_be_passed_again_and_again():
    for _turn in range(3):
        assert scaled(np.zeros(0), np.zeros(0), 1.0).shape == (0,)


def test_numbers_of_all_types_are_passed_by_value():
    values = [True, 3, 0.5, np.float32(0.25), np.int8(-2), np.uint64(7), np.bool_(True)]
    for value in values * 2:
        y = scaled(np.zeros(1), np.ones(1), value)
        assert y[0] == value


def test_few_arrays_are_remembered(monkeypatch):
    monkeypatch.setattr(arguments, "MOST", 4)
    kept = [np.full(2, float(k)) for k in range(20)]
    for x in kept * 2:
        assert scaled(np.zeros(2), x, 1.0).tolist() == x.tolist()
        assert len(arguments._tensors) <= 4


def test_free_names_are_not_taken_for_arguments():
    limit = np.ones(3)

    @kernel(backend="interpreter")
    def above(y, x):
        for i in _:
            y[i] += x[i] * limit[i]
        return y

    above(np.zeros(3), np.ones(3))
    with pytest.raises(TypeError, match="takes 2 arguments"):
        above(np.zeros(3), np.ones(3), np.ones(3))


def test_outputs_that_take_turns_are_checked_each():
    a, b = (Tensor(Dense(Element(0.0)), np.ones(3)) for _turn in range(2))
    for _turn in range(3):
        scaled(a, b, 1.0)
        scaled(b, a, 1.0)
    assert (a[0], b[0]) == (13.0, 21.0)
    with pytest.raises(Exception, match="shares memory"):
        scaled(a, a, 1.0)


# -- calls that come again ----------------------------------------------------------------------


@kernel(backend="interpreter")
def plus(y, x):
    for i in _:
        y[i] += x[i]
    return y


@kernel(backend="interpreter")
def doubled(y, x):
    y[...] = 0
    for i in _:
        y[i] = 2.0 * x[i]
    return y


def test_calls_that_come_again_are_known():
    known, y, x = kernel(backend="interpreter")(plus.__wrapped__), np.zeros(3), np.ones(3)
    for turn in range(4):
        assert known(y, x) is y
        assert len(known._calls) == (turn > 0)
    assert known.stats()["calls"] == 4
    assert y.tolist() == [4.0] * 3


def test_a_known_call_sees_buffers_that_moved():
    y = Tensor(SparseList(Element(0.0)))
    for size in (1, 40, 3, 400, 400, 400, 5):
        x = np.arange(float(size))
        for _turn in range(3):
            assert doubled(y, x) is y
            np.testing.assert_array_equal(y.to_numpy(), 2 * x)


def test_a_known_call_refuses_what_became_read_only():
    y, x = np.zeros(3), np.ones(3)
    for _turn in range(3):
        plus(y, x)
    y.flags.writeable = False
    with pytest.raises(FormatError, match="read-only"):
        plus(y, x)
    assert y.tolist() == [3.0] * 3


def test_a_number_is_no_array_of_what_was_known():
    total_of = np.ones(())
    s = np.zeros(())

    @kernel(backend="interpreter")
    def more(s, x):
        s[()] += x[()]
        return s

    for _turn in range(3):
        more(s, total_of)
    assert s == 3
    with pytest.raises(FinchError):
        more(s, np.float64(2.0))


def test_calls_that_are_known_are_few(monkeypatch):
    monkeypatch.setattr(entries, "MOST_CALLS", 4)
    known = kernel(backend="interpreter")(plus.__wrapped__)
    kept = [(np.zeros(1), np.full(1, float(k))) for k in range(20)]
    for _turn in range(3):
        for y, x in kept:
            known(y, x)
            assert len(known._calls) <= 4
    assert [float(y[0]) for y, _x in kept] == [3.0 * k for k in range(20)]


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))]
)
@pytest.mark.parametrize("made", [lambda a: Tensor(SparseList(Element(0.0)), a), asarray])
def test_a_copy_has_memory_of_its_own(again, made):
    first = made(np.array([0.0, 1.0, 2.0]))
    second = again(first)
    assert second.address == second.record.ctypes.data != first.address
    doubled(first, np.ones(3))
    assert second.to_numpy().tolist() == [0.0, 1.0, 2.0]
    assert doubled(second, np.ones(3)).to_numpy().tolist() == [2.0] * 3
