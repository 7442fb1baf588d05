"""The extent prover: decides comparisons of integer expressions from known facts.

Facts are difference constraints ``a <= b + c`` between atoms (expressions other than a sum with
a constant, ``min`` or ``max``). ``le`` is sound and incomplete: ``False`` means "not known".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import INTEGERS, INTP, Type, concrete
from finch_core.ir.expressions import Buffer, Call, Cast, Expr, Literal, Load, Var, call, cast, lift
from finch_core.ir.operators import Operator
from finch_core.ir.program import Extent
from finch_core.symbolic.ranges import Range, range_of

_ZERO = lift(0)
_DEPTH = 12
_WITHIN = frozenset(dtype for dtype in INTEGERS if np.can_cast(dtype, np.int64))


def _fits(dtype: Type) -> bool:
    """Whether all values of a type are representable as int64."""
    return dtype is int or dtype in _WITHIN


def _wraps(dtype: Type) -> bool:
    """Whether sums of this type may wrap around (those of 64 bits are assumed not to)."""
    return not (dtype is int or dtype == INTP)


def is_unit(extent: Extent) -> bool:
    """Whether a range has length one, whatever its start is."""
    (atom, offset), (other, end) = split(extent.start), split(extent.stop)
    return atom == other and end == offset + 1


def split(expr: Expr) -> tuple[Expr, int]:
    """``expr`` as an atom plus a constant; a literal's atom is ``0``.

    A sum that may wrap around (narrower than 64 bits, or unsigned) is an atom.
    """
    offset = 0
    while True:
        if isinstance(expr, Var):  # most are
            return expr, offset
        if isinstance(expr, Literal):
            return _ZERO, offset + int(expr.value)
        if isinstance(expr, Cast) and expr.type == INTP and _fits(expr.value.dtype):
            expr = expr.value
            continue
        if isinstance(expr, Call) and expr.op in (prim.add, prim.sub):
            first, second = expr.args
            if isinstance(second, Literal):
                if _wraps(expr.dtype):
                    return expr, offset
                value = int(second.value)
                offset += value if expr.op is prim.add else -value
                expr = first
                continue
            if isinstance(first, Literal) and expr.op is prim.add and not _wraps(expr.dtype):
                offset, expr = offset + int(first.value), second
                continue
        return expr, offset


def plus_constant(expr: Expr, number: int) -> Expr:
    """An integer expression plus a number, as an int64: what is narrower does not wrap."""
    atom, offset = split(expr)
    if not isinstance(atom, Literal) and atom.dtype not in (INTP, int):
        atom = cast(atom, INTP)
    if offset + number < 0:
        return atom - -(offset + number)
    return atom + (offset + number) if offset + number else atom


class Prover:
    """A set of facts, extended within ``assuming`` blocks."""

    def __init__(self, *, ranges: bool = True) -> None:
        """``ranges``: whether to use the value ranges of dtypes."""
        self._ranges = ranges
        self._upper: dict[Expr, tuple[tuple[Expr, int], ...]] = {}
        self._definitions: dict[Expr, Expr] = {}
        self._changing: frozenset[Var | Buffer] = frozenset()
        self._forgotten: frozenset[Var] = frozenset()
        """The sizes that have been set anew in the present block."""
        self._meant: dict[Expr, tuple[Expr, tuple[tuple[Expr, int], ...]]] = {}
        self._proved: set[tuple[Expr, Expr, int]] = set()
        """Questions that were answered with yes."""
        self._unproved: dict[tuple[Expr, Expr, int], int] = {}
        """Those that were not, each with the depth of the search."""
        self._reached: dict[Expr, dict[Expr, int]] = {}
        """Memoised results of ``_distances``."""

    # -- facts --------------------------------------------------------------------------

    def ignore(self, changing: Iterable[Var | Buffer]) -> None:
        """Learn nothing of expressions that read these variables and buffers: they change."""
        self._changing = frozenset(changing)

    def forget(self, size: Var) -> None:
        """Drop the facts on a size, which is set anew, behind the present block, too; what remains
        is that it is at least 0."""
        kept = {atom: _without(size, atom, facts) for atom, facts in self._upper.items()}
        meanings = {v: value for v, value in self._definitions.items() if not _reads(value, size)}
        if kept == self._upper and len(meanings) == len(self._definitions):
            return
        self._upper, self._definitions = kept, meanings
        self._proved, self._unproved, self._reached = set(), {}, {}
        self._forgotten |= {size}

    def _changes(self, expr: Expr) -> bool:
        """Whether the value of an expression may change."""
        return bool(self._changing) and any(
            (node.buffer if isinstance(node, Load) else node) in self._changing
            for node in expr.walk()
            if isinstance(node, (Var, Load))
        )

    def know_le(self, a: Expr, b: Expr) -> None:
        """Add the fact ``a <= b``, unless they change."""
        if self._changes(a) or self._changes(b):
            return
        (left, low), (right, high) = split(a), split(b)
        if _is(left, prim.maximum_):
            for arg in left.args:  # type: ignore[attr-defined]
                self.know_le(arg + low, b)
        elif _is(right, prim.minimum_):
            for arg in right.args:  # type: ignore[attr-defined]
                self.know_le(a, arg + high)
        else:
            self._add(left, right, high - low)
            meaning = self._definitions.get(left)
            if isinstance(meaning, (Call, Cast)) and meaning.dtype == INTP:
                atom, offset = split(meaning)
                if not (_is(atom, prim.minimum_) or _is(atom, prim.maximum_)):
                    self._add(atom, right, high - low - offset)

    def _add(self, atom: Expr, upper: Expr, gap: int) -> None:
        self._upper[atom] = (*self._upper.get(atom, ()), (upper, gap))
        self._ask_again(atom)

    def know_equal(self, a: Expr, b: Expr) -> None:
        self.know_le(a, b)
        self.know_le(b, a)

    def define(self, var: Expr, value: Expr) -> None:
        """Define ``var`` as ``value``, which may be a ``min`` or ``max``, unless that changes."""
        if self._changes(value):
            return
        self._definitions[var] = value
        self._ask_again(var)

    def _ask_again(self, atom: Expr) -> None:
        """Forget what a new fact on ``atom`` may change; what was known without it still holds."""
        self._proved, self._unproved = self._proved.copy(), {}
        self._reached = {start: ways for start, ways in self._reached.items() if atom not in ways}

    def least_of(self, expr: Expr) -> tuple[Expr, ...]:
        """The arguments of the ``min`` that ``expr`` is defined as, or ``expr`` itself."""
        return self._one_of(expr, prim.minimum_)

    def greatest_of(self, expr: Expr) -> tuple[Expr, ...]:
        """The arguments of the ``max`` that ``expr`` is defined as, or ``expr`` itself."""
        return self._one_of(expr, prim.maximum_)

    def _one_of(self, expr: Expr, op: Operator) -> tuple[Expr, ...]:
        atom, offset = split(expr)
        meaning, extra = split(self._definitions.get(atom, atom))
        if not _is(meaning, op):
            return (expr,)
        return tuple(arg + (offset + extra) for arg in meaning.args)  # type: ignore[attr-defined]

    def range_of(self, expr: Expr) -> Range | None:
        """Bounds on ``expr`` that its dtype or operators imply, whatever the data."""
        return range_of(expr, self._definitions) if self._ranges else None

    def know(self, cond: Expr) -> None:
        """Add the integer comparisons that ``cond`` implies."""
        if not isinstance(cond, Call):
            return
        if cond.op is prim.and_:
            for arg in cond.args:
                self.know(arg)
        elif len(cond.args) == 2 and all(_integer(arg) for arg in cond.args):
            a, b = cond.args
            for op, facts in _IMPLIED.items():
                if cond.op is op:
                    for flip, gap in facts:
                        first, second = (b, a) if flip else (a, b)
                        self.know_le(first + gap, second)

    @contextmanager
    def assuming(self, *conds: Expr) -> Iterator[None]:
        """Within the block, ``conds`` hold; facts added there are dropped at its end."""
        upper, definitions, forgotten = self._upper, self._definitions, self._forgotten
        # what is found before the first new fact in the block holds behind it, too
        proved, unproved, reached = self._proved, self._unproved, self._reached
        self._upper, self._definitions = dict(upper), dict(definitions)
        self._forgotten = frozenset()
        for cond in conds:
            self.know(cond)
        try:
            yield
        finally:
            self._upper, self._definitions = upper, definitions
            self._proved, self._unproved, self._reached = proved, unproved, reached
            inside, self._forgotten = self._forgotten, forgotten
            for size in inside:
                self.forget(size)

    # -- questions ----------------------------------------------------------------------

    def le(self, a: Expr, b: Expr) -> bool:
        """Whether ``a <= b`` is known."""
        return self._le(a, b, _DEPTH)

    def lt(self, a: Expr, b: Expr) -> bool:
        return self.le(a + 1, b)

    def equal(self, a: Expr, b: Expr) -> bool:
        return a == b or (self.le(a, b) and self.le(b, a))

    def _le(self, a: Expr, b: Expr, depth: int) -> bool:
        (left, low), (right, high) = split(a), split(b)
        return self._within(left, right, high - low, depth)

    def _within(self, left: Expr, right: Expr, slack: int, depth: int) -> bool:
        """Whether ``left <= right + slack`` for atoms."""
        if left == right:
            return slack >= 0
        if depth == 0:
            return False
        question = (left, right, slack)
        if question in self._proved:
            return True
        if self._unproved.get(question, 0) >= depth:
            return False
        if self._follows(left, right, slack, depth):
            self._proved.add(question)
            return True
        self._unproved[question] = depth
        return False

    def _follows(self, left: Expr, right: Expr, slack: int, depth: int) -> bool:
        """Whether ``left <= right + slack`` follows from the definitions of the atoms."""

        def lower(arg: Expr) -> bool:
            atom, offset = split(arg)
            return self._within(atom, right, slack - offset, depth - 1)

        def upper(arg: Expr) -> bool:
            atom, offset = split(arg)
            return self._within(left, atom, slack + offset, depth - 1)

        below, above = self._definitions.get(left, left), self._definitions.get(right, right)
        if _is(below, prim.maximum_):
            if all(map(lower, below.children)):
                return True
            return left in self._upper and self._reaches(left, above, slack, depth)
        if _is(above, prim.minimum_):
            return all(map(upper, above.children))
        if _is(above, prim.maximum_) and any(map(upper, above.children)):
            return True
        if _is(below, prim.minimum_) and any(map(lower, below.children)):
            return True
        if below is not left and left in self._upper and self._reaches(left, above, slack, depth):
            return True
        if self._reaches(below, above, slack, depth):
            return True
        if right == _ZERO and _is_difference(below):
            first, second = below.children
        elif left == _ZERO and _is_difference(above):
            second, first = above.children
        else:
            return False
        # ``first - second <= slack`` is ``first <= second + slack``, unless it wraps around
        (atom, low), (other, high) = split(first), split(second)
        if not self._within(atom, other, slack + high - low, depth - 1):
            return False
        return all(self._le(_ZERO, number, depth - 1) for number in (first, second))

    def _reaches(self, start: Expr, goal: Expr, slack: int, depth: int) -> bool:
        """Whether ``start <= goal + slack`` follows from a chain of facts."""
        start, begun = split(start)
        goal, extra = split(goal)
        if start not in self._reached:
            self._reached[start] = self._distances(start)
        distance = self._reached[start].get(goal)
        return distance is not None and distance <= slack + extra - begun

    def _distances(self, start: Expr) -> dict[Expr, int]:
        """The atoms that chains of facts lead to, each with the least offset: ``start`` is at most
        their sum."""
        best = {start: 0}
        frontier = [start]
        for _ in range(_DEPTH):
            # each once: facts that contradict each other lower all of them in every round
            following: dict[Expr, None] = {}
            for atom in frontier:
                for upper, gap in self._edges(atom):
                    distance = best[atom] + gap
                    if distance < best.get(upper, distance + 1):
                        best[upper] = distance
                        following[upper] = None
            frontier = list(following)
            if not frontier:
                break
        return best

    def _edges(self, atom: Expr) -> Iterator[tuple[Expr, int]]:
        yield from self._upper.get(atom, ())
        meaning = self._definitions.get(atom)
        if meaning is not None:
            known, edges = self._meant.get(atom, (None, ()))
            if known is not meaning:
                edges = tuple(_above(meaning))
                self._meant[atom] = meaning, edges
            yield from edges

    # -- simplification -----------------------------------------------------------------

    def minimum(self, *exprs: Expr) -> Expr:
        """The minimum of ``exprs``, without those known to be redundant."""
        kept = _prune(exprs, self.le)
        result = kept[0]
        for expr in kept[1:]:
            result = result.min(expr)
        return result

    def maximum(self, *exprs: Expr) -> Expr:
        """The maximum of ``exprs``, without those known to be redundant."""
        kept = _prune(exprs, lambda a, b: self.le(b, a))
        result = kept[0]
        for expr in kept[1:]:
            result = result.max(expr)
        return result

    def decide(self, cond: Expr) -> Expr:
        """``cond`` as a literal if the facts decide it, else ``cond``."""
        if isinstance(cond, Call) and len(cond.args) == 2:
            if cond.op in (prim.and_, prim.or_):
                return Call(cond.op, cond.args) if not cond.args else _logic(cond, self.decide)
            if cond.op in _IMPLIED and all(_integer(arg) for arg in cond.args):
                return self._compare(cond)
        return cond

    def _compare(self, cond: Call) -> Expr:
        a, b = cond.args
        op = cond.op
        if op in (prim.gt, prim.ge):
            a, b, op = b, a, prim.lt if op is prim.gt else prim.le
        if op is prim.lt or op is prim.le:
            gap = 1 if op is prim.lt else 0
            if self.le(a + gap, b) or self._below(a, b, gap):
                return lift(True)
            never = self.le(b + 1 - gap, a) or self._below(b, a, 1 - gap)
            return lift(False) if never else cond
        apart = self.lt(a, b) or self.lt(b, a) or self._below(a, b, 1) or self._below(b, a, 1)
        if apart or self.equal(a, b):
            return lift(apart is (op is prim.ne))
        return cond

    def _below(self, a: Expr, b: Expr, gap: int) -> bool:
        """Whether ``a + gap <= b`` follows from their dtypes and operators alone."""
        first = self.range_of(a) if _fits(a.dtype) and _fits(b.dtype) else None
        second = None if first is None else self.range_of(b)
        return first is not None and second is not None and first[1] + gap <= second[0]


_IMPLIED = {
    prim.lt: ((False, 1),),
    prim.le: ((False, 0),),
    prim.gt: ((True, 1),),
    prim.ge: ((True, 0),),
    prim.eq: ((False, 0), (True, 0)),
    prim.ne: (),
}


def balanced(cond: Expr) -> Expr:
    """A comparison without redundant constants: ``i + 1 == j + 1`` is ``i == j``, and ``i + 1 <=
    j`` is ``i < j``."""
    if isinstance(cond, Call) and cond.op in (prim.and_, prim.or_):
        return call(cond.op, *map(balanced, cond.args))
    if not isinstance(cond, Call) or cond.op not in _IMPLIED:
        return cond
    if any(not _integer(arg) for arg in cond.args):
        return cond
    (first, low), (second, high) = map(split, cond.args)
    if cond.op is prim.le and low == high + 1 and not isinstance(first, Literal):
        return call(prim.lt, first, second)
    far = cond.op is prim.le and low > high + 1 and _fits(first.dtype) and _fits(second.dtype)
    if far and not isinstance(first, Literal) and not isinstance(second, Literal):
        return call(prim.lt, first, _wide(second) - (low - high - 1))
    shift = min(low, high)
    if shift == 0 or isinstance(first, Literal) or isinstance(second, Literal):
        return cond
    if not (_fits(first.dtype) and _fits(second.dtype)):
        return cond
    return call(cond.op, _wide(first) + (low - shift), _wide(second) + (high - shift))


def _wide(atom: Expr) -> Expr:
    """A term cast to the type in which sums do not wrap around."""
    return cast(atom, INTP) if _wraps(atom.dtype) else atom


def _logic(cond: Call, decide: Callable[[Expr], Expr]) -> Expr:
    first, second = (decide(arg) for arg in cond.args)
    return first.and_(second) if cond.op is prim.and_ else first.or_(second)


def _reads(expr: Expr, var: Var) -> bool:
    return any(node == var for node in expr.walk())


def _without(size: Var, atom: Expr, facts: tuple[tuple[Expr, int], ...]) -> Any:
    """The facts ``atom <= upper + gap`` that hold whatever ``size`` is."""
    if _reads(atom, size):
        return ()
    least = (size, 0) if atom == _ZERO else None
    return tuple(fact for fact in facts if fact == least or not _reads(fact[0], size))


def _is_difference(expr: Expr) -> bool:
    """Whether ``expr`` is the difference of two numbers of 64 bits."""
    return _is(expr, prim.sub) and expr.dtype == INTP


def _is(expr: Expr, op: object) -> bool:
    return isinstance(expr, Call) and expr.op is op


def _above(meaning: Expr) -> Iterator[tuple[Expr, int]]:
    """The atoms that what is defined as ``meaning`` does not exceed, each with an offset."""
    value, offset = split(meaning)
    args = value.args if _is(value, prim.minimum_) else (value,)  # type: ignore[attr-defined]
    for arg in args:
        upper, gap = split(arg)
        yield upper, gap + offset


def _integer(expr: Expr) -> bool:
    return concrete(expr.dtype).kind in "iu" or (isinstance(expr, Var) and expr.type is int)


def _prune(exprs: tuple[Expr, ...], below: Callable[[Expr, Expr], bool]) -> list[Expr]:
    kept: list[Expr] = []
    for expr in exprs:
        if any(below(other, expr) for other in kept):
            continue
        kept = [other for other in kept if not below(expr, other)]
        kept.append(expr)
    return kept
