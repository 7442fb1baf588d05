"""Random whole programs, which read what they write: ``random_whole_programs.py 10000 --jobs 2``.

Drawn are recurrences, names that are assigned again, ``while``, ``break`` and ``continue``, steps
and ``reversed``, updates of what is stored, workspaces, ``swap``, and kernels that call kernels.
The expected results are those of the undecorated function over NumPy arrays. The interpreter, which
checks each access, C and the reference are to find the same. Values are small integers, and every
sum is clamped, so that results are equal in any order.

Program ``k`` has the seed ``whole.k``; ``--first`` sets the first. What fails is printed as text.
"""

from __future__ import annotations

import argparse
import linecache
import random
import signal
import sys
import textwrap
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

import numpy as np

from finch_core import FinchError, Tensor, kernel, stored, swap
from finch_core.errors import PerformanceWarning
from finch_core.testing import backend_names
from finch_levels import (
    Dense,
    Element,
    SparseBand,
    SparseBlockList,
    SparseByteMap,
    SparseHash,
    SparseList,
)

CHUNK = 25
"""Programs that are given to a process at a time."""
PATIENCE = 60
"""Seconds of the processor after which a program is given up."""
LEAF = Element(0.0)
VECTOR = Dense(LEAF)
UPDATED = [None, VECTOR, SparseByteMap(LEAF), SparseHash(LEAF)]
"""Formats of what is read and updated; None for NumPy arrays."""
MATRICES = [
    None,
    Dense(SparseList(LEAF)),
    Dense(SparseList(LEAF, index=np.int32, pointer=np.int32)),
    SparseList(SparseList(LEAF)),
    Dense(SparseBand(LEAF)),
    Dense(SparseBlockList(LEAF)),
    Dense(SparseByteMap(LEAF)),
    Dense(SparseHash(LEAF)),
]


