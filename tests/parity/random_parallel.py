"""Random parallel loops: equal to the plain loops, with the same bits on 1, 2, 3 and 7 threads and
in the interpreter, there as drafts are lowered, too; those with a race planted are refused.

``python random_parallel.py 10000 --compiled 500`` runs programs ``parallel.0`` up to
``parallel.9999`` on the interpreter, the first 500 in C too; ``--first`` begins elsewhere,
``--seconds`` ends it. All
numbers are integers, so that sums are exact. What fails is printed as text with its seed.
"""

from __future__ import annotations

import argparse
import gc
import linecache
import os
import random
import sys
import time
import warnings
from collections import Counter
from typing import Any
from unittest import mock

import numpy as np
from random_checks import switched_off
from uncached import uncache

from finch_core import Tensor, _, maxby, parallel, set_threads, stored
from finch_core.errors import RaceError
from finch_core.runtime.kernel import Kernel
from finch_core.runtime.options import Options
from finch_core.runtime.pipeline import Lowered
from finch_core.runtime.validation import validate
from finch_core.testing import backend_names
from finch_levels import (
    Dense,
    Element,
    RunList,
    Scalar,
    SparseBand,
    SparseByteMap,
    SparseHash,
    SparseList,
)

N = 11
THREADS = (1, 2, 3, 7)
NAMES = {
    "_": _, "parallel": parallel, "maxby": maxby, "stored": stored, "Tensor": Tensor,
    "Dense": Dense, "Element": Element, "SparseByteMap": SparseByteMap, "SparseHash": SparseHash,
}  # fmt: skip

READS = ["x[i]", "p[i]", "i", "3", "A[i, i]", "x[p[i]]", "(x[i] - 2)", "A[p[i], i]"]
SAFE = [
    ["y[i] = {e}"],
    ["y[i] += {e}"],
    ["for j in _:", "    y[i] += A[i, j] * x[j]"],
    ["for j in _:", "    D[i, j] = A[i, j] + {e}"],
    ["for j in _:", "    D[j, i] = A[i, j] * 2"],
    ["for j in range(i):", "    D[i, j] -= {e}"],
    ["z[2 * i] = {e}", "z[2 * i + 1] += {e}"],
    ["z[21 - i] = {e}"],
    ["for k in range(2):", "    z[2 * i + k] += {e} + k"],
    ["for k in range(n):", "    v[i * n + k] = {e} - k"],
    ["s[()] += {e}"],
    ["s[()] -= {e}"],
    ["r[()] = max(r[()], {e})"],
    ["for j in _:", "    s[()] += A[i, j]"],
    ["m[()] = maxby(m[()], ({e}, i))"],
    ["h[p[i] % 4] += {e}"],
    ["for j in _:", "    h[j % 4] += A[i, j]"],
    ["for j in _:", "    C[i, j] = A[i, j] * {e}"],
    ["for j in range(4):", "    C[i, j] = {e}", "for j in range(4, n):", "    C[i, j] = A[i, j]"],
    ["for j in _:", "    if j < 5:", "        C[i, j] = A[i, j]", "C[i, 7] = {e}"],
    [
        "for j, k in _:",
        "    if j < 5:",
        "        E[i, j, k] = T[i, j, k]",
        "for j in range(5, n):",
        "    for k in _:",
        "        E[i, j, k] = A[j, k]",
    ],
    ["for j, k in _:", "    E[i, j, k] = A[i, j] * A[j, k] * {e}"],
    ["for j, k in _:", "    E[i, j, k] = A[i, j] - A[k, i]"],
    [
        "for j in _:",
        "    if A[i, j] > 2:",
        "        for k in _:",
        "            E[i, j, k] = A[j, k]",
    ],
    ["for j, k in _:", "    s[()] += T[i, j, k] * {e}"],
    ["for j, k in _:", "    E[i, j, k] = T[i, j, k] * A[i, k]"],
    ["for j, k in _:", "    E[i, j, k] = max(T[i, j, k], A[j, k])"],
    ["w[...] = 0", "for j in _:", "    w[(j * 3) % n] += A[i, j]", "y[i] = w[p[i]] + {e}"],
    ["t = {e}", "if t > 2:", "    t += x[i]", "y[i] = t"],
    ["t = 0", "for j in range(i):", "    t += x[j]", "s[()] += t"],
    ["if {e} > 2:", "    s[()] += {e}", "    continue"],
    ["for j in _:", "    if stored(B[i, j]):", "        B[i, j] *= 2"],
    ["t = i", "while t > 0:", "    t //= 2", "    s[()] += 1"],
    ["for j in _:", "    if A[i, j] > 4:", "        break", "    s[()] += A[i, j]"],
]
RACES = [
    ["y[i] = y[i - 1] + {e}"],
    ["y[p[i]] = {e}"],
    ["y[i // 2] = {e}"],
    ["y[0] = {e}"],
    ["y[i] = {e}", "y[i - 1] = {e}"],
    ["y[i] = {e}", "s[()] += y[0]"],
    ["z[2 * i] = {e}", "z[2 * i + 2] = {e}"],
    ["z[2 * i] = {e}", "z[i] += {e}"],
    ["for k in range(3):", "    z[2 * i + k - 2] = {e} + k"],
    ["for k in range(n):", "    v[i * 2 + k] = {e} - k"],
    ["y[i] = s[()]", "s[()] += {e}"],
    ["s[()] += {e}", "s[()] *= 2"],
    ["s[()] = {e}"],
    ["s[()] = {e} - s[()]"],
    ["h[p[i] % 4] += {e}", "y[i] = h[0]"],
    ["h[p[i] % 4] += {e}", "h[0] *= 2"],
    ["h[p[i] % 4] = max(h[p[i] % 4], {e})", "h[1] += 1"],
    ["for j in _:", "    D[j, j] = A[i, j]"],
    ["for j in _:", "    D[j, i] = D[i, j] + A[i, j]"],
    ["for j in _:", "    C[j, i] += A[i, j]"],
    ["for j, k in _:", "    E[j, i, k] += T[i, j, k]"],
    ["for j, k in _:", "    E[j, k, 0] = A[i, j] * A[j, k]"],
    ["u = u * 2 + {e}", "y[i] = u"],
    ["u = {e}"],
    ["if {e} > 4:", "    break", "s[()] += 1"],
    ["w[i] += {e}", "s[()] += w[0]"],
    ["w[0] = {e}", "w[...] = 0"],
    ["for j in _:", "    B[j, i] *= 2", "    s[()] += B[i, j]"],
]
STEPS = ("range(0, n, 2)", "range(1, n, 3)", "reversed(range(n))", "range(n - 1, 0, -2)")
FORMATS = (
    Dense(Dense(Element(0))), Dense(SparseList(Element(0))), SparseList(SparseList(Element(0))),
    Dense(RunList(Element(0))), Dense(SparseBand(Element(0))), Dense(SparseHash(Element(0))),
)  # fmt: skip
FORMATS_3 = (
    Dense(SparseList(SparseList(Element(0)))), SparseList(SparseList(SparseList(Element(0)))),
    Dense(Dense(SparseList(Element(0)))), SparseList(Dense(SparseList(Element(0)))),
    Dense(SparseList(RunList(Element(0)))), Dense(SparseList(Dense(Element(0)))),
)  # fmt: skip
"""Formats of what is joined from parts, and read: lists below lists."""


