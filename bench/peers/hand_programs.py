"""Whole programs by hand in C, with the flags of our kernels, into memory that is there."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.hand import KERNEL_FLAGS, library, pointer
from bench.peers import Contenders, aligned


class _Loops:
    """The functions of ``hand/programs.c``, called with arrays and numbers."""

    def __init__(self) -> None:
        self.ffi, self.library = library("programs", ("-std=gnu11", *KERNEL_FLAGS))

    def bound(self, name: str, *args: Any) -> Any:
        """A call with its pointers made before; the arrays live as long as it does."""
        function = getattr(self.library, name)
        given = [pointer(self.ffi, a) if isinstance(a, np.ndarray) else a for a in args]
        return lambda: function(*given)


def _bound(name: str, result: Any, *args: Any) -> Any:
    run = _Loops().bound(name, *args)
    return lambda: (run(), result)[1]


def _csr(matrix: Any) -> tuple[Any, ...]:
    return matrix.shape[0], matrix.indptr, matrix.indices, matrix.data


def _pattern(graph: Any) -> tuple[Any, ...]:
    return graph.shape[0], graph.indptr, graph.indices


def _ints(*sizes: int) -> list[Any]:
    return [np.empty(size, np.int32) for size in sizes]


def lower_solve(L: Any, b: Any) -> Contenders:
    x, y = np.empty_like(b), np.empty_like(b)
    return {
        "hand C": _bound("lower_solve", x, *_csr(L), b, x),
        "hand C inverse": _bound("lower_solve_inverse", y, *_csr(L), 1 / L.diagonal(), b, y),
    }


def upper_solve(U: Any, b: Any) -> Contenders:
    x = np.empty_like(b)
    return {"hand C": _bound("upper_solve", x, *_csr(U), b, x)}


def sweep(A: Any, b: Any, start: Any) -> Contenders:
    found = {}
    for name, function in (("hand C", "sweep"), ("hand C split", "sweep_split")):
        x = start.copy()
        run = _Loops().bound(function, *_csr(A), b, x)
        found[name] = lambda x=x, run=run: (np.copyto(x, start), run(), x)[2]
    return found


def ilu0(A: Any) -> Contenders:
    F, (diagonal,) = A.copy(), _ints(A.shape[0])
    run = _Loops().bound("ilu0", *_csr(F), diagonal)
    return {"hand C merge": lambda: (np.copyto(F.data, A.data), run(), F.data)[2]}


def conjugate_gradients(A: Any, b: Any, steps: int) -> Contenders:
    x, *rest = (np.empty_like(b) for _vector in range(4))
    return {"hand C": _bound("conjugate_gradients", x, *_csr(A), b, steps, x, *rest)}


def scale_rows(A: Any, d: Any) -> Contenders:
    B = A.copy()
    return {"hand C": _bound("scale_rows", B.data, B.shape[0], B.indptr, B.data, d)}


def drop_small(A: Any, least: float) -> Contenders:
    B = A.copy()
    out = (np.empty_like(A.indptr), np.empty_like(A.indices), np.empty_like(A.data))
    run = _Loops().bound("drop_small", *_csr(B), least, *out)

    def dropped() -> Any:
        kept = run()
        return out[2][:kept]

    return {"hand C branchless": dropped}


def sddmm_into(S: Any, U: Any, V: Any) -> Contenders:
    out, (n, *parts) = np.empty(S.nnz), _csr(S)
    return {"hand C lanes": _bound("sddmm_into", out, n, U.shape[1], *parts, U, V, out)}


def ttv_into(shape: Any, buffers: Any, x: Any) -> Contenders:
    out = np.empty(len(buffers["1_idx"]))
    parts = (buffers[name] for name in ("1_ptr", "2_ptr", "2_idx", "3_val"))
    return {"hand C": _bound("ttv_into", out, shape[0], *parts, x, out)}


def ldl(A: Any, rows: Any, columns: Any) -> Contenders:
    n, values, inverse, x = (
        A.shape[0],
        columns.data.copy(),
        np.empty(A.shape[0]),
        np.empty(A.shape[0]),
    )
    (next_,) = _ints(n)
    pattern = (rows.indptr, rows.indices, columns.indptr, columns.indices)
    run = _Loops().bound("ldl", *_csr(A), *pattern, values, inverse, next_, x)
    return {"hand C": lambda: (run(), inverse)[1]}


def label_round(graph: Any, labels: Any) -> Contenders:
    found, count = _ints(graph.shape[0], graph.shape[0])
    return {"hand C": _bound("label_round", found, *_pattern(graph), labels, found, count)}


def bfs(graph: Any, source: int) -> Contenders:
    n = graph.shape[0]
    parents, queue = _ints(n, n)
    found = {
        "hand C queue": _bound("search_queue", parents, *_pattern(graph), source, parents, queue)
    }
    if (graph != graph.T).nnz == 0:
        other, level = parents.copy(), np.empty(n, np.uint8)
        given = (*_pattern(graph), source, other, queue, level)
        found["hand C push-pull"] = _bound("search_both", other, *given)
    return found


def components(graph: Any) -> Contenders:
    (up,) = _ints(graph.shape[0])
    return {"hand C": _bound("components", up, *_pattern(graph), up)}


def shortest_paths(graph: Any, source: int) -> Contenders:
    n = graph.shape[0]
    d, queued, (queue,) = np.empty(n), np.empty(n, np.uint8), _ints(n)
    return {"hand C queue": _bound("shortest_queue", d, *_csr(graph), source, d, queue, queued)}


def all_pairs_dense(D: Any) -> Contenders:
    found = aligned(D)
    run = _Loops().bound("all_pairs", len(D), found)
    return {"hand C": lambda: (np.copyto(found, D), run(), found)[2]}


def pagerank_steps(graph: Any, steps: int) -> Contenders:
    degree, n = np.diff(graph.indptr), graph.shape[0]
    rank, share = np.empty(n), np.empty(n)
    into = graph.T.tocsr()
    into.indices, into.indptr = into.indices.astype(np.int32), into.indptr.astype(np.int32)
    return {"hand C": _bound("ranks", rank, *_pattern(into), degree, steps, rank, share)}


def cores(graph: Any) -> Contenders:
    n = graph.shape[0]
    core, start, place, order = _ints(n, n + 2, n, n)
    return {"hand C": _bound("cores", core, *_pattern(graph), core, start, place, order)}


def matching(graph: Any) -> Contenders:
    (mate,) = _ints(graph.shape[0])
    return {"hand C": _bound("matching", mate, *_pattern(graph), mate)}


def prefix_sums(x: Any) -> Contenders:
    y = np.empty_like(x)
    return {"hand C": _bound("prefix_sums", y, len(x), x, y)}


def second_order(x: Any, b: Any, a: Any) -> Contenders:
    y = np.empty_like(x)
    return {"hand C": _bound("second_order", y, len(x), b, a, x, y)}


def edit_distance(a: Any, b: Any) -> Contenders:
    n, m = len(a), len(b)
    table, diagonals = np.zeros((n + 1, m + 1), np.int32), np.zeros((n + m + 1, n + 1), np.int32)
    reversed_ = b[::-1].copy()
    return {
        "hand C": _bound("edit_table", table[-1:, -1], n, m, a, b, table),
        "hand C diagonals": _bound(
            "edit_diagonals", diagonals[-1:, -1], n, m, a, reversed_, diagonals
        ),
    }
