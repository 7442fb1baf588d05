"""The smallest program that showed each bug that random programs and others found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from finch_core import DimensionMismatch, Tensor, choose, coalesce, kernel, minby, thaw
from finch_core.errors import OutOfBounds
from finch_core.testing import backend_names, using
from finch_levels import Dense, Element, Pattern, Scalar, SparseByteMap, SparseList
from finch_wrappers import BandMask

BACKENDS = pytest.mark.parametrize("backend", backend_names())


def check(function: Any, backend: str, *args: Any) -> None:
    """Compare a kernel's single result with its reference."""
    with using("interpreter"):
        run = kernel(backend=backend)(function)
        expected = run.reference(*args)
        found = run(*args)
        np.testing.assert_array_equal(found.to_numpy(), expected, strict=True)


def vector(*values: float) -> Tensor:
    return Tensor(SparseList(Element()), np.array(values, float))


@BACKENDS
def test_a_number_that_the_kernel_does_not_use(backend):
    def program(s, a, c):
        for i in _:
            if i != i:
                s[()] += a[i] * c
        return s

    check(program, backend, Scalar(0.0), vector(1, 2), 3)


def last_of_many(y, A):
    for i, j in _:
        y[i] = A[j] > 0


@BACKENDS
@pytest.mark.parametrize("last", [0, 1])
def test_the_last_value_written_to_a_pattern_counts(backend: str, last: int) -> None:
    run = kernel(backend=backend)(last_of_many)
    y = Tensor(SparseList(Pattern()), (3,))
    run(y, np.array([1, 0, 1, last]))
    assert y.to_numpy().tolist() == [bool(last)] * 3


def index_beside(y, A, n):
    y[...] = 0
    for i in _:
        t = i + 1
        y[i] += (i - A[i]) + t * A[i] + (n - A[i])
    return y


@BACKENDS
@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int64, np.float32, np.float64])
def test_an_index_takes_the_width_of_its_operand(backend: str, dtype: Any) -> None:
    """``i - A[i]`` wraps where ``A`` holds uint8, and is a float32 where it holds those."""
    data = np.array([2, 0, 9, 100]).astype(dtype) / (dtype(3) if dtype == np.float32 else dtype(1))
    for format in (Dense(Element(0, dtype)), SparseList(Element(0, dtype))):
        out = Tensor(Dense(Element(0, np.float64)))
        check(index_beside, backend, out, Tensor(format, data.astype(dtype)), 7)


def least_of_narrow(y, A):
    y[...] = 200
    for i in _:
        y[i] = min(y[i], i - 1)
    for i in _:
        y[i] = max(y[i], A[i])
    return y


@BACKENDS
def test_an_index_in_a_reduction_takes_the_width_of_the_output(backend: str) -> None:
    out = Tensor(Dense(Element(200, np.uint8)), (3,))
    check(least_of_narrow, backend, out, np.zeros(3, np.uint8))


def guarded_by_an_inner_index(y, M, A):
    for i in range(0, 3):
        for j in range(0, i + 1):
            y[i] += A[i, j] if M[j, i] else 1
    return y


@BACKENDS
def test_bounds_of_a_loop_under_a_condition_on_an_inner_one(backend: str) -> None:
    run = kernel(backend=backend)(guarded_by_an_inner_index)
    with using("interpreter"):
        A = Tensor(Dense(Dense(Element(0))), np.arange(12).reshape(3, 4))
        y = run(Tensor(Dense(Element(0)), (3,)), BandMask(1, 1), A)
        assert y.to_numpy().tolist() == [1, 1 + 4, 2 + 9]


def wrapping_bound(y, A):
    y[...] = 0
    for i in _:
        if A[i] - 1 >= i:
            y[i] += 1
        if i - 1 <= A[i] - 1:
            y[i] += 4
        if int(A[i] / 2) + 1 <= i + 1:
            y[i] += 2
    return y


@BACKENDS
@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.uint64])
def test_a_sum_that_wraps_is_not_moved_across_a_comparison(backend: str, dtype: Any) -> None:
    A = Tensor(Dense(Element(0, dtype)), np.array([0, 1, 0, 5, 1, 128, 127]).astype(dtype))
    check(wrapping_bound, backend, Tensor(Dense(Element(0))), A)