class Case:
    """One random program: its text, whether a race is planted in it, and its arguments."""

    def __init__(self, number: int) -> None:
        self.name = f"parallel.{number}"
        rng = random.Random(self.name)
        self.races = rng.random() < 0.4
        self.seed, self.format = rng.getrandbits(32), rng.choice(FORMATS)
        parts = [rng.choice(SAFE) for _k in range(rng.randint(1, 3))]
        parts = [part for k, part in enumerate(parts) if _fits(part, parts[:k])]
        if self.races:
            parts = [rng.choice(RACES)]
        lines = [self.filled(line, rng) for part in parts for line in part]
        self.cubes = rng.choice(FORMATS_3), rng.choice(FORMATS_3)
        bounds = "range(1, n)" if self.races or rng.random() < 0.3 else "range(n)"
        joined = [name for name in "CE" if any(f"{name}[" in line for line in lines)]
        joins = bool(joined)
        if not self.races and rng.random() < 0.2:
            bounds = rng.choice(STEPS[:2] if joins else STEPS)
        self.text = "\n".join([
            "def program(y, z, v, D, C, E, h, s, r, m, A, B, T, x, p, n):",
            "    w = Tensor(SparseByteMap(Element(0)), (n,))",
            "    u = 0",
            *(f"    {name}[...] = 0" for name in joined),
            f"    for i in parallel({bounds}):",
            *(f"        {line}" for line in lines),
            *["    s[()] += u"] * self.races,
        ])  # fmt: skip
        self.outputs = [n for n in "y z v D C E h s r m B".split() if f"{n}[" in self.text]

    @staticmethod
    def filled(line: str, rng: random.Random) -> str:
        while "{e}" in line:
            one = rng.choice(READS)
            if rng.random() < 0.3:
                one = f"{one} {rng.choice('+-*')} {rng.choice(READS)}"
            line = line.replace("{e}", f"({one})" if " " in one else one, 1)
        return line

    def function(self) -> Any:
        file = f"<{self.name}>"
        linecache.cache[file] = (len(self.text), None, self.text.splitlines(True), file)
        scope: dict[str, Any] = dict(NAMES)
        exec(compile(self.text, file, "exec"), scope)
        return scope["program"]

    def arguments(self) -> tuple[Any, ...]:
        rng = np.random.default_rng(self.seed)
        data = rng.integers(1, 9, (N, N)) * (rng.random((N, N)) < 0.4)
        cube = rng.integers(1, 9, (N, N, N)) * (rng.random((N, N, N)) < 0.15)
        csr, (joined, read) = Dense(SparseList(Element(0))), self.cubes
        return (
            np.ones(N, int), np.zeros(2 * N, int), np.zeros(N * N, int), np.ones((N, N), int),
            Tensor(csr, np.ones((N, N), int)), Tensor(joined, cube), np.zeros(4, int),
            Scalar(0), Scalar(-9), Scalar((-99, -1)), Tensor(self.format, data), Tensor(csr, data),
            Tensor(read, cube[::-1]), rng.integers(-4, 9, N),
            rng.permutation(N) % rng.integers(2, N), N,
        )  # fmt: skip


