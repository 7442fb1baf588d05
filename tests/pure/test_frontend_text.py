"""Property: the text of an expression parses to the same expression."""

import ast

import numpy as np  # noqa: F401 - what "np.sqrt" in a text means
from hypothesis import given, settings
from hypothesis import strategies as st

from finch_core.frontend.context import ParseContext
from finch_core.frontend.expressions import ExpressionParser
from finch_core.frontend.names import Binding, Scope
from finch_core.frontend.source import read_source
from finch_core.ir import primitives as prim
from finch_core.ir.expressions import Access, Call, Literal, Name
from finch_core.ir.program_text import expression_text
from finch_core.ir.rewrite import rewrite_expr
from finch_core.operators import operator, operators

BINARY = [op for op in operators() if op.symbol] + [operator("min"), operator("max")]
UNARY = [prim.neg, prim.invert, prim.not_, operator("sqrt")]
NAMES = [Name(name) for name in "xyz"]


def no_kernel():
    pass


@st.composite
def expressions(draw, depth=4):
    kind = draw(st.sampled_from("nlbbucai")) if depth else "n"
    below = expressions(depth - 1)
    if kind == "n":
        return draw(st.sampled_from(NAMES))
    if kind == "l":
        return Literal(draw(st.integers(-3, 9)), int)
    if kind == "b":
        return Call(draw(st.sampled_from(BINARY)), (draw(below), draw(below)))
    if kind == "u":
        # the parser folds the sign of a literal
        operand = below.filter(lambda a: not isinstance(a, Literal))
        return Call(draw(st.sampled_from(UNARY)), (draw(operand),))
    if kind == "c":
        return Call(prim.ifelse, (draw(below), draw(below), draw(below)))
    return Access("A", (draw(below.filter(is_index)), draw(below.filter(is_index))))


def is_index(expr):
    """``~`` means permissive at the start of an index, and negative indices are refused."""
    is_inverse = isinstance(expr, Call) and expr.op is prim.invert
    return not is_inverse and not (isinstance(expr, Literal) and expr.value < 0)


@settings(max_examples=300, deadline=None)
@given(expressions())
def test_text_parses_to_the_same_expression(expr):
    scope = Scope(None, {n.name: Binding("variable", None, n) for n in NAMES})
    scope.names["A"] = Binding("parameter", None)
    source = read_source(no_kernel)
    parser = ExpressionParser(ParseContext(source, site=source.header))
    tree = ast.parse(expression_text(expr), mode="eval").body
    assert rewrite_expr(parser.parse(tree, scope), as_conditions) == rewrite_expr(
        expr, as_conditions
    )


def as_conditions(expr):
    """``and`` and ``or`` of values as those of conditions, from the left."""
    if not isinstance(expr, Call) or expr.op.symbol not in ("and", "or"):
        return expr
    op = prim.and_ if expr.op.symbol == "and" else prim.or_
    first, *rest = terms_of(Call(op, expr.args), op)
    for term in rest:
        first = Call(op, (first, term))
    return first


def terms_of(expr, op):
    if isinstance(expr, Call) and expr.op is op:
        return [term for arg in expr.args for term in terms_of(arg, op)]
    return [expr]
