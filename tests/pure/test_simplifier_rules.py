"""Every rule of the simplifier: on which dtypes it is applied, that it is exact there, to the last
bit, and what goes wrong (or that nothing is defined) elsewhere. Values are the edges of each dtype
and what hypothesis finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import from_dtype

from finch_core.frontend.functions import choose, coalesce
from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import BOOL, concrete, tuple_dtype
from finch_core.ir.expressions import (
    FALSE,
    TRUE,
    Call,
    Cast,
    Expr,
    Literal,
    Var,
    cast,
    fold_literals,
    zero_of,
)
from finch_core.ir.missing import Missing, present
from finch_core.lower.bounds import OutOfRange
from finch_core.operators import Operator, cast_value, operator, operators
from finch_core.symbolic.algebra import RULES, Rule
from finch_core.symbolic.out_of_range import parted
from finch_core.symbolic.simplifier import Simplifier

KINDS = "biufc"
Build = Callable[..., Expr]


@attrs.frozen
class Case:
    """One rewriting: ``before`` to ``after``, of up to three operands of one dtype.

    ``exact`` are the kinds on which it is made; on the others that it is defined on, it changes
    some value, unless it is in ``needless``, with the reason why it is not made all the same.
    """

    rule: str
    label: str
    exact: str
    before: Build
    after: Build
    needless: dict[str, str] = attrs.field(factory=dict)

    def __str__(self) -> str:
        return f"{self.rule}: {self.label}"


def literal(value: Any, like: Expr, structural: bool = False) -> Literal:
    return Literal(concrete(like.dtype).type(value), like.dtype, structural)


def op(name: str) -> Build:
    return lambda *args: Call(operator(name), args)


add, sub, mul, div = op("add"), op("sub"), op("mul"), op("truediv")
least, most = op("min"), op("max")
both, either, xor = op("bitand"), op("bitor"), op("bitxor")
lt, le, gt, ge, eq, ne = map(op, ("lt", "le", "gt", "ge", "eq", "ne"))
neg, negate = op("neg"), op("not")


def identity_of(name: str) -> Build:
    def build(x: Expr) -> Expr:
        value = operator(name).identity(concrete(x.dtype))  # type: ignore[misc]
        if value is None:
            raise TypeError(f"{name} has no identity among {x.dtype}")
        return literal(value, x)

    return build


largest, smallest, ones = identity_of("min"), identity_of("max"), identity_of("bitand")


def huge(x: Expr) -> Expr:
    dtype = concrete(x.dtype)
    return literal(np.finfo(dtype).max if dtype.kind in "fc" else 1, x)


def tiny(x: Expr) -> Expr:
    dtype = concrete(x.dtype)
    return literal(np.finfo(dtype).tiny if dtype.kind in "fc" else 3, x)


def beyond(x: Expr) -> OutOfRange:
    """What would be read of a dimension of 3 at 4."""
    return OutOfRange(x.dtype, "dimension 0 of A", Literal(3, int), Literal(4, int))


def case(
    rule: str, label: str, exact: str, before: Build, after: Build, **needless: str
) -> Case:  # fmt: skip
    return Case(rule, label, exact, before, after, needless)


CASES = (
    case("missing", "x + missing", KINDS, lambda x: add(x, Missing(x.dtype)),
         lambda x: Missing(x.dtype)),
    case("out of range", "x + beyond", KINDS, lambda x: add(x, beyond(x)), lambda x: beyond(x)),
    case("coalesce", "coalesce(missing, x)", KINDS,
         lambda x: Call(coalesce, (Missing(x.dtype), x)), lambda x: x),
    case("present", "present(missing)", KINDS,
         lambda x: Call(present, (Missing(x.dtype),)), lambda _x: FALSE),
    case("present", "present(x)", KINDS, lambda x: Call(present, (x,)), lambda _x: TRUE),
    case("annihilator", "x * 0", "biu", lambda x: mul(x, literal(0, x)), lambda x: literal(0, x)),
    case("annihilator", "min(x, smallest)", "biu", lambda x: least(x, smallest(x)), smallest),
    case("annihilator", "max(x, largest)", "biu", lambda x: most(x, largest(x)), largest),
    case("annihilator", "x & 0", "biu", lambda x: both(x, literal(0, x)), lambda x: literal(0, x)),
    case("annihilator", "x | ones", "biu", lambda x: either(x, ones(x)), lambda x: ones(x)),
    case("annihilator", "x and False", KINDS, lambda x: op("and")(x, FALSE), lambda x: FALSE),
    case("annihilator", "x or True", KINDS, lambda x: op("or")(x, TRUE), lambda x: TRUE),
    case("constants", "2 + 3", KINDS, lambda x: add(literal(2, x), literal(3, x)),
         lambda x: fold_literals(prim.add, (literal(2, x), literal(3, x)))),
    case("identity", "x * 1", "biuf", lambda x: mul(x, literal(1, x)), lambda x: x),
    case("identity", "x + 0", "biu", lambda x: add(x, literal(0, x)), lambda x: x),
    case("identity", "min(x, largest)", "biuf", lambda x: least(x, largest(x)), lambda x: x),
    case("identity", "max(x, smallest)", "biuf", lambda x: most(x, smallest(x)), lambda x: x),
    case("identity", "min(largest, x)", "biu", lambda x: least(largest(x), x), lambda x: x),
    case("identity", "max(smallest, x)", "biu", lambda x: most(smallest(x), x), lambda x: x),
    case("identity", "1 * x", "biuf", lambda x: mul(literal(1, x), x), lambda x: x),
    case("identity", "x | 0", "biu", lambda x: either(x, literal(0, x)), lambda x: x),
    case("identity", "x ^ 0", "biu", lambda x: xor(x, literal(0, x)), lambda x: x),
    case("identity", "x and True", KINDS, lambda x: op("and")(x, TRUE), lambda x: cast(x, BOOL)),
    case("idempotence", "max(x, x)", KINDS, lambda x: most(x, x), lambda x: x),
    case("idempotence", "minimum(x, x)", KINDS, lambda x: op("minimum")(x, x), lambda x: x),
    case("idempotence", "x & x", "biu", lambda x: both(x, x), lambda x: x),
    case("ifelse", "y if True else x", KINDS, lambda x, y: op("ifelse")(TRUE, y, x),
         lambda x, y: y),
    case("ifelse", "x if x < x else x", KINDS, lambda x, y: op("ifelse")(eq(x, y), x, x),
         lambda x, y: x),
    case("negation", "not x < y", "biu", lambda x, y: negate(lt(x, y)), ge,
         c="complex numbers have an order by parts, which nothing here relies on"),
    case("negation", "not x == y", KINDS, lambda x, y: negate(eq(x, y)), ne),
    case("negation", "not not x", KINDS, lambda x: negate(negate(x)), lambda x: cast(x, BOOL)),
    case("truth", "x == True", "b", lambda x: eq(x, literal(1, x)), lambda x: x),
    case("truth", "x != True", "b", lambda x: ne(x, literal(1, x)), negate),
    case("reflexivity", "x <= x", "biu", lambda x: le(x, x), lambda x: TRUE),
    case("reflexivity", "x != x", "biu", lambda x: ne(x, x), lambda x: FALSE),
    case("reflexivity", "x < x", "biu", lambda x: lt(x, x), lambda x: FALSE,
         f="true of NaN too; a loop over floats does not compare a value with itself", c="as f"),
    case("bounds", "x > largest", "iuf", lambda x: gt(x, largest(x)), lambda x: FALSE,
         b="bools are seldom compared by order"),
    case("bounds", "x < smallest", "iuf", lambda x: lt(x, smallest(x)), lambda x: FALSE,
         b="bools are seldom compared by order"),
    case("bounds", "x <= largest", "iu", lambda x: le(x, largest(x)), lambda x: TRUE,
         b="bools are seldom compared by order"),
    case("extremes", "min(x, y) <= x", "biu", lambda x, y: le(least(x, y), x), lambda x, y: TRUE),
    case("extremes", "max(x, y) >= x", "biu", lambda x, y: ge(most(x, y), x), lambda x, y: TRUE),
    case("extremes", "x < min(x, y)", "biu", lambda x, y: lt(x, least(x, y)), lambda x, y: FALSE,
         f="true of NaN too, but kept beside those that are not", c="as f"),
    case("double negation", "-(-x)", "iufc", lambda x: neg(neg(x)), lambda x: x),
    case("double negation", "~~x", "biu", lambda x: op("invert")(op("invert")(x)), lambda x: x),
    case("inverse", "x - x", "iu", lambda x: sub(x, x), lambda x: literal(0, x)),
    case("inverse", "(x + y) - y", "iu", lambda x, y: sub(add(x, y), y), lambda x, y: x),
    case("inverse", "(x - y) + y", "iu", lambda x, y: add(sub(x, y), y), lambda x, y: x),
    case("inverse", "(x ^ y) ^ y", "biu", lambda x, y: xor(xor(x, y), y), lambda x, y: x),
    case("negated operand", "x + -y", "iufc", lambda x, y: add(x, neg(y)), sub),
    case("negated operand", "x - -y", "iufc", lambda x, y: sub(x, neg(y)), add),
    case("subtract zero", "x - 0", "iufc", lambda x: sub(x, literal(0, x)), lambda x: x),
    case("divide by one", "x / 1", "biuf", lambda x: div(x, literal(1, x)),
         lambda x: cast(x, concrete(div(x, x).dtype))),
    case("left annihilator", "0 / x", "", lambda x: div(literal(0, x), x),
         lambda x: zero_of(div(x, x).dtype)),
    case("left annihilator", "0 // x", "biu", lambda x: op("floordiv")(literal(0, x), x),
         lambda x: zero_of(op("floordiv")(x, x).dtype)),
    case("left annihilator", "0 % x", "biu", lambda x: op("mod")(literal(0, x), x),
         lambda x: zero_of(op("mod")(x, x).dtype)),
    case("left annihilator", "fmod(0, x)", "biu", lambda x: op("fmod")(literal(0, x), x),
         lambda x: zero_of(op("fmod")(x, x).dtype)),
    case("left annihilator", "0 << x", "biu", lambda x: op("lshift")(literal(0, x), x),
         lambda x: zero_of(op("lshift")(x, x).dtype)),
    case("left annihilator", "0 >> x", "biu", lambda x: op("rshift")(literal(0, x), x),
         lambda x: zero_of(op("rshift")(x, x).dtype)),
    case("left annihilator", "1 ** x", "biuf", lambda x: op("pow")(literal(1, x), x),
         lambda x: cast(literal(1, x), concrete(op("pow")(x, x).dtype))),
    case("left annihilator", "copysign(0, x)", "", lambda x: op("copysign")(literal(0, x), x),
         lambda x: zero_of(op("copysign")(x, x).dtype), b="bools have no sign", u="as b"),
    case("association", "(x + c) + d", "biu", lambda x: add(add(x, huge(x)), huge(x)),
         lambda x: add(x, add(huge(x), huge(x)))),
    case("association", "c * (x * d)", "biu", lambda x: mul(tiny(x), mul(x, huge(x))),
         lambda x: mul(x, mul(tiny(x), huge(x)))),
    case("absorption", "min(x, max(x, y))", "biu", lambda x, y: least(x, most(x, y)),
         lambda x, y: x, f="minimum and maximum would not do: NaN", c="as f"),
    case("absorption", "minimum(x, maximum(x, y))", "biu",
         lambda x, y: op("minimum")(x, op("maximum")(x, y)), lambda x, y: x),
    case("absorption", "x | (y & x)", "biu", lambda x, y: either(x, both(y, x)), lambda x, y: x),
    case("absorption", "max(y, max(x, y))", "biu", lambda x, y: most(y, most(x, y)),
         lambda x, y: most(x, y)),
    case("distribution", "x * y + z * x", "biu", lambda x, y, z: add(mul(x, y), mul(z, x)),
         lambda x, y, z: mul(x, add(y, z))),
    case("distribution", "x * y - x * z", "iu", lambda x, y, z: sub(mul(x, y), mul(x, z)),
         lambda x, y, z: mul(x, sub(y, z))),
    case("distribution", "(x & y) ^ (x & z)", "biu", lambda x, y, z: xor(both(x, y), both(x, z)),
         lambda x, y, z: both(x, xor(y, z))),
    case("distribution", "min(max(x, y), max(x, z))", "biu",
         lambda x, y, z: least(most(x, y), most(x, z)), lambda x, y, z: most(x, least(y, z))),
)  # fmt: skip

NAMES = "bool int8 uint8 int64 uint64 float32 float64 complex64 complex128".split()
DTYPES = tuple(map(np.dtype, NAMES))
"""The narrowest and the widest of each kind."""


def edges(dtype: np.dtype[Any]) -> list[Any]:
    """The values of a dtype at which algebra goes wrong."""
    if dtype.kind == "b":
        return [np.False_, np.True_]
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return [dtype.type(v) for v in sorted({info.min, 0, 1, 2, 3, info.max})]
    reals = [-np.inf, -1.0, -0.0, 0.0, 1.5, np.inf, np.nan, np.finfo(dtype).max]
    if dtype.kind == "f":
        return [dtype.type(v) for v in reals]
    low = float(np.finfo(dtype).min)
    return [
        dtype.type(complex(a, b)) for a, b in product((0.0, -0.0, low, np.inf, np.nan), repeat=2)
    ]


def value_of(expr: Expr, values: dict[str, Any]) -> Any:
    """What an expression evaluates to, operator by operator."""
    if isinstance(expr, Var):
        return Literal(values[expr.name], expr.type)
    if isinstance(expr, Cast):
        return cast(value_of(expr.value, values), expr.type)
    if isinstance(expr, Call):
        if Missing in map(type, expr.args):
            return _with_missing(expr, values)
        if OutOfRange in map(type, expr.args):
            return attrs.evolve(next(a for a in expr.args if isinstance(a, OutOfRange)))
        return fold_literals(expr.op, tuple(value_of(arg, values) for arg in expr.args))
    return expr


def _with_missing(expr: Call, values: dict[str, Any]) -> Any:
    if expr.op is present:
        return FALSE
    others = [value_of(a, values) for a in expr.args if not isinstance(a, Missing)]
    return others[0] if expr.op is coalesce else Missing(expr.dtype)


def same(a: Any, b: Any) -> bool:
    """Whether two results are the same to the last bit; NaNs are all alike."""
    if isinstance(a, (Missing, OutOfRange)) or isinstance(b, (Missing, OutOfRange)):
        return type(a) is type(b)
    one, other = (np.asarray(v.value, concrete(v.type)) for v in (a, b))
    if one.dtype != other.dtype:
        return False
    parts = (
        [(one, other)]
        if one.dtype.kind != "c"
        else [(one.real, other.real), (one.imag, other.imag)]
    )
    return all((np.isnan(p) and np.isnan(q)) or p.tobytes() == q.tobytes() if p.dtype.kind == "f"
               else p.tobytes() == q.tobytes() for p, q in parts)  # fmt: skip


def variables(case: Case, dtype: np.dtype[Any]) -> list[Var]:
    return [Var(name, dtype) for name in case.before.__code__.co_varnames[: _arity(case)]]


def _arity(case: Case) -> int:
    return int(case.before.__code__.co_argcount)


def built(case: Case, dtype: np.dtype[Any]) -> tuple[list[Var], Expr, Expr] | None:
    """The two sides for a dtype; None where an operator is not defined on it."""
    names = variables(case, dtype)
    try:
        before = case.before(*names)
        _ = [node.dtype for node in before.walk()]
        return names, before, case.after(*names)
    except (TypeError, ValueError):
        return None


def examples(names: list[Var], dtype: np.dtype[Any]) -> Iterator[dict[str, Any]]:
    for values in product(edges(dtype), repeat=len(names)):
        yield {name.name: value for name, value in zip(names, values, strict=True)}


def rule_named(name: str) -> Rule:
    return next(rule for rule in RULES if rule.name == name)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_rule_is_exact_where_it_is_applied_and_nowhere_else(case: Case) -> None:
    simplify = Simplifier([rule_named(case.rule)]).expr_rule
    applied, defined = set(), set()
    for dtype in DTYPES:
        found = built(case, dtype)
        if found is None:
            continue
        defined.add(dtype.kind)
        names, before, after = found
        result = simplify(before)
        if result != before:
            applied.add(dtype.kind)
            assert_same(names, dtype, before, result)
            assert_same(names, dtype, before, after)
        elif dtype.kind not in case.needless:
            values = examples(names, dtype)
            assert not all(same(value_of(before, v), value_of(after, v)) for v in values), dtype
    assert applied == set(case.exact)
    assert set(case.needless) <= defined - applied


def assert_same(names: list[Var], dtype: np.dtype[Any], before: Expr, after: Expr) -> None:
    def holds(values: dict[str, Any]) -> None:
        one, other = value_of(before, values), value_of(after, values)
        assert same(one, other), f"{dtype} {values}: {one} became {other}"

    for values in examples(names, dtype):
        holds(values)
    drawn = st.fixed_dictionaries({name.name: from_dtype(dtype) for name in names})
    settings(max_examples=10, deadline=None, derandomize=True, database=None)(given(drawn)(holds))()


def test_every_rule_has_its_cases_and_says_on_what_it_is_exact() -> None:
    for rule in RULES:
        cases = [case for case in CASES if case.rule == rule.name]
        assert cases, rule.name
        kinds = set().union(*(case.exact for case in cases))
        assert kinds >= set(rule.exact), rule.name
        assert all(set(case.exact) <= set(rule.exact) for case in cases) or rule.otherwise
        assert rule.meaning
        assert rule.otherwise or len(rule.exact) == 5 or rule.name == "double negation", rule.name


def test_a_structural_fill_is_dropped_and_absorbs_where_a_constant_does_not() -> None:
    """A structural fill value is exact, whatever the dtype."""
    simplify = Simplifier().expr_rule
    for dtype in (np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.complex128)):
        x = Var("x", dtype)
        zero, fill = literal(0, x), literal(0, x, structural=True)
        for build in (add, mul):
            assert simplify(build(x, zero)) == build(x, zero)
        assert simplify(add(x, fill)) == x
        assert simplify(mul(x, fill)) == fill
        assert simplify(div(fill, x)) == fill
        assert simplify(div(zero, x)) == div(zero, x)


def test_the_mark_of_a_fill_stays_on_that_fill_alone() -> None:
    """It allows what NaN and infinity would forbid: no constant of the user's inherits that."""
    simplify = Simplifier().expr_rule
    x = Var("x", np.dtype(np.float64))
    zero, infinite = (literal(value, x, structural=True) for value in (0, np.inf))
    two, inf = literal(2, x), literal(np.inf, x)
    stays = (
        neg(zero), div(zero, two), op("pow")(zero, two), most(zero, literal(0, x)), gt(zero, two),
        add(zero, literal(0, x)), op("mod")(zero, two), neg(infinite), mul(infinite, two),
        div(zero, literal(0, x)),
    )  # fmt: skip
    ends = (add(zero, inf), op("cos")(zero), op("log")(zero), add(zero, two),
            sub(infinite, infinite), lt(zero, two))  # fmt: skip
    for expr, marked in (*((e, True) for e in stays), *((e, False) for e in ends)):
        found = simplify(expr)
        assert isinstance(found, Literal)
        assert found.structural is marked, expr


