"""Scalar promotion: a memory element that a loop updates is kept in a variable during the loop.

    for q in range(start, stop):            mut y_val_i: float64 = y_val[i]
        y_val[i] += a[q] * x[q]     ->      for q in range(start, stop):
                                                y_val_i += a[q] * x[q]
                                            y_val[i] = y_val_i

The element is promoted out of the outermost loop that allows it. The variable is stored back
before a ``Fail`` or ``Return`` in the loop, and before a parallel loop with one: its parts store to
nothing that they share. If the loop may not run and the element may not
exist in that case, the promoted loop is guarded by a test that the loop runs.
"""

from __future__ import annotations

from collections.abc import Iterator

from finch_core.ir.assembly import (
    Assign,
    Block,
    Fail,
    Fill,
    For,
    Grow,
    If,
    Let,
    Move,
    Parallel,
    Return,
    Sort,
    Statement,
    Store,
    Swap,
    While,
    contains,
)
from finch_core.ir.assembly_rewrite import (
    Substitution,
    assigned_names,
    certain,
    changed_names,
    leaves,
    read_names,
    replacing,
    with_blocks,
    with_expressions,
    with_statements,
)
from finch_core.ir.builder import Names
from finch_core.ir.expressions import Buffer, Expr, Invoke, Load, Var
from finch_core.ir.kept import kept
from finch_core.optimize.dereferenceability import Places, place_name
from finch_core.records import define, field

Loop = For | While


def scalar_promotion(block: Block, names: Names) -> Block:
    """``block`` with the elements that loops update kept in variables."""
    return _Promotion(names).block(block, Places(assigned_names(block)))


class _Promotion:
    def __init__(self, names: Names) -> None:
        self._names = names
        self._active: set[Load] = set()
        """Places that are in a variable here: only stores on the way out remain."""

    def block(self, block: Block, places: Places) -> Block:
        done: list[Statement] = []
        for at, statement in enumerate(block.statements):
            later = block.statements[at + 1 :]
            done += self.statement(statement, later, places)
            places.after(statement)
        return with_statements(block, done)

    def statement(
        self, statement: Statement, later: tuple[Statement, ...], places: Places
    ) -> tuple[Statement, ...]:
        """The replacement of ``statement``, which ``later`` follows in its block."""
        if isinstance(statement, (For, While)):
            for place in _candidates(statement):
                guard = _guard(statement, place, later, places)
                if guard is not None and place not in self._active:
                    return self._promoted(statement, place, guard, later, places)
        return (self._inner(statement, places),)

    def _inner(self, statement: Statement, places: Places) -> Statement:
        blocks = tuple(
            self.block(b, places.inside(statement)) if contains(b, For, While) else b
            for b in statement.blocks
        )
        return with_blocks(statement, blocks)

    def _promoted(
        self,
        loop: Loop,
        place: Load,
        guard: Expr | bool,
        later: tuple[Statement, ...],
        places: Places,
    ) -> tuple[Statement, ...]:
        register = Var(self._names.fresh(place_name(place)), place.buffer.dtype)
        back = Store(place.buffer, place.index, register)
        body = _in_register(loop, place, register, back)
        # other places that the loop updates are promoted around it
        self._active.add(place)
        inner = self.statement(body, later, places)
        self._active.remove(place)
        around = (Let(register, place, mutable=True), *inner, back)
        return around if isinstance(guard, bool) else (If(guard, Block(around)),)


def _candidates(loop: Loop) -> Iterator[Load]:
    """Loop-invariant places that ``loop`` stores to, if it accesses nothing else in their
    buffers."""
    inside = _accesses(Block((loop,)))
    if not inside.stored:
        return
    changed = changed_names(loop)
    for place in inside.stored:
        name = place.buffer.name
        if (
            name not in inside.spoiled
            and len(inside.places[name]) == 1
            and changed.isdisjoint(read_names(place.index))
        ):
            yield place


@define
class _Accesses:
    """What a block accesses: by the names of buffers the places, those that are stored to, and the
    names of buffers that are accessed other than element by element."""

    places: dict[str, set[Load]] = field(factory=dict)
    stored: dict[Load, None] = field(factory=dict)
    spoiled: set[str] = field(factory=set)


