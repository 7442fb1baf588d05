"""``while``, ``break`` and ``continue``: the interpreter, C and the reference agree, whatever
pieces a loop is lowered to."""

from __future__ import annotations

import numpy as np
import pytest

from finch_core import Tensor, _, kernel
from finch_levels import (
    Dense,
    Element,
    RunList,
    Scalar,
    SparseBand,
    SparseBlockList,
    SparseByteMap,
    SparseHash,
    SparseList,
    SparseRunList,
)

ZERO = Element(0.0)
INPUTS = (
    Dense, SparseList, SparseByteMap, RunList, SparseBand, SparseHash, SparseRunList,
    SparseBlockList,
)  # fmt: skip
OUTPUTS = (Dense, SparseList, SparseByteMap, RunList, SparseHash, SparseRunList, SparseBlockList)


def summed(s, A, B, c):
    s[...] = 0
    for i, j in _:
        if A[i, j] == c:
            continue
        if B[i, j] > 7:
            break
        s[()] += A[i, j] + B[i, j]
    return s


def appended(y, A, B):
    y[...] = 0
    for i in _:
        for j in _:
            if B[i, j] > 7:
                break
            if A[i, j] == 2:
                continue
            y[i, j] = A[i, j] + B[i, j]
            if A[i, j] == 3:
                break
    return y


def first_of_row(y, A):
    y[...] = 0
    for i in _:
        for j in _:
            if A[i, j] > 1:
                y[i] = A[i, j]
                break
    return y


def operands(seed):
    rng = np.random.default_rng(seed)
    first = rng.integers(0, 4, (4, 6)) * 1.0
    second = rng.integers(0, 9, (4, 6)) * (rng.random((4, 6)) < 0.4) * 1.0
    return first, second


def agree(function, *args, backends=("interpreter", "c")):
    """Run ``function`` by all oracles, over copies of the arguments."""
    expected = np.asarray(kernel(function).reference(*args))
    for backend in backends:
        given = [arg.copy() if isinstance(arg, Tensor) else arg for arg in args]
        found = kernel(function, backend=backend)(*given)
        np.testing.assert_array_equal(np.asarray(found), expected, err_msg=backend)


@pytest.mark.parametrize("second", INPUTS, ids=lambda level: level.__name__)
@pytest.mark.parametrize("first", INPUTS, ids=lambda level: level.__name__)
def test_operands_in_every_format(first, second):
    a, b = operands(len(first.__name__) * 31 + len(second.__name__))
    A, B = Tensor(Dense(first(ZERO)), a), Tensor(Dense(second(ZERO)), b)
    backends = ("interpreter", "c")[: 1 + (first is second)]
    for c in (1.0, 0.0):
        agree(summed, Scalar(0.0), A, B, c, backends=backends)
    agree(appended, Tensor(Dense(Dense(ZERO))), A, B, backends=backends)


@pytest.mark.parametrize("output", OUTPUTS, ids=lambda level: level.__name__)
@pytest.mark.parametrize("first", INPUTS[::2], ids=lambda level: level.__name__)
def test_outputs_keep_what_was_written_before(first, output):
    for seed in range(3):
        a, b = operands(seed)
        A, B = Tensor(Dense(first(ZERO)), a), Tensor(Dense(SparseList(ZERO)), b)
        agree(appended, Tensor(Dense(output(ZERO))), A, B)
        agree(first_of_row, Tensor(output(ZERO)), A)


def until(e, y, A):
    e[...] = 0
    y[...] = 0
    while e[()] < 100:
        e[...] = 0
        for i in _:
            y[i] += A[i]
        for i in _:
            e[()] += A[i]
        if e[()] > 3:
            break
        for i in _:
            y[i] += 10 * A[i]
    return y


def test_declarations_in_a_while():
    for size in (0, 1, 2, 5):
        if size:
            agree(until, Scalar(0.0), Tensor(Dense(ZERO)), np.full(size, 2.0) + (size < 2) * 99)
        for format in (Dense(ZERO), SparseByteMap(ZERO)):
            data = np.full(5, 1.0 + size)
            agree(until, Scalar(0.0), Tensor(format), data)


def at_element(s, A, k):
    s[...] = 0
    while A[k] > 3:
        s[()] += A[k]
        break
    return s


