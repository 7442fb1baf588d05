"""The normal form: reductions over pointwise values of arrays that are read at indices.

Steps are inlined into those that read them, so that transposes, slices and functions become
indices and expressions. A reduction inside of an operator that distributes over it moves outwards
(``x * sum(y)`` is ``sum(x * y)``), reductions by one operator merge, and a reduction of a sum whose
parts lack some of its indices is split. What holds is read from the operators' algebra.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np

from finch_array.operands import NUMBERS
from finch_array.plan.graph import Node, Source, Step, ordered, substituted, type_in
from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import Type, concrete
from finch_core.ir.expressions import Access, Call, Cast, Expr, Index, Literal, Name, cast
from finch_core.ir.operators import Operator, cast_value
from finch_core.records import define, field, frozen

LONGEST = 60
"""The most nodes that an expression grows to by inlining: beyond it a step is stored."""


@frozen(order=False, eq=False)
class Reduced(Expr):
    """``body`` reduced by ``op`` over the indices ``names``; a reduction in normal form."""

    op: Operator
    names: tuple[str, ...]
    body: Expr
    type: np.dtype[Any]

    @property
    def dtype(self) -> Type:
        return self.type

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.body,)

    def rebuild(self, children: tuple[Expr, ...]) -> Expr:
        return Reduced(self.op, self.names, children[0], self.type)


@frozen
class Ref:
    """A stored node in an expression, by name."""

    name: str
    dtype: np.dtype[Any]


@define(eq=False)
class Forms:
    """The normal forms of the nodes that are stored, by the node, and what their names mean.

    ``arrays`` are the nodes that expressions access, by name; ``sizes`` those of all indices;
    ``infinite`` the names of numbers that are not finite.
    """

    forms: dict[Node, tuple[tuple[str, ...], Expr]] = field(factory=dict)
    arrays: dict[str, Node] = field(factory=dict)
    names: dict[Node, str] = field(factory=dict)
    sizes: dict[str, int] = field(factory=dict)
    infinite: set[str] = field(factory=set)

    def rewritten(self, expr: Expr) -> Expr:
        """An expression by the operators' algebra."""
        return split(pulled(expr, self.infinite), self.sizes, self.infinite)

    def name(self, node: Node) -> str:
        """The name by which expressions access a stored node."""
        found = self.names.get(node)
        if found is None:
            found = self.names[node] = (
                f"{'a' if isinstance(node, Source) else 't'}{len(self.names)}"
            )
            self.arrays[found] = node
            if isinstance(node, Source) and not node.is_finite:
                self.infinite.add(found)
        return found

    def index(self, size: int) -> str:
        """The name of a new index."""
        name = f"i{len(self.sizes)}"
        self.sizes[name] = size
        return name


# -- indices ----------------------------------------------------------------------------------


def affine(index: Expr) -> tuple[str | None, int, int]:
    """``scale * name + shift`` of an index; without a name for a constant."""
    if isinstance(index, Index):
        return index.name, 1, 0
    if isinstance(index, Literal):
        return None, 0, int(index.value)
    assert isinstance(index, Call)
    left, right = (affine(arg) for arg in index.args)
    if index.op is prim.add:
        return left[0] or right[0], left[1] + right[1], left[2] + right[2]
    return right[0], left[2] * right[1], left[2] * right[2]


def index_of(name: str | None, scale: int, shift: int) -> Expr:
    """The index ``scale * name + shift``."""
    if name is None:
        return Literal(shift, int)
    found: Expr = Index(name)
    if scale != 1:
        found = Call(prim.mul, (Literal(scale, int), found))
    return Call(prim.add, (found, Literal(shift, int))) if shift else found


@functools.lru_cache(8192)
def indices_of(expr: Expr) -> frozenset[str]:
    """The free indices of an expression."""
    if isinstance(expr, Index):
        return frozenset((expr.name,))
    found = frozenset[str]().union(*map(indices_of, expr.children))
    return found - set(expr.names) if isinstance(expr, Reduced) else found


def in_turn(names: Iterable[str]) -> tuple[str, ...]:
    """Indices in the order in which they were named."""
    return tuple(sorted(names, key=_place))


@functools.cache
def _place(name: str) -> int:
    return int(name[1:])


# -- inlining ---------------------------------------------------------------------------------


def uses(roots: Sequence[Node]) -> dict[Node, int]:
    """How often each node is read, by accesses; a root counts once more."""
    found = dict.fromkeys(ordered(roots), 0)
    for root in roots:
        found[root] += 1
    for node in found:
        if isinstance(node, Step):
            for k in reads(node.body)[0]:
                found[node.children[k]] += 1
    return found


@functools.lru_cache(8192)
def reads(body: Expr) -> tuple[tuple[int, ...], int]:
    """The numbers of the children that the body of a step accesses, as often as it does, and how
    many other parts it has. Steps of one function have equal bodies."""
    parts = list(body.walk())
    found = tuple([
        int(part.tensor[1:] if isinstance(part, Access) else part.name[1:])
        for part in parts if isinstance(part, (Access, Name))
    ])  # fmt: skip
    return found, len(parts) - len(found)


