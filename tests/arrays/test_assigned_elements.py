"""Elements and boxes assigned to long sparse arrays, and through transposed views: by what is
stored, however long the dimensions are."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from array_support import MATRICES, data, fa, held, tensor

from finch_array import assignment
from finch_core.errors import DimensionMismatch, FinchError
from finch_core.runtime import worth
from finch_core.runtime.validation import validate
from finch_levels import Element, RunList, SparseBlockList, SparseList, SparseRunList

ELEMENT = Element(0.0)
LONG = {
    "blocks": SparseBlockList(SparseBlockList(ELEMENT)),
    "gapped runs": SparseRunList(SparseRunList(ELEMENT)),
    "runs": RunList(RunList(ELEMENT)),
    "lists": SparseList(SparseList(ELEMENT)),
    "lists of blocks": SparseList(SparseBlockList(ELEMENT)),
}
PARTS = {
    "element": (3, 4), "last": (-1, -1), "row": 2, "column": (slice(None), 3),
    "box": (slice(1, 3), slice(4, None)), "steps": (slice(None, None, 4), slice(None, None, -3)),
    "new dimension": (slice(0, 2), None, 5), "nothing": (slice(2, 2), 0),
}  # fmt: skip


@pytest.mark.parametrize("format", LONG.values(), ids=LONG)
@pytest.mark.parametrize("n", [10**6, 10**11])
def test_an_element_makes_no_row(format, n):
    def assigned():
        A = fa.from_coo(([3, 5, n - 1], [0, n - 1, 2]), [1.0, 2.0, 3.0], (n, n)).to(format)
        A[7, 7] = 5.0
        A[0, 9] = 4.0
        A[7, 7] = 0.0
        A[5, n - 1] += 1
        A.T[8, n - 2] = 6.0
        return A

    assigned()  # compiles
    tracemalloc.start()
    A = assigned()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10**6
    wanted = {(0, 9): 4, (3, 0): 1, (5, n - 1): 3, (n - 2, 8): 6, (n - 1, 2): 3, (7, 7): 0}
    assert {place: A[place] for place in wanted} == wanted
    assert fa.sum(A) == 17
    assert A.format is format
    validate(A)


@pytest.mark.parametrize("few", [True, False], ids=["few", "kernels"])
@pytest.mark.parametrize("large", [True, False], ids=["large", "small"])
@pytest.mark.parametrize("kind", [k for k in MATRICES if k != "dense"])
@pytest.mark.parametrize("name", PARTS)
def test_views_take_what_arrays_take(name, kind, large, few, monkeypatch):
    if large:
        monkeypatch.setattr(assignment, "LARGE", 0)
    if not few:
        monkeypatch.setattr(worth, "WORTH", -1)
    levels, part = MATRICES[kind], PARTS[name]
    start = held(data((6, 7), seed=3), levels)
    shape = start.T[part].shape
    several = np.arange(np.prod(shape), dtype=float).reshape(shape)
    for value in (7, 0, several, fa.asarray(several), several.tolist()):
        wanted, array = start.copy(), tensor(start, levels)
        wanted.T[part] = value.to_numpy() if hasattr(value, "signature") else value
        if (held(wanted, levels) != wanted).any():
            with pytest.raises(FinchError):
                array.T[part] = value
            wanted = start
        else:
            array.T[part] = value
        np.testing.assert_array_equal(array.to_numpy(), wanted)
        validate(array)


def test_values_that_do_not_fit_a_view():
    A = fa.zeros((6, 7), format=LONG["lists"])
    with pytest.raises(DimensionMismatch, match=r"\(3,\) does not fit a part of shape \(2,\)"):
        A.T[2:4, 0] = np.ones(3)
    with pytest.raises(TypeError, match="does not fit in an array of float64"):
        A.T[0] = np.ones(6) * 1j
    assert A.nstored == 0
