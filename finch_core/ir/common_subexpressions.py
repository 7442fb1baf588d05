"""Common subexpressions: what a large statement needs several times is kept in a variable.

    y[0] = (a[0] + a[0]) * b + ((a[0] + a[0]) * b)    ->    let t = (a[0] + a[0]) * b
                                                            y[0] = t + t

Expressions are graphs, but as text they are trees, and nested ``e + e`` doubles the tree at each
level. Compilers find what the trees of ordinary statements have in common, so that these stay as
they are.
"""

from __future__ import annotations

from collections import ChainMap, Counter
from collections.abc import Iterator

from finch_core.ir import primitives as prim
from finch_core.ir.assembly import Assign, Block, Break, If, Kernel, Let, Statement, While
from finch_core.ir.assembly_rewrite import (
    is_lazy,
    names_in,
    stored_by,
    with_blocks,
    with_children,
    with_expressions,
    with_statements,
)
from finch_core.ir.builder import Names
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import FALSE, TRUE, Call, Expr, Invoke, Load, Var, zero_of
from finch_core.ir.typing import kernel_names
from finch_core.records import define, evolve, field

LARGE = 1000
"""A statement of at most so many nodes as a tree stays as it is."""
_TIMES = 4
"""So does one that is smaller as a tree than this times its size as a graph."""


def bind_common_subexpressions(kernel: Kernel) -> Kernel:
    """``kernel`` with variables for what its large statements need several times, so that no
    statement is much larger as a tree than as a graph; for typed assembly.

    What is only evaluated under a condition, and loads, is shared within its branch alone.
    """
    blocks = kernel.body, *(function.body for function in kernel.functions)
    if not any(_is_large(s) for block in blocks for s in block.walk()):
        return kernel
    functions = []
    for function in kernel.functions:
        names = Names({param.name for param in function.params} | names_in(function.body))
        functions.append(evolve(function, body=_bound(function.body, names)))
    body = _bound(kernel.body, Names(kernel_names(kernel)))
    return evolve(kernel, body=body, functions=tuple(functions))


def _is_large(statement: Statement) -> bool:
    sizes: dict[int, int] = {}
    tree = sum(_tree_size(expr, sizes) for expr in statement.expressions)
    return tree > LARGE and tree > _TIMES * len(sizes)


def _tree_size(expr: Expr, sizes: dict[int, int]) -> int:
    """The nodes of ``expr`` as a tree; ``sizes`` keeps those of its nodes with operands by id."""
    children = expr.children
    if not children:
        return 1
    found = sizes.get(id(expr))
    if found is None:
        found = 1
        for child in children:
            found += _tree_size(child, sizes)
        sizes[id(expr)] = found
    return found


def _bound(block: Block, names: Names) -> Block:
    return with_statements(block, (new for s in block.statements for new in _split(s, names)))


def _split(statement: Statement, names: Names) -> Iterator[Statement]:
    """``statement``, with declarations before it if it is large."""
    large = _is_large(statement)
    statement = with_blocks(statement, tuple(_bound(block, names) for block in statement.blocks))
    if not large or any(map(stored_by, statement.expressions)):
        yield statement
        return
    scope = _Scope()
    binding = _Binding(names, scope, _uses(statement))
    values = tuple(binding.value(expr, scope) for expr in statement.expressions)
    if isinstance(statement, While):
        leave = If(Call(prim.not_, values), Block((Break(),)))
        yield While(TRUE, Block((*scope.statements, leave, *statement.body.statements)))
    else:
        yield from scope.statements
        yield with_expressions(statement, values)


def _uses(statement: Statement) -> Counter[int]:
    """How many operands each node of a statement's expressions is, by id."""
    uses: Counter[int] = Counter()
    left = list(statement.expressions)
    while left:
        node = left.pop()
        uses[id(node)] += 1
        if uses[id(node)] == 1:
            left.extend(node.children)
    return uses


