"""Indices in variables of narrow dtypes: ends of ranges of one index, in their dtype, would wrap
around, and an index that is the greatest of its dtype would pass for one inside."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from finch_core import FinchError, Tensor
from finch_core.testing import backend_names
from finch_core.testing.running import on
from finch_levels import Element, SparseByteMap, SparseList

BACKENDS = backend_names()
DTYPES = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32]
TARGETS = {
    "dense": lambda n: np.zeros(n),
    "map": lambda n: Tensor(SparseByteMap(Element(0.0)), np.zeros(n)),
}


def at_variable(y, x, w):
    for k in range(len(x)):
        p = x[k]
        p += 0
        y[p] = w[p]


def while_(y, x, w):
    p = x[0]
    while p >= 0:
        y[p] = w[p]
        p = x[1]
        if p == x[1]:
            break


def ranges(y, x, w):
    p = x[0]
    q = x[1]
    for k in range(len(x)):
        for j in range(min(p, q), max(p, q) + 1):
            y[j] = w[j]
        q = p
        p = x[k]


def at_reads(y, x, w):
    for k in range(len(x)):
        y[x[k] - 1] = w[x[k]]


def outcome(run: Any) -> Any:
    """The result of a call, or the class of its error."""
    try:
        return np.asarray(run()).tolist()
    except FinchError as error:
        return type(error).__name__


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    "program", [at_variable, while_, ranges, at_reads], ids=lambda p: p.__name__
)
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_greatest_index_of_a_dtype_is_outside(dtype, program, target, backend):
    made = on(backend, program)
    least, greatest = np.iinfo(dtype).min, np.iinfo(dtype).max
    for n in (10, 127, 255, 256):
        w = np.arange(1.0, n + 1)
        for pair in (
            (greatest, 3),
            (3, greatest),
            (n - 1, n),
            (greatest - 1, greatest),
            (least, 2),
        ):
            if not all(least <= v <= greatest for v in pair):
                continue
            if program is ranges and greatest - least > 10_000 and max(pair) > n:
                continue  # a range of so many turns
            x = np.array(pair, dtype)
            wanted = outcome(lambda x=x, w=w, n=n: made.reference(np.zeros(n), x, w)["y"])
            for source in (w, Tensor(SparseList(Element(0.0)), w)):
                y = TARGETS[target](n)

                def run(y=y, x=x, source=source):
                    made(y, x, source)
                    return y if target == "dense" else y.to_numpy()

                assert outcome(run) == wanted, (n, pair)


def below_sum(y, a, b):
    for j in range(len(y)):
        if a <= j and j < b + 1:
            y[j] += 1.0


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_bounds_of_conditions_wrap_as_they_are_written(dtype, backend):
    """``b + 1`` of an int32 was an int64 where the condition became a range."""
    greatest = np.iinfo(dtype).max
    for a, b in ((0, greatest), (2, greatest - 1), (3, 5), (0, 0)):
        with np.errstate(over="ignore"):
            last = dtype(b) + dtype(1)
        wanted = [float(a <= j < last) for j in range(8)]
        y = np.zeros(8)
        on(backend, below_sum)(y, dtype(a), dtype(b))
        assert y.tolist() == wanted
