"""Fills are exact: a store of what the algebra knows to equal the fill stores nothing and costs
nothing, whatever it was computed from. Every operator of the language is asked, on every kind of
dtype, of fills alone and beside constants on both sides."""

import math

import numpy as np
import pytest
from shared_programs import function_of

from finch_core import Tensor, choose, coalesce, ifelse, kernel, minby
from finch_core.errors import FormatError
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import Literal
from finch_core.ir.primitives import PRIMITIVES
from finch_core.operators import cast_value, operator
from finch_core.testing import backend_names
from finch_levels import Dense, Element, Scalar, SparseByteMap, SparseHash, SparseList

SIZE = 40
OPERATORS = [name for name in PRIMITIVES if name not in ("tuple", "ctz")]
DTYPES = [np.dtype(t) for t in ("bool", "i1", "u8", "f8", "c16")]


def made(text, backend, **names):
    """The kernel of a function's text."""
    scope = {"np": np, "math": math, "ifelse": ifelse, "coalesce": coalesce, **names}
    return kernel(backend=backend)(function_of(text, **scope))


def fills_of(dtype):
    found = [0, 1] if dtype.kind == "b" else [0, 3]
    return [cast_value(v, dtype) for v in ([*found, np.inf] if dtype.kind == "f" else found)]


def shown(value):
    """A constant as a kernel writes it; empty if it cannot."""
    if value.dtype.kind == "c":
        return f"({complex(value)!r})" if np.isfinite(value) else ""
    if value.dtype.kind == "f" and not np.isfinite(value):
        name = "nan" if np.isnan(value) else "inf"
        return f"-math.{name}" if value == -np.inf else f"math.{name}"
    return repr(value.item())


def calls_of(op, dtype, fill):
    """The calls of an operator on the fill, other fills and constants: text, value on scalars."""
    constants = [cast_value(v, dtype) for v in ((0, 1) if dtype.kind == "b" else (0, 1, 2))]
    typed = f"np.{dtype.name if dtype.kind != 'b' else 'bool_'}"
    least, most = op.arity
    assert least <= 3
    yield from [(f"f({', '.join(['a[i]'] * least)})", lambda a, b: (a,) * least)]
    if most == 1:
        return
    if op.name == "ifelse":
        for c in constants:
            text = f"{typed}({shown(c)})"
            yield f"f(a[i] == b[i], a[i], {text})", lambda a, b, c=c: (a == b, a, c)
            yield f"a[i] if a[i] != {text} else b[i]", lambda a, b, c=c: (a != c, a, b)
        return
    yield "f(a[i], b[i])", lambda a, b: (a, b)
    for c in constants:
        text = f"{typed}({shown(c)})"
        yield f"f(a[i], {text})", lambda a, b, c=c: (a, c)
        yield f"f({text}, a[i])", lambda a, b, c=c: (c, a)


def meaning(op, dtype, operands):
    """What a call gives for scalars, as stored; None where it is not defined."""
    values = [np.asarray(value)[()] for value in operands]
    literals = tuple(Literal(value, value.dtype) for value in values)
    try:
        wanted, result = op.typing(tuple(value.dtype for value in values))
        if op.refuses is not None and op.refuses(*literals):
            return None
        typed = map(cast_value, values, map(concrete, wanted))
        return cast_value(op.evaluate(*typed), concrete(result))
    except TypeError:
        return None


def swallowed(op, operands, fill):
    """Whether a fill of zero as the first operand is the result: 0 / 0 as well."""
    first = operands[0]
    zero = op.left_annihilator is not None and fill == 0 == first
    return zero and op.left_annihilator(np.dtype(np.int64)) == 0


def stores_of(op, dtype, fill):
    """The stores to be made, each with its output and what it should hold."""
    a, b = (held(fill, dtype, places) for places in PLACES)
    for text, operands in calls_of(op, dtype, fill):
        values = [meaning(op, dtype, operands(*both)) for both in zip(a, b, strict=True)]
        if any(value is None or not shown(value) for value in values[:1]):
            continue
        structural = text.startswith("f(a[i]")
        for k, both in enumerate(zip(a, b, strict=True)):
            if structural and k not in PLACES[0] and swallowed(op, operands(*both), fill):
                values[k] = cast_value(0, values[k].dtype)
        try:
            out = Tensor(SparseList(Element(values[0], values[0].dtype)), (SIZE,))
        except FormatError:  # float16
            continue
        yield text, out, np.array(values)


PLACES = (2, 17), (5, 17)
"""Where the two operands store something."""


def held(fill, dtype, places):
    array = np.full(SIZE, fill)
    array[list(places)] = [cast_value(v, dtype) for v in (1, 2)]
    return array


def check(stores, dtype, fill, op, backend):
    text = "".join(
        f"    x{k}[...] = {shown(out.fill_value)}\n    for i in _:\n        x{k}[i] = {call}\n"
        for k, (call, out, _values) in enumerate(stores)
    )
    names = ", ".join(f"x{k}" for k in range(len(stores)))
    run = made(f"def k(a, b, {names}):\n{text}", backend, f=op)
    given = [Tensor(SparseList(Element(fill)), held(fill, dtype, places)) for places in PLACES]
    run(*given, *(out for _call, out, _values in stores))
    for call, out, values in stores:
        assert out.nstored <= 3, (op, dtype, fill, call, out.nstored)
        np.testing.assert_allclose(out.to_numpy(), values, rtol=1e-5, err_msg=f"{op} {call}")


