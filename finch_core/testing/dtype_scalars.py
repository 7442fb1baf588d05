"""The part of ``DtypeSuite`` about single values: scalars, names, returned numbers, sums."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

from finch_core.frontend.functions import _, parallel
from finch_core.interface.plugins import hub
from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import as_number
from finch_core.runtime.kernel import Kernel
from finch_core.runtime.options import Options
from finch_core.runtime.tensor import Tensor
from finch_core.testing.arrays import Array
from finch_core.testing.running import backend_names, on


def last(s: Any, x: Any) -> None:
    """The last element of a vector."""
    for i in _:
        s[()] = x[i]


def chosen(s: Any, x: Any, keep: Any) -> None:
    """The last element that is kept, in a scalar that may stay as it is."""
    for i in _:
        if keep[i]:
            s[()] = x[i]


def named(y: Any, x: Any, keep: Any) -> None:
    """Each element, or the one before that was kept, by a name."""
    t = x[0]
    for i in _:
        if keep[i]:
            t = x[i]
        y[i] = t


def returned(x: Any) -> Any:
    """The last element, as the result of a call."""
    t = x[0]
    for i in _:
        t = x[i]
    return t


def given(y: Any, c: Any) -> None:
    """A number that is an argument, in each element."""
    for i in _:
        y[i] = c


def largest(s: Any, x: Any) -> None:
    """The largest element."""
    for i in _:
        s[()] = max(s[()], x[i])


def summed(s: Any, x: Any) -> None:
    """The sum of a vector."""
    for i in _:
        s[()] += x[i]


def summed_in_parallel(s: Any, x: Any) -> None:
    """The sum of a vector, by several threads."""
    for i in parallel(_):
        s[()] += x[i]


def summed_by_name(x: Any) -> Any:
    """The sum of a vector, by a name."""
    t = x[0]
    for i in range(1, x.shape[0]):
        t += x[i]
    return t


class DtypeScalars:
    """Tests of single values of a dtype; ``dtype`` and ``edges`` are those of the suite."""

    dtype: ClassVar[np.dtype[Any]]
    edges: ClassVar[Array]

    def _scalars(self, value: Any) -> list[Tensor]:
        """A scalar tensor of each kind, with this fill value."""
        return [Tensor(kind(value, self.dtype)) for kind in hub().scalars.values()]

    @pytest.mark.parametrize("backend", backend_names())
    def test_scalars_keep_its_values(self, backend: str) -> None:
        keep = np.arange(len(self.edges)) % 3 == 1
        for value in self.edges:
            x = np.array([self.edges[0], value], self.dtype)
            for s in self._scalars(self.edges[0]):
                on(backend, last)(s, x)
                _equal(s[()], value, s.format)
            _equal(on(backend, returned)(x), as_number(value), "a returned number")
            y = np.zeros(2, self.dtype)
            on(backend, given)(y, value)
            _equal(y[1], value, "an argument")
        for s in self._scalars(self.edges[0]):
            on(backend, chosen)(s, self.edges, keep)
            _equal(s[()], self.edges[keep][-1], s.format)
            _equal(s.value, as_number(self.edges[keep][-1]), f"the value of {s.format}")

    @pytest.mark.parametrize("backend", backend_names())
    def test_names_keep_its_values(self, backend: str) -> None:
        keep = np.arange(len(self.edges)) % 3 != 1
        found = np.zeros_like(self.edges)
        on(backend, named)(found, self.edges, keep)
        at = np.maximum.accumulate(np.where(keep, np.arange(len(keep)), 0))
        for k, value in enumerate(self.edges[at]):
            _equal(found[k], value, f"element {k}")

    @pytest.mark.parametrize("backend", backend_names())
    def test_the_largest_is_found(self, backend: str) -> None:
        """By ``max`` as Python has it, where the dtype has an order."""
        if not self._has(prim.maximum_):
            return
        for s in self._scalars(self.edges[0]):
            on(backend, largest)(s, self.edges)
            wanted = self.edges[0]
            for value in self.edges:
                wanted = prim.maximum_.evaluate(wanted, value)
            _equal(s[()], wanted, s.format)

    @pytest.mark.parametrize("backend", backend_names())
    def test_sums_are_those_of_numpy(self, backend: str) -> None:
        """The numbers are so small that no order of addition rounds, on one or several threads."""
        if not self._has(prim.add):
            return
        x = np.zeros(61, self.dtype)
        x[[1, 20, 60]] = np.array([1, 2, 1]).astype(self.dtype)
        wanted = np.array(x.astype(np.int64).sum()).astype(self.dtype)[()]
        zero = np.zeros((), self.dtype)[()]
        parts: Kernel[..., Any]
        parts = Kernel(summed_in_parallel, Options(backend=backend, least_work=16))
        for run in (on(backend, summed), parts):
            for s in self._scalars(zero):
                run(s, x)
                _equal(s[()], wanted, f"{run.program.name} into {s.format}")
        _equal(on(backend, summed_by_name)(x), as_number(wanted), "a sum by a name")

    def _has(self, op: Any) -> bool:
        """Whether an operator of two values of the dtype has a value of it."""
        try:
            return bool(np.dtype(op.typing((self.dtype, self.dtype))[1]) == self.dtype)
        except TypeError:
            return False


def _equal(found: Any, wanted: Any, what: Any) -> None:
    found, wanted = np.asarray(found), np.asarray(wanted)
    assert found.dtype == wanted.dtype, f"{what}: {found.dtype}, not {wanted.dtype}"
    assert found == wanted or (found != found and wanted != wanted), (
        f"{what}: {found}, not {wanted}"
    )


__all__ = ["DtypeScalars"]
