"""Variances along dimensions of which few indices store anything, and products of runs: time for
what is stored."""

from __future__ import annotations

import numpy as np
import pytest
from array_support import fa

from finch_array import plans, reductions
from finch_core import Tensor
from finch_levels import Dense, Element, RunList, SparseByteMap, SparseHash, SparseList


def wide(fill, dtype, rows=40, columns=90):
    rng = np.random.default_rng(4)
    found = np.full((rows, columns), fill, dtype)
    found[rng.integers(0, rows, 12), rng.integers(0, columns, 12)] = rng.integers(1, 9, 12)
    return found


@pytest.mark.parametrize("fill", [0, 2])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16, np.complex128])
@pytest.mark.parametrize("level", [SparseList, SparseHash, SparseByteMap])
def test_variances_are_those_of_numpy(level, dtype, fill):
    data = wide(fill, dtype)
    A = Tensor(Dense(level(Element(dtype(fill)))), data)
    for axis in (0, 1, (0, 1)):
        for correction in (0, 1):
            found = np.asarray(fa.var(A, axis=axis, correction=correction))
            wanted = np.var(data, axis=axis, ddof=correction)
            np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-12)
            assert found.dtype == wanted.dtype
    np.testing.assert_allclose(fa.std(A.T, axis=1).to_numpy(), np.std(data, axis=0), rtol=1e-5)


def test_means_of_few_columns_are_looked_up(monkeypatch):
    """Not walked with each row, which took time by rows times columns."""
    made = []

    def noted(schedule, *args):
        made.append(schedule.request)
        return make(schedule, *args)

    make = plans.make
    monkeypatch.setattr(plans, "make", noted)
    rng = np.random.default_rng(0)
    places = rng.integers(0, 50001, (2, 500))
    fa.var(fa.from_coo(places, rng.random(500), (50001, 50001)), axis=0)
    assert [r.marked for r in made if len(r.inputs) == 2] == [(1,)]
    assert reductions.is_dense(fa.var(fa.asarray(np.eye(5)), axis=0))


def test_products_of_runs_collect_in_dense_workspaces(monkeypatch):
    """Each element of such a product is written: hash tables took 20 times longer."""
    data = np.repeat(np.repeat([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]], 50, axis=1), 60, axis=0)
    made = []

    def noted(*args):
        made.append(workspace_format(*args))
        return made[-1]

    workspace_format = plans.programs.workspace_format
    monkeypatch.setattr(plans.programs, "workspace_format", noted)
    A = Tensor(Dense(RunList(Element(0.0))), data)
    found = A.T @ A
    np.testing.assert_array_equal(found.to_numpy(), data.T @ data)
    assert [level.layout for level in made[0].levels()] == ["dense", "dense", "values"]


def test_coordinates_become_rows_unless_most_are_empty():
    """``from_coo``: a dense first dimension where it is not much longer than what is stored."""
    names = [
        level.name for level in fa.from_coo(([0, 2], [1, 1]), [1.0, 2.0], (3, 9)).format.levels()
    ]
    assert names == ["Dense", "SparseList", "Element"]
    A = fa.from_coo(([0, 2**40], [1, 1]), [1.0, 2.0], (2**41, 9))
    assert [level.name for level in A.format.levels()] == ["SparseList", "SparseList", "Element"]
    assert fa.from_coo(([3],), [1.0], (9,)).format.name == "SparseList"
    cube = fa.from_coo(([0, 1], [1, 1], [2, 0]), [1.0, 2.0], (2, 3, 4))
    assert [level.name for level in cube.format.levels()][:2] == ["Dense", "SparseList"]
    assert fa.from_coo((), [5.0], ()).to_numpy() == 5


HALF = np.ones(4096, np.float16)
SUMS = {
    "matmul": lambda x: x @ x, "matrix": lambda x: (x[None] @ x[:, None])[0, 0],
    "vecdot": lambda x: fa.vecdot(x, x), "tensordot": lambda x: fa.tensordot(x, x, axes=1),
    "einsum": lambda x: fa.einsum("i,i->", x, x), "sum": lambda x: fa.sum(fa.concat([x] * 15)) / 15,
    "norm": lambda x: fa.norm(fa.concat([x] * 16)) * 16,
    "lazy": lambda x: fa.compute(fa.sum(fa.lazy(x) * fa.lazy(x))),
}  # fmt: skip


@pytest.mark.parametrize("name", SUMS)
@pytest.mark.parametrize("level", [SparseList, Dense])
def test_half_floats_are_summed_in_single_precision(name, level):
    found = SUMS[name](fa.asarray(HALF, format=level(Element(np.float16(0)))))
    assert (found.dtype, float(found)) == (np.float16, 4096)
