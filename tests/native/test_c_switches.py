"""What the backend, and a routine, do for speed: switched off, answers stay."""

import re

import numpy as np
import pytest
import scipy.sparse as sp

from finch_core import Tensor, _
from finch_core.errors import OutOfBounds
from finch_core.runtime.kernel import Kernel
from finch_core.runtime.options import Options
from finch_levels import Dense, Element, RunList, SparseByteMap, SparseList, SparseRunList

CSR = Dense(SparseList(Element(0.0), index=np.int32))
SIZE = 150


def product(C, A, B):
    C[...] = 0
    for i in _:
        w = Tensor(SparseByteMap(Element(0.0)))
        for k, j in _:
            w[j] += A[i, k] * B[k, j]
        for j in _:
            C[i, j] = w[j]
    return C


def total(c, a, b):
    c[...] = 0
    for i in _:
        c[i] = a[i] + b[i]
    return c


def lowered(program, arguments, *disabled):
    made = Kernel(program, Options(backend="c", disabled=frozenset(disabled)))
    return made, made.lower(*arguments).as_text("source")


@pytest.mark.parametrize(
    ("name", "told", "instead"),
    [("restrict", "restrict C1_ptr", "int64_t *C1_ptr"), ("sort", " sort_i64(", " heapsort_i64(")],
)
def test_a_product_without(name, told, instead):
    rng = np.random.default_rng(0)
    dense = [rng.integers(1, 9, (SIZE, SIZE)) * (rng.random((SIZE, SIZE)) < 0.1) for _k in range(2)]
    A, B = (Tensor(CSR, each.astype(float)) for each in dense)
    arguments = Tensor(CSR), A, B
    assert told in lowered(product, arguments)[1]
    made, text = lowered(product, arguments, name)
    assert told not in text
    assert instead in text
    np.testing.assert_array_equal(made(*arguments).to_numpy(), dense[0] @ dense[1])


@pytest.mark.parametrize("stored", [0, 1, 4, 5, 9, SIZE])
def test_a_sum_in_loops_that_are_parted_from_making_room(stored):
    rng = np.random.default_rng(stored)
    a, b = np.zeros((2, SIZE))
    for each in (a, b):
        each[rng.choice(SIZE, stored, replace=False)] = rng.integers(1, 9, stored)
    kind = SparseList(Element(0.0))
    arguments = Tensor(kind), Tensor(kind, a), Tensor(kind, b)
    made, text = lowered(total, arguments)
    assert text.count(" < c0_room);") == 1
    assert "} while (i_reached < i_stop && c0_stored < c0_room);" in text
    assert "} while (q < q_room);" in text  # each turn appends one: how many fit is known before
    np.testing.assert_array_equal(made(*arguments).to_numpy(), a + b)
    made, text = lowered(total, arguments, "rooms")
    assert " < c0_room);" not in text
    assert "q_room" not in text
    np.testing.assert_array_equal(made(*arguments).to_numpy(), a + b)


def large(c, a):
    c[...] = 0
    for i in _:
        if a[i] > 4:
            c[i] = a[i]
    return c


@pytest.mark.parametrize("stored", [0, 1, 4, 5, 9, SIZE])
def test_entries_that_are_kept_or_not_have_room_before_the_loop(stored):
    """A turn appends one entry at most; what it writes where it keeps none has room, too."""
    rng = np.random.default_rng(stored)
    a = np.zeros(SIZE)
    a[rng.choice(SIZE, stored, replace=False)] = rng.integers(1, 9, stored)
    kind = SparseList(Element(0.0))
    arguments = Tensor(kind), Tensor(kind, a)
    made, text = lowered(large, arguments)
    assert "} while (q < q_room);" in text
    np.testing.assert_array_equal(made(*arguments).to_numpy(), np.where(a > 4, a, 0))
    assert made(*arguments).nstored == np.count_nonzero(a > 4)


def search(parents, A, source, most):
    queue = np.zeros(most, np.int32)
    for i in _:
        parents[i] = -1
    parents[source] = source
    queue[0] = source
    first = 0
    last = 1
    while first < last:
        i = queue[first]
        first += 1
        for j in _:
            if A[i, j] and parents[j] < 0:
                parents[j] = i
                queue[last] = j
                last += 1
    return parents


def first_marked(found, A, marks):
    n = 0
    for i in _:
        for j in _:
            if A[i, j] and marks[j]:
                found[n] = j
                n += 1
                break
    return n


def rows_of_each_length(most):
    """A matrix whose row k has k entries, the last ones; a row of the middle has none."""
    dense = np.tri(most, most, -1)[:, ::-1]
    dense[most // 2] = 0
    return dense


BETWEEN = re.compile(r"if \(\+\+q\w* >= \w+_stop\) break;")


@pytest.mark.parametrize("size", [1, 2, 5, 14])
def test_searches_in_walks_that_are_peeled(size):
    dense = rows_of_each_length(size)
    A, start = sp.csr_array(dense), size - 1
    arguments = np.zeros(size, np.int32), A, start, size
    made, text = lowered(search, arguments)
    assert len(BETWEEN.findall(text)) == 3
    expected = search_by_hand(dense, start)
    without, text = lowered(search, arguments, "peeling")
    assert not BETWEEN.findall(text)
    for each in (made, without, Kernel(search, Options(backend="interpreter"))):
        np.testing.assert_array_equal(each(*arguments), expected)


def search_by_hand(dense, start):
    parents, queue = np.full(len(dense), -1), [start]
    parents[start] = start
    for i in queue:
        for j in np.flatnonzero(dense[i]):
            if parents[j] < 0:
                parents[j] = i
                queue.append(j)
    return parents


@pytest.mark.parametrize("most", [1, 3, 7, 8])
def test_a_failure_in_each_copy_of_a_walk_that_is_peeled(most):
    A, told = sp.csr_array(np.ones((9, 9))), set()
    for backend in ("c", "interpreter"):
        parents = np.zeros(9, np.int32)
        with pytest.raises(OutOfBounds) as error:
            Kernel(search, Options(backend=backend))(parents, A, 0, most)
        told.add((str(error.value), *parents))
    assert len(told) == 1


@pytest.mark.parametrize("at", range(10))
def test_a_walk_that_is_peeled_and_ends_early(at):
    A = sp.csr_array(np.tri(10, 10))
    marks = np.zeros(10, bool)
    marks[at:] = True
    found = np.full(10, -1, np.int32)
    made, text = lowered(first_marked, (found, A, marks))
    assert len(BETWEEN.findall(text)) == 3
    assert made(found, A, marks) == 10 - at
    np.testing.assert_array_equal(found, [at] * (10 - at) + [-1] * at)


@pytest.mark.parametrize("kind", [RunList, SparseRunList])
def test_runs_without_a_routine(kind):
    values = np.array([[0.0, 0, 1, 1, 1, 0, 2, 2, 0, 0], [1, 0, 1, 1, 0, 1, 1, 3, 0, 0]])
    for a in (values[:, :0], values[:, :1], values):
        arguments = Tensor(kind(Element(0.0))), *(Tensor(kind(Element(0.0)), row) for row in a)
        assert "append_" in lowered(total, arguments)[1]
        made, text = lowered(total, arguments, "appending")
        assert "append_" not in text
        found, default = made(*arguments), Kernel(total, Options())(*arguments)
        np.testing.assert_array_equal(found.to_numpy(), a.sum(axis=0))
        np.testing.assert_array_equal(found.buffers["0_ptr"], default.buffers["0_ptr"])