@kept("_accesses")
def _accesses(block: Block) -> _Accesses:
    found = _Accesses()
    for statement in block.statements:
        found.spoiled |= _spoiled(statement)
        if isinstance(statement, Store):
            place = Load(statement.buffer, statement.index)
            found.places.setdefault(statement.buffer.name, set()).add(place)
            found.stored[place] = None
        for node in (node for expr in statement.expressions for node in expr.walk()):
            if isinstance(node, Load):
                found.places.setdefault(node.buffer.name, set()).add(node)
            elif isinstance(node, Invoke):
                found.spoiled |= {arg.name for arg in node.args if isinstance(arg, Buffer)}
        for inner in map(_accesses, statement.blocks):
            for name, places in inner.places.items():
                found.places.setdefault(name, set()).update(places)
            found.stored |= inner.stored
            found.spoiled |= inner.spoiled
    return found


def _spoiled(statement: Statement) -> set[str]:
    """Buffers that ``statement`` accesses other than element by element."""
    if isinstance(statement, (Grow, Fill, Sort)):
        return {statement.buffer.name}
    if isinstance(statement, Move):
        return {statement.target.name, statement.source.name}
    if isinstance(statement, Swap):
        return {statement.first.name, statement.second.name}
    if _may_leave(statement):
        return {part.buffer.name for part in statement.walk() if isinstance(part, Store)}
    return set()


def _may_leave(statement: Statement) -> bool:
    """Whether this is a parallel loop whose parts may leave for good."""
    return isinstance(statement, Parallel) and leaves(statement)


def _guard(
    loop: Loop, place: Load, later: tuple[Statement, ...], places: Places
) -> Expr | bool | None:
    """When ``place`` may be read before ``loop``: always (``True``), under a condition, or never
    (``None``)."""
    direct = _is_direct(loop.body, place)
    if places.is_certain(place) or place in places.accessed(_before_growth(later, place)):
        return True
    if places.exists(place) and (direct or places.is_loop_variable(place.index)):
        return True
    if isinstance(loop, While) and place in certain((loop,)):
        return True
    if place not in certain(loop.body.statements):
        return None
    return loop.start < loop.stop if isinstance(loop, For) else loop.cond


def _before_growth(statements: tuple[Statement, ...], place: Load) -> Iterator[Statement]:
    """``statements`` up to the one that grows the buffer of ``place`` so that it exists."""
    for statement in statements:
        grown = (s.buffer for s in statement.walk() if isinstance(s, Grow))
        if place.buffer in grown:
            return
        yield statement


def _is_direct(block: Block, place: Load) -> bool:
    """Whether ``block`` or a loop in it accesses ``place`` unconditionally."""
    return place in certain(block.statements) or any(
        _is_direct(statement.body, place)
        for statement in block.statements
        if isinstance(statement, (For, While))
    )


def _in_register(loop: Loop, place: Load, register: Var, back: Store) -> Loop:
    replace = replacing({place: register})
    cond = tuple(map(replace, loop.expressions)) if isinstance(loop, While) else loop.expressions
    result = with_blocks(with_expressions(loop, cond), (_stored_back(loop.body, replace, back),))
    assert isinstance(result, (For, While))
    return result


def _stored_back(block: Block, replace: Substitution, back: Store) -> Block:
    """``block`` with the place replaced, and stored back where control leaves for good."""
    assert isinstance(back.value, Var)
    done: list[Statement] = []
    for statement in block.statements:
        blocks = tuple(_stored_back(inner, replace, back) for inner in statement.blocks)
        new = with_expressions(statement, tuple(map(replace, statement.expressions)))
        if isinstance(new, Store) and new.buffer == back.buffer:
            done.append(Assign(back.value, new.value))
        elif isinstance(new, (Fail, Return)):
            done += [back, new]
        elif _may_leave(statement):
            done += [back, statement]
        else:
            done.append(with_blocks(new, blocks))
    return with_statements(block, done)
