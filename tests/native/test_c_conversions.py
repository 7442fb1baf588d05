"""Conversions of floats to integers: of any number the same as in the interpreter, in loops that C
compilers compute in vectors."""

import platform
import subprocess

import numpy as np
import pytest

from finch_backend_c import toolchain
from finch_core import kernel

EDGES = np.array(
    [0.0, -0.0, 0.5, -0.7, 1.9, -1.9, 127.5, -129, 255, 256, 65535, -32769, 1e30, -1e30]
    + [np.nan, np.inf, -np.inf]
    + [s * near for s in (1, -1) for k in (31, 32, 53, 63, 64) for near in (
        2.0**k, np.nextafter(2.0**k, 0), np.nextafter(2.0**k, np.inf), 2.0**k - 0.5, 2.0**k + 0.5,
        2.0**k - 1, 2.0**k + 1, np.float64(np.nextafter(np.float32(2.0**k), np.float32(0))),
    )]
)  # fmt: skip


@pytest.mark.parametrize("source", ["f4", "f8"])
@pytest.mark.parametrize("target", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_they_are_the_interpreter_s(source, target):
    scalar = np.dtype(target).type

    def converted(y, x):
        for i in range(len(x)):
            y[i] = scalar(x[i])

    x = EDGES.astype(source)
    found, wanted = np.zeros((2, len(x)), target)
    kernel(backend="c")(converted)(found, x)
    kernel(backend="interpreter")(converted)(wanted, x)
    np.testing.assert_array_equal(found, wanted)


def quantised(y, x, scale):
    for i in range(len(x)):
        y[i] = np.uint8(min(max(x[i] * scale, np.float32(0)), np.float32(255)))


def test_clipped_numbers_are_converted_in_vectors(tmp_path):
    compiler = toolchain.find()
    version = subprocess.run([*compiler.command, "--version"], capture_output=True, text=True)
    if "Free Software" not in version.stdout or platform.machine() != "x86_64":
        pytest.skip("gcc tells which loops it computes in vectors")
    args = np.zeros(9, np.uint8), np.zeros(9, np.float32), np.float32(255)
    source = tmp_path / "kernel.c"
    source.write_text(kernel(backend="c")(quantised).lower(*args).as_text("source"))
    flags = [*toolchain.BASE_FLAGS, "-march=native", "-fno-math-errno", "-fno-trapping-math"]
    command = [*compiler.command, *flags, "-fopt-info-vec", str(source)]
    done = subprocess.run(
        [*command, "-o", str(tmp_path / "kernel.so")], capture_output=True, text=True
    )
    assert "loop vectorized" in done.stderr
