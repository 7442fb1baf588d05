"""The paper's figures: programs in normal form, and the code that their looplets come to."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from finch_core import FormatError, Tensor, kernel
from finch_core.ir.assembly_text import expr_text
from finch_core.ir.program import Loop, Update
from finch_core.looplets import Lookup, Phase, Run, Sequence, Spike, Stepper, Thunk
from finch_core.lower import statements as lowering
from finch_levels import (
    Dense,
    Element,
    Scalar,
    SparseHash,
    SparseList,
    SparsePinpoint,
    SparseRunList,
)

Golden = Callable[[str], None]
LIST = SparseList(Element(0.0))
CSR = Dense(LIST)
DENSE = Dense(Dense(Element(0.0)))


def text(function: Callable[..., Any], *args: Any, stage: str = "assembly") -> str:
    """A stage of a kernel; of the assembly, the kernel without its routines."""
    found: str = kernel(backend="interpreter")(function).lower(*args).as_text(stage)
    return found.partition("kernel ")[2] if stage == "assembly" else found


# -- Section "Example Lowering" ------------------------------------------------------------------


def upper_triangle(s, A):
    s[...] = 0
    for i, j in _:
        if j <= i:
            s[()] += A[i, j]
    return s


def test_the_upper_triangle_in_normal_form(golden: Golden) -> None:
    golden(text(upper_triangle, Scalar(0.0), Tensor(CSR), stage="normalized"))


def test_the_upper_triangle_ends_its_inner_loop(golden: Golden) -> None:
    """The paper's matrix is stored by columns: its upper triangle is the lower one by rows."""
    golden(text(upper_triangle, Scalar(0.0), Tensor(CSR)))


def test_the_upper_triangle_of_a_dense_matrix(golden: Golden) -> None:
    golden(text(upper_triangle, Scalar(0.0), Tensor(DENSE)))


