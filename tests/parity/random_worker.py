"""One process of a search. It reads ranges of numbers, ``3 9``, a line each, and writes a line of
JSON before and after each program, so that it is known which one ended or stopped the process.

``python random_worker.py interpreter`` runs programs on the interpreter, ``c`` in C. The latter are
compiled in batches; started with the sanitizers' library preloaded they run under its eyes.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from random_batches import Batch, Batched
from random_checks import Prepared, category, judged, outcome, outcome_of, report
from random_programs import make
from random_tree import Random

from finch_core import PerformanceWarning
from finch_core.runtime.options import Options

SECONDS = 20
"""The time that a program has, to be lowered and run on the interpreter."""
REPORTS = 3
"""Findings of one sort that are made small, a process; the others are told by their seed."""


class Late(BaseException):
    """The time is over."""


@contextmanager
def limit(seconds: int) -> Iterator[None]:
    """Raise ``Late`` when the time is over. Not from within compiled code."""

    def late(*_: Any) -> None:
        raise Late

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def tell(**what: Any) -> None:
    print(json.dumps(what), flush=True)


def timed(ask: Any, *args: Any) -> tuple[str, str]:
    try:
        with limit(SECONDS):
            return ask(*args)
    except Late:
        return "late", ""


class Worker:
    """What a process has found so far."""

    def __init__(self, backend: str) -> None:
        self.backend = backend
        self.told: dict[str, int] = {}

    def ran(self, k: int, program: Random, found: tuple[str, str]) -> None:
        what, why = found
        if what == "failed":
            sort = category(why)
            self.told[sort] = self.told.get(sort, 0) + 1
            if self.told[sort] <= REPORTS:
                why = self.small(program, why)
        tell(ran=k, what=what, why=why)

    def small(self, program: Random, why: str) -> str:
        """A finding made small where that takes no longer than it may."""
        text = f"seed {program.seed!r} on {self.backend}: {why}\n\n{program.runnable(self.backend)}"
        try:
            with limit(6 * SECONDS):
                return report(program, self.backend, why) if self.backend != "c" else text
        except Late:
            return text

    def interpreted(self, numbers: range) -> None:
        for k in numbers:
            tell(at=k)
            program = make(f"search.{k}")
            self.ran(k, program, timed(outcome, program, "interpreter"))
        gc.collect()

    def compiled(self, numbers: range) -> None:
        """A batch: lowered, compiled together, run one by one."""
        batch = Batch()

        def kernel(function: Any) -> Any:
            made = Batched(function, Options(backend="c"))
            made.batch = batch
            return made

        ready = []
        for k in numbers:
            tell(at=k)
            program = make(f"search.{k}")
            ready.append((k, program, prepared(program, kernel)))
        tell(at=numbers.start, doing="compiling")
        batch.build()
        for k, program, made in ready:
            tell(at=k)
            self.ran(k, program, timed(outcome_of, made) if isinstance(made, Prepared) else made)
        gc.collect()


def prepared(program: Random, kernel: Any) -> Any:
    """A program ready to run, or what became of it before."""
    made: list[Prepared] = []
    found = timed(judged, lambda: made.append(Prepared.of(program, "c", kernel)))
    return made[0] if made else found


def main() -> None:
    warnings.simplefilter("ignore", PerformanceWarning)
    gc.disable()  # it would look through all kernels so far, again and again
    os.environ["FINCH_DRAFTS"] = "0"
    worker = Worker(sys.argv[1])
    work = worker.compiled if sys.argv[1] == "c" else worker.interpreted
    for line in sys.stdin:
        first, stop = map(int, line.split())
        work(range(first, stop))
        tell(done=True)


if __name__ == "__main__":
    main()