class Writer:
    """Writes the text of one program. ``places`` are the expressions that are valid indices, and
    ``names`` the numbers that may be read, in the blocks that are open."""

    def __init__(self, seed: str) -> None:
        self.random = random.Random(seed)
        self.places: list[str] = []
        self.names: list[str] = []
        self.kept: set[str] = set()
        """The names that loops depend on, which are not assigned."""
        self.arrays = ["x", "y"]
        self.loops = 0
        self.made = 0

    def chance(self, part: float) -> bool:
        return self.random.random() < part

    def fresh(self, letter: str) -> str:
        self.made += 1
        return f"{letter}{self.made}"

    # -- expressions ------------------------------------------------------------------------------

    def index(self) -> str:
        place = self.random.choice(self.places)
        if self.chance(0.15):
            return f"p[{place}]"
        if self.chance(0.1):
            return f"({place} + {self.random.randint(1, 3)}) % n"
        return place

    def leaf(self) -> str:
        if self.places and self.chance(0.6):
            if self.chance(0.4):
                return f"{self.random.choice('AS')}[{self.index()}, {self.index()}]"
            return f"{self.random.choice(self.arrays)}[{self.index()}]"
        if self.names and self.chance(0.7):
            return self.random.choice(self.names)
        return str(self.random.randint(-3, 3))

    def value(self, depth: int = 2) -> str:
        if depth == 0 or self.chance(0.4):
            return self.leaf()
        a, b = self.value(depth - 1), self.value(depth - 1)
        form = self.random.choice(
            [
                "({} + {})",
                "({} - {})",
                "{} * {}",
                "min({}, {})",
                "max({}, {})",
                "({} if {} > 0 else 1)",
            ]
        )
        return form.format(a, b)

    def small(self) -> str:
        return f"max(-9, min(9, {self.value()}))"

    def condition(self) -> str:
        compared = f"{self.leaf()} {self.random.choice(['<', '<=', '==', '!=', '>'])} {self.leaf()}"
        if self.places and self.chance(0.3):
            compared = f"{self.random.choice('AS')}[{self.index()}, {self.index()}] != 0"
        if len(self.places) > 1 and self.chance(0.3):
            compared = f"{self.random.choice(self.places)} < {self.random.choice(self.places)}"
        return f"{compared} and {self.leaf()} > 0" if self.chance(0.15) else compared

    # -- statements -------------------------------------------------------------------------------

    def block(self, depth: int) -> list[str]:
        """Some statements; what is named in them is not known after them."""
        kept = self.places[:], self.names[:], self.arrays[:]
        lines = [line for _k in range(self.random.randint(1, 3)) for line in self.statement(depth)]
        self.places, self.names, self.arrays = kept
        return lines

    def statement(self, depth: int) -> list[str]:
        kinds = ["name", "again", "write", "write", "if", "helper"]
        kinds += ["for", "for", "for", "while", "inside"] if depth else []
        kinds += ["leave"] if self.loops else []
        kinds += ["stored", "stored"] if self.places else []
        kinds += ["workspace"] if self.chance(0.3) else []
        kinds += ["swap"] if self.chance(0.2) else []
        kinds += ["pair"] if self.places or len(self.names) > 1 else []
        return getattr(self, f"_{self.random.choice(kinds)}")(depth)

    def _name(self, _depth: int) -> list[str]:
        value, name = self.small(), self.fresh("t")
        self.names.append(name)
        return [f"{name} = {value}"]

    def _again(self, depth: int) -> list[str]:
        free = [name for name in self.names if name not in self.kept]
        if not free:
            return self._name(depth)
        name = self.random.choice(free)
        op = self.random.choice(
            ["{0} = {1}", "{0} = max(-9, min(9, {0} + {1}))", "{0} = min({0}, {1})", "{0} += {1}"]
        )
        return [op.format(name, self.small())]

    def _write(self, depth: int) -> list[str]:
        if not self.places:
            return self._name(depth)
        target = f"{self.random.choice(self.arrays)}[{self.index()}]"
        op = self.random.choice(["{0} = {1}", "{0} = {1}", "{0} += {1}", "{0} = min({0}, {1})"])
        return [op.format(target, self.small())]

    def _if(self, depth: int) -> list[str]:
        lines = [f"if {self.condition()}:", *_indented(self.block(max(0, depth - 1)))]
        if self.chance(0.4):
            lines += ["else:", *_indented(self.block(max(0, depth - 1)))]
        return lines

    def _range(self) -> str:
        places = self.places
        forms = ["range(n)", "range(n)", "range(1, n)"]
        if places:
            place = self.random.choice(places)
            forms += [f"range({place})", f"range({place} + 1, n)", f"range({place}, n)"]
        form = self.random.choice(forms)
        if self.chance(0.2):
            return f"reversed({form})"
        if self.chance(0.15):
            start, stop = "n - 1", "-1"
            return f"range({start}, {stop}, -{self.random.randint(1, 2)})"
        return f"range(0, n, {self.random.randint(2, 3)})" if self.chance(0.1) else form

    def _for(self, depth: int) -> list[str]:
        head, index = self._range(), self.fresh("i")
        self.places.append(index)
        self.loops += 1
        lines = [f"for {index} in {head}:", *_indented(self.block(depth - 1))]
        self.loops -= 1
        self.places.remove(index)
        return lines

    def _inside(self, depth: int) -> list[str]:
        """A range that leaves the arrays, and a condition that does not."""
        index = self.fresh("i")
        first, beyond = self.random.randint(0, 2), self.random.choice(["2 * n", "n + 1"])
        head = f"for {index} in range(-{first}, {beyond}):"
        test = self.random.choice(["0 <= {0} and {0} < n", "{0} >= 0 and not {0} > n - 1"])
        self.places.append(index)
        self.loops += 1
        body = _indented(self.block(depth - 1))
        self.loops -= 1
        self.places.remove(index)
        return [head, f"    if {test.format(index)}:", *_indented(body)]

    def _while(self, depth: int) -> list[str]:
        count = self.fresh("k")
        test = f"{count} < {self.random.randint(1, 4)}"
        if self.chance(0.4):
            test += f" and {self.condition()}"
        self.names.append(count)
        self.kept.add(count)
        self.loops += 1
        lines = [
            f"{count} = 0",
            f"while {test}:",
            f"    {count} += 1",
            *_indented(self.block(depth - 1)),
        ]
        self.loops -= 1
        return lines

    def _leave(self, _depth: int) -> list[str]:
        return [f"if {self.condition()}:", "    " + self.random.choice(["break", "continue"])]

    def _stored(self, _depth: int) -> list[str]:
        access = f"S[{self.random.choice(self.places)}, {self.random.choice(self.places)}]"
        op = self.random.choice(["{0} = {1}", "{0} += {1}", "{0} = max(-9, min(9, {0} - {1}))"])
        return [f"if stored({access}):", "    " + op.format(access, self.small())]

    def _helper(self, _depth: int) -> list[str]:
        a, b = self.random.sample(self.arrays, 2)
        return [f"helper({a}, {b}, n)"]

    def _workspace(self, _depth: int) -> list[str]:
        name = self.fresh("w")
        self.arrays.append(name)
        return [f"{name} = Tensor(VECTOR, (n,))"]

    def _pair(self, _depth: int) -> list[str]:
        """Two targets that take their values at once; names or elements."""
        free = [name for name in self.names if name not in self.kept]
        if len(free) > 1 and (not self.places or self.chance(0.5)):
            first, second = self.random.sample(free, 2)
        elif self.places:
            first, second = (f"{self.random.choice(self.arrays)}[{self.index()}]" for _k in "ab")
        else:
            return self._name(0)
        return [f"{first}, {second} = {self.random.choice([second, self.small()])}, {first}"]

    def _swap(self, _depth: int) -> list[str]:
        return ["swap(x, y)"]

    def program(self) -> str:
        """The text of the kernel ``program`` and of the kernel ``helper`` that it calls."""
        helper = Writer(f"{self.random.random()} helper")
        body = [line for _k in range(2) for line in helper._inner()]
        text = _function("helper", "a, b, n", body)
        self.names.append("c")
        lines = [line for _k in range(self.random.randint(1, 3)) for line in self.statement(2)]
        lines += self._for(2)
        if self.chance(0.5):
            names = [name for name in self.names if name != "c"] or ["2 * c"]
            lines += [f"return {self.random.choice(names)}, {self.small()}"]
        return text + _function("program", "x, y, A, S, p, c, n", lines)

    def _inner(self) -> list[str]:
        """A loop over two vectors alone."""
        self.arrays, op = ["a", "b"], self.random.choice(["=", "+="])
        return [
            f"for i in {self._range()}:",
            f"    a[i] {op} max(-9, min(9, {self.random.choice(['a', 'b'])}[n - 1 - i] + b[i]))",
        ]


