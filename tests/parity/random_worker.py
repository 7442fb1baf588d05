"""One process of a search. It reads ranges of numbers, ``3 9``, a line each, and writes a line of
JSON before and after each program, so that it is known which one ended or stopped the process.

``python random_worker.py interpreter search`` runs programs on the interpreter, ``c`` in C; the
second word is the kind of the programs (``KINDS``). Those in C are
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

import random_whole_programs as whole
from random_batches import Batch, Batched
from random_checks import Prepared, category, judged, outcome, outcome_of, report
from random_programs import make
from uncached import uncache

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


class Statements:
    """Programs of loops and assignments (``random_programs``)."""

    options = Options(backend="c")

    def program(self, k: int) -> Any:
        return make(f"search.{k}")

    def outcome(self, program: Any) -> tuple[str, str]:
        """What becomes of a program on the interpreter."""
        return outcome(program, "interpreter")

    def prepared(self, program: Any, kernel: Any) -> Any:
        return Prepared.of(program, "c", kernel)

    def told(self, program: Any, backend: str, why: str) -> str:
        """A finding made small where that takes no longer than it may."""
        text = f"seed {program.seed!r} on {backend}: {why}\n\n{program.runnable(backend)}"
        try:
            with limit(6 * SECONDS):
                return report(program, backend, why) if backend != "c" else text
        except Late:
            return text


class Whole:
    """Whole programs, which are known by their seed (``random_whole_programs``)."""

    def __init__(self, shared: bool) -> None:
        self.shared = shared
        self.options = Options(backend="c", least_work=1) if shared else Options(backend="c")

    def program(self, k: int) -> Any:
        return f"whole.{k}"

    def outcome(self, program: Any) -> tuple[str, str]:
        return judged(lambda: whole.Prepared.of(program, "interpreter", shared=self.shared).check())

    def prepared(self, program: Any, kernel: Any) -> Any:
        return whole.Prepared.of(program, "c", kernel, self.shared)

    def told(self, program: Any, backend: str, why: str) -> str:
        return whole.told(program, f"on {backend}: {why}", self.shared)


KINDS: dict[str, Any] = {
    "search": Statements(),
    "whole": Whole(False),
    "whole, parallel": Whole(True),
}


class Worker:
    """What a process has found so far."""

    def __init__(self, backend: str, kind: str) -> None:
        self.backend, self.kind = backend, KINDS[kind]
        self.told: dict[str, int] = {}

    def ran(self, k: int, program: Any, found: tuple[str, str]) -> None:
        what, why = found
        if what == "failed":
            sort = category(why)
            self.told[sort] = self.told.get(sort, 0) + 1
            if self.told[sort] <= REPORTS:
                why = self.kind.told(program, self.backend, why)
        tell(ran=k, what=what, why=why)

    def interpreted(self, numbers: range) -> None:
        for k in numbers:
            tell(at=k)
            program = self.kind.program(k)
            self.ran(k, program, timed(self.kind.outcome, program))
        gc.collect()

    def compiled(self, numbers: range) -> None:
        """A batch: lowered, compiled together, run one by one."""
        batch = Batch()

        def kernel(function: Any) -> Any:
            made = Batched(function, self.kind.options)
            made.batch = batch
            return made

        ready = []
        for k in numbers:
            tell(at=k)
            program = self.kind.program(k)
            ready.append((k, program, self.prepared(program, kernel)))
        tell(at=numbers.start, doing="compiling")
        batch.build()
        for k, program, made in ready:
            tell(at=k)
            self.ran(k, program, made if isinstance(made, tuple) else timed(outcome_of, made))
        gc.collect()

    def prepared(self, program: Any, kernel: Any) -> Any:
        """A program ready to run, or what became of it before."""
        made: list[Any] = []
        found = timed(judged, lambda: made.append(self.kind.prepared(program, kernel)))
        return made[0] if made else found


def main() -> None:
    warnings.simplefilter("ignore", PerformanceWarning)
    gc.disable()  # it would look through all kernels so far, again and again
    os.environ["FINCH_DRAFTS"] = "0"
    uncache()
    worker = Worker(*sys.argv[1:])
    work = worker.compiled if sys.argv[1] == "c" else worker.interpreted
    for line in sys.stdin:
        first, stop = map(int, line.split())
        work(range(first, stop))
        tell(done=True)


if __name__ == "__main__":
    main()
