"""The C of the test programs under AddressSanitizer and UndefinedBehaviorSanitizer."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from finch_backend_c import toolchain

ROOM = Path(__file__).parent
FLAGS = "-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all"


def sanitizer():
    """The library that a process needs for kernels with checks in them."""
    command = toolchain.find().command
    name = "libclang_rt.asan.so" if "clang" in command[0] else "libasan.so"
    asked = subprocess.run([*command, f"-print-file-name={name}"], capture_output=True, text=True)
    library = asked.stdout.strip()
    assert os.path.isabs(library), f"{command[0]} has no address sanitizer"
    return library


def run(*arguments, program=(str(ROOM / "sanitized.py"),)):
    return subprocess.run(
        [sys.executable, *program, *arguments],
        env={
            **os.environ,
            "FINCH_BACKEND": "c",
            "FINCH_CFLAGS": FLAGS,
            "LD_PRELOAD": sanitizer(),
            "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
            "PYTHONPATH": str(ROOM.parent.parent),
        },
        capture_output=True,
        text=True,
        timeout=600,
    )


def test_a_lying_tensor_is_caught():
    """The sanitizers are at work: an index beyond the array that it reads."""
    done = run("broken")
    assert done.returncode != 0
    assert "heap-buffer-overflow" in done.stderr


@pytest.mark.parametrize("part", ["spine", "formats"])
def test_the_programs_are_clean(part):
    done = run(part)
    assert done.stdout.strip() == "clean", done.stderr[-3000:]
    assert done.returncode == 0


def test_the_suite_of_backends_is_clean():
    """Operators and memory; what is read out of bounds or undefined ends the process."""
    tests = ["-m", "pytest", "-q", "-p", "no:cacheprovider", str(ROOM / "test_c_suite.py")]
    chosen = (
        "(fill or move or sort or grow or operators or casts) and (int8 or float64) or runs_out"
    )
    done = run("-k", chosen, program=tests)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) > 15
