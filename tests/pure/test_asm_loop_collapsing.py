"""Loops over rows that lie one behind another become one loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from finch_core import Tensor, _, kernel, parallel
from finch_core.errors import LifecycleError
from finch_core.ir import primitives as prim
from finch_core.ir.assembly import Block
from finch_core.ir.assembly_text import block_text
from finch_core.ir.builder import Builder, Names
from finch_core.ir.dtypes import FLOAT64, INTP
from finch_core.ir.expressions import Buffer, Load, Var, call, lift
from finch_core.ir.typing import typed
from finch_core.optimize import PASSES, optimize
from finch_core.testing.run_block import run_block
from finch_levels import Dense, Element
from finch_wrappers import window

A, N, M, L = (Var(name, INTP) for name in "anml")
V, W, END = Buffer("v", FLOAT64), Buffer("w", FLOAT64), Buffer("end", INTP)
ALL = {name for name, _pass in PASSES}


def nest(why: str = "", first: int = 0) -> Block:
    """Add to the elements of rows; ``why`` names what keeps the loops apart, or may."""
    b = Builder(Names("anml"), constants=(A, N, M, L))
    if why == "equal":
        with b.if_(call(prim.ne, M, L)):
            b.fail(1, M)
    with b.for_("i", A, N) as i:
        if why == "more":
            b.store(W, 0, 1.0)
        stop = Load(END, lift(0)) if why == "memory" else i if why == "triangle" else M
        with b.for_("j", first, stop) as j:
            length = L if why in ("equal", "other") else M
            row = {
                "ahead": (i + 2) * length, "tail": i * length + 3,
                "clamped": lift(0).max(i) * length,
            }.get(why, i * length)  # fmt: skip
            at = {"behind": i * length + (j - 1), "swapped": j * length + i}.get(why, row + j)
            value = Load(V, at) * 2.0
            if why == "column":
                value = value + Load(W, j)
            if why == "row":
                value = value + Load(W, i)
            b.store(V, at, value)
            if why == "left":
                with b.if_(Load(V, at) > 6.0):
                    b.break_()
    return typed(b.finish())


def cube() -> Block:
    b = Builder(Names("anml"), constants=(A, N, M, L))
    with b.for_("i", A, N) as i, b.for_("j", 0, M) as j, b.for_("k", 0, L) as k:
        b.store(V, (i * M + j) * L + k, Load(V, (i * M + j) * L + k) + 1.0)
    return typed(b.finish())


def collapsed(block: Block, lengths: tuple[str, ...] = ()) -> Block:
    only = ALL - {"loop_collapsing"}
    return optimize(block, disabled=only, names=Names("anmlij", lengths))


def test_one_loop_is_left() -> None:
    assert block_text(collapsed(nest())) == (
        "for j in range(a * m, max(a, n) * m):\n    v[j] *= 2.0\n"
    )
    text = block_text(collapsed(cube()))
    assert "v[k] += 1.0" in text
    assert text.count("for ") == 1


@pytest.mark.parametrize(
    ("why", "place"), [("ahead", "2 * m + j"), ("tail", "3 + j"), ("equal", "j")]
)
def test_rows_may_be_ahead_and_lengths_equal(why: str, place: str) -> None:
    text = block_text(collapsed(nest(why)))
    assert f"v[{place}] *= 2.0" in text
    assert text.count("for ") == 1


def test_lengths_are_not_negative() -> None:
    b = Builder(Names("anml"), constants=(A, N, M, L))
    with b.for_("i", 0, N) as i, b.for_("j", 0, M) as j:
        b.store(V, i * M + j, 1.0)
    block = typed(b.finish())
    assert "range(0, n * m)" in block_text(collapsed(block, lengths=("n",)))
    assert "range(0, max(0, n) * m)" in block_text(collapsed(block))


@pytest.mark.parametrize(
    "why", "other memory triangle more left column row behind swapped clamped".split()
)
def test_loops_stay_apart(why: str) -> None:
    block = nest(why)
    assert block_text(collapsed(block)) == block_text(block)


def test_rows_are_whole_and_checks_come_before() -> None:
    assert block_text(collapsed(nest(first=1))) == block_text(nest(first=1))
    check, loop = nest("equal").statements
    late = Block((loop, check))
    assert block_text(collapsed(late)) == block_text(late)


@pytest.mark.parametrize("made", [nest, cube, lambda: nest("ahead"), lambda: nest("tail")])
@pytest.mark.parametrize("n", [-2, 0, 1, 3])
@pytest.mark.parametrize("m", [-1, 0, 1, 4])
def test_the_meaning_stays(made: Any, n: int, m: int) -> None:
    for a in (0, 1, 5):
        values = {A: a, N: n, M: m, L: 2, V: np.arange(60.0), W: np.zeros(1)}
        before, after = (run_block(b, values)[1]["v"] for b in (made(), collapsed(made())))
        np.testing.assert_array_equal(before, after)


@kernel
def doubled(B, A):
    for i, j in _:
        B[i, j] = 2 * A[i, j]


@kernel
def numbered(v, n, m):
    for i in range(n):
        for j in range(m):
            v[i * m + j] += 1


@kernel
def in_parts(B, A):
    for i in parallel(_):
        for j in _:
            B[i, j] = A[i, j] + 1


@kernel
def clamped(B, A):
    for i in range(-2, A.shape[0]):
        for j in _:
            B[i + 2, j] = A[max(0, i), j]


@pytest.mark.parametrize("backend", ["c", "interpreter"])
def test_arrays_and_windows(backend: str) -> None:
    twice, parts = (kernel(backend=backend)(k.__wrapped__) for k in (doubled, in_parts))
    for shape in ((4, 3), (0, 3), (3, 0), (1, 1), (70, 5)):
        a = np.arange(float(shape[0] * shape[1])).reshape(shape)
        b = np.zeros(shape)
        assert "for j in range(0, B_n0 * B_n1)" in twice.lower(b, a).as_text("assembly")
        a.flags.writeable = False
        twice(b, a)
        np.testing.assert_array_equal(b, 2 * a)
        if b.size:
            with pytest.raises(LifecycleError, match="B is written, and shares memory with A"):
                twice(b, b)
        parts(b, a)
        np.testing.assert_array_equal(b, a + 1)
    a = np.arange(12.0).reshape(4, 3)
    part = window(Tensor(Dense(Dense(Element(0.0))), a), (1, 3), (1, 3))
    found = np.zeros((2, 2))
    twice(found, part)
    np.testing.assert_array_equal(found, 2 * a[1:3, 1:3])
    wide = np.zeros((6, 3))
    kernel(backend=backend)(clamped.__wrapped__)(wide, a)
    np.testing.assert_array_equal(wide, a[[0, 0, 0, 1, 2, 3]])


@pytest.mark.parametrize(("n", "m"), [(2, 3), (-2, -3), (-2, 3), (2, -3), (0, 0)])
def test_numbers_that_are_negative(n: int, m: int) -> None:
    v = np.zeros(6)
    numbered(v, n, m)
    np.testing.assert_array_equal(v, np.full(6, float(n > 0 and m > 0)))
