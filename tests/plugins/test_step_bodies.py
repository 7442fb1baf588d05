"""Code that the body of a step emits runs where there is a step, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from finch_core import Tensor, gallop, kernel
from finch_core.ir.expressions import Load
from finch_core.level import Mode
from finch_core.looplets import Lookup, Phase, Run, Sequence, Stepper, Thunk
from finch_core.looplets.transform import around_thunk
from finch_core.records import evolve
from finch_levels import Dense, Element, RunList, Scalar, SparseList


class Loading(SparseList):
    """A ``SparseList`` of which the body of a step loads, before it says what the step has."""

    name = "Loading"

    def unfurl(self, ctx: Any, fiber: Any, mode: Mode, protocol: str) -> Any:
        found = super().unfurl(ctx, fiber, mode, protocol)
        if mode is Mode.UPDATE or protocol == "follow":
            return found
        assert isinstance(found, Thunk)
        return around_thunk(found, lambda steps: loading(steps, fiber))


def loading(steps: Any, fiber: Any) -> Stepper:
    idx, fill = fiber.lvl.buffer("idx"), Run(fiber.filled())

    def body(ctx: Any, q: Any) -> Sequence:
        first = ctx.let("first", Load(idx, q) * 1)
        last = Lookup(lambda ctx, i: fiber.subfiber(q + (i - first)))
        return Sequence((Phase(first, fill), Phase(None, last)))

    return evolve(steps, body=body)  # type: ignore[no-any-return]


@kernel
def walked(s, a, b, lo, hi):
    s[...] = 0
    for i in range(lo, hi):
        s[()] += a[i] * b[i]
    return s


@kernel
def galloped(s, a, b, lo, hi):
    s[...] = 0
    for i in range(lo, hi):
        s[()] += a[gallop(i)] * b[i]
    return s


@kernel
def summed(s, a, b, lo, hi):
    s[...] = 0
    for i in range(lo, hi):
        s[()] += a[i] + 2 * b[i]
    return s


@kernel
def at_one(s, a, b, lo, hi):
    s[...] = 0
    for i in range(lo, hi):
        s[()] += a[lo] + b[i]
    return s


def exact(data: np.ndarray) -> Tensor:
    """Buffers without an element behind those in use."""
    made = Tensor(Loading(Element(0.0)), data)
    buffers = {name: buffer.copy() for name, buffer in made.buffers.items()}
    return Tensor.from_buffers(made.format, made.shape, buffers)


def operands() -> Iterator[Any]:
    other = np.tile([1.0, 0.0, 2.0, 3.0], 5)
    yield other
    for level in (Dense, SparseList, RunList):
        yield Tensor(level(Element(0.0)), other)
    yield exact(other)


@pytest.mark.parametrize("function", [walked, galloped, summed, at_one])
@pytest.mark.parametrize("backend", ["interpreter", None])
def test_bodies_emit_where_there_is_a_step(function: Any, backend: str | None) -> None:
    run = kernel(backend=backend)(function.__wrapped__)
    data = np.zeros(20)
    data[[1, 5, 9]] = 1.0, 2.0, 3.0
    for a in (exact(data), exact(np.zeros(20))):
        for b in operands():
            for lo, hi in ((0, 20), (0, 15), (3, 20), (9, 10), (10, 20)):
                expected = function.reference(Scalar(0.0), a, b, lo, hi)
                assert run(Scalar(0.0), a, b, lo, hi).value == expected, (b, lo, hi)
