"""Where a peer is faster, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.races import geometric_means

WORTH_TELLING = 0.9
VALUES_ONLY = (
    "fills in values alone; ours builds the structure of the result too, unless it is written into "
    "a known pattern (SDDMM into, TTV into)"
)
UNSORTED = "its rows are unsorted: they need neither be sorted nor scanned"
QUEUE = "a search that only pushes: where levels are small, it has no second form to choose from"
HEAP = "another algorithm: a heap visits each edge once, Bellman-Ford some more often"
MKL = "its code is not known; gathers under masks, which it may have, did not pay (decision 258)"
TINY = "images of 28 x 28 take a microsecond: calls, and the ends of rows, are most of it"
CALL = "a call through bound C pointers, where ours looks its kernel up by the arguments"
WHY = {
    ("spmv", ""): "the same loop, but for the test whether a row is long enough for lanes, which "
    "is foreseen less well where rows are about that long; memory decides the rest",
    ("spmv", "mkl handle"): MKL,
    ("spmv", "mkl fresh"): MKL,
    ("small matrices", "numpy dense"): "all elements by BLAS, of matrices that are tiny",
    ("spmv", "hand C band"): "one loop without what the format allows besides (rows of any length)",
    ("", "scipy unsorted"): UNSORTED,
    ("", "mkl unsorted"): UNSORTED,
    ("small matrices", ""): CALL,
    ("tiny tensors", ""): CALL,
    ("BFS", ""): QUEUE,
    ("BFS", "hand C push-pull"): "not looked into yet",
    ("BFS", "graphblas"): "pulls over bitmaps of vertices",
    ("Bellman-Ford", ""): HEAP,
    ("pagerank", "igraph"): "another algorithm: it solves the system by Gauss-Seidel sweeps",
    ("triangles", "graphblas"): "looks up in a row that it has spread out; ours merges two lists",
    ("SDDMM", ""): VALUES_ONLY,
    ("SDDMM", "numba"): VALUES_ONLY + "; and multiplies by the sampled value behind the sum",
    ("TTV", ""): VALUES_ONLY,
    ("TTM", ""): VALUES_ONLY,
    ("ilu0", ""): "knows where each diagonal is; ours looks for it",
    (
        "LDL",
        "",
    ): "keeps for each column the position up to which it is complete, where ours compares indices",
    ("cores", ""): "does not check indices that come from memory, which ours does",
    ("label round", ""): "does not check indices that come from memory, which ours does",
    ("upper solve", ""): "takes the first entry of a row for the diagonal; ours looks for it",
    ("SDDMM into", "numba"): "less code around each sum, of which rank 8 leaves little",
    ("blend", ""): "reads bytes in vectors, where runs are short",
    ("erosion", "numba"): TINY,
    ("histogram", "numba"): "a branch for each pixel, which is foreseen where masks are nearly all "
    "on or off, where ours adds zeros; of 28 x 28 pixels a shorter call",
    ("histogram", "opencv"): "reads bytes, where runs are short",
}
"""By work, command or collection, and by peer or for all of them."""


def losses(races: Mapping[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """A row for each work and data set or collection where somebody is faster: who is most so."""
    found = []
    for command, measured in races.items():
        for (work, data), rows in _places(measured).items():
            faster = {p: r for p, r in geometric_means(rows).items() if r < WORTH_TELLING}
            if faster:
                peer = min(faster, key=faster.__getitem__)
                also = ", ".join(f"{p} {r:.2g}" for p, r in faster.items() if p != peer)
                what = " ".join(filter(None, (work or command, data)))
                why = _why((data, work, command), peer)
                found.append(
                    {"what": what, "ours is": faster[peer], "of": peer, "also": also, "why": why}
                )
    return sorted(found, key=lambda row: row["ours is"])


def _why(places: tuple[str, ...], peer: str) -> str:
    """What is known of the first of these places, of this peer before all peers."""
    known = (WHY[place, who] for place in places for who in (peer, "") if (place, who) in WHY)
    return next(known, WHY.get(("", peer), "not looked into yet"))


def _places(measured: list[dict[str, Any]]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Rows by work and by data set or collection."""
    places: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in measured:
        work, group = row.get("work", ""), row.get("group", "")
        if group != "scaling":
            places.setdefault((work, group or row["data"]), []).append(row)
    return places
