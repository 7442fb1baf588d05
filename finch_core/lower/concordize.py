"""Concordization: every access visits its indices in loop order (paper, Figure "Examples of
concordization").

    for i, j in _:                     for i, j in _:
        s[()] += A[j, i]       ->          for i_2 in range(i, i + 1):
                                               s[()] += A[j, i_2]
        y[I[i]] += 1           ->          for i_3 in range(I[i], I[i] + 1):
                                               y[i_3] += 1

An index that is not a loop's, or whose loop is further out than that of the index before it (or
than the declaration of the tensor), gets a loop of a single iteration around the statement. If
its value is known before the loop of the next index begins, a read has the index as *given*: it
is looked up once before that loop (``lower.leading_indices``). ``A[I[i], j]`` finds row
``I[i]`` before the loop over ``j``.

Where a statement updates a tensor that loops around it read, a level that does not store every
index is looked up anew by each statement, as what it stores may change from one to the next.
"""

from __future__ import annotations

from collections.abc import Set

from finch_core.interface.abilities import RANDOM_ACCESS
from finch_core.interface.tensorlike import BoundTensor, Fiber
from finch_core.interface.views import InPlace
from finch_core.ir import primitives as prim
from finch_core.ir.builder import Names
from finch_core.ir.dtypes import INTP
from finch_core.ir.expressions import (
    TRUE,
    Access,
    Call,
    Expr,
    Index,
    Modified,
    call,
    cast,
    zero_of,
)
from finch_core.ir.program import (
    Declare,
    Define,
    Extent,
    Freeze,
    Labelled,
    Leave,
    Loop,
    Sequential,
    Sieve,
    Stmt,
    Thaw,
    Update,
    While,
)
from finch_core.lower.access_order import discordance
from finch_core.lower.pass_state import Unit, Updated, changes_of_mode, exchanged
from finch_core.records import define, evolve, field
from finch_core.symbolic.affine import Scope, is_given
from finch_core.symbolic.guards import LAZY, as_condition, conjuncts


def concordize(stmt: Stmt, unit: Unit) -> Stmt:
    """Insert the single-iteration loops that make every access of ``stmt`` concordant."""
    taken = {part.index.name for part in stmt.walk() if isinstance(part, Loop)}
    scope = Scope(bound=changes_of_mode(stmt))
    concordizer = _Concordizer(Names(taken), unit, Updated(stmt), _crossing(stmt))
    return concordizer.stmt(stmt, {}, {}, scope)


Depths = dict[Index, int]
Floors = dict[BoundTensor, int]
"""For each tensor, the loops up to which its indices need loops of their own."""