@pytest.mark.parametrize("dtype", [np.int8, np.int64])
def test_plain_numbers_keep_their_weak_type(dtype: Any) -> None:
    """``(x + 1) + 2`` is of the dtype of ``x``."""
    x = Var("x", np.dtype(dtype))
    found = Simplifier().expr_rule(add(add(x, Literal(1, int)), Literal(2, int)))
    assert found.dtype == dtype
    assert found == add(x, literal(3, x))


@pytest.mark.parametrize(
    ("name", "value", "type_", "structural"),
    [
        ("max", 2**63 - 1, int, False), ("min", -(2**63), int, False), ("mul", 0, int, False),
        ("mul", 0.0, float, True), ("floordiv", 0, int, True), ("truediv", 0.0, float, True),
    ],
)  # fmt: skip
def test_constants_of_plain_numbers_are_plain(
    name: str, value: Any, type_: Any, structural: bool
) -> None:
    """``larger(max(n, 2**63 - 1), x)`` is of the dtype of ``x``."""
    plain = Literal(value, type_, structural=structural)
    found = Simplifier().expr_rule(op(name)(plain, Var("n", type_)))
    assert found == plain
    assert type(found.value) is type_


def test_what_may_not_be_evaluated_may_be_out_of_range() -> None:
    simplify = Simplifier().expr_rule
    b, x = Var("b", BOOL), Var("x", np.dtype(np.float64))
    for expr in (op("and")(b, beyond(b)), op("ifelse")(b, beyond(x), x)):
        assert simplify(expr) == expr
    assert isinstance(simplify(op("and")(beyond(b), b)), OutOfRange)


