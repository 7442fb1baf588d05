"""Names that checks have found equal are one name in the parts of parallel loops.

    if D_n1 != B_n1: fail                          if D_n1 != B_n1: fail
    parallel: D[i * D_n1 + r] += B[j * B_n1 + r]   ->  parallel: D[i * D_n1 + r] += B[j * D_n1 + r]

C compilers see this within one function. A part is a function of its own, to which the kernel would
pass both names: two registers of the innermost loop for one number.
"""

from __future__ import annotations

from finch_core.ir import primitives as prim
from finch_core.ir.assembly import Fail, If, Kernel, Parallel, Statement
from finch_core.ir.assembly_rewrite import changed_names, renamed, with_blocks, with_statements
from finch_core.ir.dtypes import INTP
from finch_core.ir.expressions import Call, Expr, Var
from finch_core.records import evolve


def unify_equal_names(kernel: Kernel) -> Kernel:
    """``kernel`` with one name, the first, for those that checks of its outermost block found equal
    before, in each parallel loop; names that change anywhere stay."""
    if not any(isinstance(statement, Parallel) for statement in kernel.body.walk()):
        return kernel
    changed = changed_names(*kernel.body.statements)
    first: dict[str, Var] = {}
    statements = []
    for statement in kernel.body.statements:
        pair = _found_equal(statement)
        if pair is None:
            statements.append(_unified(statement, first))
            continue
        statements.append(statement)
        if changed.isdisjoint(var.name for var in pair):
            kept, other = (first.get(var.name, var) for var in pair)
            if kept.name != other.name:
                first |= {name: kept for name, var in first.items() if var.name == other.name}
                first[other.name] = kept
    return evolve(kernel, body=with_statements(kernel.body, statements))


def _found_equal(statement: Statement) -> tuple[Var, Var] | None:
    """The indices or lengths that are equal after ``statement``, or else it has failed. (Floats
    that compare equal may differ: zeros by their sign.)"""
    if not isinstance(statement, If) or statement.orelse:
        return None
    check: Expr = statement.cond
    if not isinstance(check, Call) or check.op is not prim.ne:
        return None
    if not any(isinstance(inner, Fail) for inner in statement.body.statements):
        return None
    one, other = check.args
    if isinstance(one, Var) and isinstance(other, Var) and one.dtype == other.dtype == INTP:
        return one, other
    return None


def _unified(statement: Statement, first: dict[str, Var]) -> Statement:
    """``statement`` with the first names in the parallel loops that it contains."""
    if not first:
        return statement
    if isinstance(statement, Parallel):
        return evolve(statement, body=renamed(statement.body, first))
    blocks = statement.blocks
    if not any(isinstance(s, Parallel) for block in blocks for s in block.walk()):
        return statement
    inner = (with_statements(b, [_unified(s, first) for s in b.statements]) for b in blocks)
    return with_blocks(statement, tuple(inner))


__all__ = ["unify_equal_names"]
