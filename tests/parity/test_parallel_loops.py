"""Parallel loops: the same bits on any number of threads, in C and in the interpreter, which runs
parts out of order; and those of the sequential loop, where its order does not matter."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
from parallel_kernels import spgemm, spmv

from finch_core import FormatError, RaceError, Tensor, _, kernel, maxby, parallel, set_threads
from finch_core.runtime.kernel import Kernel
from finch_core.runtime.options import Options
from finch_core.runtime.validation import validate
from finch_core.testing import backend_names
from finch_levels import (
    Dense,
    Element,
    Pattern,
    RunList,
    Scalar,
    SparseBand,
    SparseByteMap,
    SparseCOO,
    SparseHash,
    SparseList,
    SparseRunList,
)
from finch_wrappers import swizzle, toeplitz, window

BACKENDS = backend_names()
THREADS = (1, 2, 3, 7)


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    yield
    set_threads(None)


def shifted(y, x):
    for i in parallel(range(1, len(x) - 1)):
        y[i - 1] = x[i - 1] + x[i] + x[i + 1]


def blocks(y, x):
    for i in parallel(range(len(x))):
        for k in range(3):
            y[3 * i + k] = x[i] + k


def flattened(y, A, n):
    for i in parallel(_):
        for j in range(n):
            y[i * n + j] = A[i, j]


def doubled(A):
    for i in parallel(_):
        for j in _:
            A[i, j] *= 2


def total(s, A):
    s[...] = 0
    for i in parallel(_):
        for j in _:
            s[()] += A[i, j]


def less(s, A):
    for i in parallel(_):
        for j in _:
            s[()] -= A[i, j]


def largest(s, x):
    for i in parallel(_):
        s[()] = max(s[()], x[i])


def where_largest(m, x):
    for i in parallel(_):
        m[()] = maxby(m[()], (x[i], i))


def names(s, A):
    n = 0
    for i in parallel(_):
        t = 0
        for j in _:
            t += A[i, j]
        if t > 2:
            n += 1
            continue
        n += t
    s[()] = n


def histogram(h, x):
    for i in parallel(_):
        h[x[i] % 8] += 1


def transposed_sums(C, A):
    C[...] = 0
    for i in parallel(_):
        for j in _:
            C[j, i % 2] += A[i, j]


def filtered(C, A):
    C[...] = 0
    for i in parallel(_):
        for j in _:
            if A[i, j] > 2:
                C[i, j] = A[i, j]


def inside(s, A, x):
    s[...] = 0
    for t in range(3):
        for i in parallel(_):
            for j in _:
                s[t] += A[i, j] * x[j]


def both(y, s, h, A):
    y[...] = 0
    for i in parallel(_):
        for j in _:
            y[i] += A[i, j]
            s[()] += A[i, j]
            h[j] += 1


def long_rows(y, A, x):
    for i in _:
        for j in parallel(_):
            y[i] += A[i, j] * x[j]


def into_two(y, D, A):
    for i in _:
        for j in parallel(_):
            y[i] -= A[i, j]
            D[i, i] += A[i, j] + j


def every_third(y, A, x):
    for i in parallel(range(1, len(y), 3)):
        for j in _:
            y[i] += A[i, j] * x[j]


def downwards(y, A, x):
    for i in parallel(range(len(y) - 1, -1, -1)):
        for j in _:
            y[i] = max(y[i], A[i, j] * x[j])


def by_twos_down(y, s, x):
    for i in parallel(reversed(range(0, len(y), 2))):
        y[i] = x[i]
        s[()] += x[i]


def stepped(y, x, a, b, c):
    for i in parallel(range(a, b, c)):
        y[i] = x[i] + i


def last_largest(m, x):
    for i in parallel(range(len(x) - 1, -1, -1)):
        m[()] = maxby(m[()], (x[i], i))


def some_rows(C, A):
    C[...] = 0
    for i in parallel(range(0, 23, 4)):
        for j in _:
            C[i, j] = A[i, j]


def rows_down(C, A):
    C[...] = 0
    for i in parallel(reversed(range(23))):
        for j in _:
            C[i, j] = A[i, j]


RNG = np.random.default_rng(5)
N = 23
DATA = RNG.integers(1, 9, (N, N)) * (RNG.random((N, N)) < 0.3)
X = RNG.integers(0, 100, N)
POWER = DATA * (RNG.random((N, 1)) < 0.2) + (np.arange(N) == 4)[:, None]


def of(data: Any, *levels: Any, leaf: Any = None) -> Tensor:
    data = np.asarray(data)
    format = Element(data.dtype.type(0)) if leaf is None else leaf
    for level in reversed(levels):
        format = level(format)
    return Tensor(format, data)


def csr(data: Any = DATA) -> Tensor:
    return of(data, Dense, SparseList)


Case = tuple[Callable[..., None], Callable[[], tuple[Any, ...]]]
FORMATS: dict[str, Callable[[], Any]] = {
    "csr": csr,
    "scipy": lambda: sp.csr_array(DATA),
    "dcsr": lambda: of(DATA, SparseList, SparseList),
    "array": DATA.copy,
    "hash": lambda: of(DATA, Dense, SparseHash),
    "runs": lambda: of(DATA, Dense, RunList),
    "bands": lambda: of(DATA, Dense, SparseBand),
    "coo": lambda: Tensor(SparseCOO(SparseCOO(Element(0))), DATA),
    "empty": lambda: csr(np.zeros((0, N), int)),
    "one": lambda: csr(np.ones((1, N), int)),
    "power": lambda: csr(POWER),
}
CASES: dict[str, Case] = {
    "shifted": (shifted, lambda: (np.zeros(N, int), X)),
    "blocks": (blocks, lambda: (np.zeros(3 * N, int), X)),
    "flattened": (flattened, lambda: (np.zeros(N * N, int), DATA, N)),
    "doubled array": (doubled, lambda: (DATA.copy(),)),
    "doubled csr": (doubled, lambda: (csr(),)),
    "doubled hash": (doubled, lambda: (of(DATA, Dense, SparseHash),)),
    "largest": (largest, lambda: (Scalar(-1), X)),
    "where largest": (where_largest, lambda: (Scalar((-1, -1)), X % 7)),
    "names": (names, lambda: (np.zeros((), int), csr())),
    "histogram": (histogram, lambda: (np.zeros(8, int), X)),
    "sums": (transposed_sums, lambda: (np.zeros((N, 2), int), csr())),
    "spgemm": (spgemm, lambda: (csr(np.zeros((N, N), int)), csr(), csr(DATA.T.copy()))),
    "filtered": (filtered, lambda: (csr(np.zeros((N, N), int)), csr())),
    "both": (
        both, lambda: (np.zeros(N, int), Scalar(0), np.zeros(N, int), csr()),
    ),
}  # fmt: skip
for bounds in ((0, N, 5), (N - 1, -1, -2), (N - 1, 3, -7), (4, 4, 3), (9, 2, 1), (2, 20, -1)):
    CASES[f"stepped {bounds}"] = stepped, lambda bounds=bounds: (np.zeros(N, int), X, *bounds)
CASES |= {
    "long rows": (long_rows, lambda: (np.ones(N, int), csr(), np.arange(N))),
    "long rows of an array": (long_rows, lambda: (np.ones(N, int), DATA, np.arange(N))),
    "into two": (into_two, lambda: (np.ones(N, int), np.ones((N, N), int), csr())),
    "no rows": (long_rows, lambda: (np.zeros(0, int), csr(np.zeros((0, N), int)), np.arange(N))),
    "no columns": (long_rows, lambda: (np.ones(3, int), np.zeros((3, 0), int), np.zeros(0, int))),
    "every third": (every_third, lambda: (np.zeros(N, int), csr(), np.arange(N))),
    "downwards": (downwards, lambda: (np.zeros(N, int), csr(), np.arange(N))),
    "by twos down": (by_twos_down, lambda: (np.zeros(N, int), Scalar(0), X)),
    "last largest": (last_largest, lambda: (Scalar((-1, -1)), X % 7)),
    "some rows": (some_rows, lambda: (csr(np.zeros((N, N), int)), csr())),
    "rows of hashes down": (
        rows_down, lambda: (of(np.zeros((N, N), int), Dense, SparseHash), csr()),
    ),
}  # fmt: skip
for form, make in FORMATS.items():
    CASES[f"spmv {form}"] = spmv, lambda make=make: (
        np.zeros(make().shape[0], int), make(), np.arange(N)
    )  # fmt: skip
    CASES[f"total {form}"] = total, lambda make=make: (Scalar(0), make())
    CASES[f"less {form}"] = less, lambda make=make: (Scalar(0), make())


def plain(value: Any) -> Any:
    if isinstance(value, Tensor):
        validate(value)
        parts = {name: array.tobytes() for name, array in value.buffers.items()}
        return value.to_numpy().tobytes(), value.nstored, parts
    return value.tobytes() if isinstance(value, np.ndarray) else None


def dense(value: Any) -> Any:
    return value.toarray() if sp.issparse(value) else np.asarray(value)


def outcome(function: Any, make: Any, backend: str, threads: int = 1, work: int = 16) -> Any:
    """The arguments after a call, and again after a second one."""
    set_threads(threads)
    kernel = Kernel(function, Options(backend=backend, least_work=work))
    args = make()
    kernel(*args)
    first = [plain(arg) for arg in args]
    kernel(*args)
    return first, [plain(arg) for arg in args], [dense(arg) for arg in args]


@pytest.mark.parametrize("name", CASES)
def test_bits_do_not_depend_on_threads(name: str) -> None:
    function, make = CASES[name]
    expected = outcome(function, make, "interpreter")
    for threads in THREADS:
        found = outcome(function, make, BACKENDS[-1], threads)
        assert found[:2] == expected[:2], threads


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("backend", BACKENDS)
def test_results_are_those_of_the_plain_loops(name: str, backend: str) -> None:
    function, make = CASES[name]
    args = make()
    wanted = Kernel(function, Options()).reference(*args)
    kernel = Kernel(function, Options(backend=backend, least_work=16))
    set_threads(3)
    kernel(*args)
    names_ = function.__code__.co_varnames
    for parameter, arg in zip(names_, args, strict=False):
        if parameter in wanted:
            np.testing.assert_array_equal(dense(arg), wanted[parameter], err_msg=parameter)


def test_floats_are_the_same_bits_on_any_number_of_threads() -> None:
    data = RNG.random((200, 200)) - 0.5
    make = lambda: (Scalar(0.0), data)  # noqa: E731
    found = {outcome(total, make, BACKENDS[-1], n)[0][0][0] for n in THREADS for _again in range(5)}
    assert len(found) == 1


def pattern(P, A):
    P[...] = False
    for i in parallel(_):
        for j in _:
            P[i, j] = A[i, j] > 2


def test_rows_of_a_pattern_are_joined() -> None:
    make = lambda: (Tensor(Dense(SparseList(Pattern())), DATA > 0), csr())  # noqa: E731
    expected = outcome(pattern, make, "interpreter")
    for threads in THREADS:
        assert outcome(pattern, make, BACKENDS[-1], threads)[:2] == expected[:2]
    assert np.array_equal(expected[2][0], DATA > 2)


def test_parallel_is_an_iterator_in_plain_python() -> None:
    assert list(parallel(range(2, 5))) == [2, 3, 4]
    y, x = np.zeros(4, int), np.arange(6)
    shifted(y, x)
    assert y.tolist() == [3, 6, 9, 12]


def test_a_parallel_loop_in_another_runs_in_order() -> None:
    def rows(C, A):
        for i in parallel(_):
            for j in parallel(_):
                C[i, j] = A[i, j] + 1

    kernel = Kernel(rows, Options(least_work=1))
    C = np.zeros((4, 5))
    kernel(C, np.ones((4, 5)))
    assert (C == 2).all()
    text = kernel.lower(C, C.copy()).as_text("assembly")
    assert text.count("in parallel(") == 1


def test_a_long_row_has_no_copies_of_the_result() -> None:
    text = Kernel(long_rows, Options()).lower(np.zeros(4), csr(), np.ones(N)).as_text("assembly")
    assert "for j_part in parallel(" in text
    assert "y1_val_part" not in text


def even(out, x):
    out[...] = 0
    for i in parallel(_):
        if x[i] % 2 == 0:
            out[i] = x[i]


def copied(C, A):
    C[...] = 0
    for i in parallel(_):
        for j in _:
            C[i, j] = A[i, j]


def summed(C, A):
    C[...] = 0
    for t in range(2):
        for i in parallel(_):
            for j in _:
                C[i, j] += A[i, j] + t


SPARSE = {
    "list": SparseList, "runs": RunList, "hash": SparseHash, "map": SparseByteMap,
    "sparse runs": SparseRunList,
}  # fmt: skip


@pytest.mark.sampled(0.29)
@pytest.mark.parametrize("outer", ["dense", *SPARSE])
@pytest.mark.parametrize("inner", SPARSE)
def test_rows_of_every_format_are_joined(outer: str, inner: str) -> None:
    first = SPARSE.get(outer, Dense)
    make = lambda: (of(np.zeros((N, N), int), first, SPARSE[inner]), csr())  # noqa: E731
    expected = outcome(copied, make, "interpreter")
    for threads in (1, 3):
        assert outcome(copied, make, BACKENDS[-1], threads)[:2] == expected[:2]
    np.testing.assert_array_equal(expected[2][0], DATA)


def deep(C, A):
    C[...] = 0
    for i in parallel(_):
        for j, k in _:
            C[i, j, k] = A[i, j, k]


@pytest.mark.parametrize("outer", ["dense", "list"])
@pytest.mark.parametrize("middle", ["dense", "list"])
def test_lists_below_lists_are_joined(outer: str, middle: str) -> None:
    """The positions of the third level are known when a part is joined, not before."""
    cube = np.stack([DATA, 0 * DATA, DATA.T], axis=1)
    levels = (SPARSE.get(outer, Dense), SPARSE.get(middle, Dense), SparseList)
    A, format = of(cube, Dense, Dense, SparseList), of(cube, *levels).format
    make = lambda: (Tensor(format), A)  # noqa: E731
    expected = outcome(deep, make, "interpreter")
    assert outcome(deep, make, BACKENDS[-1], 3)[:2] == expected[:2]
    np.testing.assert_array_equal(expected[2][0], cube)


@pytest.mark.parametrize("form", SPARSE)
def test_elements_of_every_format_are_joined(form: str) -> None:
    make = lambda: (of(np.zeros(N, int), SPARSE[form]), X)  # noqa: E731
    expected = outcome(even, make, "interpreter")
    assert outcome(even, make, BACKENDS[-1], 3)[:2] == expected[:2]
    np.testing.assert_array_equal(expected[2][0], X * (X % 2 == 0))


def by_two_loops(C, A, x, row):
    n = len(x)
    C[...] = 0
    for i in parallel(_):
        for j in _:
            C[i, j] = A[i, j]
        for j in range(n - 1, n):
            C[i, j] = x[i]
    for i in range(row, row + 1):
        for j in range(n - 1, n):
            C[i, j] = -1


@pytest.mark.parametrize("outer", ["dense", "list"])
@pytest.mark.parametrize("inner", ["list", "runs", "sparse runs"])
def test_a_turn_writes_its_row_by_two_loops(outer: str, inner: str) -> None:
    first, data = SPARSE.get(outer, Dense), DATA.copy()
    data[:, -1] = 0
    make = lambda row=N - 1: (  # noqa: E731
        of(np.zeros((N, N), int), first, SPARSE[inner]), csr(data), X + 1, row
    )  # fmt: skip
    expected = outcome(by_two_loops, make, "interpreter")
    if inner == "list":
        assert outcome(by_two_loops, make, BACKENDS[-1], 3)[:2] == expected[:2]
    data[:, -1], data[-1, -1] = X + 1, -1
    np.testing.assert_array_equal(expected[2][0], data)
    if inner == "list":
        with pytest.raises(FormatError, match="is not after all that its SparseList stores"):
            outcome(by_two_loops, lambda: make(0), "interpreter")


def test_rows_that_were_written_before_are_not_joined() -> None:
    with pytest.raises(RaceError, match="a SparseHash cannot take updates from several turns"):
        Kernel(summed, Options())(of(np.zeros((N, N), int), Dense, SparseHash), csr())
    C = np.zeros((N, N), int)
    Kernel(summed, Options(least_work=16))(C, csr())
    np.testing.assert_array_equal(C, 2 * DATA + 1)


def filled(C, A):
    for i in parallel(_):
        for j in _:
            C[i, j] = A[i, j] + i


@pytest.mark.parametrize("backend", BACKENDS)
def test_wrappers_keep_elements_apart(backend: str) -> None:
    kernel = Kernel(filled, Options(backend=backend, least_work=16))
    wanted = DATA + np.arange(N)[:, None]
    columns = of(np.zeros((N, N), int), Dense, Dense)
    kernel(swizzle(columns, (1, 0)), DATA)
    np.testing.assert_array_equal(columns.to_numpy(), wanted.T)
    wide = of(np.zeros((N + 2, N), int), Dense, Dense)
    kernel(window(wide, (1, N + 1), None), DATA)
    np.testing.assert_array_equal(wide.to_numpy()[1:-1], wanted)
    with pytest.raises(RaceError, match="may write what another writes"):
        kernel(toeplitz(of(np.zeros(2 * N, int), Dense), 0), DATA)


@kernel
def unread(x, c):
    s = 0.0
    for i in parallel(range(len(x))):
        s += x[i] * i
    c += min(c, s)
    return 3


@pytest.mark.parametrize("format", [Dense(Element(0.0)), SparseList(Element(0.0))], ids=str)
@pytest.mark.parametrize("backend", ["c", "interpreter"])
def test_a_sum_that_is_not_read_is_left_out(backend: str, format: Any) -> None:
    """Of a loop over what is stored, which does not end by itself, nothing is left to merge."""
    run = kernel(backend=backend)(unread.__wrapped__)
    assert run(Tensor(format, np.array([3.0, 0.0, 2.0])), 2) == 3
