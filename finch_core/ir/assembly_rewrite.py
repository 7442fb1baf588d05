"""Traversal and rebuilding of assembly, shared by the passes.

An unchanged node stays the identical object, here and in every pass.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from operator import is_not
from typing import Any

from finch_core.ir import primitives as prim
from finch_core.ir.assembly import (
    Assign,
    Block,
    Break,
    Fail,
    Fill,
    For,
    Grow,
    If,
    Let,
    Merge,
    Move,
    Parallel,
    Prefetch,
    Return,
    Sort,
    Statement,
    Store,
    Swap,
    While,
)
from finch_core.ir.dtypes import INTP
from finch_core.ir.expressions import (
    Buffer,
    Call,
    Expr,
    Invoke,
    Length,
    Literal,
    Load,
    Overlaps,
    Var,
)
from finch_core.ir.kept import kept
from finch_core.records import evolve

_EXPRESSIONS: dict[type[Statement], tuple[str, ...]] = {
    Let: ("value",),
    Assign: ("value",),
    Store: ("index", "value"),
    For: ("start", "stop"),
    Parallel: ("count",),
    While: ("cond",),
    If: ("cond",),
    Grow: ("size",),
    Fill: ("start", "stop", "value"),
    Move: ("to", "begin", "count"),
    Sort: ("start", "stop"),
    Prefetch: ("index",),
    Return: ("value",),
}
_BLOCKS: dict[type[Statement], tuple[str, ...]] = {
    For: ("body",),
    Parallel: ("body",),
    Merge: ("body",),
    While: ("body",),
    If: ("body", "orelse"),
}


def _changed(olds: Sequence[Any], news: Sequence[Any]) -> bool:
    """Whether parts were replaced, of which there are as many as before."""
    return any(map(is_not, olds, news))


def with_expressions(statement: Statement, expressions: tuple[Expr, ...]) -> Statement:
    """``statement`` with other expressions, in the order of ``statement.expressions``."""
    if not expressions or not _changed(statement.expressions, expressions):
        return statement
    if isinstance(statement, Fail):
        return Fail(statement.site, expressions)
    names = _EXPRESSIONS[type(statement)]
    return evolve(statement, **dict(zip(names, expressions, strict=True)))  # type: ignore[misc]


def with_blocks(statement: Statement, blocks: tuple[Block, ...]) -> Statement:
    """``statement`` with other blocks, in the order of ``statement.blocks``."""
    if not blocks or not _changed(statement.blocks, blocks):
        return statement
    names = _BLOCKS[type(statement)]
    return evolve(statement, **dict(zip(names, blocks, strict=True)))  # type: ignore[misc]


def with_statements(block: Block, statements: Iterable[Statement]) -> Block:
    """``block`` with other statements."""
    new = tuple(statements)
    if len(new) == len(block.statements) and not _changed(block.statements, new):
        return block
    return Block(new)


def with_children(expr: Expr, children: tuple[Expr, ...]) -> Expr:
    """``expr`` with other operands."""
    return expr.rebuild(children) if _changed(expr.children, children) else expr


class Substitution:
    """Replaces expressions top-down; memoised, so that it is linear in the number of shared
    nodes."""

    def __init__(
        self,
        replace: Callable[[Expr], Expr | None],
        simplify: Callable[[Expr], Expr] | None = None,
        names: Set[str] | None = None,
    ) -> None:
        """``simplify`` rewrites nodes whose operands have changed. What reads none of ``names``
        has nothing to replace, and is passed over."""
        self._replace = replace
        self._simplify = simplify
        self._names = names
        self._memo: dict[Expr, Expr] = {}

    def __call__(self, expr: Expr) -> Expr:
        """``expr`` with every node replaced for which ``replace`` returns an expression."""
        if self._names is not None and self._names.isdisjoint(read_names(expr)):
            return expr
        found = self._memo.get(expr)
        if found is None:
            found = self._replace(expr)
            if found is None:
                found = with_children(expr, tuple(map(self, expr.children)))
                if self._simplify is not None and found is not expr:
                    found = self._simplify(found)
            self._memo[expr] = found
        return found

    def block(self, block: Block) -> Block:
        """All of ``block`` with its expressions replaced."""
        if self._names is not None and self._names.isdisjoint(used_in(block)):
            return block
        return with_statements(block, map(self.statement, block.statements))

    def statement(self, statement: Statement) -> Statement:
        statement = with_expressions(statement, tuple(map(self, statement.expressions)))
        return with_blocks(statement, tuple(map(self.block, statement.blocks)))


def replacing(
    meanings: Mapping[Expr, Expr], simplify: Callable[[Expr], Expr] | None = None
) -> Substitution:
    """Replaces the expressions that are keys of ``meanings``, all of which read variables."""
    names = {name for expr in meanings for name in read_names(expr)}
    return Substitution(meanings.get, simplify, names)


def replacing_variables(
    meanings: Mapping[str, Expr], simplify: Callable[[Expr], Expr] | None = None
) -> Substitution:
    """Replaces variables by name."""

    def meaning(expr: Expr) -> Expr | None:
        return meanings.get(expr.name) if isinstance(expr, Var) else None

    return Substitution(meaning, simplify, meanings.keys())


def in_terms_of(expr: Expr, meanings: Mapping[Expr, Expr]) -> Expr:
    """``expr`` with variables replaced by their definitions, recursively."""
    names = {name for key in meanings for name in read_names(key)}
    whole = Substitution(lambda e: whole(meanings[e]) if e in meanings else None, None, names)
    return whole(expr)


def summand(store: Store) -> Expr | None:
    """What a store adds to the element that it replaces; None for one that is not a sum."""
    value, place = store.value, Load(store.buffer, store.index)
    if not isinstance(value, Call) or value.op is not prim.add:
        return None
    first, second = value.args
    if first == place:
        return second
    return first if second == place else None


class EqualNames:
    """Of the indices and lengths of a kernel that its checks have found to be equal, the first.
    (Floats that compare equal may differ: zeros by their sign.)"""

    def __init__(self, kernel: Block) -> None:
        self._changed = changed_names(*kernel.statements)
        self.first: dict[str, Var] = {}

    def passed(self, statement: Statement) -> bool:
        """Whether a statement is such a check, after which its names are equal, or else the kernel
        has failed; names that change anywhere are left out."""
        if not isinstance(statement, If) or statement.orelse:
            return False
        check: Expr = statement.cond
        if not isinstance(check, Call) or check.op is not prim.ne:
            return False
        if not any(isinstance(inner, Fail) for inner in statement.body.statements):
            return False
        one, other = check.args
        if not (isinstance(one, Var) and isinstance(other, Var)):
            return False
        if not one.dtype == other.dtype == INTP:
            return False
        if self._changed.isdisjoint((one.name, other.name)):
            kept, other = (self.first.get(var.name, var) for var in (one, other))
            if kept.name != other.name:
                for name, var in list(self.first.items()):
                    if var.name == other.name:
                        self.first[name] = kept
                self.first[other.name] = kept
        return True


def renamed(block: Block, new: Mapping[str, Var | Buffer]) -> Block:
    """``block`` with other variables and buffers in place of those of these names."""
    return _Renaming(new).block(block) if new else block


class _Renaming(Substitution):
    def __init__(self, new: Mapping[str, Any]) -> None:
        super().__init__(self._renamed)
        self._new = new

    def _renamed(self, expr: Expr) -> Expr | None:
        if isinstance(expr, Var):
            return self._new.get(expr.name)
        if isinstance(expr, Load) and expr.buffer.name in self._new:
            return Load(self._new[expr.buffer.name], self(expr.index))
        if isinstance(expr, (Length, Overlaps, Invoke)):
            return self._with_buffers(expr)
        return None

    def _with_buffers(self, expr: Length | Overlaps | Invoke) -> Expr:
        if isinstance(expr, Length):
            return evolve(expr, buffer=self.target(expr.buffer))
        if isinstance(expr, Overlaps):
            return Overlaps(self.target(expr.first), self.target(expr.second))
        args = (self.target(a) if isinstance(a, Buffer) else self(a) for a in expr.args)
        return evolve(expr, args=tuple(args))

    def target(self, target: Any) -> Any:
        return self._new.get(target.name, target)

    def statement(self, statement: Statement) -> Statement:
        statement = super().statement(statement)
        names = [name for name in _TARGETS if hasattr(statement, name)]
        return evolve(  # type: ignore[misc]
            statement, **{name: self.target(getattr(statement, name)) for name in names}
        )


_TARGETS = ("var", "buffer", "target", "source", "first", "second")
"""The fields of statements that hold a variable or buffer."""


# -- definitions and uses: names of variables and buffers, which are distinct ---------------------


def read_names(expr: Expr) -> frozenset[str]:
    """Names of the variables and buffers on which the value of ``expr`` depends."""
    return _names(expr)[0]


def used_names(*statements: Statement) -> set[str]:
    """Names of the variables and buffers that expressions in ``statements`` depend on."""
    names: set[str] = set()
    for statement in statements:
        names |= own_reads(statement)
        for block in statement.blocks:
            names |= used_in(block)
    return names


def own_reads(statement: Statement) -> frozenset[str]:
    """Names that the expressions of ``statement`` itself depend on."""
    return _own_names(statement)[0]


def own_stores(statement: Statement) -> frozenset[str]:
    """Names of the buffers that functions store to which ``statement`` itself calls."""
    return _own_names(statement)[1]


@kept("_own")
def _own_names(statement: Statement) -> tuple[frozenset[str], frozenset[str]]:
    return _of_all(statement.expressions)


def _of_all(exprs: Iterable[Expr]) -> tuple[frozenset[str], frozenset[str]]:
    """The names that any of ``exprs`` reads, and those that any stores to."""
    found = [_names(expr) for expr in exprs]
    if len(found) == 1:
        return found[0]
    return _union([one[0] for one in found]), _union([one[1] for one in found])


def _union(sets: list[frozenset[str]]) -> frozenset[str]:
    """The union: one of ``sets`` where that has all. Nodes keep them, and most are alike."""
    some = [names for names in sets if names]
    if not some:
        return _NOTHING
    largest = max(some, key=len)
    found = largest.union(*some)
    return found if len(found) > len(largest) else largest


@kept("_uses")
def used_in(block: Block) -> frozenset[str]:
    """``used_names`` of the statements of ``block``."""
    return frozenset(used_names(*block.statements))


def stored_by(expr: Expr) -> frozenset[str]:
    """Names of the buffers that functions called in ``expr`` store to."""
    return _names(expr)[1]


_NOTHING: frozenset[str] = frozenset()
_NO_NAMES = _NOTHING, _NOTHING


@kept("_names")
def _names(expr: Expr) -> tuple[frozenset[str], frozenset[str]]:
    """The names that ``expr`` reads, and those that it stores to."""
    reads, stores = _NOTHING, _NOTHING
    if isinstance(expr, Literal):
        return _NO_NAMES
    if isinstance(expr, Var):
        return frozenset((expr.name,)), stores
    if isinstance(expr, (Load, Length)):
        reads = frozenset((expr.buffer.name,))
    elif isinstance(expr, Overlaps):
        reads = frozenset((expr.first.name, expr.second.name))
    elif isinstance(expr, Invoke):
        buffers = [arg for arg in expr.args if isinstance(arg, Buffer)]
        changed = changed_names(*expr.function.body.statements)
        pairs = zip(expr.args, expr.function.params, strict=True)
        reads = frozenset(arg.name for arg in buffers)
        stores = frozenset(
            arg.name for arg, param in pairs if isinstance(arg, Buffer) and param.name in changed
        )
    names = _of_all(expr.children)
    if not reads and not stores:
        return names
    return _union([reads, names[0]]), _union([stores, names[1]])


def changed_names(*statements: Statement) -> set[str]:
    """Names of the variables and buffers that ``statements`` declare, assign or store to."""
    names: set[str] = set()
    for statement in statements:
        names |= own_changes(statement)
        names |= own_stores(statement)
        for block in statement.blocks:
            names |= _changed_in(block)
    return names


@kept("_changes")
def _changed_in(block: Block) -> frozenset[str]:
    return frozenset(changed_names(*block.statements))


def own_changes(statement: Statement) -> set[str]:
    """Names that ``statement`` itself changes, without its blocks and the functions it calls."""
    if isinstance(statement, (Let, Assign, For)):
        return {statement.var.name}
    if isinstance(statement, Parallel):
        return {statement.var.name, *(p.target.name for p in statement.private)}
    if isinstance(statement, (Store, Grow, Fill, Sort)):
        return {statement.buffer.name}
    if isinstance(statement, Swap):
        return {statement.first.name, statement.second.name}
    return {statement.target.name} if isinstance(statement, Move) else set()


def names_in(block: Block) -> set[str]:
    """All names of variables and buffers in ``block``."""
    names = {*_changed_in(block), *used_in(block)}
    for statement in block.walk():
        if isinstance(statement, Move):
            names.add(statement.source.name)
        if isinstance(statement, Prefetch):
            names.add(statement.buffer.name)
    return names


@kept("_declared")
def redeclared_names(block: Block) -> frozenset[str]:
    """Names that more than one scope in ``block`` declares."""
    counts = Counter(s.var.name for s in block.walk() if isinstance(s, (Let, For, Parallel)))
    return frozenset(name for name, count in counts.items() if count > 1)


@kept("_assigned")
def assigned_names(block: Block) -> frozenset[str]:
    """Names of the variables that ``block`` assigns, and of the buffers that it exchanges: what is
    known of their places does not stay true."""
    found = (s for s in block.walk() if isinstance(s, (Assign, Swap)))
    return frozenset(name for s in found for name in own_changes(s))


# -- evaluation on every path ---------------------------------------------------------------


def leaves(statement: Statement) -> bool:
    """Whether ``statement`` may leave the block that contains it."""
    if isinstance(statement, _LOOPS):
        return "for good" in _exits(statement.body)
    if isinstance(statement, (Break, Fail, Return)):
        return True
    return any(map(_exits, statement.blocks))


@kept("_leaves")
def _exits(block: Block) -> frozenset[str]:
    """How control may leave ``block``: for good, or only the loop around it."""
    found = set()
    for statement in block.statements:
        if isinstance(statement, (Fail, Return)):
            found.add("for good")
        elif isinstance(statement, Break):
            found.add("the loop")
        inside = {way for inner in statement.blocks for way in _exits(inner)}
        found |= inside & {"for good"} if isinstance(statement, _LOOPS) else inside
    return frozenset(found)


_LOOPS = (For, While, Parallel)


def certain(statements: Iterable[Statement]) -> Iterator[Expr]:
    """The expressions, each before its parts, that are evaluated whenever control reaches
    ``statements``. A store counts as the load of its place."""
    for statement in statements:
        yield from _certainly_evaluated(statement)
        if leaves(statement):
            return


@kept("_certain")
def _certainly_evaluated(statement: Statement) -> tuple[Expr, ...]:
    """The expressions that ``statement`` itself evaluates, whenever control reaches it."""
    place = (Load(statement.buffer, statement.index),) if isinstance(statement, Store) else ()
    return (*place, *(part for expr in statement.expressions for part in certain_parts(expr)))


def certain_parts(expr: Expr) -> Iterator[Expr]:
    """The parts of ``expr`` that are evaluated whenever it is: not operands that may be skipped."""
    yield expr
    for child in expr.children[:1] if is_lazy(expr) else expr.children:
        yield from certain_parts(child)


def is_lazy(expr: Expr) -> bool:
    """Whether ``expr`` may leave operands after the first unevaluated."""
    return isinstance(expr, Call) and expr.op in (prim.and_, prim.or_, prim.ifelse)
