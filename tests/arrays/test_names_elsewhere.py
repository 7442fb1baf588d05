"""Names of other libraries that tensors lack are not there, and who asks is told what is."""

import importlib
import re

import numpy as np
import pytest

import finch_array as fa
from finch_array.namespace import _OF_OTHERS
from finch_core import Tensor
from finch_core.interface.names_elsewhere import ELSEWHERE
from finch_levels import Dense, Element, SparseList
from finch_wrappers import offset

A = Tensor(Dense(SparseList(Element(0.0))), np.eye(3))


@pytest.mark.parametrize("name", sorted(ELSEWHERE))
@pytest.mark.parametrize("array", [A, A.T, offset(A, 1, 0), fa.lazy(A)])
def test_who_asks_is_told(array, name):
    assert not hasattr(array, name)
    assert name not in dir(array)
    with pytest.raises(AttributeError, match=f"no attribute '{name}': ") as caught:
        getattr(array, name)
    assert caught.value.name == name


def test_what_is_told_is_there():
    told = set()
    for name in ELSEWHERE:
        with pytest.raises(AttributeError) as caught:
            getattr(A, name)
        told |= set(re.findall(r"\b(\w+)\(", str(caught.value).partition(": ")[2]))
    assert {"todense", "to_scipy_sparse", "nonzero", "to"} < told
    assert all(any(hasattr(x, name) for x in (A, fa, np)) for name in told)


def test_names_of_other_libraries_are_told_what_is_there():
    for name in _OF_OTHERS:
        with pytest.raises(AttributeError, match=f"no attribute '{name}': ") as caught:
            getattr(fa, name)
        for module, found in re.findall(r"\b(finch_array|finch_core|np)\.(\w+)", str(caught.value)):
            assert hasattr({"np": np}.get(module) or importlib.import_module(module), found)


def test_a_class_may_have_them():
    class Data(Tensor):
        data = property(lambda self: self.nnz)

    assert Data(A.format, np.eye(3)).data == 3
