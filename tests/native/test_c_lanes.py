"""Kernels whose sums are in lanes against the reference, and against themselves without."""

import numpy as np
import pytest
import shared_programs
from hypothesis import given, settings
from hypothesis import strategies as st

from finch_core import Tensor, _, asarray
from finch_core.runtime.kernel import Kernel
from finch_core.runtime.options import Options
from finch_levels import (
    Dense,
    Element,
    Pattern,
    Scalar,
    SparseBand,
    SparseBlockList,
    SparseList,
    SparsePinpoint,
)

DTYPES = (np.float64, np.float32, np.int64, np.complex128)
LENGTHS = st.sampled_from([0, 1, 2, 3, 4, 7, 8, 11, 15, 16, 17, 23, 31, 63, 64, 65, 79, 100])
OFF = frozenset({"vector_reductions", "gather_reductions"})


rows = shared_programs.spmv


def everything(s, A, x):
    s[...] = 0
    for i, j in _:
        s[()] += A[i, j] * x[j]
    return s


def least(y, A, x):
    y[...] = np.inf
    for i, j in _:
        y[i] = min(y[i], A[i, j] + x[j])
    return y


def most(s, A, x):
    s[...] = -np.inf
    for i, j in _:
        s[()] = max(s[()], A[i, j] - x[j])
    return s


KERNELS = {
    (program, disabled): Kernel(program, Options(disabled=disabled))
    for program in (rows, everything)
    for disabled in (frozenset(), OFF)
}
IN_ORDER = Kernel(rows, Options(strict=True))


def lengthy(lengths, gaps, dtype):
    """Rows with so many stored elements, next to each other or not; whole numbers, so that the
    order in which they are added does not count."""
    rng = np.random.default_rng(len(lengths))
    found = np.zeros((len(lengths), 210), dtype)
    for row, length in zip(found, lengths, strict=True):
        at = np.sort(rng.permutation(210)[:length]) if gaps else np.arange(length) + length // 3
        row[at] = rng.integers(1, 9, length)
    return found


def formats(gaps, dtype):
    leaf = Element(dtype(0))
    return [SparseList(leaf), *([] if gaps else [SparseBand(leaf), SparseBlockList(leaf)])]


@settings(max_examples=25, deadline=None)
@given(lengths=st.lists(LENGTHS, max_size=6), gaps=st.booleans(), kind=st.sampled_from(DTYPES))
def test_rows_of_any_length(lengths, gaps, kind):
    dense = lengthy(lengths, gaps, kind)
    x = (np.arange(210) % 7).astype(kind)
    for level in formats(gaps, kind):
        A = Tensor(Dense(level), dense)
        for (program, _disabled), kernel in KERNELS.items():
            out = Tensor(Dense(Element(kind(0)))) if program is rows else Scalar(kind(0))
            wanted = np.asarray(kernel.reference(out, A, asarray(x)))
            np.testing.assert_array_equal(kernel(out, A, asarray(x)).to_numpy(), wanted)


@settings(max_examples=25, deadline=None)
@given(lengths=st.lists(LENGTHS, max_size=6), gaps=st.booleans(), nans=st.booleans())
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_least_and_the_most_of_rows_of_any_length(dtype, lengths, gaps, nans):
    """Python's ``min`` and ``max`` pass over what is no number, wherever it is."""
    for program, fill in ((least, dtype(np.inf)), (most, dtype(-np.inf))):
        stored = lengthy(lengths, gaps, dtype)
        dense = np.where(stored == 0, fill, stored - 5)
        if nans:
            dense[:, ::7] = np.where(dense[:, ::7] == fill, fill, np.nan)
        x = (np.arange(210) % 5).astype(dtype)
        for level in (SparseList(Element(fill)), Dense(Element(fill))):
            A = Tensor(Dense(level), dense)
            for disabled in (frozenset(), OFF):
                kernel = Kernel(program, Options(disabled=disabled))
                out = Tensor(Dense(Element(fill))) if program is least else Scalar(fill)
                wanted = np.asarray(kernel.reference(out, A, asarray(x)))
                np.testing.assert_array_equal(kernel(out, A, asarray(x)).to_numpy(), wanted)
                text = kernel.lower(out, A, asarray(x)).as_text("source")
                assert ("_lane" in text) == (not disabled)


def halved(parts):
    """The second half added to the first, until one number is left."""
    while len(parts) > 1:
        parts = parts[: len(parts) // 2] + parts[len(parts) // 2 :]
    return parts[0]


def added_in_lanes(terms):
    """As docs/performance.md says: 128 bytes at a time, the rest by halving."""
    lanes = 128 // terms.itemsize
    whole, rest = terms[: len(terms) // lanes * lanes], terms[len(terms) // lanes * lanes :]
    total = terms.dtype.type(0)
    if len(whole):
        total += halved(np.add.accumulate(whole.reshape(-1, lanes))[-1])
    while lanes := lanes // 2:
        if len(rest) >= lanes:
            total += halved(rest[:lanes])
            rest = rest[lanes:]
    return total


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_contiguous_sums_are_added_in_the_documented_order(dtype):
    rng = np.random.default_rng(5)
    for length in (1, 2, 3, 7, 10, 16, 23, 33, 63, 64, 79, 100, 127, 256, 301):
        values, x = rng.random((2, length)).astype(dtype), rng.random(length).astype(dtype)
        y = KERNELS[rows, frozenset()](Tensor(Dense(Element(dtype(0)))), values, x).to_numpy()
        assert y.tolist() == [added_in_lanes(row * x) for row in values]


def test_a_strict_kernel_adds_in_order():
    values = np.random.default_rng(3).random((1, 100))
    x = np.random.default_rng(4).random(100)
    A = Tensor(Dense(SparseList(Element(0.0))), values)
    found = IN_ORDER(Tensor(Dense(Element(0.0))), A, x).to_numpy()
    assert found[0] == np.add.accumulate(values[0] * x)[-1]
    assert "lane" not in IN_ORDER.lower(Tensor(Dense(Element(0.0))), A, x).as_text("source")


def test_a_pattern_sums_what_it_points_to():
    dense = lengthy([100, 3, 0, 16], True, np.float64) != 0
    x = np.arange(210.0)
    A = Tensor(Dense(SparseList(Pattern())), dense)
    y = KERNELS[rows, frozenset()](Tensor(Dense(Element(0.0))), A, x)
    np.testing.assert_array_equal(y.to_numpy(), dense @ x)
    text = KERNELS[rows, frozenset()].lower(y, A, x).as_text("source")
    assert "double x1_val_lane[8];" in text
    assert "y1_val_i_lane[k] += x1_val_lane[k];" in text


def test_one_element_a_row_needs_no_lanes():
    A = Tensor(Dense(SparsePinpoint(Pattern())), np.eye(5) != 0)
    y = KERNELS[rows, frozenset()](Tensor(Dense(Element(0.0))), A, np.arange(5.0))
    assert y.to_numpy().tolist() == [0, 1, 2, 3, 4]


def of_two(s, A, B):
    s[()] = 0.0
    for i in _:
        for j in _:
            s[()] += A[i, j]
        for j in _:
            s[()] += B[i, j] * 2.0


def test_vectors_that_two_loops_share_take_the_terms_of_each():
    a, b = np.triu(np.arange(900.0).reshape(30, 30)), np.tril(np.ones((30, 30)))
    found = np.zeros(())
    Kernel(of_two, Options())(found, *(Tensor(Dense(SparseBand(Element(0.0))), x) for x in (a, b)))
    assert found == a.sum() + 2 * b.sum()
