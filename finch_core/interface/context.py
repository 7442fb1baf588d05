"""The lowering context: emits assembly, and holds the facts known at the point of emission."""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from finch_core.errors import Span
from finch_core.interface.exits import Exit, any_of, with_breaks, with_rest
from finch_core.interface.failures import Failures
from finch_core.interface.lowering import Lowering, TooManyRegions
from finch_core.interface.watch import Watch
from finch_core.ir import primitives as prim
from finch_core.ir.assembly import Assign, Block, Fill, Let, Statement
from finch_core.ir.assembly_rewrite import names_in
from finch_core.ir.builder import Names, conditional, negation
from finch_core.ir.dtypes import INTP
from finch_core.ir.expressions import (
    Buffer,
    Call,
    Cast,
    Expr,
    Index,
    Literal,
    Load,
    Var,
    call,
    cast,
    lift,
)
from finch_core.ir.program import Extent, Stmt
from finch_core.symbolic.prover import Prover, balanced, split
from finch_core.symbolic.simplifier import Simplifier

T = TypeVar("T")


class Context(Failures):
    """The context into which formats, wrappers and looplets emit code.

    In addition to the methods of ``Builder`` it has the extent prover (``prover``), the
    simplifier, and the sites at which the kernel may fail. ``cursors`` maps each stepper's
    position variable to the index that it is known to be at (None: unknown). ``fitting`` has
    the indices whose loops are known to lie within a dimension.
    """

    def __init__(
        self,
        names: Names,
        simplifier: Simplifier,
        *,
        lowering: Lowering,
        strict: bool = False,
        constants: Iterable[Var] = (),
        fitting: Iterable[tuple[Index, Extent]] = (),
        disabled: Container[str] = (),
        spanning: Mapping[Index, Mapping[Extent, tuple[str, str, Span | None]]] | None = None,
        loose: Mapping[Index, Mapping[Extent, list[Extent]]] | None = None,
        within: Mapping[tuple[Index, Extent], tuple[Extent, ...]] | None = None,
        far: Iterable[Index] = (),
    ) -> None:
        super().__init__(names, Prover(ranges="ranges" not in disabled), constants)
        self.strict = strict
        self._disabled = disabled
        self.fitting = frozenset(fitting)
        self.spanning = {} if spanning is None else spanning
        """What the loops of indices go through all of (``Unit.spanning``)."""
        self.loose = {} if loose is None else loose
        """The indices that may be outside of what their loops access, under conditions only."""
        self.within = {} if within is None else within
        """What conditions leave of ranges that are known at run time (``Unit.within``)."""
        self.far = frozenset(far)
        """The indices of loops whose ranges may begin or end at any integer (``Unit.far``)."""
        self.constant_dimensions: frozenset[Expr] = frozenset()
        """Dimensions that every declaration sets to the same value, which never changes."""
        self.dimensions: set[Var] = set()
        """The dimensions of tensors: none is longer than ``MOST_INDICES``."""
        self.cursors: dict[Var, Expr | None] = {}
        self.arrivals: dict[Hashable, tuple[tuple[Expr, Expr], ...]] = {}
        """For each fiber that steppers walk (``walk``), the indices to which they have come, each
        with the position there; those of this block and the blocks around it."""
        self.unwritten: frozenset[Buffer] = frozenset()
        """The buffers that nothing in the kernel changes."""
        self._available: dict[Expr, Expr] = {}
        """By their values, the immutable variables of this block and those around it that hold what
        no statement changes."""
        self._available_under: dict[Expr, dict[Expr, Expr]] = {}
        """By conditions, those that hold such a value where the condition held (``under``)."""
        self.next_walks: frozenset[int] = frozenset()
        """The levels, by their ids, that loops behind the present statement read in this turn."""
        self.walks_behind: dict[Index, frozenset[int]] = {}
        """The same for each loop that is being emitted, by its index."""
        self.least_work = 1
        """The least work of a part of a parallel loop (``lower/work.py``)."""
        self.parallel: Mapping[Index, Any] = {}
        """How the parallel loops over these indices treat what they write (``lower/races.py``)."""
        self.pairs: Mapping[Index, tuple[Any, ...]] = {}
        """By the loops before which they are compared, the tensors that may have one pattern
        (``lower/equal_patterns.py``)."""
        self.contents: Mapping[Any, Any] = {}
        """What is known of the elements of temporaries (``lower/contents.py``)."""
        self.elements: dict[Expr, Any] = {}
        """Expressions that read elements of these, with the temporary."""
        self.merging: dict[Hashable, int] = {}
        """The operands for which enclosing loops have cases, and how many
        (``looplets/merge_cost.py``)."""
        self.updating: set[Any] = set()
        """The tensors in update mode: those declared or thawed, and not frozen since."""
        self.spans: dict[Any, Span | None] = {}
        """Where the program writes a tensor, for messages."""
        self.strides: Mapping[Index, Any] = {}
        """The strides of the loops that do not visit every index (``looplets/loop_strides.py``)."""
        self.definitions: dict[Any, Expr] = {}
        """The variables of names that statements still have; they are replaced in each statement
        when it is emitted (``lower/definitions.py``)."""
        self.exits: tuple[Exit, ...] = ()
        """The labelled statements that are being emitted, outermost first."""
        self.watch: Watch | None = None
        """What is told of each step, while a kernel is explored."""
        self.regions = 0
        """How many regions and choices have been lowered (``count_region``)."""
        self.most_regions: int | None = None
        """How many of them the kernel may have."""
        self.looplets_around: list[tuple[Any, Any]] = []
        """The looplets that are being lowered, each with its region (``looplets/calls.py``)."""
        self._simplifier = simplifier
        self._lowering = lowering
        self._slots = 0

    def allows(self, rule: str) -> bool:
        """Whether the optimisation ``rule``, one of ``LOWERING_RULES``, is switched on."""
        return rule not in self._disabled

    # -- expressions --------------------------------------------------------------------

    def let(self, name: str, value: Any, dtype: np.dtype[Any] | None = None) -> Expr:
        """An immutable variable; ``value`` itself if it is a constant or an immutable variable.

        If one that can be seen from here has the same value, and nothing in the kernel changes what
        it was computed from, it is that one.
        """
        result = lift(value) if dtype is None else cast(lift(value), dtype)
        if not self._is_fixed(result):
            return super().let(name, result)
        known = self._available.get(result)
        if known is None:
            known = self._available[result] = super().let(name, result)
        return known

    def _is_fixed(self, value: Expr) -> bool:
        """Whether ``value`` is a short expression of what nothing in the kernel changes."""
        if not isinstance(value, (Call, Cast, Load)) or not self.allows("available_expressions"):
            return False
        for count, part in enumerate(value.walk()):
            if isinstance(part, Load):
                fixed = part.buffer in self.unwritten
            elif isinstance(part, Call):
                fixed = part.op in _SHARED
            else:
                fixed = isinstance(part, (Cast, Literal)) or self.is_constant(part)
            if not fixed or count == _SHORT:
                return False
        return True

    def lift(self, value: Any) -> Expr:
        """``value`` as an expression: a number becomes a constant."""
        return lift(value)

    def ifelse(self, cond: Any, yes: Any, no: Any) -> Expr:
        """``yes if cond else no``; only the selected one is evaluated."""
        cond = self.prover.decide(lift(cond))
        if isinstance(cond, Literal):
            return lift(yes if cond.value else no)
        return call(prim.ifelse, cond, yes, no)

    def unchanging(self, value: Expr) -> bool:
        """Whether ``value`` is an immutable variable or a constant, plus a constant."""
        atom, _ = split(value)
        return isinstance(atom, Literal) or self.is_constant(atom)

    def bind(self, name: str, value: Expr) -> Expr:
        """``value`` as an expression that is cheap to repeat.

        It is ``value`` itself if that is a variable or a variable plus a constant, else a new
        variable whose definition the prover knows.
        """
        atom, offset = split(value)
        if isinstance(atom, (Var, Literal)) and (
            isinstance(atom, Literal) or self.is_constant(atom)
        ):
            return value
        if isinstance(atom, Var):  # mutable: keep its present value
            narrow = value.dtype == INTP and atom.type not in (INTP, int)
            return self.let(name, cast(atom, INTP) if narrow else atom) + offset
        var = self.let(name, value)
        self.prover.define(var, value)
        return var

    def bind_stop(self, name: str, value: Expr) -> Expr:
        """``bind`` for the end of a step: named after its last index if it is that index plus
        one."""
        if isinstance(value, Call) and value.op is prim.minimum_:
            parts = [split(arg) for arg in _flatten(value)]
            offsets = {offset for _, offset in parts}
            if offsets == {1}:
                least = parts[0][0]
                for atom, _ in parts[1:]:
                    least = least.min(atom)
                var = self.let(name, least, INTP)
                self.prover.define(var, least)
                return var + 1
        return self.bind(f"{name}_stop", value)

    def simplify(self, stmt: Stmt) -> Stmt:
        return self._simplifier.stmt(stmt)

    def simplify_expr(self, expr: Expr) -> Expr:
        return self._simplifier.expr(expr)

    def take_back(self, buffer: Buffer) -> Fill | None:
        """Remove the fill of all of a buffer that was emitted last in this block, if nothing has
        used the buffer since; gives it."""
        statements = self._frame().statements
        for k in reversed(range(len(statements))):
            statement = statements[k]
            if isinstance(statement, Fill) and statement.buffer == buffer:
                whole = isinstance(statement.start, Literal) and statement.start.value == 0
                return statements.pop(k) if whole else None  # type: ignore[return-value]
            if buffer.name in names_in(Block((statement,))):
                return None
        return None

    def fresh_slot(self) -> int:
        """A number for a new slot."""
        self._slots += 1
        return self._slots

    def look(self, make: Callable[[], T]) -> T:
        """The result of ``make()``, without its effects: nothing is emitted, and no name is
        taken, which may then be that of another variable, mutable or not."""
        with self.forgetting(), self.block(), self.prover.assuming():
            return make()

    def walk(self, level: Any, pos: Expr) -> Hashable:
        """What identifies the walks over a fiber: those of a level that does not change meanwhile,
        at the same position. None where it may be another."""
        atoms = [part for part in pos.walk() if isinstance(part, (Var, Load))]
        return (id(level), pos) if all(map(self.is_constant, atoms)) else None

    def arrive(self, walk: Hashable, index: Expr, *positions: Expr) -> None:
        """Record that the walk is at the first of ``positions`` at ``index``, at the next of them
        at the next index, and so on; none of them changes in this block."""
        ends = index.args if isinstance(index, Call) and index.op is prim.maximum_ else (index,)
        if walk is not None and all(map(self.unchanging, ends)):
            places = ((index + k, position) for k, position in enumerate(positions))
            self.arrivals[walk] = (*self.arrivals.get(walk, ())[-3:], *places)

    def behind(self, index: Index) -> frozenset[int]:
        """The ids of the levels that loops behind the one over ``index`` read in the same turn."""
        return self.walks_behind.get(index, frozenset())

    @contextmanager
    def looping(self, index: Index) -> Iterator[None]:
        """Emit the loop over ``index``, of which each turn begins anew."""
        before, self.next_walks = self.next_walks, frozenset()
        self.walks_behind[index] = before
        yield
        self.next_walks = before

    def forget_walks(self, levels: Iterable[Any]) -> None:
        """Forget how far steppers have come in levels that are about to change."""
        gone = {id(level) for level in levels}
        self.arrivals = {key: v for key, v in self.arrivals.items() if key[0] not in gone}  # type: ignore[index]

    @contextmanager
    def block(self) -> Iterator[list[Statement]]:
        before, self.arrivals = self.arrivals, dict(self.arrivals)
        available, under = self._available, self._available_under
        self._available, self._available_under = dict(available), dict(under)
        try:
            with super().block() as statements:
                yield statements
        finally:
            self._available, self._available_under = available, under
            after, self.arrivals = self.arrivals, before
            self.arrivals = {key: v for key, v in before.items() if key in after}

    # -- control ------------------------------------------------------------------------

    def under(self, cond: Expr, emit: Callable[[], T]) -> T:
        """Emit ``emit()`` under ``if cond``; gives its result.

        Variables declared there can be used after the branch; they are zero where ``cond`` did
        not hold.
        """
        if isinstance(cond, Literal) and cond.value:
            return emit()
        found = self._available_under.get(cond, {})
        with self.block() as statements, self.prover.assuming(cond):
            self._available |= found
            result = emit()
            found = self._available
        if self.is_constant(cond) or self._is_fixed(cond):
            self._available_under[cond] = found
        body: list[Statement] = []
        for statement in statements:
            if isinstance(statement, Let):
                zero = Literal(np.zeros((), statement.var.type)[()], statement.var.type)
                self.emit(Let(statement.var, zero, mutable=True))
                statement = Assign(statement.var, statement.value)
            body.append(statement)
        self.extend(conditional(cond, Block(tuple(body))))
        return result

    def fork(
        self,
        cond: Expr,
        yes: Callable[[], None],
        no: Callable[[], None] | None = None,
        likely: bool | None = None,
    ) -> None:
        """Emit ``if cond: yes() else: no()``, each with the facts that the condition implies;
        ``likely`` as for ``If``."""
        self.count_region()
        cond = balanced(self.prover.decide(cond))
        if isinstance(cond, Literal):
            branch = yes if cond.value else no
            if branch is not None:
                branch()
            return
        before, exits = dict(self.cursors), self.open_exits()
        with self.if_(cond, likely), self.prover.assuming(cond):
            yes()
        after, self.cursors = self.cursors, before.copy()
        if no is not None:
            taken = self.open_exits()
            self.reopen(exits)
            with self.else_(), self.prover.assuming(negation(cond)):
                no()
            self.reopen(taken | self.open_exits())
        with self.prover.assuming(negation(cond)):
            self.cursors = {
                var: after[var] if var in after and self._same(after[var], at) else None
                for var, at in self.cursors.items()
            }

    def _same(self, a: Expr | None, b: Expr | None) -> bool:
        return a is not None and b is not None and self.prover.equal(a, b)

    def loop_cursors(self, looplets: Iterable[Any]) -> None:
        """At the head and end of a loop the positions of the steppers in it are unknown."""
        for looplet in looplets:
            position = getattr(looplet, "position", None)
            if position is not None:
                self.cursors[position] = None

    # -- leaving ------------------------------------------------------------------------

    @contextmanager
    def labelled(self, label: str) -> Iterator[None]:
        """A context in which ``leave(label)`` ends the code that is emitted."""
        before = self.exits
        self.exits = (*before, Exit(label, self.var("left", False)))
        yield
        self.exits = before

    def leave(self, label: str) -> None:
        """Leave the innermost code that is labelled so."""
        found = next(exit for exit in reversed(self.exits) if exit.label == label)
        self.assign(found.flag, True)
        found.open = True
        found.taken += 1

    @contextmanager
    def unless_left(self, needed: bool = True) -> Iterator[None]:
        """Emit code that runs only where no enclosing labelled code has been left.

        If not ``needed``, the code does no harm there, and no test is emitted for it.
        """
        exits = self.open_exits()
        if not exits:
            yield
            return
        self.reopen(frozenset())
        with self.block() as rest:
            yield
        flags = tuple(exit.flag for exit in self.exits if exit in exits)
        if rest:
            frame = self._frame()
            found = with_rest(tuple(frame.statements), flags, tuple(rest))
            if found is not None:
                frame.statements[:] = found
            elif needed:
                self.extend(conditional(any_of(flags).not_(), Block(tuple(rest))))
            else:
                self.extend(rest)
        self.reopen(exits | self.open_exits())

    def open_exits(self) -> frozenset[Exit]:
        """The labelled statements that the code emitted so far may have left."""
        return frozenset(exit for exit in self.exits if exit.open)

    def reopen(self, exits: Container[Exit]) -> None:
        """Set which labelled statements may have been left."""
        for exit in self.exits:
            exit.open = exit in exits

    def turn_begins(self) -> Any:
        """How often each labelled statement is left before a loop begins."""
        return [exit.taken for exit in self.exits]

    def turn_ends(self, begun: Any) -> None:
        """Emit the end of a loop that is left, where its body has left a labelled statement."""
        counted = zip(self.exits, begun, strict=True)
        flags = tuple(exit.flag for exit, before in counted if exit.taken > before)
        if not flags:
            return
        frame = self._frame()
        found = with_breaks(tuple(frame.statements), flags)
        if found is None:
            with self.if_(any_of(flags)):
                self.break_()
        else:
            frame.statements[:] = found

    # -- statements and regions ------------------------------------------------------------

    def count_region(self) -> None:
        """Count a region or a choice. Raises ``TooManyRegions`` beyond ``most_regions``."""
        self.regions += 1
        if self.most_regions is not None and self.regions > self.most_regions:
            raise TooManyRegions

    def lower(self, stmt: Stmt) -> None:
        """Emit a statement in Finch Normal Form."""
        with self.unless_left():
            self._lowering.statement(self, stmt)

    def lower_region(self, region: Any) -> None:
        """Emit a region of a loop (a ``looplets.region.Region``)."""
        self.count_region()
        with self.unless_left():
            self._lowering.region(self, region)


_SHARED = frozenset(
    {prim.add, prim.sub, prim.mul, prim.minimum_, prim.maximum_, prim.ifelse, prim.and_, prim.or_}
    | {prim.not_, prim.eq, prim.ne, prim.lt, prim.le, prim.gt, prim.ge}
)
"""The operators of values that are computed once: what bounds, positions and tests consist of."""

_SHORT = 32
"""Longer expressions are not compared with others."""


def _flatten(expr: Expr) -> list[Expr]:
    if isinstance(expr, Call) and expr.op is prim.minimum_:
        return [leaf for arg in expr.args for leaf in _flatten(arg)]
    return [expr]
