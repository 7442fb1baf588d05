"""SparseDiagonals: its buffers, what it refuses, SciPy's arrays over their memory, and its sums."""

import numpy as np
import pytest
import scipy.sparse
import shared_programs

from finch_core import Tensor, asarray, kernel
from finch_core.errors import FormatError
from finch_core.runtime.convert import stored_coordinates
from finch_levels import Dense, Element, Pattern, SparseDiagonals, SparseList

FORMAT = Dense(SparseDiagonals(Element(0.0)))
OFFSETS = [[-1, 0, 1], [0, -1, 1, 4, -3], [5, -4], [], [0, 9, -9]]


rows = kernel(shared_programs.spmv)


@pytest.mark.parametrize("backend", ["interpreter", "c"])
def test_buffers(monkeypatch, backend):
    monkeypatch.setenv("FINCH_BACKEND", backend)
    dense = np.array([[0, 2.0, 0], [0, 0, 3], [4, 0, 0], [0, 5, 6]])
    A = Tensor(FORMAT, dense)
    assert {name: part.tolist() for name, part in A.buffers.items()} == {
        "1_num": [3], "1_ofs": [-2, -1, 1], "2_val": [4, 5, 0, 0, 0, 6, 0, 2, 3],
    }  # fmt: skip
    assert A.nstored == 7  # one of them is zero
    np.testing.assert_array_equal(A.to_numpy(), dense)


def test_fill_values_of_diagonals_are_not_entries():
    A = Tensor(FORMAT, np.diag([1.0, 0, 3]))
    assert A.nstored == 3
    assert len(stored_coordinates(A.to(Dense(SparseList(Element(0.0)))))[2]) == 2


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"1_num": [-1]}, r"num\[0\] is -1"),
        ({"1_num": []}, "num has no element"),
        ({"1_num": [5]}, "ofs"),
        ({"1_ofs": [-2, -2, 1]}, r"ofs\[1\] is -2, not greater than the last"),
        ({"1_ofs": [-2, -1, 3]}, r"ofs\[2\] is 3, of no diagonal"),
        ({"1_ofs": [-4, -1, 1]}, r"ofs\[0\] is -4, of no diagonal"),
        ({"2_val": [1.0]}, "val"),
    ],
)
def test_invalid_buffers_are_refused(changed, message):
    good = {"1_num": np.array([3]), "1_ofs": np.array([-2, -1, 1]), "2_val": np.ones(9)}
    new = {name: np.array(part, good[name].dtype) for name, part in changed.items()}
    with pytest.raises(FormatError, match=message):
        Tensor.from_buffers(FORMAT, (4, 3), {**good, **new})


def test_a_pattern_is_refused():
    with pytest.raises(FormatError, match="fill values a Pattern below it cannot hold"):
        SparseDiagonals(Pattern())


@pytest.mark.parametrize("make", [scipy.sparse.dia_array, scipy.sparse.dia_matrix])
@pytest.mark.parametrize("offsets", OFFSETS, ids=str)
@pytest.mark.parametrize("width", [4, 5, 7])
def test_scipy_diagonals(make, offsets, width):
    """In order and as long as a row, they are read in place; others are put in order."""
    data = np.random.default_rng(0).random((len(offsets), width))
    theirs = make((data, offsets), shape=(4, 5))
    A = asarray(theirs)
    assert A.format == FORMAT
    np.testing.assert_array_equal(A.to_numpy(), theirs.toarray())
    in_place = width == 5 and offsets == [-1, 0, 1]
    assert np.shares_memory(A.buffers["2_val"], theirs.data) == in_place
    theirs.data *= 2
    other = asarray(theirs)
    np.testing.assert_array_equal(other.to_numpy(), theirs.toarray())
    assert np.shares_memory(other.buffers["2_val"], A.buffers["2_val"]) == in_place


def test_another_dtype_of_scipy():
    theirs = scipy.sparse.diags_array([[1, 2], [3, 4, 5]], offsets=[-1, 0], dtype=np.int32)
    A = asarray(theirs)
    assert A.dtype == np.int32
    np.testing.assert_array_equal(A.to_numpy(), theirs.toarray())


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("shape", [(0, 0), (1, 1), (40, 7), (7, 40), (50, 50), (1100, 1080)])
def test_sums_are_those_of_rows(shape, strict):
    """Every number of diagonals, to the bit: the terms of a sum keep their order."""
    run = kernel(rows.__wrapped__, strict=strict)
    draw = np.random.default_rng(shape[1])
    x = draw.random(shape[1])
    for count in range(10):
        offsets = np.sort(draw.permutation(np.arange(-shape[0] + 1, shape[1]))[:count])
        data = draw.random((len(offsets), shape[1]))
        theirs = scipy.sparse.dia_array((data, offsets), shape=shape)
        listed = Tensor(Dense(SparseList(Element(0.0))), theirs.tocsr())
        expected = kernel(rows.__wrapped__, strict=True)(Tensor(Dense(Element(0.0))), listed, x)
        found = run(Tensor(Dense(Element(0.0))), asarray(theirs), x)
        np.testing.assert_array_equal(found.to_numpy(), expected.to_numpy())


def test_the_loop_over_rows_is_inside():
    text = rows.lower(np.zeros(3), Tensor(FORMAT, np.eye(3)), np.ones(3)).as_text("assembly")
    assert "for i_strip in" in text
    off = kernel(rows.__wrapped__, disabled="loop_interchange")
    text = off.lower(np.zeros(3), Tensor(FORMAT, np.eye(3)), np.ones(3)).as_text("assembly")
    assert "for i_strip in" not in text


@pytest.mark.parametrize("shape", [(40, 40), (30, 50)])
def test_rows_near_the_ends_read_their_diagonals_alone(shape):
    """The interpreter checks each access; elements of diagonals outside the matrix are NaN."""
    offsets = np.array([-20, -1, 1, 20])
    theirs = scipy.sparse.dia_array((np.full((4, shape[1]), np.nan), offsets), shape=shape)
    for d, k in enumerate(offsets):
        first, last = max(0, k), min(shape[1], shape[0] + k)
        theirs.data[d, first:last] = np.arange(first, last) + 1.0
    run = kernel(rows.__wrapped__, backend="interpreter")
    for program in (run, rows):
        y = program(Tensor(Dense(Element(0.0))), asarray(theirs), np.ones(shape[1]))
        np.testing.assert_array_equal(y.to_numpy(), theirs.tocsr() @ np.ones(shape[1]))
