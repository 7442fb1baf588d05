"""The state that the passes share while they normalise one program for one set of formats."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from finch_core.errors import Span
from finch_core.interface.tensorlike import BoundTensor, TensorLike
from finch_core.ir.builder import Names
from finch_core.ir.expressions import Access, Expr, Index, Var
from finch_core.ir.program import Declare, Extent, Freeze, Loop, Program, Stmt, Swap, Thaw, Update
from finch_core.ir.rewrite import rewrite_expr
from finch_core.records import define, field, frozen

if TYPE_CHECKING:
    from finch_core.lower.access_order import Discordance


@frozen
class Check:
    """Two sizes that must agree, compared before the program runs."""

    first: Expr
    second: Expr
    message: str
    span: Span | None = None
    relation: str = "=="
    """``==``, or ``<=`` for a range that must lie within a dimension."""
    hint: str = ""
    range: Extent | None = None
    """If given, the check is skipped where this range is empty."""


@define
class Unit:
    """A program, and the meaning of its names.

    ``tensors`` are the arguments and locals that are tensors, ``arguments`` maps names to what
    was passed (a wrapper, where one was), ``scalars`` to run-time values. Passes add to
    ``checks``.
    """

    program: Program
    names: Names
    tensors: dict[str, BoundTensor]
    arguments: dict[str, TensorLike]
    scalars: dict[str, Var]
    strict: bool = False
    disabled: frozenset[str] = frozenset()
    """Optimisation rules that are switched off (see ``Options.disabled``)."""
    checks: list[Check] = field(factory=list)
    hub: Any = None
    simplifier: Any = None
    fitting: set[tuple[Index, Extent]] = field(factory=set)
    """Indices whose loops are known to lie within a dimension; others are checked at run time."""
    spanning: dict[Index, dict[Extent, tuple[str, str, Span | None]]] = field(factory=dict)
    """Dimensions whose size is known where the loop begins that goes through all of them, with the
    names of the index and of the dimension in messages."""
    loose: dict[Index, dict[Extent, list[Extent]]] = field(factory=dict)
    """Indices that conditions keep within some dimensions, where their loops do not: the parts of
    the range that lie within, by the extent of the dimension, one for each access."""
    far: set[Index] = field(factory=set)
    """The loops whose ranges may begin or end at any integer (``looplets/far_ranges``)."""
    within: dict[tuple[Index, Extent], tuple[Extent, ...]] = field(factory=dict)
    """The parts of ranges that are known at run time (``index_conditions.ANY``), narrowed as
    conditions around the accesses of a dimension allow: these are checked."""
    plain: dict[Access, Access] = field(factory=dict)
    """Accesses of wrappers that wrapperization made, and the accesses that they replaced."""
    compared: dict[Expr, Expr] = field(factory=dict)
    """The accesses of masks that wrapperization made, and the comparisons that they replaced."""
    scattered: dict[Access, Access] = field(factory=dict)
    """Targets of updates through wrappers that take only updates in place, and the accesses by
    which other updates write."""
    written: dict[Index, str] = field(factory=dict)
    """The names of indices in the program, where another index has that name here."""
    costly: list[Discordance] = field(factory=list)
    """Expensive reads against the order of the storage, for warnings."""
    read_in_update: set[BoundTensor] = field(factory=set)
    """The tensors that some statement reads while it updates them (set by the lifecycle pass)."""
    parallel: dict[Index, Any] = field(factory=dict)
    """How the parallel loops over these indices treat what they write (``lower.races``)."""
    pairs: dict[Index, tuple[Any, ...]] = field(factory=dict)
    """By the loops before which they are compared, the tensors that may have one pattern
    (``lower.equal_patterns``)."""
    made: list[BoundTensor] = field(factory=list)
    """The variables that passes have added."""
    snapshots: dict[Var, Var] = field(factory=dict)
    """Dimensions that the program changes, and the variables that hold their initial values."""
    _changing: frozenset[Var] | None = None

    def present(self, expr: Expr) -> Expr:
        """A dimension as it is before the program runs, even if the program changes it."""
        return rewrite_expr(expr, self._before)

    def _before(self, node: Expr) -> Expr:
        if not isinstance(node, Var) or node not in self.changing:
            return node
        if node not in self.snapshots:
            self.snapshots[node] = Var(self.names.fresh(f"{node.name}_before"), node.type)
        return self.snapshots[node]

    @property
    def changing(self) -> frozenset[Var]:
        """The dimensions of the tensors that the program declares."""
        if self._changing is None:
            self._changing = self._dimensions_declared()
        return self._changing

    def _dimensions_declared(self) -> frozenset[Var]:
        declared = {s.tensor for s in self.program.body.walk() if isinstance(s, Declare)}
        found = set()
        for name in declared:
            if self.arguments[name].root is not None:
                for level in self.arguments[name].root.level.levels():  # type: ignore[union-attr]
                    if isinstance(level.shape, Var):
                        found.add(level.shape)
        return frozenset(found)

    def name_of(self, index: Index) -> str:
        """What the program calls an index."""
        return self.written.get(index, index.name)

    def span_of(self, name: str) -> Span | None:
        return self.program.spans.get(name)


def reads_of(stmt: Stmt) -> tuple[Expr, ...]:
    """The expressions of a statement whose accesses are reads."""
    return (*stmt.target.indices, stmt.value) if isinstance(stmt, Update) else stmt.exprs


def exchanged(stmt: Stmt) -> set[Any]:
    """The tensors that a statement swaps."""
    swaps = (part for part in stmt.walk() if isinstance(part, Swap))
    return {tensor for part in swaps for tensor in (part.first, part.second)}


class Updated:
    """The tensors that each statement of a program updates; found once for all of them."""

    def __init__(self, stmt: Stmt) -> None:
        self._found: dict[int, frozenset[Any]] = {}
        self._find(stmt)

    def __getitem__(self, stmt: Stmt) -> frozenset[Any]:
        return self._found[id(stmt)]

    def _find(self, stmt: Stmt) -> frozenset[Any]:
        found = frozenset({stmt.target.tensor.root} if isinstance(stmt, Update) else ())
        if isinstance(stmt, Swap):
            found = frozenset({stmt.first, stmt.second})
        for body in stmt.bodies:
            found |= self._find(body)
        self._found[id(stmt)] = found
        return found


def changes_of_mode(stmt: Stmt, depth: int = 0) -> dict[Any, int]:
    """For each tensor, the loop depth of the innermost statement that changes its mode."""
    if isinstance(stmt, (Declare, Freeze, Thaw)):
        return {stmt.tensor: depth}
    if isinstance(stmt, Swap):
        return {stmt.first: depth, stmt.second: depth}
    found: dict[Any, int] = {}
    for body in stmt.bodies:
        for tensor, inner in changes_of_mode(body, depth + isinstance(stmt, Loop)).items():
            found[tensor] = max(inner, found.get(tensor, 0))
    return found
