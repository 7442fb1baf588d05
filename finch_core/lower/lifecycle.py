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
explicitly), otherwise in the outermost block. A tensor still in update mode at the end of its
block is frozen there. A statement that both reads and updates a tensor runs in update mode, if the
levels of the tensor can be read then (``Abilities.reads_updates``).
"""

from __future__ import annotations

from collections.abc import Iterator

from finch_core.errors import FormatError, LifecycleError, Span, quote
from finch_core.interface.abilities import RANDOM_ACCESS, Order
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
from finch_core.lower.boxes import Box, are_apart, boxes_of
from finch_core.lower.pass_state import Unit, exchanged, reads_of
from finch_core.records import evolve, frozen


def lifecycle(stmt: Stmt, unit: Unit) -> Stmt:
    """Insert the freezes and thaws of ``stmt``, and mark updates of elements that still hold fill.

    Raises ``LifecycleError`` for a tensor that is read and updated in one loop and cannot be, among
    others, and ``FormatError`` for a thaw that the format does not support.
    """
    found = _Block(None, unit, results=unit.program.results).run(stmt)
    _check_walked(found, {})
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
            _check_operators(stmt)
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
            _check_thaw(stmt.tensor, stmt.span)
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
                _check_both(tensor, stmt, uses.reads[tensor] or span, self.unit)
                self.unit.read_in_update.add(tensor)
                if tensor in exchanged(stmt):
                    _check_swapped(tensor, stmt)
            if self.owns(tensor) and self.mode(tensor) is Mode.READ:
                _check_thaw(tensor, span)
                self.modes[tensor] = Mode.UPDATE
                yield Thaw(tensor, span=stmt.span)
        for tensor in uses.reads:
            if tensor in uses.updates:
                continue
            if self.owns(tensor) and self.mode(tensor) is Mode.UPDATE:
                yield self.frozen(tensor, stmt)
        for tensor in _declared_inside(stmt):
            if self.owns(tensor) and self.mode(tensor) is Mode.UPDATE:
                yield self.frozen(tensor, stmt)

    def frozen(self, tensor: BoundTensor, before: Stmt) -> Freeze:
        """The freeze that a statement needs."""
        self.thawed.pop(tensor, None)
        self.modes[tensor] = Mode.READ
        return Freeze(tensor, span=before.span)

    def owns(self, tensor: BoundTensor) -> bool:
        return self.own is None or tensor in self.own


def _check_swapped(tensor: BoundTensor, stmt: Stmt) -> None:
    """Refuse to swap a tensor that is updated around the swap, if updates have a state."""
    levels = tensor.format.levels()
    if not all(level.is_leaf or level.stores_fill for level in levels):
        raise LifecycleError(
            f"{tensor} is updated and swapped within one loop",
            span=stmt.span,
            hint=f"declare it in the block of the swap, {tensor}[...] = fill, or use levels that "
            "store every element",
        )


def _check_both(tensor: BoundTensor, stmt: Stmt, span: Span | None, unit: Unit) -> None:
    """Refuse a statement that reads and updates a tensor whose levels cannot do both at once."""
    where = "loop" if isinstance(stmt, Loop) else "statement"
    message = f"{tensor} is read and updated within one {where}"
    for level in tensor.format.levels():
        if not level.reads_updates:
            message += f", and a {level.name} cannot be read while it is updated"
            hint = f"read a copy, or write to another tensor; {_readable()} can"
            if _may_be_in_place(tensor, unit):
                hint = f"{_stored_alone(tensor, stmt)}; or {hint}"
            raise LifecycleError(message, span=span, hint=hint)
    for access in _reads_of(tensor, stmt):
        for dim in range(access.tensor.ndim):
            protocol = access.tensor.protocol_of(dim)
            level_ = access.tensor.level_of(dim)
            if protocol not in ("", RANDOM_ACCESS) and not (level_ and level_.stores_fill):
                message += f", and {protocol} reads what is stored when the loop begins"
                hint = f"read it without {protocol}, or by {RANDOM_ACCESS}"
                raise LifecycleError(message, span=access.span or span, hint=hint)


def _may_be_in_place(tensor: BoundTensor, unit: Unit) -> bool:
    """Whether a tensor may be updated in place (``lower.in_place``)."""
    changes = (p for p in unit.program.body.walk() if isinstance(p, (Declare, Freeze, Thaw)))
    declared = any(str(change.tensor) == tensor.name for change in changes)
    return tensor.format.levels()[-1].holds_fill and not tensor.local and not declared


def _stored_alone(tensor: BoundTensor, stmt: Stmt) -> str:
    """A hint: how to update only what a tensor stores."""
    updates = [part for part in stmt.walk() if isinstance(part, Update)]
    target = next(part.target for part in updates if part.target.tensor.root is tensor)
    written = target.span.code() if target.span is not None else ""
    return f"update only what it stores, under 'if stored({written or tensor}):'"


def _reads_of(tensor: BoundTensor, stmt: Stmt) -> Iterator[Access]:
    """The accesses by which a statement reads a tensor."""
    for part in stmt.walk():
        for expr in reads_of(part):
            for node in expr.walk():
                if isinstance(node, Access) and node.tensor.root is tensor:
                    yield node


def _readable() -> str:
    """The names of installed levels that can be read while they are updated."""
    from finch_core.interface.plugins import hub

    levels = sorted(hub().levels.items())
    return quote(name for name, level in levels if not level.is_leaf and level.reads_updates)


def _check_operators(stmt: Stmt) -> None:
    """Refuse two reductions by different operators of a tensor that is updated in order.

    Their order at an element would depend on the formats. (An assignment beside a reduction has
    one meaning.)
    """
    for tensor, updates in _reductions(stmt).items():
        if all(level.order is Order.ANY for level in tensor.format.levels()):
            continue
        for update in updates[1:]:
            if update.op != updates[0].op:
                name = update.target.tensor.root
                first, second = _operator_name(updates[0]), _operator_name(update)
                raise LifecycleError(
                    f"{name} is updated by {first} and by {second} within one statement",
                    span=update.target.span or update.span,
                    hint="split the loop in two, or update another tensor",
                )


def _operator_name(update: Update) -> str:
    assert update.op is not None
    return f"'{update.op.symbol}='" if update.op.symbol else update.op.spelling


def _reductions(stmt: Stmt) -> dict[BoundTensor, list[Update]]:
    """The reductions in a statement, except of tensors that change mode inside it."""
    found: dict[BoundTensor, list[Update]] = {}
    if isinstance(stmt, Update):
        root = stmt.target.tensor.root
        several = root is None or stmt.op is None or isinstance(stmt.target.tensor, InPlace)
        return {} if several else {root: [stmt]}
    inside: frozenset[BoundTensor] = frozenset()
    for body in stmt.bodies:
        inside |= _owned(body)
        for tensor, updates in _reductions(body).items():
            found.setdefault(tensor, []).extend(updates)
    return {tensor: updates for tensor, updates in found.items() if tensor not in inside}


def _check_walked(stmt: Stmt, walked: dict[BoundTensor, Span | None]) -> None:
    """Refuse to thaw a tensor in a loop that iterates over its stored elements.

    ``walked`` are the tensors that loops around ``stmt`` iterate over. A level that stores
    every index does not change and is allowed.
    """
    if isinstance(stmt, Thaw) and stmt.tensor in walked:
        raise LifecycleError(
            f"{stmt.tensor} is thawed in a loop over its stored elements",
            span=walked[stmt.tensor] or stmt.span,
            hint="write to another tensor, or thaw it after the loop",
        )
    if isinstance(stmt, Declare):
        walked.pop(stmt.tensor, None)
    inner = dict(walked)
    if isinstance(stmt, Loop) and any(isinstance(part, Thaw) for part in stmt.body.walk()):
        inner.update(_walked_by(stmt.index, stmt.body))
    for body in stmt.bodies:
        _check_walked(body, inner if not isinstance(stmt, Sequential) else walked)


def _walked_by(index: Index, body: Stmt) -> Iterator[tuple[BoundTensor, Span | None]]:
    """The tensors that a loop reads along its index at levels that do not store every index."""
    for part in body.walk():
        for node in (node for expr in reads_of(part) for node in expr.walk()):
            if not isinstance(node, Access) or node.tensor.root is None:
                continue
            levels = (node.tensor.level_of(k) for k, at in enumerate(node.indices) if at == index)
            if not all(level is None or level.stores_fill for level in levels):
                yield node.tensor.root, node.span


def _check_thaw(tensor: BoundTensor, span: Span | None) -> None:
    for level in tensor.format.levels():
        if not level.thaws:
            raise FormatError(
                f"{tensor} cannot be updated again once it is frozen: "
                f"a {level.name} cannot continue",
                span=span,
                hint=f"declare it, {tensor}[...] = fill, and write all of it at once; "
                f"{_continuing()} can continue",
            )


def _continuing() -> str:
    """The names of installed levels that can be updated again after a freeze."""
    from finch_core.interface.plugins import hub

    levels = sorted(hub().levels.items())
    return quote(name for name, level in levels if not level.is_leaf and level.thaws)


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


def _owned(stmt: Stmt) -> frozenset[BoundTensor]:
    """The tensors that a block itself declares, freezes or thaws explicitly."""
    left, found = [stmt], set()
    while left:
        part = left.pop()
        if isinstance(part, (Sequential, Define)):
            left.extend(part.bodies)
        elif isinstance(part, (Declare, Freeze, Thaw)):
            found.add(part.tensor)
    return frozenset(found)


def _declared_inside(stmt: Stmt) -> list[BoundTensor]:
    found = [p.tensor for p in stmt.walk() if isinstance(p, (Declare, Freeze, Thaw))]
    return list(dict.fromkeys(found))


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
    return stmt.rebuild(stmt.exprs, tuple(_body(body, singles, unit) for body in stmt.bodies))


def _body(stmt: Stmt, singles: _Singles, unit: Unit) -> Stmt:
    own = _owned(stmt)
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
    for body in stmt.bodies:
        inside = own | _owned(body) if not isinstance(stmt, Sequential) else own
        _gather(body, uses, inside)


def _reads(expr: Expr, uses: _Uses, own: frozenset[BoundTensor], span: Span | None) -> None:
    for node in expr.walk():
        if isinstance(node, Access):
            root = node.tensor.root
            if root is not None and root not in own:
                uses.reads.setdefault(root, node.span or span)
