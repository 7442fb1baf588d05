"""Which of a kernel's tables serves a call (the drawing in ``finch_core.runtime.kernel``)."""

import numpy as np
import pytest

from finch_core import Tensor, kernel
from finch_core.errors import DimensionMismatch, FormatError
from finch_core.runtime.specialization import MOST_CALLS
from finch_levels import Dense, Element

VECTOR = Dense(Element(0.0))


@pytest.fixture
def scaled():
    @kernel(backend="interpreter")
    def scaled(y, A, by):
        for i in _:
            y[i] = A[i] * by[i]

    return scaled


def tensors(n=3):
    return [Tensor(VECTOR, np.arange(float(n))) for _ in range(3)]


def tables(run):
    return len(run._specializations), len(run._quick), len(run._calls)


def test_a_call_is_entered_the_second_time(scaled):
    args = tensors()
    scaled(*args)
    assert tables(scaled) == (1, 1, 0)
    scaled(*args)
    assert tables(scaled) == (1, 1, 1)
    scaled(*args)
    assert tables(scaled) == (1, 1, 1)


def test_a_tensor_whose_buffers_are_others_is_another_key(scaled):
    args = tensors()
    scaled(*args)
    scaled(*args)
    args[0].fill((3,))
    scaled(*args)
    scaled(*args)
    assert len(scaled._calls) == 2
    np.testing.assert_array_equal(args[0].to_numpy(), [0, 1, 4])


def test_calls_by_keyword_have_the_same_specialization(scaled):
    y, A, by = tensors()
    scaled(y, A, by=by)
    scaled(y, by=by, A=A)
    assert len(scaled._specializations) == 1


@pytest.fixture(params=["interpreter", "c"])
def shifted(request):
    @kernel(backend=request.param)
    def shifted(y, A, by, plus=1, often=True):
        for i in _:
            y[i] = A[i] * by + plus if often else A[i]

    return shifted


def test_calls_that_differ_in_numbers_are_one_entry(shifted):
    y, A, _unused = tensors()
    for by in (2.0, 3.0, 4.0):
        shifted(y, A, by, -1, True)
        assert y.to_numpy().tolist() == [-1, by - 1, 2 * by - 1]
    assert tables(shifted) == (1, 1, 1)
    shifted(y, A, 2.0, 5, False)
    assert y.to_numpy().tolist() == [0, 1, 2]
    shifted(y, A, np.float32(0.5), 5, True)
    shifted(y, A, np.float32(0.25), 5, True)
    assert y.to_numpy().tolist() == [5, 5.25, 5.5]
    assert len(shifted._specializations) == 2


def test_arguments_that_are_left_out_or_named_are_put_in_their_places(shifted):
    y, A, _unused = tensors()
    for by in (2.0, 3.0, 4.0):
        shifted(y, A, by)
        assert y.to_numpy().tolist() == [1, by + 1, 2 * by + 1]
        shifted(y, by=by, plus=0, A=A)
        assert y.to_numpy().tolist() == [0, by, 2 * by]
    assert tables(shifted) == (1, 1, 1)
    with pytest.raises(TypeError, match="lacks the argument 'by'"):
        shifted(y, A)
    with pytest.raises(TypeError, match="takes 5 arguments, 6 were given"):
        shifted(y, A, 1.0, 1, True, 3)
    with pytest.raises(TypeError, match="has no parameter 'minus'"):
        shifted(y, A, 1.0, minus=1)
    with pytest.raises(TypeError, match="got 'by' twice"):
        shifted(y, A, 1.0, by=1)


def test_a_number_that_is_too_large_for_a_repeated_call(shifted):
    y, A, _unused = tensors()
    for plus in (2, 3, 4):
        shifted(y, A, 1.0, plus)
    with pytest.raises(FormatError, match="plus is 18446744073709551616, which does not fit"):
        shifted(y, A, 1.0, 2**64)
    assert y.to_numpy().tolist() == [4, 5, 6]


def test_an_array_that_became_read_only_is_refused_with_numbers_too(shifted):
    y, A = np.zeros(3), np.arange(3.0)
    for plus in (2, 3, 4):
        shifted(y, A, 1.0, plus)
    y.flags.writeable = False
    with pytest.raises(FormatError, match="y is written, and the array is read-only"):
        shifted(y, A, 1.0, 5)
    assert y.tolist() == [4, 5, 6]


def test_a_repeated_call_with_numbers_that_fails():
    @kernel
    def gathered(y, x, at):
        for i in range(3):
            y[i] = x[at + i]

    y, x = np.zeros(3), np.arange(5.0)
    for at in (0, 1, 2):
        gathered(y, x, at)
        assert y.tolist() == [at, at + 1, at + 2]
    with pytest.raises(DimensionMismatch):
        gathered(y, x, 3)
    gathered(y, x, 1)
    assert y.tolist() == [1, 2, 3]


def test_complex_numbers_are_two_words():
    @kernel
    def turned(y, x, by, plus):
        for i in _:
            y[i] = x[i] * by + plus

    y, x = np.zeros(2, complex), np.ones(2, complex)
    for plus in (1.0, 2.0, 3.0):
        turned(y, x, 1j * plus, plus)
        assert y.tolist() == [1j * plus + plus] * 2


def test_no_more_calls_are_remembered_than_said(scaled):
    for _round in range(MOST_CALLS + 2):
        args = tensors()
        scaled(*args)
        scaled(*args)
    assert 0 < len(scaled._calls) <= MOST_CALLS
