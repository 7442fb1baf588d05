"""Control flow, memory and calls."""

from __future__ import annotations

import gc
import math
import threading
import time

import numpy as np
import pytest
from llvm_support import INT, Bench

from finch_core import primitives as prim
from finch_core.abi import DONE, FAILED, MOVED
from finch_core.assembly import (
    Assign,
    Block,
    Break,
    Fail,
    Fill,
    For,
    Function,
    Grow,
    If,
    Let,
    Move,
    Return,
    Sort,
    Store,
    While,
)
from finch_core.dtypes import SUPPORTED, tuple_dtype
from finch_core.expressions import Buffer, Call, Expr, Invoke, Length, Literal, Load, Overlaps, Var

F64 = np.dtype(np.float64)


def n(value: int) -> Literal:
    return Literal(value, INT)


def block(*statements: object) -> Block:
    return Block(statements)


# -- control flow ---------------------------------------------------------------------------


def test_loops_nest_break_and_count() -> None:
    bench = Bench()
    total, i, j = bench.variable("total", INT, 0), Var("i", INT), Var("j", INT)
    inner = For(j, i, n(100), block(
        If(Call(prim.gt, (j, i + n(2))), block(Break())), Assign(total, total + j)
    ))  # fmt: skip
    assert bench.run(For(i, n(0), n(4), block(inner)), For(j, n(5), n(1), block(Break()))) == DONE
    assert bench.value(total) == sum(j for i in range(4) for j in range(i, i + 3))


def test_a_while_loop_evaluates_its_condition_each_turn_and_no_load_too_many() -> None:
    bench = Bench()
    data, at = bench.buffer("data", [1, 2, 3, 0, 9]), bench.variable("at", INT, 0)
    inside = Call(prim.lt, (at, n(5)))
    more = Call(prim.and_, (inside, Call(prim.ne, (Load(data, at), n(0)))))
    assert bench.run(While(more, block(Assign(at, at + n(1))))) == DONE
    assert bench.value(at) == 3


def test_what_is_not_needed_is_not_loaded() -> None:
    """The load lies far outside: it would be a fault."""
    bench = Bench()
    data, out = bench.buffer("data", [1.5]), bench.buffer("out", np.zeros(2))
    far, no = Load(data, n(1 << 50)), bench.variable("no", bool, False)
    chosen = Call(prim.ifelse, (no, far, Literal(2.0, F64)))
    either = Call(prim.or_, (Call(prim.not_, (no,)), Call(prim.gt, (far, Literal(0.0, F64)))))
    body = Store(out, n(0), chosen), Store(out, n(1), Call(prim.ifelse, (either, chosen, far)))
    assert bench.run(*body) == DONE
    assert bench.arrays["out"].tolist() == [2.0, 2.0]


def test_a_name_may_be_declared_again_in_another_scope() -> None:
    bench = Bench()
    out, t = bench.buffer("out", np.zeros(2, np.int64)), Var("t", INT)
    first = If(Literal(np.True_, np.dtype(bool)), block(Let(t, n(3)), Store(out, n(0), t)))
    again = block(Let(t, n(4), mutable=True), Assign(t, t + n(1)), Store(out, n(1), t))
    assert bench.run(first, If(Literal(np.True_, np.dtype(bool)), again)) == DONE
    assert bench.arrays["out"].tolist() == [3, 5]


def search() -> Function:
    """The first position in ``[0, stop)`` of at least ``key``, one by one."""
    keys, stop, key = Buffer("keys", INT), Var("stop", INT), Var("key", INT)
    i = Var("i", INT)
    found = If(Call(prim.ge, (Load(keys, i), key)), block(Return(i)))
    return Function("search", (keys, stop, key), INT, block(For(i, n(0), stop, block(found)),
                                                           Return(stop)))  # fmt: skip


def test_functions_take_buffers_and_call_each_other() -> None:
    first = search()
    keys = Buffer("keys", INT)
    twice = Function("twice", (keys,), INT, block(
        Store(keys, n(0), n(7)),
        Return(Invoke(first, (keys, Length(keys), n(5))) * n(2)),
    ))  # fmt: skip
    bench = Bench()
    data, out = bench.buffer("data", [0, 3, 5, 6]), bench.variable("out", INT, 0)
    # the load after the call sees what the call stored
    value = Load(data, n(0)) + Invoke(twice, (data,)) + Load(data, n(0))
    assert bench.run(Assign(out, value), functions=(first, twice)) == DONE
    assert bench.value(out) == 0 + 0 + 7


# -- scalars --------------------------------------------------------------------------------

SCALARS = [True, -5, -(2**15), 7, -(2**63), 255, 2**16 - 1, 2**32 - 1, 2**64 - 1, 0.1, -0.1,
           1.5 - 2j, -0.1 + 3j]  # fmt: skip


