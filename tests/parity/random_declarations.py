"""Random programs that declare a tensor in branches and loops: both backends beside the reference.

    python tests/parity/random_declarations.py --count 2000 --seconds 600 --seed 1

The tensor is passed with a shape or without one, in formats that can be updated again. A program
is refused by both backends, or gives what the reference does, in buffers that are valid.
"""

from __future__ import annotations

import argparse
import importlib.util
import re
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from finch_core import FinchError, Tensor, kernel
from finch_levels import Dense, Element, RunList, SparseByteMap, SparseHash, SparseList

E = Element(0.0)
LEVELS = (Dense, SparseByteMap, SparseHash, SparseList, RunList)
WEIGHTS = np.array([4, 3, 3, 1, 1]) / 12
N = 5
MODES = 3
"""The parameter ``m``, by which programs branch, is below this."""


def program(rng: np.random.Generator, name: str) -> str:
    """The text of a kernel on ``u``, ``x``, ``n`` and ``m``; of every third, ``u`` has two
    dimensions."""
    lines = [f"def {name}(u, x, n, m):"]
    if rng.random() < 0.3:
        lines += [f"    if m > {rng.integers(MODES)}:", "        return"]
    if rng.random() < 0.4:
        lines.append("    u[...] = 0")
    if rng.random() < 0.3:  # of the program's own
        lines[0] = lines[0].replace("u,", "given,")
        lines.insert(1, "    u = given.like(0.0)")
    block(rng, lines, "    ", 3, ())
    lines.append("    for last in _: x[last] += u[last]" if rng.random() < 0.5 else "    x[0] += 1")
    if rank(name) == 2:
        lines = [new for line in lines for new in in_two_dimensions(rng, line)]
    return "\n".join(lines)


def rank(name: str) -> int:
    return 2 if int(name[1:]) % 3 == 0 else 1


def in_two_dimensions(rng: np.random.Generator, line: str) -> list[str]:
    """A line in which the elements of ``u`` have a second index, of a loop of its own."""
    found = re.search(r"u\[([^.\]]+)\]", line)
    if found is None:
        return [line]
    inner, at = f"k{rng.integers(10**6)}", found.group(1)
    new = [f"u[{at}, {inner}]", f"u[{inner}, {at}]"][rng.integers(2)]
    loop = f"for {inner} in {['_', 'range(2)', 'range(n)'][rng.integers(3)]}:"
    head, colon, body = line.rpartition(": ")
    indent = line[: len(line) - len(line.lstrip())]
    body = (body if colon else line.strip()).replace(found.group(0), new)
    if not colon:
        return [f"{indent}{loop} {body}"]
    return [f"{head}:", f"{indent}    {loop} {body}"]


Names = tuple[str, ...]


def block(
    rng: np.random.Generator, lines: list[str], indent: str, depth: int, around: Names
) -> None:
    """Statements in loops over the indices ``around``."""
    for _ in range(int(rng.integers(1, 4))):
        statement(rng, lines, indent, depth, around)


def statement(
    rng: np.random.Generator, lines: list[str], indent: str, depth: int, around: Names
) -> None:
    index = f"i{len(lines)}"
    kind = rng.random()
    if around and rng.random() < 0.3:
        outer = around[rng.integers(len(around))]
        lines.append(
            f"{indent}{['u[{0}] += 1', 'x[{0}] += u[{0}]'][rng.integers(2)].format(outer)}"
        )
        return
    if around and kind < 0.06:
        test = [f"m > {rng.integers(MODES)}", f"{around[-1]} > 0"][rng.integers(2)]
        lines.append(f"{indent}if {test}: {['break', 'continue'][rng.integers(2)]}")
    elif kind < 0.22:
        lines.append(f"{indent}u[...] = 0")
    elif kind < 0.42:
        start, stop = [("0", "n"), ("0", "2"), ("1", "n"), ("2", "n - 1")][rng.integers(4)]
        at = [index, f"n - 1 - {index}"][int(rng.random() < 0.3)]
        lines.append(f"{indent}for {index} in range({start}, {stop}): u[{at}] += 1 + {at}")
    elif kind < 0.52:
        place = [index, "0"][int(rng.random() < 0.3)]
        lines.append(f"{indent}for {index} in _: x[{place}] += u[{index}]")
    elif kind < 0.58:
        place = ["0", "n - 1", "m"][rng.integers(3)]
        lines.append(f"{indent}{['u', 'x'][rng.integers(2)]}[{place}] += 1")
    elif kind < 0.64:
        lines.append(f"{indent}for {index} in _: u[{index}] += x[{index}]")
    elif not depth:
        lines.append(f"{indent}x[0] += 1")
    elif kind < 0.85:
        lines.append(f"{indent}if m > {rng.integers(MODES)}:")
        block(rng, lines, indent + "    ", depth - 1, around)
        if rng.random() < 0.6:
            lines.append(f"{indent}else:")
            block(rng, lines, indent + "    ", depth - 1, around)
    elif kind < 0.9:
        lines += [f"{indent}{index} = 0", f"{indent}while {index} < {rng.integers(1, 4)}:"]
        lines.append(f"{indent}    {index} += 1")
        block(rng, lines, indent + "    ", depth - 1, (*around, index))
    else:
        lines.append(f"{indent}for {index} in range({['2', 'm', '3', 'n'][rng.integers(4)]}):")
        block(rng, lines, indent + "    ", depth - 1, (*around, index))