def test_the_steps_of_lowering_the_upper_triangle(
    golden: Golden, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The paper's thirteen steps, less what simplification does within them: each rule as it is
    applied, with the region and what is left of the body; below it, what it comes to."""
    steps: list[str] = []
    depth = [0]

    def told(text: str, run: Callable[[], None]) -> None:
        steps.append("    " * depth[0] + text)
        depth[0] += 1
        run()
        depth[0] -= 1

    def looplet(kind: type) -> None:
        plain = kind.lower  # type: ignore[attr-defined]

        def lower(self: Any, ctx: Any, region: Any, slot: int) -> None:
            place = f"{region.index.name} in {expr_text(region.start)}:{expr_text(region.stop)}"
            told(f"{kind.__name__}, {place}", lambda: plain(self, ctx, region, slot))

        monkeypatch.setattr(kind, "lower", lower)

    def statement(kind: type, plain: Callable[[Any, Any], None]) -> Callable[[Any, Any], None]:
        def lower(ctx: Any, stmt: Any) -> None:
            name = "Unfurl" if kind is Loop else kind.__name__
            told(f"{name}: {statement_line(stmt)}", lambda: plain(ctx, stmt))

        return lower

    for kind in (Run, Lookup, Thunk, Sequence, Phase, Spike, Stepper):
        looplet(kind)
    for kind, plain in list(lowering._LOWERING.items()):
        monkeypatch.setitem(lowering._LOWERING, kind, statement(kind, plain))
    text(upper_triangle, Scalar(0.0), Tensor(CSR))
    golden("\n".join(steps) + "\n")


def statement_line(stmt: Any) -> str:
    """What a statement is about, in a few words."""
    if isinstance(stmt, Loop):
        return f"for {stmt.index.name}"
    if isinstance(stmt, Update):
        return f"{stmt.target.tensor} {stmt.op.symbol}= ..."
    return str(getattr(stmt, "tensor", "...")) if not hasattr(stmt, "statements") else "..."


# -- the figures of normalization ----------------------------------------------------------------


def shadowed(s, x, y, c):
    s[...] = 0
    for i in _:
        t = x[i] * c
        s[()] += t
    for i in _:
        t = y[i]
        s[()] += t
    return s


def test_scopes(golden: Golden) -> None:
    """Names that two blocks bind, each for itself, are different names."""
    x, y = Tensor(LIST, np.ones(3)), Tensor(LIST, np.ones(4))
    stages = (text(shadowed, Scalar(0.0), x, y, 2.0, stage=s) for s in ("program", "normalized"))
    golden("\n->\n".join(stages))


def by_rows(C, A):
    C[...] = 0
    for i, j in _:
        C[i, j] = A[i, j]
    return C


def by_columns(C, A):
    C[...] = 0
    for j, i in _:
        C[i, j] = A[i, j]
    return C


def test_orders(golden: Golden) -> None:
    """What each format takes stays as it is; what it does not is refused."""
    hashed = SparseHash(SparseHash(Element(0.0)))
    stages = []
    for program, format in ((by_rows, CSR), (by_columns, CSR), (by_columns, hashed)):
        args = Tensor(format), np.ones((2, 3))
        try:
            found = text(program, *args, stage="normalized")
        except FormatError as error:
            found = f"{error.message}\nhint: {error.hint}\n"
        names = "(".join(level.name for level in format.levels()[:-1])
        before = text(program, Tensor(DENSE), args[1], stage="program")
        stages.append(f"# C is {names}(...))\n{before}->\n{found}")
    golden("\n".join(stages))


def wrapperized(s, A):
    s[...] = 0
    for i, j in _:
        if i <= j:
            s[()] += A[i - 1, j]
    return s


def test_wrapperization(golden: Golden) -> None:
    golden(text(wrapperized, Scalar(0.0), Tensor(DENSE), stage="normalized"))


def all_wrappers(s, A, B, C, n):
    s[...] = 0
    for i, j in _:
        if i < j + 1 and j != 2 * i and j < n:
            s[()] += B[follow(i), walk(j)] * coalesce(A[~(i + n), i + j], C[i, j])
    return s


def test_wrapperization_of_all_kinds(golden: Golden) -> None:
    args = (Scalar(0.0), Tensor(DENSE), Tensor(DENSE), Tensor(DENSE), 3)
    golden(text(all_wrappers, *args, stage="normalized"))


def dimensionalized(C, A, B):
    C[...] = 0
    for i in range(0, 3):
        for j in _:
            for k in _:
                C[i, j] += A[i, k] * B[k, j]
    return C


def test_dimensionalization(golden: Golden) -> None:
    golden(text(dimensionalized, *(Tensor(DENSE) for _ in range(3)), stage="normalized"))


def transposed(s, A):
    s[...] = 0
    for j, i in _:
        s[()] += A[i, j]
    return s


def scattered(A, I):  # noqa: E741 - the paper's name
    for i in _:
        A[I[i]] += 1
    return A


def test_concordization_of_a_transposed_read(golden: Golden) -> None:
    golden(text(transposed, Scalar(0.0), Tensor(DENSE), stage="normalized"))


def test_concordization_of_a_scatter(golden: Golden) -> None:
    golden(text(scattered, np.zeros(3), np.zeros(3, int), stage="normalized"))


def gathered_rows(y, A, I):  # noqa: E741 - the paper's name
    y[...] = 0
    for i in _:
        for j in _:
            y[i] += A[I[i], j]
    return y


def test_concordization_of_a_gathered_row(golden: Golden) -> None:
    """The row is known before the loop of ``j``: it is looked up there, by no loop."""
    args = (Tensor(Dense(Element(0.0))), Tensor(CSR), np.zeros(3, int))
    golden(text(gathered_rows, *args, stage="normalized") + text(gathered_rows, *args))


def weighted(y, x):
    y[...] = 0
    for i in _:
        k = 2 * i
        y[i] += x[i] * (i + 1) + k
    return y


def test_widths_of_plain_numbers(golden: Golden) -> None:
    vectors = (Tensor(Dense(Element(np.float32(0)))) for _ in range(2))
    golden(text(weighted, *vectors, stage="normalized"))


def life_cycles(x, y):
    y[...] = 0
    for i in _:
        y[i] = x[i] + 1
    for i in _:
        x[i] += 1
        y[i] += 1
    for i in _:
        x[i] += y[i]
    return x, y


def test_life_cycle_automation(golden: Golden) -> None:
    vectors = (Tensor(Dense(Element(0.0))) for _ in range(2))
    golden(text(life_cycles, *vectors, stage="normalized"))


# -- the introduction: even indices of an intersection -------------------------------------------


def select_in_merge(c, a, b):
    c[...] = 0
    for i in _:
        if i % 2 == 0:
            c[i] = a[i] * b[i]
    return c


def select_before_merge(c, ap, a, b):
    ap[...] = 0
    c[...] = 0
    for i in _:
        if i % 2 == 0:
            ap[i] = a[i]
    for i in _:
        c[i] = ap[i] * b[i]
    return c


def select_after_merge(c, cp, a, b):
    cp[...] = 0
    c[...] = 0
    for i in _:
        cp[i] = a[i] * b[i]
    for i in _:
        if i % 2 == 0:
            c[i] = cp[i]
    return c


def select_by_filter(c, f, a, b):
    f[...] = 0
    c[...] = 0
    for i in _:
        if i % 2 == 0:
            f[i] = 1
    for i in _:
        c[i] = a[i] * b[i] * f[i]
    return c


EVEN = (select_in_merge, select_before_merge, select_after_merge, select_by_filter)


@pytest.mark.parametrize("program", EVEN, ids=lambda program: program.__name__)
def test_even_intersection(program: Callable[..., Any], golden: Golden) -> None:
    golden(text(program, *(Tensor(LIST) for _ in range(program.__code__.co_argcount))))


def test_the_four_even_intersections_agree_and_only_the_first_selects_in_the_merge() -> None:
    a = np.array([1.0, 0.0, 2.0, 0.0, 3.0, 4.0])
    b = np.array([1.0, 5.0, 2.0, 1.0, 0.0, 4.0])
    selecting = []
    for program in EVEN:
        extra = [Tensor(LIST)] * (program.__code__.co_argcount - 3)
        args = (Tensor(LIST), *extra, Tensor(LIST, a), Tensor(LIST, b))
        found = kernel(program)(*args)
        np.testing.assert_array_equal(np.asarray(found), a * b * (np.arange(6) % 2 == 0))
        loops = re.split("while |for ", text(program, *args))
        if any("% 2" in loop and "a1_val[" in loop and "b1_val[" in loop for loop in loops):
            selecting.append(program)
    assert selecting == [select_in_merge]
    assert len({str(text(p, *[Tensor(LIST)] * p.__code__.co_argcount)) for p in EVEN}) == 4


# -- protocols -----------------------------------------------------------------------------------


def gallop_intersection(s, a, b):
    s[...] = 0
    for i in _:
        s[()] += a[gallop(i)] * b[gallop(i)]
    return s


def leader_and_follower(s, a, b):
    s[...] = 0
    for i in _:
        s[()] += a[walk(i)] * b[follow(i)]
    return s


def test_a_galloping_intersection(golden: Golden) -> None:
    golden(text(gallop_intersection, Scalar(0.0), Tensor(LIST), Tensor(LIST)))


def test_a_leader_and_a_follower(golden: Golden) -> None:
    golden(text(leader_and_follower, Scalar(0.0), Tensor(LIST), Tensor(LIST)))


# -- loops that are empty leave nothing behind ---------------------------------------------------


def contradiction(s, A):
    s[...] = 0
    for i, j in _:
        if i <= j and j < i:
            s[()] += A[i, j]
    return s


def nothing_below_zero(s, x):
    s[...] = 0
    for i in _:
        if i < 0:
            s[()] += x[i]
    return s


def padding_beyond(s, x):
    s[...] = 0
    for i in range(-3, 0):
        s[()] += coalesce(x[~i], 1)
    return s


def test_a_contradiction_leaves_nothing(golden: Golden) -> None:
    golden(text(contradiction, Scalar(0.0), Tensor(CSR)))


def test_a_bound_below_the_loop_leaves_nothing(golden: Golden) -> None:
    golden(text(nothing_below_zero, Scalar(0.0), Tensor(LIST)))


def fill_of_a_pinpoint(s, x, y):
    s[...] = 0
    for i in _:
        s[()] += x[i] * y[i]
    return s


def runs_of_fill(s, x, y):
    s[...] = 0
    for i in _:
        s[()] += x[i] * y[i]
    return s


def test_the_runs_beside_a_single_nonzero_leave_nothing(golden: Golden) -> None:
    """Of three phases, two are runs of fill: neither leaves a loop."""
    pinpoint, dense = Tensor(SparsePinpoint(Element(0.0))), Tensor(Dense(Element(0.0)))
    golden(text(fill_of_a_pinpoint, Scalar(0.0), pinpoint, dense))


def test_the_runs_between_stored_runs_leave_nothing(golden: Golden) -> None:
    runs, dense = Tensor(SparseRunList(Element(0.0))), Tensor(Dense(Element(0.0)))
    golden(text(runs_of_fill, Scalar(0.0), runs, dense))


def test_padding_alone_reads_nothing(golden: Golden) -> None:
    golden(text(padding_beyond, Scalar(0.0), Tensor(LIST)))


def padded_stencil(y, x):
    y[...] = 0
    for i in _:
        y[i] = coalesce(x[~(i - 1)], 0) + x[i] + coalesce(x[~(i + 1)], 0)
    return y


def test_a_padded_stencil_has_a_plain_middle(golden: Golden) -> None:
    golden(text(padded_stencil, *(Tensor(Dense(Element(0.0))) for _ in range(2))))