@pytest.mark.parametrize("level", INPUTS, ids=lambda level: level.__name__)
def test_a_condition_reads_an_element(level):
    data = np.array([0.0, 4.0, 0.0, 2.0])
    for k in range(4):
        agree(at_element, Scalar(0.0), Tensor(level(ZERO), data), k)


def first_in_row(y, A):
    for i in _:
        for j in _:
            if A[i, j] > 1:
                y[i] = j
                break


def test_a_loop_over_what_is_stored_has_a_plain_break():
    A = Tensor(Dense(SparseList(ZERO)), operands(1)[0])
    lowered = kernel(first_in_row, backend="interpreter").lower(np.zeros(4), A)
    text = lowered.as_text("assembly")
    assert "break" in text
    assert "left" not in text
    y = np.zeros(4)
    kernel(first_in_row, backend="interpreter")(y, A)
    assert y.tolist() == [np.argmax(np.append(row > 1, True)) % 6 for row in A.to_numpy()]


@kernel
def position_of(found, x, value):
    found[...] = -1
    for i in range(len(x)):
        if x[i] == value:
            found[()] = i
            break


def total_position(s, x, n):
    s[...] = 0
    for value in range(n):
        if value == 1:
            continue
        found = Scalar(-1)
        position_of(found, x, value)
        if found[()] > 3:
            break
        s[()] += found[()]
    return s


def test_a_kernel_with_a_break_in_a_loop_with_one():
    for data in ([3.0, 0.0, 2.0, 1.0, 4.0], [0.0, 5.0, 3.0, 3.0, 2.0]):
        agree(total_position, Scalar(0), np.array(data), 5)


def first_other(y, A):
    for i in _:
        y[i] = -1
        for j in _:
            if A[i, j] != 0 and i != j:
                y[i] = j
                break


def test_one_index_left_out_does_not_split_a_loop_that_ends_early():
    data = np.triu(np.ones((4, 4)))
    for backend in ("interpreter", "c"):
        y, A = np.zeros(4, int), Tensor(Dense(SparseList(Element(0.0))), data)
        run = kernel(backend=backend)(first_other)
        run(y, A)
        assert y.tolist() == [1, 2, 3, -1]
        assert run.lower(y, A).as_text("assembly").count("A1_idx[") == 1


# -- exits behind an assignment: what is not assigned is the fill ------------------------------


def left_behind(y, x, m):
    y[...] = 0
    for i in _:
        y[i] = 1
        if m > 0:
            break


def left_behind_branches(y, x, m):
    y[...] = 0
    for i in _:
        if x[i] > 0:
            y[i] = 1
        else:
            y[i] = 2
        if i >= m or x[i] > 5:
            break


def returned_behind(y, x, m):
    y[...] = 0
    for i in _:
        if x[i] > 0:
            y[i] = 1
        else:
            y[i] = 2
        if x[i] > m:
            return


def left_of_local(y, x, m):
    w = np.zeros(len(x))
    for i in _:
        w[i] = x[i]
        if m > 0:
            break
    for i in range(len(y)):
        y[i] = w[i]


def left_of_each_row(y, x, m):
    w = np.zeros((len(x), 3))
    for i in _:
        for j in range(3):
            w[i, j] = x[i] + j
            if x[i] > m:
                break
    for i in range(len(y)):
        for j in range(3):
            y[i] += w[i, j]


def returned_of_local(y, x, m):
    for t in range(2):
        w = np.zeros(len(x))
        for i in range(len(x)):
            w[i] = 7
            if t > m:
                break
        for i in range(len(y)):
            y[i] = w[i]


BEHIND = [
    left_behind, left_behind_branches, returned_behind, left_of_local, left_of_each_row,
    returned_of_local,
]  # fmt: skip


@pytest.mark.parametrize("backend", ["interpreter", "c"])
@pytest.mark.parametrize("function", BEHIND)
def test_what_is_behind_an_exit_is_the_fill(function, backend):
    """The fill was left out, as if each element were assigned: old elements remained, or what was
    in memory."""
    called = kernel(function, backend=backend)
    x = np.array([1.0, 0, 6, 0, 2])
    for m in (-1, 0, 1, 2, 9):
        start = np.zeros(5) if function is left_of_each_row else np.full(5, 9.0)
        y = start.copy()
        called(y, x, m)
        np.testing.assert_array_equal(y, called.reference(start.copy(), x, m)["y"])
