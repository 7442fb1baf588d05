"""Growing, moving, sorting, filling; what a kernel leaves behind when memory runs out."""

import gc
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from c_support import MEMORY_SITE, QUICK, Record, call, kernel_of, run, var

from finch_backend_c.cbackend import CBackend
from finch_core import assembly as asm
from finch_core.dtypes import FLOAT64, INTP
from finch_core.errors import OutOfBounds
from finch_core.expressions import Call, Literal, Load, Var, lift
from finch_core.operators import operator


def appending(values):
    """A record and the statements that append ``0, 1, ..., n - 1`` to its growable buffer."""
    record, n = Record("r"), var("n")
    count = record.scalar("count", np.int64(0), written=True)
    buffer = record.buffer("val", values, written=True)
    i = var("i")
    body = (asm.Grow(buffer, count + 1), asm.Store(buffer, count, i), asm.Assign(count, count + 1))
    return record, [asm.For(i, lift(0), n, asm.Block(body))], n, count


def test_a_buffer_that_has_room_does_not_move():
    values = np.zeros(4, dtype=np.int64)
    record, body, n, count = appending(values)
    status, _ = run([record], body, arguments=[n], scalars=[4])
    assert status == 0
    assert values.tolist() == [0, 1, 2, 3]
    assert record.read(count) == 4


def test_a_grown_buffer_moves_and_is_adopted():
    values = np.array([70, 80], dtype=np.int64)
    record, body, n, count = appending(values)
    compiled = QUICK.compile(kernel_of([record], body, arguments=[n]))
    status, _ = call(compiled, [record], 1000)
    assert status == 1
    address, capacity = (int(w) for w in record.block[1:3])
    assert address != values.ctypes.data
    assert capacity >= 1000
    assert values.tolist() == [0, 1], "the caller's block is neither freed nor reallocated"
    view = np.frombuffer(compiled.adopt(address, 8 * capacity), dtype=np.int64)
    del compiled
    gc.collect()
    np.testing.assert_array_equal(view[:1000], np.arange(1000))
    view[:] = 5
    part = view[3:6]
    del view
    gc.collect()
    assert part.tolist() == [5, 5, 5]
    assert record.read(count) == 1000


def test_an_empty_buffer_may_have_no_address():
    record, body, n, _ = appending(np.zeros(0, dtype=np.int64))
    record.words[1] = 0
    compiled = QUICK.compile(kernel_of([record], body, arguments=[n]))
    assert call(compiled, [record], 3)[0] == 1
    address, capacity = (int(w) for w in record.block[1:3])
    view = np.frombuffer(compiled.adopt(address, 8 * capacity), dtype=np.int64)
    assert view[:3].tolist() == [0, 1, 2]


@pytest.mark.parametrize(("nth", "moved"), [(1, 0), (2, 1), (4, 1)])
def test_out_of_memory_leaves_a_valid_record(nth, moved):
    values = np.zeros(2, dtype=np.int64)
    record, body, n, count = appending(values)
    backend = CBackend(flags=("-O1",), fail_alloc=nth)
    compiled = backend.compile(kernel_of([record], body, arguments=[n]))
    status, control = call(compiled, [record], 1000)
    assert status == 2
    assert control[3] == moved
    address, capacity = (int(w) for w in record.block[1:3])
    assert capacity == 2**nth
    assert record.read(count) == capacity
    if moved:
        values = np.frombuffer(compiled.adopt(address, 8 * capacity), dtype=np.int64)
    assert values.tolist() == list(range(capacity))


def test_a_size_beyond_all_memory_is_out_of_memory():
    record = Record("r")
    buffer = record.buffer("val", np.zeros(2), written=True)
    status, _ = run([record], [asm.Grow(buffer, lift(2**62))])
    assert status == 2
    assert record.block.tolist() == record.words


def test_failing_stores_back_what_is_written():
    record, i = Record("r"), var("i")
    count = record.scalar("count", np.int32(5), written=True)
    fixed = record.scalar("fixed", np.float32(2.5))
    sites = (MEMORY_SITE, asm.Site(OutOfBounds, "{0}"))
    fail = asm.If(fixed > 2, asm.Block((asm.Fail(1, (i, i + 1)),)))
    body = [
        asm.Assign(count, Call(operator("add"), (count, count))),
        fail,
        asm.Assign(count, lift(0)),
    ]
    status, control = run([record], body, arguments=[i], scalars=[7], sites=sites)
    assert status == 3
    assert control.tolist() == [7, 8, 99, 0]
    assert record.read(count) == 10


