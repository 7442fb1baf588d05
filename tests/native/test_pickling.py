"""Kernels travel to other processes: by name, or with their function."""

import copy
import importlib
import pickle
import subprocess
import sys
from pathlib import Path

import cloudpickle
import numpy as np
import pytest

import finch_array as fa
from finch_core import Tensor, kernel
from finch_core.errors import FormatError
from finch_levels import Dense, Element, SparseByteMap, SparseList

ROOT = Path(__file__).parents[2]

MODULE = """
from finch_core import _, kernel
from finch_core.frontend.user_operators import define_operator

def twice(a):
    return a * 2

@kernel(backend="interpreter")
def doubled(y, x):
    y[...] = 0
    for i in _:
        y[i] = twice(x[i])
    return y

def plain(y, x):
    y[...] = 0
    for i in _:
        y[i] = x[i]
    return y

other = kernel(plain)

class Holder:
    inner = doubled

def made(factor):
    def scaled(a):
        return a * factor

    @kernel(strict=True, backend="interpreter")
    def closure(y, x):
        y[...] = 0
        for i in _:
            y[i] = scaled(x[i])
        return y

    return closure
"""
LOADED = """
import pickle, sys
import numpy as np
with open(sys.argv[1], "rb") as file:
    run = pickle.load(file)
print(run(np.zeros(2), np.arange(2.0) + 1).tolist(), run.__name__, repr(run))
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "travelling.py").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield importlib.import_module("travelling")
    sys.modules.pop("travelling", None)


@pytest.mark.parametrize("pickler", [pickle, cloudpickle])
def test_a_kernel_of_a_module_is_pickled_by_name(module, pickler):
    module.doubled(np.zeros(2), np.ones(2))
    assert pickler.loads(pickler.dumps(module.doubled)) is module.doubled
    text = pickler.dumps(module.doubled)
    assert len(text) < 100


def test_a_kernel_beside_its_function(module):
    again = pickle.loads(pickle.dumps(module.other))
    assert again.__wrapped__ is module.plain
    assert again(np.zeros(2), np.ones(2)).tolist() == [1, 1]


def test_a_kernel_within_a_function_is_not_pickled_by_name(module):
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(module.made(2.0))


def test_copies(module):
    assert copy.copy(module.doubled) is copy.deepcopy(module.doubled) is module.doubled
    closure = module.made(3.0)
    assert copy.deepcopy(closure)(np.zeros(1), np.ones(1)).tolist() == [3]


def other_process(tmp_path, script):
    """What a process prints that loads what ``script`` has pickled, and has none of its files."""
    (tmp_path / "script.py").write_text(script)
    (tmp_path / "load.py").write_text(LOADED)
    environment = {"PYTHONPATH": str(ROOT), "FINCH_CACHE_DIR": str(tmp_path / "cache")}
    target = str(tmp_path / "kernel.pickle")
    run = [sys.executable, str(tmp_path / "script.py"), target]
    subprocess.run(run, env=environment, check=True, timeout=100)
    (tmp_path / "script.py").unlink()
    run = [sys.executable, str(tmp_path / "load.py"), target]
    done = subprocess.run(
        run, env=environment, capture_output=True, text=True, check=False, timeout=100
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


PICKLED = """
import sys, cloudpickle, numpy as np
{before}
with open(sys.argv[1], "wb") as file:
    cloudpickle.dump({what}, file)
"""


@pytest.mark.parametrize(
    ("what", "shown"),
    [("doubled", "[2.0, 4.0] doubled <kernel doubled>"),
     ("made(5.0)", "[5.0, 10.0] closure <kernel made.<locals>.closure>")],
)  # fmt: skip
@pytest.mark.parametrize("before", ["", "doubled(np.zeros(1), np.ones(1))"])
def test_a_kernel_of_a_script_is_pickled_with_its_function(tmp_path, what, shown, before):
    script = MODULE + PICKLED.format(what=what, before=before)
    assert other_process(tmp_path, script) == shown


def test_a_kernel_of_a_script_is_pickled_by_name_for_processes_that_run_it(tmp_path):
    """As ``multiprocessing`` does: plain pickle."""
    script = (
        MODULE
        + """
