"""The tests of ``BackendSuite`` on memory."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from finch_core.interface.abi import DONE, FAILED, MOVED
from finch_core.ir import primitives as prim
from finch_core.ir.assembly import (
    Assign,
    Fill,
    For,
    Function,
    Grow,
    If,
    Let,
    Move,
    Return,
    Sort,
    Statement,
    Store,
    Swap,
)
from finch_core.ir.dtypes import BOOL, INTEGERS, INTP, SUPPORTED, tuple_dtype
from finch_core.ir.expressions import Call, Expr, Invoke, Length, Literal, Load, Overlaps, Var
from finch_core.testing.arrays import Array
from finch_core.testing.bench import Bench, block, n, var
from finch_core.testing.isolation import memory_in_use
from finch_core.testing.subject import Subject

F64 = np.dtype(np.float64)


class MemoryTests(Subject):
    """Buffers that grow, are filled and sorted, share memory; and memory that runs out."""

    # -- growing ----------------------------------------------------------------------------

    @pytest.mark.parametrize("dtype", SUPPORTED, ids=str)
    def test_growing_keeps_the_contents_and_doubles(self, dtype: np.dtype[Any]) -> None:
        bench, first, i = Bench(self.made()), np.array([1, 0, 1]).astype(dtype), var("i")
        data, room = bench.buffer("data", first, growable=True), bench.variable("room", 0)
        grow = Grow(data, n(4)), Assign(room, Length(data)), Grow(data, n(5)), Grow(data, n(40))
        fill = Fill(data, n(3), Length(data), Literal(dtype.type(1), dtype))
        assert bench.run(*grow, For(i, n(3), n(5), block(fill))) == MOVED
        assert bench.value(room) == 6
        found = bench.arrays["data"]
        assert len(found) == 40
        assert found[:3].tolist() == first.tolist() == np.array([1, 0, 1]).astype(dtype).tolist()
        assert (found[3:] == 1).all()

    def test_enough_room_moves_nothing(self) -> None:
        bench = Bench(self.made())
        data = bench.buffer("data", np.arange(4.0), growable=True)
        body = Grow(data, n(4)), Grow(data, n(-1)), Store(data, n(3), Load(data, n(0)))
        assert bench.run(*body) == DONE
        assert bench.arrays["data"].tolist() == [0, 1, 2, 0]

    def test_an_empty_buffer_has_no_address(self) -> None:
        bench = Bench(self.made())
        bench.buffer("data", np.zeros(0), growable=True)
        status, count = _append(bench, 3)
        assert (status, bench.value(count)) == (MOVED, 3)
        assert bench.arrays["data"][:3].tolist() == [0, 1, 2]

    def test_what_python_holds_is_neither_freed_nor_changed(self) -> None:
        bench, held = Bench(self.made()), np.array([7.0, 8.0])
        bench.buffer("data", held, growable=True)
        assert _append(bench, 1000)[0] == MOVED
        gc.collect()
        assert held.tolist() == [0, 1]  # stored there before it was full
        np.testing.assert_array_equal(bench.arrays["data"][:1000], np.arange(1000))

    def test_adopted_memory_outlives_the_kernel(self) -> None:
        bench = Bench(self.made())
        data = bench.buffer("data", np.arange(3.0), growable=True)
        two = Literal(np.float64(2), F64)
        assert bench.run(Grow(data, n(1000)), Fill(data, n(3), n(1000), two)) == MOVED
        found = bench.arrays["data"]
        del bench
        gc.collect()
        assert found.sum() == 3 + 2 * 997
        part = found[3:6]
        del found
        gc.collect()
        part[0] = 9.0
        assert part.tolist() == [9.0, 2.0, 2.0]

    def test_adopted_memory_is_freed_with_its_last_user(self) -> None:
        self._room_is_given_back(adopted=True)

    def test_what_a_growth_replaces_is_freed(self) -> None:
        self._room_is_given_back(adopted=False)

    def _room_is_given_back(self, adopted: bool) -> None:
        """Many calls that allocate do not add up: 40 times 4 MiB, or the 2 MiB that are replaced,
        would be seen."""
        bench, at = Bench(self.made()), (1 << 19) - 1
        data = bench.buffer("data", np.zeros(1), growable=True)
        one = Literal(np.float64(1), F64)
        steps: tuple[Statement, ...] = ()
        if not adopted:
            steps = (Grow(data, n(1 << 18)), Fill(data, n(0), n(1 << 18), one))
        grown = (Grow(data, n(at + 1)), Fill(data, n(0), n(at + 1), one))
        assert bench.run(*steps, *grown) == MOVED
        gc.collect()
        before = memory_in_use()
        for _turn in range(40):
            bench.arrays["data"] = np.zeros(1)
            assert bench.call() == MOVED
        gc.collect()
        what = "memory that was adopted" if adopted else "what a growth replaces"
        assert memory_in_use() - before < 40 << 20, f"{what} is not freed"

    # -- memory that runs out -----------------------------------------------------------------

    @pytest.mark.parametrize("size", [1 << 58, 1 << 61, (1 << 63) - 1])
    def test_memory_that_runs_out_leaves_all_that_was_written(self, size: int) -> None:
        bench = Bench(self.made())
        small = bench.buffer("small", np.zeros(1), growable=True)
        data, count = (
            bench.buffer("data", np.arange(3.0), growable=True),
            bench.variable("count", 0),
        )
        body = (
            Grow(small, n(2)), Store(small, n(1), Literal(np.float64(5), F64)), Assign(count, n(2)),
            Grow(data, n(size)), Assign(count, n(9)),
        )  # fmt: skip
        assert bench.run(*body) == FAILED
        assert bench.control[3] == 1
        assert bench.value(count) == 2
        assert bench.arrays["small"].tolist() == [0.0, 5.0]
        assert bench.arrays["data"].tolist() == [0.0, 1.0, 2.0]

    @pytest.mark.parametrize("number", [0, 1, 3])
    def test_each_growth_may_fail(self, number: int) -> None:
        bench = Bench(self.failing(number))
        bench.buffer("data", np.zeros(2), growable=True)
        status, count = _append(bench, 1000)
        assert status == FAILED
        room = 2 << number
        assert bench.control[3] == (number > 0)
        assert bench.value(count) == len(bench.arrays["data"]) == room
        assert bench.arrays["data"].tolist() == list(range(room))

    def test_an_allocation_that_never_comes_fails_nothing(self) -> None:
        bench = Bench(self.failing(99))
        bench.buffer("data", np.zeros(2), growable=True)
        status, count = _append(bench, 1000)
        assert (status, bench.value(count)) == (MOVED, 1000)

    # -- bools --------------------------------------------------------------------------------

    def test_a_bool_in_memory_is_true_by_any_byte_but_zero(self) -> None:
        """As in NumPy, whose arrays of bools may be views of bytes."""
        bench, i, given = Bench(self.made()), var("i"), np.array([0, 1, 2, 128, 255, 0], np.uint8)
        first, second = np.repeat(given, 6), np.tile(given, 6)
        pair = tuple_dtype((BOOL, np.dtype(np.int8)))
        pairs = np.stack([first, second], axis=1).view(pair)[:, 0]
        a, b = (bench.buffer(name, part.view(bool)) for name, part in [("a", first), ("b", second)])
        places = bench.buffer("places", np.zeros(2, np.int64))
        out = {name: bench.buffer(name, np.zeros(36, bool)) for name in _OF_BOOLS}
        tuples, numbers = bench.buffer("tuples", pairs), bench.buffer("numbers", np.zeros(36))
        every = bench.variable("every", True, BOOL)
        seen, test = Var("seen", BOOL), Var("test", BOOL)
        negated = Function("negated", (test,), BOOL, block(Return(Call(prim.not_, (test,)))))
        x, y = Load(a, i), Load(b, i)
        turn = block(
            *(Store(out[name], i, made(x, y)) for name, (made, _meant) in _OF_BOOLS.items()),
            Store(places, x.cast(INTP), Load(places, x.cast(INTP)) + n(1)),
            Let(seen, Call(prim.field(0), (Load(tuples, i),))),
            Store(numbers, i, (seen.cast(F64) + Invoke(negated, (y,)).cast(F64))),
            If(y, block(Assign(every, Call(prim.bitand, (every, x)))), block()),
        )
        assert bench.run(For(i, n(0), n(36), turn), functions=(negated,)) == DONE
        p, q = first != 0, second != 0
        assert bench.arrays["places"].tolist() == [(~p).sum(), p.sum()]
        np.testing.assert_array_equal(bench.arrays["numbers"], p * 1.0 + ~q)
        assert not bench.value(every)
        for name, (_made, wanted) in _OF_BOOLS.items():
            np.testing.assert_array_equal(bench.arrays[name].view(np.uint8), wanted(p, q), name)

    # -- ranges -------------------------------------------------------------------------------

    @pytest.mark.parametrize("dtype", SUPPORTED, ids=str)
    def test_fills_are_of_a_range_or_of_nothing(self, dtype: np.dtype[Any]) -> None:
        for value in (0, 1, 3):
            bench, filling = Bench(self.made()), np.array(value).astype(dtype)[()]
            data = bench.buffer("data", np.full(6, 7).astype(dtype))
            literal = Literal(filling, dtype)
            body = Fill(data, n(1), n(4), literal), Fill(data, n(5), n(2), literal)
            assert bench.run(*body) == DONE
            wanted = np.full(6, 7).astype(dtype)
            wanted[1:4] = filling
            np.testing.assert_array_equal(bench.arrays["data"], wanted)

    def test_the_value_of_a_fill_is_evaluated_once(self) -> None:
        bench = Bench(self.made())
        data = bench.buffer("data", [1, 2, 3, 4])
        body = Fill(data, n(0), Load(data, n(3)), Load(data, n(0)) + n(1))
        assert bench.run(body) == DONE
        assert bench.arrays["data"].tolist() == [2, 2, 2, 2]

    @pytest.mark.parametrize("dtype", SUPPORTED, ids=str)
    def test_moves_may_overlap_and_be_empty(self, dtype: np.dtype[Any]) -> None:
        bench, cases = Bench(self.made()), ((0, 2, 4), (2, 0, 4), (1, 0, 0), (3, 0, -2))
        body: list[Statement] = []
        start = np.arange(6).astype(dtype)
        for k, (to, begin, count) in enumerate(cases):
            data = bench.buffer(f"data_{k}", start.copy())
            body.append(Move(data, n(to), data, n(begin), n(count)))
        other = bench.buffer("other", np.zeros(3, dtype))
        body.append(Move(other, n(1), bench_buffer(bench, "data_0"), n(0), n(2)))
        assert bench.run(*body) == DONE
        for k, (to, begin, count) in enumerate(cases):
            wanted = start.copy()
            wanted[to : to + max(count, 0)] = start[begin : begin + max(count, 0)]
            np.testing.assert_array_equal(bench.arrays[f"data_{k}"], wanted)
        np.testing.assert_array_equal(bench.arrays["other"][1:], bench.arrays["data_0"][:2])

    @pytest.mark.parametrize("times", [1, 2, 3])
    def test_swapped_buffers_exchange_contents_and_capacity(self, times: int) -> None:
        bench, i = Bench(self.made()), var("i")
        first = bench.buffer("first", np.arange(3.0), growable=True)
        second = bench.buffer("second", np.arange(10.0, 15.0), growable=True)
        room = bench.variable("room", 0)
        again = For(i, n(0), n(times), block(Swap(first, second), Assign(room, Length(first))))
        assert bench.run(again, Store(first, n(0), Load(second, n(1)))) in (DONE, MOVED)
        parts = [np.arange(3.0), np.arange(10.0, 15.0)][:: -1 if times % 2 else 1]
        parts[0][0] = parts[1][1]
        assert bench.value(room) == len(parts[0])
        np.testing.assert_array_equal(bench.arrays["first"], parts[0])
        np.testing.assert_array_equal(bench.arrays["second"], parts[1])

    def test_swapped_buffers_grow_where_they_are(self) -> None:
        bench = Bench(self.made())
        first = bench.buffer("first", np.arange(3.0), growable=True)
        second = bench.buffer("second", np.arange(10.0, 15.0), growable=True)
        filled = Fill(first, n(5), n(100), Literal(np.float64(1), F64))
        body = Swap(first, second), Grow(first, n(100)), filled, Swap(first, second)
        assert bench.run(*body, Grow(second, n(1000)), Swap(first, second)) == MOVED
        assert bench.arrays["second"].tolist() == [0, 1, 2]
        found = bench.arrays["first"][:100]
        assert found[:5].tolist() == [10, 11, 12, 13, 14]
        assert (found[5:] == 1).all()

    @pytest.mark.parametrize("dtype", INTEGERS, ids=str)
    def test_integers_are_sorted(self, dtype: np.dtype[Any]) -> None:
        parts = list(_unsorted(dtype))
        stops = np.cumsum([len(part) for part in parts])
        bench = Bench(self.made())
        data = bench.buffer("data", np.concatenate(parts))
        body = [
            Sort(data, n(int(s) - len(p)), n(int(s))) for s, p in zip(stops, parts, strict=True)
        ]
        assert bench.run(*body, Sort(data, n(9), n(3))) == DONE
        wanted = np.concatenate([np.sort(part) for part in parts])
        np.testing.assert_array_equal(bench.arrays["data"], wanted)

    def test_sorting_takes_no_quadratic_time(self) -> None:
        """On input that makes quicksort with a median of three quadratic."""
        half = 1 << 16
        killer = np.empty(2 * half, np.int64)
        k = np.arange(half)
        killer[:half] = np.where(k % 2 == 0, k + 1, half + k)
        killer[half:] = 2 * (k + 1)
        bench = Bench(self.made())
        data = bench.buffer("data", killer.copy())
        assert bench.run(Sort(data, n(0), Length(data))) == DONE
        np.testing.assert_array_equal(bench.arrays["data"], np.sort(killer))
        bench.arrays["data"][:] = killer
        began = time.perf_counter()
        assert bench.call() == DONE
        assert time.perf_counter() - began < 5.0  # quadratic, it would be a minute

    # -- buffers that share memory --------------------------------------------------------------

    def test_whether_buffers_overlap(self) -> None:
        whole, bench = np.zeros(8), Bench(self.made())
        parts = {"a": whole[:5], "b": whole[4:], "c": whole[5:], "d": whole[2:2]}
        buffers = {name: bench.buffer(name, part) for name, part in parts.items()}
        pairs = [("a", "b"), ("a", "c"), ("a", "d"), ("b", "c"), ("a", "a")]
        found = bench.buffer("found", np.zeros(len(pairs), bool))
        body = [
            Store(found, n(k), Overlaps(buffers[first], buffers[second]))
            for k, (first, second) in enumerate(pairs)
        ]
        assert bench.run(*body) == DONE
        assert bench.arrays["found"].tolist() == [True, False, False, True, True]

    def test_a_kernel_that_asks_sees_stores_through_the_other_buffer(self) -> None:
        whole, bench, i = np.zeros(4), Bench(self.made()), var("i")
        a, b = bench.buffer("a", whole), bench.buffer("b", whole)
        total = bench.variable("total", 0.0, F64)
        asked = Let(Var("asked", BOOL), Overlaps(a, b))
        one = Literal(np.float64(1), F64)
        steps = Store(a, n(0), one + Load(b, n(0))), Assign(total, total + Load(b, n(0)))
        assert bench.run(asked, For(i, n(0), n(3), block(*steps))) == DONE
        assert bench.value(total) == 1 + 2 + 3


_OF_BOOLS: dict[str, tuple[Callable[[Expr, Expr], Expr], Callable[[Array, Array], Array]]] = {
    "same": (lambda x, y: x, lambda p, q: p),
    "opposite": (lambda x, y: Call(prim.invert, (x,)), lambda p, q: ~p),
    "both": (lambda x, y: Call(prim.bitand, (x, y)), lambda p, q: p & q),
    "either": (lambda x, y: Call(prim.bitor, (x, Call(prim.bitand, (y, x)))), lambda p, q: p),
    "one": (lambda x, y: Call(prim.bitxor, (x, y)), lambda p, q: p ^ q),
    "all": (lambda x, y: Call(prim.and_, (x, y)), lambda p, q: p & q),
    "some": (lambda x, y: Call(prim.or_, (x, y)), lambda p, q: p | q),
    "alike": (lambda x, y: Call(prim.eq, (x, y)), lambda p, q: p == q),
    "less": (lambda x, y: Call(prim.lt, (x, y)), lambda p, q: p < q),
    "chosen": (lambda x, y: Call(prim.ifelse, (x, y, x)), lambda p, q: p & q),
    "least": (lambda x, y: Call(prim.minimum_, (x, y)), lambda p, q: p & q),
    "mixed": (lambda x, y: Call(prim.bitand, (Call(prim.eq, (x, y)), x)), lambda p, q: p & q),
}
"""Expressions of two bools, and what they mean."""


def bench_buffer(bench: Bench, name: str) -> Any:
    """The buffer of this name."""
    return next(s.target for s in bench.slots if s.target.name == name)


def _append(bench: Bench, count: int) -> tuple[int, Var]:
    """Append 0, 1, ... to the buffer of a bench; returns the status and the counting variable."""
    data, i = bench_buffer(bench, "data"), var("i")
    stored = bench.variable("stored", 0)
    step = (
        Grow(data, stored + n(1)),
        Store(data, stored, i.cast(data.dtype)),
        Assign(stored, stored + n(1)),
    )
    return bench.run(For(i, n(0), n(count), block(*step))), stored


def _unsorted(dtype: np.dtype[Any]) -> Iterator[Array]:
    rng, info = np.random.default_rng(3), np.iinfo(dtype)
    for size in (0, 1, 2, 3, 4, 5, 16, 17, 24, 25, 26, 63, 64, 65, 100, 300, 4000):
        yield rng.integers(info.min, info.max, size, dtype, endpoint=True)
    up = np.arange(500) % min(info.max, 1 << 40)
    organ_pipe = np.concatenate([up[::2], up[1::2][::-1]])
    for part in (up, up[::-1], organ_pipe, np.zeros(300), np.arange(400) % 7):
        yield part.astype(dtype)
