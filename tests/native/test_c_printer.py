"""Parentheses stand where C needs them, and where its readers do."""

import numpy as np
import pytest
from c_support import QUICK, Record, body_of, kernel_of, run, var
from c_support import call as call_kernel
from hypothesis import given, settings
from hypothesis import strategies as st

from finch_backend_c import ctree as c
from finch_backend_c import toolchain
from finch_backend_c.entry import translate
from finch_backend_c.printer import WIDTH, expression, wrapped
from finch_core.ir import assembly as asm
from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import FLOAT64, INTP
from finch_core.ir.expressions import Call, Cast, Length, Literal, Load, Overlaps, Var, call, lift

X, Y, Z = c.Name("x"), c.Name("y"), c.Name("z")


def binary(op, left, right):
    return c.Binary(op, left, right)


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (binary("*", binary("+", X, Y), Z), "(x + y) * z"),
        (binary("+", binary("*", X, Y), Z), "x * y + z"),
        (binary("-", X, binary("-", Y, Z)), "x - (y - z)"),
        (binary("-", binary("-", X, Y), Z), "x - y - z"),
        (binary("+", X, binary("+", Y, Z)), "x + (y + z)"),
        (binary("==", binary("&", X, Y), Z), "(x & y) == z"),
        (binary("&&", binary("||", X, Y), Z), "(x || y) && z"),
        (binary("||", binary("&&", X, Y), Z), "(x && y) || z"),
        (binary(">>", binary("+", X, Y), Z), "(x + y) >> z"),
        (binary("+", X, binary("<<", Y, Z)), "x + (y << z)"),
        (binary(">>", binary("*", X, Y), Z), "x * y >> z"),
        (binary("|", binary("^", X, Y), binary("<<", Y, Z)), "(x ^ y) | y << z"),
        (binary("&", binary("==", X, Y), Z), "(x == y) & z"),
        (binary("==", binary("<", X, Y), Z), "(x < y) == z"),
        (c.Unary("-", c.Unary("-", X)), "-(-x)"),
        (c.Unary("-", c.Number("-1")), "-(-1)"),
        (c.Unary("!", binary("<", X, Y)), "!(x < y)"),
        (c.Unary("__real__", X), "__real__ x"),
        (c.Cast("double", binary("+", X, Y)), "(double)(x + y)"),
        (c.Cast("double", c.Subscript(X, Y)), "(double)x[y]"),
        (c.Subscript(c.Cast("int *", X), Y), "((int *)x)[y]"),
        (c.Member(c.Compound("p", (X, Y)), "f0"), "(p){x, y}.f0"),
        (c.Member(c.Ternary(X, Y, Z), "f0"), "(x ? y : z).f0"),
        (c.Ternary(c.Ternary(X, Y, Z), X, Y), "(x ? y : z) ? x : y"),
        (c.Ternary(X, Y, c.Ternary(Y, Z, X)), "x ? y : y ? z : x"),
        (binary("+", c.Ternary(X, Y, Z), X), "(x ? y : z) + x"),
        (c.Call("f", (binary("+", X, Y), Z)), "f(x + y, z)"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_parentheses(node, text):
    assert expression(node) == text


def test_long_lines_are_parted_where_few_brackets_are_open():
    call = f"    return f({'a' * 40}, (int64_t *)b[{'c' * 30}], {'d' * 30} - 1, -e);"
    assert list(wrapped(call)) == [
        f"    return f({'a' * 40}, (int64_t *)b[{'c' * 30}],",
        f"             {'d' * 30} - 1, -e);",
    ]
    total = f"s += {'a' * 50} * {'b' * 30} + ({'c' * 30} + {'d' * 30});"
    assert list(wrapped(total)) == [
        f"s += {'a' * 50} * {'b' * 30}",
        f"    + ({'c' * 30} + {'d' * 30});",
    ]


@given(st.lists(st.sampled_from(["aaaa", "-b", "f(x, y)", "(1 + 2)", "v[k] * w"]), max_size=90))
def test_parting_a_line_changes_white_space_alone(parts):
    line = f"        g({' + '.join(parts)}, {', '.join(parts)});"
    lines = list(wrapped(line))
    assert " ".join(part.strip() for part in lines).replace("( ", "(") == line.strip()
    assert all(len(part) <= WIDTH for part in lines)


# -- the property: what C computes is what the tree says ----------------------------------------

LEAVES = st.one_of(
    st.sampled_from([Var(name, INTP) for name in "abc"]),
    st.integers(-3, 9).map(lambda n: Literal(n, INTP)),
)
BINARY_OPS = ["add", "sub", "mul", "bitand", "bitor", "bitxor", "floordiv", "mod", "minimum_"]
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]