import pickle, numpy as np
again = pickle.loads(pickle.dumps(doubled))
print(again is doubled, pickle.loads(pickle.dumps(again)) is doubled)
"""
    )
    (tmp_path / "script.py").write_text(script)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "script.py")], env={"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip
    assert done.stdout == "True True\n", done.stderr


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.complex128])
def test_buffers_that_arrive_at_any_byte_are_aligned(dtype):
    fmt = Dense(SparseList(Element(dtype(0)), index=np.int32, pointer=np.int32))
    A = Tensor(fmt, np.array([[0, 1, 2], [0, 0, 3]], dtype))
    buffers = []
    text = pickle.dumps(A, protocol=5, buffer_callback=buffers.append)
    for shift in range(8):
        sent = []
        for buffer in buffers:
            raw = buffer.raw()
            memory = np.empty(shift + raw.nbytes, np.uint8)
            memory[shift:] = np.frombuffer(raw, np.uint8)
            sent.append(memoryview(memory)[shift:])
        B = pickle.loads(text, buffers=sent)
        assert all(array.flags.aligned for array in B.buffers.values())
        np.testing.assert_array_equal(B.to_numpy(), A.to_numpy())


def test_damaged_pickles_of_tensors_are_refused():
    A = Tensor(Dense(SparseList(Element(0.0))), [[0.0, 1.0, 2.0], [0.0, 0.0, 3.0]])
    restore, (format, record, arrays) = A.__reduce__()
    assert np.array_equal(restore(format, record, list(arrays)).to_numpy(), A.to_numpy())

    def changed(number, position, value):
        parts = [array.copy() for array in arrays]
        parts[number][position] = value
        return format, record, parts

    names = [f"{part.level}_{part.field.name}" for part in A.layout.buffers]
    at = {name: A.layout.buffers[k].number for k, name in enumerate(names)}
    longer, negative = record.copy(), record.copy()
    longer[0], negative[1] = 7, 2**64 - 1
    damaged = {
        "idx[1]": changed(at["1_idx"], 1, 0),
        "idx": changed(at["1_idx"], 2, 5),
        "ptr": changed(at["1_ptr"], 1, 900),
        "needs 8": (format, longer, arrays),
        "dimension": (format, negative, arrays),
        "its record": (format, record[:-1], arrays),
        "has 3 buffers": (format, record, arrays[:-1]),
        "dtype float32": (format, record, [*arrays[:2], arrays[2].astype(np.float32)]),
        "is a bytes": (format, record, [*arrays[:2], b"abc"]),
        "AttributeError": (1, record, arrays),
    }
    for words, parts in damaged.items():
        with pytest.raises(FormatError, match="the pickled tensor is damaged, or one of") as error:
            restore(*parts)
        assert words in str(error.value), (words, str(error.value))
        assert "hint: pickle it again" in str(error.value)


def test_what_describes_memory_that_is_not_in_use_is_left_behind():
    """A byte map knows how much of its memory is clear, of which a pickle has less."""

    @kernel(backend="c")
    def copied(y, A):
        y[...] = 0
        for i in _:
            y[i] = A[i]

    for n in (0, 3):
        small = Tensor(SparseByteMap(Element(0.0)), np.ones(10))
        copied(small, np.ones(n))
        expanded = fa.squeeze(fa.expand_dims(small, axis=0), axis=0)
        for again in (pickle.loads(pickle.dumps(small)), expanded):
            assert [again.scalar(part) for part in again.layout.scalars] == [0, 0, 1]
            copied(again, np.arange(1.0, 9.0))
            assert again.to_numpy().tolist() == [*range(1, 9)]
