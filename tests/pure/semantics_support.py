"""What the tests of the paper's two figures of semantics share: loops and statements as text."""

import re
from textwrap import dedent

import attrs

from finch_core.interface.context import Context
from finch_core.interface.tensorlike import Constant, TensorLike
from finch_core.ir import primitives as prim
from finch_core.ir.assembly_text import block_text
from finch_core.ir.builder import Names
from finch_core.ir.dtypes import FLOAT64, INTP
from finch_core.ir.expressions import Access, Buffer, Index, Literal, Var, lift
from finch_core.ir.program import (
    Extent,
    Loop,
    Update,
)
from finch_core.lower.statements import FinchRules
from finch_core.symbolic.simplifier import Simplifier

INDEX, N, S = Index("i"), Var("n", INTP), Var("s", FLOAT64)
X, IDX = Buffer("x", FLOAT64), Buffer("idx", INTP)
ZERO = Constant(Literal(0.0, FLOAT64, structural=True))


@attrs.frozen
class Register(TensorLike):
    """A scalar that updates the variable ``s``."""

    ndim = 0
    dtype = FLOAT64
    fill_value = None

    def update(self, ctx, op, value):
        ctx.assign(S, value if op is None else op_call(op, value))


def op_call(op, value):
    from finch_core.ir.expressions import call

    return call(op, S, value)


@attrs.frozen(eq=False)
class Made(TensorLike):
    """A vector that is whatever looplet it is given."""

    looplet: object
    ndim = 1
    dtype = FLOAT64
    dims = (None,)

    def unfurl(self, ctx, mode, protocol):
        return self.looplet


def value(expr):
    return Constant(expr)


def text_of(stmt, *facts):
    ctx = Context(Names(["n", "s", "q"]), Simplifier(), lowering=FinchRules(), constants=(N,))
    for fact in facts:
        ctx.prover.know(fact)
    ctx.lower(stmt)
    return block_text(ctx.finish())


def loop_over(looplet, *facts, start=0, stop=N, op=prim.add):
    """``for i in range(start, stop): s += looplet[i]``."""
    body = Update(Access(Register(), ()), op, Access(Made(looplet), (INDEX,)))
    return text_of(Loop(INDEX, Extent(lift(start), lift(stop)), body), *facts)


def is_text(found, wanted):
    assert found == dedent(wanted).strip("\n") + ("\n" if found.endswith("\n") else "")


def assign(expr, op=None):
    return Update(Access(Register(), ()), op, expr)


def has_test(rule, tests):
    """Whether a rule of a figure has the test of its name among ``tests``."""
    name = re.sub(r"(?<!^)(?=[A-Z])", "_", rule).lower()
    return callable(tests.get(f"test_{name}"))