def trees(children):
    def of(names):
        return st.sampled_from([getattr(prim, name) for name in names])

    compared = st.builds(lambda op, a, b: Call(op, (a, b)), of(COMPARISONS), children, children)
    return st.one_of(
        st.builds(lambda op, a, b: Call(op, (a, b)), of(BINARY_OPS), children, children),
        st.builds(lambda op, a: Call(op, (a,)), of(["neg", "invert"]), children),
        st.builds(lambda k, a, b: Call(prim.ifelse, (k, a, b)), compared, children, children),
        st.builds(lambda k: Cast(k, INTP), compared),
        st.builds(
            lambda k, m, a, b: Call(prim.ifelse, (k.or_(m.not_()), a, b)),
            compared,
            compared,
            children,
            children,
        ),
    )


def meaning(e, values):
    if isinstance(e, Var):
        return np.int64(values[e.name])
    if isinstance(e, Literal):
        return np.int64(e.value)
    if isinstance(e, Cast):
        return np.int64(meaning(e.value, values))
    wanted, _ = e.op.typing(tuple(a.dtype for a in e.args))
    args = (np.dtype(t).type(meaning(a, values)) for a, t in zip(e.args, wanted, strict=True))
    with np.errstate(all="ignore"):
        return e.op.evaluate(*args)


@settings(max_examples=12, deadline=None)
@given(st.lists(st.recursive(LEAVES, trees, max_leaves=14), min_size=20, max_size=20))
def test_expressions_compute_what_the_tree_means(expressions):
    """Many trees a kernel: the compiler is the slow part."""
    values = {"a": 7, "b": -4, "c": 1 << 40}
    record = Record("r")
    found = np.zeros(len(expressions), dtype=np.int64)
    out = record.buffer("out", found)
    for name, value in values.items():
        record.scalar(name, np.int64(value))
    stores = [asm.Store(out, lift(k), e) for k, e in enumerate(expressions)]
    assert run([record], stores)[0] == 0
    assert found.tolist() == [int(meaning(e, values)) for e in expressions]


# -- statements read as written by hand -----------------------------------------------------------


def spmv():
    f8, i4 = FLOAT64, np.dtype(np.int32)
    A, x, y = Record("A"), Record("x"), Record("y")
    n = A.scalar("A_n", np.int64(2))
    ptr = A.buffer("A_ptr", np.array([0, 2, 3], dtype=np.int64))
    idx = A.buffer("A_idx", np.array([0, 1, 1], dtype=i4))
    val = A.buffer("A_val", np.array([1.0, 2.0, 3.0]))
    x_val = x.buffer("x_val", np.array([10.0, 20.0]))
    y_val = y.buffer("y_val", np.zeros(2))
    i, q, s = var("i"), var("q"), Var("s", f8)
    product = Load(val, q) * Load(x_val, Cast(Load(idx, q), INTP))
    inner = asm.For(q, Load(ptr, i), Load(ptr, i + 1), asm.Block((asm.Assign(s, s + product),)))
    zero = Literal(np.float64(0), f8)
    outer = asm.For(
        i, lift(0), n, asm.Block((asm.Let(s, zero, True), inner, asm.Store(y_val, i, s)))
    )
    return [A, x, y], [outer]


