"""Optimisation passes over typed assembly.

Each pass preserves the meaning of the program, given that distinct buffers never alias. One
pass, one file. ``PASSES`` is the pipeline; ``optimize`` can switch off each pass by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Container

import attrs

from finch_core.ir.assembly import Block, Function, Kernel
from finch_core.ir.assembly_rewrite import names_in
from finch_core.ir.builder import Names
from finch_core.ir.typing import kernel_names
from finch_core.optimize.boolean_constants import boolean_constants
from finch_core.optimize.copy_propagation import copy_propagation
from finch_core.optimize.dead_code import dead_code
from finch_core.optimize.dead_fills import dead_fills
from finch_core.optimize.gather_reductions import gather_reductions
from finch_core.optimize.growth_hoisting import growth_hoisting
from finch_core.optimize.invariant_code_motion import invariant_code_motion
from finch_core.optimize.invariant_stores import invariant_stores
from finch_core.optimize.jump_threading import jump_threading
from finch_core.optimize.predicate_compaction import predicate_compaction
from finch_core.optimize.prefetch import prefetch
from finch_core.optimize.privatization import privatization
from finch_core.optimize.scalar_promotion import scalar_promotion
from finch_core.optimize.scalar_replacement import scalar_replacement
from finch_core.optimize.sinking import sinking
from finch_core.optimize.store_forwarding import store_forwarding
from finch_core.optimize.unswitching import unswitching
from finch_core.optimize.vector_reductions import vector_reductions

Pass = Callable[[Block, Names], Block]

PASSES: tuple[tuple[str, Pass], ...] = (
    ("boolean_constants", boolean_constants),
    ("jump_threading", jump_threading),
    ("copy_propagation", copy_propagation),
    ("sinking", sinking),
    ("dead_code", dead_code),
    ("dead_fills", dead_fills),
    ("invariant_stores", invariant_stores),
    ("scalar_promotion", scalar_promotion),
    ("scalar_replacement", scalar_replacement),
    ("store_forwarding", store_forwarding),
    ("invariant_code_motion", invariant_code_motion),
    ("dead_code", dead_code),
    ("unswitching", unswitching),
    ("vector_reductions", vector_reductions),
    ("gather_reductions", gather_reductions),
    ("predicate_compaction", predicate_compaction),
    ("jump_threading", jump_threading),
    ("privatization", privatization),
    ("prefetch", prefetch),
    ("growth_hoisting", growth_hoisting),
)
"""The pipeline, in order: the name of each pass and its function."""

REASSOCIATING = frozenset({"vector_reductions", "gather_reductions"})
"""The passes that reassociate sums of floats; a ``strict`` kernel runs without them."""


def optimize(block: Block, disabled: Container[str] = (), names: Names | None = None) -> Block:
    """``block`` after all ``PASSES`` except those named in ``disabled``.

    ``names`` makes the names of new variables; without it, they differ from all names in
    ``block``.
    """
    names = names or Names(names_in(block))
    for name, step in PASSES:
        if name not in disabled:
            block = step(block, names)
    return block


def optimize_function(function: Function, disabled: Container[str] = ()) -> Function:
    """``function`` with an optimised body; ``disabled`` as in ``optimize``."""
    names = Names({param.name for param in function.params} | names_in(function.body))
    return attrs.evolve(function, body=optimize(function.body, disabled, names))


def optimize_kernel(kernel: Kernel, disabled: Container[str] = ()) -> Kernel:
    """``kernel`` with body and functions optimised; ``disabled`` as in ``optimize``."""
    body = optimize(kernel.body, disabled, Names(kernel_names(kernel)))
    functions = tuple(optimize_function(f, disabled) for f in kernel.functions)
    return attrs.evolve(kernel, body=body, functions=functions)
