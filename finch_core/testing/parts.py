"""The test suites of leaves, scalars, operators and rewrite rules."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import pytest

from finch_core.frontend.functions import _
from finch_core.interface.level import Format
from finch_core.interface.plugins import hub
from finch_core.ir.dtypes import concrete, is_tuple
from finch_core.ir.expressions import Call, Expr, Literal, Var
from finch_core.ir.operators import Operator
from finch_core.ir.python_code import evaluate
from finch_core.runtime.tensor import Tensor
from finch_core.symbolic.plugin_rules import PluginRule
from finch_core.symbolic.simplifier import RULES, Simplifier
from finch_core.testing.arrays import array
from finch_core.testing.formats import admit, level_names, nest
from finch_core.testing.level_buffers import contents
from finch_core.testing.level_updates import more
from finch_core.testing.level_values import has_arrays
from finch_core.testing.running import ANY_ORDER, backend_names, on, using


class _Suite:
    backends: ClassVar[tuple[str | None, ...]] = ("interpreter", None)

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Parametrise tests by backend, and by installed format if they take ``level``."""
        if "backend" in metafunc.fixturenames:
            metafunc.parametrize("backend", backend_names(self.backends))
        if "level" in metafunc.fixturenames:
            metafunc.parametrize("level", level_names())


@ANY_ORDER
class LeafSuite(_Suite):
    """The tests that every leaf must pass below every level. A complete test module::

        class TestMyLeaf(LeafSuite):
            leaves = (MyLeaf(0.0), MyLeaf(1.0))

    Override ``kept`` if the leaf cannot hold every value.
    """

    leaves: ClassVar[Sequence[Format]]

    def kept(self, leaf: Format, data: Any) -> Any:
        """``data`` with the values that ``leaf`` cannot hold replaced."""
        return data

    def data(self, leaf: Format, shape: tuple[int, ...], kind: str) -> Any:
        """An array for a leaf: fill values and others."""
        return self.kept(leaf, array(shape, leaf.dtype, kind, 1, leaf.fill_value))

    def _below(self, level: str) -> list[Format]:
        """The leaves that a level can have: those that store no fill need a compressed level."""
        listed = hub().level(level) is hub().layout("compressed")
        return [leaf for leaf in self.leaves if leaf.holds_fill or listed]

    def test_its_fill_is_of_its_dtype(self) -> None:
        for leaf in self.leaves:
            assert leaf.is_leaf
            assert np.asarray(leaf.fill_value).dtype == leaf.dtype
            assert leaf == leaf
            assert hash(leaf) == hash(leaf)

    def test_what_is_stored_comes_back(self, backend: str, level: str) -> None:
        with using(backend):
            for leaf in self._below(level):
                for kind, n in (("half", 9), ("empty", 3), ("full", 1), ("runs", 6), ("half", 0)):
                    format = nest([hub().level(level)], leaf)
                    data = admit(format, self.data(leaf, (n,), kind))
                    found = Tensor(format, data).to_numpy()
                    np.testing.assert_array_equal(found, data, str(format), strict=True)

    def test_an_empty_tensor_is_fill(self, backend: str, level: str) -> None:
        with using(backend):
            for leaf in self._below(level):
                format = nest([hub().level(level)], leaf)
                expected = np.full(5, leaf.fill_value, leaf.dtype)
                np.testing.assert_array_equal(Tensor(format, (5,)).to_numpy(), expected)

    def test_it_is_updated(self, backend: str) -> None:
        """In-place addition, where the leaf's dtype has it."""
        for leaf in self.leaves:
            if is_tuple(leaf.dtype) or leaf.dtype.kind == "b":
                continue
            format = nest([hub().layout("dense")], leaf)
            first, rest = self.data(leaf, (7,), "half"), self.data(leaf, (7,), "full")
            with using(backend):
                tensor = Tensor(format, first)
            on(backend, more)(tensor, rest)
            with np.errstate(invalid="ignore"):
                expected = self.kept(leaf, first + rest)
            np.testing.assert_array_equal(tensor.to_numpy(), expected)

    def test_arrays_are_assigned(self, backend: str) -> None:
        """What is written to a dense array, or to lists, is in it, in whatever form the leaf stores
        it."""
        for leaf in self.leaves if has_arrays() else ():
            if is_tuple(leaf.dtype) or not leaf.holds_fill:
                continue
            for level in ("dense", "compressed"):
                format = nest([hub().layout(level)], leaf)
                wanted, other = self.data(leaf, (7,), "half"), self.data(leaf, (7,), "full")
                with using(backend):
                    tensor = Tensor(format, wanted)
                    for index in (2, slice(3, 6), np.array([6, 0]), Ellipsis):
                        tensor[index] = wanted[index] = other[index]
                        np.testing.assert_array_equal(tensor.to_numpy(), wanted, f"{format}")
                        wanted, tensor = wanted.copy(), tensor.copy()
                assert tensor.format == format

    def test_what_was_never_written_is_the_fill(self, backend: str) -> None:
        """Below a list, too, and in functions of arrays: a leaf may say that nothing is stored at a
        position (``is_stored``)."""
        for leaf in self.leaves:
            if not leaf.holds_fill:
                continue
            at, wanted = np.array([0, 3]), np.full(5, leaf.fill_value, leaf.dtype)
            wanted[at] = self.data(leaf, (2,), "full")
            with using(backend), np.errstate(all="ignore"):
                dense = nest([hub().layout("dense")], leaf)
                plain = on(backend, put)(Tensor(dense, (5,)), at, wanted[at])
                for tensor in (plain, _listed(plain)):
                    told = f" of {tensor.format}"
                    np.testing.assert_array_equal(tensor.to_numpy(), wanted, told, strict=True)
                    for name, function in _functions(leaf).items():
                        found = function(tensor).to_numpy()
                        np.testing.assert_array_equal(found, function(wanted), name + told)


