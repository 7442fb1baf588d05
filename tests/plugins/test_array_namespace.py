"""Tensors find their operators by the hook ``finch_array_namespace``; without it they say so."""

from __future__ import annotations

import subprocess
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from finch_core import Tensor
from finch_core.interface.array_namespace import ArrayNamespace
from finch_core.plugins import hookimpl, hub
from finch_levels import Dense, Element, SparseList


def vector() -> Tensor:
    return Tensor(SparseList(Element(0.0)), np.array([0.0, 2.0, 0.0]))


class Words:
    """A namespace whose functions say what they were called with."""

    @staticmethod
    def array_method(name: str) -> Any:
        return lambda *args: (name, *args[1:])


@pytest.fixture
def words_alone() -> Iterator[None]:
    plugin = types.SimpleNamespace(
        finch_array_namespace=hookimpl(lambda: ArrayNamespace("a_words", Words))
    )
    own = next(p for p in hub()._plugins.values() if p.name == "array").module
    hub().unregister("array")
    hub().register(plugin, "words")
    yield
    hub().unregister("words")
    hub().register(own, "array")


@pytest.mark.usefixtures("words_alone")
def test_operators_are_those_of_the_plugin() -> None:
    assert vector() + 1 == ("add", 1)
    assert vector().sum() == ("sum",)
    assert vector()[0:1] == ("getitem", slice(0, 1))
    assert vector()[1] == 2


def test_the_operators_of_this_distribution_come_back() -> None:
    assert (vector() + 1).to_numpy().tolist() == [1, 3, 1]


PROGRAM = """
import numpy as np
from finch_core import Tensor
from finch_core.plugins import hub
from finch_levels import Element, SparseList
hub().block("array")
A = Tensor(SparseList(Element(0.0)), np.ones(3))
try:
    {code}
except Exception as error:
    print(type(error).__name__, error, sep=": ")
"""


def told(code: str) -> str:
    command = [sys.executable, "-c", PROGRAM.format(code=code)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize("code", ["A + A", "A == A", "-A", "A.sum()", "A @ A", "np.sin(A)"])
def test_without_a_namespace_the_operators_say_so(code: str) -> None:
    assert told(code) == (
        "TypeError: tensors have no operators or array functions: no plugin provides an array "
        "namespace. finch_array does; it may be missing, or blocked "
        "(python -m finch_core plugins)\n"
    )


def test_without_a_namespace_elements_are_read_one_by_one() -> None:
    assert told("print(A[1])") == "1.0\n"
    assert "element access takes integers, not slice" in told("A[0:2]")


def test_the_core_does_not_import_the_namespace_before_it_is_used() -> None:
    code = "from finch_core import Tensor; from finch_core.plugins import hub; hub(); import sys; "
    code += "print('finch_array.methods' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_a_hidden_namespace_leaves_dense_tensors_alone() -> None:
    assert Tensor(Dense(Element(0.0)), np.ones(2)).to_numpy().tolist() == [1, 1]
