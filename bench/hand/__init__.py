"""Loops written by hand, compiled when a benchmark starts, as peers in one process."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from cffi import FFI

from finch_backend_c import toolchain

HERE = Path(__file__).parent
TACO_FLAGS = ("-O3", "-ffast-math", "-std=gnu99")
"""What TACO compiles its own code with."""


def _apart() -> tuple[str, ...]:
    """What keeps integers in general registers, where kernels have it and the compiler takes it."""
    flags = ("-mtune-ctrl=^inter_unit_moves_to_vec",)
    trial = (*toolchain.BASE_FLAGS, *flags)
    taken = toolchain.moves_look_cheap() and toolchain.run(toolchain.find(), trial, "int trial;")
    return flags if taken and taken.library is not None else ()


KERNEL_FLAGS = ("-O3", "-march=native", "-ffp-contract=off", "-falign-loops=64", *_apart())
"""What kernels are compiled with, of what makes a difference."""
SIGNATURE = re.compile(
    r"^(?:void|int64_t|int|void \*|const (?:int|double) \*) ?\w+\([^{]*?\)\n\{", re.MULTILINE
)


def signatures(source: str) -> str:
    """Declarations of the functions that a source file defines (a brace alone begins each)."""
    found = SIGNATURE.findall(source)
    return "".join(text.removesuffix("\n{").replace("restrict ", "") + ";" for text in found)


def built(
    source: Path, command: Sequence[str], declarations: str, libraries: Sequence[str] = ()
) -> tuple[FFI, Any]:
    """The functions of a source file as a library, by the compiler and flags of ``command``, which
    has ``libraries`` behind the source."""
    ffi = FFI()
    ffi.cdef(declarations)
    with tempfile.TemporaryDirectory() as folder:
        target = str(Path(folder) / "hand.so")
        line = [*command, "-fPIC", "-shared", str(source), *libraries, "-o", target]
        done = subprocess.run(line, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{source.name} does not compile: {done.stderr[-500:]}")
        return ffi, ffi.dlopen(target)


@cache
def library(
    name: str, flags: tuple[str, ...] = TACO_FLAGS, libraries: tuple[str, ...] = ()
) -> tuple[FFI, Any]:
    """The functions of ``bench/hand/<name>.c``, compiled with ``flags``, with other libraries."""
    source = HERE / f"{name}.c"
    command = [*toolchain.find().command, *flags]
    return built(source, command, signatures(source.read_text()), libraries)


@cache
def cxx_library(name: str, flags: tuple[str, ...]) -> tuple[FFI, Any]:
    """The same of ``bench/hand/<name>.cpp``, by ``$CXX``, ``c++``, ``g++`` or ``clang++``."""
    named = os.environ.get("CXX", "").split()
    found = named or [c for c in ("c++", "g++", "clang++") if shutil.which(c)][:1]
    if not found:
        raise RuntimeError("there is no C++ compiler")
    source = HERE / f"{name}.cpp"
    return built(source, [*found, *flags], signatures(source.read_text()))


def pointer(ffi: FFI, array: Any) -> Any:
    """A C pointer to a NumPy array."""
    types = {"i4": "int *", "i8": "int64_t *", "f8": "double *", "u1": "uint8_t *"}
    return ffi.from_buffer(types[array.dtype.str[1:]].replace(" *", "[]"), array)
