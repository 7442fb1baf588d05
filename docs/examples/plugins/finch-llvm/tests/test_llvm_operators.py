"""Every primitive operator, on every dtype on which it resolves, is what ``evaluate`` says."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from llvm_support import INT, Bench

from finch_core import primitives as prim
from finch_core.assembly import Block, For, Store
from finch_core.dtypes import SUPPORTED, concrete, tuple_dtype
from finch_core.expressions import Call, Cast, Literal, Load, Var, cast
from finch_core.operators import operator

BINARY = frozenset(
    """pow mul add sub truediv floordiv mod fmod min max minimum maximum bitand bitor bitxor lshift
    rshift eq ne lt le gt ge and or arctan2 hypot copysign""".split()
)
ROUNDED = frozenset(
    """pow cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh
    arcsinh arccosh arctanh arctan2 hypot""".split()
)
"""Functions of which two libraries may give neighbouring floats."""


def edges(dtype: np.dtype) -> np.ndarray:
    """Values of a dtype at which operators go wrong."""
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info, width = np.iinfo(dtype), 8 * dtype.itemsize
        wanted = [info.min, info.min + 1, -width, -7, -2, -1, 0, 1, 2, 3, 6, width - 1, width,
                  info.max // 2, info.max - 1, info.max]  # fmt: skip
        return np.array([v for v in wanted if info.min <= v <= info.max], dtype)
    if dtype.kind == "c":
        axis = [0.0, -0.0, 1.0, -1.5, 7.0, np.inf, np.nan]
        return np.array([complex(a, b) for a in axis for b in axis], dtype)
    info = np.finfo(dtype)
    sizes = [0.0, 0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 6.9, 1e4, info.tiny, info.max, np.inf]
    return np.array([*sizes, *(-s for s in sizes), info.smallest_subnormal, np.nan], dtype)


def types_of(name: str, dtype: np.dtype) -> tuple[np.dtype, ...]:
    if name == "ifelse":
        return (np.dtype(bool), dtype, dtype)
    return (dtype,) * (2 if name in BINARY else 1)


def typing(name: str, dtype: np.dtype) -> Any:
    """The dtypes of arguments and result, or ``None`` where the operator is not defined."""
    try:
        wanted, result = operator(name).typing(types_of(name, dtype))
    except TypeError:
        return None
    return tuple(map(concrete, wanted)), concrete(result)


def columns(name: str, dtype: np.dtype) -> list[np.ndarray]:
    values = edges(dtype)
    if len(types_of(name, dtype)) == 1:
        return [values]
    pairs = [np.repeat(values, len(values)), np.tile(values, len(values))]
    return [np.arange(pairs[0].size) % 2 == 1, *pairs] if name == "ifelse" else pairs


def names(dtype: np.dtype) -> list[str]:
    return [n for n in prim.PRIMITIVES if n != "tuple" and typing(n, dtype) is not None]


@cache
def computed(dtype: np.dtype, level: int) -> dict[str, np.ndarray]:
    """All operators on one dtype, from one kernel."""
    bench, body, known = Bench(level=level), [], {}
    for name in names(dtype):
        wanted, result = typing(name, dtype)
        data = columns(name, dtype)
        inputs = []
        for k, column in enumerate(data):
            key = f"in_{len(data)}_{k}"
            if key not in known:
                known[key] = bench.buffer(key, column)
            inputs.append(known[key])
        out = bench.buffer(f"out_{name}", np.zeros(len(data[0]), result))
        at = Var(f"i_{name}", INT)
        args = tuple(cast(Load(b, at), t) for b, t in zip(inputs, wanted, strict=True))
        store = Store(out, at, Call(operator(name), args))
        body.append(For(at, Literal(0, INT), Literal(len(data[0]), INT), Block((store,))))
    assert bench.run(*body) == 0
    return {name: bench.arrays[f"out_{name}"] for name in names(dtype)}


@cache
def meaning(name: str, dtype: np.dtype) -> np.ndarray:
    wanted, result = typing(name, dtype)
    cast_columns = [c.astype(t) for c, t in zip(columns(name, dtype), wanted, strict=True)]
    found = []
    for row in zip(*cast_columns, strict=True):
        try:
            found.append(operator(name).evaluate(*row))
        except ValueError:  # an integer to a negative power, which NumPy refuses: truncated
            base, exponent = map(int, row)
            found.append({1: 1, -1: (-1) ** (exponent % 2)}.get(base, 0))
    return np.array(found, result)


CASES = [
    pytest.param(name, dtype, id=f"{name}-{dtype}") for dtype in SUPPORTED for name in names(dtype)
]


@pytest.mark.parametrize(("name", "dtype"), CASES)
@pytest.mark.parametrize("level", [0, 3])
def test_an_operator_is_its_meaning(name: str, dtype: np.dtype, level: int) -> None:
    found, wanted = computed(dtype, level)[name], meaning(name, dtype)
    assert found.dtype == wanted.dtype
    if name == "pow" and dtype.kind == "f":
        # NumPy's arrays give infinity there, as C does, its scalars NaN
        base, exponent = columns(name, dtype)
        settled = ~(np.isneginf(base) & (exponent == 0.5))
        found, wanted = found[settled], wanted[settled]
    with np.errstate(all="ignore"):
        compare(name, dtype, found, wanted)


def compare(name: str, dtype: np.dtype, found: np.ndarray, wanted: np.ndarray) -> None:
    inexact = name in ROUNDED or (dtype.kind == "c" and name in ("mul", "truediv", "abs", "sqrt"))
    inexact = inexact or (dtype.kind == "c" and name == "sign")
    if wanted.dtype.kind in "biu" or not inexact:
        np.testing.assert_array_equal(found, wanted)
    else:
        close(found, wanted)
    if wanted.dtype.kind in "fc" and not inexact and name not in ("minimum", "maximum"):
        # NumPy leaves open which zero is the smaller one
        for part in ("real", "imag"):
            a, b = getattr(found, part), getattr(wanted, part)
            np.testing.assert_array_equal(np.signbit(a)[~np.isnan(b)], np.signbit(b)[~np.isnan(b)])


def close(found: np.ndarray, wanted: np.ndarray) -> None:
    rough = 32 * np.finfo(wanted.dtype).eps
    if wanted.dtype.kind == "f":
        np.testing.assert_allclose(found, wanted, rtol=rough, atol=0)
        return
    finite = np.isfinite(wanted)
    error = abs(found - wanted)[finite] / np.maximum(
        abs(wanted)[finite], np.finfo(wanted.dtype).tiny
    )
    assert error.max() <= rough
    np.testing.assert_array_equal(np.isfinite(found), finite)


@pytest.mark.parametrize("source", SUPPORTED, ids=str)
def test_a_cast_is_astype(source: np.dtype) -> None:
    bench, values, at = Bench(), edges(source), Var("i", INT)
    loaded = Load(bench.buffer("from", values), at)
    body = []
    for target in SUPPORTED:
        out = bench.buffer(f"to_{target}", np.zeros(len(values), target))
        body.append(Store(out, at, loaded if target == source else Cast(loaded, target)))
    loop = For(at, Literal(0, INT), Literal(len(values), INT), Block(tuple(body)))
    assert bench.run(loop) == 0
    for target in SUPPORTED:
        with np.errstate(all="ignore"):
            part = values.real if source.kind == "c" and target.kind not in "bc" else values
            wanted = part.astype(target)
        fits = np.ones(len(values), bool)
        if source.kind in "fc" and target.kind in "iu":  # else each processor has its own answer
            info = np.iinfo(target)
            fits = (part > float(info.min) - 1) & (part < float(info.max)) | (part == 0)
        np.testing.assert_array_equal(
            bench.arrays[f"to_{target}"][fits], wanted[fits], err_msg=str(target)
        )


def test_tuples_are_made_taken_apart_compared_and_stored() -> None:
    inner = tuple_dtype((np.dtype(bool), np.dtype(np.complex64)))
    dtype = tuple_dtype((np.dtype(np.int8), np.dtype(np.float64), inner))
    values = np.array([(1, 2.5, (True, 1 + 2j)), (1, np.nan, (False, 3j))], dtype)
    bench, at = Bench(), Var("i", INT)
    source = bench.buffer("source", values)
    target, same = bench.buffer("target", np.zeros(2, dtype)), bench.buffer("same", [False, True])
    parts = [Call(prim.field(k), (Load(source, at),)) for k in range(3)]
    negated = Call(prim.neg, (parts[1],))
    body = Block((
        Store(target, at, Call(prim.make_tuple, (parts[0], negated, parts[2]))),
        Store(same, at, Call(prim.eq, (Load(source, at), Load(source, at)))),
    ))  # fmt: skip
    assert bench.run(For(at, Literal(0, INT), Literal(2, INT), body)) == 0
    made = bench.arrays["target"]
    assert made[0].item() == (1, -2.5, (True, 1 + 2j))
    assert made[1]["f2"].item() == (False, 3j)
    assert bench.arrays["same"].tolist() == [True, False]
