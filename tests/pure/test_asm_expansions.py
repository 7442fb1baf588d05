"""Operators, casts and statements in terms of simpler ones mean the same."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from finch_core.interface.abi import DONE
from finch_core.ir import primitives as prim
from finch_core.ir.assembly import Assign, Block, For, Function, Kernel, Return, Sort, Store
from finch_core.ir.assembly_rewrite import (
    with_blocks,
    with_children,
    with_expressions,
    with_statements,
)
from finch_core.ir.builder import Builder, Names
from finch_core.ir.dtypes import SUPPORTED, concrete
from finch_core.ir.expansions import assembly_form, heapsort, in_terms_of_others
from finch_core.ir.expressions import (
    Buffer,
    Call,
    Cast,
    Expr,
    Invoke,
    Literal,
    Load,
    Var,
    cast,
    lift,
)
from finch_core.ir.operators import Operator, operator
from finch_core.ir.verify import check
from finch_core.records import evolve
from finch_core.reference.interpreter import Interpreter
from finch_core.testing import Bench
from finch_core.testing.bench import block, n, var
from finch_core.testing.operands import (
    BEYOND,
    CAST_BEYOND,
    castable,
    columns,
    compare,
    edges,
    meaning,
    operator_names,
    typing,
)
from finch_core.testing.run_block import run_block

BASE = {
    "biu": "eq ne",
    "b": "and or not",
    "iu": "add sub mul neg bitand bitor bitxor invert lt le gt ge",
    "u": "frombits",
    "f": "add sub mul truediv neg eq ne lt le gt ge complex tobits",
    "c": "real imag",
}
"""What a backend must have itself, besides functions of a library on floats, by kinds."""


SOME = 37
"""One of so many pairs of complex numbers is asked, of all there are."""


def refuses(name: str, evaluate: Any) -> Operator:
    """An operator as plain as a language may have it: an error where languages differ."""
    op = operator(name)
    return Operator(name, evaluate, op.typing)


def _divided(name: str) -> Any:
    def evaluate(x: Any, y: Any) -> Any:
        assert min(x, y - 1) >= 0, (x, y)
        return operator(name).evaluate(x, y)

    return evaluate


def _shifted(name: str) -> Any:
    def evaluate(x: Any, y: Any) -> Any:
        assert 0 <= y < 8 * y.dtype.itemsize, (x, y)
        return operator(name).evaluate(x, y)

    return evaluate


PLAIN = {
    "floordiv": refuses("floordiv", _divided("floordiv")),
    "mod": refuses("mod", _divided("mod")),
    "lshift": refuses("lshift", _shifted("lshift")),
    "rshift": refuses("rshift", _shifted("rshift")),
}


def _cast_to(target: np.dtype[Any]) -> Operator:
    def evaluate(x: Any) -> Any:
        assert target in (np.dtype(np.int32), np.dtype(np.int64))
        assert np.iinfo(target).min <= int(x) <= np.iinfo(target).max, x
        return x.astype(target)

    return Operator("plain_cast", evaluate, lambda types: (types, target))


class Plain:
    """The interpreter, without what expansions replace, and as strict as languages may be."""

    def compile(self, kernel: Kernel, *, key: str = "") -> Any:
        kernel = in_terms_of_others(kernel, lambda lacked: True)
        check(kernel)
        functions = tuple(evolve(f, body=self._block(f.body)) for f in kernel.functions)
        return Interpreter().compile(evolve(kernel, functions=functions))

    def _block(self, block: Block) -> Block:
        statements = []
        for statement in block.statements:
            new = with_expressions(statement, tuple(map(self._expr, statement.expressions)))
            statements.append(with_blocks(new, tuple(map(self._block, new.blocks))))
        return with_statements(block, statements)

    def _expr(self, expr: Expr) -> Expr:
        new = with_children(expr, tuple(map(self._expr, expr.children)))
        if isinstance(new, Cast):
            kinds = concrete(new.value.dtype).kind, new.type.kind
            if kinds[0] == "f" and kinds[1] in "iu":
                return Call(_cast_to(new.type), new.children)
        if isinstance(new, Call) and concrete(new.args[0].dtype).kind in "iu":
            return Call(PLAIN.get(new.op.name, new.op), new.args)
        return new


def _is_base(name: str, dtype: np.dtype[Any]) -> bool:
    library = dtype.kind == "f" and operator(name).library
    return bool(library) or any(
        dtype.kind in kinds and name in names.split() for kinds, names in BASE.items()
    )


@pytest.mark.parametrize("dtype", SUPPORTED, ids=str)
def test_operators_in_terms_of_others_mean_the_same(dtype: np.dtype[Any]) -> None:
    """Each has a form, or is one of those that others are in terms of."""
    bench, body, known, asked = Bench(Plain()), [], dict[str, Any](), []
    for name in operator_names(dtype):
        signature, data = typing(name, dtype), columns(name, dtype)
        assert signature is not None
        wanted, result = signature
        operands = tuple(Var(letter, t) for letter, t in zip("xyz", wanted, strict=False))
        if assembly_form(Call(operator(name), operands)) is None:
            assert name == "ifelse" or _is_base(name, wanted[-1]), (name, wanted)
            continue
        asked.append(name)
        for k, column in enumerate(data):
            if (key := f"in_{len(data)}_{k}") not in known:
                known[key] = bench.buffer(key, column)
        step = SOME if dtype.kind == "c" and len(data) > 1 else 1
        first = np.zeros(len(data[0]), result) if step == 1 else meaning(name, dtype).copy()
        first[::step] = 0
        out, turn = bench.buffer(f"out_{name}", first), var(f"i_{name}")
        at = Call(prim.mul, (turn, n(step)))
        loads = (Load(known[f"in_{len(data)}_{k}"], at) for k in range(len(data)))
        args = tuple(cast(load, t) for load, t in zip(loads, wanted, strict=True))
        store = Store(out, at, Call(operator(name), args))
        body.append(For(turn, n(0), n(len(first[::step])), block(store)))
    assert bench.run(*body) == DONE
    for name in asked:
        compare(name, dtype, bench.arrays[f"out_{name}"])


@pytest.mark.parametrize("source", SUPPORTED, ids=str)
def test_casts_in_terms_of_others_are_those_of_astype(source: np.dtype[Any]) -> None:
    bench, at, values = Bench(Plain()), var("i"), edges(source)
    if source.kind == "f":
        halves = np.array([65519, 65504, 2049, 1 + 2**-11, 1 + 3 * 2**-11, 6e-8])
        values = np.concatenate([values, halves.astype(source), -halves.astype(source)])
    loaded = Load(bench.buffer("source", values), at)
    outs = {t: bench.buffer(f"to_{t}", np.zeros(len(values), t)) for t in SUPPORTED}
    stores = (Store(out, at, cast(loaded, target)) for target, out in outs.items())
    assert bench.run(For(at, n(0), n(len(values)), block(*stores))) == DONE
    for target in SUPPORTED:
        wanted, fits = castable(values, target)
        np.testing.assert_array_equal(bench.arrays[f"to_{target}"][fits], wanted[fits], str(target))


@pytest.mark.parametrize("target", CAST_BEYOND)
def test_casts_out_of_range_are_those_of_the_contract(target: str) -> None:
    bench, i = Bench(Plain()), var("i")
    values = bench.buffer("values", BEYOND)
    found = bench.buffer("found", np.ones(len(BEYOND), target))
    store = Store(found, i, Cast(Load(values, i), np.dtype(target)))
    assert bench.run(For(i, n(0), n(len(BEYOND)), block(store))) == DONE
    assert bench.arrays["found"].tolist() == CAST_BEYOND[target]


def test_functions_of_a_kernel_are_expanded_and_names_do_not_clash() -> None:
    """A function that is called as a form would be keeps its name."""
    x = Var("x", np.dtype(np.int64))
    seven = Literal(7, x.type)
    own = Function("mod_int64_int64", (x,), x.type, Block((Return(Call(prim.mod, (x, seven))),)))
    bench = Bench(Interpreter())
    total = bench.variable("total", -1)
    step = Assign(total, Call(prim.mod, (Invoke(own, (total,)), seven)))
    kernel = in_terms_of_others(bench.kernel(step, functions=(own,)), lambda lacked: True)
    check(kernel)
    names = [function.name for function in kernel.functions]
    assert len(set(names)) == len(names) > 2
    bench.compiled = Interpreter().compile(kernel)
    assert bench.call() == DONE
    assert bench.value(total) == 6


def test_what_is_not_lacked_stays() -> None:
    bench = Bench(Interpreter())
    a = bench.buffer("a", [1, 2])
    kernel = bench.kernel(Store(a, n(0), Call(prim.mod, (Load(a, n(1)), n(3)))))
    assert in_terms_of_others(kernel, lambda lacked: False).body is kernel.body


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
def test_a_heapsort_sorts_a_part(dtype: str) -> None:
    draw, a = np.random.default_rng(1), Buffer("a", np.dtype(dtype))
    least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    for size in (0, 1, 2, 3, 4, 7, 31, 100):
        for values in (
            draw.integers(least, most, size, dtype, endpoint=True),
            draw.integers(0, 3, size).astype(dtype),
            np.arange(size).astype(dtype),
            np.arange(size)[::-1].astype(dtype),
        ):
            for start, stop in ((0, size), (min(1, size), size), (0, size // 2), (size, 0)):
                block = heapsort(Sort(a, lift(start), lift(stop)), Names(("a",)))
                found: Any = run_block(block, {a: values.tolist() or [0]})
                wanted = values.copy()
                wanted[start:stop] = np.sort(values[start:stop])
                assert found[0] == 0
                assert found[1]["a"].tolist()[:size] == wanted.tolist()


def test_it_has_no_sort() -> None:
    a = Buffer("a", np.dtype(np.int64))
    b = Builder(Names(("a",)))
    b.sort(a, 0, 5)
    (statement,) = b.finish().statements
    assert isinstance(statement, Sort)
    text = repr(heapsort(statement, Names(("a",))))
    assert "Sort(" not in text
    assert isinstance(heapsort(statement, Names(("a",))), Block)