def _indented(lines: list[str]) -> list[str]:
    return ["    " + line for line in lines]


def _function(name: str, params: str, body: list[str]) -> str:
    return f"def {name}({params}):\n" + textwrap.indent("\n".join(body), "    ") + "\n\n\n"


# -- running ----------------------------------------------------------------------------------


def exchanged(a: Any, b: Any) -> None:
    a[:], b[:] = b.copy(), a.copy()


def _executed(text: str, file: str, names: dict[str, Any]) -> dict[str, Any]:
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    exec(compile(text, file, "exec"), names)
    return names


def data(seed: str) -> dict[str, Any]:
    """The arguments as arrays."""
    rng = np.random.default_rng(random.Random(seed).getrandbits(32))
    n = int(rng.integers(0, 6))
    full = lambda *shape: rng.integers(-3, 4, shape).astype(float)  # noqa: E731
    some = lambda: full(n, n) * (rng.random((n, n)) < 0.5)  # noqa: E731
    p = rng.integers(0, max(n, 1), n)
    return {"x": full(n), "y": full(n), "A": some(), "S": some(), "p": p, "c": 2, "n": n}


def kept(S: Any) -> Any:
    """Where ``stored(S[i, j])``: a tensor may store zeros."""
    return np.ones(S.shape, bool) if isinstance(S, np.ndarray) else S.like(1.0).to_numpy() != 0


def expected(text: str, seed: str, S: Any) -> dict[str, Any]:
    """What the undecorated function makes of arrays; ``S`` is the argument of the kernel."""
    args = data(seed)
    text = text.replace("stored(S[", "(kept[")
    names = {"Tensor": lambda _format, shape: np.zeros(shape), "swap": exchanged, "VECTOR": None}
    made = _executed(text, f"<plain {seed}>", {**names, "kept": kept(S)})
    return {**args, "returned": made["program"](*args.values())}


