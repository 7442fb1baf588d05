"""Random loops whose ranges leave a vector or a matrix, with conditions around its accesses:
``random_conditions.py 2000 --first 0``.

A kernel is refused, or does what Python does on arrays that check each index; one that fails in
Python is refused.
"""

from __future__ import annotations

import argparse
import linecache
import random
import re
import warnings
from collections import Counter
from typing import Any

import numpy as np
from random_checks import switched_off

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
MOVES = ("", " - 1", " + 1", " - 2", " + m", " - m")
RANGES = (
    "range(len(x))", "range(n)", "range(1, n)", "range(-1, n + 1)", "range(m, n)",
    "range(n - 1, -1, -1)",
)  # fmt: skip
LATER = "range(p[0], n)", "range(p[1])", "range(p[0], p[1])", "range(p[1] - 1, p[0] - 1, -1)"
"""Ranges that are known at run time."""
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
ENDS = (
    "0", "0", "1", "2", "n", "n - 1", "len(x) - 1", "len(x)", "m", "k", "2 * m", "p[0]", "p[1]",
    "p[1] - 1", "i", "i + 1",
)  # fmt: skip


class Checked:
    """An array of which no index counts from the end."""

    def __init__(self, values: Any) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    @property
    def shape(self) -> Any:
        return self.values.shape

    def place(self, index: Any) -> Any:
        indices = index if isinstance(index, tuple) else (index,)
        if not all(0 <= i < n for i, n in zip(indices, self.values.shape, strict=True)):
            raise IndexError(index)
        return index

    def __getitem__(self, index: Any) -> Any:
        return self.values[self.place(index)]

    def __setitem__(self, index: Any, value: Any) -> None:
        self.values[self.place(index)] = value


class Conditions:
    """Draws one program."""

    def __init__(self, seed: int) -> None:
        self.draw = random.Random(f"conditions.{seed}")
        self.names = 0
        self.indices = ("i", "j")[: self.draw.choice((1, 1, 2))]

    def program(self) -> str:
        lines = ["def program(y, x, at, s, p, n, m):", "    k = 0", "    c = m"]
        for level, index in enumerate(self.indices):
            ranges = LATER if self.draw.random() < 0.4 else RANGES
            if index == "j" and self.draw.random() < 0.3:
                ranges = "range(i, n)", "range(i + 1)", "range(i, min(i + 3, n))"
            lines.append(f"{'    ' * (level + 1)}for {index} in {self.draw.choice(ranges)}:")
        return "\n".join((*lines, *self.block(len(self.indices) + 1, 0))) + "\n"

    @property
    def here(self) -> str:
        return ", ".join(self.indices)

    def block(self, level: int, depth: int) -> list[str]:
        count = self.draw.choice((1, 1, 2))
        return [line for _ in range(count) for line in self.statement(level, depth)]

    def statement(self, level: int, depth: int) -> list[str]:
        indent, choice = "    " * level, self.draw.random()
        if self.draw.random() < 0.2:
            return self.guarded(indent)
        if self.draw.random() < 0.1:
            return self.cursor(indent)
        if self.draw.random() < 0.1:
            return [f"{indent}k = k {self.draw.choice('+-')} 1"]
        if depth > 2 or choice < 0.25:
            return [f"{indent}y[{self.here}] {self.draw.choice(('=', '+='))} {self.read()}"]
        if choice < 0.4:
            other = self.draw.choice(("1", self.read()))
            return [f"{indent}y[{self.here}] = {self.read()} if {self.condition()} else {other}"]
        if choice < 0.5:
            both = f"{self.condition()} {self.draw.choice(('or', 'and'))} {self.read()} > 0"
            return [f"{indent}if {both}:", f"{indent}    y[{self.here}] += 2"]
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

    def guarded(self, indent: str) -> list[str]:
        """An access whose conditions keep all its indices inside, in some order."""
        indices, guards = [], []
        for dim, name in enumerate(self.indices):
            end, move = f"x.shape[{dim}]", self.draw.choice((-2, -1, 0, 0, 1))
            if self.draw.random() < 0.3:
                inside, inner = f"{name} >= 0 and {name} < len(at)", f"at[{name}]"
                if self.draw.random() < 0.3:
                    inside = f"{inside} and {inner} >= 0 and {inner} < len(at)"
                    inner = f"at[{inner}]"
                indices.append(inner)
                guards.append(f"{inside} and {inner} >= 0 and {inner} < {end}")
            else:
                indices.append(f"{name} + {move}")
                guards.append(f"{name} >= {-move} and {name} + {move} < {end}")
        cond = " and ".join(self.draw.sample(guards, len(guards)))
        value, form = f"x[{', '.join(indices)}]", self.draw.random()
        if form < 0.15:
            ends = f"{indent}    s[0] += 3", f"{indent}    break"
            return [f"{indent}while {cond} and {value} > 0:", *ends]
        if form < 0.3:
            return [f"{indent}if {cond} and {value} > 0:", f"{indent}    s[0] += {value}"]
        if form < 0.6:
            return [f"{indent}s[0] += {value} if {cond} else 1"]
        return [f"{indent}if {cond}:", f"{indent}    s[0] += {value}"]

    def cursor(self, indent: str) -> list[str]:
        """An access at a variable that moves, where a condition keeps it inside."""
        others = self.indices[1:]
        guards = ["c >= 0", "c < x.shape[0]"]
        guards += [f"{name} >= 0 and {name} < x.shape[1]" for name in others]
        self.draw.shuffle(guards)
        value, inside = f"x[{', '.join(('c', *others))}]", " and ".join(guards)
        move = f"c {self.draw.choice(('+=', '-='))} 1"
        form = self.draw.randrange(5)
        if form == 0:
            return [f"{indent}if {inside} and {value} > 0:", f"{indent}    {move}"]
        if form == 1:
            lines = f"{indent}t = {value} if {inside} else 2", f"{indent}s[0] += t"
            return [*lines, f"{indent}{move}"]
        if form == 2:
            return [f"{indent}if not ({inside}) or {value} > 0:", f"{indent}    {move}"]
        if form == 3:
            return [f"{indent}c += 1 if {inside} and {value} > 0 else 0"]
        lines = f"{indent}moves = {inside} and {value} < 2", f"{indent}if moves:"
        return [*lines, f"{indent}    {move}"]

    def read(self) -> str:
        moves = [self.draw.choice(MOVES) for _ in self.indices]
        return f"x[{', '.join(map(str.__add__, self.indices, moves))}]"

    def condition(self, depth: int = 0) -> str:
        choice = self.draw.random()
        if depth > 1 or choice < 0.5:
            return self.comparison()
        if choice < 0.65:
            return f"not ({self.condition(depth + 1)})"
        op = self.draw.choice(("and", "or"))
        return f"({self.condition(depth + 1)} {op} {self.condition(depth + 1)})"

    def comparison(self) -> str:
        name = self.draw.choice(self.indices)
        index = name + self.draw.choice(("", *MOVES))
        op, end = self.draw.choice(COMPARISONS), self.draw.choice(ENDS)
        choice = self.draw.random()
        if choice < 0.1:
            return name
        if choice < 0.2:
            return f"{end} {op} {index}"
        if choice < 0.23:
            return self.draw.choice(("k > 0", "s[0] > 1", "p[0] == 1"))
        return f"x[{self.here}] > 1" if choice < 0.25 else f"{index} {op} {end}"


