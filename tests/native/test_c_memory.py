"""What kernels take of memory: large blocks grow, and no more is held than is in use."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from finch_core import Tensor, _, kernel
from finch_core.runtime.convert import from_coordinates
from finch_levels import (
    Dense,
    Element,
    RunList,
    Scalar,
    SparseBlockList,
    SparseByteMap,
    SparseHash,
    SparseInterval,
    SparseList,
    SparseRunList,
)

V = Element(0.0)
N = 1_000_000
"""Entries of 8 MB: two doublings beyond the size from which blocks are asked for in large pages,
and not a power of two."""


@kernel
def appended(y, x):
    y[...] = 0
    for i in _:
        y[i] = x[i]


@pytest.mark.parametrize("level", [Dense, SparseList, SparseRunList, SparseBlockList])
def test_large_buffers_grow(level):
    x = np.arange(1.0, N + 1)
    y = Tensor(level(V))
    for start in (N, N // 10, N):  # the last time into memory that another call has left
        appended(y, x[-start:])
        np.testing.assert_array_equal(y.buffers["1_val"], x[-start:])


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere blocks are those of malloc")
@pytest.mark.parametrize("n", [512, 513, 20_000, 1 << 18, N])
def test_a_new_block_begins_with_a_line_of_the_cache(n):
    kept = []
    for _try in range(5):
        y = Tensor(Dense(V))
        appended(y, np.ones(n))
        kept.append(y)
        assert y.buffers["1_val"].ctypes.data % 64 == 0


PEAK = """
import sys

import numpy as np

from finch_core import Tensor
from finch_levels import *
from test_c_memory import N, V, appended

def status(name):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(name)) * 1024

x = np.arange(1.0, N + 1)
appended(Tensor(Dense(V)), x[:9])
format = eval(sys.argv[1])
appended(Tensor(format), x[:9])
y = Tensor(format)
with open("/proc/self/clear_refs", "w") as peaks:
    peaks.write("5")
before = status("VmRSS:")
appended(y, x)
print(status("VmHWM:") - before, sum(b.nbytes for b in y.buffers.values()))
"""


@pytest.mark.skipif(not os.path.exists("/proc/self/clear_refs"), reason="peaks are Linux's to tell")
@pytest.mark.parametrize("format", ["Dense(V)", "SparseList(V)", "SparseRunList(V)"])
def test_the_peak_is_the_output_and_the_doubling_of_one_buffer(format):
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([os.path.dirname(__file__), *sys.path]),
    }
    run = [sys.executable, "-c", PEAK, format]
    done = subprocess.run(run, env=environment, capture_output=True, text=True, check=True)
    peak, output = map(int, done.stdout.split())
    buffers = 1 if format == "Dense(V)" else 2 if format == "SparseList(V)" else 3
    size = (
        2 ** int(np.ceil(np.log2(N))) * 8 if buffers > 1 else N * 8
    )  # of a buffer when it is full
    slack = 4 << 20  # pages, and what Python does
    assert output == pytest.approx(buffers * N * 8, rel=0.01)
    assert peak <= buffers * size + size // 2 * (buffers > 1) + slack


def test_scratch_is_not_held():
    image = np.repeat(np.random.default_rng(0).random((40, 3)), 5, axis=0)
    for format in (RunList(Dense(V)), SparseRunList(SparseList(V)), Dense(RunList(Dense(V)))):
        data = image if format.ndim == 2 else image.reshape(4, 50, 3)
        tensor = Tensor(format, data)
        fields = [part.field for part in tensor.layout.buffers]
        scratch = [a.nbytes for a, f in zip(tensor.arrays, fields, strict=True) if f.scratch]
        assert scratch
        assert not any(scratch)
        np.testing.assert_array_equal(tensor.to_numpy(), data)


@pytest.mark.parametrize("below", [SparseByteMap, SparseHash, RunList])
@pytest.mark.parametrize("level", [RunList, SparseRunList, SparseInterval])
def test_what_gave_its_scratch_back_is_written_again(level, below):
    @kernel
    def scaled(out, data, factor):
        out[...] = 0
        for i, j in _:
            out[i, j] = data[i, j] * factor

    data = np.zeros((40, 30))
    data[10:20, 3::2] = 7
    out = Tensor(level(below(V)))
    for factor in (1, 2, 3):
        scaled(out, data, factor)
        np.testing.assert_array_equal(out.to_numpy(), data * factor)


@kernel
def spread(total, x):
    w = Tensor(SparseByteMap(Element(0.0)))
    r = Tensor(RunList(Dense(Element(0.0))))
    total[...] = 0
    w[...] = 0
    r[...] = 0
    for i in _:
        w[i] += x[i]
    for i in _:
        for j in range(2):
            r[i, j] = x[i]
    for i in _:
        total[()] += w[i] + r[i, 1]


def test_workspaces_are_kept_from_call_to_call():
    x = np.repeat([1.0, 2.0], 500)
    total = Scalar(0.0)
    spread(total, x)
    (entry,) = spread._specializations.values()
    (workspace,) = entry._pool
    before = [[a.ctypes.data for a in tensor.arrays] for tensor in workspace[0]]
    assert all(a.size for tensor in workspace[0] for a in tensor.arrays)
    spread(total, x)
    assert total.value == 3000
    assert entry._pool == [workspace]
    assert [[a.ctypes.data for a in t.arrays] for t in workspace[0]] == before


def test_an_interval_keeps_no_scratch():
    tensor = Tensor(SparseInterval(Dense(V)), np.ones((4, 2)))
    assert sum(array.nbytes for array in tensor.arrays) < 400


@kernel
def matrix(y, a):
    y[...] = 0
    for i, j in _:
        y[i, j] = a[i, j]
    return y


@pytest.mark.parametrize("backend", ["interpreter", "c"])
@pytest.mark.parametrize(
    ("upper", "n"), [(Dense, 2**32), (Dense, 2**62), (SparseList, 2**62), (RunList, 2**62)]
)
@pytest.mark.parametrize("lower", [Dense, SparseByteMap])
def test_more_positions_than_can_be_counted(monkeypatch, backend, upper, n, lower):
    monkeypatch.setenv("FINCH_BACKEND", backend)
    format = SparseList(SparseList(V))
    a = from_coordinates(format, (n, n), [[5, 7], [3, 9]], [1.0, 2.0])
    y = Tensor(upper(lower(V)))
    with pytest.raises(MemoryError):
        matrix(y, a)
    assert y.nstored == 0
