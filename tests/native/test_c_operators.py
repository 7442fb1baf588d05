"""Every primitive operator on every dtype is in C what ``evaluate`` is on NumPy scalars."""

import itertools
from functools import cache

import numpy as np
import pytest
from c_support import QUICK, Record, call, kernel_of, run, var

from finch_core import assembly as asm
from finch_core import primitives as prim
from finch_core.dtypes import SUPPORTED, concrete, tuple_dtype
from finch_core.expressions import Call, Cast, Literal, Load, lift
from finch_core.operators import operator

TERNARY = ("ifelse",)
_PAIRED = """pow mul add sub truediv floordiv mod fmod min max minimum maximum bitand bitor bitxor
    lshift rshift eq ne lt le gt ge and or arctan2 hypot copysign"""
PAIRED = tuple(_PAIRED.split())
_EXACT = """add sub floordiv mod fmod neg abs sign conj min max minimum maximum bitand bitor bitxor
    invert lshift rshift popcount ctz eq ne lt le gt ge and or not ifelse sqrt floor ceil trunc rint
    copysign isnan isinf isfinite real imag"""
EXACT = set(_EXACT.split())
UNORDERED_ZEROS = {"minimum", "maximum"}
"""NumPy leaves open which of 0.0 and -0.0 is smaller."""


def samples(dtype):
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        small = [v for v in (-8, -3, -2, -1, 0, 1, 2, 3, 5, 7, 8, 33, 64, 100) if v >= info.min]
        return np.array([info.min, info.min + 1, *small, info.max - 1, info.max], dtype=dtype)
    if dtype.kind == "f":
        tiny, huge = np.finfo(dtype).smallest_subnormal, np.finfo(dtype).max
        plain = [0.0, 1, 0.5, 1.5, 2, 2.5, 3, 3.7, 7.25, 1e10, tiny, huge, np.inf]
        return np.array([*plain, *(-v for v in plain), np.nan], dtype=dtype)
    parts = [0.0, -0.0, 1.0, -2.5, 3.0, np.inf, -np.inf, np.nan]
    return np.array([complex(a, b) for a in parts for b in parts], dtype=dtype)


def arity(name):
    return 3 if name in TERNARY else 2 if name in PAIRED else 1


def signature(name, dtype):
    types = (np.dtype(bool), dtype, dtype) if name in TERNARY else (dtype,) * arity(name)
    try:
        return operator(name).typing(types)
    except TypeError:
        return None


def arguments(name, dtype):
    """Columns of arguments: all pairs of the samples."""
    values = samples(dtype)
    if arity(name) == 1:
        return (values,)
    a, b = (column.ravel() for column in np.meshgrid(values, values, indexing="ij"))
    return (np.arange(a.size) % 3 == 0, a, b) if name in TERNARY else (a, b)


def defined(name, dtype):
    return name != "tuple" and signature(name, dtype) is not None


@cache
def computed(dtype):
    """What C makes of every operator on this dtype, from one kernel."""
    inputs, outputs = Record("in_"), Record("out")
    body, arrays = [], {}
    columns = {1: (samples(dtype),), 2: arguments("add", dtype), 3: arguments("ifelse", dtype)}
    buffers = {
        n: [inputs.buffer(f"a{n}{k}", np.ascontiguousarray(column)) for k, column in enumerate(cs)]
        for n, cs in columns.items()
    }
    for name in filter(lambda name: defined(name, dtype), prim.PRIMITIVES):
        result = concrete(signature(name, dtype)[1])
        size = columns[arity(name)][0].size
        arrays[name] = np.zeros(size, dtype=result)
        target = outputs.buffer(f"r_{name}", arrays[name], written=False)
        i = var(f"i_{name}")
        value = Call(operator(name), tuple(Load(b, i) for b in buffers[arity(name)]))
        store = asm.Store(target, i, value)
        body.append(asm.For(i, lift(0), Literal(size, np.dtype(np.intp)), asm.Block((store,))))
    status, _ = run([inputs, outputs], body)
    assert status == 0
    return arrays


