"""The tests of ``BackendSuite`` on statements: control flow and scopes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from finch_core.interface.abi import DONE, FAILED, MOVED
from finch_core.ir import primitives as prim
from finch_core.ir.assembly import (
    Assign,
    Break,
    Comment,
    Fail,
    Fill,
    For,
    Function,
    Grow,
    If,
    Let,
    Merge,
    Move,
    Parallel,
    Prefetch,
    Private,
    Return,
    Statement,
    Store,
    Swap,
    While,
)
from finch_core.ir.dtypes import BOOL, INTP
from finch_core.ir.expressions import Buffer, Call, Cast, Expr, Invoke, Length, Literal, Load
from finch_core.testing.bench import Bench, block, n, var
from finch_core.testing.isolation import isolated, read_only
from finch_core.testing.random_assembly import BUFFERS, SIZE, N, random_block
from finch_core.testing.run_block import run_block
from finch_core.testing.subject import Subject

F64 = np.dtype(np.float64)
TRUE = Literal(np.True_, BOOL)


class StatementTests(Subject):
    """Statements, and random assembly compared with the interpreter."""

    @pytest.mark.parametrize("seed", range(25))
    def test_random_assembly_does_what_the_interpreter_does(self, seed: int) -> None:
        made = random_block(seed)
        for count in (0, 2):
            values: dict[Any, Any] = {N: count}
            values |= {b: np.arange(SIZE) * (k + 1) for k, b in enumerate(BUFFERS)}
            expected = run_block(made, values)
            found = run_block(made, values, backend=self.made())
            assert found[0] == expected[0]
            for name, value in expected[1].items():
                np.testing.assert_array_equal(found[1][name], value, err_msg=name)

    def test_parts_merge_in_their_order(self) -> None:
        """Parts have variables and buffers of their own, store apart, and merge in turn."""
        bench, part, i = Bench(self.made()), var("part"), var("i")
        out, total = bench.buffer("out", np.zeros(10, int)), bench.variable("total", 0)
        held = bench.buffer("held", np.zeros(0, int), growable=True)
        count, own, mine = bench.variable("count", 0), var("own"), Buffer("mine", INTP, True)
        body = block(
            Grow(mine, n(3)),
            Fill(mine, n(0), n(3), part),
            Assign(own, n(0)),
            For(i, n(0), n(2), block(Assign(own, own + Load(mine, i)))),
            Store(out, part, own),
            Merge(
                block(
                    Assign(total, total * n(3) + own),
                    Grow(held, count + n(3)),
                    Move(held, count, mine, n(0), n(3)),
                    Assign(count, count + n(3)),
                )
            ),
        )
        private = (Private(own, n(7)), Private(mine))
        assert bench.run(Parallel(part, n(10), body, private, (out,))) == MOVED
        assert bench.arrays["out"].tolist() == [2 * k for k in range(10)]
        assert bench.value(total) == sum(2 * k * 3 ** (9 - k) for k in range(10))
        assert bench.arrays["held"][:30].tolist() == [k for k in range(10) for _ in range(3)]

    def test_any_number_of_parts(self) -> None:
        """The variable that counts parts has the number that there are, one or several."""
        for parts in (1, 3):
            bench, part, i = Bench(self.made()), var("part"), var("i")
            count, room = bench.variable("count", parts), bench.variable("stored", 0)
            held = bench.buffer("held", np.zeros(0, int), growable=True)
            mine, own = Buffer("mine", INTP, True), var("own")
            start, stop = (at * n(12) // count for at in (part, part + n(1)))
            body = block(
                Assign(own, n(0)),
                For(i, start, stop, block(
                    Grow(mine, own + n(1)), Store(mine, own, i * i), Assign(own, own + n(1)),
                )),
                Merge(block(
                    Grow(held, room + own), Move(held, room, mine, n(0), own),
                    Assign(room, room + own),
                )),
            )  # fmt: skip
            private = (Private(own, n(0)), Private(mine))
            assert bench.run(Parallel(part, count, body, private, any_count=True)) == MOVED
            assert bench.value(room) == 12
            assert bench.arrays["held"][:12].tolist() == [k * k for k in range(12)]

    def test_buffers_of_a_part_are_exchanged(self) -> None:
        bench, part = Bench(self.made()), var("part")
        out = bench.buffer("out", np.zeros(5, int))
        first, second = Buffer("first", INTP, True), Buffer("second", INTP, True)
        body = block(
            Grow(first, n(1)),
            Grow(second, n(2)),
            Store(first, n(0), part),
            Store(second, n(0), part * n(10)),
            Swap(first, second),
            Store(out, part, Load(first, n(0)) * n(10) + Load(second, n(0))),
        )
        loop = Parallel(part, n(5), body, (Private(first), Private(second)), (out,))
        assert bench.run(loop) in (DONE, MOVED)
        assert bench.arrays["out"].tolist() == [101 * k for k in range(5)]

    def test_the_first_part_that_fails_is_told(self) -> None:
        bench, part = Bench(self.made()), var("part")
        total = bench.variable("total", 0)
        merge = Merge(block(Assign(total, total + n(1))))
        body = block(If(part > n(3), block(Fail(1, (part,)))), merge)
        assert bench.run(Parallel(part, n(9), body)) == FAILED + 1
        assert bench.control[0] == 4
        assert bench.value(total) == 4

    def test_loops_nest_break_and_count(self) -> None:
        bench, i, j = Bench(self.made()), var("i"), var("j")
        total = bench.variable("total", 0)
        inner = For(j, i, n(100), block(If(j > i + n(2), block(Break())), Assign(total, total + j)))
        assert (
            bench.run(For(i, n(0), n(4), block(inner)), For(j, n(5), n(1), block(Break()))) == DONE
        )
        assert bench.value(total) == sum(j for i in range(4) for j in range(i, i + 3))

    def test_the_bounds_of_a_loop_are_evaluated_once(self) -> None:
        bench, i = Bench(self.made()), var("i")
        stop, turns = bench.variable("stop", 3), bench.variable("turns", 0)
        step = block(Assign(stop, stop + n(5)), Assign(turns, turns + n(1)))
        assert bench.run(For(i, stop - n(2), stop, step)) == DONE
        assert (bench.value(stop), bench.value(turns)) == (13, 2)

    def test_a_while_loop_asks_before_each_turn_and_loads_no_element_too_many(self) -> None:
        bench = Bench(self.made())
        data, at = bench.buffer("data", [1, 2, 3, 0, 9]), bench.variable("at", 0)
        more = (at < n(5)).and_(Load(data, at).ne(n(0)))
        assert bench.run(While(more, block(Assign(at, at + n(1))))) == DONE
        assert bench.value(at) == 3
        bench.arrays["data"][:] = 1
        bench.values[at] = 0
        assert bench.call() == DONE
        assert bench.value(at) == 5

    def test_what_is_not_needed_is_not_loaded(self) -> None:
        """The load is far out of bounds: executing it would be a segmentation fault."""
        bench = Bench(self.made())
        data, out = bench.buffer("data", [1.5]), bench.buffer("out", np.zeros(3))
        far, no = Load(data, n(1 << 50)), bench.variable("no", False, bool)
        chosen = Call(prim.ifelse, (no, far, Literal(2.0, F64)))
        above = Call(prim.gt, (far, Literal(0.0, F64)))
        either, both = no.not_().or_(above), no.and_(above)
        body = (
            Store(out, n(0), chosen),
            Store(out, n(1), Call(prim.ifelse, (either, chosen, far))),
            Store(out, n(2), Call(prim.ifelse, (both, far, Literal(3.0, F64)))),
        )
        assert bench.run(*body) == DONE
        assert bench.arrays["out"].tolist() == [2.0, 2.0, 3.0]

    def test_shared_subexpressions_are_not_written_out(self) -> None:
        """As a tree, an expression of 40 levels would have a million million nodes."""
        made = []
        for levels in (2, 40):
            bench = Bench(self.made())
            data, out = bench.buffer("data", [1]), bench.buffer("out", [0])
            value: Expr = Load(data, n(0))
            for _ in range(levels):
                value = Call(prim.ifelse, (value > n(0), value + value, n(0)))
            assert bench.run(Store(out, n(0), value)) == DONE
            assert bench.arrays["out"].tolist() == [1 << levels]
            made.append(len(bench.compiled.source))
        assert made[1] - made[0] < 40 * 1000, "the source grows with the tree, not with the graph"

    def test_a_name_may_be_declared_again_in_another_scope(self) -> None:
        bench, t = Bench(self.made()), var("t")
        out = bench.buffer("out", np.zeros(2, np.int64))
        first = If(TRUE, block(Let(t, n(3)), Comment("text */ // \\"), Store(out, n(0), t)))
        again = block(Let(t, n(4), mutable=True), Assign(t, t + n(1)), Store(out, n(1), t))
        assert bench.run(first, If(TRUE, again)) == DONE
        assert bench.arrays["out"].tolist() == [3, 5]

    def test_one_of_two_blocks_runs(self) -> None:
        bench, i = Bench(self.made()), var("i")
        out = bench.buffer("out", np.zeros(6, np.int64))
        inner = If((i % n(3)).eq(n(0)), block(Store(out, i, n(3))), block(Store(out, i, n(1))))
        step = If((i % n(2)).eq(n(0)), block(Store(out, i, n(2))), block(inner))
        assert bench.run(For(i, n(0), n(6), block(step))) == DONE
        assert bench.arrays["out"].tolist() == [2, 1, 2, 3, 2, 1]

    def test_functions_take_buffers_and_call_each_other(self) -> None:
        first, keys = _search(), Buffer("keys", INTP)
        found = Invoke(first, (keys, Length(keys), n(5)))
        twice = Function(
            "twice", (keys,), INTP, block(Store(keys, n(0), n(7)), Return(found * n(2)))
        )
        bench = Bench(self.made())
        data, out = bench.buffer("data", [0, 3, 5, 6]), bench.variable("out", 0)
        # the load after the call sees what the call stored
        value = Load(data, n(0)) + Invoke(twice, (data,)) + Load(data, n(0))
        assert bench.run(Assign(out, value), functions=(first, twice)) == DONE
        assert bench.value(out) == 0 + 0 + 7

    def test_a_function_returns_from_within_loops(self) -> None:
        first, bench = _search(), Bench(self.made())
        data, out = bench.buffer("data", [1, 6, 7]), bench.buffer("out", np.zeros(3, np.int64))
        body = [
            Store(out, n(k), Invoke(first, (data, n(3), n(key)))) for k, key in enumerate((5, 7, 9))
        ]
        assert bench.run(*body, functions=(first,)) == DONE
        assert bench.arrays["out"].tolist() == [1, 2, 3]

    @pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
    def test_a_sum_in_lanes_is_the_sum(self, dtype: Any) -> None:
        """``For.lanes`` permits reassociation; a loop without it keeps its order."""
        rng = np.random.default_rng(1)
        x = rng.random(1003).astype(dtype) if dtype != np.int64 else rng.integers(0, 1 << 62, 1003)
        found = []
        for permitted in (False, True):
            bench, i = Bench(self.made()), var("i")
            total, data = bench.variable("total", 0, dtype), bench.buffer("x", x)
            step: Statement = Assign(total, Call(prim.add, (total, Load(data, i))))
            lanes = ((total, prim.add),) if permitted else ()
            assert bench.run(For(i, n(0), n(1003), block(step), lanes)) == DONE
            found.append(bench.value(total))
        wanted = np.add.accumulate(x)[-1]  # one after the other
        assert found[0] == wanted
        np.testing.assert_allclose(found[1], wanted, rtol=1e-4)
        if dtype == np.int64:
            assert found[1] == wanted

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize("turns", [-3, 0, 1, 31, 32, 33, 63, 64, 65, 79, 1000])
    def test_a_loop_in_lanes_stores_too(self, dtype: Any, turns: int) -> None:
        bench, i, t = Bench(self.made()), var("i"), var("t", dtype)
        x, y = np.arange(1000, dtype=dtype), np.arange(1001, dtype=dtype) % 7
        total = bench.variable("total", 1, dtype)
        data, out = bench.buffer("x", x), bench.buffer("y", y.copy())
        body = block(
            Let(t, Call(prim.sub, (Load(out, i + n(1)), Load(data, i)))),
            Store(out, i + n(1), t),
            Assign(total, Call(prim.add, (total, Call(prim.mul, (t, t))))),
        )
        assert bench.run(For(i, n(0), n(turns), body, ((total, prim.add),))) == DONE
        wanted = y.copy()
        stop = max(turns, 0)
        wanted[1 : stop + 1] -= x[:stop]
        assert np.array_equal(bench.arrays["y"], wanted)
        squares = np.square(wanted[1 : stop + 1].astype(np.float64)).sum() + 1
        np.testing.assert_allclose(bench.value(total), squares, rtol=1e-5)

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    @pytest.mark.parametrize("turns", [-3, 0, 1, 15, 16, 17, 33, 1000])
    def test_a_sum_through_an_index_in_lanes_is_the_sum(self, dtype: Any, turns: int) -> None:
        """Loads through an index, and a load of the index alone."""
        bench, q, j = Bench(self.made()), var("q"), var("j")
        index = np.random.default_rng(turns + 3).integers(0, 50, 1000)
        x = np.arange(1, 51).astype(dtype)  # whole numbers: any order gives the same
        total = bench.variable("total", 1, dtype)
        idx, data = bench.buffer("idx", index), bench.buffer("x", x)
        again = Load(data, Load(idx, Load(idx, q)))
        term = Call(prim.add, (Call(prim.mul, (Load(data, j), again)), Cast(j, np.dtype(dtype))))
        body = block(Let(j, Load(idx, q)), Assign(total, Call(prim.add, (total, term))))
        assert bench.run(For(q, n(0), n(turns), body, ((total, prim.add),))) == DONE
        used = index[: max(turns, 0)]
        assert bench.value(total) == 1 + np.sum(x[used] * x[index[used]] + used)

    @pytest.mark.parametrize("dtype", [np.int64, np.uint8, np.int16])
    def test_sums_in_banks_are_the_sums(self, dtype: Any) -> None:
        """``For.banks`` permits adding to private copies of a buffer."""
        rng = np.random.default_rng(2)
        x, start = rng.integers(0, 5, 100).astype(np.uint8), np.arange(100, 105).astype(dtype)
        found = []
        for permitted in (False, True):
            bench, i, j = Bench(self.made()), var("i"), var("j")
            data, bins = bench.buffer("x", x), bench.buffer("bins", start.copy())
            at = Load(data, i * n(4) + j).cast(INTP)
            value = Load(bins, at) + Literal(3, np.dtype(dtype))
            inner = For(j, n(0), n(4), block(Store(bins, at, value)))
            banks = ((bins, 8),) if permitted else ()
            assert bench.run(For(i, n(0), n(25), block(inner), banks=banks)) == DONE
            found.append(bench.arrays["bins"].tolist())
        wanted = (start + 3 * np.bincount(x, minlength=5)).astype(dtype)
        assert found == [wanted.tolist()] * 2

    def test_a_prefetch_changes_nothing(self) -> None:
        """The address may be out of bounds."""

        def fetch() -> None:
            bench, x = Bench(self.made()), np.arange(5.0)
            data = bench.buffer("x", x.copy())
            assert bench.run(*(Prefetch(data, n(k)) for k in (-1, 0, 4, 5, 1 << 40))) == DONE
            assert bench.arrays["x"].tolist() == x.tolist()

        isolated(fetch, "a Prefetch loads its element")

    def test_what_is_not_written_may_be_read_only(self) -> None:
        """Records and buffers that a kernel does not change may lie in memory for reading."""

        def read() -> None:
            bench, total = Bench(self.made()), var("total")
            data = bench.buffer("data", read_only(np.arange(5)))
            count = bench.variable("count", 3, written=False)
            add = Assign(total, total + Load(data, count))
            assert bench.run(Let(total, n(0), True), add, Fail(1, (total,))) == FAILED + 1
            assert bench.control[0] == 3
            bench.is_read_only = True
            assert bench.call() == FAILED + 1

        isolated(read, "a kernel stores to what it does not write")

    def test_a_failure_tells_its_site_and_values_and_keeps_what_was_written(self) -> None:
        bench, i = Bench(self.made()), var("i")
        count, data = bench.variable("count", 0), bench.buffer("data", np.zeros(9, np.int64))
        fail = If(i.eq(n(3)), block(Fail(1, (i, n(-7), count))))
        steps = block(Store(data, i, i), Assign(count, count + i), fail)
        assert bench.run(For(i, n(0), n(9), steps), Assign(count, n(0))) == FAILED + 1
        assert bench.control[:4].tolist() == [3, -7, 6, 0]
        assert bench.value(count) == 6
        assert bench.arrays["data"].tolist() == [0, 1, 2, 3, 0, 0, 0, 0, 0]

    def test_a_failure_with_nothing_to_store_back(self) -> None:
        bench, i = Bench(self.made()), var("i")
        fail = If(i > n(3), block(Fail(1, (i,))))
        assert bench.run(fail, arguments=[i], passed=[3]) == DONE
        assert bench.call(4) == FAILED + 1
        assert bench.control[[0, 3]].tolist() == [4, 0]

    def test_an_empty_kernel_does_nothing(self) -> None:
        bench = Bench(self.made())
        data = bench.buffer("data", np.zeros(0))
        assert bench.run() == DONE
        assert len(bench.arrays[data.name]) == 0


def _search() -> Function:
    """The first position in ``[0, stop)`` of a key of at least ``key``, by linear search."""
    keys, stop, key, i = Buffer("keys", INTP), var("stop"), var("key"), var("i")
    found = If(Load(keys, i) >= key, block(Return(i)))
    return Function(
        "search", (keys, stop, key), INTP, block(For(i, n(0), stop, block(found)), Return(stop))
    )
