"""What each rule, assembly pass and optimisation of the backend is worth: the same kernel with it
and without it, side by side."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import attrs
import numpy as np
import scipy.sparse

from bench import data as real
from bench import generators, stencils
from bench.harness import compare
from bench.hash import accumulate
from bench.parallel import mttkrp
from bench.whole import fibers_of_five, ttv_into, upper_inverse
from docs.examples import graphs, images, solvers, spgemm, tensors
from finch_core import Tensor, asarray, choose, follow
from finch_core.runtime.kernel import Kernel
from finch_core.runtime.options import Options
from finch_levels import (
    Dense,
    Element,
    Pattern,
    RunList,
    Scalar,
    ShortCircuitScalar,
    SparseBand,
    SparseBlockList,
    SparseByteMap,
    SparseDiagonals,
    SparseHash,
    SparseList,
    SparsePinpoint,
)
from finch_wrappers import swizzle

CSR = Dense(SparseList(Element(0.0), index=np.int32, pointer=np.int32))
VECTOR = Dense(Element(0.0))


def rows(y, A, x):
    y[...] = 0
    for i, j in _:
        y[i] += A[i, j] * x[j]
    return y


def columns(y, A, x):
    y[...] = 0
    for j, i in _:
        y[i] += A[j, i] * x[j]
    return y


def total(C, A, B):
    C[...] = 0
    for i, j in _:
        C[i, j] = A[i, j] + B[i, j]
    return C


def mixed(out, A, B):
    for i, j in _:
        out[i, j] = np.uint8(0.4 * A[i, j] + 0.5 * B[i, j])


def dropped(B, A):
    B[...] = 0
    for i, j in _:
        if abs(A[i, j]) > 0.3:
            B[i, j] = A[i, j]
    return B


def met(y, A, B):
    y[...] = 0
    for i, j in _:
        y[i] += A[i, j] * B[i, j]
    return y


def copied(c, a):
    c[...] = 0
    for i in _:
        c[i] = a[i]
    return c


def least(m, A):
    m[...] = np.inf
    for i, j in _:
        m[i] = min(m[i], A[i, j])
    return m


def greatest(m, A):
    m[...] = -np.inf
    for i, j in _:
        m[i] = np.maximum(m[i], A[i, j])
    return m


def even(c, a, b):
    c[...] = 0
    for i in _:
        if i % 2 == 0:
            c[i] = a[i] * b[i]
    return c


def shortest(D):
    for k, i, j in _:
        D[i, j] = min(D[i, j], D[i, k] + D[k, j])
    return D


def summed(y, A):
    y[...] = 0
    for i in _:
        s = Scalar(0.0)
        for j in _:
            s[()] += A[i, j]
        y[i] = s[()]
    return y


def seven_diagonals() -> tuple[Any, ...]:
    A = generators.diagonals(100_000, (-100, -10, -1, 0, 1, 10, 100))
    x = np.random.default_rng(0).random(A.shape[1])
    return Tensor(VECTOR), Tensor(Dense(SparseDiagonals(Element(0.0))), A), asarray(x)


def stored_by_columns() -> tuple[Any, ...]:
    generator = np.random.default_rng(0)
    A = swizzle(asarray(generator.random((1024, 1024))), (1, 0))
    return Tensor(VECTOR), A, asarray(generator.random(1024))


def banded_images() -> tuple[Any, ...]:
    """A disc, and what its windows are summed into."""
    image = next(image for name, _, image in stencils.images(1000) if name == "disc")
    format = Dense(SparseBand(Element(0.0)))
    return Tensor(format, image.shape), Tensor(format, image)


def short_rows() -> tuple[Any, ...]:
    A, B = np.random.default_rng(0).random((2, 50_000, 4))
    return np.empty_like(A), A, B


def byte_images() -> tuple[Any, ...]:
    image = generators.blobs(400, 400, 10.0)
    return Tensor(images.BYTES), Tensor(images.BYTES, image)


def run_images() -> tuple[Any, ...]:
    image = generators.blobs(400, 400, 10.0)
    return Tensor(images.RUNS), Tensor(images.RUNS, image != 0)


def masked_images() -> tuple[Any, ...]:
    image = generators.blobs(400, 400, 10.0)
    grey = np.random.default_rng(0).integers(0, 256, image.shape).astype(np.uint8)
    return Tensor(Dense(Element(0)), (16,)), asarray(grey), Tensor(images.RUNS, image != 0)


def photographed() -> tuple[Any, ...]:
    """A photograph, whose neighbouring pixels are often alike, and its dark parts as bytes."""
    picture = np.ascontiguousarray(next(real.packaged_pictures()).pictures[0])
    mask = real.thresholded(picture)
    return Tensor(Dense(Element(0)), (16,)), asarray(picture), asarray(mask)


FRONTIER = SparseByteMap(Pattern(), index=np.int32, pointer=np.int32)


def pull(next, frontier, AT, visited, parents):
    next[...] = False
    for j in _:
        if not visited[j]:
            p = ShortCircuitScalar(-1)
            for i in _:
                if frontier[follow(i)] and AT[j, i]:
                    p[()] = choose(-1)(p[()], i)
            if p[()] >= 0:
                next[j] |= True
                parents[j] = p[()]
    return next


def pull_arguments() -> tuple[Any, ...]:
    """A step of a search upwards, when a third of the vertices have been visited."""
    graph = generators.rmat(16, 16)
    size, rng = graph.shape[0], np.random.default_rng(0)
    frontier = Tensor(FRONTIER, rng.random(size) < 0.1)
    visited, parents = rng.random(size) < 0.3, np.full(size, -1, np.int32)
    return Tensor(FRONTIER), frontier, graphs.stored(graph.T), visited, parents


@attrs.frozen
class Case:
    """A program on data that shows what a pass, or a rule of lowering, does."""

    passes: tuple[str, ...]
    name: str
    function: Callable[..., Any]
    arguments: Callable[[], tuple[Any, ...]]


def rows_of(each: int, entries: int = 1_000_000) -> Callable[[], tuple[Any, ...]]:
    """SpMV of so many random entries, ``each`` in every row."""
    n = entries // each
    return lambda: (Tensor(VECTOR), random_csr(n, each), asarray(np.random.rand(n + each)))


def random_csr(n: int, each: int, seed: int = 0) -> Tensor:
    """``each`` entries in every row, at random columns."""
    rng = np.random.default_rng(seed)
    columns = np.sort(rng.integers(0, n, (n, each)), axis=1)
    columns += np.arange(each)  # strictly increasing
    buffers = {
        "1_ptr": np.arange(0, n * each + 1, each, dtype=np.int32),
        "1_idx": columns.ravel().astype(np.int32),
        "2_val": rng.random(n * each),
    }
    return Tensor.from_buffers(CSR, (n, n + each), buffers)


def sparse_arguments() -> tuple[Any, ...]:
    return Tensor(VECTOR), random_csr(100_000, 10), asarray(np.random.rand(100_010))


def dense_vector() -> tuple[Any, ...]:
    """A new sparse vector, and a dense one of which one in ten is no zero."""
    rng = np.random.default_rng(0)
    values = np.where(rng.random(1_000_000) < 0.1, 1.0, 0.0)
    return Tensor(SparseList(Element(0.0))), values


def many_keys() -> tuple[Any, ...]:
    """A new hash table, keys that come ten times each, at random, and what to add for each."""
    keys = np.random.default_rng(0).integers(0, 1_000_000, 10_000_000)
    return Tensor(SparseHash(Element(0.0)), (1_000_000,)), keys, np.random.rand(len(keys))


def least_arguments() -> tuple[Any, ...]:
    return Tensor(Dense(Element(np.inf))), asarray(np.random.rand(1024, 1024))


def long_rows() -> tuple[Any, ...]:
    """A hundred random entries in every row."""
    return Tensor(Dense(Element(-np.inf))), random_csr(10_000, 100)


def dense_arguments() -> tuple[Any, ...]:
    return Tensor(VECTOR), asarray(np.random.rand(1024, 1024)), asarray(np.random.rand(1024))


def band_arguments() -> tuple[Any, ...]:
    band = Dense(SparseBand(Element(0.0), index=np.int32, pointer=np.int32))
    A = Tensor(band, generators.banded(10_000, 10))
    return Tensor(VECTOR), A, asarray(np.random.rand(10_000))


def triangle_arguments() -> tuple[Any, ...]:
    return Tensor(VECTOR), Tensor(CSR, generators.triangle(1024)), asarray(np.random.rand(1024))


def block_arguments() -> tuple[Any, ...]:
    blocks = Dense(SparseBlockList(Element(0.0), index=np.int32, pointer=np.int32))
    A = Tensor(blocks, generators.blocks(20_000, 8, 4))
    return Tensor(VECTOR), A, asarray(np.random.rand(20_000))


def column_arguments() -> tuple[Any, ...]:
    return Tensor(VECTOR), random_csr(100_000, 10), asarray(np.random.rand(100_000))


def permutation_arguments() -> tuple[Any, ...]:
    size = 1_000_000
    format = Dense(SparsePinpoint(Pattern(), index=np.int32))
    backwards = {"1_idx": np.arange(size, dtype=np.int32)[::-1].copy()}
    A = Tensor.from_buffers(format, (size, size), backwards)
    return Tensor(VECTOR), A, asarray(np.random.rand(size))


def runs_of(mean: float) -> Callable[[], tuple[Any, ...]]:
    """An array for a result, and two images in runs of random lengths."""

    def arguments() -> tuple[Any, ...]:
        rng = np.random.default_rng(0)
        starts = rng.random((2, 512, 512)) < 1 / mean
        pieces = np.cumsum(starts.reshape(2, -1), axis=1)
        grey = rng.integers(0, 256, pieces.max() + 1).astype(np.uint8)
        format = Dense(RunList(Element(np.uint8(0))))
        pair = [Tensor(format, grey[piece].reshape(512, 512)) for piece in pieces]
        return asarray(np.zeros((512, 512), np.uint8)), *pair

    return arguments


def product_of(n: int) -> Callable[[], tuple[Any, ...]]:
    """Two matrices of four entries a row."""
    return lambda: (Tensor(CSR), random_csr(n, 4), random_csr(n + 4, 4, seed=1))


def times_dense(columns: int) -> Callable[[], tuple[Any, ...]]:
    """A sparse matrix times a dense one of so many columns."""
    rng = np.random.default_rng(0)
    return lambda: (Tensor(tensors.DENSE), random_csr(20_000, 10), rng.random((20_010, columns)))


def sampled_arguments() -> tuple[Any, ...]:
    """SDDMM of rank 16."""
    S, rng = random_csr(10_000, 10), np.random.default_rng(0)
    return Tensor(CSR), S, rng.random((10_000, 16)), rng.random((10_010, 16))


def cube_and_factors() -> tuple[Any, ...]:
    """A cube, 3 % full, and its factors."""
    rng = np.random.default_rng(0)
    cube = rng.random((500, 300, 300)) * (rng.random((500, 300, 300)) < 0.03)
    csf = Tensor(Dense(SparseList(SparseList(Element(0.0)))), cube)
    return np.zeros((500, 16)), csf, rng.random((300, 16)), rng.random((300, 16))


def two_lists() -> tuple[Any, ...]:
    """A new list, and two of which a third is stored."""
    rng = np.random.default_rng(0)
    lists = (np.where(rng.random(1_000_000) < 0.3, 1.0, 0.0) for _k in range(2))
    kept = SparseList(Element(0.0))
    return Tensor(kept), *(Tensor(kept, values) for values in lists)


def distances() -> tuple[Any, ...]:
    """The lengths of the edges between 400 vertices."""
    return (np.random.default_rng(0).random((400, 400)) * 10,)


def dense_rows() -> tuple[Any, ...]:
    return Tensor(VECTOR), asarray(np.random.rand(1024, 1024))


def sum_arguments() -> tuple[Any, ...]:
    return Tensor(CSR), random_csr(100_000, 10), random_csr(100_000, 10, seed=1)


def two_matrices() -> tuple[Any, ...]:
    """Ten entries a row of a hundred columns, so that rows meet."""
    given = (scipy.sparse.random_array((100_000, 100), density=0.1, rng=k) for k in range(2))
    return Tensor(VECTOR), *(Tensor(CSR, A.tocsr()) for A in given)


def lower() -> tuple[Any, ...]:
    """A lower triangle, of ten random entries a row and the diagonal, and its right-hand side."""
    n = 100_000
    A = generators.erdos_renyi(n, 10) + scipy.sparse.diags_array(np.full(n, 30.0))
    return np.empty(n), Tensor(CSR, scipy.sparse.tril(A).tocsr()), np.ones(n)


def upper() -> tuple[Any, ...]:
    """An upper triangle of a Poisson matrix, its inverse diagonal, and a right-hand side."""
    U = generators.int32(scipy.sparse.triu(solvers.poisson(1000)))
    n = U.shape[0]
    return np.empty(n), U, 1 / U.diagonal(), np.ones(n)


def sampled_entries() -> tuple[Any, ...]:
    return Tensor(CSR), random_csr(100_000, 10)


def grid() -> Any:
    return generators.grid(512)


def power_law() -> Any:
    return generators.rmat(16, 16)


def graph_of(made: Callable[[], Any]) -> Callable[[], tuple[Any, ...]]:
    """A place for levels, a graph, and the vertex of most neighbours."""

    def arguments() -> tuple[Any, ...]:
        graph = made()
        start = int(np.argmax(np.diff(graph.indptr)))
        return np.empty(graph.shape[0], np.int64), graphs.stored(graph), start

    return arguments


def matched_grid() -> tuple[Any, ...]:
    graph = grid()
    return np.empty(graph.shape[0], np.int32), graphs.stored(graph)


def source(program: Kernel) -> Callable[..., Any]:
    """The function that a kernel was made of."""
    return program.__wrapped__  # type: ignore[attr-defined,no-any-return]


CASES = (
    Case(
        ("scalar_promotion", "store_forwarding", "copy_propagation", "restrict"),
        "SpMV by rows, CSR",
        rows,
        sparse_arguments,
    ),
    Case(("scalar_replacement",), "SpMV, SparsePinpoint", rows, permutation_arguments),
    Case(("invariant_code_motion",), "SpMV by columns, CSC", columns, column_arguments),
    Case(
        ("vector_reductions", "scalar_promotion"),
        "dense matrix times vector",
        rows,
        dense_arguments,
    ),
    Case(("vector_reductions",), "SpMV, a band of 21", rows, band_arguments),
    Case(("vector_reductions",), "SpMV, blocks of 8", rows, block_arguments),
    Case(("gather_reductions",), "SpMV, CSR, a triangle", rows, triangle_arguments),
    Case(("gather_reductions",), "SpMV, CSR, 10 a row", rows, rows_of(10)),
    Case(("gather_reductions",), "SpMV, CSR, 30 a row", rows, rows_of(30)),
    Case(("gather_reductions",), "SpMV, CSR, 100 a row", rows, rows_of(100)),
    Case(
        (
            "boolean_constants",
            "dead_code",
            "invariant_code_motion",
            "copy_propagation",
            "restrict",
            "sort",
        ),
        "Gustavson's SpGEMM",
        source(spgemm.gustavson),
        product_of(10_000),
    ),
    Case(("vector_reductions",), "the least of each row", least, least_arguments),
    Case(
        ("gaps", "vector_reductions"),
        "the greatest of each row, CSR, 100 a row",
        greatest,
        long_rows,
    ),
    Case(
        ("dead_fills", "growth_hoisting", "rooms"),
        "a sum of two CSR matrices",
        total,
        sum_arguments,
    ),
    Case(("run_outs",), "inner products of rows", met, two_matrices),
    Case(("until", "carried_values"), "lower triangular solve", source(solvers.forward), lower),
    Case(("carried_values",), "upper triangular solve", source(upper_inverse), upper),
    Case(
        ("equal_patterns", "loop_coalescing"),
        "TTV into a known pattern",
        source(ttv_into),
        partial(fibers_of_five, 20_000),
    ),
    Case(("loop_collapsing",), "a sum of dense matrices of 4 columns", total, short_rows),
    Case(("branchless_appends",), "small entries left out", dropped, sampled_entries),
    Case(("rooms",), "a tenth of a dense vector, appended", copied, dense_vector),
    Case(("predictive_commoning",), "SpMV, CSR, 10 a row", rows, rows_of(10)),
    Case(("predictive_commoning",), "SpMV, CSR, 10 a row, a thousand", rows, rows_of(10, 10_000)),
    Case(("predictive_commoning",), "SpMV, CSR, 3 a row", rows, rows_of(3)),
    Case(("predictive_commoning",), "lower triangular solve", source(solvers.forward), lower),
    Case(("prefetch",), "SpMV, CSR, 10 a row", rows, rows_of(10)),
    Case(("prefetch",), "SpMV, CSR, 10 a row, ten million", rows, rows_of(10, 10_000_000)),
    Case(("prefetch",), "sums in a hash table, a million keys", source(accumulate), many_keys),
    Case(
        ("prefetch",),
        "Gustavson's SpGEMM, 100,000 rows",
        source(spgemm.gustavson),
        product_of(100_000),
    ),
    Case(("prefetch",), "SpMM, 8 columns", source(tensors.spmm), times_dense(8)),
    Case(("prefetch",), "SpMM, 64 columns", source(tensors.spmm), times_dense(64)),
    Case(
        ("store_forwarding", "locals", "points"),
        "erosion, bytes",
        source(images.erode_bytes),
        byte_images,
    ),
    Case(("steady", "points", "appending"), "erosion, runs", source(images.erode_runs), run_images),
    Case(
        ("available_expressions",),
        "windows of 5 by 5, bands",
        source(stencils.window(5)),
        banded_images,
    ),
    Case(("predicate_compaction",), "BFS, a pull", pull, pull_arguments),
    Case(("peeling",), "a search of a grid", source(graphs._levels), graph_of(grid)),
    Case(("peeling",), "a search of a power law", source(graphs._levels), graph_of(power_law)),
    Case(("peeling",), "matching on a grid", source(graphs._matching), matched_grid),
    Case(("equal_names",), "MTTKRP in parts, rank 16", mttkrp, cube_and_factors),
    Case(("privatization",), "histogram, photograph", source(images.histogram_bytes), photographed),
    Case(("index_set_splitting",), "Floyd-Warshall, 400", shortest, distances),
    Case(("loop_interchange",), "SpMV, seven diagonals", rows, seven_diagonals),
    Case(("loop_interchange",), "dense rows, stored by columns", rows, stored_by_columns),
    Case(("invariant_values",), "a blend of images, runs of 20", mixed, runs_of(20)),
    Case(("invariant_values",), "a blend of images, runs of 4", mixed, runs_of(4)),
    Case(("invariant_stores",), "SDDMM, rank 16", source(tensors.sddmm), sampled_arguments),
    Case(("jump_threading",), "even indices of an intersection", even, two_lists),
    Case(("sinking",), "dense rows summed in a local scalar", summed, dense_rows),
    Case(
        ("privatization", "ranges", "unswitching"),
        "masked histogram",
        source(images.histogram),
        masked_images,
    ),
)


def run(seconds: float = 1.0, only: str | None = None) -> list[dict[str, Any]]:
    """One row for each pass (or for the one that is named) and program: microseconds with and
    without, and their ratio."""
    found = []
    for case in CASES:
        names = [name for name in case.passes if only in (None, name)]
        arguments = case.arguments() if names else ()
        found += [_row(case, name, arguments, seconds) for name in names]
    return found


def _row(case: Case, name: str, arguments: tuple[Any, ...], seconds: float) -> dict[str, Any]:
    full = Kernel(case.function, Options())
    without = Kernel(case.function, Options(disabled=frozenset({name})))
    times = compare(
        {"with": lambda: full(*arguments), "without": lambda: without(*arguments)}, seconds
    )
    micro = {key: timing.seconds * 1e6 for key, timing in times.items()}
    return {
        "pass": name,
        "program": case.name,
        "with us": micro["with"],
        "without us": micro["without"],
        "without/with": micro["without"] / micro["with"],
    }