def expected(name, dtype):
    wanted, result = signature(name, dtype)
    columns = [
        column.astype(concrete(t)) for column, t in zip(arguments(name, dtype), wanted, strict=True)
    ]
    values = []
    for row in zip(*columns, strict=True):
        try:
            with np.errstate(all="ignore"):
                values.append(operator(name).evaluate(*row))
        except ValueError:  # NumPy refuses integers to negative powers
            assert name == "pow"
            values.append(integer_power(*row))
    return np.array(values, dtype=concrete(result))


def integer_power(base, exponent):
    assert exponent < 0
    return {1: 1, -1: -1 if exponent % 2 else 1}.get(int(base), 0)


CASES = [
    pytest.param(name, dtype, id=f"{name}-{dtype}")
    for name in prim.PRIMITIVES
    for dtype in SUPPORTED
    if defined(name, dtype)
]


@pytest.mark.parametrize(("name", "dtype"), CASES)
def test_operator_means_what_numpy_means(name, dtype):
    found, wanted = computed(dtype)[name], expected(name, dtype)
    assert found.dtype == wanted.dtype
    compare(name, found, wanted, dtype)


def compare(name, found, wanted, dtype):
    if wanted.dtype.kind in "biu":
        np.testing.assert_array_equal(found, wanted)
        return
    if name == "pow":  # NumPy takes a square root there, which is no power of -inf
        a, b = arguments(name, dtype)
        found, wanted = (x[~(np.isinf(a) & (b == 0.5))] for x in (found, wanted))
    exact = name in EXACT and (name != "abs" or dtype.kind == "f")
    exact = exact or name == "truediv" or (name == "mul" and dtype.kind == "f")
    if exact:
        np.testing.assert_array_equal(found, wanted)
        if name not in UNORDERED_ZEROS:
            real = ~np.isnan(wanted)
            np.testing.assert_array_equal(
                np.signbit(found.real[real]), np.signbit(wanted.real[real])
            )
    else:
        tolerance = 8 * np.finfo(wanted.dtype).eps
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=0)


# -- casts ------------------------------------------------------------------------------------

FITTING = {
    "f": [0.0, -0.0, 0.75, -0.75, 1.0, 2.5, 100.9, 127.0],
    "c": [0.0, 0.75 + 2j, 1.0 - 1j, 2.5, 100.9 - 3j, 127.0],
}


@pytest.mark.parametrize("source", SUPPORTED, ids=str)
def test_cast_is_astype(source):
    values = samples(source)
    if source.kind in "fc":
        values = np.array(FITTING[source.kind], dtype=source)
    inputs, outputs = Record("in_"), Record("out")
    loaded, i = inputs.buffer("a", values), var("i")
    results, body = {}, []
    for target in SUPPORTED:
        results[target] = np.zeros(values.size, dtype=target)
        buffer = outputs.buffer(f"r_{target}", results[target])
        body.append(asm.Store(buffer, i, Cast(Load(loaded, i), target)))
    loop = asm.For(i, lift(0), Literal(values.size, np.dtype(np.intp)), asm.Block(tuple(body)))
    assert run([inputs, outputs], [loop])[0] == 0
    for target, found in results.items():
        with np.errstate(all="ignore"):
            wanted = values.real if source.kind == "c" and target.kind not in "bc" else values
            np.testing.assert_array_equal(found, wanted.astype(target), err_msg=str(target))


@pytest.mark.parametrize("target", [t for t in SUPPORTED if t.kind in "iu"], ids=str)
def test_cast_of_a_float_that_does_not_fit_is_defined(target):
    values = np.array([np.nan, np.inf, -np.inf, 1e300, -1e300])
    inputs, outputs = Record("in_"), Record("out")
    loaded, i, found = inputs.buffer("a", values), var("i"), np.ones(values.size, dtype=target)
    store = asm.Store(outputs.buffer("r", found), i, Cast(Load(loaded, i), target))
    assert run([inputs, outputs], [asm.For(i, lift(0), lift(5), asm.Block((store,)))])[0] == 0
    width = max(target.itemsize, 4) if target.name != "uint32" else 8
    lowest = np.array(-(1 << (8 * width - 1)), dtype=f"i{width}").astype(target)
    np.testing.assert_array_equal(found[[0, 2, 4]], np.full(3, lowest))


# -- tuples -----------------------------------------------------------------------------------

PAIR = tuple_dtype((np.dtype(np.float64), np.dtype(np.int32)))


