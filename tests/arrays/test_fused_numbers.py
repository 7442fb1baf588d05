"""Numbers among the arguments of fused functions: what they give is that of the function itself,
whatever number came before."""

from __future__ import annotations

import numpy as np
import pytest
from array_support import fa

from finch_core import Tensor
from finch_levels import Dense, Element, SparseList

WHOLE = np.array([[0, 1, -2], [0, 0, 3]])

OF_NUMBERS = {
    "products": lambda x, c: c * c * x,
    "negative": lambda x, c: x * -c,
    "absolute": lambda x, c: abs(c) * x + +c,
    "difference": lambda x, c: (1 - c) * x,
    "quotients": lambda x, c: x * (c / 2) * (3 / c),
    "whole quotients": lambda x, c: x * (c // 0.75 + 7 % c),
    "powers": lambda x, c: c**2 * x + 2**c,
    "powers of Python": lambda x, c: x * pow(c, 2),
    "repeated": lambda x, c: sum(((c * k + 1) * x for k in range(3)), 0 * x),
    "updated": lambda x, c: updated(c) * x,
    "of a function": lambda x, c: fa.sqrt(abs(c)) * x,
    "compared": lambda x, c: (c > 1) * x,
}
WITH_ARRAYS = {
    "product": lambda x, c: x * c,
    "quotient": lambda x, c: x / c,
    "whole quotient": lambda x, c: x // c,
    "remainder": lambda x, c: x % c,
    "power": lambda x, c: abs(x) ** c,
    "largest": lambda x, c: fa.maximum(x, c),
    "sums": lambda x, c: fa.sum(x * c, axis=0) + c,
    "any": lambda x, c: fa.any(x * c, axis=0),
}


def updated(c):
    c += 1
    c *= 2
    return c


def sparse(dtype):
    return Tensor(Dense(SparseList(Element(dtype(0)))), WHOLE.astype(dtype))


def agree(function, x, numbers):
    """The fused function and the function itself, for one number after the other."""
    x, fused = fa.asarray(x), fa.fused(function)
    for c in numbers:
        with np.errstate(all="ignore"):
            found, wanted = fused(x, c), function(x, c)
        assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape), c
        np.testing.assert_allclose(found.to_numpy(), wanted.to_numpy(), rtol=1e-6, err_msg=str(c))


@pytest.mark.parametrize("name", OF_NUMBERS)
def test_numbers_computed_of_numbers_are_python_s(name):
    """They were arrays of float64, and made float32 float64."""
    agree(OF_NUMBERS[name], sparse(np.float32), (2.0, 0.5, -3.0, np.float64(2.5)))


@pytest.mark.parametrize("name", WITH_ARRAYS)
def test_numbers_beyond_a_dtype_have_fills_of_their_own(name):
    """0 times a number that is infinite in float32 was 0."""
    agree(WITH_ARRAYS[name], sparse(np.float32), (2.0, 1e-320, -1e39, 3.0))


@pytest.mark.parametrize("make", [np.array, lambda c: Tensor(Element(0.0), c)])
@pytest.mark.parametrize("name", WITH_ARRAYS)
def test_arrays_without_dimensions_are_numbers(name, make):
    """``x / c`` had the fill 0 where ``c`` is 0."""
    agree(WITH_ARRAYS[name], sparse(np.float64), map(make, (2.0, 0.0, np.inf, 3.0)))


@pytest.mark.parametrize("by", [-np.inf, 1e39])
def test_infinity_does_not_move_into_sums(by):
    """Infinity times each element is NaN where one is 0."""
    for x in (WHOLE, sparse(np.float32), Tensor(Dense(Dense(Element(np.float32(0)))), WHOLE)):
        agree(lambda x, c: fa.sum(x, axis=0) * c, x, (2.0, by))
        agree(lambda x, c: (x @ x.T) * c, x, (by, 3.0))


def test_numbers_that_become_others():
    """0, infinity and other types are traced; what Python refuses is refused."""
    x = sparse(np.float64)
    agree(lambda x, c: x * (c - 1), x, (2.0, 1.0, 3.0, np.float64(1), 4))
    agree(lambda x, c: x * (c * c), x, (2.0, 1e200, 3.0))
    agree(lambda x, c: x * c**0.5, x, (2.0, -4.0, 3.0, 1j))
    agree(lambda x, c: x * (1 if c - 1 else 2), x, (2.0, 1.0, 3.0))
    reciprocal = fa.fused(lambda x, c: x * (1 / (c - 1)))
    assert reciprocal(x, 2.0).to_numpy().tolist() == WHOLE.tolist()
    with pytest.raises(ZeroDivisionError):
        reciprocal(x, 1.0)
    assert reciprocal(x, 1.5).to_numpy().tolist() == (2 * WHOLE).tolist()


def test_other_numbers_run_the_same_plan():
    x, traced = sparse(np.float32), []
    fused = fa.fused(lambda x, c: traced.append(c) or x * (1 - c) * c)
    for c in (0.5, 0.25, 3.0):
        np.testing.assert_allclose(fused(x, c).to_numpy(), WHOLE * (1 - c) * c)
    assert len(traced) == 1
