"""Random whole programs, which read what they write: ``random_whole_programs.py 10000 --jobs 2``.

Drawn are recurrences, names that are assigned again, ``while``, ``break`` and ``continue``, steps
and ``reversed``, updates of what is stored, workspaces, also as NumPy makes arrays, ``swap``,
exchanged names, and kernels that call kernels.
The expected results are those of the undecorated function over NumPy arrays. The interpreter, which
checks each access, C and the reference are to find the same. Values are small integers, and every
sum is clamped, so that results are equal in any order.

Program ``k`` has the seed ``whole.k``; ``--first`` sets the first. What fails is printed as text.
``--parallel`` makes one of the loops of each program parallel: it is refused, or its results are
those of the plain loop, on any number of threads. ``--sanitized`` runs the programs in C under the
sanitizers of addresses and of undefined behaviour (``random_search.py``).
"""

from __future__ import annotations

import argparse
import linecache
import os
import random
import signal
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any
from unittest import mock

import attrs
import numpy as np
from random_checks import Differs, judged, switched_off
from random_search import Search, searched
from random_whole_text import Writer, in_parallel
from uncached import uncache

from finch_core import Tensor, parallel, set_threads, stored, swap
from finch_core.errors import PerformanceWarning
from finch_core.runtime.kernel import Kernel
from finch_core.runtime.options import Options
from finch_core.testing import backend_names, using
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


NAMES = {
    "Tensor": Tensor, "swap": swap, "stored": stored, "parallel": parallel, "VECTOR": VECTOR,
    "np": np,
}  # fmt: skip


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
    names = {
        "Tensor": lambda _format, shape: np.zeros(shape),
        "swap": exchanged,
        "VECTOR": None,
        "np": np,
    }
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


@attrs.define
class Prepared:
    """A program with its arguments and the expected results, compiled and not yet run."""

    seed: str
    backend: str
    args: dict[str, Any]
    wanted: dict[str, Any]
    program: Any
    shared: bool

    @classmethod
    def of(cls, seed: str, backend: str, made: Any = None, shared: bool = False) -> Prepared:
        """``made`` makes a kernel of a function. ``shared``: one of the loops is parallel. Raises
        ``FinchError`` for a program that is refused."""
        with using("interpreter"):
            args = arguments(seed)
            with np.errstate(all="ignore"):
                wanted = expected(Writer(seed).program(), seed, args["S"])
            text = program_of(seed, shared).replace("def ", "@kernel\ndef ")
            work = 1 if shared else Options().least_work
            options = Options(backend=backend, least_work=work, disabled=switched_off(seed))
            names = {**NAMES, "kernel": made or (lambda function: Kernel(function, options))}
            program = _executed(text, f"<kernel {seed}>", names)["program"]
            program.lower(*args.values())
        return cls(seed, backend, args, wanted, program, shared)

    def check(self) -> None:
        """Run and compare. Raises ``FinchError`` where the program is refused, ``Differs`` where an
        oracle has another opinion."""
        reference = self.program.reference(*self.args.values())
        threads = (1,) if not self.shared or self.backend == "interpreter" else (1, 2, 3, 7)
        try:
            for count in threads:
                with mock.patch.dict(os.environ, FINCH_OVERSUBSCRIBE="1"):
                    set_threads(count)
                self.run(f"{self.backend} on {count}")
        finally:
            set_threads(None)
        if self.wanted["returned"] is not None:
            self.compare("reference", self.wanted, reference)
        else:
            self.compare("reference", {**self.wanted, **reference}, None)

    def run(self, who: str) -> None:
        with using("interpreter"):
            args = arguments(self.seed)
        self.compare(who, args, self.program(*args.values()))

    def compare(self, who: str, values: dict[str, Any], returned: Any) -> None:
        if returned != self.wanted["returned"]:
            raise Differs(f"returned, {who}: {returned} instead of {self.wanted['returned']}")
        for name in "xyS":
            value = np.asarray(values[name])
            if not np.array_equal(value, self.wanted[name]):
                raise Differs(f"{name}, {who}: {value} instead of {self.wanted[name]}")


def arguments(seed: str) -> dict[str, Any]:
    """The arguments as tensors of the formats of the program."""
    args = data(seed)
    for name, format in formats_of(seed).items():
        args[name] = args[name] if format is None else Tensor(format, args[name])
    return args


def formats_of(seed: str) -> dict[str, Any]:
    chosen = random.Random(f"{seed} formats")
    updated = chosen.choice(UPDATED)
    return {"x": updated, "y": updated} | {name: chosen.choice(MATRICES) for name in "AS"}


def program_of(seed: str, shared: bool) -> str:
    text = Writer(seed).program()
    return in_parallel(text, random.Random(f"{seed} parallel")) if shared else text


def outcome(seed: str, backend: str, shared: bool = False) -> tuple[str, str]:
    """``agree``, ``refused`` or ``differ``, and why."""
    what, why = judged(lambda: Prepared.of(seed, backend, shared=shared).check())
    return {"ok": "agree", "failed": "differ"}.get(what, what), why


def told(seed: str, why: str, shared: bool = False) -> str:
    """A failing program as text."""
    given = "\n".join(f"{name} = {value!r}" for name, value in data(seed).items())
    return f"# seed {seed}, {formats_of(seed)}\n{program_of(seed, shared)}{given}\n# {why}\n"


def looked_at(seeds: list[str], backend: str, shared: bool) -> list[tuple[str, str, str]]:
    """The outcome of each program."""
    found = []
    warnings.simplefilter("ignore", PerformanceWarning)
    for seed in seeds:
        try:
            with patient():
                found.append((seed, *outcome(seed, backend, shared)))
        except Late:
            found.append((seed, "late", ""))
    return found


def search(given: argparse.Namespace, backend: str) -> int:
    """Run the programs in processes; gives the number of those that differ."""
    stop = given.first + given.programs
    chunks = [
        [f"whole.{k}" for k in range(start, min(start + CHUNK, stop))]
        for start in range(given.first, stop, CHUNK)
    ]
    counts: Counter[str] = Counter()
    started = time.monotonic()
    with ProcessPoolExecutor(given.jobs) as pool:
        futures = [pool.submit(looked_at, chunk, backend, given.parallel) for chunk in chunks]
        for chunk, future in zip(chunks, futures, strict=True):
            try:
                found = future.result()
            except BrokenProcessPool:
                print(f"a process ended in one of {chunk[0]} to {chunk[-1]}, or beside them")
                counts["ended"] += 1
                continue
            for seed, what, why in found:
                race = what == "refused" and why.startswith("RaceError")
                counts["refused for a race" if race else what] += 1
                if what in ("differ", "late") or (given.refused and what == "refused"):
                    print(told(seed, why, given.parallel), flush=True)
    print(f"{backend}: {dict(counts)} in {time.monotonic() - started:.0f} s")
    return counts["differ"] + counts["ended"]


def main(given: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", type=int)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--backend", choices=backend_names(), nargs="*", default=backend_names())
    parser.add_argument("--sanitized", action="store_true", help="in C, under the sanitizers")
    parser.add_argument("--parallel", action="store_true", help="one of the loops is parallel")
    parser.add_argument("--refused", action="store_true", help="print what is refused, too")
    options = parser.parse_args(given)
    uncache()  # processes of the search are forks of this one
    if options.sanitized:
        numbers = range(options.first, options.first + options.programs)
        kind = "whole, parallel" if options.parallel else "whole"
        return searched(Search(range(0), numbers, kind), options.jobs)
    return sum(search(options, backend) for backend in options.backend)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]) > 0)
