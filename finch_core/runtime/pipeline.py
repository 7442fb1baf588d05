"""The compilation pipeline: from a program and signatures to a compiled kernel."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from importlib import import_module
from typing import TYPE_CHECKING, Any

import attrs

from finch_core.errors import DimensionMismatch, Span
from finch_core.interface.abi import CompleteBackend, CompleteKernel
from finch_core.interface.layout import layout
from finch_core.interface.plugins import hub
from finch_core.interface.signatures import Signature, bind, parameters, tensor_signature
from finch_core.interface.tensorlike import BoundTensor, TensorLike
from finch_core.ir import assembly as asm
from finch_core.ir.builder import Names
from finch_core.ir.expressions import Expr, Literal, Var
from finch_core.ir.program import Declare, Local, Program, Stmt
from finch_core.locks import importing
from finch_core.records import define, frozen

if TYPE_CHECKING:  # what lowers is imported when something is lowered
    from finch_core.interface.context import Context
    from finch_core.lower.access_order import Discordance
    from finch_core.lower.passes import Check, Unit
    from finch_core.symbolic.simplifier import Rule

STAGES = ("program", "normalized", "assembly", "source")


@frozen
class Options:
    """How a kernel is compiled: the options of ``kernel``, and ``disabled``, names of rules, of
    passes over assembly and of optimisations of the backend to switch off. Disabling changes run
    times, never results; tests and ``bench/passes.py`` use it."""

    strict: bool = False
    backend: str | None = None
    rules: tuple[Rule, ...] = ()
    disabled: frozenset[str] = frozenset()

    def key(self) -> str:
        """A text that differs between different options; ``rules`` and ``backend`` left out."""
        return f"strict={self.strict} disabled={sorted(self.disabled)}"


@frozen
class Binding:
    """A parameter, free name or temporary of the program, bound to variables of the kernel.

    ``in_registers``: a temporary scalar that lives in variables of the kernel and has no record.
    """

    tensor: BoundTensor | None
    scalars: tuple[Var, ...] = ()
    in_registers: bool = False


@define(eq=False)
class Lowered:
    """A program specialised to signatures. Each stage is made when it is first asked for."""

    program: Program
    signatures: tuple[Signature, ...]
    options: Options
    backend: CompleteBackend
    warned: set[Span | None] = attrs.field(factory=set)
    """The reads that a ``PerformanceWarning`` has been given for, in any specialisation."""
    seconds: dict[str, float] = attrs.field(factory=dict)
    _compiled: CompleteKernel | None = None
    cached: bool = False

    def as_text(self, stage: str) -> str:
        """The text of a stage: ``"program"`` as written, ``"normalized"`` in Finch Normal Form,
        ``"assembly"``, or the backend's ``"source"``. Raises ``ValueError`` for another name."""
        from finch_core.ir.depth import roomy

        return roomy(self.program.name, lambda: self._text(stage))

    def _text(self, stage: str) -> str:
        from finch_core.ir.program_text import program_text

        if stage == "program":
            return program_text(self.program)
        if stage == "normalized":
            return program_text(attrs.evolve(self.program, body=self.normal, locals=()))
        if stage == "assembly":
            return self.kernel.as_text()
        if stage == "source":
            return (self._compiled or self.compile()).source
        raise ValueError(f"there is no stage {stage!r}; there are {', '.join(STAGES)}")

    @property
    def normal(self) -> Stmt:
        """The program's body in Finch Normal Form."""
        return self._normalized[0]

    @cached_property
    def _normalized(self) -> tuple[Stmt, Unit, tuple[Binding, ...]]:
        self._made("program", self.program)
        with self._timed("normalize"):
            found = normalize(self.program, self.signatures, self.options)
        self._made("normalized", attrs.evolve(self.program, body=found[0], locals=()))
        self._warn(found[1].costly)
        return found

    def _warn(self, costly: Sequence[Discordance]) -> None:
        """Warn, once for each, of reads against the order of the storage."""
        costly = [cost for cost in costly if cost.span not in self.warned]
        if costly:
            from finch_core.lower.access_order import warn

            warn(costly, self.program.name)
            self.warned.update(cost.span for cost in costly)

    @cached_property
    def kernel(self) -> asm.Kernel:
        """The assembly."""
        stmt, unit, arguments = self._normalized
        with self._timed("lower"):
            kernel = lower_kernel(
                stmt, unit, arguments, self.options, getattr(self.backend, "checks_looplets", False)
            )
        if unit.costly:
            from finch_core.lower.access_order import noted

            kernel = attrs.evolve(kernel, notes=noted(unit.costly, self.program.source))
        self._made("assembly", kernel)
        return kernel

    def compile(self, *, draft: bool = False) -> CompleteKernel:
        """The compiled kernel: loaded from the disk cache or compiled at the first call.

        If ``draft``, accept a less optimised kernel that compiles sooner, where the backend has
        one. Raises ``BackendError`` where the backend fails.
        """
        if self._compiled is None or (self.is_draft and not draft):
            backend = self.backend
            if draft:
                backend = backend.draft()
            self._compiled = self._load(backend) or self._build(backend)
            self._made("source", self._compiled)
            hub().kernel_built(self.program.name, dict(self.seconds), self.cached)
        return self._compiled

    @property
    def is_draft(self) -> bool:
        """Whether the compiled kernel is a draft."""
        return self._compiled is not None and self._compiled.is_draft

    def _made(self, stage: str, value: Any) -> None:
        """Call the plugins' hook ``finch_after_stage``; ``FINCH_TRACE=1`` prints the stage."""
        hub().after_stage(self.program.name, stage, value)
        if os.environ.get("FINCH_TRACE", "0") not in ("", "0"):
            text = value.source if stage == "source" else value.as_text()
            print(f"-- {self.program.name}: {stage}\n{text}", file=sys.stderr)

    def _load(self, backend: CompleteBackend) -> CompleteKernel | None:
        if not self.key:
            return None
        with self._timed("load"):
            params = sum(map(parameters, self.signatures)) + len(local_records(self.program))
            found: CompleteKernel | None = backend.load(self.key, params)
        self.cached = found is not None
        if found is not None:
            self._read_notes(found.notes)
        return found

    def _read_notes(self, notes: str | None) -> None:
        """Repeat the warnings that the cache kept with a kernel; derive them again if it has not
        kept them (``notes`` is None)."""
        if notes is None:
            _ = self.normal
        elif notes:
            from finch_core.lower.access_order import read_notes

            self._warn(read_notes(notes, self.program.source))

    def _build(self, backend: CompleteBackend) -> CompleteKernel:
        kernel = self.kernel
        with self._timed("compile"):
            compiled: CompleteKernel = backend.compile(kernel, key=self.key)
        return compiled

    @cached_property
    def key(self) -> str:
        """The key in the disk cache; empty for a kernel that must not be kept there: one with
        rules of its own, or with a part that cannot be identified across processes."""
        if self.options.rules:
            return ""
        from finch_core.runtime.keys import kernel_key

        return kernel_key(self.program, self.signatures, self.options.key(), self.backend)

    def _timed(self, stage: str) -> _Timer:
        return _Timer(self.seconds, stage)


