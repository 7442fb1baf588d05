"""What the prologue of a kernel's C loads of its arguments."""

from __future__ import annotations

import numpy as np
import pytest

from finch_core import DimensionMismatch, Tensor, kernel
from finch_levels import Dense, Element, RunList, Scalar, SparseList


def declared(s, A):
    s[...] = 0
    for i in _:
        s[()] += A[i]
    return s


def checked(s, A, B):
    s[...] = 0
    for i in _:
        s[()] += A[i] * B[i]
    return s


def updated(s, A):
    for i in _:
        s[()] += A[i]
    return s


def test_a_scalar_that_is_set_before_it_is_read_is_not_loaded():
    A = np.ones(3, np.float32)
    run = kernel(backend="c")(declared)
    text = run.lower(Scalar(0.0), A).as_text("source")
    assert "double s_val;\n" in text
    assert "&s_val, s + 0" not in text
    assert "&s_val, s + 0" in kernel(backend="c")(updated).lower(Scalar(0.0), A).as_text("source")
    s = run(Scalar(0.0), A)
    assert s.value == 3
    assert run(s, A[:0]).value == 0


def test_the_size_of_a_declared_tensor_is_not_loaded():
    def copied(y, A):
        y[...] = 0
        for i in _:
            y[i] = A[i]
        return y

    text = kernel(backend="c")(copied).lower(Tensor(Dense(Element(0.0))), np.ones(3))
    assert "int64_t y_n0;\n" in text.as_text("source")


def test_what_a_failing_kernel_has_not_set_yet_is_loaded():
    run, s = kernel(backend="c")(checked), Scalar(0.0)
    assert "&s_val, s + 0" in run.lower(s, np.ones(3), np.ones(3)).as_text("source")
    run(s, np.ones(3), np.ones(3))
    with pytest.raises(DimensionMismatch):
        run(s, np.ones(3), np.ones(4))
    assert s.value == 3


def test_names_that_are_made_are_not_those_of_arrays():
    def scaled(y, x, at, x_n0, i_stop):
        for i in range(len(x)):
            y[i] = x[i] * x_n0[i]
            if i > 0:
                y[i] += x[i - 1] * at[i] * i_stop[i]

    y, x, ones = np.zeros(3), np.arange(3.0), np.ones(3)
    for made in (x, Tensor(SparseList(Element(0.0)), x), Tensor(RunList(Element(0.0)), x)):
        kernel(backend="c")(scaled)(y, made, ones, ones, ones)
        assert y.tolist() == [0, 1, 3]