def guarded_beyond_an_end(y, A, at, B):
    for i in range(0, 1):
        for j in range(0, 3):
            y[i] = B[i, at[j]] if A[i + j] else 1
    return y


@BACKENDS
def test_a_guard_that_is_read_through_a_sum_of_indices(backend: str) -> None:
    A, B = Tensor(Dense(Element(0)), np.array([0, 0, 1])), np.array([[4, 5, 6]])
    out = Tensor(Dense(Element(0)), (1,))
    check(guarded_beyond_an_end, backend, out, A, np.array([0, 0, 2]), B)


def read_by_a_shorter_range(y, s):
    y[...] = 0
    s[...] = 1
    for i in range(0, 2):
        s[()] += y[i]
    return y


@BACKENDS
def test_a_range_that_only_reads_leaves_the_size_of_a_declared_tensor(backend: str) -> None:
    out = Tensor(Dense(Element(0)), np.array([1, 2, 3]))
    check(read_by_a_shorter_range, backend, out, Scalar(1))
    assert out.shape == (3,)
    with pytest.raises(DimensionMismatch, match="the range ends at 2"):
        kernel(backend=backend)(read_by_a_shorter_range)(Tensor(Dense(Element(0)), (1,)), Scalar(1))


def stored_before(y, A):
    w = Tensor(Dense(Element(False)))
    y[...] = False
    for k in range(0, 2):
        w[k] |= True
    for k in _:
        w[k] |= A[k]
    for i in _:
        y[i] |= w[i]
    return y


@BACKENDS
def test_what_was_stored_before_the_second_loop_over_a_local(backend: str) -> None:
    A = Tensor(Dense(Element(False)), np.array([False, False, False, True]))
    check(stored_before, backend, Tensor(Dense(Element(False))), A)


def checked_before_it_is_declared(y, z, A):
    for i in _:
        y[i] -= 1
        z[i] = 1
    y[...] = 0
    for i in _:
        y[i] += A[i]
    return y


@BACKENDS
def test_dimensions_that_are_checked_before_the_program_changes_them(backend: str) -> None:
    y, z = (Tensor(Dense(Element(0)), np.array([1, 2, 3])) for _ in range(2))
    check(checked_before_it_is_declared, backend, y, z, np.array([4, 5]))
    with pytest.raises(DimensionMismatch, match="dimension 0 of y is 2, but dimension 0 of z is 3"):
        kernel(backend=backend)(checked_before_it_is_declared)(y, z, np.array([4, 5]))


def beyond_the_end(y, A, B):
    for i in _:
        y[i] = A[i] - coalesce(B[~(i + 3)], 1)
    return y


@BACKENDS
def test_what_stands_for_missing_has_the_type_that_it_would_have(backend: str) -> None:
    A, B = np.zeros(1, np.uint8), np.zeros(1, np.int64)
    check(beyond_the_end, backend, Tensor(Dense(Element(0)), np.zeros(1, int)), A, B)


def gathered_rows(y, at, A):
    for i in range(0, 2):
        for j in _:
            y[at[i], j] |= A[at[j]]
    return y


@BACKENDS
def test_what_a_flag_guards_may_raise_a_flag_itself(backend: str) -> None:
    A = Tensor(SparseByteMap(Pattern()), np.array([True, False, False]))
    y = Tensor(SparseByteMap(SparseByteMap(Element(0))), (3, 3))
    check(gathered_rows, backend, y, np.zeros(3, np.int32), A)


def mask_by_a_sum(y, A):
    for i in range(0, 4):
        for j in range(0, 2):
            for k in range(0, 2):
                if k < A[j + i]:
                    y[i, k] += 1
    return y


@BACKENDS
def test_a_mask_by_what_is_read_at_a_sum_of_indices(backend: str) -> None:
    """The mask begins where what it asks for may be out of range: that fails, or is never met."""
    A = Tensor(Dense(Element(0, np.int32)), np.array([0, 1, 2, 0, 1, 3], np.int32))
    y = Tensor(Dense(Dense(Element(0))), (4, 2))
    check(mask_by_a_sum, backend, y, A)
    with pytest.raises(OutOfBounds, match="out of bounds for dimension 0 of A of size 4"):
        kernel(backend=backend)(mask_by_a_sum)(y, Tensor(A.format, A.to_numpy()[:4]))