@define
class _Units:
    """The single-iteration loops around one statement, outermost first."""

    depths: Depths
    floors: Floors
    scope: Scope
    names: Names
    unit: Unit
    moving: Set[BoundTensor]
    """Tensors that this statement looks up anew."""
    loops: list[tuple[Index, Expr, int]] = field(factory=list)

    def depth(self, index: Expr) -> int:
        """The nesting depth of an index's loop; -1 for an expression that is not an index."""
        if not isinstance(index, Index):
            return -1
        if index in self.depths:
            return self.depths[index]
        return next(d for unit, _, d in self.loops if unit == index)

    def index_for(self, value: Expr, above: int, guard: Expr) -> tuple[Index, int]:
        """The index of a single-iteration loop that equals ``value`` where ``guard`` holds, deeper
        than ``above``."""
        guarded = value
        if guard is not TRUE and self.reads_at_units(value):
            guarded = call(prim.ifelse, as_condition(guard), value, zero_of(value.dtype))
        for unit, same, depth in self.loops:
            if same in (value, guarded) and depth > above:
                return unit, depth
        base = value.name if isinstance(value, Index) else "at"
        unit = Index(self.names.fresh(base))
        depth = len(self.depths) + len(self.loops)
        self.loops.append((unit, guarded, depth))
        return unit, depth

    def reads_at_units(self, value: Expr) -> bool:
        """Whether a value is read at an index of a single-iteration loop, which may be outside."""
        units = {unit for unit, _, _ in self.loops}
        nodes = (node for node in value.walk() if isinstance(node, Access))
        return any(index in units for node in nodes for index in node.indices)

    def access(self, node: Access, written: bool, guard: Expr) -> Access:
        """The access, evaluated where ``guard`` holds, with each index given, or that of a loop
        deeper than the one before."""
        root = node.tensor.root
        above = self.floors.get(root, -1) if root is not None else -1
        if root in self.moving:
            above = len(self.depths) - 1
        indices: list[Expr] = []
        for k, (given, extent) in enumerate(zip(node.indices, node.tensor.dims, strict=True)):
            if is_given(given):
                indices.append(given)
                continue
            index, depth = given, self.depth(given)
            if depth <= above:
                if (
                    not written
                    and "given" not in self.unit.disabled
                    and self.known_before(node, k, above)
                ):
                    indices.append(Modified("given", given))
                    continue
                index, depth = self.index_for(given, above, guard)
                if not written:
                    self.unit.costly += discordance(
                        node, k, self.depths, self.plain(root), self.scope, self.unit.name_of
                    )
                if (given, extent) in self.unit.fitting:
                    self.unit.fitting.add((index, extent))
                parts = self.unit.loose.get(given, {}) if isinstance(given, Index) else {}
                if extent in parts:
                    self.unit.loose.setdefault(index, {})[extent] = parts[extent]
            indices.append(index)
            above = depth
        same = tuple(indices) == node.indices
        return node if same else evolve(node, indices=tuple(indices))

    def plain(self, root: BoundTensor | None) -> bool:
        """Whether a tensor is an argument in its storage order."""
        found = None if root is None or root.local else self.unit.arguments.get(root.name)
        return isinstance(found, Fiber)

    def known_before(self, node: Access, k: int, above: int) -> bool:
        """Whether index ``k`` can be looked up before the loop of the next index begins.

        Its value must be known there, and its protocol must allow it; that loop is deeper than
        ``above``.
        """
        level = node.tensor.level_of(k)
        if node.tensor.protocol_of(k) not in ("", RANDOM_ACCESS):
            return False
        following = (self.depths.get(i, -1) for i in node.indices[k + 1 :] if isinstance(i, Index))
        loop = next((depth for depth in following if depth > above), None)
        if loop is None or level is None or RANDOM_ACCESS not in level.protocols:
            return False
        value = node.indices[k]
        return (
            self.depends_on_loops(value)
            and self.scope.depth(value) <= loop
            and self.scope.ready(value)
        )

    def depends_on_loops(self, value: Expr) -> bool:
        """Whether an index depends on loop indices alone, not on a wrapper."""
        for part in value.walk():
            if isinstance(part, Index) and part not in self.depths:
                return False
            if isinstance(part, Access) and not all(isinstance(i, Index) for i in part.indices):
                return False
        return True

    def expr(self, expr: Expr, written: bool = False, guard: Expr = TRUE) -> Expr:
        """The expression with all its accesses made concordant, those within indices first. It is
        evaluated where ``guard`` holds."""
        children = expr.children
        changed: list[Expr] = []
        for k, child in enumerate(children):
            needed = guard
            if k and isinstance(expr, Call) and expr.op in LAZY:
                other = LAZY[expr.op](changed[0])[k - 1]
                needed = other if guard is TRUE else guard.and_(other)
            changed.append(self.expr(child, guard=needed))
        if any(a is not b for a, b in zip(changed, children, strict=True)):
            expr = expr.rebuild(tuple(changed))
        return self.access(expr, written, guard) if isinstance(expr, Access) else expr

    def exprs(self, stmt: Stmt) -> tuple[Expr, ...]:
        """The expressions of a statement; the target of an update is written."""
        if isinstance(stmt, Update):
            return (self.expr(stmt.target, written=True), self.expr(stmt.value))
        return stmt.exprs if isinstance(stmt, Declare) else tuple(map(self.expr, stmt.exprs))

    def around(self, stmt: Stmt) -> Stmt:
        for index, value, _ in reversed(self.loops):
            start = value if isinstance(value, Index) else cast(value, INTP)
            stmt = Loop(index, Extent(start, start + 1), stmt, span=stmt.span)
        return stmt


class _Concordizer:
    def __init__(
        self, names: Names, unit: Unit, updated: Updated, crossing: Set[BoundTensor]
    ) -> None:
        self.names, self.unit, self.updated, self.crossing = names, unit, updated, crossing
        self.moving: set[BoundTensor] = set()
        """The tensors in update mode whose structure a statement may change that others read."""

    def stmt(self, stmt: Stmt, depths: Depths, floors: Floors, scope: Scope) -> Stmt:
        if isinstance(stmt, Sequential):
            here = dict(floors)
            for part in _block(stmt):
                if isinstance(part, Declare):
                    here[part.tensor] = len(depths) - 1
            bodies = tuple(self.stmt(part, depths, here, scope) for part in stmt.bodies)
            return stmt.rebuild((), bodies)
        if isinstance(stmt, While) and any(_has_indices(node) for node in stmt.cond.walk()):
            return self.stmt(_tested_inside(stmt), depths, floors, scope)
        if isinstance(stmt, Sieve) and stmt.orelse == Sequential():
            stmt = _tested_in_turn(stmt)
        self.mode(stmt)
        units = _Units(depths, floors, scope, self.names, self.unit, self.moving)
        exprs = units.exprs(stmt)
        inner = {**depths, **{unit: depth for unit, _, depth in units.loops}}
        for unit, _, _ in units.loops:
            scope = scope.inside(unit)
        if isinstance(stmt, Loop):
            inner[stmt.index] = len(inner)
            scope = scope.inside(stmt.index, self.updated[stmt])
            floors = {**floors, **dict.fromkeys(_changed(stmt), len(inner) - 1)}
        elif isinstance(stmt, Define):
            scope = scope.binding(stmt.name)
        bodies = tuple(self.stmt(body, inner, floors, scope) for body in stmt.bodies)
        return units.around(stmt.rebuild(exprs, bodies))

    def mode(self, stmt: Stmt) -> None:
        """Follow the changes of mode."""
        if isinstance(stmt, Freeze):
            self.moving.discard(stmt.tensor)
        elif isinstance(stmt, (Declare, Thaw)) and self.moves(stmt.tensor):
            self.moving.add(stmt.tensor)

    def moves(self, tensor: BoundTensor) -> bool:
        """Whether a tensor is read, or updated elsewhere, while updates change what it stores."""
        return _moves(tensor) and (tensor in self.unit.read_in_update or tensor in self.crossing)


