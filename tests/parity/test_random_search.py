"""The long search: what it says of what it ran, of programs that end their process, and the library
that kernels of many programs are compiled into."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from pathlib import Path

from random_batches import Batch, Batched, Pending, groups, joined
from random_checks import Prepared
from random_programs import make
from random_search import Process, Search

from finch_core import FinchError
from finch_core.runtime.options import Options

ROOM = Path(__file__).parent

ENDS = """
import os, sys
for line in sys.stdin:
    for k in range(*map(int, line.split())):
        print('{"at": %d}' % k, flush=True)
        if k == 2:
            print("written beyond its end", file=sys.stderr, flush=True)
            os.abort()
        print('{"ran": %d, "what": "ok", "why": ""}' % k, flush=True)
    print('{"done": true}', flush=True)
"""


class Ending(Process):
    """A worker whose program 2 ends the process."""

    def command(self) -> list[str]:
        return [sys.executable, "-c", ENDS]


def test_a_search_says_how_many_programs_it_ran_of_which_seeds() -> None:
    command = [
        sys.executable,
        str(ROOM / "random_search.py"),
        "3",
        "--sanitized",
        "2",
        "--first",
        "4",
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert "3 programs on interpreter, of the seeds search.4 to search.6:" in done.stdout
    assert "2 programs on c, of the seeds search.4 to search.5:" in done.stdout
    assert ("0 findings" in done.stdout) == (done.returncode == 0)


def test_whole_programs_run_under_sanitizers() -> None:
    command = [sys.executable, str(ROOM / "random_whole_programs.py"), "3", "--sanitized"]
    done = subprocess.run([*command, "--parallel"], capture_output=True, text=True, timeout=600)
    assert "3 programs on c, of the seeds whole.0 to whole.2:" in done.stdout
    assert "0 findings" in done.stdout
    assert done.returncode == 0


def test_a_program_that_ends_its_process_is_told_by_its_seed(capsys, tmp_path) -> None:
    search = Search(range(5), range(0))
    process = Ending("interpreter", str(tmp_path))
    search.chunk(process, range(5))
    process.end()
    assert search.found == {"ok on interpreter": 4, "failed on interpreter": 1}
    told = capsys.readouterr().out
    assert "search.2 on interpreter" in told
    assert "written beyond its end" in told


def test_kernels_of_one_batch_give_what_they_should() -> None:
    batch = Batch(("-O0",))

    def kernel(function):
        made = Batched(function, Options(backend="c"))
        made.batch = batch
        return made

    found = []
    for k in range(8):
        with contextlib.suppress(FinchError):  # programs that are refused have no kernel
            found.append(Prepared.of(make(f"batch.{k}"), "c", kernel))
    assert len(batch.waiting) == len(found) > 3
    assert len(list(groups(batch.waiting))) == 1, "they are compiled together"
    batch.build()
    for prepared in found:
        with contextlib.suppress(FinchError):
            prepared.check()


def pending(helper: str) -> Pending:
    source = (
        f"static int helper(int a)\n{{\n    return {helper};\n}}\n\nint finch_kernel(void)\n{{\n}}"
    )
    return Pending(source, "")


def test_helpers_are_written_once_and_those_that_differ_are_apart() -> None:
    same, other = [pending("a"), pending("a")], pending("-a")
    assert [len(group) for group in groups([*same, other])] == [2, 1]
    text = "\n".join(joined(same))
    assert text.count("static int helper") == 1
    assert text.count("int finch_kernel_0") == text.count("int finch_kernel_1") == 1
