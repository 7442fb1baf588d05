"""The applications of the Sparse Array Programming Suite on lazy arrays.

The suite is fetched by whoever wants to run it; in a checkout of it,

    python -m pytest -p bench.sparseappbench tests

runs its tests with ``Framework`` in the place of its frameworks of NumPy and of pydata/sparse.
Matrices and tensors are sparse throughout: dense inputs are stored by rows of lists, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np


class Framework:
    """What an application of the suite calls: the namespace of ``finch_array``, lazy arrays, and
    conversions from and to the suite's own format."""

    def from_benchmark(self, array: Any) -> Any:
        """A tensor from the suite's format: coordinates, or all values."""
        import finch_array as fa

        kind, shape = array.data["format"], tuple(array.data["shape"])
        if kind == "dense":
            return sparse(np.asarray(array.data["values"]).reshape(shape))
        if kind != "COO":
            raise ValueError(f"the suite has no format {kind!r}")
        coords = [array.data[f"indices_{k}"] for k in range(len(shape))]
        return fa.from_coo(tuple(coords), array.data["values"], shape)

    def to_benchmark(self, array: Any) -> Any:
        """The suite's format of all values."""
        from sparseappbench.binsparse_format import BinsparseFormat

        return BinsparseFormat.from_numpy(np.asarray(array))

    def lazy(self, array: Any) -> Any:
        """``array`` as a lazy one; tuples of arrays, too."""
        import finch_array as fa

        if isinstance(array, (tuple, list)):
            return type(array)(self.lazy(x) for x in array)
        return fa.lazy(array)

    def compute(self, array: Any) -> Any:
        """The tensors of lazy arrays."""
        import finch_array as fa

        return fa.compute(array)

    def einsum(self, program: str, **arrays: Any) -> Any:
        """A statement, lazily."""
        import finch_array as fa

        return fa.einsum(program, **arrays)

    def with_fill_value(self, array: Any, value: Any) -> Any:
        """``array`` with another fill."""
        return array.with_fill_value(value)

    def transpose(self, array: Any, axes: Any = None) -> Any:
        """NumPy's: without ``axes``, with the dimensions reversed."""
        return array.transpose(axes or range(array.ndim)[::-1])

    @property
    def linalg(self) -> Any:
        """Linear algebra, with NumPy's least squares."""
        return Linalg()

    @property
    def random(self) -> Any:
        """NumPy's random numbers, which the applications draw dense arrays from."""
        return np.random

    def __getattr__(self, name: str) -> Any:
        import finch_array as fa

        if name in ALIASES:
            return getattr(fa, ALIASES[name])
        return getattr(fa, name)


class Linalg:
    """``finch_array.linalg``, and what the array API standard lacks."""

    def lstsq(self, a: Any, b: Any, rcond: Any = None) -> Any:
        """Least squares of dense arrays, by NumPy."""
        import finch_array as fa

        found, *rest = np.linalg.lstsq(np.asarray(a), np.asarray(b), rcond=rcond)
        return (fa.asarray(found), *rest)

    def __getattr__(self, name: str) -> Any:
        import finch_array as fa

        return getattr(fa.linalg, name)


ALIASES = {"array": "asarray", "power": "pow"}
"""Names of NumPy that the applications use, in the array API standard."""


def sparse(array: Any) -> Any:
    """A NumPy array by rows of lists; vectors and numbers are dense."""
    from finch_array import asarray
    from finch_levels import Dense, Element, SparseList

    if array.ndim < 2:
        return asarray(array)
    format: Any = Element(array.dtype.type(0))
    for _ in range(array.ndim - 1):
        format = SparseList(format)
    return asarray(array, format=Dense(format))


def pytest_configure(config: Any) -> None:
    """Put ``Framework`` in the place of the suite's own, and take tensors where its tests make
    the suite's format of results."""
    del config
    from sparseappbench.binsparse_format import BinsparseFormat
    from sparseappbench.frameworks import numpy_framework, sparse_framework

    numpy_framework.NumpyFramework = Framework
    sparse_framework.PyDataSparseFramework = Framework
    made = BinsparseFormat.from_numpy
    BinsparseFormat.from_numpy = staticmethod(lambda array: made(np.asarray(array)))