def _listed(plain: Tensor) -> Tensor:
    """A list of all indices over the leaf of a dense vector."""
    (n,), leaf = plain.shape, plain.format.levels()[-1]
    format = nest([hub().layout("compressed")], leaf)
    made = {"ptr": np.array([0, n]), "idx": np.arange(n)}
    buffers = {f"0_{f.name}": made[f.name].astype(f.dtype) for f in format.fields}
    buffers |= {name: part for name, part in contents(plain).items() if name.startswith("1_")}
    return Tensor.from_buffers(format, (n,), buffers)


def put(out: Any, at: Any, x: Any) -> Any:
    """Set some elements of a vector."""
    for k in _:
        out[at[k]] = x[k]
    return out


def _functions(leaf: Format) -> dict[str, Callable[[Any], Any]]:
    """Array functions that are defined on a leaf's dtype, and do not keep its fill."""
    if not has_arrays() or is_tuple(leaf.dtype):
        return {}
    found: dict[str, Callable[[Any], Any]] = {"==": lambda x: x == leaf.fill_value}
    if leaf.dtype.kind in "iufc":
        one = leaf.dtype.type(1)
        found |= {"+": lambda x: x + one, "-": lambda x: one - x}
    return found


def assigned(s: Any, x: Any) -> Any:
    """``s = x``."""
    s[...] = 0
    s[()] = x
    return s


def summed(s: Any, a: Any) -> Any:
    """``s += a[i]`` for all, over what ``s`` holds."""
    for i in _:
        s[()] += a[i]
    return s


def scaled(out: Any, a: Any, s: Any) -> Any:
    """``out = a * s``, element by element."""
    out[...] = 0
    for i in _:
        out[i] = a[i] * s[()]
    return out


class ScalarSuite(_Suite):
    """The tests that every kind of scalar must pass, for scalars with the fill value 0. ::

    class TestMyScalar(ScalarSuite):
        scalars = (MyScalarLeaf(0.0), MyScalarLeaf(0, np.int8))
    """

    scalars: ClassVar[Sequence[Format]]

    def test_it_starts_as_its_fill(self, backend: str) -> None:
        with using(backend):
            for leaf in self.scalars:
                assert Tensor(leaf).value == leaf.fill_value == 0

    def test_it_holds_what_is_written(self, backend: str) -> None:
        for leaf in self.scalars:
            for x in (3, 0, 1):
                value = leaf.dtype.type(x)
                assert on(backend, assigned)(Tensor(leaf), value).value == value

    def test_it_is_added_to(self, backend: str) -> None:
        for leaf in self.scalars:
            scalar, total = Tensor(leaf), 0
            for n in (0, 1, 4):
                a = np.arange(1, n + 1).astype(leaf.dtype)
                on(backend, summed)(scalar, a)
                total += n * (n + 1) // 2
                assert scalar.value == total

    def test_it_is_read(self, backend: str) -> None:
        for leaf in self.scalars:
            for x in (0, 3):
                scalar = on(backend, assigned)(Tensor(leaf), leaf.dtype.type(x))
                a = np.arange(5).astype(leaf.dtype)
                found = on(backend, scaled)(np.zeros(5, leaf.dtype), a, scalar)
                np.testing.assert_array_equal(found, a * x)


