"""What life cycles refuse: reads and updates that cannot be in one statement, thaws, and swaps."""

from __future__ import annotations

from collections.abc import Iterator

from finch_core.errors import FormatError, LifecycleError, Span, quote
from finch_core.interface.abilities import RANDOM_ACCESS, Order
from finch_core.interface.plugins import hub
from finch_core.interface.tensorlike import BoundTensor
from finch_core.interface.views import InPlace, StoredView
from finch_core.ir.expressions import Access, Index
from finch_core.ir.program import (
    Declare,
    Define,
    Freeze,
    Loop,
    Sequential,
    Stmt,
    Thaw,
    Update,
)
from finch_core.lower.in_place import Found, updates_in
from finch_core.lower.pass_state import Unit, reads_of
from finch_core.records import evolve


def check_swapped(tensor: BoundTensor, stmt: Stmt) -> None:
    """Refuse to swap a tensor that is updated around the swap, if updates have a state."""
    levels = tensor.format.levels()
    if not all(level.is_leaf or level.stores_fill for level in levels):
        raise LifecycleError(
            f"{tensor} is updated and swapped within one loop",
            span=stmt.span,
            hint=f"declare it in the block of the swap, {tensor}[...] = fill, or use levels that "
            "store every element",
        )


def check_both(tensor: BoundTensor, stmt: Stmt, span: Span | None, unit: Unit) -> None:
    """Refuse a statement that reads and updates a tensor whose levels cannot do both at once."""
    where = "loop" if isinstance(stmt, Loop) else "statement"
    message = f"{tensor} is read and updated within one {where}"
    for level in tensor.format.levels():
        if not level.reads_updates:
            message += f", and a {level.name} cannot be read while it is updated"
            hint = f"read a copy, or write to another tensor; {_readable(level.is_leaf)} can"
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
    found = [one for one in updates_in(stmt, (), {}) if one.update.target.tensor.root is tensor]
    # what stands under no ``stored`` of the very element is most likely at fault
    alone = [one for one in found if not _is_under_stored(one)]
    target = (alone or found)[0].update.target
    written = target.span.code() if target.span is not None else ""
    return f"update only what it stores, under 'if stored({written or tensor}):'"


def _is_under_stored(found: Found) -> bool:
    target = found.update.target
    structure = evolve(target, tensor=StoredView(target.tensor))
    return any(node == structure for cond in found.conds for node in cond.walk())


def _reads_of(tensor: BoundTensor, stmt: Stmt) -> Iterator[Access]:
    """The accesses by which a statement reads a tensor."""
    for part in stmt.walk():
        for expr in reads_of(part):
            for node in expr.walk():
                if isinstance(node, Access) and node.tensor.root is tensor:
                    yield node


def _readable(leaves: bool) -> str:
    """The names of installed levels, or leaves, that can be read while they are updated."""
    levels = sorted(hub().levels.items())
    return quote(name for name, lvl in levels if lvl.is_leaf == leaves and lvl.reads_updates)


def check_operators(stmt: Stmt) -> None:
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
    inside = frozenset(owned_inside(stmt))
    for body in stmt.bodies:
        inside |= owned(body)
        for tensor, updates in _reductions(body).items():
            found.setdefault(tensor, []).extend(updates)
    return {tensor: updates for tensor, updates in found.items() if tensor not in inside}


def check_walked(stmt: Stmt, walked: dict[BoundTensor, Span | None]) -> None:
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
        check_walked(body, inner if not isinstance(stmt, Sequential) else walked)


def _walked_by(index: Index, body: Stmt) -> Iterator[tuple[BoundTensor, Span | None]]:
    """The tensors that a loop reads along its index at levels that do not store every index."""
    for part in body.walk():
        for node in (node for expr in reads_of(part) for node in expr.walk()):
            if not isinstance(node, Access) or node.tensor.root is None:
                continue
            levels = (node.tensor.level_of(k) for k, at in enumerate(node.indices) if at == index)
            if not all(level is None or level.stores_fill for level in levels):
                yield node.tensor.root, node.span


def check_thaw(tensor: BoundTensor, span: Span | None) -> None:
    """Refuse to update a tensor again if a level of it cannot continue once it is frozen."""
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
    levels = sorted(hub().levels.items())
    return quote(name for name, level in levels if not level.is_leaf and level.thaws)


def owned(stmt: Stmt) -> frozenset[BoundTensor]:
    """The tensors that a block itself declares, freezes or thaws explicitly."""
    left, found = [stmt], set()
    while left:
        part = left.pop()
        if isinstance(part, (Sequential, Define)):
            left.extend(part.bodies)
        elif isinstance(part, (Declare, Freeze, Thaw)):
            found.add(part.tensor)
    return frozenset(found)


def owned_inside(stmt: Stmt) -> tuple[BoundTensor, ...]:
    """The tensors that change mode inside of a branch or loop, in the order of the text, and so in
    each part of it: one part may declare what another one updates."""
    if isinstance(stmt, (Sequential, Define)):
        return ()
    changes = (part for part in stmt.walk() if isinstance(part, (Declare, Freeze, Thaw)))
    return tuple(dict.fromkeys(part.tensor for part in changes))
