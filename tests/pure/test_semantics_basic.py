"""The rules of the paper's figure "Basic evaluation semantics", one test each,
named after the rule: a statement, and the assembly that it becomes."""

import pytest
from semantics_support import (
    INDEX,
    ZERO,
    Made,
    N,
    Register,
    X,
    assign,
    has_test,
    is_text,
    text_of,
    value,
)

from finch_core.interface.context import Context
from finch_core.interface.tensorlike import BoundTensor, bind_level
from finch_core.ir import primitives as prim
from finch_core.ir import rewrite
from finch_core.ir.assembly import Block
from finch_core.ir.assembly_text import block_text
from finch_core.ir.builder import Names
from finch_core.ir.dtypes import FLOAT64
from finch_core.ir.expressions import Access, Literal, Load, Name, lift
from finch_core.ir.program import (
    Declare,
    Define,
    Extent,
    Freeze,
    Loop,
    Sequential,
    Sieve,
    Thaw,
    Update,
)
from finch_core.looplets import (
    Lookup,
    Run,
)
from finch_core.lower import statements as lowering
from finch_core.lower.statements import FinchRules
from finch_core.symbolic.simplifier import Simplifier
from finch_levels import Dense, Element, SparseList


def test_define():
    d = Name("d", FLOAT64)
    is_text(
        text_of(Define(d, Load(X, lift(0)) + 1.0, assign(d * d))),
        """
        d: float64 = x[0] + 1.0
        s = d * d
        """,
    )


def test_define_of_a_constant_is_that_constant():
    d = Name("d", FLOAT64)
    assert text_of(Define(d, Literal(2.0, FLOAT64), assign(d * d))).strip() == "s = 4.0"


def test_block():
    is_text(
        text_of(Sequential((assign(Load(X, lift(0))), assign(Load(X, lift(1)), prim.add)))),
        """
        s = x[0]
        s += x[1]
        """,
    )


def test_sieve_true():
    assert text_of(Sieve(lift(True), assign(Load(X, lift(0))))).strip() == "s = x[0]"


def test_sieve_false():
    assert text_of(Sieve(lift(False), assign(Load(X, lift(0))))) == ""


def test_sieve_on_what_is_not_known_is_a_test():
    is_text(
        text_of(Sieve(N > 2, assign(Load(X, lift(0))), assign(Load(X, lift(1))))),
        """
        if n > 2:
            s = x[0]
        else:
            s = x[1]
        """,
    )


def test_sieve_on_what_the_loops_imply_is_no_test():
    assert text_of(Sieve(N > 2, assign(Load(X, lift(0)))), N > 5).strip() == "s = x[0]"


def test_assign():
    assert text_of(assign(Load(X, lift(0)))).strip() == "s = x[0]"
    assert text_of(assign(Load(X, lift(0)), prim.mul)).strip() == "s *= x[0]"


def test_literal():
    assert text_of(assign(Literal(2.5, FLOAT64))).strip() == "s = 2.5"


def test_variable():
    """A ``let`` variable is the variable of the kernel that it was bound to."""
    d = Name("d", FLOAT64)
    found = text_of(Define(d, Load(X, lift(0)), assign(d + d)))
    assert found.splitlines()[1].strip() == "s = d + d"


def test_value():
    """What the looplets brought in of the target language is left as it is."""
    assert text_of(assign(Load(X, N - 1))).strip() == "s = x[n - 1]"


def test_call():
    assert text_of(assign((N + 1) * 2)).strip() == "s = (n + 1) * 2"


def test_index():
    """An index is the variable of its loop, or the one index that the loop has."""
    body = assign(Load(X, INDEX + 1))
    assert "s = x[i + 1]" in text_of(Loop(INDEX, Extent(lift(0), N), body))
    assert text_of(Loop(INDEX, Extent(lift(4), lift(5)), body)).strip() == "s = x[5]"


def test_access():
    """A scalar that is read unwraps to an expression."""
    assert text_of(assign(Access(value(Load(X, lift(3))), ()))).strip() == "s = x[3]"


LIST = SparseList(Element(0.0))


def bound(format):
    names = Names(["n", "s"])
    return BoundTensor("A", format, bind_level(format, "A", names)), names


def life_cycle(*steps, format=LIST):
    """The assembly of each of several statements about one tensor."""
    tensor, names = bound(format)
    ctx = Context(names, Simplifier(), lowering=FinchRules(), constants=(N,))
    found = []
    for step in steps:
        with ctx.block() as body:
            ctx.lower(step(tensor))
        found.append(block_text(Block(tuple(body))))
    return found


def declare(tensor):
    return Declare(tensor, Literal(0.0, FLOAT64), (Extent(lift(0), N),) * tensor.format.ndim)


def test_declare():
    """The tensor takes its dimensions and is left empty, in update mode."""
    is_text(
        life_cycle(declare)[0],
        """
        if n < 0 or n > 4611686018427387904:
            fail(1, n)
        A_n0 = n
        grow(A0_ptr, 1)
        A0_ptr[0] = 0
        mut A0_stored: int64 = 0
        mut A0_room: int64 = 0
        grow(A0_ptr, 2)
        A0_ptr[1] = 0
        """,
    )


def test_freeze():
    """The updates end: counts become where each fiber begins."""
    is_text(
        life_cycle(declare, Freeze, format=Dense(LIST))[1],
        """
        mut A1_ptr_sum: int64 = 0
        for p in range(1, A_n0 + 1):
            A1_ptr_sum += A1_ptr[p]
            A1_ptr[p] = A1_ptr_sum
        """,
    )


def test_thaw():
    """Updates go on behind what is stored; a failure would freeze the tensor first."""
    found = life_cycle(declare, Freeze, Thaw)[2]
    assert "mut A0_stored_2: int64 = A0_ptr[1]" in found
    tensor, names = bound(LIST)
    ctx = Context(names, Simplifier(), lowering=FinchRules(), constants=(N,))
    ctx.lower(Thaw(tensor))
    assert ctx.thawed == (tensor,)
    ctx.lower(Freeze(tensor))
    assert ctx.thawed == ()


def test_simplify():
    """Multiplying by a fill of zero is what makes a product of a run vanish."""
    product = Access(Made(Run(ZERO)), (INDEX,)) * Access(
        Made(Lookup(lambda c, i: value(Load(X, i)))), (INDEX,)
    )
    body = Update(Access(Register(), ()), prim.add, product)
    assert text_of(Loop(INDEX, Extent(lift(0), N), body)) == ""


RULES = {
    "Define": lowering._define,
    "Literal": lowering.evaluate,
    "Variable": rewrite.substitute_name,
    "Call": lowering.evaluate,
    "Index": rewrite.substitute_index,
    "Simplify": Simplifier.expr_rule,
    "Block": lowering._sequential,
    "SieveTrue": lowering._sieve,
    "SieveFalse": lowering._sieve,
    "Access": lowering.scalar_of,
    "Assign": lowering._update,
    "Value": lowering.evaluate,
    "Declare": lowering._declare,
    "Freeze": lowering._freeze,
    "Thaw": lowering._thaw,
}
"""The rules of the figure, in its order, and the function that each is here. Where the paper has a
rule for each outcome of a condition, one function emits both (section "Recursive Lowering")."""


@pytest.mark.parametrize("rule", RULES)
def test_every_rule_of_the_figure_has_its_test(rule):
    assert has_test(rule, globals())