@pytest.mark.parametrize("name", OPERATORS)
def test_a_fill_that_meets_fills_and_constants_stays_a_fill(name):
    """Not one index is stored, and so none is visited, where nothing is stored in the operands."""
    op, asked = operator(name), 0
    for dtype in DTYPES:
        for fill in fills_of(dtype):
            stores = list(stores_of(op, dtype, fill))
            asked += len(stores)
            if stores:
                check(stores, dtype, fill, op, "interpreter")
    assert asked


FAMILIAR = (
    "-a[i]", "abs(a[i])", "np.sqrt(abs(a[i]))", "a[i] * 2", "a[i] / 2", "a[i] // 2", "a[i] % 2",
    "a[i] ** 2", "min(a[i], 2)", "max(a[i], 0)", "np.minimum(a[i], 2)", "a[i] + 0", "0 - a[i]",
    "(a[i] + 1) - 1", "np.cos(a[i]) - 1", "a[i] if a[i] > 0 else 0", "a[i] if c > 1 else -a[i]",
    "-(a[i] if c > 1 else 0)", "a[i] if d[i] > 0 else 0", "np.float32(a[i])", "a[i] * c",
    "a[i] / c", "a[i] // c", "a[i] % c", "max(a[i] * c, 0)", "max(a[i], 0) * d[i]",
    "(a[i] > 0) * d[i]", "relu(a[i])", "leaky(a[i])", "twice(relu(-a[i]))", "a[i] / d[i]",
    "choose(0)(a[i], 0)",
    "math.copysign(a[i], c)", "coalesce(a[~i], 0) * 3",
)  # fmt: skip


def relu(x):
    return max(x, 0)


def leaky(x):
    return x if x > 0 else 0.1 * x


def twice(x):
    return x + x


HELPERS = {"relu": relu, "leaky": leaky, "twice": twice, "choose": choose}


@pytest.mark.parametrize("backend", backend_names())
@pytest.mark.parametrize("text", FAMILIAR)
def test_what_vanishes_with_its_operand_visits_what_is_stored(text, backend):
    """Lists take no more entries, and dense outputs are written nowhere else."""
    body = f"    x[...] = 0\n    for i in _:\n        x[i] = {text}\n    return x\n"
    run = made(f"def k(x, a, c, d):\n{body}", backend, **HELPERS)
    data = np.zeros(SIZE)
    data[[3, 20]] = 1.5, -2.0
    a, c, d = Tensor(SparseList(Element(0.0)), data), 3.0, np.linspace(-1.05, 2, SIZE)
    formats = (SparseList, SparseByteMap, SparseHash) if backend == "interpreter" else (SparseList,)
    for format in formats:
        out = run(Tensor(format(Element(0.0)), (SIZE,)), a, c, d)
        assert out.nstored <= 2
        assert (out.to_numpy() == run.reference(np.zeros(SIZE), data, c, d)).all()
    listing = run.lower(Tensor(Dense(Element(0.0)), (SIZE,)), a, c, d).as_text("assembly")
    loops = [line for line in listing.splitlines() if line.strip().startswith(("for ", "while "))]
    assert loops
    assert all("q" in line for line in loops), listing


@pytest.mark.parametrize("backend", backend_names())
def test_a_constant_of_the_program_does_not_swallow_what_is_added(backend):
    """Infinity as a fill would: ``a[i] + inf`` is none, and meets minus infinity and NaN."""
    body = "    x[...] = 0\n    for i in _:\n        x[i] = a[i] + math.inf + d[i]\n    return x\n"
    run = made(f"def k(x, a, d):\n{body}", backend)
    data, d = np.zeros(4), np.array([0.0, -np.inf, np.nan, 1.0])
    a = Tensor(SparseList(Element(0.0)), data)
    found = run(Tensor(SparseList(Element(0.0))), a, d)
    np.testing.assert_array_equal(found.to_numpy(), [np.inf, np.nan, np.nan, np.inf])


@pytest.mark.parametrize("backend", backend_names())
def test_an_update_that_leaves_the_fill_stores_nothing(backend):
    """``x[i] += ...`` of what is declared, and written once, is a store of the sum."""
    body = "    x[...] = 1\n    for i in _:\n        x[i] *= np.cos(a[i])\n    return x\n"
    run = made(f"def k(x, a):\n{body}", backend)
    data = np.array([0.0, 0, 2, 0])
    found = run(Tensor(SparseList(Element(1.0))), Tensor(SparseList(Element(0.0)), data))
    assert found.nstored == 1
    np.testing.assert_allclose(found.to_numpy(), np.cos(data))


@pytest.mark.parametrize("backend", backend_names())
def test_fills_become_parts_of_tuples(backend):
    body = "    for i in _:\n        y[()] = minby(y[()], (a[i], 1))\n    return y\n"
    run = made(f"def k(y, a):\n{body}", backend, minby=minby)
    a = Tensor(SparseList(Element(0)), np.array([0, 2, 0]))
    assert run(Scalar((9, -1)), a).value == (0, 1)
