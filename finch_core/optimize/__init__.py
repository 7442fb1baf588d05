"""Optimisation passes over typed assembly.

Each pass preserves the meaning of the program, given that distinct buffers never alias. One
pass, one file. ``PASSES`` are those of this package, ``pipeline`` adds those of plugins; each can
be switched off by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Container

from finch_core.errors import PluginError, quote
from finch_core.interface.assembly_passes import AssemblyPass
from finch_core.interface.plugins import hub
from finch_core.interface.watch import Watch
from finch_core.ir.assembly import Argument, Block, Kernel, Record
from finch_core.ir.assembly_rewrite import names_in
from finch_core.ir.builder import Names
from finch_core.ir.typing import kernel_names, lengths
from finch_core.optimize.boolean_constants import boolean_constants
from finch_core.optimize.branchless_appends import branchless_appends
from finch_core.optimize.copy_propagation import copy_propagation
from finch_core.optimize.dead_code import dead_code
from finch_core.optimize.dead_fills import dead_fills
from finch_core.optimize.gather_reductions import gather_reductions
from finch_core.optimize.growth_hoisting import growth_hoisting
from finch_core.optimize.index_set_splitting import index_set_splitting
from finch_core.optimize.invariant_code_motion import invariant_code_motion
from finch_core.optimize.invariant_stores import invariant_stores
from finch_core.optimize.invariant_values import invariant_values
from finch_core.optimize.jump_threading import jump_threading
from finch_core.optimize.loop_coalescing import loop_coalescing
from finch_core.optimize.loop_collapsing import loop_collapsing
from finch_core.optimize.loop_interchange import loop_interchange
from finch_core.optimize.predicate_compaction import predicate_compaction
from finch_core.optimize.predictive_commoning import predictive_commoning
from finch_core.optimize.prefetch import prefetch
from finch_core.optimize.privatization import privatization
from finch_core.optimize.scalar_promotion import scalar_promotion
from finch_core.optimize.scalar_replacement import scalar_replacement
from finch_core.optimize.sinking import sinking
from finch_core.optimize.store_forwarding import store_forwarding
from finch_core.optimize.unswitching import unswitching
from finch_core.optimize.vector_reductions import vector_reductions
from finch_core.records import evolve

Pass = Callable[[Block, Names], Block]

PASSES: tuple[tuple[str, Pass], ...] = (
    ("boolean_constants", boolean_constants),
    ("jump_threading", jump_threading),
    ("copy_propagation", copy_propagation),
    ("sinking", sinking),
    ("dead_code", dead_code),
    ("loop_coalescing", loop_coalescing),
    ("dead_fills", dead_fills),
    ("loop_collapsing", loop_collapsing),
    ("invariant_stores", invariant_stores),
    ("scalar_promotion", scalar_promotion),
    ("scalar_replacement", scalar_replacement),
    ("store_forwarding", store_forwarding),
    ("invariant_code_motion", invariant_code_motion),
    ("invariant_values", invariant_values),
    ("index_set_splitting", index_set_splitting),
    ("loop_interchange", loop_interchange),
    ("dead_code", dead_code),
    ("unswitching", unswitching),
    ("vector_reductions", vector_reductions),
    ("gather_reductions", gather_reductions),
    ("predicate_compaction", predicate_compaction),
    ("jump_threading", jump_threading),
    ("privatization", privatization),
    ("prefetch", prefetch),
    ("growth_hoisting", growth_hoisting),
    ("branchless_appends", branchless_appends),
    ("predictive_commoning", predictive_commoning),
)
"""The pipeline, in order: the name of each pass and its function."""

REASSOCIATING = frozenset({"vector_reductions", "gather_reductions"})
"""The passes that reassociate sums of floats; a ``strict`` kernel runs without them."""


def pipeline() -> tuple[AssemblyPass, ...]:
    """The passes in order: those of ``PASSES``, with a plugin's behind the last of those that it
    follows.

    A plugin whose pass has a taken name, or follows one that is not there, is removed from the hub
    as one that failed.
    """
    rows = [AssemblyPass(name, run, (), name in REASSOCIATING) for name, run in PASSES]
    built_in = {row.name for row in rows}
    waiting = []
    for row in hub().assembly_passes.values():
        if row.name in built_in:
            hub().reject("assembly pass", row.name, "has the name of a built-in pass")
        else:
            waiting.append(row)
    while waiting:
        known = {row.name for row in rows}
        ready = [row for row in waiting if known.issuperset(row.after)]
        for row in ready:
            places = [k + 1 for k, other in enumerate(rows) if other.name in row.after]
            rows.insert(max(places, default=len(rows)), row)
        waiting = [row for row in waiting if row not in ready]
        if not ready:
            for row in waiting:
                missing = quote(name for name in row.after if name not in known)
                why = f"comes after {missing}, but passes before it are {quote(sorted(known))}"
                hub().reject("assembly pass", row.name, why)
            break
    return tuple(rows)


def optimize(block: Block, disabled: Container[str] = (), names: Names | None = None) -> Block:
    """``block`` after all ``PASSES`` except those named in ``disabled``; the passes of plugins run
    on whole kernels.

    ``names`` makes the names of new variables; without it, they differ from all names in
    ``block``.
    """
    names = names or Names(names_in(block))
    for name, step in PASSES:
        if name not in disabled:
            block = step(block, names)
    return block


def optimize_kernel(
    kernel: Kernel,
    disabled: Container[str] = (),
    *,
    strict: bool = False,
    watch: Watch | None = None,
) -> Kernel:
    """``kernel`` with body and functions after all passes that are not ``disabled`` and, if
    ``strict``, do not reassociate. What a plugin's pass returns is verified.

    Raises ``PluginError`` for a plugin's pass that fails or returns illegal assembly.
    """
    names = Names(kernel_names(kernel), lengths(kernel))
    locals_ = [Names({p.name for p in f.params} | names_in(f.body)) for f in kernel.functions]
    known = hub().assembly_passes
    for row in pipeline():
        if row.name in disabled or (strict and row.reassociates):
            continue
        run = _checked(row) if row.name in known else row.run
        functions = tuple(
            evolve(f, body=run(f.body, own))
            for f, own in zip(kernel.functions, locals_, strict=True)
        )
        new = evolve(kernel, body=run(kernel.body, names), functions=functions)
        if row.name in known:
            _verify(row, new)
        if watch is not None:
            watch.optimised(row.name, new)
        kernel = new
    return kernel


def _checked(row: AssemblyPass) -> Pass:
    """A plugin's pass, whose mistakes name it."""

    def run(block: Block, names: Names) -> Block:
        try:
            found = row.run(block, names)
        except KeyboardInterrupt as error:
            error.add_note(str(_mistake(row, "was running")))
            raise
        except Exception as error:
            raise _mistake(row, f"failed: {type(error).__name__}: {error}") from error
        if not isinstance(found, Block):
            raise _mistake(row, f"returned {found!r}, not a Block")
        return found

    return run


def _verify(row: AssemblyPass, kernel: Kernel) -> None:
    from finch_core.ir.verify import check  # needed where a plugin has a pass

    try:
        check(evolve(kernel, params=tuple(map(_written, kernel.params))))
    except AssertionError as error:
        raise _mistake(row, f"made illegal assembly: {error}") from error


def _written(param: Record | Argument) -> Record | Argument:
    """A parameter of which all slots may be written: which of them are is found out at the end."""
    if isinstance(param, Argument):
        return param
    slots = tuple(evolve(slot, written=True) for slot in param.slots)
    return evolve(param, slots=slots)


def _mistake(row: AssemblyPass, what: str) -> PluginError:
    return PluginError(
        f"the assembly pass {row.name!r} of {hub().owner('assembly pass', row.name)} {what}",
        hint=f"kernel(disabled={{{row.name!r}}}) compiles without it",
    )
