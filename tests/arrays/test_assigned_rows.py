"""Elements side by side of one row are assigned without a walk of the others."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from array_support import fa

from finch_array import assignment
from finch_core import Tensor, _, kernel
from finch_core.errors import FormatError, IndexOverflow
from finch_levels import Dense, Element, Pattern, SparseCOO, SparseHash, SparseList

FORMATS = {
    "vector": (lambda leaf: SparseList(leaf), (9,)),
    "rows": (lambda leaf: Dense(SparseList(leaf)), (5, 7)),
    "narrow": (lambda leaf: Dense(SparseList(leaf, np.int32, np.int32)), (5, 7)),
    "deeper": (lambda leaf: Dense(Dense(SparseList(leaf))), (3, 2, 6)),
    "lists of lists": (lambda leaf: SparseList(SparseList(leaf)), (5, 7)),
    "coordinates": (lambda leaf: SparseCOO(SparseCOO(leaf)), (5, 7)),
    "hashes": (lambda leaf: Dense(SparseHash(leaf)), (5, 7)),
    "one column": (lambda leaf: Dense(SparseList(leaf)), (4, 1)),
}


def drawn(rng, shape, fill, dtype):
    values = rng.integers(1, 9, shape).astype(dtype)
    return np.where(rng.random(shape) < 0.4, values, dtype(fill))


def an_index(rng, shape):
    """Integers, and an integer or a slice of the last dimension."""
    *row, n = shape
    index = [int(rng.integers(-m, m)) for m in row]
    ends = sorted(rng.integers(0, n + 1, 2).tolist())
    last = [int(rng.integers(-n, n)), slice(*ends), slice(None), slice(*ends, 2), Ellipsis]
    return (*index, last[rng.integers(len(last))])


@pytest.mark.parametrize("fill", [0, 3, np.nan])
@pytest.mark.parametrize("kind", FORMATS)
def test_assignments_in_turn_are_those_of_numpy(kind, fill):
    make, shape = FORMATS[kind]
    rng = np.random.default_rng(len(kind))
    for dtype in (np.float64, np.float32, *([np.int8] * (fill == fill))):
        wanted = drawn(rng, shape, fill, dtype)
        array = Tensor(make(Element(dtype(fill))), wanted)
        for _turn in range(40):
            index = an_index(rng, shape)
            part = np.shape(wanted[index])
            value = [
                dtype(fill), int(rng.integers(1, 9)), drawn(rng, part, fill, dtype),
                drawn(rng, part[-1:], fill, dtype).tolist(), np.zeros(part, dtype),
            ][rng.integers(5)]  # fmt: skip
            if isinstance(value, list) and fill != fill and not part:
                continue
            wanted[index] = value
            array[index] = value
            np.testing.assert_array_equal(array.to_numpy(), wanted)
            assert array.dtype == dtype


def test_the_fill_is_not_stored():
    A = fa.asarray(scipy.sparse.csr_array(np.eye(4)))
    A[1, 1] = 0.0
    A[2] = [0, 1, 2, 0]
    A[0, 1:3] = 0
    assert A.nstored == 4


def test_the_memory_of_others_stays():
    S = scipy.sparse.csr_array(np.eye(4))
    A = fa.asarray(S)
    B, seen = A.copy(), A.to_scipy()
    A[1, 1], A[1, 2], A[3] = 5.0, 6.0, 0.0
    for other in (S, B, seen):
        np.testing.assert_array_equal(
            other.toarray() if other is not B else B.to_numpy(), np.eye(4)
        )
    assert A[1, 1] == 5


@kernel
def doubled(A):
    for i, j in _:
        A[i, j] = 2 * A[i, j]


def test_buffers_that_are_replaced_are_no_longer_read_only():
    """Those that stay are: where an element that is stored changes, the indices are SciPy's."""
    S = scipy.sparse.csr_array(np.eye(4))
    for part in (S.data, S.indices, S.indptr):
        part.flags.writeable = False
    A, B = fa.asarray(S), fa.asarray(S)
    A[1, 1] = 2.0
    with pytest.raises(FormatError, match="read-only"):
        doubled(A)
    B[:, 1] = 2.0
    doubled(B)
    wanted = 2 * np.eye(4)
    wanted[:, 1] = 4
    np.testing.assert_array_equal(B.to_numpy(), wanted)
    np.testing.assert_array_equal(S.toarray(), np.eye(4))


def test_spare_capacity_is_not_read():
    """A kernel that appends leaves room behind what it wrote."""

    @kernel
    def squares(C, A):
        C[...] = 0
        for i, j in _:
            C[i, j] = A[i, j] * A[i, j]
        return C

    rng = np.random.default_rng(0)
    given = drawn(rng, (30, 40), 0, np.float64)
    out = squares(
        Tensor(Dense(SparseList(Element(0.0)))), Tensor(Dense(SparseList(Element(0.0))), given)
    )
    wanted = given**2
    for index in [(29, 39), (29, 0), (0, slice(3, 9)), (15, slice(None))]:
        wanted[index] = out[index] = 7.0
        np.testing.assert_array_equal(out.to_numpy(), wanted)


def test_no_row_is_walked(monkeypatch):
    monkeypatch.setattr(assignment, "coordinates", None)
    monkeypatch.setattr(assignment, "run", None)
    A = fa.asarray(scipy.sparse.csr_array(np.eye(4)))
    A[1, 1], A[2, 3], A[3], A[0, 1:] = 2.0, 3.0, 4.0, [0, 5, 6]
    assert A.to_numpy().tolist() == [[1, 0, 5, 6], [0, 2, 0, 0], [0, 0, 1, 3], [4] * 4]


def test_positions_that_are_full():
    """8 bits number 127 entries; the next one is refused, and changes nothing."""
    format = Dense(SparseList(Element(0.0), np.int16, np.int8))
    A = Tensor(format, np.ones((1, 127)))
    wide = Tensor(format, np.concatenate([np.ones((1, 127)), np.zeros((1, 3))], axis=1))
    A[0, 5] = 2.0
    with pytest.raises(IndexOverflow, match="too many for pointers of int8"):
        wide[0, 128] = 1.0
    assert wide.nstored == 127


def test_patterns_keep_theirs():
    A = Tensor(Dense(SparseList(Pattern())), np.eye(3, dtype=bool))
    A[0, 1], A[1, 1] = True, False
    assert A.to_numpy().tolist() == [
        [True, True, False],
        [False, False, False],
        [False, False, True],
    ]
