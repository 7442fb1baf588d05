"""Prefetches: where a loop goes next, if memory says so, is asked for some turns before.

    for q in range(p, p_stop):              for q in range(p, p_stop):
        k = A_idx[q]                            if q + 2 < p_stop:
        r, r_stop = B_ptr[k], B_ptr[k + 1]          k_ahead = A_idx[q + 2]
        for s in range(r, r_stop):    ->            r_ahead = B_ptr[k_ahead]
            ... B_val[s] ...                        prefetch(B_val, r_ahead)
                                                k = A_idx[q]
                                                ...

A processor sees far ahead in one loop, but not beyond the end of an inner one, whose length it has
to guess; so each inner loop begins with waiting for memory, if it begins at a place that another
load gives. No load is made that the loop would not make itself.

So does a search that begins where a key that was loaded says: it goes on until what it finds there
ends it.

    for k in range(0, n):                   for k in range(0, n):
        key = keys[k]                           if k + 8 < n:
        slot = hash(key) & mask                     slot_ahead = hash(keys[k + 8]) & mask
        while table[slot] != key:     ->            prefetch(table, slot_ahead)
            slot = slot + 1 & mask              key = keys[k]
                                                ...

Where the inner loops go on where the one before ended, and load through what they find there, all
that is short of them is distance: what they are to go through is asked for some pages before.

    for i in range(0, n):                   for i in range(0, n):
        q, q_stop = ptr[i], ptr[i + 1]          q, q_stop = ptr[i], ptr[i + 1]
        for p in range(q, q_stop):      ->      prefetch(idx, q + 512)
            s += a[p] * x[idx[p]]               prefetch(a, q + 512)
                                                for p in range(q, q_stop):
                                                    s += a[p] * x[idx[p]]
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import attrs

from finch_core.ir import primitives as prim
from finch_core.ir.assembly import Block, Break, For, If, Let, Prefetch, Return, Statement, While
from finch_core.ir.assembly_rewrite import (
    Substitution,
    certain,
    changed_names,
    in_terms_of,
    read_names,
    redeclared_names,
    with_blocks,
    with_statements,
)
from finch_core.ir.builder import Names
from finch_core.ir.dtypes import INTP
from finch_core.ir.expressions import Buffer, Call, Cast, Expr, Literal, Load, Var
from finch_core.ir.strides import scattered, stride_along
from finch_core.symbolic.simplifier import folded

AHEAD: dict[type[Statement], int] = {For: 2, While: 8}
"""How many turns before. Rows are short: with more, most of them would begin unasked for. Probes
are shorter than memory takes, and follow one another in long loops."""

DISTANCE = 512
"""Elements before they are needed, where rows follow one another: one page of doubles."""

Places = dict[tuple[Buffer, Expr], None]
"""Buffers, each with an index in terms of a loop's variable and of what its body declares."""


def prefetch(block: Block, names: Names) -> Block:
    """``block`` with prefetches of where inner loops begin, and of where they will go on."""
    done: list[Statement] = []
    for statement in block.statements:
        inner = tuple(prefetch(b, names) for b in _followed(statement).blocks)
        done += _asked_for(statement, with_blocks(statement, inner), names)
    return with_statements(block, done)


def _asked_for(loop: Statement, done: Statement, names: Names) -> tuple[Statement, ...]:
    """``done``, which is ``loop`` after other changes: each turn asks for where the next few of its
    turns begin loops."""
    if not (isinstance(loop, For) and isinstance(done, For)):
        return (done,)
    far = _far_places(loop)
    if not far:
        return (done,)
    before: tuple[Statement, ...] = ()
    if not isinstance(loop.stop, Literal) and not _is_kept(loop.stop, loop):
        stop = Var(names.fresh(f"{loop.var.name}_stop"), INTP)
        before, loop = (Let(stop, loop.stop),), attrs.evolve(loop, stop=stop)
    asking = [_asking(loop, places, AHEAD[kind], names) for kind, places in far.items()]
    body = Block((*asking, *done.body.statements))
    return *before, attrs.evolve(done, stop=loop.stop, body=body)


def _asking(loop: For, places: Places, ahead: int, names: Names) -> Statement:
    """What asks for the places of so many turns later, if there is such a turn."""
    later = loop.var + Literal(ahead, INTP)
    moves: dict[Expr, Expr] = {loop.var: later}
    asking: list[Statement] = []
    for let in _needed(loop, places):
        var = Var(names.fresh(f"{let.var.name}_ahead"), let.var.type)
        asking.append(Let(var, Substitution(moves.get)(let.value)))
        moves[let.var] = var
    asking += [Prefetch(buffer, Substitution(moves.get)(index)) for buffer, index in places]
    return If(later < loop.stop, Block(tuple(asking)))


def _is_kept(expr: Expr, loop: For) -> bool:
    """Whether an expression is a variable that ``loop`` leaves as it is."""
    return isinstance(expr, Var) and expr.name not in changed_names(loop)


def _needed(loop: For, places: Places) -> list[Let]:
    """What a turn declares that tells ``places``, in order."""
    needed = set().union(*(read_names(index) for _, index in places))
    found: list[Let] = []
    for statement in reversed(loop.body.statements):
        if isinstance(statement, Let) and statement.var.name in needed:
            found.append(statement)
            needed |= read_names(statement.value)
    return found[::-1]