def test_tuples_are_made_taken_apart_compared_and_chosen():
    pairs = np.array([(1.5, 3), (1.5, 4), (np.nan, 3)], dtype=PAIR)
    inputs, outputs = Record("in_"), Record("out")
    a = inputs.buffer("a", pairs)
    made, flags, parts = np.zeros(3, PAIR), np.zeros(6, bool), np.zeros(3)
    out, equal, part = (
        outputs.buffer(name, array) for name, array in (("m", made), ("e", flags), ("p", parts))
    )
    i = var("i")
    first, second = (Call(prim.field(k), (Load(a, i),)) for k in (0, 1))
    built = Call(prim.make_tuple, (first * 2.0, second))
    zeroth = Load(a, Literal(0, np.dtype(np.intp)))
    same = Call(prim.eq, (Load(a, i), zeroth))
    body = [
        asm.Store(out, i, Call(prim.ifelse, (second.eq(3), built, Literal((0.5, -1), PAIR)))),
        asm.Store(equal, i, same),
        asm.Store(equal, i + 3, Call(prim.ne, (Load(a, i), zeroth))),
        asm.Store(part, i, first),
    ]
    assert run([inputs, outputs], [asm.For(i, lift(0), lift(3), asm.Block(tuple(body)))])[0] == 0
    wanted = np.array([(3.0, 3), (0.5, -1), (np.nan, 3)], dtype=PAIR)
    np.testing.assert_array_equal(made["f0"], wanted["f0"])
    np.testing.assert_array_equal(made["f1"], wanted["f1"])
    assert flags.tolist() == [True, False, False, False, True, True]
    np.testing.assert_array_equal(parts, pairs["f0"])


# -- mixed widths -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "narrow", [np.int8, np.uint8, np.int32, np.uint32], ids=lambda t: t.__name__
)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "lt", "eq", "min", "lshift", "floordiv"])
def test_widened_operands_compute_in_the_wide_type(narrow, name):
    """Widening prints no cast; the arithmetic is that of 64 bits all the same."""
    info = np.iinfo(narrow)
    values = np.array([info.min, info.max, 1, 3], dtype=narrow)
    others = np.array([-7, 9, 2**31 - 1, 40], dtype=np.int32)
    inputs, outputs = Record("in_"), Record("out")
    a, b, i = inputs.buffer("a", values), inputs.buffer("b", others), var("i")
    wide = [Cast(Load(x, i), np.dtype(np.int64)) for x in (a, b)]
    op = operator(name)
    columns = [*itertools.product((wide[0],), (wide[1], Literal(3, np.dtype(np.int64))))]
    result = concrete(op.result(np.dtype(np.int64), np.dtype(np.int64)))
    found = [np.zeros(4, dtype=result) for _ in columns]
    body = tuple(
        asm.Store(outputs.buffer(f"r{k}", array), i, Call(op, pair))
        for k, (array, pair) in enumerate(zip(found, columns, strict=True))
    )
    assert run([inputs, outputs], [asm.For(i, lift(0), lift(4), asm.Block(body))])[0] == 0
    seconds = others.astype(np.int64), np.full(4, 3)
    for array, second in zip(found, seconds, strict=True):
        wanted = [op.evaluate(x, y) for x, y in zip(values.astype(np.int64), second, strict=True)]
        np.testing.assert_array_equal(array, np.array(wanted, dtype=result))


def test_scalar_arguments_arrive_in_their_dtypes():
    record, kinds = Record("out"), [np.dtype(t) for t in SUPPORTED]
    arrays = [np.zeros(1, dtype=t) for t in kinds]
    variables = [var(f"v_{t}", t) for t in kinds]
    body = [
        asm.Store(record.buffer(f"r_{v.name}", array), lift(0), v)
        for v, array in zip(variables, arrays, strict=True)
    ]
    kernel = kernel_of([record], body, arguments=variables)
    scalars = [True, -5, -6, -7, -8, 5, 6, 7, 2**64 - 1, 0.5, 0.1, 1.5, -2.0, 2.5, -3.0]
    assert call(QUICK.compile(kernel), [record], *scalars)[0] == 0
    wanted = [*scalars[:11], 1.5 - 2j, 2.5 - 3j]
    assert [array[0] for array in arrays] == wanted
