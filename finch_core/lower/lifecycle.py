"""Life cycle automation: freeze and thaw are inserted where tensors change mode (paper, Figure
"Life cycle automation").

    y[...] = 0                    y[...] = 0
    for i in _:                   for i in _:
        y[i] += x[i]                  y[i] += x[i]
    for i in _:           ->      freeze(y)
        s[()] += y[i]             thaw(s)
                                  for i in _:
                                      s[()] += y[i]
                                  freeze(s)

A tensor changes mode only in the block that declares it (or that freezes or thaws it
explicitly), otherwise in the outermost block. One that changes mode inside of a branch or loop does
so in each part of that, and is frozen between them. A tensor still in update mode at the end of its
block is frozen there. A statement that both reads and updates a tensor runs in update mode, if the
levels of the tensor can be read then (``Abilities.reads_updates``).
"""

from __future__ import annotations

from collections.abc import Iterator

from finch_core.errors import LifecycleError, Span
from finch_core.interface.level import Mode
from finch_core.interface.tensorlike import BoundTensor
from finch_core.interface.views import InPlace
from finch_core.ir.expressions import Access, Expr, Index
from finch_core.ir.program import (
    Declare,
    Define,
    Freeze,
    Loop,
    Sequential,
    Sieve,
    Stmt,
    Swap,
    Thaw,
    Update,
    While,
)
from finch_core.lower.access_order import Discordance
from finch_core.lower.boxes import Box, are_apart, boxes_of, may_overlap
from finch_core.lower.lifecycle_checks import (
    check_both,
    check_operators,
    check_swapped,
    check_thaw,
    check_walked,
    owned,
    owned_inside,
)
from finch_core.lower.pass_state import Unit, exchanged
from finch_core.records import evolve, frozen


def lifecycle(stmt: Stmt, unit: Unit) -> Stmt:
    """Insert the freezes and thaws of ``stmt``, and mark updates of elements that still hold fill.

    Raises ``LifecycleError`` for a tensor that is read and updated in one loop and cannot be, among
    others, and ``FormatError`` for a thaw that the format does not support.
    """
    found = _Block(None, unit, results=unit.program.results).run(stmt)
    check_walked(found, {})
    return found


_Singles = dict[BoundTensor, tuple[Index, ...]]


@frozen
class _Uses:
    """The uses of outer tensors by a statement, with the first place of each."""

    reads: dict[BoundTensor, Span | None]
    updates: dict[BoundTensor, Span | None]


