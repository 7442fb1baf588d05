"""Objects of another library are taken and given by a conversion, which a plugin brings."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

import attrs
import numpy as np
import pytest
import scipy.sparse

from finch_core import FormatError, PluginError, Tensor, _, asarray, kernel
from finch_core.interface.conversions import Conversion
from finch_core.plugins import hookimpl, hub
from finch_levels import Dense, Element, SparseList


class Table:
    """An array of another library."""

    def __init__(self, rows: Any) -> None:
        self.__table__ = np.asarray(rows, float)


CONVERSION = Conversion(
    "table", "__table__", "tables",
    lambda table: asarray(table.__table__), lambda tensor: Table(tensor.to_numpy()),
)  # fmt: skip


@pytest.fixture
def tables() -> Iterator[None]:
    plugin = types.SimpleNamespace(finch_conversion=hookimpl(lambda: CONVERSION))
    hub().register(plugin, "tables")
    yield
    hub().unregister("tables")


@kernel
def total(s, A):
    for i, j in _:
        s[()] += A[i, j]


@pytest.mark.usefixtures("tables")
def test_an_object_of_another_library_is_taken_everywhere() -> None:
    table = Table([[1, 0], [0, 2]])
    assert asarray(table).to_numpy().tolist() == [[1, 0], [0, 2]]
    assert Tensor(Dense(SparseList(Element(0.0))), table).nstored == 2
    s = np.zeros(())
    total(s, table)
    assert s == 3
    assert total.reference(np.zeros(()), table)["s"] == 3
    given = hub().conversion("table").give(Tensor(Dense(Element(0.0)), [1.0, 2.0]))
    assert given.__table__.tolist() == [1, 2]


@pytest.mark.usefixtures("tables")
def test_an_object_of_another_library_is_not_written() -> None:
    @kernel
    def fill(A):
        A[...] = 0
        for i, j in _:
            A[i, j] = 1

    with pytest.raises(FormatError, match="A is written, and tables are read only"):
        fill(Table([[1.0]]))


def test_without_its_plugin_an_object_is_refused() -> None:
    with pytest.raises(FormatError, match="A is a Table, which a kernel does not take"):
        total(np.zeros(()), Table([[1.0]]))
    with pytest.raises(PluginError, match="table"):
        hub().conversion("table")


def test_scipy_enters_by_the_same_hook() -> None:
    assert "scipy" in [entry.name for entry in hub().report() if not entry.failure]
    assert hub().conversion("scipy").attribute == "tocoo"


# -- protocols ----------------------------------------------------------------------------------


class Listed:
    """An object with ``__array__`` alone."""

    def __init__(self, data: Any) -> None:
        self.data = np.asarray(data, float)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.data


class Lent:
    """An object with ``__dlpack__`` alone."""

    def __init__(self, data: Any) -> None:
        self.data = np.asarray(data, float)

    def __dlpack__(self, **options: Any) -> Any:
        return self.data.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.data.__dlpack_device__()


class Sparse:
    """A sparse array of another library, which refuses to become dense."""

    def __init__(self, data: Any) -> None:
        self.data = scipy.sparse.csr_array(np.asarray(data, float))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise RuntimeError("never made dense")

    def to_scipy_sparse(self) -> Any:
        return self.data


@pytest.mark.parametrize("made", [Listed, Lent, Sparse])
def test_an_object_is_taken_by_its_protocol(made: Any) -> None:
    rows = [[1.0, 0.0], [0.0, 2.0]]
    assert asarray(made(rows)).to_numpy().tolist() == rows
    assert Tensor(Dense(SparseList(Element(0.0))), made(rows)).nstored == 2
    s = np.zeros(())
    total(s, made(rows))
    assert s == 3
    with pytest.raises(FormatError, match=r"s is written, and .* are read only"):
        total(made([[0.0]]), np.array(rows))


def test_memory_lent_by_dlpack_is_not_copied() -> None:
    lent = Lent([[1.0, 2.0]])
    tensor = asarray(lent)
    lent.data[0, 0] = 5
    assert tensor[0, 0] == 5


def test_an_object_that_does_not_give_its_array_is_refused() -> None:
    class Remote:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            raise TypeError("it is on a device")

    with pytest.raises(FormatError, match="this Remote cannot be read as an array: it is on a dev"):
        asarray(Remote())
    with pytest.raises(FormatError, match="this Remote cannot be read as an array"):
        total(np.zeros(()), Remote())


def test_a_plugin_precedes_protocols_and_recognises_types() -> None:
    path = f"{Listed.__module__}.{Listed.__qualname__}"
    found = Conversion(
        "listed", "", "lists", lambda o: asarray(2 * o.data), lambda t: t, types=(path,)
    )
    hub().register(types.SimpleNamespace(finch_conversion=hookimpl(lambda: found)), "listed")
    try:
        assert asarray(Listed([1.0])).to_numpy().tolist() == [2.0]
        assert asarray(Lent([1.0])).to_numpy().tolist() == [1.0]
    finally:
        hub().unregister("listed")


def test_a_bound_call_needs_to_know_whether_memory_moves() -> None:
    found = attrs.evolve(CONVERSION, memory=lambda table: table.__table__)
    hub().register(types.SimpleNamespace(finch_conversion=hookimpl(lambda: found)), "tables")
    try:
        with pytest.raises(FormatError, match="A may move: the conversion 'table' does") as error:
            total.bind(np.zeros(()), Table([[1.0]]))
        assert "bind the NumPy array over its memory" in str(error.value.hint)
    finally:
        hub().unregister("tables")


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (Conversion("x", "", "xs", abs, abs), "neither an attribute nor types"),
        (Conversion("x", 1, "xs", abs, abs), "attribute = 1"),  # type: ignore[arg-type]
        (Conversion("x", "", "xs", abs, abs, types="a.b"), "tuple of full names"),  # type: ignore[arg-type]
        (Conversion("x", "y", "xs", lambda: 1, abs), r"called as take\(object\)"),  # type: ignore[arg-type, misc]
        (types.SimpleNamespace(name="x", take=abs, give=abs), "not a finch_core.interface.conv"),
    ],
)
def test_what_is_no_conversion_is_refused(wrong: Any, why: str) -> None:
    with pytest.raises(PluginError, match=why):
        hub().register(types.SimpleNamespace(finch_conversion=hookimpl(lambda: wrong)), "x")
