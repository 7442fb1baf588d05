"""A pytest plugin: SciPy's own tests for the sparse arrays of pydata run on tensors in their place.

    python -m pytest -p scipy_stand_in --pyargs scipy.sparse.csgraph.tests.test_pydata_sparse

with this folder on ``PYTHONPATH``.
"""

from __future__ import annotations

import sys
import types
from abc import ABC
from typing import Any, ClassVar

import numpy as np

import finch_array as fa
from finch_array.leaves import relabelled
from finch_core import Tensor
from finch_core.interface.array_methods import ArrayMethods
from finch_levels import Dense, Element, SparseHash, SparseList


class SparseArray(ABC):  # noqa: B024 (pydata's, which has abstract methods)
    """The class that SciPy looks for."""


SparseArray.register(ArrayMethods)


class COO(Tensor):
    """A tensor that is made of an array alone, as pydata's are."""

    __slots__ = ()
    level: ClassVar[Any] = SparseList

    def __init__(self, array: Any) -> None:
        array = np.asarray(array)
        super().__init__(Dense(self.level(Element(array.dtype.type(0)))), array)

    @classmethod
    def from_scipy_sparse(cls, matrix: Any) -> Any:
        return cls(matrix.toarray())


def _set_fill(tensor: Any, value: Any) -> None:
    """Give a tensor another fill in place: pydata's arrays allow it, and the tests do it."""
    wide = np.result_type(tensor.dtype, type(value))
    cast = tensor.astype(wide)
    found = relabelled(cast, wide.type(value))
    tensor._setup(found.format)
    tensor.adopt(found.record, found.arrays)


Tensor.fill_value = property(lambda self: self.format.fill_value, _set_fill)  # type: ignore


class DOK(COO):
    """The same in hash tables."""

    __slots__ = ()
    level = SparseHash


module: Any = types.ModuleType("sparse")
module.COO, module.DOK, module.SparseArray, module.__version__ = COO, DOK, SparseArray, "0.16.0"
module.eye, module.tril = fa.eye, lambda x, k=0: fa.tril(x, k=k)
module.asarray, module.triu = fa.asarray, lambda x, k=0: fa.triu(x, k=k)
sys.modules["sparse"] = module
