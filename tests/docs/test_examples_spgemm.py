"""SpGEMM in three ways, into sparse and dense results, over several semirings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from examples_support import example, sparse

from finch_core import Tensor, kernel
from finch_levels import Dense, Element, SparseHash, SparseList

programs = example("spgemm")
LEFT, RIGHT = sparse(9, 11, density=0.25), sparse(11, 8, density=0.25, seed=1)
RESULTS = [programs.CSR, Dense(Dense(Element(0.0))), Dense(SparseHash(Element(0.0)))]


@pytest.mark.parametrize("way", ["inner", "gustavson", "outer"])
@pytest.mark.parametrize("format", RESULTS, ids=["list", "dense", "hash"])
def test_the_ways_agree_with_numpy(way: str, format: Any) -> None:
    ways = programs.ways(scipy.sparse.csr_array(LEFT), scipy.sparse.csr_array(RIGHT))
    result = ways[way](Tensor(format))
    np.testing.assert_allclose(result.to_numpy(), LEFT @ RIGHT)


def test_only_what_is_reached_is_stored() -> None:
    ways = programs.ways(scipy.sparse.csr_array(LEFT), scipy.sparse.csr_array(RIGHT))
    reached = np.count_nonzero((LEFT > 0) @ (RIGHT > 0))
    for way in ways.values():
        assert way(Tensor(programs.CSR)).nstored == reached


def test_outer_products_straight_into_a_dense_result() -> None:
    A = programs.by_columns(scipy.sparse.csr_array(LEFT))
    C = programs.outer_dense(Tensor(Dense(Dense(Element(0.0)))), A, Tensor(programs.CSR, RIGHT))
    np.testing.assert_allclose(C.to_numpy(), LEFT @ RIGHT)


SEMIRINGS = ["PLUS_TIMES", "MIN_PLUS", "MAX_TIMES", "MAX_MIN", "OR_AND"]


@pytest.mark.parametrize("name", SEMIRINGS)
def test_any_semiring(name: str) -> None:
    semiring = getattr(programs, name)
    zero = semiring.zero()
    left, right = (np.where(m > 0, m if zero is not False else True, zero) for m in (LEFT, RIGHT))
    format = Dense(SparseList(Element(zero)))
    product = programs.over(semiring)
    found = product(Tensor(format), Tensor(format, left), Tensor(format, right)).to_numpy()
    for i, j in np.ndindex(found.shape):
        expected = zero
        for k in range(left.shape[1]):
            expected = semiring.plus(expected, semiring.times(left[i, k], right[k, j]))
        assert found[i, j] == pytest.approx(expected)


def test_the_interpreter_agrees() -> None:
    interpreted = kernel(programs.gustavson.__wrapped__, backend="interpreter")
    A, B = Tensor(programs.CSR, LEFT), Tensor(programs.CSR, RIGHT)
    np.testing.assert_allclose(interpreted(Tensor(programs.CSR), A, B).to_numpy(), LEFT @ RIGHT)


def test_it_runs(capsys: pytest.CaptureFixture[str]) -> None:
    programs.main()
    assert capsys.readouterr().out.count("agrees with SciPy") == 3
