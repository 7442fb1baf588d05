"""The operator: its values, and what its algebra does to loops."""

from __future__ import annotations

import numpy as np
import pytest
from finch_cyclic import log_add_exp

from finch_core import Tensor, _, kernel
from finch_core.plugins import hub
from finch_core.testing import leaf, nest, using

BACKENDS = pytest.mark.parametrize("backend", ["interpreter", None])
VALUES = [0.0, -0.0, 1.0, -800.0, 800.0, 3.5, np.inf, -np.inf, np.nan]


@kernel
def pairs(c, a, b):
    for i in _:
        c[i] = np.logaddexp(a[i], b[i])
    return c


@kernel
def total(s, a):
    s[...] = -np.inf
    for i in _:
        s[()] = log_add_exp(s[()], a[i])
    return s


@BACKENDS
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_it_is_the_ufunc(backend, dtype):
    a, b = (m.ravel().astype(dtype) for m in np.meshgrid(VALUES, VALUES))
    with using(backend), np.errstate(invalid="ignore"):
        found = pairs(np.zeros(len(a), dtype), a, b)
        np.testing.assert_allclose(found, np.logaddexp(a, b), rtol=4 * np.finfo(dtype).eps)


def test_integers_are_added_as_floats():
    a = np.arange(5)
    np.testing.assert_allclose(pairs(np.zeros(5), a, a), np.logaddexp(a, a), rtol=1e-15)


def sparse(fill, data):
    return Tensor(nest([hub().layout("compressed")], leaf(fill)), data)


@BACKENDS
def test_what_is_not_stored_is_the_identity_and_costs_nothing(backend):
    x = np.array([-np.inf, 3.0, -np.inf, -np.inf, 1000.0, 999.0, -np.inf])
    with using(backend):
        a = sparse(-np.inf, x)
        found = total(Tensor(leaf(-np.inf)), a).value
        np.testing.assert_allclose(found, np.logaddexp.reduce(x), rtol=1e-15)
    text = total.lower(Tensor(leaf(-np.inf)), a).as_text("assembly")
    assert text.count("log1p(") == 1


@BACKENDS
def test_a_run_of_equal_values_is_one_logarithm(backend):
    x = np.zeros(1000)
    x[17] = 2.5
    with using(backend):
        a = sparse(0.0, x)
        found = total(Tensor(leaf(-np.inf)), a).value
        np.testing.assert_allclose(found, np.logaddexp.reduce(x), rtol=1e-13)
    text = total.lower(Tensor(leaf(-np.inf)), a).as_text("assembly")
    assert text.count("for ") == 1
    assert " log(" in text


def test_outside_of_kernels_it_is_a_function():
    assert log_add_exp(1.0, 1.0) == pytest.approx(np.logaddexp(1.0, 1.0))
