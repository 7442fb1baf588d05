"""What the benchmarks print and write: tables, JSON, and ``docs/results.md`` with its plots."""

from __future__ import annotations

import math
import os
import platform
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bench import paper
from bench.harness import table
from bench.losses import losses
from bench.races import geometric_means, mean

PACKAGES = (
    "finch-python", "numpy", "scipy", "numba", "python-graphblas", "suitesparse-graphblas",
    "opencv-python-headless", "scikit-image", "sparse-dot-mkl", "mkl", "sparse", "finch-tensor",
    "igraph", "networkit",
)  # fmt: skip
APART = ("scaling", "small matrices", "tiny tensors", "digits")
"""Collections that are left out of the means over all: curves, and what only measures calls."""
MEANS = {"erosion": {"opencv": 4.0}}
"""What is asked for of the means over all."""
TITLES = {
    "spmv": "Sparse matrix times vector",
    "spgemm": "Sparse matrix times sparse matrix",
    "graphs": "Graphs",
    "images": "Images",
    "tensors": "Tensors of higher order, and sampled products (not in the paper)",
    "programs": "Whole programs: solvers, searches, recurrences (not in the paper)",
}


def machine(systems: Mapping[str, Any]) -> dict[str, Any]:
    """Processor, compiler, flags and versions."""
    from finch_backend_c import toolchain

    compiler = toolchain.find()
    said = subprocess.run([*compiler.command, "--version"], capture_output=True, text=True)
    taken = toolchain.suitable(toolchain.accepted(compiler), windows=False)
    flags = (*toolchain.BASE_FLAGS, *taken)
    packages = {name: v for name in PACKAGES if (v := _version(name))}
    others = {name: m.version() for name, m in systems.items() if hasattr(m, "version")}
    return {
        "processor": _processor(),
        "compiler": said.stdout.partition("\n")[0],
        "flags": " ".join(flags),
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else math.nan,
        "packages": {**packages, **others},
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


def rounded(value: Any) -> Any:
    """``value`` with its numbers to four digits, for a file that is kept."""
    if isinstance(value, float):
        return float(f"{value:.4g}") if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: rounded(item) for key, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list) else value


def merged(runs: list[dict[str, Any]], commands: Iterable[str]) -> dict[str, Any]:
    """Runs of different commands as one. Of a race that is in several of them the last run counts,
    all of it: no times of different runs are compared."""
    whole = {key: value for run in runs for key, value in run.items()}
    races: dict[str, dict[Any, Any]] = {command: {} for command in commands}
    for run in runs:
        for command, measured in run["races"].items():
            races[command] |= {(row.get("work"), row["data"]): row for row in measured}
    whole["races"] = {name: list(found.values()) for name, found in races.items() if found}
    return whole


# -- tables -----------------------------------------------------------------------------------


