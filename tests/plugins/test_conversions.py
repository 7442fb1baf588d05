"""Objects of another library are taken and given by a conversion, which a plugin brings."""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

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
