"""Small random programs about where loops begin and end: shifted, strided, summed and permissive
reads, outputs with and without a shape, and loops that follow from outputs."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from finch_core import FinchError, FormatError, Tensor
from finch_core.errors import OutOfBounds
from finch_core.frontend.functions import coalesce
from finch_core.ir import primitives as prim
from finch_core.ir.expressions import Access, Call, Expr, Index, Literal, Modified, Name, lift
from finch_core.ir.program import Declare, Extent, Loop, Program, Sequential, Stmt, Update
from finch_core.runtime.kernel import Kernel
from finch_core.runtime.options import Options
from finch_levels import (
    Dense,
    Element,
    RunList,
    SparseBand,
    SparseBlockList,
    SparseByteMap,
    SparseCOO,
    SparseHash,
    SparseList,
    SparseRunList,
)

LEVELS = (
    Dense, RunList, SparseList, SparseRunList, SparseBlockList, SparseBand, SparseHash,
    SparseByteMap, SparseCOO,
)  # fmt: skip
ROW, NEXT, STEP = Index("i"), Index("j"), Index("k")
SHIFT = Name("r")
ZERO = Literal(0.0, float)


def program(rng: random.Random) -> Program:
    """One program over vectors ``x`` and ``z``, a number ``r``, an output ``y`` and one that
    follows from it."""
    body: Stmt = Update(Access("y", (written(rng),)), prim.add, value(rng))
    if any(STEP in expr.walk() for expr in body.exprs):
        extent = (
            None
            if rng.random() < 0.2
            else Extent(lift(rng.choice((0, 0, -1))), lift(rng.randint(0, 3)))
        )
        if extent is None:
            body = Update(body.target, body.op, body.value * Access("w", (STEP,)))  # type: ignore[attr-defined]
        body = Loop(STEP, extent, body)
    extent = (
        None if rng.random() < 0.85 else Extent(lift(rng.randint(0, 2)), lift(rng.randint(0, 6)))
    )
    parts: list[Stmt] = [Declare("y", ZERO), Loop(ROW, extent, body)]
    if rng.random() < 0.5:
        parts += [Declare("t", ZERO), following(rng)]
    if rng.random() < 0.2:
        target = Access("y", (NEXT,))
        end = Extent(lift(0), lift(rng.randint(0, 6)))
        parts.insert(
            1 + rng.randint(0, 1), Loop(NEXT, end, Update(target, prim.add, Literal(2.0, float)))
        )
    return Program(
        "drawn", ("y", "t", "x", "z", "w", "r"), Sequential(tuple(parts)), (), ("y", "t"), False
    )


def written(rng: random.Random) -> Expr:
    return rng.choice((ROW, ROW, ROW, ROW, ROW + rng.randint(0, 2), ROW - 1))


def value(rng: random.Random) -> Expr:
    found = read(rng, "x", ROW)
    while rng.random() < 0.4:
        found = rng.choice((prim.add, prim.mul, prim.sub))(found, read(rng, rng.choice("xz"), ROW))
    return found


def read(rng: random.Random, name: str, index: Index) -> Expr:
    """A read of a vector at some sum with ``index``."""
    c = rng.randint(-3, 3)
    kind = rng.random()
    at: Expr = index + c if c else index
    if kind < 0.15:
        at = rng.choice((index * 2, index * 3 + c, lift(4) - index, index * -2 + 5))
    elif kind < 0.3:
        at = rng.choice(
            (index + STEP, index + STEP + c, index * 2 + STEP, index + STEP * 2, index - STEP)
        )
    elif kind < 0.45:
        at = rng.choice((index + SHIFT, index - SHIFT))
    elif kind < 0.55:
        return Call(coalesce, (Access(name, (Modified("permissive", at),)), ZERO))
    return Access(name, (at,))


def following(rng: random.Random) -> Stmt:
    """A loop that reads what was written."""
    found: Expr = Access("y", (NEXT + rng.choice((0, 0, 1, -1)) if rng.random() < 0.5 else NEXT,))
    if rng.random() < 0.3:
        found = found * read_plain(rng)
    target = Access("t", (NEXT,))
    return Loop(NEXT, None, Update(target, prim.add, found * Literal(3.0, float)))


def read_plain(rng: random.Random) -> Expr:
    c = rng.randint(-1, 1)
    return Access("x", (NEXT + c if c else NEXT,))


def arguments(rng: random.Random) -> Callable[[], list[Any]]:
    """A maker of arguments: outputs are fresh, sized, or arrays."""
    sizes = [rng.randint(0, 7) for _ in range(3)]
    vectors = [np.round(np.random.default_rng(n + 1).normal(size=n), 1) for n in sizes]
    formats = [rng.choice(LEVELS)(Element(0.0)) for _ in range(2)]
    own = [rng.choice((None, None, None, rng.randint(0, 7))) for _ in range(2)]
    array = rng.random() < 0.2
    kinds = (Dense,) if rng.random() < 0.5 else (Dense, SparseList, RunList)
    inputs = [rng.choice(kinds)(Element(0.0)) for _ in range(3)]
    r = rng.randint(-3, 3)

    def make() -> list[Any]:
        outputs = [
            Tensor(format) if n is None else Tensor(format, (n,))
            for format, n in zip(formats, own, strict=True)
        ]
        if array and own[0] is not None:
            outputs[0] = np.zeros(own[0])  # type: ignore[call-overload]
        return [*outputs, *map(Tensor, inputs, vectors), r]

    return make


def outcome(
    call: Callable[..., Any], make: Callable[[], list[Any]]
) -> list[np.ndarray[Any, Any]] | str:
    """The results, or that it was refused: because of extents, what a read beyond the
    end would do (``"beyond"``), or (``""``) a format's order."""
    try:
        return [np.asarray(part) for part in call(*make())]
    except FormatError:
        return ""
    except OutOfBounds:
        return "beyond"
    except FinchError:
        return "refused"


def kernel(program: Program, backend: str) -> Kernel:
    return Kernel.of_program(program, Options(backend=backend))
