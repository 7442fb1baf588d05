import numpy as np
from error_support import refusal

from finch_core import DimensionMismatch, Tensor, _, kernel
from finch_levels import Dense, Element, SparseByteMap

X, PLACES = np.ones(3), np.array([1, 0, 2])


@kernel
def histogram(y, x, places):
    y[...] = 0
    for i in _:
        y[places[i]] += x[i]


@kernel
def spread(y, x):
    y[...] = 0
    for i in _:
        for k in range(3):
            y[i + k] += x[i]


@kernel
def placed(y):
    y[...] = 0
    y[3, 3] = 1


@kernel
def gathered_back(y, x, places):
    y[...] = 0
    w = Tensor(SparseByteMap(Element(0.0)))
    for i in _:
        w[places[i]] += x[i]
    for k in range(3):
        y[k] = w[k]


def test_scatter_without_shape():
    expected = """\
nothing fixes the size of dimension 0 of y, which has no shape
  line 4
    y[places[i]] += x[i]
    ^^^^^^^^^^^^
  hint: make y with a shape, as in Tensor(format, (n,))"""
    fresh = Tensor(Dense(Element(0.0)))
    assert refusal(DimensionMismatch, histogram, fresh, X, PLACES) == expected


def test_scatter_of_nothing_without_shape():
    for x in (X[:0], X):
        message = refusal(DimensionMismatch, spread, Tensor(Dense(Element(0.0))), x)
        assert message.startswith(
            "nothing fixes the size of dimension 0 of y, which has no shape\n"
        )


def test_constant_places_without_shape():
    message = refusal(DimensionMismatch, placed, Tensor(Dense(Dense(Element(0.0)))))
    assert message.endswith("make y with a shape, as in Tensor(format, (n, m))")


def test_local_that_is_scattered_to_without_shape():
    message = refusal(DimensionMismatch, gathered_back, np.zeros(3), X, PLACES)
    assert message.startswith("nothing fixes the size of dimension 0 of w, which has no shape\n")