def test_arguments_arrive_in_their_dtypes_and_scalars_of_records_come_back() -> None:
    bench = Bench()
    arguments = [Var(f"arg_{t}", t) for t in SUPPORTED]
    slots = [bench.variable(f"slot_{t}", t, 0) for t in SUPPORTED]
    passed: list[object] = []
    for value in SCALARS:
        passed += (value.real, value.imag) if isinstance(value, complex) else (value,)
    body = [Assign(slot, arg) for slot, arg in zip(slots, arguments, strict=True)]
    assert bench.run(*body, arguments=arguments, passed=passed) == DONE
    found = [bench.value(slot) for slot in slots]
    assert found == [t.type(v) for t, v in zip(SUPPORTED, SCALARS, strict=True)]


def test_tuples_live_in_variables_and_records() -> None:
    dtype = tuple_dtype((F64, INT))
    bench = Bench()
    best, i = bench.variable("best", dtype, (math.inf, -1)), Var("i", INT)
    data = bench.buffer("data", [3.0, 1.0, 2.0])
    candidate = Call(prim.make_tuple, (Load(data, i), i))
    better = Call(prim.lt, (Load(data, i), Call(prim.field(0), (best,))))
    step = Assign(best, Call(prim.ifelse, (better, candidate, best)))
    assert bench.run(For(i, n(0), n(3), block(step))) == DONE
    assert bench.value(best).item() == (1.0, 1)


# -- reductions -----------------------------------------------------------------------------


def dot(lanes: bool) -> tuple[float, str]:
    bench, rng = Bench(), np.random.default_rng(1)
    x, y = (bench.buffer(name, rng.random(1003)) for name in "xy")
    total, i = bench.variable("total", F64, 0.0), Var("i", INT)
    term = Call(prim.mul, (Load(x, i), Load(y, i)))
    step = Assign(total, Call(prim.add, (total, term)))
    loop = For(i, n(0), n(1003), block(step), ((total, prim.add),) if lanes else ())
    assert bench.run(loop) == DONE
    return bench.value(total), bench.compiled.source


def test_a_sum_keeps_its_order_unless_lanes_are_permitted() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.random(1003), rng.random(1003)
    wanted = 0.0
    for a, b in zip(x, y, strict=True):
        wanted += a * b
    plain, source = dot(lanes=False)
    assert plain == wanted
    assert "reassoc" not in source
    vector, source = dot(lanes=True)
    assert vector == pytest.approx(wanted, rel=1e-13)
    assert source.count("reassoc") == 1
    assert "fast" not in source


# -- buffers --------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", SUPPORTED, ids=str)
def test_growing_keeps_the_contents_and_doubles(dtype: np.dtype) -> None:
    bench = Bench()
    first = np.array([1, 0, 1]).astype(dtype)
    data, i = bench.buffer("data", first, growable=True), Var("i", INT)
    room = bench.variable("room", INT, 0)
    grow = Grow(data, n(4)), Assign(room, Length(data)), Grow(data, n(5)), Grow(data, n(40))
    fill = Fill(data, n(3), Length(data), Literal(dtype.type(1), dtype))
    assert bench.run(*grow, For(i, n(3), n(5), block(fill))) == MOVED
    assert bench.value(room) == 6
    found = bench.arrays["data"]
    assert len(found) == 40
    assert found[:3].tolist() == first.tolist()
    assert (found[3:] == 1).all()
    assert first.tolist() == np.array([1, 0, 1]).astype(dtype).tolist()


def test_no_growth_moves_nothing() -> None:
    bench = Bench()
    data = bench.buffer("data", np.arange(4.0), growable=True)
    assert bench.run(Grow(data, n(4)), Grow(data, n(-1)), Store(data, n(3), Load(data, n(0)))) == 0
    assert bench.arrays["data"].tolist() == [0, 1, 2, 0]


@pytest.mark.parametrize("size", [1 << 61, 1 << 58, (1 << 63) - 1])
def test_memory_that_runs_out_leaves_all_that_was_written(size: int) -> None:
    bench = Bench()
    small = bench.buffer("small", np.zeros(1), growable=True)
    data = bench.buffer("data", np.arange(3.0), growable=True)
    count = bench.variable("count", INT, 0)
    body = [Grow(small, n(2)), Store(small, n(1), Literal(5.0, F64)), Assign(count, n(2)),
            Grow(data, n(size)), Assign(count, n(9))]  # fmt: skip
    assert bench.run(*body) == FAILED
    assert bench.control[3] == 1
    assert bench.value(count) == 2
    assert bench.arrays["small"].tolist() == [0.0, 5.0]
    assert bench.arrays["data"].tolist() == [0.0, 1.0, 2.0]


def test_a_failure_tells_its_site_and_values() -> None:
    bench = Bench()
    count, i = bench.variable("count", INT, 0), Var("i", INT)
    fail = If(Call(prim.eq, (i, n(3))), block(Fail(1, (i, n(-7), count))))
    loop = For(i, n(0), n(9), block(Assign(count, count + i), fail))
    assert bench.run(loop, Assign(count, n(0))) == FAILED + 1
    assert bench.control.tolist() == [3, -7, 6, 0]
    assert bench.value(count) == 6