def test_conditions_of_out_of_range_reads_have_zeros_for_each_other() -> None:
    x, y = beyond(Var("x", np.dtype(np.int64))), beyond(Var("y", np.dtype(np.int32)))
    either = Call(prim.or_, (Cast(x, BOOL), Cast(y, BOOL)))
    value, found = parted(either)
    assert [node.type for _, node in found] == [x.type, y.type]
    for expr in (value, *(guard for guard, _ in found)):
        assert not any(isinstance(node, OutOfRange) for node in expr.walk())


WIDTHS = [np.dtype(name) for name in ("i1", "u1", "i4", "u4", "i8", "u8")]


@pytest.mark.parametrize("operator", [o for o in operators() if o.modular], ids=repr)
def test_a_modular_operator_needs_no_more_bits_than_are_kept(operator: Operator) -> None:
    for wide, narrow in product(WIDTHS, repeat=2):
        if narrow.itemsize >= wide.itemsize:
            continue
        for a, b in product(edges(wide), repeat=2):
            found = cast_value(operator.evaluate(a, b), narrow)
            assert found == operator.evaluate(cast_value(a, narrow), cast_value(b, narrow))


@pytest.mark.parametrize("operator", [o for o in (*operators(), choose(0)) if o.selects], ids=repr)
def test_an_operator_that_selects_gives_one_of_its_operands(operator: Operator) -> None:
    for dtype in DTYPES:
        values = edges(dtype)
        if operator.name.endswith("by"):
            pair = tuple_dtype((dtype, dtype))
            values = [cast_value((a, b), pair) for a, b in product(values[:3], repeat=2)]
        for a, b in product(values, repeat=2):
            found = operator.evaluate(a, b)
            assert found.tobytes() in (a.tobytes(), b.tobytes()) or found != found
