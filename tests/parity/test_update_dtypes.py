"""An update stores in the target's dtype what it computed in that of both operands: the algebra of
its operator holds where it is computed, not where it is stored."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from finch_core import Tensor, choose, kernel, maxby, minby
from finch_core.errors import FormatError
from finch_core.frontend.user_operators import define_operator
from finch_core.ir.dtypes import SUPPORTED
from finch_core.testing import backend_names, using
from finch_levels import (
    Dense,
    Element,
    RunList,
    Scalar,
    ShortCircuitScalar,
    SparseList,
    SparseRunList,
    SparseScalar,
)

BACKENDS = pytest.mark.parametrize("backend", backend_names())
SCALARS = (Scalar, SparseScalar, ShortCircuitScalar)
LEVELS = (Dense, SparseList, RunList, SparseRunList)


def plus(s, A):
    for i in _:
        s[()] += A[i]
    return s


def minus(s, A):
    for i in _:
        s[()] -= A[i]
    return s


def times(s, A):
    for i in _:
        s[()] *= A[i]
    return s


def least(s, A):
    for i in _:
        s[()] = min(s[()], A[i])
    return s


def most(s, A):
    for i in _:
        s[()] = max(s[()], A[i])
    return s


def minimum(s, A):
    for i in _:
        s[()] = np.minimum(s[()], A[i])
    return s


def all_bits(s, A):
    for i in _:
        s[()] &= A[i]
    return s


def any_bits(s, A):
    for i in _:
        s[()] |= A[i]
    return s


def odd_bits(s, A):
    for i in _:
        s[()] ^= A[i]
    return s


def first_nonzero(s, A):
    for i in _:
        s[()] = choose(0)(s[()], A[i])
    return s


def either(s, A):
    for i in _:
        s[()] = s[()] or A[i]
    return s


@define_operator(idempotent=True)
def joined(a, b):
    """The larger hundreds and the larger rest: idempotent, but not so what a byte keeps of it."""
    return max(a // 100, b // 100) * 100 + max(a % 100, b % 100)


def parts(s, A):
    for i in _:
        s[()] = joined(s[()], A[i])
    return s


PROGRAMS = (plus, minus, times, least, most, minimum, all_bits, any_bits, odd_bits, first_nonzero,
            either, parts)  # fmt: skip


def check(function: Any, backend: str, *args: Any) -> None:
    with using("interpreter"):
        run = kernel(backend=backend)(function)
        expected = run.reference(*args)
        np.testing.assert_array_equal(run(*args).to_numpy(), expected, strict=True)


@BACKENDS
@pytest.mark.parametrize("scalar", SCALARS)
def test_the_least_that_a_narrow_scalar_holds_is_not_the_least_there_is(scalar, backend):
    A = Tensor(Dense(Element(0, np.int8)), np.array([3, 0, -2, 9], np.int8))
    check(least, backend, scalar(9, np.uint8), A)
    A = Tensor(Dense(Element(0, np.int16)), np.array([3, 127, 200], np.int16))
    check(most, backend, scalar(0, np.int8), A)


@BACKENDS
@pytest.mark.parametrize("scalar", SCALARS)
def test_what_is_no_identity_where_it_is_computed_is_not_skipped(scalar, backend):
    """-1 cast to uint8 is the largest, but less than all others as it is."""
    A = Tensor(SparseList(Element(-1, np.int8)), np.array([3, -1, 5], np.int8))
    check(least, backend, scalar(9, np.uint8), A)
    A = Tensor(SparseList(Element(256, np.int16)), np.array([3, 256, 5], np.int16))
    check(most, backend, scalar(9, np.uint8), A)


@BACKENDS
def test_a_truth_that_is_stored_as_a_number(backend):
    A = Tensor(SparseList(Element(False)), np.zeros(3, bool))
    check(either, backend, Scalar(5, np.int8), A)
    check(either, backend, ShortCircuitScalar(5, np.int8), A)


@BACKENDS
def test_an_operator_that_is_idempotent_only_where_it_is_computed(backend):
    A = Tensor(RunList(Element(0, np.int16)), np.array([356] * 5, np.int16))
    check(parts, backend, Scalar(99, np.uint8), A)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.float32])
def test_a_wider_scalar_still_ends_its_loop(dtype):
    A = Tensor(Dense(Element(0, dtype)), np.array([1, 2], dtype))
    s = ShortCircuitScalar(0, np.result_type(dtype, np.float32 if dtype is np.float32 else int))
    text = kernel(backend="interpreter")(first_nonzero).lower(s, A).as_text("assembly")
    assert "break" in text


def test_a_reduction_that_nothing_settles_has_no_test():
    """No uint8 is below all of int8."""
    A = Tensor(Dense(Element(0, np.int8)), np.zeros(3, np.int8))
    run = kernel(backend="interpreter")(least)
    assert "break" not in run.lower(ShortCircuitScalar(9, np.uint8), A).as_text("assembly")
    assert "break" in run.lower(ShortCircuitScalar(9, np.int16), A).as_text("assembly")


def test_a_sum_is_narrow_where_no_more_of_it_is_kept():
    """What is added to bytes is a byte: no detour through 64 bits."""
    A = Tensor(RunList(Element(0, np.int64)), np.full(9, 300))
    text = kernel(backend="interpreter")(plus).lower(Scalar(0, np.uint8), A).as_text("assembly")
    assert "int64(s_val)" not in text
    check(plus, "interpreter", Scalar(7, np.uint8), A)


def refusal(run: Any, *args: Any) -> str:
    try:
        run.lower(*args)
    except FormatError as error:
        return error.message
    return ""


def edges(dtype: np.dtype[Any]) -> list[Any]:
    if dtype.kind == "b":
        return [False, True]
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return [0, 1, 2, 3, 5, info.min, info.max, info.max - 1, *((-1, -2) * (info.min < 0))]
    inf = float("inf")
    return [0.0, -0.0, 1.0, -1.0, 2.5, inf, -inf]


@st.composite
def updates(draw: Any) -> tuple[Any, Any, Any]:
    """A program, a scalar and a vector of two dtypes; few values, so that they recur."""
    to, of = (draw(st.sampled_from(SUPPORTED)) for _ in range(2))
    scalar = draw(st.sampled_from(SCALARS))(draw(st.sampled_from(edges(to))), to)
    values = st.sampled_from(edges(of))
    fill, others = draw(values), draw(st.lists(values, min_size=1, max_size=2))
    data = draw(st.lists(st.sampled_from([fill, *others]), max_size=9))
    format = draw(st.sampled_from(LEVELS))(Element(fill, of))
    return draw(st.sampled_from(PROGRAMS)), scalar, Tensor(format, np.array(data, of))


def is_idempotent(scalar: Any, vector: Any) -> bool:
    """Whether ``joined`` is what it is declared to be: what it computes of these does not wrap."""
    wide = np.result_type(scalar.dtype, vector.dtype)
    if wide.kind not in "iu":
        return True
    values = [int(x) for x in (scalar.value, vector.fill_value, *vector.to_numpy())]
    most = max(v // 100 for v in values) * 100 + max(v % 100 for v in values)
    return most <= np.iinfo(wide).max


@settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
@given(updates())
def test_updates_of_any_dtype_by_any_other(update):
    function, scalar, vector = update
    run = kernel(backend="interpreter", strict=True)(function)
    refused = refusal(run, scalar, vector)
    if refused:
        assert re.search("cannot take|not defined", refused)
        return
    assume(function is not parts or is_idempotent(scalar, vector))
    with np.errstate(all="ignore"):
        expected = run.reference(scalar, vector)
        np.testing.assert_array_equal(run(scalar, vector).to_numpy(), expected, strict=True)


@pytest.mark.parametrize(
    ("to", "of"), [("uint8", "int8"), ("int8", "uint8"), ("uint8", "int16"), ("float32", "float64")]
)
@pytest.mark.parametrize("scalar", SCALARS)
def test_compiled_updates_of_narrow_scalars(scalar, to, of):
    compiled = backend_names()[-1]
    values = edges(np.dtype(of))
    data = np.array([v for v in values for _ in range(2)], of)
    for function in (least, most, first_nonzero):
        for fill in values[-2:]:
            A = Tensor(SparseRunList(Element(fill, of)), data)
            check(function, compiled, scalar(5, to), A)


@BACKENDS
@pytest.mark.parametrize("by", [minby, maxby])
def test_tuples_of_narrow_numbers(by, backend):
    def argument(s, A):
        for i in _:
            s[()] = by(s[()], (A[i], i))
        return s

    with using("interpreter"):
        run = kernel(backend=backend)(argument)
        A = Tensor(RunList(Element(0, np.int8)), np.array([3, 3, -2, -2, 9], np.int8))
        s = Scalar((5, -1))
        expected = run.reference(s, A)
        assert run(s, A).value == expected[()].item()
