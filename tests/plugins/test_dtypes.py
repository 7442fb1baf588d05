"""Dtypes that plugins map to those of the backends: the built-in ones, and one made here."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from finch_core import FormatError, PluginError, Tensor, _, kernel, parallel, read, write
from finch_core.ir.stored_dtypes import StoredDtype
from finch_core.plugins import hookimpl, hub
from finch_core.testing import DtypeSuite, backend_names, on
from finch_levels import (
    Dense,
    Element,
    Scalar,
    ShortCircuitScalar,
    SparseList,
    SparseScalar,
)

BACKENDS = backend_names()
NAT = "NaT"
BFLOAT16 = np.dtype(ml_dtypes.bfloat16).type


class TestSpans(DtypeSuite):
    name = "dates"
    dtype = np.dtype("m8[s]")
    edges = np.array([0, 1, -1, 7, -7, 86400, 10**9, NAT], "m8[s]")
    partners = ("m8[ms]", "int64", "float64", "M8[D]")
    casts = ("m8[ns]", "m8[D]", "int64", "float64", "bool")


class TestDates(DtypeSuite):
    name = "dates"
    dtype = np.dtype("M8[D]")
    edges = np.array(["1970-01-01", "2024-02-29", "1969-12-31", "2100-01-01", NAT], "M8[D]")
    partners = ("M8[s]", "m8[D]", "m8[h]")
    casts = ("M8[s]", "M8[ns]", "int64")


class TestBfloat16(DtypeSuite):
    name = "bfloat16"
    rtol = 2.0**-7
    inexact = frozenset(
        "pow exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh "
        "arcsinh arccosh arctanh arctan2 hypot cbrt sqrt".split()
    )

    dtype = np.dtype(ml_dtypes.bfloat16)
    edges = np.array(
        [0, -0.0, 1, -1.5, 2.5, 3, 7, 1e-3, 1e30, 3e38, np.inf, -np.inf, np.nan], ml_dtypes.bfloat16
    )

    casts = ("float32", "float64", "int32", "bool")


def late(y, T, t):
    y[...] = 0
    for i in _:
        for j in _:
            if T[i, j] > t:
                y[i] += T[i, j] - t
    return y


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("level", [Dense, SparseList])
def test_spans_since_a_date_are_summed(backend: str, level: Any) -> None:
    days = np.array(["2020-01-05", NAT, "2021-03-01", "2020-02-02"], "M8[D]")
    data = np.array([days, days[::-1]])
    T = Tensor(Dense(level(Element(np.datetime64(NAT, "D")))), data)
    t = np.datetime64("2020-02-01")
    found = on(backend, late)(np.zeros(2, "m8[h]"), T, t)
    wanted = np.where(data > t, data - t, np.timedelta64(0, "D")).sum(1)
    assert (found == wanted).all()
    assert (np.asarray(on(backend, late).reference(np.zeros(2, "m8[h]"), T, t)) == wanted).all()


def total(s, x):
    for i in _:
        s[()] += x[i]
    return s


def parallel_total(s, x):
    for i in parallel(_):
        s[()] += x[i]
    return s


def greatest(x):
    t = x[0]
    for i in _:
        t = max(t, x[i])
    return t


def squared_rows(y, A):
    for i in _:
        t = Scalar(BFLOAT16(0.5))
        for j in _:
            t[()] += A[i, j]
        y[i] = t[()] * t[()]
    return y


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("program", [total, parallel_total])
@pytest.mark.parametrize("scalar", [Scalar, SparseScalar, ShortCircuitScalar])
def test_scalars_lie_in_records_as_they_are_stored(backend: str, program: Any, scalar: Any) -> None:
    """A record holds the bits of a bfloat16, which are decoded where they are computed with."""
    x = np.array([1.5, 2, 3], BFLOAT16)
    found = on(backend, program)(scalar(BFLOAT16(0)), x)
    assert float(found.value) == 6.5
    assert float(on(backend, program).reference(scalar(BFLOAT16(0)), x)) == 6.5


@pytest.mark.parametrize("backend", BACKENDS)
def test_scalars_within_a_kernel_and_returned_numbers_are_decoded(backend: str) -> None:
    x = np.array([1.5, 2, 3], BFLOAT16)
    assert (float(on(backend, greatest)(x)), float(on(backend, greatest).reference(x))) == (3, 3)
    A = np.array([[1, 2, 0], [0, 0.5, 3]], BFLOAT16)
    stored = Tensor(Dense(SparseList(Element(BFLOAT16(0)))), A)
    found = on(backend, squared_rows)(np.zeros(2, BFLOAT16), stored)
    assert found.astype(float).tolist() == [3.5**2, 16.0]


def test_units_of_the_calendar_are_refused() -> None:
    @kernel
    def months(y, x):
        for i in _:
            y[i] = x[i]

    with pytest.raises(
        FormatError,
        match=r"datetime64\[D\] is not converted to datetime64\[M\]: a calendar decides",
    ):
        months(np.zeros(3, "M8[M]"), np.zeros(3, "M8[D]"))


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"storage": np.dtype(object)}, r"has storage = dtype\('O'\): a dtype that backends have"),
        ({"computed": np.dtype("f8")}, "it needs decode and encode"),
        ({"covers": lambda: True}, r"called as covers\(dtype\)"),
    ],
)
def test_a_row_that_breaks_the_contract_is_refused(changed: dict[str, Any], why: str) -> None:
    row: dict[str, Any] = {
        "name": "mine",
        "covers": lambda dtype: dtype.kind == "S",
        "storage": np.dtype("i8"),
        "computed": np.dtype("i8"),
    }

    @hookimpl
    def finch_dtypes() -> Any:
        return StoredDtype(**row | changed)

    with pytest.raises(PluginError, match=why):
        hub().register(types.SimpleNamespace(finch_dtypes=finch_dtypes), "mine")


def test_a_dtype_comes_and_goes_with_its_plugin() -> None:
    @hookimpl
    def finch_dtypes() -> Any:
        return StoredDtype(
            "eight bytes", lambda dtype: dtype == "S8", np.dtype("u8"), np.dtype("u8")
        )

    with pytest.raises(FormatError, match="are not supported"):
        Element(np.bytes_(b"a"), np.dtype("S8"))
    hub().register(types.SimpleNamespace(finch_dtypes=finch_dtypes), "mine")
    try:
        assert Element(np.bytes_(b""), np.dtype("S8")).dtype == "S8"
    finally:
        hub().unregister("mine")
    with pytest.raises(FormatError, match="are not supported"):
        Element(np.bytes_(b"a"), np.dtype("S8"))


@pytest.mark.parametrize("ending", ["npy", "npz"])
@pytest.mark.parametrize("level", [Dense, SparseList])
def test_dates_come_back(tmp_path: Path, ending: str, level: Any) -> None:
    days = np.array([["2020-01-01", "NaT"], ["NaT", "1969-07-20"]], "M8[D]")
    written = Tensor(Dense(level(Element(np.datetime64("NaT", "D")))), days)
    write(tmp_path / f"a.{ending}", written)
    found = read(tmp_path / f"a.{ending}")
    assert found.dtype == days.dtype
    assert (found.to_numpy().view("i8") == days.view("i8")).all()


@pytest.mark.parametrize("ending", ["npy", "npz", "mtx", "tns", "ttx"])
def test_a_dtype_that_a_file_cannot_hold_is_refused_before_it_is_written(
    tmp_path: Path, ending: str
) -> None:
    written = Tensor(Dense(SparseList(Element(BFLOAT16(0)))), np.eye(2).astype(BFLOAT16))
    with pytest.raises(FormatError, match="bfloat16"):
        write(tmp_path / f"a.{ending}", written)
    assert not list(tmp_path.iterdir())
