"""Names that checks have found equal are one name in the parts of parallel loops.

    if D_n1 != B_n1: fail                          if D_n1 != B_n1: fail
    parallel: D[i * D_n1 + r] += B[j * B_n1 + r]   ->  parallel: D[i * D_n1 + r] += B[j * D_n1 + r]

C compilers see this within one function. A part is a function of its own, to which the kernel would
pass both names: two registers of the innermost loop for one number.
"""

from __future__ import annotations

from finch_core.ir.assembly import Kernel, Parallel, Statement
from finch_core.ir.assembly_rewrite import EqualNames, renamed, with_blocks, with_statements
from finch_core.ir.expressions import Var
from finch_core.records import evolve


def unify_equal_names(kernel: Kernel) -> Kernel:
    """``kernel`` with one name, the first, for those that checks of its outermost block found equal
    before, in each parallel loop; names that change anywhere stay."""
    if not any(isinstance(statement, Parallel) for statement in kernel.body.walk()):
        return kernel
    equal, statements = EqualNames(kernel.body), []
    for statement in kernel.body.statements:
        is_check = equal.passed(statement)
        statements.append(statement if is_check else _unified(statement, equal.first))
    return evolve(kernel, body=with_statements(kernel.body, statements))


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