@define
class _Timer:
    seconds: dict[str, float]
    stage: str
    started: float = 0.0

    def __enter__(self) -> None:
        self.started = time.perf_counter()

    def __exit__(self, *exc: object) -> None:
        took = time.perf_counter() - self.started
        self.seconds[self.stage] = self.seconds.get(self.stage, 0.0) + took


@cache
def _import_compiler() -> None:
    """Import the modules that lower, under a lock that a fork waits for."""
    with importing:
        for name in (
            "interface.context", "ir.typing", "lower.passes", "lower.statements", "optimize",
            "symbolic.simplifier",
        ):  # fmt: skip
            import_module(f"finch_core.{name}")


# -- normalization --------------------------------------------------------------------------


def normalize(
    program: Program, signatures: tuple[Signature, ...], options: Options
) -> tuple[Stmt, Unit, tuple[Binding, ...]]:
    """Bind the program's names to variables and run the passes of ``finch_core.lower``.

    Returns the body in Finch Normal Form, what the passes know of the program, and the bound
    names in the order of parameters, free names and temporaries.
    """
    _import_compiler()
    from finch_core.lower.passes import PASSES, Unit
    from finch_core.symbolic.plugin_rules import checked_rules
    from finch_core.symbolic.simplifier import RULES, Simplifier

    names = Names(("control",))
    tensors: dict[str, BoundTensor] = {}
    seen: dict[str, TensorLike] = {}
    scalars: dict[str, Var] = {}
    arguments = []
    for name, signature in zip((*program.params, *program.free), signatures, strict=True):
        tensor, tensor_like, vars_ = bind(signature, name, names)
        if tensor_like is None:
            scalars[name] = vars_[0]
        else:
            seen[name] = tensor_like
            if tensor is not None:
                tensors[name] = tensor
        arguments.append(Binding(tensor, vars_))
    for local in program.locals:
        tensor, tensor_like, _ = bind(tensor_signature(local.format), local.name, names)
        assert tensor is not None
        assert tensor_like is not None
        tensor.local = True
        tensors[local.name], seen[local.name] = tensor, tensor_like
        arguments.append(Binding(tensor, in_registers=not _needs_record(local, program)))
    found = hub()
    simplifier = Simplifier((*RULES, *checked_rules((*found.rules, *options.rules))))
    unit = Unit(program, names, tensors, seen, scalars, options.strict, options.disabled, hub=found)
    unit.simplifier = simplifier
    stmt = program.body
    for pass_ in PASSES:
        stmt = pass_(stmt, unit)
    return simplifier.stmt(stmt), unit, tuple(arguments)


