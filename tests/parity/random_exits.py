"""Random programs with ``while``, ``break``, ``continue``, steps and reversed ranges, as Python
source; the oracle is the function itself, run by Python over arrays.

``python tests/parity/random_exits.py FIRST COUNT [BACKEND]`` runs the seeds from FIRST on.
"""

from __future__ import annotations

import linecache
import random
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from finch_core import PerformanceWarning, Tensor, kernel
from finch_levels import (
    Dense,
    Element,
    RunList,
    SparseBand,
    SparseBlockList,
    SparseByteMap,
    SparseHash,
    SparseList,
    SparseRunList,
)

LEVELS = (
    Dense, SparseList, SparseByteMap, RunList, SparseBand, SparseHash, SparseRunList,
    SparseBlockList,
)  # fmt: skip
OUTPUTS = tuple(level for level in LEVELS if level is not SparseBand)
ROWS, COLUMNS = 4, 6
ARGUMENTS = "s, y, C, A, B, x, n, m"


class Author:
    """Writes the lines of a random program."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.indices: list[str] = []
        self.names: list[str] = []
        self.loops = 0
        self.fresh = 0

    def program(self) -> str:
        """The source of a function ``program``."""
        lines = [f"def program({ARGUMENTS}):", "    s[...] = 0", "    C[...] = 0"]
        nests = [self.nest, self.turns, self.nest]
        for k in range(self.random.randrange(1, 3)):
            lines += _below((self.appending if k == 0 else self.random.choice(nests))(3))
        return "\n".join([*lines, ""])

    # -- loops ------------------------------------------------------------------------------

    def appending(self, depth: int) -> Iterator[str]:
        """A nest that writes ``C`` in order."""
        yield "for i in range(n):"
        yield from _below(self.body("i", depth - 1, self.random.randrange(2), cut=False))
        yield "    for j in range(m):"
        self.indices.append("i")
        yield from _below(_below(self.body("j", depth - 2, 3, extra=f"C[i, j] = {self.value()}")))
        self.indices.remove("i")

    def nest(self, depth: int) -> Iterator[str]:
        """A loop over an index that is not in use."""
        free = [name for name in "ij" if name not in self.indices]
        if not free:
            yield from self.turns(depth)
            return
        index = self.random.choice(free)
        size = "n" if index == "i" else "m"
        ranges = (
            f"range({size})", f"range({size})", f"range(1, {size})", f"range({size} - 1)",
            f"range(0, {size}, 2)", f"range(1, {size}, 3)", f"reversed(range({size}))",
            f"range({size} - 1, -1, -1)", f"range({size} - 1, 0, -2)",
        )  # fmt: skip
        yield f"for {index} in {self.random.choice(ranges)}:"
        yield from _below(self.body(index, depth - 1, 3))

    def turns(self, depth: int) -> Iterator[str]:
        """A loop with a condition."""
        name = self.name()
        yield f"{name} = 0"
        self.names.append(name)
        more = self.random.choice(["", f" and ({self.cond()})", f" and ({self.cond()})"])
        yield f"while {name} < {self.random.randrange(1, 4)}{more}:"
        yield f"    {name} += 1"
        self.loops += 1
        yield from _below(self.block(depth - 1, 2))
        self.loops -= 1

    def body(
        self, index: str, depth: int, count: int, extra: str = "", cut: bool = True
    ) -> Iterator[str]:
        """The body of a loop over ``index``; ``cut``: it may be left."""
        self.indices.append(index)
        names = list(self.names)
        self.loops += cut
        before = self.random.randrange(count + 1)
        yield from self.block(depth, before)
        if extra:
            yield extra
        yield from self.block(depth, count - before)
        yield "pass"
        self.loops -= cut
        self.names = names
        self.indices.remove(index)

    def block(self, depth: int, count: int) -> Iterator[str]:
        names = list(self.names)
        for _ in range(count):
            yield from self.statement(depth)
        yield "pass"
        self.names = names

    # -- statements -------------------------------------------------------------------------

    def statement(self, depth: int) -> Iterator[str]:
        nested = [self.branch, self.branch, self.nest, self.turns] if depth > 0 else []
        plain = [self.update, self.update, self.variable] + [self.leave] * 2 * bool(self.loops)
        found: Callable[..., Any] = self.random.choice([*plain, *nested])
        yield from found(depth)

    def branch(self, depth: int) -> Iterator[str]:
        yield f"if {self.cond()}:"
        yield from _below(self.block(depth - 1, 2))
        if self.random.random() < 0.5:
            yield "else:"
            yield from _below(self.block(depth - 1, 1))

    def leave(self, depth: int) -> Iterator[str]:
        yield f"if {self.cond()}:"
        if self.random.random() < 0.5:
            yield from _below(self.update(depth))
        yield f"    {self.random.choice(['break', 'continue'])}"

    def update(self, depth: int) -> Iterator[str]:
        targets = ["s[()]"] + ["y[i]"] * ("i" in self.indices) + self.names[-1:]
        target = self.random.choice(targets)
        if target in self.names and self.random.random() < 0.5:
            target = "s[()]"  # a counter of a loop is not set back
        op = "+=" if target != "y[i]" else self.random.choice(["+=", "="])
        yield f"{target} {op} {self.value() if target != self.names[-1:] else '1'}"

    def variable(self, depth: int) -> Iterator[str]:
        name = self.name()
        yield f"{name} = {self.value()}"
        self.names.append(name)

    # -- expressions ------------------------------------------------------------------------

    def name(self) -> str:
        self.fresh += 1
        return f"t{self.fresh}"

    def atom(self) -> str:
        known = [str(self.random.randrange(4)), "s[()]", *self.names, *self.indices]
        if "i" in self.indices:
            known += ["y[i]", "x[i]", "x[i]"]
        if {"i", "j"} <= set(self.indices):
            known += ["A[i, j]", "B[i, j]"] * 3
        return self.random.choice(known)

    def value(self) -> str:
        first, second = self.atom(), self.atom()
        shapes = (first, f"{first} + {second}", f"{first} - {second}", f"abs({first}) % 5")
        return self.random.choice(shapes)

    def cond(self) -> str:
        op = self.random.choice(["<", ">", "==", "!=", ">="])
        cond = f"{self.value()} {op} {self.random.randrange(5)}"
        kind = self.random.randrange(6)
        if kind == 0:
            return f"{cond} and {self.atom()} > 1"
        return f"{cond} or {self.atom()} == 2" if kind == 1 else cond


def _below(lines: Any) -> Iterator[str]:
    for line in lines:
        yield f"    {line}"


def function_of(source: str, seed: int) -> Any:
    """The function ``program`` of a source, which tools that read sources find."""
    filename = f"<random exits {seed}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    scope: dict[str, Any] = {}
    exec(compile(source, filename, "exec"), scope)
    return scope["program"]


def operands(seed: int) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The arguments as arrays, and as tensors in random formats."""
    author, rng = random.Random(seed), np.random.default_rng(seed)
    arrays = []
    for shape in ((ROWS, COLUMNS), (ROWS, COLUMNS), (ROWS,)):
        kept = rng.random(shape) < author.choice((0.2, 0.6, 1.0))
        arrays.append(rng.integers(0, 4, shape) * kept)
    A, B = (Tensor(Dense(author.choice(LEVELS)(Element(0))), data) for data in arrays[:2])
    x = Tensor(author.choice(LEVELS)(Element(0)), arrays[2])
    C = Tensor(Dense(author.choice(OUTPUTS)(Element(0))), (ROWS, COLUMNS))
    fixed = [np.zeros((), int), rng.integers(0, 3, ROWS), np.zeros((ROWS, COLUMNS), int)]
    plain = (*fixed, *arrays, ROWS, COLUMNS)
    return plain, (fixed[0].copy(), fixed[1].copy(), C, A, B, x, ROWS, COLUMNS)


def check(seed: int, backend: str = "interpreter") -> str:
    """Compare the function with its kernel; returns its source. Raises ``AssertionError``."""
    source = Author(seed).program()
    function = function_of(source, seed)
    plain, tensors = operands(seed)
    with np.errstate(all="ignore"):
        function(*plain)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PerformanceWarning)
        kernel(function, backend=backend)(*tensors)
    for name, expected, found in zip("syC", plain, tensors, strict=False):
        same = np.array_equal(np.asarray(found), expected)
        assert same, f"seed {seed}: {name} is {np.asarray(found)}, not {expected}\n{source}"
    return source


if __name__ == "__main__":
    first, count, *rest = sys.argv[1:]
    for seed in range(int(first), int(first) + int(count)):
        try:
            check(seed, *rest)
        except Exception as error:
            print(f"seed {seed}: {type(error).__name__}: {error}")