@define
class _Scope:
    """The declarations of a block, and the values that it has for nodes, by id."""

    statements: list[Statement] = field(factory=list)
    values: ChainMap[int, Expr] = field(factory=ChainMap)

    def branch(self) -> _Scope:
        return _Scope([], self.values.new_child())


@define
class _Binding:
    """The expressions of one statement, which keeps their nodes: they are told apart by id."""

    names: Names
    top: _Scope
    uses: Counter[int]
    _loads: dict[int, bool] = field(factory=dict)
    _certain: dict[int, dict[int, Expr]] = field(factory=dict)

    def value(self, expr: Expr, scope: _Scope) -> Expr:
        """``expr`` as ``scope`` evaluates it. What loads nothing may be evaluated at the top."""
        if not expr.children:
            return expr
        scope = scope if self.loads(expr) else self.top
        found = scope.values.get(id(expr))
        if found is None:
            found = scope.values[id(expr)] = self._new(expr, scope)
        return found

    def _new(self, expr: Expr, scope: _Scope) -> Expr:
        if isinstance(expr, Call) and is_lazy(expr):
            value = self._choice(expr, scope)
        else:
            value = with_children(expr, tuple(self.value(c, scope) for c in expr.children))
        if self.uses[id(expr)] == 1 or isinstance(value, Var):
            return value
        var = self._variable(value)
        scope.statements.append(Let(var, value))
        return var

    def _variable(self, value: Expr) -> Var:
        return Var(self.names.fresh("common"), concrete(value.dtype))

    def _choice(self, expr: Call, scope: _Scope) -> Expr:
        """An operator that may skip operands: a statement, if these have declarations."""
        cond, operands = self.value(expr.args[0], scope), expr.args[1:]
        self._in_all(operands, scope)
        branches = [scope.branch() for _ in operands]
        values = tuple(map(self.value, operands, branches))
        if not any(branch.statements for branch in branches):
            return with_children(expr, (cond, *values))
        var = self._variable(expr)
        blocks = [
            Block((*branch.statements, Assign(var, value)))
            for branch, value in zip(branches, values, strict=True)
        ]
        scope.statements.append(Let(var, _skipped(expr), mutable=True))
        if len(blocks) == 1:  # of `or`, it runs where the condition is false
            blocks.insert(0 if expr.op is prim.or_ else 1, Block())
        scope.statements.append(If(cond, blocks[0], blocks[1]))
        return var

    def _in_all(self, operands: tuple[Expr, ...], scope: _Scope) -> None:
        """Evaluate before a choice what all of its operands need and share."""
        if len(operands) > 1:
            first, *others = map(self.certain, operands)
            for key, node in first.items():
                if self.uses[key] > 1 and all(key in other for other in others):
                    self.value(node, scope)

    def loads(self, expr: Expr) -> bool:
        """Whether ``expr`` accesses memory, which a condition may guard."""
        found = self._loads.get(id(expr))
        if found is None:
            found = isinstance(expr, (Load, Invoke)) or any(map(self.loads, expr.children))
            self._loads[id(expr)] = found
        return found

    def certain(self, expr: Expr) -> dict[int, Expr]:
        """The nodes that are evaluated whenever ``expr`` is, and load."""
        if not self.loads(expr):
            return {}
        found = self._certain.get(id(expr))
        if found is None:
            sure = expr.children[:1] if is_lazy(expr) else expr.children
            found = {key: node for child in sure for key, node in self.certain(child).items()}
            if isinstance(expr, Call) and expr.op is prim.ifelse:
                first, second = map(self.certain, expr.args[1:])
                found |= {key: node for key, node in first.items() if key in second}
            found[id(expr)] = expr
            self._certain[id(expr)] = found
        return found


def _skipped(expr: Call) -> Expr:
    """The value of a choice before its branches have run."""
    if expr.op is prim.or_:
        return TRUE
    return FALSE if expr.op is prim.and_ else zero_of(concrete(expr.dtype))


__all__ = ["LARGE", "bind_common_subexpressions"]
