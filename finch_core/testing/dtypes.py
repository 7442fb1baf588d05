"""The suite that a dtype of a plugin must pass."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import pytest

from finch_core.interface.plugins import hub
from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import concrete, is_storable
from finch_core.ir.expressions import Access, Cast, Expr, Index, call
from finch_core.ir.operators import Operator, operator
from finch_core.ir.program import Loop, Program, Sequential, Update
from finch_core.ir.stored_dtypes import StoredDtype
from finch_core.runtime.kernel import Kernel
from finch_core.runtime.options import Options
from finch_core.runtime.tensor import Tensor
from finch_core.testing.arrays import Array
from finch_core.testing.dtype_scalars import DtypeScalars
from finch_core.testing.formats import leaf
from finch_core.testing.running import backend_names

DType = np.dtype[Any]


class DtypeSuite(DtypeScalars):
    """Tests of a registered ``StoredDtype``, whose oracle is NumPy. A complete test module::

        class TestMyDtype(DtypeSuite):
            name = "my_dtype"
            dtype = np.dtype(my_library.my_dtype)
            edges = np.array([0, 1, -1, 1e30, float("nan")], dtype)

    ``edges`` are the values on which operators are asked, in pairs. ``partners`` are other dtypes
    for the second operand. Scalars, names and returned numbers hold each of ``edges``. ``casts``
    are the dtypes that values are converted to and from, where ``ndarray.astype`` is the oracle.
    ``inexact`` names operators that are asked to a relative error of ``rtol``.
    """

    name: ClassVar[str]
    dtype: ClassVar[DType]
    edges: ClassVar[Array]
    partners: ClassVar[Sequence[Any]] = ()
    casts: ClassVar[Sequence[Any]] = ()
    inexact: ClassVar[frozenset[str]] = frozenset()
    rtol: ClassVar[float] = 0.0

    # -- storage ----------------------------------------------------------------------------

    def test_it_is_registered(self) -> None:
        row: StoredDtype = hub().dtypes[self.name]
        assert row.objection == ""
        assert row.covers(self.dtype)
        assert is_storable(self.dtype)
        assert row.storage.itemsize == self.dtype.itemsize

    @pytest.mark.parametrize("layout", ["dense", "compressed"])
    def test_tensors_keep_its_values(self, layout: str) -> None:
        zero = np.zeros((), self.dtype)[()]
        rows = np.array([self.edges, self.edges[::-1], np.zeros_like(self.edges)])
        made = hub().layout(layout)
        found = Tensor(made(made(leaf(zero, self.dtype))), rows)
        assert found.dtype == self.dtype
        _same(np.asarray(found), rows, layout)

    # -- operators --------------------------------------------------------------------------

    @pytest.mark.parametrize("backend", backend_names())
    def test_operators_mean_what_they_evaluate_to(self, backend: str) -> None:
        wrong = {}
        for kinds, ops in self._cases().items():
            columns = self._columns(kinds)
            values = {op.name: lambda *x, op=op: call(op, *x) for op in ops}
            for op, found in zip(ops, _run(values, columns, backend), strict=True):
                wanted = _meaning(op, columns)
                try:
                    _same(found, wanted, op.name, self.rtol if op.name in self.inexact else 0.0)
                except AssertionError as error:
                    wrong[f"{op.name} on {kinds}"] = str(error)
        assert not wrong, "\n".join(f"{name}: {text}" for name, text in wrong.items())

    def _cases(self) -> dict[tuple[DType, ...], list[Operator]]:
        """The operators that NumPy has for the dtype, by the dtypes of their operands."""
        cases: dict[tuple[DType, ...], list[Operator]] = {}
        for name in prim.PRIMITIVES:
            op = operator(name)
            least = op.arity[0]
            others = [self.dtype, *map(np.dtype, self.partners)]
            kinds: list[tuple[DType, ...]]
            kinds = [(self.dtype,)] if least == 1 else [(self.dtype, other) for other in others]
            kinds += [(other, self.dtype) for other in others[1:] if least == 2]
            for given in kinds:
                if least <= 2 and name not in _ASKED_ELSEWHERE and _is_defined(op, given):
                    cases.setdefault(given, []).append(op)
        return cases

    def _columns(self, kinds: tuple[DType, ...]) -> list[Array]:
        values = [self._values(dtype) for dtype in kinds]
        if len(values) == 1:
            return values
        first, second = values
        return [np.repeat(first, len(second)), np.tile(second, len(first))]

    def _values(self, dtype: DType) -> Array:
        if dtype == self.dtype:
            return self.edges
        return np.array([0, 1, 3, 2, 5, 7] if dtype.kind == "u" else [0, 1, -1, 2, -3, 7], dtype)

    # -- casts ------------------------------------------------------------------------------

    @pytest.mark.parametrize("backend", backend_names())
    def test_casts_are_those_of_astype(self, backend: str) -> None:
        for other in map(np.dtype, self.casts):
            for source, target in ((self.dtype, other), (other, self.dtype)):
                values = self._values(source)
                value = {"cast": lambda x, t=target: Cast(x, t)}
                found = next(_run(value, [values], backend))
                with _quiet():
                    wanted = values.astype(target)
                    known = _fits(values, target)
                _same(found[known], wanted[known], f"{source} to {target}")


def _fits(values: Array, target: DType) -> Array:
    """Which values all processors convert alike: not of those beyond the
    integers."""
    if target.kind not in "iu" or values.dtype.kind in "mM":
        return np.ones(values.shape, bool)
    known: Array = np.isfinite(values) & (np.abs(values.astype(float)) < 2.0**31)
    return known


_ASKED_ELSEWHERE = frozenset({"tuple", "ifelse", "and", "or", "not"})
"""Operators of which the operands are bools, or tuples."""


def _is_defined(op: Operator, types: tuple[DType, ...]) -> bool:
    try:
        return is_storable(concrete(op.typing(types)[1]))
    except TypeError:
        return False


def _run(
    values: Mapping[str, Callable[..., Expr]], columns: list[Array], backend: str
) -> Iterator[Array]:
    """The expressions ``values`` of the columns' elements, all by one kernel."""
    at = Index("i")
    names = [f"x{k}" for k in range(len(columns))]
    holders = [Access(column, (at,)) for column in names]
    typed = [_Typed(column.dtype) for column in columns]
    targets = [f"out_{name}" for name in values]
    updates = tuple(
        Update(Access(target, (at,)), None, value(*holders))
        for target, value in zip(targets, values.values(), strict=True)
    )
    program = Program("operators", (*targets, *names), Loop(at, None, Sequential(updates)))
    dtypes = (np.dtype(concrete(value(*typed).dtype)) for value in values.values())
    outs = [np.zeros(len(columns[0]), dtype) for dtype in dtypes]
    Kernel.of_program(program, Options(backend=backend), quiet=True)(*outs, *columns)
    yield from outs


