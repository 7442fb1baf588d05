"""Passes on typed assembly: each keeps the meaning, given that distinct buffers never overlap.

One pass, one file. ``PASSES`` is the pipeline; each can be switched off by its name.
"""

from __future__ import annotations

from collections.abc import Callable, Container

import attrs

from finch_core.assembly import Block, Function, Kernel
from finch_core.assembly_rewrite import names_in
from finch_core.builder import Names
from finch_core.optimize.banks import banks
from finch_core.optimize.dead import dead
from finch_core.optimize.elements import elements
from finch_core.optimize.fills import fills
from finch_core.optimize.flags import flags
from finch_core.optimize.fresh import fresh
from finch_core.optimize.heads import heads
from finch_core.optimize.indirect import indirect
from finch_core.optimize.invariant import invariant
from finch_core.optimize.lanes import lanes
from finch_core.optimize.prefetch import prefetch
from finch_core.optimize.promote import promote
from finch_core.optimize.raised import raised
from finch_core.optimize.scanned import scanned
from finch_core.optimize.scoped import scoped
from finch_core.optimize.settled import settled
from finch_core.optimize.threaded import threaded
from finch_core.optimize.unswitched import unswitched
from finch_core.typing_pass import kernel_names

Pass = Callable[[Block, Names], Block]

PASSES: tuple[tuple[str, Pass], ...] = (
    ("flags", flags),
    ("threaded", threaded),
    ("settled", settled),
    ("scoped", scoped),
    ("dead", dead),
    ("fresh", fresh),
    ("raised", raised),
    ("promote", promote),
    ("elements", elements),
    ("fills", fills),
    ("invariant", invariant),
    ("dead", dead),
    ("unswitched", unswitched),
    ("lanes", lanes),
    ("indirect", indirect),
    ("scanned", scanned),
    ("threaded", threaded),
    ("banks", banks),
    ("prefetch", prefetch),
    ("heads", heads),
)
"""The pipeline, in order: each pass with its name."""


def optimize(block: Block, disabled: Container[str] = (), names: Names | None = None) -> Block:
    """``block`` after all ``PASSES`` but those named in ``disabled``.

    New variables are named by ``names``, or differently from all names in ``block``.
    """
    names = names or Names(names_in(block))
    for name, step in PASSES:
        if name not in disabled:
            block = step(block, names)
    return block


def optimize_function(function: Function, disabled: Container[str] = ()) -> Function:
    """``function`` with an optimized body."""
    names = Names({param.name for param in function.params} | names_in(function.body))
    return attrs.evolve(function, body=optimize(function.body, disabled, names))


def optimize_kernel(kernel: Kernel, disabled: Container[str] = ()) -> Kernel:
    """``kernel`` with its body and functions optimized."""
    body = optimize(kernel.body, disabled, Names(kernel_names(kernel)))
    functions = tuple(optimize_function(f, disabled) for f in kernel.functions)
    return attrs.evolve(kernel, body=body, functions=functions)