class _Block:
    """One block: the modes of the tensors that change mode in it.

    ``own`` are those tensors; None in the outermost block, where all change mode. ``around``
    are tensors of enclosing blocks that a single update writes, with the loops since they were
    declared.
    """

    def __init__(
        self,
        own: frozenset[BoundTensor] | None,
        unit: Unit,
        around: _Singles | None = None,
        results: tuple[str, ...] = (),
    ) -> None:
        self.own = own
        self.unit = unit
        self.results = results
        self.thawed: dict[BoundTensor, Span | None] = {}
        """Where the program thawed a tensor explicitly and has not frozen it since."""
        self.around: _Singles = around or {}
        self.modes: dict[BoundTensor, Mode] = {}
        self.written: dict[BoundTensor, list[Box]] = {}
        """The boxes of each tensor that were written since its declaration."""

    def run(self, stmt: Stmt) -> Stmt:
        items = list(self.items(stmt))
        self.check_results()
        return _nest(items + [Freeze(t) for t in self.updated()])

    def check_results(self) -> None:
        for tensor, span in self.thawed.items():
            if tensor.name in self.results:
                raise LifecycleError(
                    f"{tensor} is returned while it is still being updated",
                    span=span,
                    hint=f"write freeze({tensor}) after its last update, or remove this thaw",
                )

    def updated(self) -> list[BoundTensor]:
        return [t for t, mode in self.modes.items() if mode is Mode.UPDATE]

    def items(self, stmt: Stmt) -> Iterator[Stmt]:
        for item in _flatten(stmt):
            yield from self.item(item)

    def item(self, stmt: Stmt) -> Iterator[Stmt]:
        if isinstance(stmt, Declare):
            if self.mode(stmt.tensor) is Mode.UPDATE:
                yield self.frozen(stmt.tensor, stmt)
            self.modes[stmt.tensor] = Mode.UPDATE
            self.written[stmt.tensor] = []
            yield stmt
        elif isinstance(stmt, (Freeze, Thaw)):
            yield self.written_out(stmt)
        elif isinstance(stmt, Swap):
            yield from self.swapped(stmt)
        else:
            uses = _uses(stmt)
            yield from self.changes(uses, stmt)
            check_operators(stmt)
            yield _inner(stmt, self.fresh(stmt), self.around, self.unit)

    def swapped(self, stmt: Swap) -> Iterator[Stmt]:
        """A swap, before which both tensors are frozen, here or by a block around this one."""
        for tensor in (stmt.first, stmt.second):
            self.written.pop(tensor, None)
            if self.owns(tensor) and self.mode(tensor) is Mode.UPDATE:
                yield self.frozen(tensor, stmt)
        yield stmt

    def fresh(self, stmt: Stmt) -> frozenset[BoundTensor]:
        """The tensors of which ``stmt`` writes each element once, first since the declaration."""
        found = set()
        swapped = exchanged(stmt)
        for tensor in swapped:
            self.written.pop(tensor, None)
        for tensor, boxes in boxes_of(stmt, self.written, self.unit.changing).items():
            before = self.written[tensor]
            if tensor in swapped:
                continue
            alone = not before and _updates_of(stmt, tensor) == 1
            before.extend(boxes)
            if alone or are_apart(before):
                found.add(tensor)
            elif may_overlap(before):
                self.unit.costly += _overlaps(tensor, stmt)
        return frozenset(found)

    def mode(self, tensor: BoundTensor) -> Mode:
        return self.modes.get(tensor, Mode.READ)

    def written_out(self, stmt: Freeze | Thaw) -> Stmt:
        wanted = Mode.UPDATE if isinstance(stmt, Freeze) else Mode.READ
        if self.mode(stmt.tensor) is not wanted:
            doing = "frozen" if isinstance(stmt, Freeze) else "thawed"
            raise LifecycleError(
                f"{stmt.tensor} is {doing} already",
                span=stmt.span,
                hint="freeze and thaw are inserted where they are needed; remove this one",
            )
        if isinstance(stmt, Thaw):
            check_thaw(stmt.tensor, stmt.span)
        if isinstance(stmt, Freeze):
            self.thawed.pop(stmt.tensor, None)
            self.modes[stmt.tensor] = Mode.READ
        else:
            self.thawed[stmt.tensor] = stmt.span
            self.modes[stmt.tensor] = Mode.UPDATE
        return stmt

    def changes(self, uses: _Uses, stmt: Stmt) -> Iterator[Stmt]:
        """The freezes and thaws needed before a statement."""
        for tensor, span in uses.updates.items():
            if tensor in uses.reads:
                check_both(tensor, stmt, uses.reads[tensor] or span, self.unit)
                self.unit.read_in_update.add(tensor)
                if tensor in exchanged(stmt):
                    check_swapped(tensor, stmt)
            if self.owns(tensor) and self.mode(tensor) is Mode.READ:
                check_thaw(tensor, span)
                self.modes[tensor] = Mode.UPDATE
                yield Thaw(tensor, span=stmt.span)
        for tensor in uses.reads:
            if tensor in uses.updates:
                continue
            if self.owns(tensor) and self.mode(tensor) is Mode.UPDATE:
                yield self.frozen(tensor, stmt)
        for tensor in owned_inside(stmt):
            if self.owns(tensor) and self.mode(tensor) is Mode.UPDATE:
                yield self.frozen(tensor, stmt)

    def frozen(self, tensor: BoundTensor, before: Stmt) -> Freeze:
        """The freeze that a statement needs."""
        self.thawed.pop(tensor, None)
        self.modes[tensor] = Mode.READ
        return Freeze(tensor, span=before.span)

    def owns(self, tensor: BoundTensor) -> bool:
        return self.own is None or tensor in self.own


def _overlaps(tensor: BoundTensor, stmt: Stmt) -> list[Discordance]:
    """The warning, if there is one, for loops that may write an element twice."""
    if all(level.stores_fill for level in tensor.format.levels()[:-1]):
        return []
    writes = [
        part for part in stmt.walk()
        if isinstance(part, Update) and part.target.tensor.root is tensor and part.op is None
    ]  # fmt: skip
    message = (
        f"{tensor} is written by loops whose ranges may overlap, so that fill values are stored, "
        "too: they may take the place of others"
    )
    hint = "begin each range behind those before it, as in range(max(m, n), p)"
    return [Discordance(message, x.target.span or x.span, hint) for x in writes[-1:]]


