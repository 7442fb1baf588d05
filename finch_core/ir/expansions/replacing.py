"""A kernel without what a backend lacks: functions of assembly stand in for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from finch_core.ir.assembly import Block, For, Function, Kernel, Sort, Statement
from finch_core.ir.assembly_rewrite import (
    names_in,
    with_blocks,
    with_children,
    with_expressions,
    with_statements,
)
from finch_core.ir.builder import Names
from finch_core.ir.expansions.forms import Key, form_of, key_of
from finch_core.ir.expansions.sorting import heapsort
from finch_core.ir.expressions import Call, Cast, Expr, Invoke
from finch_core.ir.typing import kernel_names
from finch_core.records import define, evolve, field

Lacks = Callable[[Call | Cast | Sort], bool]


def in_terms_of_others(kernel: Kernel, lacks: Lacks) -> Kernel:
    """``kernel`` with functions of assembly, and statements, in place of what a backend lacks.

    ``lacks`` is asked of each ``Call`` and ``Cast``, with typed operands, and of each ``Sort``.
    What has no form stays. In a form its own operator stays, too: there it is applied to operands
    for which all languages agree, so that their plain operator will do.
    """
    replacing = _Replacing(lacks, Names(function.name for function in kernel.functions))
    for function in kernel.functions:
        own = Names({param.name for param in function.params} | names_in(function.body))
        body = replacing.block(function.body, own)
        replacing.functions[function.name] = evolve(function, body=body)
    body = replacing.block(kernel.body, Names(kernel_names(kernel)))
    return evolve(kernel, body=body, functions=tuple(replacing.functions.values()))


@define
class _Replacing:
    """The pass; linear, as each expression object is looked at once.

    ``functions`` are those of the new kernel, each after those that it calls.
    """

    lacks: Lacks
    names: Names
    functions: dict[str, Function] = field(factory=dict)
    _made: dict[Key, Function] = field(factory=dict)
    _known: dict[int, tuple[Expr, Expr]] = field(factory=dict)  # keyed by id; the value holds it
    _within: Key | None = None

    def block(self, block: Block, names: Names) -> Block:
        statements = [new for old in block.statements for new in self._statement(old, names)]
        return with_statements(block, statements)

    def _statement(self, statement: Statement, names: Names) -> Iterator[Statement]:
        if isinstance(statement, For) and statement.lanes:
            statement = self._with_lanes(statement)
        statement = with_expressions(statement, tuple(map(self.expr, statement.expressions)))
        if isinstance(statement, Sort) and self.lacks(statement):
            yield from self.block(heapsort(statement, names), names).statements
            return
        blocks = tuple(self.block(inner, names) for inner in statement.blocks)
        yield with_blocks(statement, blocks)

    def _with_lanes(self, loop: For) -> For:
        """``loop``, reduced in lanes by operators that stay."""
        kept = tuple((v, op) for v, op in loop.lanes if self._form(Call(op, (v, v))) is None)
        return loop if len(kept) == len(loop.lanes) else evolve(loop, lanes=kept)

    def expr(self, expr: Expr) -> Expr:
        found = self._known.get(id(expr))
        if found is None:
            found = self._known[id(expr)] = (expr, self._replaced(expr))
        return found[1]

    def _replaced(self, expr: Expr) -> Expr:
        new = with_children(expr, tuple(map(self.expr, expr.children)))
        if isinstance(new, Invoke):
            return Invoke(self.functions[new.function.name], new.args)
        function = self._form(new) if isinstance(new, (Call, Cast)) else None
        return new if function is None else Invoke(function, new.children)

    def _form(self, expr: Call | Cast) -> Function | None:
        """The function in place of an expression that the backend lacks."""
        key = key_of(expr)
        if key == self._within or not self.lacks(expr):
            return None
        return self._made[key] if key in self._made else self._make(key)

    def _make(self, key: Key) -> Function | None:
        form = form_of(key)
        if form is None:
            return None
        outer, self._within = self._within, key
        known, self._known = self._known, {}
        body = self.block(form.body, Names(names_in(form.body)))
        self._within, self._known = outer, known
        made = evolve(form, name=self.names.fresh(form.name), body=body)
        self.functions[made.name] = self._made[key] = made
        return made


__all__ = ["in_terms_of_others"]
