"""Where loops begin and end, asked of the interpreter (which checks every access to memory), of
compiled code and of NumPy loops: shifted reads, sums of indices, outputs without a shape."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from random_extents import LEVELS, arguments, kernel, outcome, program
from shared_programs import spmv
from wrapper_support import BACKENDS, dense, on

from finch_core import DimensionMismatch, Tensor, coalesce
from finch_core.level import Format
from finch_core.runtime.validation import validate
from finch_levels import Dense, Element, RunList, SparseByteMap, SparseList
from finch_wrappers import offset, swizzle, toeplitz, window

VECTORS = [level(Element(0.0)) for level in LEVELS]
ROWS = [Dense(format) for format in VECTORS] + [SparseList(SparseList(Element(0.0)))]


def result(function: Any, *args: Any) -> np.ndarray[Any, Any]:
    """The one result that ``function`` has everywhere, of an output that is valid."""
    expected = on(BACKENDS[-1], function).reference(*args)
    for backend in BACKENDS:
        output = args[0].copy() if isinstance(args[0], np.ndarray) else fresh(args[0])
        found = on(backend, function)(output, *args[1:])
        if isinstance(found, Tensor):
            validate(found)
        np.testing.assert_array_equal(np.asarray(found), expected, err_msg=f"on {backend}")
    return np.asarray(expected)


def fresh(tensor: Tensor) -> Tensor:
    """Another one of the same format, with a shape if this has one."""
    return Tensor(tensor.format) if tensor.is_sizeless else Tensor(tensor.format, tensor.shape)


def refused(function: Any, *args: Any, match: str) -> None:
    with pytest.raises(DimensionMismatch):
        on(BACKENDS[-1], function).reference(*args)
    for backend in BACKENDS:
        with pytest.raises(DimensionMismatch, match=match):
            on(backend, function)(*args)


def ahead(y, x, c):
    y[...] = 0
    for i in _:
        y[i] = x[i + c]
    return y


def moved_by(x: np.ndarray[Any, Any], c: int) -> np.ndarray[Any, Any]:
    """What ``ahead`` gives."""
    return x[c:] if c >= 0 else np.concatenate([np.zeros(-c), x])


@pytest.mark.parametrize("format", VECTORS, ids=str)
def test_a_shifted_read_begins_at_the_first_element_of_the_output(format: Format) -> None:
    for n in (0, 1, 2, 6):
        x = np.arange(1.0, n + 1) * (np.arange(n) % 3 > 0)
        for data in (x, Tensor(SparseList(Element(0.0)), x), Tensor(RunList(Element(0.0)), x)):
            for c in (-3, -1, 0, 1, 2, 9):
                found = result(ahead, Tensor(format), data, c)
                np.testing.assert_array_equal(found, moved_by(x, c))
            np.testing.assert_array_equal(result(ahead, Tensor(format), offset(data, 1), 0), x[1:])


def ahead_by_one(y, x):
    y[...] = 0
    for i, j in _:
        y[i, j] = x[i, j + 1]
    return y


def crop(C, A, r, c):
    C[...] = 0
    for i, j in _:
        C[i, j] = A[i + r, j + c]
    return C


@pytest.mark.parametrize("format", ROWS, ids=str)
def test_a_block_of_a_matrix(format: Format) -> None:
    for shape in ((5, 4), (1, 1), (0, 3), (3, 0)):
        A = np.arange(1.0, 1 + shape[0] * shape[1]).reshape(shape)
        for data in (A, Tensor(Dense(SparseList(Element(0.0))), A)):
            np.testing.assert_array_equal(result(ahead_by_one, Tensor(format), data), A[:, 1:])
            np.testing.assert_array_equal(result(crop, Tensor(format), data, 2, 1), A[2:, 1:])
            both = result(crop, Tensor(format), offset(data, 1, 1), 0, 0)
            np.testing.assert_array_equal(both, A[1:, 1:])


def test_the_product_with_a_shifted_matrix() -> None:
    A = np.arange(1.0, 41.0).reshape(10, 4)
    data = Tensor(Dense(SparseList(Element(0.0))), A)
    for c in (0, 3, 10, 12):
        found = result(spmv, dense(1)(), offset(data, c, 0), np.ones(4))
        np.testing.assert_array_equal(found, A[c:].sum(1))
    found = result(spmv, dense(1)(), offset(data, -2, 0), np.ones(4))
    np.testing.assert_array_equal(found, [0, 0, *A.sum(1)])
    found = result(spmv, dense(1)(), offset(swizzle(data, (1, 0)), 1, 0), np.ones(10))
    np.testing.assert_array_equal(found, A.sum(0)[1:])


def test_an_array_takes_a_shifted_read_of_its_own_length() -> None:
    x = np.arange(6.0)
    np.testing.assert_array_equal(result(ahead, np.zeros(4), x, 2), x[2:])
    refused(
        ahead, np.zeros(6), x, 2, match=r"dimension 0 of y ends at 6, but index i of x\[i \+ c\]"
    )
    refused(ahead, np.zeros(7), x, -1, match=r"starts at 0, but index i of x\[i \+ c\] at 1")


def added(y, x):
    for i in _:
        y[i] += x[i + 1]
    return y


def test_an_update_in_place_begins_at_0() -> None:
    np.testing.assert_array_equal(result(added, np.ones(3), np.arange(4.0)), [2, 3, 4])
    refused(added, np.ones(4), np.arange(4.0), match="ends at 4, but index i")


def local_ahead(y, x):
    w = Tensor(Dense(Element(0.0)))
    for i in _:
        w[i] = x[i + 1]
    y[...] = 0
    for j in _:
        y[j] = w[j - 1]
    return y


def delayed_then_read(y, x):
    w = Tensor(Dense(Element(0.0)))
    for i in _:
        w[i] = x[i - 2]
    y[...] = 0
    for j in _:
        y[j] = w[j] + 1
    return y


def test_locals_begin_at_0() -> None:
    x = np.arange(1.0, 6.0)
    np.testing.assert_array_equal(result(local_ahead, dense(1)(), x), [0, 2, 3, 4, 5])
    np.testing.assert_array_equal(result(local_ahead, dense(1)(), x[:0]), [0])
    found = result(delayed_then_read, dense(1)(), x)
    np.testing.assert_array_equal(found, [1, 1, 2, 3, 4, 5, 6])


# -- sums of indices ----------------------------------------------------------------------------


def window_sum(y, x, m):
    y[...] = 0
    for i in _:
        for k in range(m):
            y[i] += x[i + k]
    return y


def correlated(y, x, w):
    y[...] = 0
    for i, k in _:
        y[i] += x[i + k] * w[k]
    return y


def every_other(y, x):
    y[...] = 0
    for i in _:
        y[i] = x[2 * i + 1]
    return y


def pairs(y, x):
    y[...] = 0
    for i in _:
        y[i] = max(x[2 * i], x[2 * i + 1])
    return y


def backwards(y, x, n):
    y[...] = 0
    for i in _:
        y[i] = x[n - 1 - i]
    return y


def total_of_even(y, x):
    y[...] = 0
    for i in _:
        y[()] += x[2 * i - 4]
    return y


@pytest.mark.parametrize("format", [*VECTORS[:3], VECTORS[-1]], ids=str)
def test_a_sum_of_indices_bounds_the_loop(format: Format) -> None:
    for n in (0, 1, 2, 3, 7, 8):
        x = np.arange(1.0, n + 1)
        for m in (1, 3):
            windows = [x[k : k + m].sum() for k in range(max(n - m + 1, 0))]
            np.testing.assert_array_equal(result(window_sum, Tensor(format), x, m), windows)
            found = result(correlated, Tensor(format), x, np.ones(m))
            np.testing.assert_array_equal(found, windows)
        np.testing.assert_array_equal(result(every_other, Tensor(format), x), x[1::2])
        np.testing.assert_array_equal(result(pairs, Tensor(format), x), x[1::2])
        np.testing.assert_array_equal(result(backwards, Tensor(format), x, n), x[::-1])
        whole = window(np.concatenate([[9.0], x]), (1, n + 1))
        np.testing.assert_array_equal(result(every_other, Tensor(format), whole), x[1::2])


def sliding(y, A, m):
    y[...] = 0
    for i in _:
        for k in range(m):
            y[i] += A[i, k]
    return y


def test_sums_are_bounded_by_what_is_wrapped() -> None:
    x = np.arange(8.0)
    for data in (x, Tensor(SparseList(Element(0.0)), x)):
        found = result(sliding, dense(1)(), toeplitz(data, 0), 3)
        np.testing.assert_array_equal(found, np.convolve(x, np.ones(3), "valid"))
        found = result(sliding, dense(1)(), toeplitz(offset(data, 2), 0), 3)
        np.testing.assert_array_equal(found, np.convolve(x[2:], np.ones(3), "valid"))


def test_a_sum_bounds_a_loop_below_0_too() -> None:
    from finch_levels import Scalar

    x = np.arange(7.0)
    for backend in BACKENDS:
        assert on(backend, total_of_even)(Scalar(0.0), x).value == x[::2].sum()


# -- outputs that nothing sizes -----------------------------------------------------------------


def concatenated(c, a, b, na):
    c[...] = 0
    for i in _:
        c[i] = coalesce(a[~i], b[~(i - na)], 0)
    return c


def ones(y, x):
    y[...] = 0
    for i in _:
        y[i] = 1
    return y


@pytest.mark.parametrize("format", VECTORS, ids=str)
def test_an_output_without_a_shape_is_refused_where_nothing_sizes_it(format: Format) -> None:
    a, b = np.ones(3), np.full(3, 2.0)
    refused(concatenated, Tensor(format), a, b, 3, match="nothing fixes the extent of i: c has no")
    refused(ones, Tensor(format), a, match="nothing fixes the extent of i: y has no shape")
    found = result(concatenated, Tensor(format, (6,)), a, b, 3)
    np.testing.assert_array_equal(found, [1, 1, 1, 2, 2, 2])
    assert result(ones, Tensor(format, (0,)), a).shape == (0,)
    emptied = Tensor(format)
    emptied.fill((2,))
    np.testing.assert_array_equal(result(ones, emptied, a), [1, 1])


def test_a_shape_is_kept_by_copies() -> None:
    import pickle

    for tensor in (Tensor(Dense(Element(0.0))), Tensor(Dense(Element(0.0)), (0,))):
        assert tensor.copy().is_sizeless == tensor.is_sizeless
        assert pickle.loads(pickle.dumps(tensor)).is_sizeless == tensor.is_sizeless


# -- random programs ----------------------------------------------------------------------------


def agree(expected: Any, found: Any) -> bool:
    """Whether two outcomes are the same; what annihilates may spare a read beyond the end."""
    if isinstance(expected, str) or isinstance(found, str):
        return expected == "beyond" or found in (expected, "beyond")
    return all(
        a.shape == b.shape and np.allclose(a, b) for a, b in zip(expected, found, strict=True)
    )


@pytest.mark.parametrize("block", range(4))
def test_random_extents(block: int) -> None:
    """100 programs a block; those whose formats cannot take the order are not counted."""
    agreed = 0
    for seed in range(100 * block, 100 * (block + 1)):
        rng = random.Random(seed)
        drawn, backends = program(rng), BACKENDS if seed % 10 == 0 else BACKENDS[:1]
        make = arguments(rng)
        expected = outcome(kernel(drawn, "interpreter").reference, make)
        for backend in backends:
            found = outcome(kernel(drawn, backend), make)
            if isinstance(found, str) and found == "":
                continue
            assert agree(expected, found), (seed, backend, drawn.as_text(), expected, found)
            agreed += 1
    assert agreed > 50


# -- locals with a shape ------------------------------------------------------------------------


def written_in_part(y, x):
    w = Tensor(Dense(Element(0.0)), (5,))
    for i in range(3):
        w[i] = x[i]
    y[...] = 0
    for j in _:
        y[j] = w[j]
    return y


def too_long(y, x):
    w = Tensor(Dense(Element(0.0)), (5,))
    for i in _:
        w[i] = x[i]
    y[...] = 0
    for j in _:
        y[j] = w[j]
    return y


def test_a_local_keeps_the_shape_that_it_is_made_with() -> None:
    x = np.arange(1.0, 9.0)
    np.testing.assert_array_equal(result(written_in_part, dense(1)(), x), [1, 2, 3, 0, 0])
    np.testing.assert_array_equal(result(too_long, dense(1)(), x[:5]), x[:5])
    refused(too_long, dense(1)(), x, match="dimension 0 of w is 5, but dimension 0 of x is 8")


def histogram(y, lab, n, m):
    w = Tensor(SparseByteMap(SparseByteMap(Element(0.0))), (n, 2 * m))
    for i in _:
        w[lab[i], m] += 1
    y[...] = 0
    for c, k in _:
        y[c] += w[c, k]
    return y


def test_the_shape_of_a_local_is_computed_of_parameters() -> None:
    lab = np.array([1, 0, 2, 1])
    np.testing.assert_array_equal(result(histogram, dense(1)(), lab, 4, 1), [1, 2, 1, 0])
    np.testing.assert_array_equal(result(histogram, dense(1)(), lab[:0], 2, np.int32(0)), [0, 0])
    for backend in BACKENDS:
        with pytest.raises(DimensionMismatch, match="dimension 0 of w cannot be -1"):
            on(backend, histogram)(dense(1)(), lab, -1, 1)


# -- written ranges that depend on outer indices --------------------------------------------


def triangle(y, a, c):
    y[...] = 0
    for i in _:
        for j in range(i, 2 * i + c):
            y[i, j] = a[i]
    return y


@pytest.mark.parametrize("format", ROWS, ids=str)
@pytest.mark.parametrize(("n", "c"), [(3, 1), (1, 0), (0, 1), (4, -2), (2, 0)])
def test_a_range_that_depends_on_outer_indices_sizes_an_output_by_its_greatest_end(
    format: Format, n: int, c: int
) -> None:
    found = result(triangle, Tensor(format), np.ones(n), c)
    assert found.shape == (n, max(0, 2 * (n - 1) + c))


def test_a_range_whose_end_is_read_sizes_no_output() -> None:
    def ragged(y, a, ends):
        y[...] = 0
        for i in _:
            for j in range(0, ends[i]):
                y[i, j] = a[i]
        return y

    args = (np.ones(3), np.array([1, 2, 3]))
    made = Tensor(Dense(Dense(Element(0.0))))
    refused(ragged, made, *args, match="nothing fixes the size of dimension 1 of y")
    sized = Tensor(Dense(Dense(Element(0.0))), (3, 4))
    assert result(ragged, sized, *args).sum() == 6


def test_a_shift_by_an_unsigned_number_is_a_gather() -> None:
    def shifted(s, a, b, c):
        for i in _:
            s[()] += a[i] * b[i + c]
        return s

    for backend in BACKENDS:
        found = on(backend, shifted)(np.zeros(()), np.ones(1), np.arange(2.0), np.uint64(1))
        assert found == 1
    plain = on(BACKENDS[-1], shifted).reference
    assert plain(np.zeros(()), np.ones(1), np.arange(2.0), np.uint64(1)) == 1