# -- blocks -------------------------------------------------------------------------------------


def _flatten(stmt: Stmt) -> Iterator[Stmt]:
    """The statements of a block in order; a ``let`` without the statements in its scope."""
    left = [stmt]
    while left:
        part = left.pop()
        if isinstance(part, Sequential):
            left.extend(reversed(part.statements))
        elif isinstance(part, Define):
            yield evolve(part, body=Sequential())
            left.append(part.body)
        else:
            yield part


def _nest(items: list[Stmt]) -> Stmt:
    """The inverse of ``_flatten``."""
    done: list[Stmt] = []
    for k, item in enumerate(items):
        if isinstance(item, Define):
            done.append(evolve(item, body=_nest(items[k + 1 :])))
            break
        done.append(item)
    return done[0] if len(done) == 1 else Sequential(tuple(done))


def _inner(stmt: Stmt, fresh: frozenset[BoundTensor], around: _Singles, unit: Unit) -> Stmt:
    """A statement with the life cycles of its nested blocks completed, and its updates marked."""
    return _marked(stmt, {**around, **dict.fromkeys(fresh, ())}, unit)


def _marked(stmt: Stmt, singles: _Singles, unit: Unit) -> Stmt:
    if isinstance(stmt, Update):
        root = stmt.target.tensor.root
        once = root in singles and set(singles[root]) <= set(stmt.target.indices)
        return evolve(stmt, fresh=True) if once else stmt
    if isinstance(stmt, (Loop, While)):
        turn = stmt.index if isinstance(stmt, Loop) else Index("while")
        singles = {tensor: (*loops, turn) for tensor, loops in singles.items()}
    inside = frozenset(owned_inside(stmt))
    bodies = tuple(_body(body, singles, unit, inside) for body in stmt.bodies)
    return stmt.rebuild(stmt.exprs, bodies)


def _body(stmt: Stmt, singles: _Singles, unit: Unit, inside: frozenset[BoundTensor]) -> Stmt:
    own = owned(stmt) | inside
    if own:
        around = {tensor: loops for tensor, loops in singles.items() if tensor not in own}
        return _Block(own, unit, around).run(stmt)
    if isinstance(stmt, Sequential):
        parts = tuple(_marked(part, singles, unit) for part in stmt.bodies)
        return stmt.rebuild((), parts)
    return _marked(stmt, singles, unit)


def _updates_of(stmt: Stmt, tensor: BoundTensor) -> int:
    """The greatest number of updates of a tensor that one execution of ``stmt`` makes."""
    if isinstance(stmt, Update):
        return int(stmt.target.tensor.root is tensor)
    counts = [_updates_of(body, tensor) for body in stmt.bodies]
    return max(counts, default=0) if isinstance(stmt, Sieve) else sum(counts)


# -- uses ---------------------------------------------------------------------------------------


def _uses(stmt: Stmt) -> _Uses:
    uses = _Uses({}, {})
    _gather(stmt, uses, frozenset())
    return uses


def _gather(stmt: Stmt, uses: _Uses, own: frozenset[BoundTensor]) -> None:
    """Add the uses of ``stmt`` to ``uses``, except of tensors that change mode inside it."""
    if isinstance(stmt, Update):
        root = stmt.target.tensor.root
        if isinstance(stmt.target.tensor, InPlace):
            _reads(stmt.target, uses, own, stmt.span)
        elif root is not None and root not in own:
            uses.updates.setdefault(root, stmt.target.span or stmt.span)
        for index in stmt.target.indices:
            _reads(index, uses, own, stmt.span)
        _reads(stmt.value, uses, own, stmt.span)
    elif isinstance(stmt, Swap):
        for tensor in {stmt.first, stmt.second} - own:
            uses.reads.setdefault(tensor, stmt.span)
    elif not isinstance(stmt, (Declare, Freeze, Thaw)):
        for expr in stmt.exprs:
            _reads(expr, uses, own, stmt.span)
    if not isinstance(stmt, Sequential):
        own = own.union(owned_inside(stmt))
    for body in stmt.bodies:
        _gather(body, uses, own if isinstance(stmt, Sequential) else own | owned(body))


def _reads(expr: Expr, uses: _Uses, own: frozenset[BoundTensor], span: Span | None) -> None:
    for node in expr.walk():
        if isinstance(node, Access):
            root = node.tensor.root
            if root is not None and root not in own:
                uses.reads.setdefault(root, node.span or span)