def test_moves_may_overlap_and_be_empty() -> None:
    bench = Bench()
    data, other = bench.buffer("data", np.arange(8)), bench.buffer("other", np.zeros(2, np.int64))
    body = (Move(data, n(2), data, n(0), n(5)), Move(other, n(0), data, n(6), n(2)),
            Move(data, n(0), other, n(0), n(-3)))  # fmt: skip
    assert bench.run(*body) == DONE
    assert bench.arrays["data"].tolist() == [0, 1, 0, 1, 2, 3, 4, 7]
    assert bench.arrays["other"].tolist() == [4, 7]


def test_whether_buffers_overlap() -> None:
    whole = np.zeros(8)
    parts = {"a": whole[:5], "b": whole[4:], "c": whole[5:], "d": whole[2:2]}
    pairs = [("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("a", "a")]
    bench = Bench()
    buffers = {name: bench.buffer(name, part) for name, part in parts.items()}
    found = bench.buffer("found", np.zeros(len(pairs), bool))
    body = [
        Store(found, n(k), Overlaps(buffers[first], buffers[second]))
        for k, (first, second) in enumerate(pairs)
    ]
    assert bench.run(*body) == DONE
    assert bench.arrays["found"].tolist() == [True, False, False, True, True]


def test_a_kernel_that_asks_sees_stores_through_the_other_buffer() -> None:
    whole = np.zeros(4)
    bench = Bench()
    a, b = bench.buffer("a", whole), bench.buffer("b", whole)
    total, i = bench.variable("total", F64, 0.0), Var("i", INT)
    asked = Let(Var("asked", np.dtype(bool)), Overlaps(a, b))
    step = [Store(a, n(0), Literal(1.0, F64) + Load(b, n(0))), Assign(total, total + Load(b, n(0)))]
    assert bench.run(asked, For(i, n(0), n(3), block(*step))) == DONE
    assert bench.value(total) == 1 + 2 + 3


INTEGERS = [t for t in SUPPORTED if t.kind in "iu"]


def adversary(count: int) -> np.ndarray:
    """Values for which the median of three splits badly, again and again."""
    half = count // 2
    found = np.empty(count, np.int64)
    for k in range(half):
        found[k] = k + 1 if k % 2 == 0 else half + k + (half % 2 == 0)
        found[half + k] = 2 * (k + 1)
    return found


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integers_are_sorted(dtype: np.dtype) -> None:
    rng = np.random.default_rng(3)
    info = np.iinfo(dtype)
    parts = [rng.integers(info.min, info.max, size, dtype, endpoint=True)
             for size in (0, 1, 2, 5, 24, 25, 26, 100, 1000)]  # fmt: skip
    parts += [np.arange(500).astype(dtype), np.arange(500, 0, -1).astype(dtype)]
    parts += [np.zeros(300, dtype), (np.arange(400) % 7).astype(dtype)]
    bench, body, stops = Bench(), [], np.cumsum([len(part) for part in parts])
    data = bench.buffer("data", np.concatenate(parts))
    body = [Sort(data, n(int(s) - len(p)), n(int(s))) for s, p in zip(stops, parts, strict=True)]
    assert bench.run(*body, Sort(data, n(9), n(3))) == DONE
    wanted = np.concatenate([np.sort(part) for part in parts])
    assert bench.arrays["data"].tolist() == wanted.tolist()


def test_sorting_is_quick_on_what_quicksort_is_slow_on() -> None:
    values = adversary(1 << 17)
    bench = Bench()
    data = bench.buffer("data", values)
    status = bench.run(Sort(data, n(0), Length(data)))
    bench.arrays["data"][:] = adversary(1 << 17)
    began = time.perf_counter()
    assert bench.call() == status == DONE
    assert time.perf_counter() - began < 1.0
    assert (np.diff(bench.arrays["data"]) >= 0).all()


# -- calls ----------------------------------------------------------------------------------


def test_adopted_memory_outlives_the_kernel() -> None:
    bench = Bench()
    data = bench.buffer("data", np.arange(3.0), growable=True)
    assert bench.run(Grow(data, n(1000)), Fill(data, n(3), n(1000), Literal(2.0, F64))) == MOVED
    found = bench.arrays["data"]
    del bench
    gc.collect()
    assert found.sum() == 3 + 2 * 997
    found[0] = 9.0
    assert found[0] == 9.0


def test_other_threads_run_meanwhile() -> None:
    """A kernel of some tenths of a second does not keep this thread from counting."""
    bench, i = Bench(), Var("i", INT)
    total, turns = bench.variable("total", INT, 1), bench.variable("turns", INT, 0)
    step = Assign(total, Call(prim.bitxor, (total * n(3), i)))
    loop = For(i, n(0), turns, block(step))
    assert bench.run(loop) == DONE
    bench.values[1] = (bench.slots[1], 300_000_000)
    thread = threading.Thread(target=bench.call)
    thread.start()
    counted = 0
    while thread.is_alive():
        time.sleep(0.001)
        counted += 1
    assert counted > 20
    assert bench.value(turns) == 300_000_000


def test_kernels_compile_in_many_threads() -> None:
    results: list[object] = []

    def work(k: int) -> None:
        bench = Bench()
        out: Expr = bench.variable("out", INT, 0)
        status = bench.run(Assign(out, out + n(k)))
        results.append((status, int(bench.value(out))))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [(DONE, k) for k in range(8)]