# -- lowering -------------------------------------------------------------------------------


def lower_kernel(
    stmt: Stmt, unit: Unit, arguments: tuple[Binding, ...], options: Options, checked: bool = False
) -> asm.Kernel:
    """The assembly of a normalised program, typed and optimised. If ``checked``, it includes
    assertions that the looplets of each region cover it."""
    from finch_core.interface.context import Context
    from finch_core.ir.typing import typed_kernel
    from finch_core.lower.statements import FinchRules
    from finch_core.optimize import REASSOCIATING, optimize_kernel

    constants = [var for argument in arguments for var in argument.scalars]
    ctx = Context(
        unit.names,
        unit.simplifier,
        lowering=FinchRules(),
        strict=options.strict,
        constants=constants,
        fitting=unit.fitting,
        disabled=options.disabled,
        checked=checked,
    )
    _facts(ctx, unit)
    ctx.constant_dimensions = _constant_dimensions(ctx, stmt)
    _locals(ctx, arguments)
    for var, before in unit.snapshots.items():
        ctx.emit(asm.Let(before, var))
        ctx.constant(before)
    for check in unit.checks:
        _emit_check(ctx, check)
    ctx.sites[1:] = [attrs.evolve(site, early=True) for site in ctx.sites[1:]]
    if ctx.allows("locals"):
        _hoist_dimensions(ctx, stmt)
    ctx.lower(stmt)
    body = ctx.finish()
    params = tuple(_params(arguments))
    kernel = asm.Kernel(unit.program.name, params, ctx.functions, body, tuple(ctx.sites))
    disabled = options.disabled | REASSOCIATING if options.strict else options.disabled
    kernel = optimize_kernel(typed_kernel(kernel), disabled)
    return attrs.evolve(kernel, params=tuple(_used(kernel)))


def _facts(ctx: Context, unit: Unit) -> None:
    """Tell the prover that dimensions are at least 0, and which the kernel never changes."""
    changing = unit.changing
    for tensor in unit.tensors.values():
        for level in tensor.level.levels():
            if isinstance(level.shape, Var):
                ctx.prover.know_le(Literal(0, int), level.shape)
                ctx.dimensions.add(level.shape)
                if level.shape not in changing:
                    ctx.constant(level.shape)
    for before in unit.snapshots.values():
        ctx.prover.know_le(Literal(0, int), before)


def _constant_dimensions(ctx: Context, stmt: Stmt) -> frozenset[Expr]:
    """The dimensions that every declaration sets to the same constant."""
    values: dict[Expr, set[Expr]] = {}
    for part in stmt.walk():
        if isinstance(part, Declare):
            levels = [lvl for lvl in part.tensor.level.levels() if not lvl.format.is_leaf]
            for lvl, extent in zip(levels, part.dims, strict=True):
                if extent is not None:
                    values.setdefault(lvl.shape, set()).add(extent.stop)
    return frozenset(
        shape
        for shape, (first, *others) in values.items()
        if not others and (isinstance(first, Literal) or ctx.is_constant(first))
    )


