"""A record of how one kernel was made: the steps of its loops, the passes, the rules that were
used, and which line of the kernel each statement of assembly comes from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from finch_core.interface.watch import Watch
from finch_core.ir.assembly import Block, Kernel
from finch_core.ir.assembly_text import block_text, kernel_text
from finch_core.ir.expressions import Access
from finch_core.ir.program import Program, Sequential, Stmt, Update
from finch_core.ir.program_text import expression_text, program_text, statement_text
from finch_core.looplets.evaluation import first_slot
from finch_core.looplets.region import is_empty
from finch_core.looplets.slots import AccessSlot
from finch_core.records import define, evolve, field
from finch_core.runtime.pipeline import Lowered
from finch_core.show.boxes import Box, box_of, shown
from finch_core.show.marks import shortened

STEPS = 400
"""The most steps that are recorded; what follows is left out of the page."""

EXAMPLES = 3


@define(eq=False)
class LoweringStep:
    """A statement or a region while it is lowered, with the steps that this took."""

    head: str
    body: str
    line: int | None
    looplets: tuple[tuple[str, Box], ...] = ()
    first: int | None = None
    """Which of ``looplets`` is lowered first."""
    emitted: tuple[str, ...] = ()
    steps: list[LoweringStep] = field(factory=list)


@define(eq=False)
class Used:
    """A rewrite rule, how often it was used, and the first of the texts before and after."""

    meaning: str
    count: int = 0
    examples: list[tuple[str, str]] = field(factory=list)

    def note(self, before: str, after: str) -> None:
        self.count += 1
        if len(self.examples) < EXAMPLES and (before, after) not in self.examples:
            self.examples.append((before, after))


class Record(Watch):
    """What was done while a kernel was lowered (``Lowered.watched``)."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self.normal: list[tuple[str, str]] = [("program", program_text(program))]
        self.passes: list[tuple[str, str]] = []
        self.used: dict[str, Used] = {}
        self.root = LoweringStep("", "", None)
        self.origins: dict[str, int] = {}
        """The source line of each line of assembly as it was emitted."""
        self.left_out = 0
        self._path = [self.root]
        self._names: Any = None
        self._count = 0

    # -- normal form, and rules ------------------------------------------------------------

    def normalized(self, name: str, stmt: Any) -> None:
        text = program_text(evolve(self._program, body=stmt, locals=()))
        self.normal.append((name, text))

    def rules(self, rules: Iterable[Any]) -> Iterable[Any]:
        return [_Counted(rule, self) for rule in rules]

    def rewritten(self, rule: Any, before: Any, after: Any) -> None:
        self._use(rule).note(*(shortened(_safe(statement_text, x), 160) for x in (before, after)))

    def replaced(self, rule: Any, before: Any, after: Any) -> None:
        """A rule on expressions has replaced ``before`` by ``after``."""
        self._use(rule).note(*(shortened(_safe(expression_text, x), 160) for x in (before, after)))

    def _use(self, rule: Any) -> Used:
        meaning = getattr(getattr(rule, "rule", rule), "meaning", "")
        return self.used.setdefault(str(rule.name), Used(str(meaning)))

    # -- lowering --------------------------------------------------------------------------

    @contextmanager
    def statement(self, ctx: Any, stmt: Any) -> Iterator[None]:
        if isinstance(stmt, Sequential):
            yield
            return
        body = _safe(statement_text, stmt)
        head, _, rest = body.partition("\n")
        line = stmt.span.line if stmt.span is not None else None
        with self._step(ctx, LoweringStep(head, rest, line)):
            yield

    @contextmanager
    def region(self, ctx: Any, region: Any) -> Iterator[None]:
        if is_empty(region.body):
            yield
            return
        names = _slot_names(region.body)
        taken = sorted(region.looplets)
        looplets = tuple((names.get(k, "?"), box_of(region.looplets[k])) for k in taken)
        first = taken.index(first_slot(region)) if taken else None
        head = f"for {region.index.name} in range({shown(region.start)}, {shown(region.stop)})"
        body = _safe(statement_text, region.body)
        line = self._path[-1].line
        with self._step(ctx, LoweringStep(head, body, line, looplets, first)):
            yield

    @contextmanager
    def _step(self, ctx: Any, step: LoweringStep) -> Iterator[None]:
        """A context in which ``step`` is taken; what a trial emits (``Context.look``) is not
        recorded."""
        self._names = self._names or ctx.names
        if ctx.names is not self._names:
            yield
            return
        step.line = step.line or self._path[-1].line
        self._count += 1
        self.left_out += self._count > STEPS
        if self._count <= STEPS:
            self._path[-1].steps.append(step)
        self._path.append(step)
        before = len(ctx.emitted())
        try:
            yield
        finally:
            self._path.pop()
        self._note(step, Block(tuple(ctx.emitted()[before:])))

    def _note(self, step: LoweringStep, emitted: Block) -> None:
        text = block_text(emitted)
        step.emitted = tuple(text.splitlines())
        if step.line is not None:
            for line in step.emitted:
                self.origins.setdefault(line.strip(), step.line)

    # -- assembly --------------------------------------------------------------------------

    def optimised(self, name: str, kernel: Kernel) -> None:
        self.passes.append((name, kernel_text(kernel)))


class _Counted:
    """A rule that tells when it is used."""

    def __init__(self, rule: Any, record: Record) -> None:
        self.rule, self.name, self._record = rule, rule.name, record
        self.is_about = rule.is_about

    def apply(self, call: Any) -> Any:
        new = self.rule.apply(call)
        if new is not None and new != call:
            self._record.replaced(self.rule, call, new)
        return new


def _slot_names(stmt: Stmt) -> dict[int, str]:
    """The access that each slot of a statement stands for, as text."""
    found: dict[int, str] = {}
    for part in stmt.walk():
        for expr in part.exprs:
            for node in expr.walk():
                if isinstance(node, Access) and isinstance(node.tensor, AccessSlot):
                    found.setdefault(node.tensor.number, _safe(expression_text, node))
    return found


def _safe(text: Any, node: Any) -> str:
    """The text of a node; of an update of memory, with its value as assembly; else its class."""
    try:
        return str(text(node))
    except (KeyError, TypeError, AttributeError):
        if isinstance(node, Update):
            sign = "=" if node.op is None else f"{node.op.symbol or node.op.name}="
            return f"{node.target.tensor}[...] {sign} {shown(node.value)}"
        return type(node).__name__


def record(lowered: Lowered) -> tuple[Record, Kernel]:
    """Make the assembly of a kernel anew; gives the record, and the assembly."""
    made = Record(lowered.program)
    return made, lowered.watched(made)


__all__ = ["LoweringStep", "Record", "Used", "record"]