def test_spmv_is_the_textbook_loop():
    records, body = spmv()
    source = translate(kernel_of(records, body))
    assert all(
        f" *restrict {name}{end}" in source
        for name, end in [("A_ptr", ","), ("A_idx", ","), ("A_val", ","), ("y_val", ")")]
    )
    assert body_of(source) == [
        "const int64_t A_n = (int64_t)A[0];",
        "for (int64_t i = 0; i < A_n; i++) {",
        "double s = 0.0;",
        "for (int64_t q = A_ptr[i], q_stop = A_ptr[i + 1]; q < q_stop; q++)",
        "s += A_val[q] * x_val[A_idx[q]];",
        "y_val[i] = s;",
        "}",
        "return 0;",
    ]
    run(records, body)
    assert records[2].kept[0].tolist() == [50.0, 60.0]


def emitted(*statements, records=(), arguments=()):
    kernel = kernel_of(records, statements, arguments=arguments)
    return body_of(translate(kernel))


def test_updates_are_compound_assignments():
    a, b = var("a"), var("b")
    small = Var("small", np.dtype(np.int8))
    lines = emitted(
        asm.Let(a, lift(0), True),
        asm.Let(small, Literal(1, np.dtype(np.int8)), True),
        asm.Assign(a, a + 1),
        asm.Assign(a, b * a),
        asm.Assign(a, a - (b - 1)),
        asm.Assign(a, call(prim.sub, b, a)),
        asm.Assign(small, Call(prim.add, (small, small))),
        arguments=[b],
    )
    assert lines[1:-1] == [
        "int8_t small = 1;",
        "a++;",
        "a *= b;",
        "a -= b - 1;",
        "a = b - a;",
        "small += small;",
    ]


def test_bounds_are_evaluated_once():
    record, values = Record("r"), np.array([3, 0, 0, 0], dtype=np.int64)
    b, i, n = record.buffer("b", values), var("i"), var("n")
    loops = [
        asm.For(i, lift(0), Load(b, lift(0)), asm.Block((asm.Store(b, i, lift(9)),))),
        asm.Let(n, lift(2), True),
        asm.For(i, lift(0), n, asm.Block((asm.Assign(n, n + 1),))),
        asm.Store(b, lift(3), n),
    ]
    assert run([record], loops)[0] == 0
    assert values.tolist() == [9, 9, 9, 4]


def reduced(record, op, start, stop, dtype=FLOAT64):
    """A loop that reduces ``record``'s one buffer into its first element, in lanes."""
    b, i, s = record.slots[0].target, var("i"), Var("s", dtype)
    step = asm.Assign(s, call(op, s, Load(b, i)))
    return [
        asm.Let(s, Load(b, lift(0)), True),
        asm.For(i, start, stop, asm.Block((step,)), ((s, op),)),
        asm.Store(b, lift(0), s),
    ]


@pytest.fixture
def has_registers(monkeypatch):
    """Sets the length of the processor's registers, in bytes."""
    return lambda length: monkeypatch.setattr(toolchain, "register_bytes", lambda: length)


