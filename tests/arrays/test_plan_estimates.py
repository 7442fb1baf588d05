"""Estimates beside truth: how many entries results have."""

from __future__ import annotations

import math

import numpy as np
import pytest
from array_support import fa, tensor

from finch_array.plan.fusing import plan_of

FORMATS = [("Dense", "SparseList"), ("SparseList", "SparseList"), ("SparseHash", "SparseHash"),
           ("Dense", "SparseByteMap")]  # fmt: skip
N = 250


def even(rng):
    """Entries that are spread evenly."""
    return rng.random((N, N)) < rng.choice([0.004, 0.02, 0.08])


def skewed(rng):
    """Rows and columns of very different numbers of entries, as in a social network."""
    weight = 1.0 / (1 + np.arange(N))
    return rng.random((N, N)) < np.minimum(60 * np.outer(weight, rng.permutation(weight)), 1.0)


def local(rng):
    """Entries near the diagonal, as in a mesh: what the statistics do not tell."""
    i = np.arange(N)
    return (abs(i[:, None] - i) < 6) & (rng.random((N, N)) < 0.5)


EXPRESSIONS = {
    "product": lambda a, b, _c: a @ b,
    "product of three": lambda a, b, c: a @ b @ c,
    "masked product": lambda a, b, c: c * (a @ b),
    "sum": lambda a, b, _c: a + b,
    "elementwise": lambda a, b, _c: a * b,
    "rows": lambda a, b, _c: fa.sum(a, axis=1)[:, None] * b,
}


def errors(kind, seed):
    """Of each sparse result of plans of all expressions, the factor between estimate and truth."""
    rng = np.random.default_rng(seed)
    found = []
    for expression in EXPRESSIONS.values():
        operands = [
            fa.lazy(tensor(kind(rng).astype(float), FORMATS[rng.integers(len(FORMATS))]))
            for _ in range(3)
        ]
        plan, _ = plan_of([expression(*operands).lazy_node])
        for step in plan.steps:
            if step.kernel.out and not step.kernel.dense:
                pair = max(step.entries, 1.0), max(step.kernel.pattern.entries, 1.0)
                found.append(max(pair) / min(pair))
    return found


@pytest.mark.parametrize(("kind", "mean", "worst"), [
    (even, 1.5, 2.5), (skewed, 3.0, 10.0), (local, 5.0, 50.0),
])  # fmt: skip
def test_estimates_are_near_the_truth(kind, mean, worst):
    found = [e for seed in range(3) for e in errors(kind, seed)]
    assert len(found) >= 9
    assert math.exp(sum(map(math.log, found)) / len(found)) <= mean
    assert max(found) <= worst


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", ["cos", "plus one", "equals zero", "not negative", "doubled"])
def test_fills_that_are_reduced_are_not_walked(name, axis):
    """Along a loop they are reduced at once; along the result each would be visited."""
    functions = {
        "cos": fa.cos, "plus one": lambda x: x + 1, "equals zero": lambda x: x == 0,
        "not negative": lambda x: x >= 0, "doubled": lambda x: 2 * x,
    }  # fmt: skip
    rng = np.random.default_rng(0)
    n = 3000
    plain = np.where(rng.random((n, n)) < 0.002, rng.random((n, n)) - 0.5, 0.0)
    array = tensor(plain, ("Dense", "SparseList"))
    expression = fa.sum(functions[name](fa.lazy(array)), axis=axis)
    np.testing.assert_allclose(
        fa.compute(expression).to_numpy(), functions[name](plain).sum(axis), atol=1e-9
    )
    plan, _ = plan_of([expression.lazy_node])
    (step,) = plan.steps
    assert step.kernel.loops[-1] not in step.kernel.out or (name, axis) == ("doubled", 0)