def functions(seeds: range, folder: Path) -> list[Any]:
    """The kernels of these seeds, from a file."""
    texts = [program(np.random.default_rng(seed), f"f{seed}") for seed in seeds]
    path = folder / f"declarations_{seeds.start}.py"
    path.write_text("from finch_core import _\n\n\n" + "\n\n\n".join(texts) + "\n")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [getattr(module, f"f{seed}") for seed in seeds]


def given(ndim: int) -> Any:
    """The elements that ``u`` is passed with."""
    return np.arange(float(N**ndim)).reshape((N,) * ndim)


def outcome(called: Any, format: Any, shaped: bool, m: int) -> Any:
    """What a kernel gives: the tensor and the array, or the class of a refusal."""
    u, x = Tensor(format, given(format.ndim)) if shaped else Tensor(format), np.ones(N)
    try:
        called(u, x, N, m)
    except FinchError as error:
        return type(error).__name__
    again = Tensor.from_buffers(u.format, u.shape, {k: b.copy() for k, b in u.buffers.items()})
    return again.to_numpy(), x


def check(seed: int, function: Any, backends: tuple[str, ...]) -> str:
    """What is wrong with the program of this seed; empty if nothing is."""
    rng = np.random.default_rng(seed + 10**6)
    shaped, ndim = rng.random() < 0.6, rank(function.__name__)
    format: Any = E
    for k in rng.choice(len(LEVELS), ndim, p=WEIGHTS):
        format = LEVELS[k](format)
    names = ", ".join(level.name for level in format.levels()[:-1])
    told = f"seed {seed}, {names}, {'of a shape' if shaped else 'without a shape'}"
    made = [kernel(function, backend=backend) for backend in backends]
    for m in range(MODES):
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = [outcome(called, format, shaped, m) for called in made]
        except Exception:
            return f"{told}, m = {m}\n{traceback.format_exc(limit=-4)}"
        first = found[0]
        if any(isinstance(one, str) or isinstance(first, str) for one in found):
            if any(one is not first and one != first for one in found if isinstance(one, str)):
                return f"{told}, m = {m}: {found}"
            continue
        start = {"u": given(ndim) * shaped, "x": np.ones(N)}
        wanted = start | made[0].reference(start["u"].copy(), start["x"].copy(), N, m)
        for u, x in found:
            if u.shape == (N,) * ndim and not np.array_equal(u, wanted["u"]):
                return f"{told}, m = {m}: u is {u}, not {wanted['u']}"
            if u.shape == (N,) * ndim and not np.array_equal(x, wanted["x"]):
                return f"{told}, m = {m}: x is {x}, not {wanted['x']}"
            if u.shape != first[0].shape or not np.array_equal(x, first[1]):
                return f"{told}, m = {m}: {found}"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--backends", default="interpreter,c")
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.count)
    started, done, bad = time.monotonic(), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for seed, function in zip(seeds, functions(seeds, Path(folder)), strict=True):
            if time.monotonic() - started > options.seconds:
                break
            wrong = check(seed, function, tuple(options.backends.split(",")))
            done += 1
            if wrong:
                bad += 1
                print(wrong, program(np.random.default_rng(seed), f"f{seed}"), sep="\n", flush=True)
    print(f"{done} programs, {bad} wrong, {time.monotonic() - started:.0f} s")
    return min(bad, 1)


if __name__ == "__main__":
    sys.exit(main())
