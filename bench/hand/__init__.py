"""Loops written by hand in C, compiled when a benchmark starts, as peers in one process."""

from __future__ import annotations

import re
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

from cffi import FFI

from finch_backend_c import toolchain

TACO_FLAGS = ("-O3", "-ffast-math", "-std=gnu99")
"""What TACO compiles its own code with."""
SIGNATURE = re.compile(r"^(?:void|int64_t) \w+\([^{]*?\)\n\{", re.MULTILINE)


@cache
def library(name: str, flags: tuple[str, ...] = TACO_FLAGS) -> tuple[FFI, Any]:
    """The functions of ``bench/hand/<name>.c``, compiled with ``flags``."""
    source = Path(__file__).parent / f"{name}.c"
    ffi = FFI()
    found = SIGNATURE.findall(source.read_text())
    ffi.cdef("".join(text.removesuffix("\n{").replace("restrict ", "") + ";" for text in found))
    with tempfile.TemporaryDirectory() as folder:
        built = Path(folder) / "hand.so"
        command = [*toolchain.find().command, *flags, "-fPIC", "-shared", str(source)]
        subprocess.run([*command, "-o", str(built)], check=True)
        return ffi, ffi.dlopen(str(built))


def pointer(ffi: FFI, array: Any) -> Any:
    """A C pointer to a NumPy array."""
    types = {"i4": "int *", "i8": "int64_t *", "f8": "double *", "u1": "uint8_t *"}
    return ffi.from_buffer(types[array.dtype.str[1:]].replace(" *", "[]"), array)