def compiled(seed: int) -> tuple[str, Any, int]:
    """The text of a program, its function, and the rank of its arrays."""
    drawn = Conditions(seed)
    text, path = with_floats(drawn.program(), seed), f"<conditions {seed}>"
    linecache.cache[path] = (len(text), None, text.splitlines(True), path)
    scope: dict[str, Any] = {}
    exec(compile(text, path, "exec"), scope)
    return text, scope["program"], len(drawn.indices)


def with_floats(text: str, seed: int) -> str:
    """A program in which some of the numbers that are compared with are floats."""
    chosen = random.Random(f"{seed} floats")
    if chosen.random() < 0.6:
        return text

    def changed(found: re.Match[str]) -> str:
        if chosen.random() < 0.5:
            return found[0]
        return found[1] + found[2] + chosen.choice((".0", ".5", ".9", "e30"))

    return re.sub(r"((?:[<>=!]=|[<>]) )(-?\d)(?![\d.])", changed, text)


def in_widths(m: Any, p: Any, draw: random.Random) -> tuple[Any, Any]:
    """A number and ends of ranges, as integers of some width that holds them."""
    if draw.random() < 0.4:
        return m, p
    signed = (np.int8, np.int16, np.int32, np.int64)
    unsigned = (np.uint8, np.uint16, np.uint32)
    number = draw.choice((int, *signed, *(unsigned if m >= 0 else ())))
    return number(m), p.astype(draw.choice((*signed, *(unsigned if p.min() >= 0 else ()))))


def check(seed: int, backend: str) -> Counter[str]:
    """Run a program and its reference on arrays of several sizes; raises ``AssertionError``. Gives
    how many runs agree, fail on both sides, and are refused although Python runs them."""
    text, function, rank = compiled(seed)
    program = kernel(backend=backend, disabled=switched_off(seed))(function)
    draw, found = random.Random(seed), Counter[str]()
    for size in SIZES:
        m, shape = draw.randrange(-1, 4), (size,) * rank
        values = [draw.choice((0, 0, 1, 2)) for _ in range(size**rank)]
        x = np.array(values, float).reshape(shape)
        made: Any = Element(0.0)
        for turn in range(rank):
            made = (draw.choice(LEVELS) if turn == 0 else draw.choice((Dense, SparseList)))(made)
        at = np.array([draw.choice((-1, 0, 1, 1, 4)) for _ in range(draw.choice((0, 1, 3)))], int)
        wanted, y, fails = np.zeros(shape), np.zeros(shape), False
        total, s = np.zeros(1), np.zeros(1)
        p = np.array([draw.randrange(-1, 3), draw.randrange(size - 2, size + 2)])
        m, p = in_widths(m, p, random.Random(f"{seed} {size} widths"))
        try:
            with np.errstate(over="ignore"):  # numbers of a narrow dtype wrap around
                function(Checked(wanted), Checked(x), Checked(at), total, p, size, m)
        except IndexError:
            fails = True
        except OverflowError:  # NumPy refuses a number that an integer of this width does not hold
            found["beyond"] += 1
            continue
        what = (
            f"seed {seed}, {backend}, {made}, size {size}, m = {m!r}, at = {at}, p = {p!r}\n{text}"
        )
        given = Tensor(made, x)
        if not fails:
            with np.errstate(over="ignore"):
                referred = program.reference(y, given, at, s, p, size, m)
            np.testing.assert_array_equal(referred.get("y", y), wanted, f"reference, {what}")
            np.testing.assert_array_equal(referred.get("s", s), total, f"reference, {what}")
        try:
            program(y, given, at, s, p, size, m)
        except (DimensionMismatch, OutOfBounds):
            found["fail" if fails else "refused"] += 1
        else:
            assert not fails, f"accepted: {what}"
            np.testing.assert_array_equal(y, wanted, err_msg=what)
            np.testing.assert_array_equal(s, total, err_msg=what)
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