def _child(part: Expr, node: Step) -> Node | None:
    if isinstance(part, Access):
        return node.children[int(part.tensor[1:])]
    return node.children[int(part.name[1:])] if isinstance(part, Name) else None


def kept_nodes(
    roots: Sequence[Node], inlined: frozenset[Node], counts: Mapping[Node, int]
) -> set[Node]:
    """The steps that are stored: the roots, and those that are read more than once unless they are
    cheap to compute again or among ``inlined``; and where expressions would become long.
    ``counts``: ``uses(roots)``."""
    found: set[Node] = set()
    lengths: dict[Node, int] = {}
    for node, count in counts.items():
        if not isinstance(node, Step):
            lengths[node] = 1
            continue
        read, length = reads(node.body)
        for k in read:
            length += lengths[node.children[k]]
        again = node in inlined or (node.op is None and _cheap(node, lengths))
        if node in roots or (count > 1 and not again) or length > LONGEST:
            found.add(node)
            length = 1
        lengths[node] = length
    return found


def _cheap(node: Step, lengths: Mapping[Node, int]) -> bool:
    """Whether a pointwise step may be computed again by each reader: it only views another."""
    del lengths
    return isinstance(node.body, (Access, Name))


def normal_forms(
    roots: Sequence[Node], inlined: frozenset[Node] = frozenset(), exact: bool = False
) -> Forms:
    """The normal forms of all nodes that are stored, each after those that it reads. ``exact``: no
    rewriting of reductions."""
    made = Forms()
    counts = uses(roots)
    stored = kept_nodes(roots, inlined, counts)
    for node in counts:
        if node in stored:
            assert isinstance(node, Step)
            out = tuple(made.index(n) for n in node.shape)
            expr = _inlined(node, tuple(map(Index, out)), made, stored)
            empty = exact or 0 in made.sizes.values()
            made.forms[node] = out, expr if empty else made.rewritten(expr)
    return made


def _inlined(node: Step, at: tuple[Expr, ...], made: Forms, stored: set[Node]) -> Expr:
    """The value of a step at indices, in terms of stored nodes."""
    places: dict[str, Expr] = dict(zip(node.out, at, strict=True))
    reduced = tuple(i for i in node.sizes if i not in places)
    names = tuple(made.index(node.sizes[i]) for i in reduced)
    places.update(zip(reduced, map(Index, names), strict=True))

    def moved(index: Expr) -> Expr:
        name, scale, shift = affine(index)
        if name is None:
            return index
        inner, times, plus = affine(places[name])
        return index_of(inner, scale * times, scale * plus + shift)

    def rule(part: Expr) -> Expr | None:
        child = _child(part, node)
        if child is None:
            return None
        indices = tuple(map(moved, part.indices)) if isinstance(part, Access) else ()
        if isinstance(child, Step) and child not in stored:
            return _inlined(child, indices, made, stored)
        name = made.name(child)
        if not child.shape:
            return Name(name, type_in(child))
        return Access(Ref(name, child.dtype), indices)

    body = substituted(node.body, rule)
    if node.op is None:
        return body
    return Reduced(node.op, names, cast(body, node.dtype), node.dtype)


# -- the operators' algebra -------------------------------------------------------------------


def distributes(times: Operator, plus: Operator) -> bool:
    """Whether ``times(x, plus(y, z))`` is ``plus(times(x, y), times(x, z))``."""
    return plus.name in times.distributes or (times.dual != "" and times.dual == plus.name)


def pulled(expr: Expr, infinite: Set[str]) -> Expr:
    """Reductions moved out of the operators that distribute over them, and merged; not where the
    other operand has one of the numbers ``infinite``."""
    if not expr.children or isinstance(expr, Access):
        return expr
    new = tuple(pulled(child, infinite) for child in expr.children)
    if any(a is not b for a, b in zip(new, expr.children, strict=True)):
        expr = expr.rebuild(new)
    if isinstance(expr, Cast) and isinstance(expr.children[0], Reduced):
        inner = expr.children[0]
        return inner if inner.type == expr.dtype else expr
    if isinstance(expr, Reduced):
        return _merged(expr)
    return _out_of_call(expr, infinite) if isinstance(expr, Call) else expr


def _merged(expr: Reduced) -> Expr:
    inner = expr.body
    if not isinstance(inner, Reduced) or inner.op is not expr.op or inner.type != expr.type:
        return expr
    if not (expr.op.associative and expr.op.commutative):
        return expr
    return Reduced(expr.op, expr.names + inner.names, inner.body, expr.type)


def _out_of_call(expr: Call, infinite: Set[str]) -> Expr:
    """``pulled`` of a call of operands in which reductions are outermost already."""
    for k, arg in enumerate(expr.args):
        if isinstance(arg, Reduced) and _may_leave(expr, arg, k, infinite):
            args = (*expr.args[:k], arg.body, *expr.args[k + 1 :])
            body = _out_of_call(Call(expr.op, args), infinite)
            return _merged(Reduced(arg.op, arg.names, body, arg.type))
    return expr


