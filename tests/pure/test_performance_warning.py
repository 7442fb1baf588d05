"""Reads against the order of the storage are warned of: once for a kernel, and only where they cost
more than constant time."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

from finch_core import PerformanceWarning, Tensor, _, follow, kernel
from finch_levels import Dense, Element, RunList, Scalar, SparseByteMap, SparseHash, SparseList
from finch_wrappers import swizzle

CSR = Dense(SparseList(Element(0.0)))
MATRIX = np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 3.0]])


def columns(s, A):
    s[...] = 0
    for j, i in _:
        s[()] += A[i, j]
    return s


def warned(program, *args, **options):
    """The messages of what compiling a program warns of."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kernel(backend="interpreter", **options)(program).lower(*args).as_text("normalized")
    return [str(w.message) for w in caught if w.category is PerformanceWarning]


def test_what_it_says():
    (message,) = warned(columns, Scalar(0.0), Tensor(CSR))
    lines = message.splitlines()
    assert lines[0] == (
        "columns: this read of A goes against the order in which it is stored: an index of its "
        "SparseList level is found by a binary search of its stored indices, each time"
    )
    start = columns.__code__.co_firstlineno
    assert lines[1:4] == [
        f'  File "{__file__}", line {start + 3}',
        "    s[()] += A[i, j]",
        "             ^^^^^^^",
    ]
    assert lines[4] == (
        "  hint: loop over i outside of j; or store it in the order of the loops, as "
        "swizzle(Tensor(A.format, swizzle(A, (1, 0))), (1, 0)); or use a level that finds an index "
        "in constant time: 'Dense', 'SparseByteMap' and 'SparseHash'"
    )
    assert lines[5:] == []


def again(s, A):
    s[...] = 0
    for i, j in _:
        s[()] += A[i, j]
    for j, i in _:
        s[()] += A[i, j]


def test_it_calls_indices_what_the_program_calls_them():
    (message,) = warned(again, Scalar(0.0), Tensor(CSR))
    assert "hint: loop over i outside of j; " in message


def rows(s, A):
    s[...] = 0
    for i, j in _:
        s[()] += A[i, j]
    return s


@pytest.mark.parametrize("level", [Dense, SparseByteMap, SparseHash])
def test_what_the_hint_says_would_work(level):
    given = Tensor(CSR, MATRIX)
    other = swizzle(Tensor(given.format, swizzle(given, (1, 0))), (1, 0))
    assert not warned(rows, Scalar(0.0), given)
    assert not warned(columns, Scalar(0.0), other)
    assert not warned(columns, Scalar(0.0), Tensor(Dense(level(Element(0.0)))))
    assert kernel(columns)(Scalar(0.0), other).value == MATRIX.sum()


def rotated(s, A):
    s[...] = 0
    for k, i, j in _:
        s[()] += A[i, j, k]
    return s


def test_the_order_of_three_loops():
    cube = Tensor(Dense(SparseList(SparseList(Element(0.0)))), np.arange(24.0).reshape(2, 3, 4))
    (message,) = warned(rotated, Scalar(0.0), cube)
    assert "loop over j outside of k" in message
    assert "swizzle(Tensor(A.format, swizzle(A, (1, 2, 0))), (2, 0, 1))" in message
    other = swizzle(Tensor(cube.format, swizzle(cube, (1, 2, 0))), (2, 0, 1))
    assert not warned(rotated, Scalar(0.0), other)
    assert kernel(rotated)(Scalar(0.0), other).value == 23 * 12


def inner_products(C, A, B):
    C[...] = 0
    for i, j, k in _:
        C[i, j] += A[i, k] * B[k, j] + B[k, j]
    return C


def test_several_reads_are_one_warning():
    (message,) = warned(
        inner_products, Tensor(Dense(Dense(Element(0.0)))), Tensor(CSR), Tensor(CSR)
    )
    assert "this read of B" in message
    assert message.splitlines()[-1].startswith("  the same in line ")


def test_it_is_given_once_for_a_kernel_whatever_its_arguments():
    run = kernel(backend="interpreter")(columns)
    formats = (CSR, CSR, SparseList(SparseList(Element(0.0))), Dense(RunList(Element(0.0))))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for format in formats:
            assert run(Scalar(0.0), Tensor(format, MATRIX)).value == MATRIX.sum()
    assert [w.category for w in caught] == [PerformanceWarning]


def copied(s, x):
    s[...] = 0
    for i in _:
        s[()] += x[i]
    return s


def test_it_can_be_silenced_and_be_an_error():
    run = kernel(backend="interpreter")(columns)
    total = Tensor(Dense(Element(0.0)), [7.0])
    args = (kernel(copied)(Scalar(0.0), total), Tensor(CSR, MATRIX))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(PerformanceWarning):
            run(*args)
        assert args[0].value == 7.0
        warnings.simplefilter("ignore", PerformanceWarning)
        assert run(*args).value == MATRIX.sum()


def third_column(y, A):
    y[...] = 0
    for i in _:
        y[i] = A[i, 2]
    return y


def picked(y, A, at):
    y[...] = 0
    for i in _:
        y[i] = A[i, at[i]]
    return y


def reversed_vector(y, x, n):
    y[...] = 0
    for i in range(0, n):
        y[i] = x[n - 1 - i]
    return y


