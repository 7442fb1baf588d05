"""A long search with random programs: ``random_search.py 10000 --sanitized 500``.

Program ``k`` is the one of seed ``search.k``, so that a search can be repeated, parted and gone on
with (``--first``). So many run on the interpreter, which checks every access to memory; the first
``--sanitized`` of them in C as well, under the sanitizers of addresses and of undefined behaviour.
Programs run in processes of their own (``--jobs``): one that ends or stops its process is told by
its seed, and the search goes on. What fails is made small and printed as Python that can be run.
Ctrl-C, or a signal to end, stops the search, which tells what it had.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

from finch_backend_c import toolchain

ROOM = Path(__file__).parent
PATIENCE = 180
"""Seconds without a word after which a process is ended."""
EVERY = 60
"""Seconds between words of what was found so far."""
FRESH = 2000
"""Programs after which a process is replaced: it keeps the conversions of every format it has met,
which slow it down."""
CHUNK = {"interpreter": 100, "c": 32}
"""Programs that are given to a process at a time; in C, those of one library."""


def sanitizer() -> str:
    """The library that a process needs for kernels with checks of memory in them."""
    command = toolchain.find().command
    name = "libclang_rt.asan.so" if "clang" in command[0] else "libasan.so"
    asked = subprocess.run([*command, f"-print-file-name={name}"], capture_output=True, text=True)
    library = asked.stdout.strip()
    if not os.path.isabs(library):
        raise SystemExit(f"{command[0]} has no address sanitizer")
    return library


class Process:
    """A worker, started again when it ends. ``backend`` is ``interpreter`` or ``c``; ``kind`` is
    that of the programs (``random_worker.KINDS``)."""

    def __init__(self, backend: str, folder: str, kind: str = "search") -> None:
        self.backend, self.folder, self.kind = backend, folder, kind
        self.process: Any = None
        self.asked = 0

    def command(self) -> list[str]:
        return [sys.executable, str(ROOM / "random_worker.py"), self.backend, self.kind]

    def start(self) -> None:
        env = {**os.environ, "FINCH_CACHE_DIR": self.folder}
        if self.backend == "c":
            env["LD_PRELOAD"] = sanitizer()
            env["ASAN_OPTIONS"] = "detect_leaks=0:allocator_may_return_null=1"
            env["UBSAN_OPTIONS"] = "print_stacktrace=1"
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (it is read when the worker ends)
        self.process = subprocess.Popen(
            self.command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            env=env,
        )
        self.rest = b""

    def ask(self, first: int, stop: int) -> None:
        if self.asked >= FRESH:
            self.end()
        if self.process is None:
            self.start()
            self.asked = 0
        self.asked += stop - first
        self.process.stdin.write(f"{first} {stop}\n".encode())
        self.process.stdin.flush()

    def word(self) -> Any:
        """The next line; ``ended`` or ``late`` where there is none."""
        while b"\n" not in self.rest:
            ready, _, _ = select.select([self.process.stdout], [], [], PATIENCE)
            more = os.read(self.process.stdout.fileno(), 1 << 16) if ready else b""
            if not more:
                return "ended" if ready else "late"
            self.rest += more
        line, _, self.rest = self.rest.partition(b"\n")
        return json.loads(line)

    def end(self) -> str:
        """Stop the process; gives the end of what it said."""
        if self.process is None:
            return ""
        self.process.kill()
        self.process.stdin.close()
        self.process.stdout.close()
        status, self.process = self.process.wait(), None
        with self.errors as file:
            file.seek(0)
            said = file.read()
        return f"exit status {status}\n{said[:6000]}"


class Search:
    """What is to be run, and what has been found."""

    def __init__(self, interpreted: range, sanitized: range, kind: str = "search") -> None:
        self.kind, self.name = kind, kind.split(",")[0]
        self.parts = [("interpreter", interpreted), ("c", sanitized)]
        self.chunks = [
            (backend, range(first, min(first + CHUNK[backend], numbers.stop)))
            for backend, numbers in self.parts
            for first in range(numbers.start, numbers.stop, CHUNK[backend])
        ]
        self.found: Counter[str] = Counter()
        self.late: list[str] = []
        self.furthest: dict[str, int] = {}
        self.lock = threading.Lock()
        self.started = self.last = time.monotonic()
        self.processes: list[Process] = []

    def note(self, backend: str, k: int, what: str, why: str = "") -> None:
        with self.lock:
            self.found[f"{what} on {backend}"] += 1
            self.furthest[backend] = max(k, self.furthest.get(backend, k))
            if what == "late":
                self.late.append(f"{self.name}.{k} on {backend}")
            if what == "failed":
                print(f"-- {self.name}.{k} on {backend}\n{why}\n", flush=True)

    def progress(self) -> None:
        """Tell what was found so far, now and then."""
        with self.lock:
            now = time.monotonic()
            if now - self.last > EVERY:
                self.last = now
                found = dict(sorted(self.found.items()))
                print(f"-- after {now - self.started:.0f} s: {found}", flush=True)

    def stop(self) -> None:
        """End the processes, in the middle of what they do."""
        self.chunks.clear()
        for process in self.processes:
            if process.process is not None:
                process.process.kill()

    def run(self, folder: str) -> None:
        """Work through chunks of either kind until there are none."""
        processes = {backend: Process(backend, folder, self.kind) for backend, _ in self.parts}
        self.processes += processes.values()
        try:
            while True:
                with self.lock:
                    if not self.chunks:
                        return
                    backend, numbers = self.chunks.pop(0)
                self.chunk(processes[backend], numbers)
                self.progress()
        finally:
            for process in processes.values():
                process.end()

    def chunk(self, process: Process, numbers: range) -> None:
        """Have a chunk run. After a program that ends the process another one goes on."""
        left, at = set(numbers), numbers.start
        process.ask(numbers.start, numbers.stop)
        while True:
            word = process.word()
            if word in ("ended", "late"):
                said = process.end()
                self.note(process.backend, at, "failed" if word == "ended" else "late", said)
                left.discard(at)
                if left:
                    for k in sorted(left):
                        self.chunk(process, range(k, k + 1))
                return
            if "done" in word:
                return
            at = word.get("at", at)
            if "ran" in word:
                left.discard(word["ran"])
                self.note(process.backend, word["ran"], word["what"], word["why"])

    def summary(self) -> int:
        """Print what ran; gives the number of findings."""
        for backend, numbers in self.parts:
            ran = {w.split(" on ")[0]: n for w, n in self.found.items() if w.endswith(backend)}
            if ran:
                done = sum(ran.values())
                print(
                    f"{done:,} programs on {backend}, of the seeds {self.name}.{numbers.start} "
                    f"to {self.name}.{self.furthest[backend]}: {ran.get('ok', 0):,} agree, "
                    f"{ran.get('refused', 0):,} are refused, {ran.get('late', 0):,} take too long, "
                    f"{ran.get('failed', 0):,} findings"
                )
        if self.late:
            print("too long:", *self.late)
        print(f"in {time.monotonic() - self.started:.0f} s")
        return sum(n for what, n in self.found.items() if what.startswith("failed"))


def main() -> int:
    parser = argparse.ArgumentParser(description="Look for programs that differ from NumPy.")
    parser.add_argument("count", type=int, help="how many programs")
    parser.add_argument("--sanitized", type=int, default=0, help="how many run in C, too")
    parser.add_argument("--first", type=int, default=0, help="the number of the first")
    parser.add_argument("--jobs", type=int, default=1, help="how many run at a time")
    options = parser.parse_args()
    first = options.first
    search = Search(range(first, first + options.count), range(first, first + options.sanitized))
    return searched(search, options.jobs)


def searched(search: Search, jobs: int) -> int:
    """Run a search in so many processes, and print its summary; gives the number of findings."""
    for name in (signal.SIGINT, signal.SIGTERM):
        signal.signal(name, signal.default_int_handler)
    with tempfile.TemporaryDirectory() as folder:
        threads = [
            threading.Thread(target=search.run, args=(folder,), daemon=True) for _ in range(jobs)
        ]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        except KeyboardInterrupt:
            print("-- stopped")
            found = search.summary()
            search.stop()
            return found
    return search.summary()


if __name__ == "__main__":
    sys.exit(min(main(), 1))