class Late(Exception):
    """A program that takes too long."""


@contextmanager
def patient() -> Iterator[None]:
    def late(*_args: Any) -> None:
        raise Late

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def outcome(seed: str, backend: str) -> tuple[str, str]:
    """``agree``, ``refused`` or ``differ``, and why."""
    text = Writer(seed).program()
    chosen = random.Random(f"{seed} formats")
    updated, formats = chosen.choice(UPDATED), [chosen.choice(MATRICES) for _name in "AS"]
    args = data(seed)
    for name, format in zip("xyAS", (updated, updated, *formats), strict=True):
        args[name] = args[name] if format is None else Tensor(format, args[name])
    with np.errstate(all="ignore"):
        found = expected(text, seed, args["S"])
    names = {
        "Tensor": Tensor,
        "swap": swap,
        "stored": stored,
        "VECTOR": VECTOR,
        "kernel": kernel(backend=backend),
    }
    made = _executed(text.replace("def ", "@kernel\ndef "), f"<kernel {seed}>", names)
    try:
        reference = made["program"].reference(*args.values())
        returned = made["program"](*args.values())
    except FinchError as error:
        return "refused", f"{type(error).__name__}: {error}"
    if found["returned"] is not None:
        numbers = (backend, returned), ("reference", reference)
        reference = {}
        for who, value in numbers:
            if value != found["returned"]:
                return "differ", f"returned, {who}: {value} instead of {found['returned']}"
    for name in "xyS":
        for who, value in ((backend, args[name]), ("reference", reference.get(name, found[name]))):
            if not np.array_equal(np.asarray(value), found[name]):
                return "differ", f"{name}, {who}: {np.asarray(value)} instead of {found[name]}"
    return "agree", ""


def told(seed: str, why: str) -> str:
    """A failing program as text."""
    chosen = random.Random(f"{seed} formats")
    formats = chosen.choice(UPDATED), *(chosen.choice(MATRICES) for _name in "AS")
    given = "\n".join(f"{name} = {value!r}" for name, value in data(seed).items())
    return f"# seed {seed}, formats {formats}\n{Writer(seed).program()}{given}\n# {why}\n"


def looked_at(seeds: list[str], backend: str) -> list[tuple[str, str, str]]:
    """The outcome of each program."""
    found = []
    warnings.simplefilter("ignore", PerformanceWarning)
    for seed in seeds:
        try:
            with patient():
                found.append((seed, *outcome(seed, backend)))
        except Late:
            found.append((seed, "late", ""))
        except Exception as error:
            found.append((seed, "differ", f"{type(error).__name__}: {error}"))
    return found


def search(first: int, count: int, jobs: int, backend: str, show_refused: bool) -> int:
    """Run the programs in processes; gives the number of those that differ."""
    chunks = [
        [f"whole.{k}" for k in range(start, min(start + CHUNK, first + count))]
        for start in range(first, first + count, CHUNK)
    ]
    counts: Counter[str] = Counter()
    started = time.monotonic()
    with ProcessPoolExecutor(jobs) as pool:
        futures = [pool.submit(looked_at, chunk, backend) for chunk in chunks]
        for chunk, future in zip(chunks, futures, strict=True):
            try:
                found = future.result()
            except BrokenProcessPool:
                print(f"a process ended in one of {chunk[0]} to {chunk[-1]}, or beside them")
                counts["ended"] += 1
                continue
            for seed, what, why in found:
                counts[what] += 1
                if what in ("differ", "late") or (show_refused and what == "refused"):
                    print(told(seed, why), flush=True)
    print(f"{backend}: {dict(counts)} in {time.monotonic() - started:.0f} s")
    return counts["differ"] + counts["ended"]


def main(given: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--backend", choices=backend_names(), nargs="*", default=backend_names())
    parser.add_argument("--refused", action="store_true", help="print what is refused, too")
    options = parser.parse_args(given)
    asked = options.first, options.programs, options.jobs
    return sum(search(*asked, backend, options.refused) for backend in options.backend)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) > 0)
