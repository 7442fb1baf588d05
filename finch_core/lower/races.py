"""Proof of parallel loops: the turns of ``for i in parallel(_)`` may run at the same time.

    for i in parallel(_):                     A, x       read
        w[...] = 0                            w          private: declared in each turn
        for j in _: w[j] += A[i, j] * x[j]    y          disjoint: another element in each turn
        y[i] = w[n]                           s          reduced: in copies, which are merged
        s[()] += y[i]                         C          joined: appended in parts

Every tensor that the loop writes must be one of these (``Role``), in a way that its levels can take
(``Abilities.parallel``). Otherwise the loop is refused (``RaceError``).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NoReturn

from finch_core.errors import RaceError, Span, quote
from finch_core.interface.abilities import Order, Sharing
from finch_core.interface.plugins import hub
from finch_core.interface.tensorlike import BoundTensor
from finch_core.interface.views import InPlace
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import Access
from finch_core.ir.operators import Operator, operator
from finch_core.ir.program import (
    Declare,
    Freeze,
    Labelled,
    Leave,
    Loop,
    Stmt,
    Swap,
    Thaw,
    Update,
    leaves,
)
from finch_core.lower.emptiness import is_empty_before
from finch_core.lower.injectivity import Turns, are_apart, may_wrap
from finch_core.lower.pass_state import Unit
from finch_core.lower.scratch import used_undeclared
from finch_core.records import evolve, field, frozen
from finch_core.symbolic.updates import neutral, stays_associative

Tensors = frozenset[BoundTensor]


@frozen
class Reduction:
    """The operator that merges copies: that of their updates, or the one that those undo."""

    merge: Operator


@frozen
class Roles:
    """How a parallel loop may treat the tensors that it writes; ``in_place`` are those of which
    only what is stored may be updated."""

    private: Tensors = frozenset()
    disjoint: Tensors = frozenset()
    in_place: Tensors = frozenset()
    reduced: dict[BoundTensor, Reduction] = field(factory=dict, hash=False)
    joined: Tensors = frozenset()

    @property
    def written(self) -> Tensors:
        """The tensors that the loop writes."""
        return self.private | self.disjoint | self.in_place | self.joined | self.reduced.keys()


@frozen
class _Use:
    """An access, and the update whose target it is (None: it is read)."""

    access: Access
    update: Update | None

    @property
    def span(self) -> Span | None:
        found = self.access.span
        return found if found is not None or self.update is None else self.update.span


def races(stmt: Stmt, unit: Unit) -> Stmt:
    """Prove each parallel loop of ``stmt`` and note the roles of its tensors in ``unit.parallel``.

    A parallel loop in another is proven, and runs sequentially. Raises ``RaceError``.
    """
    for loop in [part for part in stmt.walk() if isinstance(part, Loop) and part.parallel]:
        unit.parallel[loop.index] = _Proof(loop, stmt, unit).roles()
    return _outermost(stmt) if unit.parallel else stmt


def stays_in_place(stmt: Stmt, unit: Unit) -> Stmt:
    """Check that parallel loops change no structure that turns share; returns ``stmt``.

    Raises ``RaceError`` for an update of a tensor that takes only updates in place from several
    turns, and is not in place."""
    for loop in (part for part in stmt.walk() if isinstance(part, Loop) and part.parallel):
        kept = unit.parallel[loop.index].in_place
        for part in (part for part in loop.body.walk() if isinstance(part, Update)):
            tensor = part.target.tensor
            if tensor.root not in kept or isinstance(tensor, InPlace):
                continue
            level = next(
                lvl for lvl in tensor.root.format.levels() if Sharing.DISJOINT not in lvl.parallel
            )
            raise RaceError(
                f"the parallel loop over {unit.name_of(loop.index)} updates {tensor.root} where it "
                f"may store nothing yet, and a {level.name} cannot take that from several turns",
                span=part.target.span or part.span,
                hint=f"update only what it stores, under 'if stored(...)'; or use "
                f"{_takers(Sharing.DISJOINT)}",
            )
    return stmt


def _outermost(stmt: Stmt, inside: bool = False) -> Stmt:
    """``stmt`` in which parallel loops in others are plain loops."""
    here = inside or (isinstance(stmt, Loop) and stmt.parallel)
    stmt = stmt.rebuild(stmt.exprs, tuple(_outermost(body, here) for body in stmt.bodies))
    if inside and isinstance(stmt, Loop) and stmt.parallel:
        return evolve(stmt, parallel=False)
    return stmt


class _Proof:
    """The proof of one loop."""

    def __init__(self, loop: Loop, whole: Stmt, unit: Unit) -> None:
        self.loop, self.whole, self.unit = loop, whole, unit
        self.name = unit.name_of(loop.index)
        self.parts = tuple(loop.body.walk())
        self.uses: dict[BoundTensor, list[_Use]] = {}
        for part in self.parts:
            for use in _uses_of(part):
                root = use.access.tensor.root
                if root is not None:
                    self.uses.setdefault(root, []).append(use)
        written = {root for root, uses in self.uses.items() if any(u.update for u in uses)}
        self.written = frozenset(written) | self.changed()
        self.turns = Turns(loop, self.written)

    def changed(self) -> Tensors:
        """The tensors that the turns declare, freeze, thaw or swap."""
        found = {p.tensor for p in self.parts if isinstance(p, (Declare, Freeze, Thaw))}
        swaps = [part for part in self.parts if isinstance(part, Swap)]
        return frozenset(found | {t for part in swaps for t in (part.first, part.second)})

    def roles(self) -> Roles:
        self.runs_to_its_end()
        outer = used_undeclared(self.loop.body)
        private = self.written - outer
        for tensor in sorted(private, key=str):
            self.is_private(tensor)
        found = Roles(frozenset(private))
        for tensor in sorted(self.written - private, key=str):
            self.is_not_changed_whole(tensor)
            found = self.role(tensor, found)
        return found

    def runs_to_its_end(self) -> None:
        """Refuse a turn that ends the loop."""
        if not leaves(self.loop.body):
            return
        found = next(_leaving(self.loop.body, frozenset()))
        self.refuse(
            f"a turn of the parallel loop over {self.name} ends the loop, and later turns may have "
            "run already",
            found.span,
            hint="use 'continue', or run the loop in order, without 'parallel'",
        )

    def is_private(self, tensor: BoundTensor) -> None:
        """Refuse a tensor that each turn declares, if another could see what one wrote."""
        where = next((p.span for p in self.parts if _declares(p, tensor)), self.loop.span)
        if not tensor.local:
            self.refuse(
                f"every turn of the parallel loop over {self.name} declares {tensor}, which is not "
                "made in the kernel",
                where,
                hint=f"make a workspace in the kernel, {tensor} = Tensor(...): each turn has its "
                "own",
            )
        if tensor.name in self.unit.program.results or tensor in self.used_elsewhere(self.whole):
            self.refuse(
                f"{tensor} is used outside of the parallel loop over {self.name}, each turn of "
                "which has its own",
                where,
                hint="write what is needed later to a tensor at an index of the loop",
            )

    def used_elsewhere(self, stmt: Stmt) -> set[BoundTensor]:
        """The tensors that are used outside of the loop, where they have not been declared since
        the block around both began."""
        if stmt is self.loop:
            return set()
        if not any(part is self.loop for part in stmt.walk()):
            return {t for t in used_undeclared(stmt) if not _only_changes(stmt, t)}
        own = {use.access.tensor.root for use in _uses_of(stmt)}
        return own.union(*map(self.used_elsewhere, stmt.bodies))

    def is_not_changed_whole(self, tensor: BoundTensor) -> None:
        for part in self.parts:
            if _declares(part, tensor) or isinstance(part, (Freeze, Thaw, Swap)):
                names = (part.tensor,) if isinstance(part, (Declare, Freeze, Thaw)) else None
                swapped = (part.first, part.second) if isinstance(part, Swap) else ()
                if tensor not in (names or swapped):
                    continue
                does = type(part).__name__.lower() + "s"
                self.refuse(
                    f"a turn of the parallel loop over {self.name} {does} {tensor}, which other "
                    "turns use",
                    part.span,
                    hint="make a workspace in the kernel, and declare it at the start of each turn",
                )

    # -- tensors of all turns ---------------------------------------------------------------

    def role(self, tensor: BoundTensor, found: Roles) -> Roles:
        """``found`` with the role of one tensor that several turns may write."""
        uses = self.uses[tensor]
        reduction = self.reduction(tensor, uses)
        levels = tensor.format.levels()
        inner = [level for level in levels if not level.is_leaf]
        if inner and are_apart([use.access for use in uses], self.turns):
            if all(Sharing.DISJOINT in level.parallel for level in levels):
                return evolve(found, disjoint=found.disjoint | {tensor})
            declared = any(_declares(part, tensor) for part in self.whole.walk())
            if declared and self.joins(tensor, uses):
                root = tensor.level
                root.resumed = Sharing.ROWS not in levels[0].parallel and levels[0].resumes
                return evolve(found, joined=found.joined | {tensor})
            if not declared and all(Sharing.IN_PLACE in level.parallel for level in levels):
                return evolve(found, in_place=found.in_place | {tensor})
            self.refuse_format(tensor, uses, Sharing.DISJOINT)
        if reduction is not None:
            if all(Sharing.COPIED in level.parallel for level in levels):
                return evolve(found, reduced={**found.reduced, tensor: reduction})
            self.refuse_format(tensor, uses, Sharing.COPIED)
        self.refuse_race(tensor, uses)

    def joins(self, tensor: BoundTensor, uses: list[_Use]) -> bool:
        """Whether each turn writes a row of its own of a tensor that is empty before the loop, and
        reads none."""
        levels = tensor.format.levels()
        if not all(Sharing.JOINED in level.parallel for level in levels):
            return False
        plain = all(use.access.tensor == use.access.tensor.root.fiber for use in uses)
        at = {use.access.indices[0] for use in uses}
        rows = plain and at == {self.loop.index} and all(use.update for use in uses)
        if not (rows and is_empty_before(self.loop, tensor, self.whole)):
            return False
        again = levels[0].order is Order.ANY or levels[0].resumes
        if Sharing.ROWS not in levels[0].parallel and not again:
            outer = levels[0].name
            self.refuse(
                f"the parallel loop over {self.name} updates {tensor}, and the parts of the loop "
                f"cannot write one after another to the one fiber of its {outer}",
                next(use.span for use in uses if use.update is not None),
                hint=f"use another outermost level, such as {_takers(Sharing.ROWS)}",
            )
        return True

    def reduces(self, uses: list[_Use]) -> Operator | None:
        """The operator by which all of these update, if there is one."""
        merges = {_merge(use) for use in uses}
        return merges.pop() if len(merges) == 1 else None

    def reduction(self, tensor: BoundTensor, uses: list[_Use]) -> Reduction | None:
        """The operator by which all updates of a tensor reduce; None if they do more."""
        merge = self.reduces(uses)
        if merge is None:
            return None
        dtype = tensor.format.dtype
        repeated = merge.idempotent and not tensor.format.ndim
        if neutral(merge, concrete(dtype)) is None and not repeated:
            return None
        if any(map(_overflows, uses)):
            return None
        exact = concrete(dtype).kind in "biu" or merge.idempotent
        if self.unit.strict and not exact:
            self.refuse(
                f"{tensor} is reduced by {merge.spelling} in the parallel loop over {self.name}, "
                "and the kernel keeps the order of reductions",
                uses[0].span,
                hint="remove 'strict', or 'parallel'",
            )
        return Reduction(merge)

    # -- refusals -----------------------------------------------------------------------------

    def refuse_race(self, tensor: BoundTensor, uses: list[_Use]) -> NoReturn:
        if self.reduces(uses) is not None:
            self.refuse_overflow(tensor, uses)
        first = next(use for use in uses if use.update is not None)
        different = (use for use in uses if use is not first and not self.fits(first, use))
        second = next(different, None) or next((use for use in uses if use is not first), None)
        does = "write" if second is None or second.update is not None else "read"
        what = f"one turn of the parallel loop over {self.name} may {does} what another writes"
        ways = [f"write {tensor} at the index {self.name}"] if tensor.format.ndim else []
        if any(may_wrap(use.access) for use in uses):
            ways = [f"write {tensor} at an index that cannot wrap around, computed in int64"]
        ways += ["only reduce into it, by one operator such as +="]
        ways += ["declare it in each turn" if tensor.local else "use a workspace of the kernel"]
        self.refuse(
            f"{what} to {tensor}",
            first.span,
            second.span if second is not None else None,
            hint=", or ".join(ways),
        )

    def refuse_overflow(self, tensor: BoundTensor, uses: list[_Use]) -> None:
        """Refuse a reduction of values that the tensor may not hold."""
        for use in filter(_overflows, uses):
            assert use.update is not None
            self.refuse(
                f"{tensor} holds {concrete(tensor.format.dtype)}, and reduces "
                f"{concrete(use.update.value.dtype)}: where a value does not fit, the result "
                f"depends on the order in which the parallel loop over {self.name} runs",
                use.span,
                hint=f"cast the value to the dtype of {tensor}, or give {tensor} that of the value",
            )

    def fits(self, first: _Use, second: _Use) -> bool:
        """Whether two accesses by themselves could stand in a parallel loop."""
        if are_apart([first.access, second.access], self.turns):
            return True
        return self.reduces([first, second]) is not None

    def refuse_format(self, tensor: BoundTensor, uses: list[_Use], wanted: Sharing) -> NoReturn:
        first = next(use for use in uses if use.update is not None)
        level = next(lvl for lvl in tensor.format.levels() if wanted not in lvl.parallel)
        if wanted is Sharing.COPIED:
            why = f"and copies of a {level.name} cannot be merged"
        else:
            why = f"and a {level.name} cannot take updates from several turns"
        self.refuse(
            f"the parallel loop over {self.name} updates {tensor}, {why}",
            first.span,
            hint=f"use {_takers(wanted)}, or a workspace of the kernel",
        )

    def refuse(
        self, message: str, span: Span | None, other: Span | None = None, hint: str = ""
    ) -> NoReturn:
        raise RaceError(message, span=span, other=other, hint=hint)


def _uses_of(stmt: Stmt) -> Iterator[_Use]:
    target = stmt.target if isinstance(stmt, Update) else None
    for expr in stmt.exprs:
        for node in expr.walk():
            if isinstance(node, Access):
                written = node is target and isinstance(stmt, Update)
                yield _Use(node, stmt if written else None)  # type: ignore[arg-type]


def _merge(use: _Use) -> Operator | None:
    """The associative operator that merges what updates like this have reduced; None for other
    updates, and for reads."""
    op = None if use.update is None else use.update.op
    if op is None or op.associative:
        return op
    found = operator(op.undoes) if op.undoes else None
    return found if found is not None and found.associative else None


def _overflows(use: _Use) -> bool:
    """Whether an update reduces values that its target may not hold."""
    if use.update is None or use.update.op is None:
        return False
    dtype = concrete(use.access.tensor.root.format.dtype)
    return not stays_associative(use.update.op, dtype, use.update.value)


def _declares(stmt: Stmt, tensor: BoundTensor) -> bool:
    return isinstance(stmt, Declare) and stmt.tensor is tensor


def _only_changes(stmt: Stmt, tensor: BoundTensor) -> bool:
    """Whether a statement does not access a tensor."""
    return not any(use.access.tensor.root is tensor for p in stmt.walk() for use in _uses_of(p))


def _leaving(stmt: Stmt, labels: frozenset[str]) -> Iterator[Leave]:
    """The statements that leave ``stmt``; ``labels`` are those around it."""
    if isinstance(stmt, Leave) and stmt.label not in labels:
        yield stmt
    if isinstance(stmt, Labelled):
        labels |= {stmt.label}
    for body in stmt.bodies:
        yield from _leaving(body, labels)


def _takers(wanted: Sharing) -> str:
    """The names of installed levels that can take it."""
    levels = sorted(hub().levels.items())
    return quote(name for name, level in levels if not level.is_leaf and wanted in level.parallel)


__all__ = ["Reduction", "Roles", "races", "stays_in_place"]
