"""Where a peer is faster, and why."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bench.races import geometric_means

WORTH_TELLING = 0.9
WHY = {
    ("", "scipy unsorted"): "its rows are unsorted: it need not sort or scan; sorting them "
    "costs it more than we take",
    ("", "mkl unsorted"): "its rows are unsorted; sorting them costs it more than we take",
    ("BFS", "numba push"): "a queue of vertices: one call for the whole search, where ours is "
    "a call for each level that visits the frontier's map",
    ("BFS", "networkit"): "a queue in C++ for the whole search; ours is a call for each level",
    ("BFS", "scipy"): "a queue in C for the whole search; ours is a call for each level",
    ("Bellman-Ford", "scipy dijkstra"): "another algorithm: on graphs of high diameter a heap "
    "visits each edge once, Bellman-Ford many times",
    ("Bellman-Ford", "igraph dijkstra"): "another algorithm: a heap visits each edge once",
    ("Bellman-Ford", "networkit dijkstra"): "another algorithm: a heap visits each edge once",
    ("components", "scipy"): "a search; ours spreads the least label, and a shortcut, until "
    "nothing changes",
    ("components", "networkit"): "a search; ours spreads the least label until nothing changes",
    ("components", "igraph"): "a search; ours spreads the least label until nothing changes",
    ("degrees", "igraph"): "reads differences of its positions; ours counts what is stored",
    ("degrees", "graphblas"): "reads differences of its positions; ours counts what is stored",
    ("triangles", "graphblas"): "looks columns up in a row that it has spread out, where ours "
    "merges lists",
    ("triangles", "igraph"): "marks the neighbours of a vertex, where ours merges lists",
    ("SDDMM", "taco compute"): "fills in values only; ours builds the result's structure too",
    ("TTV", "taco compute"): "fills in values only; ours builds the result's structure too",
    ("TTM", "taco compute"): "fills in values only; ours builds the result's structure too",
    ("SDDMM", "taco-like"): "fills in values only; ours builds the result's structure too",
    ("SDDMM", "numba"): "fills in values only, and multiplies by the sampled value behind the sum",
    ("Floyd-Warshall", "scipy"): "one call; ours is a call for each vertex",
    ("order", "igraph"): "a queue; ours is a pass over the vertices for each level",
    ("blend", "opencv"): "reads bytes in vectors, where runs are short",
}
"""By work and peer."""


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
                why = WHY.get((work, peer), WHY.get((work or command, ""), ""))
                found.append(
                    {"what": what, "ours is": faster[peer], "of": peer, "also": also, "why": why}
                )
    return sorted(found, key=lambda row: row["ours is"])


def _places(measured: list[dict[str, Any]]) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Rows by work and by data set or collection."""
    places: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in measured:
        work, group = row.get("work", ""), row.get("group", "")
        if group != "scaling":
            places.setdefault((work, group or row["data"]), []).append(row)
    return places