def _changed(stmt: Loop) -> set[BoundTensor]:
    """The tensors that may have another structure behind a statement of the loop."""
    found: set[BoundTensor] = exchanged(stmt)
    for part in stmt.body.walk():
        if isinstance(part, Declare) or (isinstance(part, (Freeze, Thaw)) and _moves(part.tensor)):
            found.add(part.tensor)
    return found


def _crossing(stmt: Stmt) -> set[BoundTensor]:
    """The tensors that are updated in a loop which enters an element of theirs, at other indices:

    for i in _:
        if x[i] > 0: u[i] += 1        # u[i] is entered before, and left out if it is not this
        else: u[0] += 1               # may find it
    """
    updates: dict[BoundTensor, list[tuple[Access, tuple[Index, ...]]]] = {}
    _add_updates(stmt, (), updates)
    return {
        tensor
        for tensor, found in updates.items()
        if any(_crosses(one, *other) for one, _ in found for other in found)
    }


def _add_updates(
    stmt: Stmt, loops: tuple[Index, ...],
    found: dict[BoundTensor, list[tuple[Access, tuple[Index, ...]]]],
) -> None:  # fmt: skip
    if isinstance(stmt, Update):
        root = stmt.target.tensor.root
        if root is not None and _moves(root) and not isinstance(stmt.target.tensor, InPlace):
            found.setdefault(root, []).append((stmt.target, loops))
    if isinstance(stmt, Loop):
        loops = (*loops, stmt.index)
    for body in stmt.bodies:
        _add_updates(body, loops, found)


def _crosses(one: Access, other: Access, loops: tuple[Index, ...]) -> bool:
    """Whether an update in ``loops`` may find what another one has entered."""
    return any(
        index in loops
        and (one.tensor, one.indices[: k + 1]) != (other.tensor, other.indices[: k + 1])
        for k, index in enumerate(one.indices)
        if isinstance(index, Index)
    )


def _moves(tensor: BoundTensor) -> bool:
    """Whether updates change what a tensor stores."""
    return not all(level.stores_fill for level in tensor.format.levels()[:-1])


def _has_indices(node: Expr) -> bool:
    return isinstance(node, Access) and bool(node.indices)


def _reads_at_reads(expr: Expr) -> bool:
    """Whether an expression reads at an index that is read."""
    nodes = (node for node in expr.walk() if _has_indices(node))
    return any(_has_indices(part) for node in nodes for i in node.children for part in i.walk())


def _in_turn(cond: Expr) -> list[Expr]:
    """The conjuncts of a condition, together as far as one does not read at an index that is read:
    such an index is looked up where the conjuncts before it hold."""
    found: list[Expr] = []
    for part in conjuncts(cond):
        if found and not _reads_at_reads(part):
            found[-1] = found[-1].and_(part)
        else:
            found.append(part)
    return found


def _tested_in_turn(stmt: Sieve) -> Sieve:
    """A statement without an alternative whose condition is tested in turn."""
    first, *rest = _in_turn(stmt.cond)
    body = stmt.body
    for cond in reversed(rest):
        body = Sieve(cond, body, Sequential(), span=stmt.span)
    return evolve(stmt, cond=first, body=body) if rest else stmt


def _tested_inside(stmt: While) -> Stmt:
    """A loop whose condition, tested in turn, is statements of their own, around which loops can be
    put."""
    conds = _in_turn(stmt.cond)
    tests = (Sieve(cond, Sequential(), Leave(_WHILE), span=stmt.span) for cond in conds)
    return Labelled(_WHILE, While(TRUE, Sequential((*tests, stmt.body)), span=stmt.span))


_WHILE = "while"
"""The label of such a loop."""


def _block(stmt: Stmt) -> tuple[Stmt, ...]:
    """The statements of a block, including those after a ``let``."""
    found: list[Stmt] = []
    for part in stmt.bodies if isinstance(stmt, Sequential) else (stmt,):
        found.append(part)
        if isinstance(part, Define):
            found.extend(_block(part.body))
    return tuple(found)
