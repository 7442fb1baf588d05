"""From Finch Normal Form to the assembly of a kernel: facts on dimensions, variables of locals,
checks of arguments, then the program itself, typed and optimised."""

from __future__ import annotations

from collections.abc import Iterable

from finch_core.errors import BackendError, DimensionMismatch, quote
from finch_core.interface.abi import CompleteBackend
from finch_core.interface.context import Context
from finch_core.interface.lowering import LOWERING_RULES, TooManyRegions
from finch_core.interface.plugins import hub
from finch_core.interface.tensorlike import BoundTensor
from finch_core.interface.watch import Watch
from finch_core.ir import assembly as asm
from finch_core.ir.common_subexpressions import bind_common_subexpressions
from finch_core.ir.expressions import Buffer, Literal, Var
from finch_core.ir.program import Declare, Freeze, Stmt, Swap, Thaw, Update
from finch_core.ir.storage_types import typed_and_stored
from finch_core.lower.constant_dimensions import constant_dimensions, set_dimensions_of_locals
from finch_core.lower.content_ranges import content_ranges
from finch_core.lower.contents import mark_buffers
from finch_core.lower.parallel import loops_in_turn
from finch_core.lower.passes import Check, Unit
from finch_core.lower.statements import FinchRules
from finch_core.optimize import PASSES, optimize_kernel
from finch_core.records import evolve
from finch_core.runtime.options import Options
from finch_core.runtime.parameters import BoundParameter, parameters_of, used_parameters

MOST_REGIONS = 1200
"""The most regions and choices that cases of merges may make of a kernel: about a second of
lowering, and more of the C compiler. The largest kernels of the paper have a third of it."""

MERGE_BY_CASES = "merge_by_cases"
"""The rule by which a merge has code for each combination of operands that are stored."""


def check_disabled(options: Options, backend: CompleteBackend) -> None:
    """Raise ``BackendError`` if ``options`` switch off what neither the compiler nor ``backend``
    has."""
    own = backend.optimisations
    passes = {name for name, _ in PASSES} | hub().assembly_passes.keys()
    known = LOWERING_RULES | passes | (own or frozenset())
    unknown = options.disabled - known
    if unknown and own is not None:
        names = quote(sorted(unknown))
        raise BackendError(
            f"disabled names {names}, which is no rule, no pass and no optimisation of the backend "
            f"{backend.name!r}",
            hint=f"those are {', '.join(sorted(known))}",
        )


def lower_kernel(
    stmt: Stmt,
    unit: Unit,
    arguments: tuple[BoundParameter, ...],
    options: Options,
    watch: Watch | None = None,
    in_turn: bool = False,
) -> asm.Kernel:
    """The assembly of a normalised program, typed and optimised. If ``in_turn``, parallel loops are
    plain ones where these compute the same bits.

    Raises ``TooManyRegions`` where merges by cases make more than ``MOST_REGIONS``; ``unit`` is
    then of no more use.
    """
    if in_turn:
        stmt = loops_in_turn(stmt, unit.parallel)
    ctx = _context(unit, arguments, options)
    ctx.watch = watch
    if not options.disabled & {MERGE_BY_CASES, "predicated_merge"}:
        ctx.most_regions = MOST_REGIONS
    _facts(ctx, unit, stmt)
    ctx.parallel, ctx.least_work = unit.parallel, options.least_work
    ctx.pairs = unit.pairs
    ctx.constant_dimensions = constant_dimensions(ctx, stmt)
    _prologue(ctx, unit, arguments)
    if ctx.allows("locals"):
        set_dimensions_of_locals(ctx, stmt)
    ctx.contents = content_ranges(ctx, stmt)
    mark_buffers(ctx.contents)
    ctx.lower(stmt)
    params = tuple(parameters_of(arguments))
    body = ctx.finish()
    kernel = asm.Kernel(unit.program.name, params, ctx.functions, body, tuple(ctx.sites))
    kernel = typed_and_stored(kernel)
    kernel = bind_common_subexpressions(kernel)
    if watch is not None:
        watch.optimised("lowering", kernel)
    kernel = optimize_kernel(kernel, options.disabled, strict=options.strict, watch=watch)
    return evolve(kernel, params=tuple(used_parameters(kernel)))


def _context(unit: Unit, arguments: tuple[BoundParameter, ...], options: Options) -> Context:
    return Context(
        unit.names,
        unit.simplifier,
        lowering=FinchRules(),
        strict=options.strict,
        constants=[var for argument in arguments for var in argument.scalars],
        fitting=unit.fitting,
        spanning=unit.spanning,
        loose=unit.loose,
        within=unit.within,
        far=unit.far,
        disabled=options.disabled,
    )


def _facts(ctx: Context, unit: Unit, stmt: Stmt) -> None:
    """Tell the prover that dimensions are at least 0, and which the kernel never changes."""
    changing = unit.changing
    for tensor in unit.tensors.values():
        for level in tensor.level.levels():
            if isinstance(level.shape, Var):
                ctx.prover.know_le(Literal(0, int), level.shape)
                ctx.dimensions.add(level.shape)
                if level.shape not in changing:
                    ctx.constant(level.shape)
    updated = {part.target.tensor.root for part in stmt.walk() if isinstance(part, Update)}
    swaps = [part for part in stmt.walk() if isinstance(part, Swap)]
    updated |= {tensor for part in swaps for tensor in (part.first, part.second)}
    ctx.prover.ignore(part for tensor in updated for part in tensor.parts)
    _find_unwritten(ctx, unit, stmt, updated)
    for before in unit.snapshots.values():
        ctx.prover.know_le(Literal(0, int), before)
        ctx.constant(before)


def _find_unwritten(ctx: Context, unit: Unit, stmt: Stmt, updated: Iterable[BoundTensor]) -> None:
    """Note the buffers of the tensors that no statement of the program changes."""
    stages = (part.tensor for part in stmt.walk() if isinstance(part, (Declare, Freeze, Thaw)))
    changed = {part for tensor in (*updated, *stages) for part in tensor.parts}
    parts = (part for tensor in unit.tensors.values() for part in tensor.parts)
    ctx.unwritten = frozenset(
        part for part in parts if isinstance(part, Buffer) and part not in changed
    )


def _prologue(ctx: Context, unit: Unit, arguments: tuple[BoundParameter, ...]) -> None:
    """Emit what runs before the program: variables, and the checks, which change no argument."""
    _locals(ctx, arguments)
    levels = (level for t in unit.tensors.values() if t.fixed for level in t.level.levels())
    kept = {level.shape for level in levels}
    for var, before in unit.snapshots.items():
        ctx.emit(asm.Let(before, var))
        if var in kept:
            ctx.prover.know_equal(before, var)
    for check in unit.checks:
        _emit_check(ctx, check)
    ctx.sites[1:] = [evolve(site, early=True) for site in ctx.sites[1:]]


def _locals(ctx: Context, arguments: tuple[BoundParameter, ...]) -> None:
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


__all__ = ["MERGE_BY_CASES", "TooManyRegions", "check_disabled", "lower_kernel"]
