"""LAGraph in C, from a small harness that is compiled at the start (``bench/hand/lagraph.c``),
where its headers and libraries are installed. Its components take no part: over the library 9.4.5
with headers of GraphBLAS 9.3.1, a mixture that may be to blame, it found two in copter2, which is
connected."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import scipy.sparse

from bench.hand import KERNEL_FLAGS, library, pointer
from bench.peers import Contenders

DELTAS = (1.0, 4.0, 16.0)
"""Widths of the steps of delta-stepping, as parts of the mean length: LAGraph leaves them to its
callers, and which is best depends on the graph."""


def _headers() -> Path:
    """The folder that has the headers of LAGraph and GraphBLAS."""
    for prefix in ("/usr", "/usr/local"):
        for folder in ("include/suitesparse", "include"):
            if Path(prefix, folder, "LAGraph.h").exists():
                return Path(prefix, folder)
    raise ImportError("no LAGraph headers (docs/repeat.md has how to build it)")


HEADERS = _headers()
_LINKED = ("-I", str(HEADERS), "-L/usr/local/lib", "-Wl,-rpath,/usr/local/lib")
ffi, lib = library("lagraph", ("-std=gnu11", *KERNEL_FLAGS, *_LINKED), ("-llagraph", "-lgraphblas"))
if lib.lagraph_start():
    raise ImportError("LAGraph does not start: another library has started GraphBLAS before it")


def version() -> str:
    """LAGraph's version, from its headers."""
    text = (HEADERS / "LAGraph.h").read_text()
    parts = (re.search(rf"LAGRAPH_VERSION_{part}\s+(\d+)", text) for part in _PARTS)
    return ".".join(found[1] if found else "?" for found in parts)


_PARTS = ("MAJOR", "MINOR", "UPDATE")


@attrs.frozen
class _Graph:
    """A graph of LAGraph's, freed with this."""

    handle: Any
    size: int

    @classmethod
    def of(cls, matrix: Any, undirected: bool = False) -> _Graph:
        csr = scipy.sparse.csr_array(matrix)
        pos, crd = csr.indptr.astype(np.int64), csr.indices.astype(np.int64)
        values = csr.data.astype(np.float64)
        arrays = (pointer(ffi, array) for array in (pos, crd, values))
        found = lib.graph_new(csr.shape[0], *arrays, int(undirected))
        if found == ffi.NULL:
            raise RuntimeError("LAGraph refuses the graph")
        return cls(ffi.gc(found, lib.graph_free), csr.shape[0])

    def vector(self, run: Callable[[], Any], missing: float) -> Callable[[], Any]:
        """A contender of what gives a vector: its elements are read where they are compared."""

        def once() -> Any:
            found = ffi.gc(run(), lib.vector_free)
            return lambda: self._read(found, missing)

        return once

    def _read(self, vector: Any, missing: float) -> Any:
        values = np.full(self.size, float(missing))
        if lib.vector_read(vector, pointer(ffi, values)):
            raise RuntimeError("LAGraph gave no result")
        return values


def bfs(graph: Any, source: int) -> Contenders:
    G = _Graph.of(graph)
    return {"lagraph": G.vector(lambda: lib.lagraph_bfs(G.handle, source), -1)}


def shortest_paths(graph: Any, source: int) -> Contenders:
    """One contender for each width of the steps."""
    G, mean = _Graph.of(graph), float(graph.data.mean())

    def stepping(width: float) -> Any:
        return G.vector(lambda: lib.lagraph_distances(G.handle, source, width * mean), np.inf)

    return {f"lagraph delta {width:g}": stepping(width) for width in DELTAS}


def triangles(graph: Any) -> Contenders:
    G = _Graph.of(graph, undirected=True)
    return {"lagraph": lambda: lib.lagraph_triangles(G.handle)}