def test_failing_without_anything_to_store_back():
    i = var("i")
    sites = (MEMORY_SITE, asm.Site(OutOfBounds, "{0}"))
    body = [asm.If(i > 3, asm.Block((asm.Fail(1, (i,)),)))]
    assert run([], body, arguments=[i], scalars=[3], sites=sites)[0] == 0
    status, control = run([], body, arguments=[i], scalars=[4], sites=sites)
    assert status == 3
    assert control[[0, 3]].tolist() == [4, 0]


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.int64, np.float64, np.complex64])
@pytest.mark.parametrize("value", [0, 1, -1])
def test_fill(dtype, value):
    values = np.full(6, 7).astype(dtype)
    wanted = values.copy()
    wanted[1:4] = np.array(value).astype(dtype)
    record = Record("r")
    b = record.buffer("b", values)
    filling = Literal(np.array(value).astype(dtype)[()], np.dtype(dtype))
    body = [asm.Fill(b, lift(1), lift(4), filling), asm.Fill(b, lift(5), lift(2), filling)]
    assert run([record], body)[0] == 0
    np.testing.assert_array_equal(values, wanted)


def test_fill_evaluates_its_value_once():
    values = np.array([1, 2, 3, 4], dtype=np.int64)
    record = Record("r")
    b = record.buffer("b", values)
    run([record], [asm.Fill(b, lift(0), Load(b, lift(3)), Load(b, lift(0)) + 1)])
    assert values.tolist() == [2, 2, 2, 2]


@pytest.mark.parametrize(("to", "begin", "count"), [(0, 2, 4), (2, 0, 4), (1, 0, 0), (3, 0, -2)])
def test_move_may_overlap(to, begin, count):
    values = np.arange(6, dtype=np.int16)
    wanted = values.copy()
    if count > 0:
        wanted[to : to + count] = values[begin : begin + count].copy()
    record, n = Record("r"), var("n")
    b = record.buffer("b", values)
    run([record], [asm.Move(b, lift(to), b, lift(begin), n)], arguments=[n], scalars=[count])
    assert values.tolist() == wanted.tolist()


@pytest.mark.parametrize(
    "dtype", [np.int8, np.int32, np.int64, np.uint64], ids=lambda t: t.__name__
)
def test_sort(dtype):
    rng, record = np.random.default_rng(0), Record("r")
    start, stop = var("start"), var("stop")
    values = np.zeros(5000, dtype=dtype)
    b = record.buffer("b", values)
    kernel = kernel_of([record], [asm.Sort(b, start, stop)], arguments=[start, stop])
    compiled = QUICK.compile(kernel)
    info = np.iinfo(dtype)
    for size in (0, 1, 2, 3, 4, 5, 16, 63, 64, 65, 100, 300, 4000):
        for data in patterns(rng, size, info):
            values[:] = info.max
            values[3 : 3 + size] = data
            call(compiled, [record], 3, 3 + size)
            np.testing.assert_array_equal(values[3 : 3 + size], np.sort(data.astype(dtype)))
            assert (values[:3] == info.max).all()
    values[:] = np.arange(5000)[::-1].astype(dtype)
    before = values.copy()
    call(compiled, [record], 10, 4)
    np.testing.assert_array_equal(values, before)


def patterns(rng, size, info):
    yield rng.integers(info.min, info.max, size, dtype=info.dtype)
    yield rng.integers(0, 3, size).astype(info.dtype)
    up = np.arange(size) % min(info.max, 1 << 40)
    yield up.astype(info.dtype)
    yield up[::-1].astype(info.dtype)
    yield np.concatenate([up[::2], up[1::2][::-1]]).astype(info.dtype)  # an organ pipe


