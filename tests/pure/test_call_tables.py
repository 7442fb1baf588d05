"""Which of a kernel's tables serves a call (the drawing in ``finch_core.runtime.kernel``)."""

import numpy as np
import pytest

from finch_core import Tensor, kernel
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


def test_calls_with_numbers_are_not_entered():
    @kernel(backend="interpreter")
    def scaled(y, A, by):
        for i in _:
            y[i] = A[i] * by

    y, A, _unused = tensors()
    for by in (2.0, 3.0, 4.0):
        scaled(y, A, by)
    assert tables(scaled) == (1, 1, 0)
    np.testing.assert_array_equal(y.to_numpy(), [0, 4, 8])


def test_no_more_calls_are_remembered_than_said(scaled):
    for _round in range(MOST_CALLS + 2):
        args = tensors()
        scaled(*args)
        scaled(*args)
    assert 0 < len(scaled._calls) <= MOST_CALLS
