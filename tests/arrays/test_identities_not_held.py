"""Operators whose identity or annihilator a dtype does not hold: it has none there."""

from __future__ import annotations

import math
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import finch_array as fa
from finch_core import Tensor
from finch_core.errors import FormatError
from finch_core.operators import define_operator
from finch_core.plugins import hookimpl, hub
from finch_levels import Dense, Element, SparseList


def lesser(a, b):
    return a if a < b else b


@pytest.fixture(params=[math.inf, math.nan, 0.5, 2**70, -1, 1j], ids=str)
def beyond(request: pytest.FixtureRequest) -> Iterator[Any]:
    """An operator whose identity uint8 does not hold."""
    least = define_operator(
        lesser, name="lesser", associative=True, commutative=True, identity=request.param
    )

    @hookimpl
    def finch_operators() -> Any:
        return least

    hub().register(SimpleNamespace(finch_operators=finch_operators), "lesser")
    yield least
    hub().unregister("lesser")


def test_reductions_begin_with_no_cast_value(beyond: Any) -> None:
    rows = np.array([[1, 2], [0, 3]], np.uint8)
    for data in (rows, Tensor(Dense(SparseList(Element(np.uint8(0)))), rows)):
        with pytest.raises(FormatError) as error:
            fa.einsum("s[i] lesser= A[i, j]", A=data)
        told = str(error.value)
        assert told.startswith("'lesser' has no identity in uint8 to begin a reduction with")
        with pytest.raises(FormatError, match="no identity in uint8"):
            fa.compute(fa.einsum("s[i] lesser= A[i, j]", A=fa.lazy(data)))


def test_dtypes_that_hold_it_reduce() -> None:
    least = define_operator(
        lesser, name="lesser", associative=True, commutative=True, identity=math.inf
    )
    assert least.identity is not None
    for dtype in (np.float32, np.complex128):
        assert least.identity(np.dtype(dtype)) == dtype(math.inf)
    for none in (np.int64, bool, "M8[s]"):
        assert least.identity(np.dtype(none)) is None
    zero = define_operator(lesser, name="lesser", identity=0).identity
    assert zero is not None
    assert [zero(np.dtype(d)) for d in (np.uint8, float, bool)] == [0, 0.0, False]
    assert zero(np.dtype("m8[s]")) is None


def test_the_greatest_complex_number_has_no_identity() -> None:
    with pytest.raises(FormatError, match="'maximum' has no identity in complex128"):
        fa.einsum("s[i] max= A[i, j]", A=np.ones((2, 2), complex))


def test_annihilators_neither() -> None:
    plus = define_operator(lambda a, b: a + b, name="plus", annihilator=math.inf)
    assert plus.annihilator is not None
    assert plus.annihilator(np.dtype(float)) == math.inf
    assert plus.annihilator(np.dtype(int)) is None


def test_what_is_no_number_is_refused() -> None:
    with pytest.raises(TypeError) as error:
        define_operator(lesser, name="lesser", identity="a")
    assert str(error.value) == "identity='a' is no number, and no function of a dtype"