def test_sort_does_not_degrade():
    """Quicksort's worst input for a median of three takes no quadratic time."""
    size = 200_000
    half = size // 2
    killer = np.zeros(size, dtype=np.int64)
    killer[:half:2], killer[1:half:2] = np.arange(1, half, 2), half + np.arange(0, half, 2)
    killer[half:] = 2 * np.arange(1, half + 1)
    record = Record("r")
    b = record.buffer("b", killer)
    wanted = np.sort(killer)
    before = time.perf_counter()
    run([record], [asm.Sort(b, lift(0), lift(size))])
    assert time.perf_counter() - before < 5
    np.testing.assert_array_equal(killer, wanted)


def test_the_gil_is_released():
    """A kernel that waits for a store that another Python thread makes meanwhile."""
    flag, seen = np.zeros(1, dtype=np.int64), var("seen")
    record, spins = Record("r"), var("spins")
    b = record.buffer("b", flag)
    # the function is opaque enough: a bounded wait, long beside the thread's start
    body = [
        asm.Let(spins, lift(0), True),
        asm.Let(seen, lift(0), True),
        asm.While(
            (spins < 400_000_000).and_(seen.eq(0)),
            asm.Block((asm.Assign(spins, spins + 1), asm.Assign(seen, Load(b, spins & 0)))),
        ),
    ]
    compiled = CBackend(flags=("-O0",)).compile(kernel_of([record], body))
    ticks = []
    worker = threading.Thread(target=lambda: call(compiled, [record]))
    worker.start()
    while worker.is_alive() and len(ticks) < 20:
        ticks.append(time.perf_counter())
        time.sleep(0.001)
    flag[0] = 1
    worker.join()
    assert len(ticks) == 20


SANITIZED = """
import numpy as np
import pytest
from c_support import *
import test_c_memory, test_c_operators
from finch_backend_c.cbackend import CBackend
flags = ("-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
backend = CBackend(flags=flags)
record, body, n, count = test_c_memory.appending(np.zeros(2, dtype=np.int64))
compiled = backend.compile(kernel_of([record], body, arguments=[n]))
assert call(compiled, [record], 1000)[0] == 1
view = np.frombuffer(compiled.adopt(int(record.block[1]), 8000), dtype=np.int64)
assert view.sum() == 499500
values = np.random.default_rng(0).integers(-9, 9, 4000)
record = Record("r")
b = record.buffer("b", values)
assert run([record], [asm.Sort(b, lift(0), lift(4000))], backend=backend)[0] == 0
assert (np.diff(values) >= 0).all()
test_c_operators.run = lambda *a, **k: run(*a, backend=backend, **k)
for name in ("int8", "int64", "float64"):
    test_c_operators.computed(np.dtype(name))
print("clean")
"""


def sanitizer_library():
    asked = subprocess.run(
        ["cc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=False
    )
    return asked.stdout.strip()


def test_kernels_are_clean_under_the_sanitizers():
    library = sanitizer_library()
    assert os.path.isabs(library), "the C compiler has no address sanitizer"
    room = Path(__file__).parent
    script = SANITIZED.replace("from c_support import *", IMPORTS)
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={
            **os.environ,
            "LD_PRELOAD": library,
            "ASAN_OPTIONS": "detect_leaks=0",
            "PYTHONPATH": os.pathsep.join([str(room), str(room.parent.parent)]),
        },
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.stdout.strip() == "clean", done.stderr[-3000:]


IMPORTS = """\
from c_support import Record, call, kernel_of, run
from finch_core import assembly as asm
from finch_core.expressions import lift"""


def test_typed_scalars_of_a_record_round_trip():
    record = Record("r")
    targets = [
        record.scalar(f"s_{t}", np.dtype(t).type(v), written=True)
        for t, v in (("bool", 1), ("int8", -3), ("uint16", 9), ("float32", 1.5), ("complex64", 2j),
                     ("complex128", 1 - 2j), ("uint64", 2**63), ("float64", -0.5))
    ]  # fmt: skip
    body = [asm.Assign(t, Call(operator("mul"), (t, t))) for t in targets]
    assert run([record], body)[0] == 0
    found = [record.read(t) for t in targets]
    assert found == [True, 9, 81, 2.25, -4, -3 - 4j, 0, 0.25]
    assert isinstance(targets[0], Var)
    assert targets[-1].type == FLOAT64
    assert INTP.itemsize == 8
