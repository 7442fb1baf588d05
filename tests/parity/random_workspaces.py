"""Random programs that set, update, exchange and read workspaces at every depth of loops and
conditions, as Python source; the oracle is the function itself, run by Python over arrays.

``python tests/parity/random_workspaces.py FIRST COUNT [BACKEND]`` runs the seeds from FIRST on.
"""

from __future__ import annotations

import linecache
import random
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from finch_core import kernel

MADE = ["np.zeros(3)", "np.ones(3)", "x.copy()", "np.full(3, 2.0)", "np.zeros_like(x)"]


class Author:
    """Writes the program of a seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def program(self) -> str:
        choice = self.random.choice
        result = choice(["t", "w[2] + 2 * v[1]", "y[0] + v[0]"])
        body = "\n".join(self.block([], 1, 5))
        made = f"    t = 1.0\n    w = {choice(MADE)}\n    v = {choice(MADE)}"
        return f"def program(y, x, n):\n{made}\n{body}\n    return {result}\n"

    def block(self, indices: list[str], depth: int, most: int = 3) -> list[str]:
        return [
            "    " * depth + line
            for _k in range(self.random.randint(1, most))
            for line in self.statement(indices, depth)
        ] or ["    " * depth + "pass"]

    def statement(self, indices: list[str], depth: int) -> Iterator[str]:
        choice, kind = self.random.choice, self.random.random()
        if kind < 0.22:
            yield f"{choice('wv')}[:] = {choice(['0', '0', '0', self.value(indices, 2)])}"
        elif kind < 0.45 or depth > 4:
            place = choice([*indices, "0", "1", "2"])
            yield f"{choice('wvy')}[{place}] {choice(['=', '+=', '-='])} {self.value(indices)}"
        elif kind < 0.52:
            yield f"t = {self.value(indices)}"
        elif kind < 0.55:
            yield "w, v = v, w"
        elif kind < 0.85 and len(indices) < 4:
            index = "ijkl"[len(indices)]
            yield f"for {index} in range({choice(['3', '2', 'n'])}):"
            yield from self.inner([*indices, index], depth)
        else:
            yield f"if {self.value(indices)} {choice(['<', '==', '>'])} {self.value(indices)}:"
            yield from self.inner(indices, depth)
            last = self.random.random()
            if last < 0.3:
                yield "else:"
                yield from self.inner(indices, depth)
            elif indices and last < 0.45:
                yield "    " + choice(["break", "continue"])

    def inner(self, indices: list[str], depth: int) -> Iterator[str]:
        for line in self.block(indices, depth + 1):
            yield line[4 * depth :]

    def value(self, indices: list[str], depth: int = 0) -> str:
        choice, kind = self.random.choice, self.random.random()
        if kind < 0.3 or (kind < 0.5 and not indices):
            return str(self.random.randint(-2, 3))
        if kind < 0.5:
            return choice(indices)
        if kind < 0.8:
            return f"{choice('wvyx')}[{choice([*indices, '0', '1', '2'])}]"
        if depth > 1:
            return "t"
        left, right = self.value(indices, depth + 1), self.value(indices, depth + 1)
        return choice([f"({left} {choice('+-*')} {right})", f"max({left}, {right})"])


def function_of(source: str, seed: int) -> Callable[..., Any]:
    """The function that a source defines, whose text can be read."""
    name = f"<workspaces {seed}>"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    names: dict[str, Any] = {"np": np}
    exec(compile(source, name, "exec"), names)
    function: Callable[..., Any] = names["program"]
    return function


def check(seed: int, backend: str = "interpreter") -> str:
    """Compare the function with its kernel; returns its source. Raises ``AssertionError``."""
    source = Author(seed).program()
    function = function_of(source, seed)
    y, x = np.array([1.0, 0.0, 2.0]), np.array([0.0, 3.0, 1.0])
    mine = y.copy()
    with np.errstate(all="ignore"):
        wanted = function(y, x, 2)
    found = kernel(function, backend=backend)(mine, x, 2)
    same = np.allclose(mine, y, equal_nan=True) and np.allclose(found, wanted, equal_nan=True)
    if np.isfinite(y).all() and np.isfinite(wanted):  # sums of floats may be reassociated
        assert same, f"seed {seed}: {found} and {mine}, not {wanted} and {y}\n{source}"
    return source


if __name__ == "__main__":
    first, count, *rest = sys.argv[1:]
    for seed in range(int(first), int(first) + int(count)):
        try:
            check(seed, *rest)
        except Exception as error:
            print(f"seed {seed}: {type(error).__name__}: {error}")