@pytest.mark.parametrize("length", [16, 32, 64])
def test_vectors_fit_into_registers(length, has_registers):
    has_registers(length)
    record = Record("r")
    record.buffer("b", np.arange(100.0))
    sums = emitted(*reduced(record, prim.add, lift(0), lift(100)), records=[record])
    longest = max(
        k for k in (2, 4, 8) if f"f64x{k}_t s_lane = *(const f64x{k}_t *)&b[i_at];" in sums
    )
    assert longest == length // 8
    if length == 16:
        assert "f64x2_t s_lane_8 = *(const f64x2_t *)&b[i_at + 14];" in sums
        assert "s += s_lane[0] + s_lane[1];" in sums
    else:
        assert "f64x4_t s_lane_4 = *(const f64x4_t *)&b[i_at + 12];" in sums
        assert "s += s_lane[0] + s_lane[2] + (s_lane[1] + s_lane[3]);" in sums


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("op", [prim.add, prim.mul], ids=str)
def test_sums_are_the_same_in_registers_of_any_length(op, dtype, has_registers):
    rng, found = np.random.default_rng(1), {}
    values = rng.random(300).astype(dtype) + dtype(0.5)
    for length in (16, 32, 64):
        has_registers(length)
        record, n = Record("r"), var("n")
        data = np.empty(300, dtype)
        record.buffer("b", data)
        kernel = kernel_of([record], reduced(record, op, lift(1), n, data.dtype), arguments=(n,))
        compiled = QUICK.compile(kernel)
        for stop in (1, 2, 3, 7, 8, 15, 16, 17, 31, 33, 63, 64, 65, 129, 150, 257, 300):
            data[:] = values
            assert call_kernel(compiled, [record], stop)[0] == 0
            assert found.setdefault(stop, data[0]) == data[0]


def test_other_reductions_get_lanes():
    record = Record("r")
    record.buffer("b", np.arange(100.0))
    least = emitted(*reduced(record, prim.minimum_, lift(0), lift(100)), records=[record])
    assert "double s_lane[16] = {[0 ... 15] = __builtin_inf()};" in least
    carrying = emitted(*reduced(record, prim.minimum, lift(0), lift(100)), records=[record])
    assert "double s_lane[16] = {[0 ... 15] = __builtin_inf()};" in carrying


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("op", [prim.add, prim.mul, prim.minimum_, prim.maximum_], ids=str)
def test_lanes_reduce_every_turn_once(op, dtype):
    meanings = {prim.add: np.sum, prim.mul: np.prod, prim.minimum_: np.min, prim.maximum_: np.max}
    record, n = Record("r"), var("n")
    data = np.empty(400, dtype)
    record.buffer("b", data)
    statements = reduced(record, op, lift(1), n, data.dtype)
    compiled = QUICK.compile(kernel_of([record], statements, arguments=(n,)))
    for stop in [*range(40), 127, 128, 135, 256, 300, 333, -1, -(2**63)]:
        data[:] = (
            np.where(np.arange(400) % 11, 1, 2) if op is prim.mul else np.arange(400) * 7 % 401
        )
        wanted = meanings[op](data[: max(stop, 1)])
        assert call_kernel(compiled, [record], stop)[0] == 0
        assert data[0] == wanted


def test_lanes_keep_the_sign_of_zero():
    record = Record("r")
    record.buffer("b", np.full(40, -0.0))
    assert run([record], reduced(record, prim.add, lift(0), lift(40)))[0] == 0
    assert np.signbit(record.kept[0][0])