class OperatorSuite(_Suite):
    """Tests of an operator's declared algebraic properties on its values. ::

    class TestMyOperator(OperatorSuite):
        operators = (my_operator,)
        values = (np.array([0.0, 1.0, -2.5]), np.array([0, 3], np.int8))

    ``values`` are arrays of operands. Results must agree to the relative tolerance ``rtol``.
    """

    operators: ClassVar[Sequence[Operator]]
    values: ClassVar[Sequence[Any]] = (np.array([0.0, 1.0, -2.5, 3.0]), np.array([0, 1, -2, 3]))
    rtol: ClassVar[float] = 1e-12

    def _pairs(self) -> Any:
        for op in self.operators:
            for x in self.values:
                yield op, x

    def _value(self, op: Operator, *args: Any) -> Any:
        types = [np.asarray(arg).dtype for arg in args]
        names = [Var(f"x{k}", dtype) for k, dtype in enumerate(types)]
        call = Call(op, tuple(names))
        return evaluate(call, {v.name: a for v, a in zip(names, args, strict=True)})

    def test_it_commutes_and_associates_as_it_says(self) -> None:
        for op, values in self._pairs():
            for a, b, c in itertools.product(values, repeat=3):
                if op.commutative:
                    self._same(self._value(op, a, b), self._value(op, b, a), op)
                if op.associative:
                    left = self._value(op, self._value(op, a, b), c)
                    self._same(left, self._value(op, a, self._value(op, b, c)), op)

    def test_its_identity_and_annihilator_are(self) -> None:
        for op, values in self._pairs():
            dtype = values.dtype
            one = None if op.identity is None else op.identity(dtype)
            none = None if op.annihilator is None else op.annihilator(dtype)
            for x in values:
                if one is not None:
                    self._same(self._value(op, x, dtype.type(one)), x, op)
                if none is not None:
                    self._same(self._value(op, x, dtype.type(none)), none, op)

    def test_it_is_idempotent_as_it_says(self) -> None:
        for op, values in self._pairs():
            if op.idempotent:
                for x in values:
                    self._same(self._value(op, x, x), x, op)

    def _same(self, found: Any, expected: Any, op: Operator) -> None:
        np.testing.assert_allclose(found, expected, rtol=self.rtol, err_msg=op.name)


class RuleSuite(_Suite):
    """Tests that rewrite rules terminate and preserve dtypes and values. ::

    class TestMyRule(RuleSuite):
        rules = (my_rule,)
        calls = (call(operator("mul"), Var("x", np.dtype(float)), 1.0),)

    ``calls`` are expressions, each of which a rule must match; their variables take all of
    ``values``. Results must agree to the relative tolerance ``rtol``.
    """

    rules: ClassVar[Sequence[Any]]
    calls: ClassVar[Sequence[Expr]]
    values: ClassVar[Sequence[Any]] = (0, 1, -2, 3)
    rtol: ClassVar[float] = 0.0

    def test_each_call_is_matched_and_means_the_same(self) -> None:
        for call in self.calls:
            assert isinstance(call, Call)
            made = [PluginRule(rule) for rule in self.rules]
            about = [rule.apply(call) for rule in made if rule.is_about(call.op)]
            assert any(new is not None for new in about), f"no rule matches {call!r}"
            for new in about:
                if new is not None:
                    self._same(call, new)

    def test_they_end_beside_the_others(self) -> None:
        simplifier = Simplifier((*RULES, *map(PluginRule, self.rules)))
        for call in self.calls:
            self._same(call, simplifier.expr_rule(call))

    def _same(self, before: Expr, after: Expr) -> None:
        assert concrete(before.dtype) == concrete(after.dtype)
        names = {n for e in (before, after) for n in e.walk() if isinstance(n, (Var, Literal))}
        vars_ = sorted((n for n in names if isinstance(n, Var)), key=lambda n: n.name)
        for values in itertools.product(self.values, repeat=len(vars_)):
            given = {v.name: concrete(v.type).type(x) for v, x in zip(vars_, values, strict=True)}
            found, expected = evaluate(after, given), evaluate(before, given)
            np.testing.assert_allclose(found, expected, rtol=self.rtol, err_msg=repr(after))


__all__ = ["LeafSuite", "OperatorSuite", "RuleSuite", "ScalarSuite"]
