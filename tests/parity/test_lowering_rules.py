"""Rules of lowering that make code shorter and faster: what they do, and that answers stay."""

import numpy as np
import pytest

from finch_core import Tensor, _, coalesce
from finch_core.errors import OutOfBounds
from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import INTP
from finch_core.ir.expressions import Buffer, Literal, Load, Var, call, cast
from finch_core.runtime.kernel import Kernel
from finch_core.runtime.options import Options
from finch_core.symbolic.ranges import range_of
from finch_levels import (
    Dense,
    Element,
    Pattern,
    RunList,
    Scalar,
    SparseBand,
    SparseList,
    SparseRunList,
)

RUNS = SparseRunList(Pattern())
COVER = RunList(Element(0.0))


def both(c, a, b, d):
    c[...] = False
    for i in _:
        c[i] = a[i] & b[i] & d[i]
    return c


def total(c, a, b, d):
    c[...] = 0
    for i in _:
        c[i] = a[i] + b[i] * d[i]
    return c


def narrowed(c, a):
    c[...] = False
    for i in _:
        c[i] = coalesce(a[~(i - 1)], True) & a[i] & coalesce(a[~(i + 1)], True)
    return c


def row_by_row(c, a):
    c[...] = 0
    for i in _:
        t = Tensor(Dense(Element(0.0)))
        for j in _:
            t[j] = 2.0 * a[i, j]
        for j in _:
            c[i, j] = coalesce(t[~(j - 1)], 0.0) + t[j]
    return c