def thawed_by_hand(y, z, A):
    thaw(y)
    for i in _:
        y[i] += A[i]
    for i in _:
        z[i] = y[i]
    return y, z


@BACKENDS
def test_what_was_thawed_by_hand_is_frozen_by_the_next_read(backend: str) -> None:
    y, z = (Tensor(Dense(Element(0.0)), (3,)) for _ in range(2))
    run = kernel(backend=backend)(thawed_by_hand)
    expected = run.reference(y, z, vector(1, 0, 2))
    for found, wanted in zip(run(y, z, vector(1, 0, 2)), expected, strict=True):
        np.testing.assert_array_equal(found.to_numpy(), wanted)


def rows_of_three(y, c, P, Q, R, A, B, C):
    for i, j in _:
        if c[j] > 0:
            y[i, j] += A[P[i], j] * B[Q[i], j] * C[R[i], j]
    return y


@BACKENDS
def test_many_gathers_under_a_condition_fail_one_by_one(backend: str) -> None:
    """Where one is out of bounds it does not matter whether the others are: no branches for that.
    Nothing fails where nothing is read."""
    A, B, C = (np.arange(9.0).reshape(3, 3) + k for k in range(3))
    y, c = Tensor(Dense(Dense(Element(0.0))), (3, 3)), np.array([0.0, 1.0, 1.0])
    at = [np.array([1, 0, 2]) for _ in range(3)]
    check(rows_of_three, backend, y, c, *at, A, B, C)
    run = kernel(backend=backend)(rows_of_three)
    assert run.lower(y, c, *at, A, B, C).as_text("assembly").count("fail ") <= 12
    for bad in range(3):
        at[bad][1] = 3
        with pytest.raises(OutOfBounds, match=f"index 3 is .* for dimension 0 of {'ABC'[bad]}"):
            run(y, c, *at, A, B, C)
        check(rows_of_three, backend, y, 0 * c, *at, A, B, C)
        at[bad][1] = 0


@BACKENDS
def test_infinity_is_no_left_identity_of_min(backend: str) -> None:
    def least(y, A):
        for i in _:
            y[i] = min(np.inf, A[i])
        return y

    check(least, backend, Tensor(Dense(Element(0.0)), (3,)), np.array([1, np.nan, np.inf]))


@pytest.mark.parametrize("format", [Dense(Element(0)), Dense(Element(0.0))])
def test_a_fresh_fill_leaves_no_comparison_of_constants(format: Any) -> None:
    def first(y, A):
        y[...] = 0
        for i in _:
            y[i] = choose(0)(y[i], A[i])
        return y

    A = np.array([3, 0, 5], format.dtype)
    text = kernel(backend="interpreter")(first).lower(Tensor(format), A).as_text("assembly")
    assert "if" not in text.split("for i")[1].splitlines()[1]
    check(first, "interpreter", Tensor(format), A)


def least_by_a_sum(s, A):
    for i in range(0, 3):
        for j in range(0, 3):
            s[()] = minby(s[()], (A[i + j], j))
    return s


@BACKENDS
def test_a_tuple_of_what_may_be_out_of_range(backend: str) -> None:
    A = Tensor(Dense(Element(2, np.uint8)), np.array([4, 3, 2, 2, 5], np.uint8))
    s = Scalar((9, -1))
    with using("interpreter"):
        expected = kernel(least_by_a_sum).reference(s, A)
        assert kernel(backend=backend)(least_by_a_sum)(s, A).value == expected.item()


@BACKENDS
@pytest.mark.parametrize(
    "unused", [np.ones(2), vector(1, 2), sp.csr_array(np.eye(2)), BandMask(0, 1)]
)
def test_a_tensor_that_the_kernel_does_not_use(backend: str, unused: Any) -> None:
    def program(s, a, b):
        for i in _:
            s[()] += a[i]
        return s

    check(program, backend, Scalar(0.0), vector(1, 2), unused)