def together(measured: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Races as they are reported: those of a collection as one, by geometric means."""
    found: list[dict[str, Any]] = []
    collections: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in measured:
        key = (row.get("work", ""), row.get("group", ""))
        if key[1] in ("", "scaling"):
            found.append({**row, "times": row["us"][row["best"]]})
        else:
            collections.setdefault(key, []).append(row)
    for (work, group), rows in collections.items():
        best = [row["best"].removeprefix("finch ") for row in rows]
        often = max(set(best), key=best.count)
        found.append({
            "work": work, "data": f"{group} ({len(rows)})", "best": f"mostly {often}",
            "times": "", "ratios": geometric_means(rows), "asked": rows[0]["asked"],
            **_rules(rows),
            "least": {
                peer: min(r["ratios"][peer] for r in rows if peer in r["ratios"])
                for peer in rows[0]["asked"]
            },
        })  # fmt: skip
    return [row for row in found if row.get("group") != "scaling"]


def _rules(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """What rules named, of a collection: how the best in hindsight stands to it in the mean."""
    if any("hindsight" not in row for row in rows):
        return {}
    ratio = mean(row["us"][row["hindsight"]] / row["us"][row["best"]] for row in rows)
    return {"hindsight": "", "converting": {}, "us": {"": ratio, "mostly": 1.0}}


def _flat(row: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    asked = ", ".join(f"{times:.3g} over {peer}" for peer, times in row["asked"].items())
    least = row.get("least", row["ratios"])
    met = all(least[peer] >= times for peer, times in row["asked"].items())
    return {
        "data": " ".join(filter(None, (row.get("work"), row["data"]))),
        **_ours(row),
        "us": row["times"],
        **{name: row["ratios"].get(name, "") for name in names},
        "asked for": asked + (" (met)" if asked and met else " (missed)" if asked else ""),
    }


def _ours(row: Mapping[str, Any]) -> dict[str, Any]:
    """Which of ours is compared: the best, or what a rule named beforehand, with what the best in
    hindsight would have been, and what its conversion takes."""
    best = row["best"].removeprefix("finch ")
    if "hindsight" not in row:
        return {"best of ours": best}
    converting = row["converting"].get(row["best"])
    after = _after(row, converting)
    better = row["us"][row["hindsight"]] / row["us"].get(row["best"], 1.0)
    other = row["converting"].get(row["hindsight"])
    made = f" (conversion {other:.3g} us)" if converting is None and other is not None else ""
    return {
        "by rule": best,
        "best in hindsight": f"{row['hindsight'].removeprefix('finch ')} {better:.2f}{made}",
        "conversion us": "" if converting is None else converting,
        "pays after": after,
    }


IN_PLACE = "finch SparseList"
"""Ours over the memory of SciPy's matrix: nothing is converted."""


def _after(row: Mapping[str, Any], converting: float | None) -> Any:
    if converting is None:
        return ""
    gain = row["us"].get(IN_PLACE, 0) - row["us"][row["best"]]
    return math.ceil(converting / gain) if gain > 0 else "never"


def rows(measured: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Races as rows of a table: our best time, and how many times faster than each peer it is."""
    shown = together(measured)
    names = list(dict.fromkeys(peer for row in shown for peer in row["ratios"]))
    found = [_flat(row, names) for row in shown]
    for work in dict.fromkeys(row.get("work", "") for row in measured):
        chosen = [r for r in measured if r.get("work", "") == work and r.get("group") not in APART]
        means = geometric_means(chosen)
        if len(chosen) > 1:
            title = " ".join(filter(None, (work, "geometric mean")))
            asked = {peer: x for peer, x in MEANS.get(work, {}).items() if peer in means}
            over = {"work": "", "data": title, "best": "", "times": "", "ratios": means}
            over |= _rules(chosen)
            found.append(_flat({**over, "asked": asked}, names))
    return found


def text(command: str, measured: list[dict[str, Any]]) -> str:
    """The table of one command for a terminal."""
    return f"{command}: times faster than (above 1 is faster)\n" + table(rows(measured))


def beside_the_paper(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The paper's numbers, ours, and the peers' over the same base."""
    return [
        {**row, "peers": ", ".join(f"{n} {v:.2g}" for n, v in row["peers"].items())}
        for row in paper.table(result["races"])
    ]


def beside_the_paper_text(result: Mapping[str, Any]) -> str:
    return "beside the paper: speedups over\n" + table(beside_the_paper(result))


# -- the page ---------------------------------------------------------------------------------


def write(result: Mapping[str, Any], page: Path) -> None:
    """The page, and its plots in a folder of the same name beside it."""
    from bench import plots

    drawn = plots.everything(result["races"], page.with_suffix(""))
    page.write_text(markdown(result, drawn, page.stem))


def markdown(
    result: Mapping[str, Any], drawn: Mapping[str, list[str]], folder: str = "results"
) -> str:
    """``docs/results.md`` from the JSON of ``python -m bench all``."""
    parts = [_head(result), _losses_part(result), _paper_part(result), _lines_part(result)]
    for command, measured in result["races"].items():
        parts.append(_command_part(command, measured, drawn.get(command, []), folder))
    parts.append(_compile_part(result))
    return "\n".join(line for part in parts for line in part) + "\n"


def _head(result: Mapping[str, Any]) -> list[str]:
    about = result["machine"]
    versions = ", ".join(f"{name} {v}" for name, v in about["packages"].items())
    lines = [
        "# Results",
        "",
        "Written by `python -m bench all --markdown docs/results.md`"
        + (" with `--quick`." if result.get("quick") else ".")
        + " One process for each kind of work, one thread, contenders alternating, the least of "
        "many runs, and every result compared with every other before. Times are the process's, "
        "of all its threads. Each race is of one run; those of different commands may be put "
        "together (`python -m bench report`), and the number of data sets says how far each went. "
        "[How to repeat it](repeat.md), with TACO and LAGraph from source. The peers are those of "
        "the extra `bench`, Eigen's headers (Debian: `libeigen3-dev`), a `taco` command where one "
        "is on the PATH, and LAGraph where it is installed.",
        "",
        "On pages of their own: [array functions](results/arrays.md), [plans](plans.md#measured), "
        "[parallel loops and files](performance.md), [workers](neighbours.md), and [what was "
        "measured by hand](results/by-hand.md): the start of a process, lowering, new outputs.",
        "",
        f"{about['processor']}; {about['compiler']}; flags `{about['flags']}`; Python "
        f"{about['python']}; {versions}.",
    ]
    if about.get("load"):
        lines += [
            "",
            f"The load average was {about['load']:.1f} on {about['cores']} cores: what other work "
            "there was took none of these times, but caches and memory.",
        ]
    for name, why in result["missing"].items():
        lines += ["", f"Not measured: {name} ({why})."]
    return lines


def _paper_part(result: Mapping[str, Any]) -> list[str]:
    said = (
        "Speedups over the system that the paper compares with, as geometric means: the paper's, "
        "ours, and those of the other peers here. The paper's were measured on another machine, "
        "with other versions and, but for the synthetic matrices, mostly on other data; its "
        "matrices and images that could not be had are not stood in for. `taco-like` are loops "
        "by hand like those that TACO emits, with its flags, `taco-like native` the same with all "
        "instructions of this machine, gathers too."
    )
    return ["", "## Beside the paper", "", said, "", *_markdown_table(beside_the_paper(result))]


def _lines_part(result: Mapping[str, Any]) -> list[str]:
    said = "Without comments, docstrings and blank lines, counted from the programs that ran."
    return ["", "## Lines of code", "", said, "", *_markdown_table(result["lines"])]


def _command_part(
    command: str, measured: list[dict[str, Any]], drawn: list[str], folder: str
) -> list[str]:
    lines = ["", f"## {TITLES[command]}", ""]
    for name in drawn:
        lines += [f"![{name.replace('_', ' ')}]({folder}/{name}.png)", ""]
    lines += [
        "Each row is one data set, or a collection with its number of data sets: the "
        "microseconds of ours, by the program and format that a rule names before (*by rule*) or "
        "else by the best of them, and how many times faster that is than each peer (above 1: we "
        "are faster). The means are over all of them but the small and tiny ones, where it is "
        "calls that are measured.",
        "",
    ]
    if command == "programs":
        return [*lines[:-2], *_programs(measured)]
    about = {"spmv": _chooser, "images": _as_given}.get(command, lambda _measured: [])
    return [*lines, *_markdown_table(rows(measured)), *about(measured)]


def _programs(measured: list[dict[str, Any]]) -> list[str]:
    """Whole programs by what was asked of each, as parts of the peers' times."""
    said = (
        "Solvers, searches and recurrences that read what they write, one bound call each: the "
        "milliseconds of the best of our programs, the part of a peer's time that was asked for, "
        "and the part that was reached (below 1: we are faster; what misses is bold). `hand C` "
        "are the loops of `bench/hand/programs.c`, with the flags of kernels. Ratios within 0.03 "
        "of another are no difference, and those of graphs depend on where memory lies."
    )
    return [said, "", *_markdown_table([_part_of_time(row) for row in measured])]


def _part_of_time(row: dict[str, Any]) -> dict[str, Any]:
    asked, reached = [], []
    for peer, times in row["asked"].items():
        asked.append(f"{peer} {1 / times:.2f}")
        part = f"{1 / row['ratios'][peer]:.2f}"
        reached.append(part if row["ratios"][peer] >= times else f"**{part}**")
    others = [f"{p} {1 / r:.2g}" for p, r in row["ratios"].items() if p not in row["asked"]]
    return {
        "work": row["work"],
        "data": row["data"],
        "ms": row["us"][row["best"]] / 1e3,
        "asked for, of the time of": ", ".join(asked) or "nothing",
        "reached": ", ".join(reached),
        "of others": ", ".join(others),
    }


def _as_given(_measured: list[dict[str, Any]]) -> list[str]:
    said = (
        "Images are compared as bytes, in which users have them (*by rule*). Words of 64 pixels "
        "and runs stand beside it as the best in hindsight, with the part of the time that they "
        "take and their conversion there and back, which is timed apart."
    )
    return ["", said]


def _chooser(measured: list[dict[str, Any]]) -> list[str]:
    """How what ``choose_format`` named stands to the best in hindsight."""
    ruled = [row for row in measured if "hindsight" in row]
    ratios = [row["us"][row["hindsight"]] / row["us"][row["best"]] for row in ruled]
    if not ratios:
        return []
    close = sum(ratio > 0.95 for ratio in ratios)
    said = (
        "`choose_format` names a format from the structure alone (*by rule*): it is compared. "
        "Beside it stands what would have been best, and how much of its time that takes; what "
        f"`choose_format` names is within a twentieth of it for {close} of {len(ratios)} matrices, "
        f"and the best takes {mean(ratios):.2f} of its time in the geometric mean. The conversion "
        "from SciPy's CSR, which `SparseList` reads in place, is timed apart; *pays after* is the "
        f"number of products. Of peers, {', '.join(_ANEW)} make their result anew in each call and "
        "are compared with ours doing so; the others, and ours else, write to one that is kept. "
        "Explicit zeros are left out for all."
    )
    return ["", said]


_ANEW = ("scipy", "mkl fresh", "graphblas", "sparse", "finch-tensor", "numpy dense")


def _compile_part(result: Mapping[str, Any]) -> list[str]:
    lines: list[str] = []
    for found in result.get("compile", []):
        lines += ["", *_markdown_table(found)]
    return ["", "## Around the kernel", *lines] if lines else []


def _losses_part(result: Mapping[str, Any]) -> list[str]:
    said = (
        "What is slower than one of the peers by more than a tenth, the worst first, and why. "
        "`hand C`, `taco-like` and `numba` are loops by hand."
    )
    found = losses(result["races"])
    return ["", "## Where we lose", "", said, "", *_markdown_table(found)]


def _markdown_table(found: list[dict[str, Any]]) -> list[str]:
    if not found:
        return ["(nothing)"]
    return list(_markdown_lines(found))


def _markdown_lines(found: list[dict[str, Any]]) -> Iterator[str]:
    head = list(found[0])
    yield "| " + " | ".join(head) + " |"
    yield "|" + " --- |" * len(head)
    for row in found:
        yield "| " + " | ".join(map(_cell, row.values())) + " |"


def _cell(value: Any) -> str:
    if not isinstance(value, float):
        return str(value)
    return f"{value:.3g}" if value < 1e3 else f"{value:.0f}"