def counts(c, a):
    c[...] = 0
    for i in _:
        c[a[i] // np.uint8(16)] += 1
    return c


def unseen(y, seen, A):
    for i in _:
        if not seen[i]:
            s = Scalar(0)
            for j in _:
                if A[i, j]:
                    s[()] += j
            y[i] += s[()]
    return y


def ready(y, seen, A):
    for i in _:
        if seen[i]:
            for j in _:
                y[i] += A[i, j] * j
    return y


def sums(c, a, b):
    for i, j in _:
        if b[i, j] > 0:
            c[a[i, j] // np.uint8(16)] += b[i, j]
    return c


def with_and_without(function, rule, out, format, cases, backend):
    """The assembly with a rule and without; on all cases both must do what NumPy does."""
    texts = []
    for disabled in (frozenset(), frozenset({rule})):
        run = Kernel(function, Options(backend=backend, disabled=disabled))
        for arrays in cases:
            tensors = [Tensor(format, array) for array in arrays]
            expected = run.reference(out(), *tensors)
            np.testing.assert_array_equal(run(out(), *tensors).to_numpy(), expected)
        texts.append(run.lower(out(), *tensors).as_text("assembly"))
    return texts


def smooth(n, seed, values=(0.0, 1.0)):
    rng = np.random.default_rng(seed)
    return np.repeat(rng.choice(values, n), rng.integers(1, 4, n))[:n]


BACKENDS = pytest.mark.parametrize("backend", ["interpreter", "c"])


@BACKENDS
def test_steps_that_do_not_ask_where_they_end_are_not_told_apart(backend):
    cases = [[smooth(n, seed) != 0 for seed in range(3)] for n in (0, 1, 2, 30)]
    new, old = with_and_without(both, "steady", lambda: Tensor(RUNS), RUNS, cases, backend)
    assert new.count("append_left_right_int64(") < old.count("append_left_right_int64(")


@BACKENDS
def test_runs_that_cover_merge_in_one_loop_without_branches(backend):
    cases = [[smooth(n, seed, (0.0, 1.0, 2.0)) for seed in range(3)] for n in (0, 1, 2, 30)]
    new, old = with_and_without(total, "steady", lambda: Tensor(COVER), COVER, cases, backend)
    assert 2 * len(new.splitlines()) < len(old.splitlines())


@BACKENDS
@pytest.mark.parametrize("format", [RUNS, SparseList(Element(False)), Dense(Element(False))])
def test_a_stretch_of_at_most_one_index_has_no_loop(backend, format):
    cases = [[smooth(n, 1) != 0] for n in (0, 1, 2, 3, 30)]
    new, old = with_and_without(narrowed, "points", lambda: Tensor(format), format, cases, backend)
    assert len(new.splitlines()) <= len(old.splitlines())
    if format == RUNS:
        assert new.count("while") < old.count("while")


@BACKENDS
def test_the_dimensions_of_a_local_are_set_once(backend):
    matrix, rng = Dense(Dense(Element(0.0))), np.random.default_rng(0)
    shapes = [(0, 0), (0, 3), (3, 0), (1, 1), (4, 5)]
    cases = [[rng.integers(0, 9, shape).astype(float)] for shape in shapes]
    new, old = with_and_without(
        row_by_row, "locals", lambda: Tensor(matrix), matrix, cases, backend
    )
    assert new.index("t_n0 = ") < new.index("for i in") < old.index("t_n0 = ")
    assert "fill(" not in new


# -- values that a dtype bounds ---------------------------------------------------------------


@BACKENDS
@pytest.mark.parametrize("bins", [16, 300])
def test_a_bound_that_no_loop_changes_comes_first(backend, bins):
    grey = np.random.default_rng(0).integers(0, 256, 50).astype(np.uint8)
    out = lambda: Tensor(Dense(Element(0)), (bins,))  # noqa: E731
    new, old = with_and_without(
        counts, "ranges", out, Dense(Element(np.uint8(0))), [[grey]], backend
    )
    assert "15 >= c_n0 and" in new
    assert "uint64(" in old
    assert "uint64(" not in new


@pytest.mark.parametrize("disabled", [frozenset(), frozenset({"ranges"})])
def test_an_index_beyond_is_refused_all_the_same(disabled):
    run = Kernel(counts, Options(disabled=disabled))
    grey = np.array([0, 15, 16, 159, 160], np.uint8)
    c = Tensor(Dense(Element(0)), (10,))
    with pytest.raises(OutOfBounds, match="index 10 is out of bounds"):
        run(c, grey)
    np.testing.assert_array_equal(
        run(c, grey[:-1]).to_numpy(), np.bincount(grey[:-1] // 16, minlength=10)
    )


BYTE = Load(Buffer("a", np.dtype(np.uint8)), Literal(0, INTP))
SIGNED = Load(Buffer("b", np.dtype(np.int16)), Literal(0, INTP))
WIDE = Load(Buffer("d", np.dtype(np.uint64)), Literal(0, INTP))


def u8(value):
    return Literal(np.uint8(value), np.dtype(np.uint8))


@pytest.mark.parametrize(
    ("expr", "expected"),
    [
        (BYTE, (0, 255)),
        (cast(BYTE, INTP), (0, 255)),
        (SIGNED, (-(2**15), 2**15 - 1)),
        (WIDE, None),
        (cast(WIDE, INTP), None),
        (Var("n", INTP), None),
        (call(prim.floordiv, BYTE, u8(16)), (0, 15)),
        (call(prim.mod, BYTE, u8(10)), (0, 9)),
        (call(prim.bitand, BYTE, u8(7)), (0, 7)),
        (call(prim.rshift, BYTE, u8(4)), (0, 15)),
        (call(prim.floordiv, BYTE, u8(0)), (0, 255)),
        (call(prim.add, BYTE, u8(1)), (0, 255)),
        (cast(call(prim.bitand, WIDE, Literal(np.uint64(31), np.dtype(np.uint64))), INTP), (0, 31)),
        (cast(SIGNED, np.dtype(np.uint8)), (0, 255)),
    ],
)
def test_ranges(expr, expected):
    assert range_of(expr, {}) == expected


@BACKENDS
@pytest.mark.parametrize("function", [unseen, ready])
def test_turns_that_a_test_rules_out_are_left_out_by_blocks(backend, function):
    rng = np.random.default_rng(0)
    for disabled in (frozenset(), frozenset({"predicate_compaction"})):
        run = Kernel(function, Options(backend=backend, disabled=disabled))
        for n in (0, 1, 63, 64, 65, 130):
            A = Tensor(Dense(SparseList(Pattern())), rng.random((n, 9)) < 0.3)
            seen, y = rng.random(n) < 0.5, rng.integers(0, 9, n)
            expected = run.reference(y, seen, A)
            np.testing.assert_array_equal(run(y, seen, A), expected)
        assert ("ctz" in run.lower(y, seen, A).as_text("assembly")) == (not disabled)


@BACKENDS
@pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.int16])
@pytest.mark.parametrize("bins", [4, 16, 20])
def test_values_that_scatter_over_few_elements_are_added_in_banks(backend, dtype, bins):
    rng = np.random.default_rng(0)
    for disabled in (frozenset(), frozenset({"privatization"})):
        run = Kernel(sums, Options(backend=backend, disabled=disabled))
        for shape in ((0, 3), (1, 1), (15, 7), (16, 7), (40, 9)):
            a = rng.integers(0, min(256, 16 * bins), shape).astype(np.uint8)
            b, c = rng.integers(-9, 99, shape).astype(dtype), rng.integers(0, 99, bins)
            c = c.astype(dtype)
            expected = run.reference(c, a, b)
            np.testing.assert_array_equal(run(c, a, b), expected)
        assert ("# banks" in run.lower(c, a, b).as_text("assembly")) == (not disabled)


@BACKENDS
def test_a_failure_leaves_what_was_added_before(backend):
    a = np.full((40, 3), 16, np.uint8)
    a[30, 1], b = 255, np.ones((40, 3), np.int64)
    found = []
    for disabled in (frozenset(), frozenset({"privatization"})):
        run, c = Kernel(sums, Options(backend=backend, disabled=disabled)), np.zeros(4, np.int64)
        with pytest.raises(OutOfBounds):
            run(c, a, b)
        found.append(c.tolist())
    assert found[0] == found[1]


def neighbours(c, a, n):
    c[...] = 0
    for i in range(n):
        for j in _:
            c[i] += a[i, j] * coalesce(a[i, ~(j - 1)], 0.0) + coalesce(a[~(i + 1), j], 0.0)
    return c


def shifted(c, a, n):
    c[...] = 0
    for i in range(n):
        for k in range(2):
            for j in _:
                c[i] += coalesce(a[~(i + k), j], 0.0) * coalesce(a[~(i + k), ~(j + 1)], 0.0)
    return c


def refilled(b, t, a, c):
    """The same tensor is read twice, with other contents."""
    t[...] = 0
    for j in _:
        t[j] = a[j]
    for j in _:
        b[()] += t[j] * t[j]
    t[...] = 0
    for j in _:
        t[j] = c[j]
    for j in _:
        b[()] += t[j] * t[j]
    return b, t


@pytest.mark.parametrize("backend", ["interpreter", "c"])
@pytest.mark.parametrize("function", [neighbours, shifted])
@pytest.mark.parametrize("level", [SparseList, SparseBand])
def test_what_two_reads_of_a_row_load_is_loaded_once(backend, function, level):
    data = np.array([[0.0, 2.0, 3.0, 0.0], [4.0, 5.0, 0.0, 0.0], [0.0, 6.0, 7.0, 8.0]])
    a, texts = Tensor(Dense(level(Element(0.0))), data), []
    for disabled in (frozenset(), frozenset({"available_expressions"})):
        run = Kernel(function, Options(backend=backend, disabled=disabled))
        expected = run.reference(np.zeros(3), a, 3)
        np.testing.assert_array_equal(run(np.zeros(3), a, 3), expected)
        texts.append(run.lower(np.zeros(3), a, 3).as_text("assembly"))
    pointer = "A1_ptr[" if level is SparseList else "A1_ofs["
    fewer, more = (text.replace("a1_", "A1_").count(pointer) for text in texts)
    assert fewer < more


@pytest.mark.parametrize("backend", ["interpreter", "c"])
@pytest.mark.parametrize("level", [SparseList, SparseBand])
def test_what_a_kernel_changes_is_loaded_again(backend, level):
    run, format = Kernel(refilled, Options(backend=backend)), level(Element(0.0))
    first, second = np.array([0.0, 3.0, 0.0, 0.0, 0.0]), np.array([0.0, 1.0, 2.0, 0.0, 0.0])
    given = Scalar(0.0), Tensor(format, (5,)), Tensor(format, first), Tensor(format, second)
    assert run(*given)[0].value == 1 + 4 + 9


def chosen_2(y, A, p):
    for i in _:
        y[i] = (A[i, p[0]] if p[0] > 0 else 0.0) - (A[i, p[1]] if p[1] > 0 else 7.0)


def chosen_4(y, A, p):
    for i in _:
        y[i] = (
            (A[i, p[0]] if p[0] > 0 else 0.0) - (A[i, p[1]] if p[1] > 0 else 7.0)
            + (A[i, p[2]] if p[2] > 0 else 5.0) * (A[i, p[3]] if p[3] > 0 else 2.0)
        )  # fmt: skip


def chosen_6(y, A, p):
    for i in _:
        y[i] = (
            (A[i, p[0]] if p[0] > 0 else 0.0) - (A[i, p[1]] if p[1] > 0 else 7.0)
            + (A[i, p[2]] if p[2] > 0 else 5.0) * (A[i, p[3]] if p[3] > 0 else 2.0)
            + (A[i, p[4]] if p[4] > 0 else 3.0) - (A[i, p[5]] if p[5] > 0 else 1.0)
        )  # fmt: skip


@pytest.mark.filterwarnings("ignore::finch_core.errors.PerformanceWarning")
@pytest.mark.parametrize("backend", ["interpreter", "c"])
def test_each_look_up_under_a_condition_adds_as_much_code(backend):
    """They may fail, which must not double the code after each of them."""
    data = np.random.default_rng(4).random((3, 4)) * (np.arange(12).reshape(3, 4) % 3 > 0)
    A, sizes = Tensor(Dense(SparseList(Element(0.0))), data), []
    for function in (chosen_2, chosen_4, chosen_6):
        run = Kernel(function, Options(backend=backend))
        p = np.zeros(6, np.int64)
        sizes.append(len(run.lower(np.zeros(3), A, p).as_text("assembly").splitlines()))
        for p in ([1, 2, 3, 1, 2, 3], [0, 3, 0, -1, 1, -9], [0] * 6):
            found, wanted = np.zeros(3), np.zeros(3)
            run(found, A, np.array(p))
            for i in range(3):
                function_of_row(function, wanted, data, p, i)
            assert np.array_equal(found, wanted)
        for k in range({chosen_2: 2, chosen_4: 4, chosen_6: 6}[function]):
            p = np.ones(6, np.int64)
            p[k] = 4
            with pytest.raises(OutOfBounds, match="index 4 is out of bounds for dimension 1 of A"):
                run(np.zeros(3), A, p)
    assert sizes[2] - sizes[1] <= 1.5 * (sizes[1] - sizes[0])


def function_of_row(function, y, A, p, i):
    """One turn of the loop of a function of this page, by NumPy."""
    terms = [A[i, p[k]] if p[k] > 0 else other for k, other in enumerate((0, 7, 5, 2, 3, 1))]
    y[i] = terms[0] - terms[1]
    if function is not chosen_2:
        y[i] += terms[2] * terms[3]
    if function is chosen_6:
        y[i] = y[i] + terms[4] - terms[5]
