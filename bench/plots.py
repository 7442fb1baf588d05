"""Plots in the paper's layout: grouped bars by best format, and scaling curves on log axes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
from matplotlib import pyplot as plt

from bench import paper
from bench.races import mean

Row = Mapping[str, Any]
COLOURS = plt.get_cmap("tab10").colors + plt.get_cmap("Set2").colors
MARKERS = "osD^v<>pPX*hd"
DPI = 70
SMALL = "small matrices"
WIDE = 20
"""Bars that differ by more are drawn on a log axis."""


def everything(races: Mapping[str, list[Row]], folder: Path) -> dict[str, list[str]]:
    """The names of the plots written, by command."""
    folder.mkdir(parents=True, exist_ok=True)
    found: dict[str, list[str]] = {}
    for command, drawn in DRAWN.items():
        for name, draw in drawn.items() if races.get(command) else []:
            figure = draw(races[command])
            if figure is not None:
                figure.savefig(folder / f"{name}.png", dpi=DPI, bbox_inches="tight")
                plt.close(figure)
                found.setdefault(command, []).append(name)
    return found


def spmv(rows: list[Row]) -> Any:
    """Speedup over TACO, by our best format; the peers as points."""
    base = _base(rows, "taco")
    rows = [row for row in rows if row.get("group") != SMALL and paper.base_time(row, base)]
    rows.sort(key=lambda row: (row["best"], -_over(row, base, row["best"])))
    names = [row["best"].removeprefix("finch ") for row in rows]
    kinds = list(dict.fromkeys(names))
    figure, axes = plt.subplots(figsize=(max(8, 0.17 * len(rows) + 3), 4.5))
    for kind in kinds:
        places = [k for k, name in enumerate(names) if name == kind]
        heights = [_over(rows[k], base, rows[k]["best"]) for k in places]
        axes.bar(places, heights, 0.8, color=COLOURS[kinds.index(kind)], label=f"ours: {kind}")
    _points(axes, rows, base, ("eigen", "mkl", "scipy", "finch SparseList"))
    _finish(axes, base, [row["data"] for row in rows], rotation=90)
    return figure


def by_data(rows: list[Row], peer: str, only: Iterable[str]) -> Any:
    """Bars for each data set: speedups over one system."""
    base = _base(rows, peer)
    kept = [row for row in rows if row.get("group") not in ("scaling", SMALL)]
    rows = [row for row in kept if paper.base_time(row, base)]
    names = ["ours", *(name for name in only if any(name in row["us"] for row in rows))]
    figure, axes = plt.subplots(figsize=(max(7, 0.32 * len(rows) + 2), 4.2))
    width = 0.8 / max(1, len(names))
    for place, name in enumerate(names):
        heights = [_over(row, base, row["best"] if name == "ours" else name) for row in rows]
        where = [k + width * (place - (len(names) - 1) / 2) for k in range(len(rows))]
        axes.bar(where, heights, width, color=COLOURS[place], label=name)
    labels = [" ".join(filter(None, (row.get("work"), row["data"]))) for row in rows]
    _finish(axes, base, labels, rotation=90)
    return figure


def by_collection(rows: list[Row], work: str) -> Any:
    """Bars for each collection of pictures: geometric means over OpenCV, by way."""
    chosen = [r for r in rows if r.get("work") == work and r.get("group") not in ("scaling", None)]
    if not chosen:
        chosen = [r for r in rows if r.get("work") == work and r.get("group") is None]
    groups = list(dict.fromkeys(r.get("group", r["data"]) for r in chosen))
    ways = list(dict.fromkeys(way for row in chosen for way in row["us"] if way != "opencv"))
    figure, axes = plt.subplots(figsize=(max(7, 0.7 * len(groups) + 2), 4.2))
    width = 0.8 / max(1, len(ways))
    for place, way in enumerate(ways):
        heights = [
            mean(_over(r, "opencv", way) for r in chosen
                 if r.get("group", r["data"]) == group and way in r["us"] and "opencv" in r["us"])
            for group in groups
        ]  # fmt: skip
        where = [k + width * (place - (len(ways) - 1) / 2) for k in range(len(groups))]
        axes.bar(where, heights, width, color=COLOURS[place], label=way)
    _finish(axes, "opencv", groups, rotation=30)
    return figure


def scaling(rows: list[Row], work: str | None, axis: str) -> Any:
    """Microseconds against the size of the data, both on log axes."""
    chosen = [r for r in rows if r.get("group") == "scaling" and r.get("work") == work]
    if len(chosen) < 2:
        return None
    names = list(dict.fromkeys(name for row in chosen for name in row["us"]))
    figure, axes = plt.subplots(figsize=(7, 4.8))
    for k, name in enumerate(names):
        line = [(row["size"], row["us"][name]) for row in chosen if name in row["us"]]
        style = {"linewidth": 2} if name.startswith("finch ") else {"linestyle": "--"}
        style |= {"marker": MARKERS[k % len(MARKERS)], "color": COLOURS[k % len(COLOURS)]}
        axes.plot(*zip(*line, strict=True), label=name, **style)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel(axis)
    axes.set_ylabel("microseconds")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))
    return figure


def _base(rows: list[Row], peer: str) -> str:
    there = {name for row in rows for name in row["us"]}
    return peer if peer in there else paper.STANDS_IN.get(peer, peer)


def _over(row: Row, base: str, name: str) -> float:
    """How many times faster than the base; nothing where it took no part."""
    least = paper.base_time(row, base)
    return least / row["us"][name] if least and name in row["us"] else float("nan")


def _points(axes: Any, rows: list[Row], base: str, names: Iterable[str]) -> None:
    for marker, name in zip(MARKERS, names, strict=False):
        heights = [_over(row, base, name) for row in rows]
        axes.plot(range(len(rows)), heights, marker, color="black", markersize=3, alpha=0.6,
                  label="ours: baseline" if name == "finch SparseList" else name)  # fmt: skip


def _finish(axes: Any, base: str, labels: list[str], rotation: int) -> None:
    axes.axhline(1, color="black", linewidth=0.8)
    heights = [bar.get_height() for bar in axes.patches if bar.get_height() > 0]
    if heights and max(heights) > WIDE * min(heights):
        axes.set_yscale("log")
    axes.set_ylabel(f"times faster than {base}")
    axes.set_xticks(range(len(labels)), labels, rotation=rotation, fontsize=6,
                    ha="right" if rotation == 30 else "center")  # fmt: skip
    axes.margins(x=0.01)
    axes.grid(axis="y", alpha=0.3)
    axes.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1, 1))


def _of_work(work: str, base: str, *peers: str) -> Any:
    """Bars of the rows of one kind of work."""
    return lambda rows: by_data([row for row in rows if row["work"] == work], base, peers)


DRAWN: dict[str, dict[str, Any]] = {
    "spmv": {"spmv": spmv},
    "spgemm": {
        "spgemm": lambda rows: by_data(rows, "taco", ("eigen", "mkl sorted", "scipy sorted")),
        "spgemm_scaling": lambda rows: scaling(rows, None, "rows (Erdős-Rényi, 4 a row)"),
    },
    "graphs": {
        "bfs": _of_work("BFS", "graphblas", "finch push", "networkit", "scipy"),
        "bellman_ford": _of_work(
            "Bellman-Ford", "graphblas", "scipy dijkstra", "networkit dijkstra"
        ),
    },
    "images": {
        "erosion": lambda rows: by_collection(rows, "erosion"),
        "histogram": lambda rows: by_collection(rows, "histogram"),
        "erosion_scaling": lambda rows: scaling(rows, "erosion", "pixels a side"),
        "histogram_scaling": lambda rows: scaling(rows, "histogram", "pixels a side"),
    },
    "tensors": {"tensors": lambda rows: by_data(rows, "taco", ("numba", "scipy", "eigen"))},
}
"""By command, the plots and how each is drawn."""