def _may_leave(expr: Call, arg: Reduced, k: int, infinite: Set[str]) -> bool:
    if not distributes(expr.op, arg.op) or len(expr.args) != 2:
        return False
    if k == 0 and not expr.op.commutative:
        return False
    other = expr.args[1 - k]
    if any(_is_infinite(part, infinite, arg.type) for part in other.walk()):
        return False  # infinity times each element is NaN where one is 0
    try:
        return concrete(expr.op.result(arg.type, other.dtype)) == arg.type
    except TypeError:
        return False


def _is_infinite(part: Expr, infinite: Set[str], dtype: np.dtype[Any]) -> bool:
    """Whether an expression is the name of a number that is not finite, or a constant that a float
    ``dtype`` does not hold as a finite one."""
    if isinstance(part, Name):
        return part.name in infinite
    if not isinstance(part, Literal) or dtype.kind not in "fc":
        return False
    return isinstance(part.value, NUMBERS) and not np.isfinite(cast_value(part.value, dtype))


def terms_of(expr: Expr, op: Operator) -> list[tuple[bool, Expr]]:
    """The operands of a sum, each with whether it is subtracted."""
    if isinstance(expr, Call) and len(expr.args) == 2:
        if expr.op is op and op.associative and op.commutative:
            return terms_of(expr.args[0], op) + terms_of(expr.args[1], op)
        if expr.op.undoes == op.name and expr.op is not op:
            rest = terms_of(expr.args[1], op)
            return terms_of(expr.args[0], op) + [(not minus, part) for minus, part in rest]
    return [(False, expr)]


def split(expr: Expr, sizes: Mapping[str, int], infinite: Set[str]) -> Expr:
    """Reductions of sums, as sums of reductions, where a part lacks an index or is reduced;
    ``infinite`` as in ``pulled``."""
    if not expr.children or isinstance(expr, Access):
        return expr
    new = tuple(split(child, sizes, infinite) for child in expr.children)
    if any(a is not b for a, b in zip(new, expr.children, strict=True)):
        expr = expr.rebuild(new)
    return _split(expr, sizes, infinite) if isinstance(expr, Reduced) else expr


def _split(expr: Reduced, sizes: Mapping[str, int], infinite: Set[str]) -> Expr:
    body = expr.body
    while isinstance(body, Cast) and body.dtype == expr.type and _of_type(body.value, expr.type):
        body = body.value
    parts = terms_of(body, expr.op)
    if len(parts) < 2 or not all(_of_type(part, expr.type) for _, part in parts):
        return expr
    own = [set(expr.names) & indices_of(part) for _, part in parts]
    if all(o == set(expr.names) for o in own) and not any(
        isinstance(part, Reduced) for _, part in parts
    ):
        return expr
    if not all(len(o) == len(expr.names) or _can_repeat(expr.op) for o in own):
        return expr
    made = [
        (m, _over(expr, part, o, sizes, infinite)) for (m, part), o in zip(parts, own, strict=True)
    ]
    found: Expr | None = None
    minus = _inverse(expr.op)
    for subtracted, part in sorted(made, key=lambda x: x[0]):
        if found is None:
            assert not subtracted
            found = part
        else:
            found = Call(minus if subtracted and minus else expr.op, (found, part))
    assert found is not None
    return found


def _of_type(expr: Expr, wanted: Any) -> bool:
    return bool(concrete(expr.dtype) == wanted)


def _inverse(op: Operator) -> Operator | None:
    return prim.sub if prim.sub.undoes == op.name else None


def _can_repeat(op: Operator) -> bool:
    return op.idempotent or op.repeated is not None


def _over(
    expr: Reduced, part: Expr, own: set[str], sizes: Mapping[str, int], infinite: Set[str]
) -> Expr:
    """One part of a sum, reduced over all indices of the sum."""
    names = tuple(i for i in expr.names if i in own)
    count = 1
    for i in expr.names:
        count *= 1 if i in own else sizes[i]
    made = pulled(Reduced(expr.op, names, part, expr.type), infinite) if names else part
    if count == 1 or expr.op.idempotent:
        return made
    return repetition(expr.op, made, count, expr.type)


def repetition(op: Operator, value: Expr, count: int, dtype: np.dtype[Any]) -> Expr:
    """``value``, of ``dtype``, reduced ``count`` times by ``op``, which has ``repeated``."""
    assert op.repeated is not None
    number = cast_value(count, dtype)
    if dtype.kind in "iu" and int(number) != count and not op.repeated.modular:
        wide = np.dtype(f"{dtype.kind}8")  # its low bits are those of fewer bits
        found = Call(op.repeated, (cast(value, wide), Literal(cast_value(count, wide), wide)))
        return Cast(found, dtype)
    return Call(op.repeated, (value, Literal(number, dtype)))


__all__ = [
    "Forms", "Reduced", "Ref", "affine", "distributes", "in_turn", "index_of", "indices_of",
    "normal_forms", "repetition",
]  # fmt: skip
