"""What the benchmarks print and write: tables, JSON, and ``docs/results.md``."""

from __future__ import annotations

import platform
import subprocess
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from bench.harness import table
from bench.races import geometric_means

PACKAGES = (
    "finch-python", "numpy", "scipy", "numba", "python-graphblas", "suitesparse-graphblas",
    "opencv-python-headless", "scikit-image", "sparse-dot-mkl", "mkl",
)  # fmt: skip
PAPER = {
    "spmv": "the paper: 1.27 over TACO",
    "spgemm": "the paper: 1.30 over TACO",
    "graphs": "the paper: BFS 1/1.22 of GraphBLAS, Bellman-Ford 2.47 over LAGraph",
    "images": "the paper: erosion 19.5 and histogram 20 over OpenCV on sketches",
    "tensors": "not in the paper",
}


def machine() -> dict[str, Any]:
    """Processor, compiler and versions."""
    from finch_backend_c import toolchain

    compiler = toolchain.find()
    said = subprocess.run([*compiler.command, "--version"], capture_output=True, text=True)
    flags = (*toolchain.BASE_FLAGS, *toolchain.accepted(compiler))
    return {
        "processor": _processor(),
        "compiler": said.stdout.partition("\n")[0],
        "flags": " ".join(flags),
        "python": platform.python_version(),
        "packages": {name: v for name in PACKAGES if (v := _version(name))},
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo") as lines:
            return next(x.partition(":")[2].strip() for x in lines if x.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _flat(row: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    asked = ", ".join(f"{times:.3g} over {peer}" for peer, times in row["asked"].items())
    met = all(row["ratios"][peer] >= times for peer, times in row["asked"].items())
    return {
        "data": row["data"],
        "best of ours": row["best"].removeprefix("finch "),
        "us": row["us"][row["best"]],
        **{f"over {name}": row["ratios"].get(name, "") for name in names},
        "asked for": asked + (" (met)" if asked and met else " (missed)" if asked else ""),
    }


def rows(measured: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Races as rows of a table: our best time, and how many times faster than each peer it is."""
    names = list(dict.fromkeys(peer for row in measured for peer in row["ratios"]))
    found = [_flat(row, names) for row in measured]
    means = geometric_means(measured)
    if found:
        blank = dict.fromkeys(found[0], "")
        over = {f"over {name}": means[name] for name in names}
        found.append({**blank, "data": "geometric mean", **over})
    return found


def text(command: str, measured: list[dict[str, Any]]) -> str:
    """The table of one command for a terminal."""
    return f"{command}: times faster than (above 1 is faster); {PAPER[command]}\n" + table(
        rows(measured)
    )


def markdown(result: dict[str, Any]) -> str:
    """``docs/results.md`` from the JSON of ``python -m bench all``."""
    about = result["machine"]
    lines = [
        "# Results",
        "",
        "Written by `python -m bench all --markdown docs/results.md`. Each row is one data set: "
        "the microseconds of the best of our programs and formats, and how many times faster that "
        "is than each peer (above 1: we are faster). One process, one thread, contenders "
        "alternating, the least of many runs, and every result compared with every other before.",
        "",
        f"{about['processor']}; {about['compiler']}; flags `{about['flags']}`; Python "
        f"{about['python']}; "
        + ", ".join(f"{name} {v}" for name, v in about["packages"].items())
        + ".",
    ]
    for name, why in result["missing"].items():
        lines += ["", f"Not measured: {name} ({why})."]
    for command, measured in result["races"].items():
        said = f"({PAPER[command][:1].upper()}{PAPER[command][1:]}.)"
        lines += ["", f"## {command}", "", said, ""]
        lines += _markdown_table(rows(measured))
    return "\n".join(lines) + "\n"


def _markdown_table(found: list[dict[str, Any]]) -> list[str]:
    if not found:
        return ["(nothing)"]
    head = list(found[0])
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" * len(head)]
    return lines + ["| " + " | ".join(map(_cell, row.values())) + " |" for row in found]


def _cell(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) and value < 1e3 else (
        f"{value:.0f}" if isinstance(value, float) else str(value)
    )  # fmt: skip