def squares(y, x, n):
    y[...] = 0
    for i in range(0, n):
        y[i] = x[i * i]
    return y


def test_numbers_and_gathers():
    y, at = Tensor(Dense(Element(0.0))), np.zeros(2, int)
    (column,) = warned(third_column, y, Tensor(CSR))
    assert "swizzle(A, (1, 0))" in column
    (gather,) = warned(picked, y, Tensor(CSR), at)
    assert "hint: use a level that finds an index in constant time" in gather
    (scattered,) = warned(squares, y, Tensor(SparseList(Element(0.0)), (9,)), 3)
    assert "this read of x" in scattered
    assert warned(reversed_vector, y, Tensor(SparseList(Element(0.0)), (3,)), 3) == []


def sought(y, A, at):
    y[...] = 0
    for i in _:
        y[i] = A[i, follow(at[i])]
    return y


def one_row(y, A, at):
    y[...] = 0
    for i in _:
        for j in _:
            y[j] += A[at[i], j]
    return y


def once(s, A, n):
    s[...] = 0
    s[()] = A[n, n]
    return s


def diagonal(y, A):
    y[...] = 0
    for i in _:
        y[i] = A[i, i]
    return y


def scattered(C, A):
    C[...] = 0
    for i, j in _:
        C[j, i] += A[i, j]
    return C


def test_a_storage_is_proposed_for_what_is_stored_as_it_is_seen():
    (message,) = warned(rows, Scalar(0.0), swizzle(Tensor(CSR), (1, 0)))
    assert "swizzle(" not in message
    assert "loop over j outside of i" in message


def test_no_false_warnings():
    y, at = Tensor(Dense(Element(0.0))), np.zeros(2, int)
    assert not warned(sought, y, Tensor(CSR), at), "a search is asked for"
    assert not warned(one_row, y, Tensor(CSR), at), "rows are looked up once"
    assert not warned(one_row, y, Tensor(SparseHash(SparseList(Element(0.0)))), at)
    assert not warned(once, Scalar(0.0), Tensor(CSR), 1), "no loop repeats it"
    assert not warned(diagonal, y, Tensor(CSR)), "each row is met in order, once"
    assert not warned(columns, Scalar(0.0), MATRIX)
    assert not warned(scattered, Tensor(SparseHash(SparseHash(Element(0.0)))), Tensor(CSR))
    assert not warned(columns, Scalar(0.0), sp.csc_array(MATRIX))


def sliding(out, image, f, h, w):
    out[...] = 0
    for y in range(h):
        for x in range(w):
            for c in _:
                for p, q in _:
                    out[y, x, c] += image[y + p, x + q, c] * f[p, q]
    return out


def test_a_read_with_sums_of_indices_is_not_told_to_be_stored_otherwise():
    """The dimensions that the compiler sees then are not those of the tensor."""
    image = Tensor(SparseList(SparseList(SparseList(Element(0.0)))), np.ones((4, 4, 1)))
    out = Tensor(Dense(Dense(Dense(Element(0.0)))), (3, 3, 1))
    (message,) = warned(sliding, out, image, np.ones((2, 2)), 3, 3)
    assert "swizzle" not in message
    assert "loop over q outside of c" in message


# -- writes that may meet ---------------------------------------------------------------------


def apart(C, A, m, n, p):
    C[...] = 0
    for i in _:
        for j in range(0, m):
            C[i, j] = A[i, j]
        for j in range(m, n):
            C[i, j] = A[i, j - m]
        for j in range(max(m, n), p):
            C[i, j] = A[i, j - n]
    return C


def overlapping(C, A, m, n, p):
    C[...] = 0
    for i in _:
        for j in range(0, m):
            C[i, j] = A[i, j]
        for j in range(m, n):
            C[i, j] = A[i, j - m]
        for j in range(n, p):
            C[i, j] = A[i, j - n]
    return C


@pytest.mark.parametrize("backend", ["interpreter", "c"])
def test_three_ranges_one_behind_the_other_store_no_fill(backend):
    lists = SparseList(SparseList(Element(0.0)))
    C, A = Tensor(lists), Tensor(lists, MATRIX)
    assert warned(apart, C, A, 3, 6, 9) == []
    found = kernel(backend=backend)(apart)(C, A, 3, 6, 9)
    assert found.nstored == 3 * 3
    np.testing.assert_array_equal(found.to_numpy(), np.tile(MATRIX, 3))


def test_ranges_that_may_overlap_are_warned_of():
    lists = Dense(SparseList(Element(0.0)))
    C, A = Tensor(lists), Tensor(lists, MATRIX)
    (message,) = warned(overlapping, C, A, 3, 6, 9)
    assert message.splitlines()[0] == (
        "overlapping: C is written by loops whose ranges may overlap, so that fill values are "
        "stored, too: they may take the place of others"
    )
    assert "range(max(m, n), p)" in message
    assert warned(overlapping, Tensor(Dense(RunList(Element(0.0)))), A, 3, 6, 9) == []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = kernel(overlapping)(C, A, 3, 2, 5)  # the third overwrites what the first wrote
    np.testing.assert_array_equal(found.to_numpy(), np.hstack([MATRIX[:, :2], MATRIX]))
