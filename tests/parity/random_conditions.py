"""Random loops whose ranges leave a vector, with conditions around its accesses:
``random_conditions.py 2000 --first 0``.

A kernel is refused, or does what Python does on arrays that check each index; one that fails in
Python is refused.
"""

from __future__ import annotations

import argparse
import linecache
import random
import warnings
from collections import Counter
from typing import Any

import numpy as np

from finch_core import DimensionMismatch, Tensor, kernel
from finch_core.errors import OutOfBounds
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
    Dense, SparseList, SparseByteMap, SparseHash, RunList, SparseRunList, SparseBand,
    SparseBlockList,
)  # fmt: skip
SIZES = (0, 1, 2, 5)
RANGES = (
    "range(len(x))", "range(n)", "range(1, n)", "range(-1, n + 1)", "range(m, n)",
    "range(n - 1, -1, -1)",
)  # fmt: skip
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
ENDS = ("0", "0", "1", "2", "n", "n - 1", "len(x) - 1", "len(x)", "m")


class Checked:
    """A vector of which no index counts from the end."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def place(self, index: int) -> int:
        if not 0 <= index < len(self.values):
            raise IndexError(index)
        return index

    def __getitem__(self, index: int) -> Any:
        return self.values[self.place(index)]

    def __setitem__(self, index: int, value: Any) -> None:
        self.values[self.place(index)] = value


class Conditions:
    """Draws one program."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(f"conditions.{seed}")
        self.names = 0

    def program(self) -> str:
        head = f"def program(y, x, n, m):\n    for i in {self.draw.choice(RANGES)}:"
        return "\n".join((head, *self.block(2, 0))) + "\n"

    def block(self, level: int, depth: int) -> list[str]:
        count = self.draw.choice((1, 1, 2))
        return [line for _ in range(count) for line in self.statement(level, depth)]

    def statement(self, level: int, depth: int) -> list[str]:
        indent, choice = "    " * level, self.draw.random()
        if depth > 2 or choice < 0.25:
            return [f"{indent}y[i] {self.draw.choice(('=', '+='))} {self.read()}"]
        if choice < 0.4:
            other = self.draw.choice(("1", self.read()))
            return [f"{indent}y[i] = {self.read()} if {self.condition()} else {other}"]
        if choice < 0.5:
            both = f"{self.condition()} {self.draw.choice(('or', 'and'))} {self.read()} > 0"
            return [f"{indent}if {both}:", f"{indent}    y[i] += 2"]
        if choice < 0.65:
            leaves = self.draw.choice(("continue", "break"))
            return [f"{indent}if {self.condition()}:", f"{indent}    {leaves}"]
        inner = self.block(level + 1, depth + 1)
        if choice < 0.72:
            self.names += 1
            name = f"holds_{self.names}"
            negated = self.draw.choice(("", "not "))
            return [f"{indent}{name} = {self.condition()}", f"{indent}if {negated}{name}:", *inner]
        lines = [f"{indent}if {self.condition()}:", *inner]
        if self.draw.random() < 0.3:
            lines += [f"{indent}elif {self.condition()}:", *self.block(level + 1, depth + 1)]
        if self.draw.random() < 0.5:
            lines += [f"{indent}else:", *self.block(level + 1, depth + 1)]
        return lines

    def read(self) -> str:
        return f"x[i{self.draw.choice((' - 1', ' + 1', '', ' - 2'))}]"

    def condition(self, depth: int = 0) -> str:
        choice = self.draw.random()
        if depth > 1 or choice < 0.5:
            return self.comparison()
        if choice < 0.65:
            return f"not ({self.condition(depth + 1)})"
        op = self.draw.choice(("and", "or"))
        return f"({self.condition(depth + 1)} {op} {self.condition(depth + 1)})"

    def comparison(self) -> str:
        index = f"i{self.draw.choice(('', '', ' + 1', ' - 1'))}"
        op, end = self.draw.choice(COMPARISONS), self.draw.choice(ENDS)
        choice = self.draw.random()
        if choice < 0.1:
            return "i"
        if choice < 0.2:
            return f"{end} {op} {index}"
        return "x[i] > 1" if choice < 0.25 else f"{index} {op} {end}"


def compiled(seed: int) -> tuple[str, Any]:
    """The text of a program, and its function."""
    text, path = Conditions(seed).program(), f"<conditions {seed}>"
    linecache.cache[path] = (len(text), None, text.splitlines(True), path)
    scope: dict[str, Any] = {}
    exec(compile(text, path, "exec"), scope)
    return text, scope["program"]


def check(seed: int, backend: str) -> Counter[str]:
    """Run a program on vectors of several sizes; raises ``AssertionError``. Gives how many runs
    agree, fail on both sides, and are refused although Python runs them."""
    text, function = compiled(seed)
    program, draw, found = kernel(backend=backend)(function), random.Random(seed), Counter[str]()
    for size in SIZES:
        m, level = draw.randrange(-1, 4), draw.choice(LEVELS)
        x = np.array([draw.choice((0, 0, 1, 2)) for _ in range(size)], float)
        wanted, y, fails = np.zeros(size), np.zeros(size), False
        try:
            function(Checked(wanted), Checked(x), size, m)
        except IndexError:
            fails = True
        what = f"seed {seed}, {backend}, {level.__name__}, size {size}, m = {m}\n{text}"
        try:
            program(y, Tensor(level(Element(0.0)), x), size, m)
        except (DimensionMismatch, OutOfBounds):
            found["fail" if fails else "refused"] += 1
        else:
            assert not fails, f"accepted: {what}"
            np.testing.assert_array_equal(y, wanted, err_msg=what)
            found["agree"] += 1
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="Look for conditions that are read wrongly.")
    parser.add_argument("count", type=int, help="how many programs")
    parser.add_argument("--first", type=int, default=0, help="the number of the first")
    parser.add_argument("--backend", default="interpreter")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    found: Counter[str] = Counter()
    for seed in range(given.first, given.first + given.count):
        try:
            found += check(seed, given.backend)
        except Exception as error:
            found["findings"] += 1
            print(f"seed {seed}: {type(error).__name__}: {error}", flush=True)
    print(dict(found))


if __name__ == "__main__":
    main()