def _hoist_dimensions(ctx: Context, stmt: Stmt) -> None:
    """Set a temporary's constant dimensions once, at the start of the kernel."""
    open_: set[Expr] = set()
    found: dict[Var, Expr] = {}
    for part in stmt.walk():
        if isinstance(part, Declare) and part.tensor.local:
            levels = [lvl for lvl in part.tensor.level.levels() if not lvl.format.is_leaf]
            for lvl, extent in zip(levels, part.dims, strict=True):
                if extent is None:
                    open_.add(lvl.shape)
                elif lvl.shape in ctx.constant_dimensions:
                    found[lvl.shape] = extent.stop
    for shape, value in found.items():
        if shape not in open_:
            ctx.assign(shape, value)
            ctx.prover.know_equal(shape, value)
            ctx.constant(shape)


def _locals(ctx: Context, arguments: tuple[Binding, ...]) -> None:
    """Declare a variable for each field of the temporaries that need no record."""
    for argument in arguments:
        if argument.tensor is not None and argument.in_registers:
            for level in argument.tensor.level.levels():
                for field in level.format.fields:
                    init = Literal(field.init, field.dtype)
                    ctx.emit(asm.Let(level.scalar(field.name), init, mutable=True))


def _holds_if_empty(ctx: Context, check: Check) -> bool:
    """Whether the check holds for an empty range too: its end is at most its start, which is
    proven within bounds."""
    range_ = check.range
    assert range_ is not None
    return check.first == range_.stop and ctx.prover.le(range_.start, check.second)


def _emit_check(ctx: Context, check: Check) -> None:
    first, second = check.first, check.second
    cond = first.eq(second) if check.relation == "==" else first <= second
    if check.range is not None and not _holds_if_empty(ctx, check):
        cond = (check.range.stop <= check.range.start).or_(cond)
    ctx.require(
        cond, DimensionMismatch, check.message, first, second, span=check.span, hint=check.hint
    )


def _params(arguments: tuple[Binding, ...]) -> Iterator[asm.Record | asm.Argument]:
    for argument in arguments:
        if argument.tensor is not None and not argument.in_registers:
            yield _record(argument.tensor)
        for var in argument.scalars:
            yield asm.Argument(attrs.evolve(var, type=_concrete(var)))


def _concrete(var: Var) -> Any:
    from finch_core.ir.dtypes import concrete

    return concrete(var.type)


def _record(tensor: BoundTensor) -> asm.Record:
    place = layout(tensor.format)
    levels = tensor.level.levels()
    dims = [lvl.shape for lvl in levels if not lvl.format.is_leaf]
    slots = [asm.Slot(dim, k) for k, dim in enumerate(dims) if isinstance(dim, Var)]
    for part in (*place.scalars, *place.buffers):
        slots.append(asm.Slot(levels[part.level].parts[part.field.name], part.offset))
    if tensor.sizeless is not None and place.sizeless is not None:
        slots.append(asm.Slot(tensor.sizeless, place.sizeless))
    return asm.Record(tensor.name, tuple(slots), tensor.local)


def _used(kernel: asm.Kernel) -> Iterator[asm.Record | asm.Argument]:
    """The parameters, reduced to the slots that the body uses; slots that it changes are marked."""
    from finch_core.ir.assembly_rewrite import names_in

    used = names_in(kernel.body)
    written = {
        s.var.name if isinstance(s, asm.Assign) else s.buffer.name
        for s in kernel.body.walk()
        if isinstance(s, (asm.Assign, asm.Grow))
    }
    for param in kernel.params:
        if isinstance(param, asm.Record):
            slots = tuple(
                attrs.evolve(slot, written=slot.target.name in written)
                for slot in param.slots
                if slot.target.name in used
            )
            param = attrs.evolve(param, slots=slots)
        yield param


def local_records(program: Program) -> tuple[Local, ...]:
    """The temporaries that have a record, which compiled code takes after the arguments."""
    return tuple(local for local in program.locals if _needs_record(local, program))


def _needs_record(local: Local, program: Program) -> bool:
    parts = layout(local.format)
    return bool(parts.buffers or parts.ndim) or local.name in program.results


__all__ = ["STAGES", "Lowered", "Options", "local_records", "normalize"]