@pytest.mark.parametrize("length", [16, 32])
@pytest.mark.parametrize("seen", [False, True])
def test_lanes_stay_filled_around_loops_whose_lengths_are_data(seen, length, has_registers):
    has_registers(length)
    record, lengths = Record("r"), [0, 3, 4, 5, 8, 1, 140, 9]
    ends = np.cumsum([0, *lengths])
    data, out = np.arange(ends[-1] + 0.0), np.zeros(len(lengths))
    b, ptr = record.buffer("b", data), record.buffer("ptr", ends)
    sums = record.buffer("sums", out)
    q, i, s = var("q"), var("i"), Var("s", FLOAT64)
    start, stop = var("start"), var("stop")
    block = [
        asm.Let(start, Load(ptr, q)),
        asm.Let(stop, Load(ptr, q + 1)),
        asm.For(i, start, stop, asm.Block((asm.Assign(s, s + Load(b, i)),)), ((s, prim.add),)),
        *([asm.Store(sums, q, s)] if seen else []),
    ]
    statements = [
        asm.Let(s, Literal(0.0, FLOAT64), True),
        asm.For(q, lift(0), lift(len(lengths)), asm.Block(tuple(block))),
        asm.Store(sums, lift(0), s),
    ]
    lines = emitted(*statements, records=[record])
    outer = next(k for k, line in enumerate(lines) if line.startswith("for (int64_t q"))
    declared = [
        k for k, line in enumerate(lines) if line.startswith(f"f64x{length // 8}_t s_lane =")
    ]
    assert min(declared) > outer if seen else declared == [outer - 32 // length]
    assert run([record], statements)[0] == 0
    assert out[0] == data.sum()
    assert not seen or out[1:].tolist() == np.cumsum(data)[ends[2:] - 1].tolist()


@pytest.mark.parametrize(
    "name", ["double", "sin", "λ", "2x", "mod_i64", "control", "GROW", "_", "A_"]
)
def test_any_name_makes_a_variable(name):
    record, v = Record("r"), Var(name, FLOAT64)
    found = np.zeros(2)
    out = record.buffer(f"{name}_buffer", found)
    body = [
        asm.Let(v, Literal(2.5, FLOAT64)),
        asm.Store(out, lift(0), v),
        asm.Store(out, lift(1), Call(prim.mod, (v, Literal(2.0, FLOAT64)))),
    ]
    assert run([record], body)[0] == 0
    assert found.tolist() == [2.5, 0.5]


def test_else_if_stays_flat():
    a = var("a")
    one, two = (asm.Block((asm.Store(b, lift(0), lift(k)),)) for k, b in enumerate(two_buffers()))
    inner = asm.If(a < 2, two, one)
    record = Record("r")
    record.buffer("b0", np.zeros(1, dtype=np.int64))
    record.buffer("b1", np.zeros(1, dtype=np.int64))
    lines = emitted(asm.If(a < 1, one, asm.Block((inner,))), records=[record], arguments=[a])
    assert lines[:-1] == [
        "if (a < 1) {",
        "b0[0] = 0;",
        "} else if (a < 2) {",
        "b1[0] = 1;",
        "} else {",
        "b0[0] = 0;",
        "}",
    ]


def two_buffers():
    record = Record("r")
    return [record.buffer(f"b{k}", np.zeros(1, dtype=np.int64)) for k in range(2)]


def test_functions_take_buffers_and_values():
    """A function that searches: `Invoke` passes a buffer, its capacity and a scalar."""
    from finch_core.ir.expressions import Buffer, Invoke

    table, key, k = Buffer("table", INTP), var("key"), var("k")
    found = asm.If(Load(table, k).eq(key), asm.Block((asm.Return(k),)))
    body = asm.Block(
        (asm.For(k, lift(0), Length(table), asm.Block((found,))), asm.Return(lift(-1)))
    )
    find = asm.Function("find", (table, key), INTP, body)
    record, values = Record("r"), np.array([5, 7, 9, 0, 0], dtype=np.int64)
    b = record.buffer("b", values)
    stores = [
        asm.Store(b, lift(3), Invoke(find, (b, lift(9)))),
        asm.Store(b, lift(4), Invoke(find, (b, lift(4)))),
    ]
    assert run([record], stores, functions=[find])[0] == 0
    assert values.tolist() == [5, 7, 9, 2, -1]


def test_overlaps_compares_memory():
    values = np.zeros(8, dtype=np.int64)
    record, found = Record("r"), np.zeros(4, dtype=bool)
    parts = [values[:5], values[4:], values[5:], values[2:2]]
    a, b, d, none = (record.buffer(f"p{k}", part) for k, part in enumerate(parts))
    out = record.buffer("out", found)
    pairs = [(a, b), (a, d), (d, b), (a, none)]
    stores = [asm.Store(out, lift(k), Overlaps(*pair)) for k, pair in enumerate(pairs)]
    assert run([record], stores)[0] == 0
    assert found.tolist() == [True, False, True, False]
