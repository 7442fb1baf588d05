"""Assignments to sparse arrays that store many elements: what is assigned is merged by a kernel."""

from __future__ import annotations

import numpy as np
import pytest
from array_support import MATRICES, data, fa, held, tensor

from finch_array import assignment
from finch_core import Tensor
from finch_core.errors import FinchError
from finch_core.runtime import worth

ROWS, COLUMNS = np.array([0, 5, 2, 5]), np.array([6, 1, 1, 1])
MASK = np.arange(42).reshape(6, 7) % 5 == 1

PARTS = {
    "element": (3, 4), "last": (-1, -1), "row": 2, "part of a row": (1, slice(2, 5)),
    "box": (slice(1, 3), slice(4, None)), "steps": (slice(None, None, 4), slice(None, None, -3)),
    "vectors": (ROWS, COLUMNS), "rows and a slice": (ROWS, slice(0, 2)),
    "mesh": np.ix_([0, 3], [5, 2]), "mask": MASK, "nothing": (slice(2, 2), 0),
}  # fmt: skip


@pytest.fixture(autouse=True)
def kernels_at_once(monkeypatch):
    monkeypatch.setattr(worth, "WORTH", -1)
    monkeypatch.setattr(assignment, "with_part_of_row", lambda *given: None)


@pytest.mark.parametrize("fill", [0, 2])
@pytest.mark.parametrize("kind", [k for k in MATRICES if k != "dense"])
@pytest.mark.parametrize("name", PARTS)
def test_assignments_are_those_of_numpy(name, kind, fill, monkeypatch):
    merged, calls = assignment._merged, []

    def counted(*args):
        calls.append(args)
        return merged(*args)

    monkeypatch.setattr(assignment, "_merged", counted)
    levels, rng = MATRICES[kind], np.random.default_rng(5)
    part = PARTS[name]
    for dtype in (np.float64, np.int8):
        start = held(data((6, 7), dtype, fill, seed=3), levels, fill)
        shape = start[part].shape
        several = rng.integers(0, 4, shape)
        for value in (7, fill, several.astype(dtype), fa.asarray(several.astype(dtype))):
            wanted, array = start.copy(), tensor(start, levels, fill)
            wanted[part] = value.to_numpy() if isinstance(value, Tensor) else value
            format = array.format
            if (held(wanted, levels, fill) != wanted).any():
                with pytest.raises(FinchError):
                    array[part] = value
                np.testing.assert_array_equal(array.to_numpy(), start)
                continue
            array[part] = value
            np.testing.assert_array_equal(array.to_numpy(), wanted)
            assert array.format is format
    assert calls or name == "nothing"


def test_the_memory_of_copies_and_of_others_stays():
    a = data((6, 7), seed=1)
    A = tensor(a, MATRICES["rows"])
    B, T = A.copy(), A.T
    A[2, 3] = 9
    np.testing.assert_array_equal(B.to_numpy(), a)
    assert T[3, 2] == 9  # a view
    a[2, 3] = 9
    np.testing.assert_array_equal(T.to_numpy(), a.T)
