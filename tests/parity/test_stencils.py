"""Tensors read at many shifts, with something beyond their borders: what comes out is right, and
the code grows with the number of reads."""

import itertools
import linecache
import re

import numpy as np
import pytest

from finch_core import Tensor, _, coalesce, kernel
from finch_core.plugins import hub
from finch_core.testing import backend_names
from finch_core.testing.arrays import array
from finch_core.testing.formats import admit, leaf, level_names, nest
from finch_levels import Dense, Element, RunList, Scalar, SparseBand, SparseList


def made(sides, default="0"):
    """The sum over a window of ``sides`` indices around each, beyond the borders too."""
    indices = "ij"[: len(sides)]
    shifts = itertools.product(*(range(-(side // 2), side - side // 2) for side in sides))
    reads = []
    for shift in shifts:
        at = ", ".join(f"~({i} - {by})" for i, by in zip(indices, shift, strict=True))
        reads.append(f"coalesce(A[{at}], {default})")
    lines = ["def program(C, A, n):", "    C[...] = 0"]
    for depth, i in enumerate(indices):
        lines.append("    " * (depth + 1) + f"for {i} in range(-2, n + 3):")
    lines.append("    " * (len(indices) + 1) + f"C[()] += {' + '.join(reads)}")
    return compiled("\n".join([*lines, "    return C"]))


def compiled(text):
    linecache.cache[f"<{text}>"] = (len(text), None, text.splitlines(keepends=True), f"<{text}>")
    scope = {"coalesce": coalesce, "_": _}
    exec(compile(text, f"<{text}>", "exec"), scope)
    return scope["program"]


def lines_of(program, format):
    lowered = kernel(backend="interpreter")(program).lower(Scalar(0.0), Tensor(format), 5)
    return len(lowered.as_text("assembly").splitlines())


def formats(rank):
    return {
        name: nest([Dense] * (rank - 1) + [hub().levels[name]], leaf()) for name in level_names()
    }


@pytest.mark.sampled(0.29)
@pytest.mark.parametrize("level", level_names())
@pytest.mark.parametrize("default", ["0", "7"])
def test_code_grows_with_the_number_of_shifts(level, default):
    format = formats(1)[level]
    six, nine, more = (lines_of(made([side], default), format) for side in (6, 9, 12))
    assert more - nine < 1.2 * (nine - six) + 20
    assert more < 60 * 12


@pytest.mark.parametrize("level", [SparseList, SparseBand])
def test_a_default_that_is_the_fill_takes_no_phases(level):
    format = level(Element(7.0))
    assert lines_of(made([6], "7"), format) < 0.7 * lines_of(made([6], "0"), format)


@pytest.mark.sampled(0.29)
@pytest.mark.parametrize("level", level_names())
@pytest.mark.parametrize("name", ["made", "product"])
def test_code_grows_with_the_size_of_a_window(level, name):
    format = formats(2)[level]
    program = globals()[name]
    assert lines_of(program((3, 3)), format) < 100 * 9
    assert lines_of(program((5, 5)), format) < 80 * 25


def product(sides):
    """A tensor times the sum over a window around each of its elements."""
    shifts = itertools.product(*(range(-(side // 2), side - side // 2) for side in sides))
    reads = " + ".join(f"coalesce(A[~(i + {p}), ~(j + {q})], 0)" for p, q in shifts)
    lines = ["def program(C, A, n):", "    C[...] = 0", "    for i, j in _:"]
    return compiled("\n".join([*lines, f"        C[()] += A[i, j] * ({reads})", "    return C"]))


def check(program, tensors, backend):
    for tensor, n in tensors:
        run = kernel(backend=backend)(program)
        expected = run.reference(Scalar(0.0), tensor, n)
        np.testing.assert_array_equal(run(Scalar(0.0), tensor, n).value, expected)


def drawn(format, rank, sizes):
    for n, kind in itertools.product(sizes, ("sparse", "full", "last")):
        data = admit(format, array((n,) * rank, kind=kind, seed=n))
        yield Tensor(format, data), n


@pytest.mark.sampled(0.29)
@pytest.mark.parametrize("level", level_names())
@pytest.mark.parametrize(("sides", "default"), [((3,), "7"), ((6,), "0")])
def test_shifts_of_a_vector(level, sides, default):
    format = formats(1)[level]
    program = made(sides, default)
    check(program, drawn(format, 1, (0, 1, 9)), "interpreter")


@pytest.mark.sampled(0.29)
@pytest.mark.parametrize("level", level_names())
@pytest.mark.parametrize("default", ["0", "7"])
def test_windows_of_a_matrix(level, default):
    format = formats(2)[level]
    check(made((3, 3), default), drawn(format, 2, (0, 4)), "interpreter")


@pytest.mark.parametrize("level", [Dense, SparseList, RunList, SparseBand])
def test_windows_in_every_backend(level):
    format = Dense(level(Element(0.0)))
    for program in (made((5, 5), "7"), product((3, 3))):
        for backend in backend_names():
            check(program, drawn(format, 2, (0, 2, 6) if backend == "c" else (3,)), backend)


def test_windows_into_an_array_have_no_case_for_every_row():
    reads = " + ".join(
        f"coalesce(A[~(i + {p}), ~(j + {q})], 0)" for p in (-1, 0, 1) for q in (-1, 0, 1)
    )
    lines = ["def program(C, A, n):", "    C[...] = 0", "    for i in range(n):"]
    lines += ["        for j in range(n):", f"            C[i, j] = {reads}", "    return C"]
    run = kernel(backend="interpreter")(compiled("\n".join(lines)))
    data = array((5, 5), kind="sparse", seed=1)
    given = (
        Tensor(Dense(Dense(Element(0.0))), (5, 5)),
        Tensor(Dense(SparseList(Element(0.0))), data),
    )
    assert len(run.lower(*given, 5).as_text("assembly").splitlines()) < 500
    np.testing.assert_array_equal(run(*given, 5).to_numpy(), run.reference(*given, 5))


@pytest.mark.parametrize("level", [SparseList, RunList])
@pytest.mark.parametrize("dtype", [np.float64, np.int8])
def test_weighted_windows_are_merged_in_groups(level, dtype):
    weights = {(p, q): 3 * p - q + 2 for p in (-1, 0, 1) for q in (-1, 0, 1)}
    terms = [f"{w} * coalesce(A[~(i + {p}), ~(j + {q})], 0)" for (p, q), w in weights.items()]
    lines = ["def program(C, A):", "    C[...] = 0", "    for i, j in _:"]
    program = compiled(
        "\n".join([*lines, f"        C[i, j] = {' + '.join(terms)}", "    return C"])
    )
    run, format = kernel(backend="interpreter")(program), Dense(level(Element(dtype(0))))
    data = (40 * array((6, 6), kind="sparse", seed=2)).astype(dtype)
    expected = run.reference(Tensor(format, (6, 6)), Tensor(format, data))
    out, tensor = Tensor(format, (6, 6)), Tensor(format, data)
    np.testing.assert_array_equal(run(out, tensor).to_numpy(), expected)
    assert run.lower(out, tensor).as_text("assembly").count("mut j_first") == 3


@pytest.mark.parametrize("bands", [((0, 3), (2, 9), (4, 4), (7, 9)), ((0, 1), (8, 9), (3, 4))])
def test_bands_are_read_by_tests_only_where_they_are(bands):
    """Bands that overlap, and some that do not: nothing is written between them."""
    names = [f"T{k}" for k in range(len(bands))]
    reads = [f"coalesce({name}[~(i + {k})], 0)" for name in names for k in (-3, 0, 1)]
    lines = [f"def program(C, {', '.join(names)}, n):", "    C[...] = 0", "    for i in range(n):"]
    run = kernel(backend="interpreter")(
        compiled("\n".join([*lines, f"        C[i] = {' + '.join(reads)}", "    return C"]))
    )
    vectors = np.zeros((len(bands), 9))
    for vector, (start, stop) in zip(vectors, bands, strict=True):
        vector[start:stop] = range(1, stop - start + 1)
    given = [Tensor(SparseBand(Element(0.0)), vector) for vector in vectors]
    out = Tensor(SparseList(Element(0.0)), (9,))
    expected = run.reference(Tensor(SparseList(Element(0.0)), (9,)), *given, 9)
    np.testing.assert_array_equal(run(out, *given, 9).to_numpy(), expected)
    assert out.nstored == np.count_nonzero(expected)
    assert "covered" in run.lower(out, *given, 9).as_text("assembly")


def windowed(terms):
    """The kernel that adds up these terms of the places of ``A``."""
    lines = ["def program(C, A):", "    C[...] = 0", "    for i, j in _:"]
    return compiled("\n".join([*lines, f"        C[i, j] = {' + '.join(terms)}", "    return C"]))


COLUMNS = {
    "one position": ("", (-1, 0, 1), 3),
    "in squares": ("{0} * {0}", (-2, -1, 0, 1, 2), 3),
    "weights": ("{1} * {0}", (-1, 0, 1), 9),
    "backwards": ("", (1, 0, -1), 9),
    "every other": ("", (-2, 0, 2), 9),
    "twice": ("", (0, 1, 0, 1, 2), 9),
}
"""Terms, shifts, and how many positions three rows take."""


@pytest.mark.parametrize("backend", backend_names())
@pytest.mark.parametrize("name", COLUMNS)
def test_reads_of_one_list_next_to_each_other_have_one_position(backend, name):
    """Their terms are alike, and each is an index ahead of the one before it."""
    term, columns, positions = COLUMNS[name]
    reads = [f"coalesce(A[~(i + {p}), ~(j + {q})], 0)" for p in (-1, 0, 1) for q in columns]
    terms = [(term or "{0}").format(read, k + 1) for k, read in enumerate(reads)]
    run, format = kernel(backend=backend)(windowed(terms)), Dense(SparseList(Element(0.0)))
    for kind, n in itertools.product(("sparse", "full", "last"), (1, 2, 9)):
        data = np.abs(array((n, n), kind=kind, seed=n))
        out, tensor = Tensor(format, (n, n)), Tensor(format, data)
        expected = run.reference(Tensor(format, (n, n)), tensor)
        np.testing.assert_array_equal(run(out, tensor).to_numpy(), expected)
        assert out.nstored == np.count_nonzero(expected)
    text = run.lower(out, tensor).as_text("assembly")
    inner = text[: text.index("else:")]
    moved = set(re.findall(r"(A1_p\w*) \+= 1", inner))
    assert len(moved) == positions


@pytest.mark.parametrize("shifts", [(-1, 0, 1), (0, 2), (-3, 0, 1, 2), (1, 4, 8)])
@pytest.mark.parametrize("result", [Dense, SparseList, SparseBand])
def test_blocks_that_are_shifted_cover_a_range(shifts, result):
    """One test for all whose shifts follow each other; nothing is stored between others, nor for
    rows without a block."""
    reads = [f"coalesce(A[~(i + {p}), ~(j + {q})], 0)" for p in (-1, 0, 1) for q in shifts]
    run, format = kernel(backend="interpreter")(windowed(reads)), Dense(SparseBand(Element(0.0)))
    bands = [
        (0, 0),
        (0, 0),
        (0, 0),
        (2, 3),
        (7, 11),
        (0, 11),
        (0, 0),
        (4, 6),
        (0, 0),
        (0, 0),
        (0, 0),
    ]
    data = np.zeros((11, 11))
    for row, (start, stop) in zip(data, bands, strict=True):
        row[start:stop] = range(1, stop - start + 1)
    out, tensor = Tensor(Dense(result(Element(0.0))), data.shape), Tensor(format, data)
    expected = run.reference(Tensor(out.format, data.shape), tensor)
    np.testing.assert_array_equal(run(out, tensor).to_numpy(), expected)
    if result is SparseList:
        assert out.nstored == np.count_nonzero(expected)
    if result is SparseBand:
        stored = [np.flatnonzero(row) for row in expected]
        assert out.nstored == sum(found[-1] - found[0] + 1 for found in stored if len(found))
    text = run.lower(out, tensor).as_text("assembly")
    runs = sum(shift - 1 not in shifts for shift in shifts)
    covered = next(line for line in text.splitlines() if "j_covered:" in line)
    assert covered.count("ifelse(") == 3 * runs