class _Typed(Expr):
    """An operand of which the dtype alone is known."""

    def __init__(self, dtype: DType) -> None:
        self._dtype = dtype

    @property
    def dtype(self) -> Any:
        return self._dtype


def _meaning(op: Operator, columns: list[Array]) -> Array:
    wanted, result = op.typing(tuple(column.dtype for column in columns))
    with _quiet():
        given = [c.astype(concrete(t)) for c, t in zip(columns, wanted, strict=True)]
        rows = [op.evaluate(*row) for row in zip(*given, strict=True)]
        return np.array(rows).astype(concrete(result))


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _same(found: Array, wanted: Array, what: str, rtol: float = 0.0) -> None:
    assert found.dtype == wanted.dtype, f"{what}: {found.dtype}, not {wanted.dtype}"
    both = (found != found) & (wanted != wanted)
    same = (found == wanted) | both
    if rtol:
        with _quiet():
            near = np.abs(found.astype(float) - wanted.astype(float))
        same |= near <= rtol * np.abs(wanted.astype(float))
    at = np.flatnonzero(~np.ravel(same))
    first = [f"{np.ravel(found)[k]!r}, not {np.ravel(wanted)[k]!r} at {k}" for k in at[:3]]
    assert not first, f"{what}: {'; '.join(first)}"


__all__ = ["DtypeSuite"]