def _far_places(loop: For) -> dict[type[Statement], Places]:
    """What the loops in a turn begin with, where only memory tells, by what they are."""
    found: dict[type[Statement], Places] = {}
    for inner, place, known in _known_places(loop):
        if _is_far(known, loop.var):
            found.setdefault(type(inner), {})[place] = None
    return found


def _followed(loop: Statement) -> Statement:
    """``loop``, where each inner loop that goes on where the one before ended asks for what is
    some way behind its beginning."""
    if not isinstance(loop, For) or not any(map(_is_unforeseen, loop.body.statements)):
        return loop
    asking: dict[int, list[Statement]] = {}
    for inner, (buffer, index), known in _known_places(loop):
        if _is_unforeseen(inner) and _goes_on(known, loop.var):
            later = folded(index + Literal(DISTANCE, INTP))
            asking.setdefault(id(inner), []).append(Prefetch(buffer, later))
    body = [part for s in loop.body.statements for part in (*asking.get(id(s), ()), s)]
    return with_blocks(loop, (with_statements(loop.body, body),))


def _is_unforeseen(loop: Statement) -> bool:
    """Whether a loop loads from here and there, which keeps a processor from foreseeing the rest,
    and does so in its own turns."""
    if not isinstance(loop, For) or any(isinstance(s, For) for s in loop.body.walk()):
        return False
    return bool(scattered(loop))


def _known_places(loop: For) -> Iterator[tuple[For | While, tuple[Buffer, Expr], Expr]]:
    """Loops that each turn of ``loop`` begins and ends, unless it fails; where each begins to go
    through memory; and what that is in terms of the variable of ``loop`` and of nothing else that
    it declares. Loads tell it that do not change."""
    inner_loops = [s for s in loop.body.statements if isinstance(s, (For, While))]
    if not inner_loops or any(isinstance(s, (Break, Return)) for s in loop.walk()):
        return  # a turn that is never reached need not have anything to load
    changed, twice = changed_names(loop), redeclared_names(loop.body)
    own = {s.var.name for s in loop.body.walk() if isinstance(s, (Let, For))}
    lets = [s for s in loop.body.statements if isinstance(s, Let) and s.var.name not in twice]
    begun: dict[Expr, Expr] = {s.var: s.value for s in lets}
    steady: dict[Expr, Expr] = {s.var: s.value for s in lets if not s.mutable}
    parts = certain(loop.body.statements)
    made = {in_terms_of(load, steady) for load in parts if isinstance(load, Load)}
    for inner in inner_loops:
        if isinstance(inner, For):
            places, meanings = _first_places(inner), steady
        else:
            places, meanings = _tested_places(inner, begun), begun
        for buffer, index in places:
            known = in_terms_of(index, meanings)
            loads = [e for e in known.walk() if isinstance(e, Load)]
            fickle = set().union(*map(read_names, loads)) & changed - {loop.var.name}
            if not fickle and not read_names(known) & own and made.issuperset(loads):
                yield inner, (buffer, index), known


def _tested_places(loop: While, begun: Mapping[Expr, Expr]) -> Places:
    """The elements that tell whether ``loop`` begins, by what variables are at first."""
    tested = Substitution(begun.get)(loop.cond)
    return {(e.buffer, e.index): None for e in tested.walk() if isinstance(e, Load)}


def _first_places(loop: For) -> Places:
    """The elements at which ``loop`` begins to go through memory, by what stands before it."""
    lets = [s for s in loop.body.statements if isinstance(s, Let) and not s.mutable]
    meanings: Mapping[Expr, Expr] = {s.var: s.value for s in lets}
    changed = changed_names(*loop.body.statements)
    places: Places = {}
    for load in certain(loop.body.statements):
        if isinstance(load, Load):
            index = in_terms_of(load.index, meanings)
            loads = any(isinstance(e, Load) for e in index.walk())
            if not loads and stride_along(index, loop.var, changed) == 1:
                begun: dict[Expr, Expr] = {loop.var: loop.start}
                places[load.buffer, Substitution(begun.get, folded)(index)] = None
    return places


def _is_far(index: Expr, var: Var, scaled: bool = False) -> bool:
    """Whether an index is elsewhere in each turn: by a load that goes through another one, or of
    which it is a multiple. Where one alone tells it, rows follow one another as a rule."""
    if isinstance(index, Load):
        through = any(isinstance(e, Load) and _goes_with(e, var) for e in index.index.walk())
        return _goes_with(index, var) and (scaled or through)
    scaled = scaled or (isinstance(index, Call) and index.op is prim.mul)
    return any(_is_far(child, var, scaled) for child in index.children)


def _goes_on(index: Expr, var: Var) -> bool:
    """Whether an index is where the row before ended, as a rule: a load that follows ``var``."""
    if isinstance(index, Cast):
        return _goes_on(index.value, var)
    return isinstance(index, Load) and stride_along(index.index, var, set()) == 1


def _goes_with(load: Load, var: Var) -> bool:
    return var.name in read_names(load.index)
