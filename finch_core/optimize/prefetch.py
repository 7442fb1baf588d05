"""Software prefetching: memory that a later iteration loads indirectly is requested in advance.

    for q in range(p, p_stop):              for q in range(p, p_stop):
        k = A_idx[q]                            if q + 2 < p_stop:
        r, r_stop = B_ptr[k], B_ptr[k + 1]          k_ahead = A_idx[q + 2]
        for s in range(r, r_stop):    ->            r_ahead = B_ptr[k_ahead]
            ... B_val[s] ...                        prefetch(B_val, r_ahead)
                                                k = A_idx[q]
                                                ...

Hardware prefetching and out-of-order execution stop at the end of an inner loop, whose number
of iterations the processor must guess. An inner loop that begins at a loaded address therefore
waits for memory first. The loads that compute the address are only those of a later iteration.

Where the rows of ``q`` follow one another, a later iteration may be one of the next rows; the last
row tells where they end:

                                            last = ptr[n] if 0 < n else 0
    for i in range(0, n):                   for i in range(0, n):
        p, p_stop = ptr[i], ptr[i + 1]          p, p_stop = ptr[i], ptr[i + 1]
        for q in range(p, p_stop):      ->      for q in range(p, p_stop):
            k = A_idx[q]                            if q + 4 < last:
            ...                                         k_ahead = A_idx[q + 4]
                                                        ...

Where what is loaded indirectly is a row of a dense array, a request needs no load but that of the
index: it is made further ahead, and for two lines of the cache. Arrays that fit the cache need no
requests: ``last`` is then 0.

The same holds for a search that begins at a slot computed from a loaded key:

    for k in range(0, n):                   for k in range(0, n):
        key = keys[k]                           if k + 8 < n:
        slot = hash(key) & mask                     slot_ahead = hash(keys[k + 8]) & mask
        while table[slot] != key:     ->            prefetch(table, slot_ahead)
            slot = slot + 1 & mask              key = keys[k]
                                                ...

Consecutive inner loops may continue where the previous one ended, and load through the indices
that they find there. Then the current position tells where later ones will be, and memory a
fixed distance ahead is requested, where all of them together are long:

    for i in range(0, n):                   for i in range(0, n):
        q, q_stop = ptr[i], ptr[i + 1]          q, q_stop = ptr[i], ptr[i + 1]
        for p in range(q, q_stop):      ->      if ptr[n] > 1048576:
            s += a[p] * x[idx[p]]                   prefetch(idx, q + 512)
                                                    prefetch(a, q + 512)
                                                for p in range(q, q_stop):
                                                    s += a[p] * x[idx[p]]
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from functools import reduce
from itertools import takewhile

from finch_core.ir import primitives as prim
from finch_core.ir.arithmetic import call
from finch_core.ir.assembly import (
    Block,
    Break,
    For,
    Grow,
    If,
    Let,
    Parallel,
    Prefetch,
    Return,
    Statement,
    While,
    contains,
)
from finch_core.ir.assembly_rewrite import (
    certain,
    changed_names,
    in_terms_of,
    leaves,
    read_names,
    redeclared_names,
    replacing,
    with_blocks,
    with_statements,
)
from finch_core.ir.builder import Names, conditional
from finch_core.ir.dtypes import BOOL, INTP
from finch_core.ir.expressions import Buffer, Call, Cast, Expr, Length, Literal, Load, Var
from finch_core.ir.strides import scattered, stride_along
from finch_core.records import evolve, field, frozen
from finch_core.symbolic.simplifier import folded


@frozen
class Kind:
    """How many iterations ahead requests of a kind are made: within a row, and where later
    iterations may be those of the next rows."""

    within: int
    across: int


SEARCH = Kind(8, 8)
"""Probes take less time than a memory access, and their outer loops are long."""
FIBER = Kind(2, 4)
"""Fibers are short: with more within a row, most rows would begin without a prefetch. Where a
fiber begins is loaded from memory, too."""
ROW = Kind(4, 16)
"""A row of a dense array, whose address is computed."""

CACHED = 1 << 18
"""Arrays of fewer bytes stay in the cache of a core."""

LINE = 64
"""The bytes of a line of the cache."""

DISTANCE = 512
"""How many elements ahead, where inner loops are consecutive: one page of doubles."""

MANY = 1 << 20
"""Inner loops that run over fewer elements in all need no requests ahead: caches hold them, or the
hardware keeps up, and short rows would be 1.3 times as fast without."""

Places = dict[tuple[Buffer, Expr], Expr | None]
"""Buffers with an index in terms of the loop's variable and of declarations in its body, and the
number of elements that are loaded from there on, if it is known before the loop."""


def prefetch(block: Block, names: Names) -> Block:
    """``block`` with prefetches of where inner loops begin, and of where they will continue."""
    return _inside(block, names, _Place(in_function=contains(block, Return)))


@frozen
class _Place:
    """Where a block is: the loop of which it is the body; whether it is in a loop of which several
    threads run parts, or in a function, which does not know how large arrays are; and where
    statements are added that are run once, before ``outer``."""

    outer: For | None = None
    in_part: bool = False
    in_function: bool = False
    before: list[Statement] = field(factory=list)


def _inside(block: Block, names: Names, place: _Place) -> Block:
    if not contains(block, For):
        return block
    done: list[Statement] = []
    for statement in block.statements:
        around = statement if isinstance(statement, For) else None
        in_part = place.in_part or isinstance(statement, Parallel)
        below = evolve(place, outer=around, in_part=in_part, before=[])
        before, followed = _followed(statement, names, place.in_part)
        inner = tuple(_inside(b, names, below) for b in followed.blocks)
        prefetched = _prefetched(statement, with_blocks(statement, inner), names, place)
        done += (*before, *below.before, *prefetched)
    return with_statements(block, done)


def _prefetched(
    loop: Statement, done: Statement, names: Names, place: _Place
) -> tuple[Statement, ...]:
    """``done``, with a prefetch in each iteration for the inner loops of a later one.

    ``done`` is ``loop`` after changes to its inner blocks; ``loop`` is analysed.
    """
    if not (isinstance(loop, For) and isinstance(done, For)):
        return (done,)
    far = _far_places(loop)
    if not far:
        return (done,)
    before: tuple[Statement, ...] = ()
    if not isinstance(loop.stop, Literal) and not _is_unchanged(loop.stop, loop):
        stop = Var(names.fresh(f"{loop.var.name}_stop"), INTP)
        before, loop = (Let(stop, loop.stop),), evolve(loop, stop=stop)
    requests: list[Statement] = []
    for kind, places in far.items():
        rows = place.outer if kind is not SEARCH else None
        last = _end_of_rows(loop, places, rows) if rows is not None else None
        ahead = kind.within if last is None else kind.across
        end = loop.stop if last is None else last
        whole = loop if last is None or rows is None else rows
        far_away = None if place.in_function else _is_far_away(places, whole)
        wanted = far_away if whole is loop else _both(whole.start < whole.stop, far_away)
        if wanted is not None:
            end = call(prim.ifelse, wanted, end, Literal(0, INTP))
        if end is not loop.stop:
            held = Var(names.fresh(f"{loop.var.name}_last"), INTP)
            if whole is loop:
                before = (*before, Let(held, end))
            else:
                place.before.append(Let(held, end))
            end = held
        requests.append(_requests(loop, places, ahead, end, names))
    body = Block((*requests, *done.body.statements))
    return *before, evolve(done, stop=loop.stop, body=body)


def _both(one: Expr, other: Expr | None) -> Expr:
    return one if other is None else one.and_(other)


def _is_far_away(places: Places, loop: For) -> Expr | None:
    """Whether one of the arrays is too large for the cache; None if the loop may make it so."""
    buffers = dict.fromkeys(buffer for buffer, _ in places)
    grown = {s.buffer for s in loop.walk() if isinstance(s, Grow)}
    if grown.intersection(buffers):
        return None
    large = [Length(b) > Literal(CACHED // b.dtype.itemsize, INTP) for b in buffers]
    return reduce(lambda a, b: a.or_(b), large)


def _end_of_rows(loop: For, places: Places, outer: For) -> Expr | None:
    """Where the last row ends if each turn of ``outer`` runs ``loop`` over a row that begins where
    the one before ended, and what is loaded ahead of ``places`` is the same in all of them."""
    before = takewhile(lambda s: s is not loop, outer.body.statements)
    if any(map(leaves, before)) or any(isinstance(s, (Break, Return)) for s in outer.walk()):
        return None
    twice = redeclared_names(outer.body)
    lets = [s for s in outer.body.statements if isinstance(s, Let) and not s.mutable]
    known: dict[Expr, Expr] = {s.var: s.value for s in lets if s.var.name not in twice}
    start, stop = (in_terms_of(bound, known) for bound in (loop.start, loop.stop))
    following: dict[Expr, Expr] = {outer.var: outer.var + Literal(1, INTP)}
    loaded = stop.value if isinstance(stop, Cast) else stop
    if not isinstance(loaded, Load) or replacing(following, folded)(start) != stop:
        return None
    needed = _needed(loop, places)
    own = {let.var.name for let in needed} | {loop.var.name}
    used = set().union(*(read_names(let.value) for let in needed))
    used = used.union(*(read_names(index) for _, index in places)) - own
    used |= read_names(stop) - {outer.var.name} | read_names(outer.stop)
    if used & (changed_names(outer) | {outer.var.name}):
        return None
    behind: dict[Expr, Expr] = {outer.var: outer.stop}
    return replacing(behind, folded)(start)


def _requests(loop: For, places: Places, ahead: int, end: Expr, names: Names) -> Statement:
    """The prefetches of ``places`` as they are ``ahead`` iterations later, if there is such an
    iteration: before ``end``."""
    later = loop.var + Literal(ahead, INTP)
    moves: dict[Expr, Expr] = {loop.var: later}
    requests: list[Statement] = []
    for let in _needed(loop, places):
        var = Var(names.fresh(f"{let.var.name}_ahead"), let.var.type)
        requests.append(Let(var, replacing(moves)(let.value)))
        moves[let.var] = var
    for (buffer, index), count in places.items():
        place, line = replacing(moves)(index), Literal(LINE // buffer.dtype.itemsize, INTP)
        requests.append(Prefetch(buffer, place))
        if count is not None and line.value:
            second = Prefetch(buffer, folded(place + line))
            requests += conditional(count > line, Block((second,)))
    return If(later < end, Block(tuple(requests)))


def _is_unchanged(expr: Expr, loop: For) -> bool:
    """Whether an expression is a variable that ``loop`` does not change."""
    return isinstance(expr, Var) and expr.name not in changed_names(loop)


def _needed(loop: For, places: Places) -> list[Let]:
    """The declarations of the body on which ``places`` depend, in order."""
    needed = set().union(*(read_names(index) for _, index in places))
    found: list[Let] = []
    for statement in reversed(loop.body.statements):
        if isinstance(statement, Let) and statement.var.name in needed:
            found.append(statement)
            needed |= read_names(statement.value)
    return found[::-1]


def _far_places(loop: For) -> dict[Kind, Places]:
    """The places at which inner loops begin if they depend on loaded data, by kind."""
    found: dict[Kind, Places] = {}
    for inner, place, known in _known_places(loop):
        if not _is_far(known, loop.var):
            continue
        kind, count = FIBER, None
        if isinstance(inner, While):
            kind = SEARCH
        elif not any(_is_loaded_through(e) for e in known.walk()):
            kind, count = ROW, folded(inner.stop - inner.start)
            if read_names(count) & _varying_names(loop):
                count = None
        found.setdefault(kind, {})[place] = count
    return found


def _is_loaded_through(expr: Expr) -> bool:
    """Whether the index of a load is loaded, too."""
    return isinstance(expr, Load) and any(isinstance(e, Load) for e in expr.index.walk())


def _followed(
    loop: Statement, names: Names, is_part: bool
) -> tuple[tuple[Statement, ...], Statement]:
    """``loop`` with prefetches a fixed distance ahead before inner loops that are consecutive, if
    these run over ``MANY`` elements, which is found out before it; where they do, the misses hide
    what a branch held unlikely costs. A part of a parallel loop does not know how many elements
    there are: it is assumed that there are many."""
    if not isinstance(loop, For) or not any(map(_loads_indirectly, loop.body.statements)):
        return (), loop
    requests: dict[int, list[Statement]] = {}
    for inner, (buffer, index), known in _known_places(loop):
        if _loads_indirectly(inner) and _continues(known, loop.var):
            later = folded(index + Literal(DISTANCE, INTP))
            requests.setdefault(id(inner), []).append(Prefetch(buffer, later))
    before: list[Statement] = []
    body: list[Statement] = []
    for statement in loop.body.statements:
        ahead = requests.get(id(statement), [])
        if ahead and isinstance(statement, For) and not is_part:
            last = _end_of_rows(statement, {}, loop)
            if last is not None:
                many = Var(names.fresh(f"{statement.var.name}_many"), BOOL)
                reached = (loop.start < loop.stop).and_(last > Literal(MANY, INTP))
                before.append(Let(many, reached))
                ahead = [If(many, Block(tuple(ahead)), likely=False)]
        body += (*ahead, statement)
    return tuple(before), with_blocks(loop, (with_statements(loop.body, body),))


def _loads_indirectly(loop: Statement) -> bool:
    """Whether the loop itself (not a nested one) loads through indices, which defeats the
    hardware."""
    if not isinstance(loop, For) or any(isinstance(s, For) for s in loop.body.walk()):
        return False
    return bool(scattered(loop))


def _known_places(loop: For) -> Iterator[tuple[For | While, tuple[Buffer, Expr], Expr]]:
    """Inner loops that each iteration of ``loop`` runs (unless it fails), with the place at
    which each begins to load and its index in terms of the variable of ``loop`` and of loads
    that do not change."""
    if not contains(loop.body, For, While):
        return
    inner_loops = list(_inner_loops(loop, _varying_names(loop)))
    if not inner_loops or any(isinstance(s, (Break, Return)) for s in loop.walk()):
        return  # an iteration that is never reached need not have anything to load
    changed, twice = changed_names(loop), redeclared_names(loop.body)
    own = _own_names(loop)
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
            varying = set().union(*map(read_names, loads)) & changed - {loop.var.name}
            if not varying and not read_names(known) & own and made.issuperset(loads):
                yield inner, (buffer, index), known


def _own_names(loop: For) -> set[str]:
    """The names of the variables that the body declares."""
    return {s.var.name for s in loop.body.walk() if isinstance(s, (Let, For))}


def _varying_names(loop: For) -> set[str]:
    """The names of what may differ between iterations."""
    return changed_names(loop) | _own_names(loop)


def _inner_loops(loop: For, varying: Container[str]) -> Iterator[For | While]:
    """The loops that each iteration runs, or none of them: where a condition does not vary."""
    for statement in loop.body.statements:
        inside: tuple[Statement, ...] = (statement,)
        if (
            isinstance(statement, If)
            and not statement.orelse
            and not any(name in varying for name in read_names(statement.cond))
        ):
            inside = statement.body.statements
        yield from (s for s in inside if isinstance(s, (For, While)))


def _tested_places(loop: While, begun: Mapping[Expr, Expr]) -> Places:
    """The elements that the condition of ``loop`` loads first, by the initial values of
    variables."""
    tested = replacing(begun)(loop.cond)
    return {(e.buffer, e.index): None for e in tested.walk() if isinstance(e, Load)}


def _first_places(loop: For) -> Places:
    """The elements that ``loop`` loads in its first iteration, by the declarations before it."""
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
                places[load.buffer, replacing(begun, folded)(index)] = None
    return places


def _is_far(index: Expr, var: Var, scaled: bool = False) -> bool:
    """Whether an index jumps between iterations: it is loaded through another load, or a
    multiple of a load. An index loaded directly is consecutive as a rule."""
    if isinstance(index, Load):
        through = any(isinstance(e, Load) and _goes_with(e, var) for e in index.index.walk())
        return _goes_with(index, var) and (scaled or through)
    scaled = scaled or (isinstance(index, Call) and index.op is prim.mul)
    return any(_is_far(child, var, scaled) for child in index.children)


def _continues(index: Expr, var: Var) -> bool:
    """Whether an index continues where the previous row ended, as a rule: it is loaded at
    ``var``."""
    if isinstance(index, Cast):
        return _continues(index.value, var)
    return isinstance(index, Load) and stride_along(index.index, var, set()) == 1


def _goes_with(load: Load, var: Var) -> bool:
    return var.name in read_names(load.index)
