"""The tests of ``BackendSuite`` on operators and casts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from finch_core.interface.abi import DONE, Backend, CompiledKernel
from finch_core.ir import primitives as prim
from finch_core.ir.assembly import Assign, For, Kernel, Statement, Store
from finch_core.ir.dtypes import INTP, SUPPORTED, tuple_dtype
from finch_core.ir.expansions import in_terms_of_others
from finch_core.ir.expressions import Call, Cast, Expr, Literal, Load, cast
from finch_core.ir.operators import operator
from finch_core.records import frozen
from finch_core.testing.arrays import Array
from finch_core.testing.bench import Bench, block, n, var
from finch_core.testing.operands import (
    BEYOND,
    CAST_BEYOND,
    castable,
    columns,
    compare,
    edges,
    operator_names,
    typing,
)
from finch_core.testing.subject import Subject

WIDENED = "add sub mul lt eq min lshift floordiv mod".split()


@frozen
class _Expanding:
    """A backend that gets all that has a form in terms of the rest."""

    inner: Backend

    def compile(self, kernel: Kernel, *, key: str = "") -> CompiledKernel:
        return self.inner.compile(in_terms_of_others(kernel, lambda lacked: True))


def _compared(dtype: np.dtype[Any], computed: dict[str, Array]) -> None:
    """Raise ``AssertionError`` for operators whose results differ from what they evaluate to."""
    wrong = {}
    for name, found in computed.items():
        try:
            compare(name, dtype, found)
        except AssertionError as error:
            wrong[name] = str(error)
    assert not wrong, "\n".join(f"{name}: {text}" for name, text in wrong.items())


def _computed(backend: Any, dtype: np.dtype[Any]) -> dict[str, Array]:
    """All operators on one dtype, from one kernel."""
    bench, body, known = Bench(backend), list[Statement](), dict[str, Any]()
    for name in operator_names(dtype):
        signature, data = typing(name, dtype), columns(name, dtype)
        assert signature is not None
        wanted, result = signature
        keys = [f"in_{len(data)}_{k}" for k in range(len(data))]
        for key, column in zip(keys, data, strict=True):
            if key not in known:
                known[key] = bench.buffer(key, column)
        out = bench.buffer(f"out_{name}", np.zeros(len(data[0]), result))
        at = var(f"i_{name}")
        args = (cast(Load(known[k], at), t) for k, t in zip(keys, wanted, strict=True))
        store = Store(out, at, Call(operator(name), tuple(args)))
        body.append(For(at, n(0), n(len(data[0])), block(store)))
    assert bench.run(*body) == DONE
    return {name: bench.arrays[f"out_{name}"] for name in operator_names(dtype)}


class OperatorTests(Subject):
    """Every operator on every dtype, and casts."""

    @pytest.mark.parametrize("dtype", SUPPORTED, ids=str)
    def test_operators_mean_what_they_evaluate_to(self, dtype: np.dtype[Any]) -> None:
        _compared(dtype, _computed(self.made(), dtype))

    @pytest.mark.parametrize("dtype", [np.int8, np.float32])
    def test_operators_in_terms_of_others_mean_the_same(self, dtype: Any) -> None:
        """The functions of ``finch_core.ir.expansions`` run here, whether it takes them or not."""
        found = _computed(_Expanding(self.made()), np.dtype(dtype))
        _compared(np.dtype(dtype), found)

    @pytest.mark.parametrize("source", SUPPORTED, ids=str)
    def test_casts_are_those_of_astype(self, source: np.dtype[Any]) -> None:
        bench, at, body = Bench(self.made()), var("i"), list[Statement]()
        values = edges(source)
        loaded = Load(bench.buffer("source", values), at)
        for target in SUPPORTED:
            out = bench.buffer(f"to_{target}", np.zeros(len(values), target))
            body.append(Store(out, at, cast(loaded, target)))
        assert bench.run(For(at, n(0), n(len(values)), block(*body))) == DONE
        for target in SUPPORTED:
            wanted, fits = castable(values, target)
            found = bench.arrays[f"to_{target}"]
            np.testing.assert_array_equal(found[fits], wanted[fits], err_msg=str(target))

    def test_casts_out_of_range_are_those_of_the_contract(self) -> None:
        bench, i = Bench(self.made()), var("i")
        loaded, body = Load(bench.buffer("values", BEYOND), i), list[Statement]()
        for target in CAST_BEYOND:
            out = bench.buffer(f"to_{target}", np.ones(len(BEYOND), target))
            body.append(Store(out, i, Cast(loaded, np.dtype(target))))
        assert bench.run(For(i, n(0), n(len(BEYOND)), block(*body))) == DONE
        for target, wanted in CAST_BEYOND.items():
            assert bench.arrays[f"to_{target}"].tolist() == wanted, target

    @pytest.mark.parametrize("narrow", [np.int8, np.uint8, np.int32, np.uint32])
    def test_widened_operands_compute_in_the_wide_type(self, narrow: Any) -> None:
        info = np.iinfo(narrow)
        values = np.array([info.min, info.max, 1, 3], narrow)
        others = np.array([-7, 9, 2**31 - 1, 40], np.int32)
        bench, i, body = Bench(self.made()), var("i"), list[Statement]()
        first, second = (
            Cast(Load(bench.buffer(name, data), i), INTP)
            for name, data in (("a", values), ("b", others))
        )
        cases: dict[str, tuple[str, Expr, Array]] = {
            f"{name}_{k}": (name, *pair)
            for name in WIDENED
            for k, pair in enumerate(((second, others.astype(INTP)), (n(3), np.full(4, 3))))
        }
        for key, (name, right, _) in cases.items():
            result = operator(name).result(INTP, INTP)
            out = bench.buffer(key, np.zeros(4, result))
            body.append(Store(out, i, Call(operator(name), (first, right))))
        assert bench.run(For(i, n(0), n(4), block(*body))) == DONE
        for key, (name, _, meant) in cases.items():
            pairs = zip(values.astype(INTP), meant, strict=True)
            wanted = [operator(name).evaluate(x, np.intp(y)) for x, y in pairs]
            assert bench.arrays[key].tolist() == wanted, key

    def test_tuples_are_made_taken_apart_compared_and_chosen(self) -> None:
        inner = tuple_dtype((np.dtype(bool), np.dtype(np.complex64)))
        dtype = tuple_dtype((np.dtype(np.int8), np.dtype(np.float64), inner))
        values = np.array([(1, 2.5, (True, 1 + 2j)), (1, np.nan, (False, 3j))], dtype)
        bench, at = Bench(self.made()), var("i")
        source = bench.buffer("source", values)
        target, chosen = (bench.buffer(name, np.zeros(2, dtype)) for name in ("made", "chosen"))
        same, other = (bench.buffer(name, np.zeros(2, bool)) for name in ("same", "other"))
        whole = Load(source, at)
        parts = [Call(prim.field(k), (whole,)) for k in range(3)]
        equal = Call(prim.eq, (whole, whole))
        default = Literal((9, -1.5, (False, 0j)), dtype)
        parts[1] = Call(prim.neg, (parts[1],))
        body = (
            Store(target, at, Call(prim.make_tuple, tuple(parts))),
            Store(chosen, at, Call(prim.ifelse, (equal, whole, default))),
            Store(same, at, equal),
            Store(other, at, Call(prim.ne, (whole, Load(source, n(0))))),
        )
        assert bench.run(For(at, n(0), n(2), block(*body))) == DONE
        assert bench.arrays["made"][0].item() == (1, -2.5, (True, 1 + 2j))
        assert bench.arrays["made"][1]["f2"].item() == (False, 3j)
        assert bench.arrays["same"].tolist() == [True, False]
        assert bench.arrays["other"].tolist() == [False, True]
        assert bench.arrays["chosen"][0].item() == values[0].item()
        assert bench.arrays["chosen"][1].item() == (9, -1.5, (False, 0j))

    def test_the_least_of_pairs_is_kept_in_a_variable(self) -> None:
        dtype = tuple_dtype((np.dtype(np.float64), INTP))
        bench, i = Bench(self.made()), var("i")
        best = bench.variable("best", (np.inf, -1), dtype)
        data = bench.buffer("data", [3.0, 1.0, 2.0, 1.0])
        candidate = Call(prim.make_tuple, (Load(data, i), i))
        better = Load(data, i) < Call(prim.field(0), (best,))
        keep = Call(prim.ifelse, (better, candidate, best))
        assert bench.run(For(i, n(0), n(4), block(Assign(best, keep)))) == DONE
        assert bench.value(best).item() == (1.0, 1)