def _fits(part: list[str], before: list[list[str]]) -> bool:
    """Whether a statement can stand with others: each writes a tensor of its own, and only the last
    may go on to the next turn."""
    wrote = {line.split("[")[0].split()[-1] for other in before for line in other if "[" in line}
    mine = {line.split("[")[0].split()[-1] for line in part if "[" in line}
    names = {line.split(" =")[0] for line in part if line.startswith("t =")}
    taken = any(line.startswith("t =") for other in before for line in other) and names
    return not (mine & wrote - {"s"}) and not taken


def plain(value: Any) -> Any:
    if isinstance(value, Tensor):
        validate(value)
        return value.to_numpy().tolist(), value.nstored
    return value.tolist() if isinstance(value, np.ndarray) else value


def run(case: Case, kernel: Kernel, threads: int) -> list[Any]:
    with mock.patch.dict(os.environ, FINCH_OVERSUBSCRIBE="1"):
        set_threads(threads)
    args = case.arguments()
    kernel(*args)
    return [plain(arg) for arg in args]


def in_turn(lowered: Lowered) -> Any:
    """The assembly of a draft: loops that reduce into tuples keep their parts."""
    found = lowered._simpler
    return lowered._lowered() if found is None else found


def check(number: int, compiled: bool) -> str:
    """``refused`` or ``agrees``. Raises ``AssertionError`` for a program that does neither as it
    should."""
    case = Case(number)
    function = case.function()
    off = switched_off(number)
    kernel = Kernel(function, Options(backend="interpreter", least_work=12, disabled=off))
    try:
        found = run(case, kernel, 1)
    except RaceError:
        assert case.races, f"{case.name} is refused, and has no race\n{case.text}"
        return "refused"
    assert not case.races, f"{case.name} has a race, and is not refused\n{case.text}"
    wanted = kernel.reference(*case.arguments())
    names = case.text[case.text.index("(") + 1 : case.text.index(")")].split(", ")
    for name, value in zip(names, found, strict=True):
        if name in wanted and name in case.outputs:
            got = value[0] if isinstance(value, tuple) else value
            same = np.array_equal(np.asarray(got), np.asarray(wanted[name].tolist()))
            assert same, f"{case.name}: {name} is {got}, not {wanted[name].tolist()}\n{case.text}"
    if number % 2:  # as the drafts of backends run it
        with mock.patch.object(Lowered, "kernel", property(in_turn)):
            kernel = Kernel(function, Options(backend="interpreter", disabled=off))
            other = run(case, kernel, 1)
        assert other == found, f"{case.name} differs with its loops in turn\n{case.text}"
    kernel = Kernel(function, Options(backend=backend_names()[-1], least_work=12, disabled=off))
    for threads in THREADS if compiled else ():
        other = run(case, kernel, threads)
        assert other == found, f"{case.name} differs in C on {threads} threads\n{case.text}"
    return "agrees"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--compiled", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after these")
    given = parser.parse_args()
    uncache()
    gc.freeze()
    gc.set_threshold(200_000, 50, 1000)  # a tenth of the time went into looking for cycles
    outcomes: Counter[str] = Counter()
    warnings.simplefilter("ignore")
    ends = time.monotonic() + given.seconds
    for k in range(given.first, given.first + given.count):
        if time.monotonic() > ends:
            break
        try:
            outcomes[check(k, k - given.first < given.compiled)] += 1
        except Exception as error:
            outcomes["findings"] += 1
            told = error if isinstance(error, AssertionError) else f"{error}\n{Case(k).text}"
            print(f"parallel.{k}: {type(error).__name__}: {told}", flush=True)
    print(dict(outcomes))
    return int(outcomes["findings"] > 0)


if __name__ == "__main__":
    sys.exit(main())
