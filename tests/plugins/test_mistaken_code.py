"""Mistakes in the code of a format: what is told, and that nothing is wrong in silence."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import pytest
from plugin_support import Field, Mode, format_like, full, registered

from finch_core import Tensor, _, kernel, parallel
from finch_core.errors import PluginError
from finch_core.interface.plugin_calls import likeness_of, offers_of
from finch_core.interface.tensorlike import Fiber
from finch_core.ir.dtypes import INTP
from finch_core.ir.expressions import Buffer, Call, Expr, Literal, Load, Var, lift
from finch_core.looplets import Lookup, Looplet, Phase, Precedence, Run, Sequence, Stepper, Thunk
from finch_core.runtime.kernel import Kernel
from finch_core.runtime.options import Options
from finch_core.testing import on
from finch_core.testing.programs import dot
from finch_levels import Dense, Element, RunList, Scalar, SparseBand, SparseHash, SparseList
from finch_wrappers import offset, window

BACKENDS = pytest.mark.parametrize("backend", ["interpreter", None])


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The formats here share their name, and no plugin tells their kernels apart on disk."""
    monkeypatch.setenv("FINCH_CACHE_DIR", str(tmp_path))


def plus_one(s, a):
    s[...] = 0
    for i in _:
        s[()] += a[i] + 1
    return s


def total(read: Any, backend: str | None = "interpreter", **members: Any) -> float:
    """The sum of 2, 3, 4, 5, read by looplets of ``read``."""
    format = format_like(read=lambda self, ctx, fiber: read(ctx, fiber), **members)
    tensor = Tensor(format(Element(0.0)), np.arange(1.0, 5.0))
    return on(backend, plus_one)(Scalar(0.0), tensor).value


def told(read: Any, backend: str | None = "interpreter", **members: Any) -> str:
    with pytest.raises(PluginError) as error:
        total(read, backend, **members)
    return str(error.value)


def nothing(fiber: Fiber) -> Run:
    return Run(fiber.filled())


@BACKENDS
def test_what_is_right_is_right(backend: str | None) -> None:
    assert total(lambda ctx, fiber: full(fiber), backend) == 14
    for stop in (0, 2, 4, 9):
        assert (
            total(
                lambda ctx, f, stop=stop: Sequence((Phase(stop, full(f)), Phase(None, full(f)))),
                backend,
            )
            == 14
        )


# -- looplets that leave something out ----------------------------------------------------------


@BACKENDS
def test_phases_that_end_early_are_noticed(backend: str | None) -> None:
    message = told(lambda ctx, fiber: Sequence((Phase(ctx.lift(2), full(fiber)),)), backend)
    assert "the level format 'Mine' in a end at index 2, and the loop goes on to 4" in message
    assert "a Sequence ends with Phase(None, ...)" in message
    alone = told(lambda ctx, fiber: Phase(ctx.lift(3), full(fiber)), backend)
    assert "end at index 3, and the loop goes on to 4" in alone
    assert total(lambda ctx, fiber: Sequence((Phase(ctx.lift(4), full(fiber)),)), backend) == 14


@BACKENDS
def test_phases_that_come_after_the_last_are_refused(backend: str | None) -> None:
    message = told(lambda ctx, fiber: Sequence(()), backend)
    assert "unfurl of the level format 'Mine': a Sequence has no phases" in message
    message = told(
        lambda ctx, f: Sequence((Phase(None, full(f)), Phase(ctx.lift(2), full(f)))), backend
    )
    assert "phase 0 of a Sequence goes on to the end of the loop" in message


def stepped(ctx: Any, fiber: Fiber, end: int) -> Stepper:
    """Steps of one index up to ``end``, and no tail."""
    q = ctx.var("q", 0)
    return Stepper(
        position=q,
        end=ctx.lift(end),
        stop=lambda q: q + 1,
        body=lambda ctx, q: Run(fiber.subfiber(q)),
        seek=lambda ctx, i: ctx.assign(q, i),
        bound=fiber.lvl.shape,
        tail=None,
        start=ctx.lift(0),
    )


@BACKENDS
def test_steps_that_end_early_are_noticed(backend: str | None) -> None:
    def read(end: int) -> Any:
        def code(ctx: Any, fiber: Fiber) -> Any:
            yield stepped(ctx, fiber, end)

        return lambda ctx, fiber: Thunk(lambda ctx: code(ctx, fiber))

    assert total(read(4), backend) == 14
    assert "end at index 3, and the loop goes on to 4" in told(read(3), backend)
    format = format_like(read=lambda self, ctx, fiber: read(3)(ctx, fiber))
    a = Tensor(format(Element(0.0)), np.arange(4.0))
    b = Tensor(RunList(Element(0.0)), np.arange(4.0))
    with pytest.raises(PluginError, match="end at index 3, and the loop goes on to 4"):
        on(backend, dot)(Scalar(0.0), a, b)


def test_built_in_formats_need_no_checks() -> None:
    x = np.array([0.0, 1.0, 1.0, 0.0])
    for level in (Dense, SparseList, RunList, SparseBand):
        args = Scalar(0.0), Tensor(level(Element(0.0)), x), Tensor(RunList(Element(0.0)), x)
        assert "looplets of" not in on(None, dot).lower(*args).as_text("assembly")


# -- what is no looplet -------------------------------------------------------------------------


@BACKENDS
def test_what_gives_no_looplet_is_named(backend: str | None) -> None:
    message = told(lambda ctx, fiber: None, backend)
    assert "unfurl of the level format 'Mine' gives None, which is not a looplet" in message
    message = told(lambda ctx, fiber: Lookup(lambda ctx, i: None), backend)
    assert "test_what_gives_no_looplet_is_named.<locals>" in message
    assert "gives None where a looplet or a subtensor is expected" in message
    assert "5 stands where a looplet" in told(
        lambda ctx, fiber: Sequence((Phase(None, 5),)), backend
    )


@BACKENDS
def test_a_thunk_yields_once(backend: str | None) -> None:
    def never(ctx):
        return
        yield

    def twice(ctx):
        yield Run(Scalar(0.0))
        yield Run(Scalar(0.0))

    def none(ctx):
        yield None

    of = "the level format 'Mine' in a: "
    assert f"{of}the code of a Thunk, " in told(lambda ctx, fiber: Thunk(never), backend)
    assert "never (line " in told(lambda ctx, fiber: Thunk(never), backend)
    assert "does not yield" in told(lambda ctx, fiber: Thunk(lambda ctx: None), backend)
    assert "gives None where a looplet" in told(lambda ctx, fiber: Thunk(none), backend)

    def again(ctx, fiber):
        yield full(fiber)
        yield full(fiber)

    assert "yields twice" in told(lambda ctx, f: Thunk(lambda ctx: again(ctx, f)), backend)


def test_what_fails_in_a_looplet_is_told_with_its_place() -> None:
    def code(ctx, fiber):
        yield Lookup(lambda ctx, i: fiber.subfibre(i))

    message = told(lambda ctx, fiber: Thunk(lambda ctx: code(ctx, fiber)))
    assert "code.<locals>.<lambda> (line" in message
    assert "failed: AttributeError: 'Fiber' object has no attribute 'subfibre'" in message


# -- expressions --------------------------------------------------------------------------------


@BACKENDS
def test_python_cannot_ask_expressions(backend: str | None) -> None:
    def branch(ctx, fiber):
        if fiber.lvl.shape < 3:
            yield nothing(fiber)
        yield full(fiber)

    message = told(lambda ctx, fiber: Thunk(lambda ctx: branch(ctx, fiber)), backend)
    assert "Call expressions have no truth value while code is emitted" in message
    assert "ctx.if_(cond)" in message


@pytest.mark.parametrize(
    "expr",
    [Var("k", INTP), Var("k", INTP) + 1, Literal(0, int), Load(Buffer("a", INTP), lift(0))],
)
@pytest.mark.parametrize("number", [0, 1.5, np.int64(0), True])
def test_expressions_are_no_numbers(expr: Expr, number: Any) -> None:
    with pytest.raises(PluginError, match=r"a\.eq\(b\)"):
        _ = expr == number
    with pytest.raises(PluginError, match="is compared with"):
        _ = expr != number
    assert expr != "k"
    assert expr is not None


def test_expressions_are_compared_among_themselves() -> None:
    k = Var("k", INTP)
    assert k + 1 == k + 1
    assert hash(k + 1) == hash(Call((k + 1).op, (k + 1).args))
    assert k + 1 != k
    assert Literal(0, int) != k
    assert k.cast(np.dtype(np.int8)) == k.cast(np.dtype(np.int8))
    assert k.cast(np.dtype(np.int8)) != k.cast(np.dtype(np.int16))


@BACKENDS
def test_a_let_is_not_assigned_to(backend: str | None) -> None:
    def code(ctx, fiber):
        n = ctx.let("n", fiber.lvl.shape + 1)
        ctx.assign(n, 3)
        yield full(fiber)

    message = told(lambda ctx, fiber: Thunk(lambda ctx: code(ctx, fiber)), backend)
    assert "n is assigned to, but is immutable" in message
    assert "ctx.var makes a mutable variable" in message


# -- the methods --------------------------------------------------------------------------------


def made(**members: Any) -> Tensor:
    return Tensor(format_like(**members)(Element(0.0)), np.arange(1.0, 5.0))


POINTERS = (Field("ptr", INTP, "where fibers start"), Field("count", INTP, "c", is_buffer=False))


@pytest.mark.parametrize(
    ("method", "function"),
    [
        ("assemble", lambda self, ctx, lvl, start, stop: lvl.buffer("pointers")),
        ("declare", lambda self, ctx, lvl, init: lvl.scalar("pointers")),
        ("freeze", lambda self, ctx, lvl, stop: lvl["pointers"]),
        ("unfurl", lambda self, ctx, fiber, mode, protocol: fiber.lvl.buffer("pointers")),
    ],
)
def test_a_wrong_field_is_told_with_those_there_are(method: str, function: Any) -> None:
    with pytest.raises(PluginError) as error:
        made(**{method: function}, fields=POINTERS)
    message = str(error.value)
    assert f"{method} of the level format 'Mine': the level format 'Mine' has no " in message
    assert "'pointers'" in message
    assert "its fields are 'ptr' (a buffer), 'count' (a scalar)" in message


def test_a_buffer_is_no_scalar() -> None:
    with pytest.raises(PluginError, match="has no scalar 'ptr'"):
        made(declare=lambda self, ctx, lvl, init: lvl.scalar("ptr"), fields=POINTERS)


def test_what_a_method_raises_is_told_with_its_name() -> None:
    def freeze(self, ctx, lvl, stop):
        raise KeyError("stored")

    with pytest.raises(PluginError) as error:
        made(freeze=freeze)
    assert error.value.message == "freeze of the level format 'Mine' failed: KeyError: 'stored'"
    assert "raised in line" in error.value.hint
    assert isinstance(error.value.__cause__, KeyError)


def test_a_method_that_yields_emits_nothing_and_is_refused() -> None:
    def freeze(self, ctx, lvl, stop):
        yield lvl.child.freeze(ctx, stop)

    with pytest.raises(PluginError, match="freeze of the level format 'Mine' is a generator"):
        made(freeze=freeze)


def test_sizes_gives_a_number_for_each_buffer() -> None:
    tensor = Tensor(format_like(sizes=lambda self, p, n, f: None)(Element(0.0)), (4,))
    with pytest.raises(PluginError, match="sizes of the level format 'Mine' gives None, but"):
        _ = tensor.buffers
    with pytest.raises(PluginError, match=r"gives \(\{\}, 4\), but \(\{'ptr': \.\.\.\}, \.\.\.\)"):
        _ = made(fields=POINTERS, sizes=lambda self, p, n, f: ({}, p * n)).nstored


def row_sums(y, a):
    y[...] = 0
    for i in parallel(_):
        for j in _:
            y[i] += a[i, j]
    return y


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({"stored_before": lambda self, ctx, lvl, stop: 3}, "gives 3, which is not an expression"),
        ({"stored_before": lambda self, ctx, lvl, stop: lvl.ptr}, "failed: AttributeError: "),
        ({"position_from": lambda self, ctx, fiber, index: 1 / 0}, "failed: ZeroDivisionError: "),
    ],
    ids=["no expression", "no field", "fails"],
)
def test_what_divides_work_is_checked(members: dict[str, Any], message: str) -> None:
    read = lambda self, ctx, fiber: full(fiber)  # noqa: E731
    format = format_like(read=read, **members)
    nested = format(Dense(Element(0.0))) if "position_from" in members else Dense(format(Element()))
    kernel = Kernel(row_sums, Options(backend="interpreter", least_work=2))
    with pytest.raises(PluginError, match=message) as error:
        kernel(np.zeros(4), Tensor(nested, np.ones((4, 3))))
    assert f"{next(iter(members))} of the level format 'Mine'" in error.value.message


@pytest.mark.parametrize(
    ("blank", "message"),
    [
        (lambda self, n, shape: ({}, 0), "is made without its field 'ptr'"),
        (
            lambda self, n, shape: ({"ptr": np.zeros(n, np.int32)}, 0),
            "is made with an array of int32 as 'ptr', which is an array of int64",
        ),
        (lambda self, n, shape: ({"ptr": [0]}, 0), "is made with list as 'ptr'"),
    ],
    ids=["field", "dtype", "list"],
)
def test_an_empty_level_has_its_fields(blank: Any, message: str) -> None:
    fields = (Field("ptr", np.dtype(np.int64), "where"),)
    with pytest.raises(PluginError, match=message):
        Tensor(format_like(fields=fields, blank=blank)(Element(0.0)), (3,))


@pytest.mark.parametrize(
    ("given", "message"),
    [(3, "gives 3, which is not a tuple of Offer"), ((3,), "gives 3, which is not an Offer")],
)
def test_offers_are_offers(given: Any, message: str) -> None:
    format = format_like(offers=classmethod(lambda cls, fibers: given))
    with pytest.raises(PluginError, match=message):
        offers_of(format, None)


def test_likeness_is_a_pair() -> None:
    format = format_like(alike=lambda self, ctx, lvl, other, stop: True)(Element(0.0))
    with pytest.raises(PluginError, match="gives True, which is not a pair of expressions"):
        likeness_of(format, None, None, None, None)


def test_a_leaf_gives_its_value() -> None:
    class Silent(Element):
        name = "Silent"
        layout = ""

        def unwrap(self, ctx, fiber, mode, op, value):
            found = super().unwrap(ctx, fiber, mode, op, value)
            return None if mode is Mode.READ else found

    with pytest.raises(PluginError, match="unwrap of the leaf 'Silent' gives None for Mode.READ"):
        on(None, plus_one)(Scalar(0.0), Tensor(Dense(Silent(0.0)), np.ones(3)))


# -- looplets of an author's own ----------------------------------------------------------------


def fails(self, ctx, region, slot):
    raise ValueError("boom")


def yields(self, ctx, region, slot):
    yield region


BROKEN_LOWER: dict[str, tuple[Any, str]] = {
    "fails": (fails, "failed: ValueError: boom"),
    "does nothing": (lambda self, ctx, region, slot: None, "emits nothing of the loop"),
    "yields": (yields, "gives <generator object yields .*, and None is expected"),
    "takes less": (lambda self, ctx, region: None, "failed: TypeError: "),
    "puts nothing": (
        lambda self, ctx, region, slot: region.put(slot, None).lower(ctx),
        "failed: AttributeError: ",
    ),
    "puts itself": (
        lambda self, ctx, region, slot: region.put(slot, self).lower(ctx),
        "lowers the same region with the same looplet again",
    ),
}


@pytest.mark.parametrize("way", BROKEN_LOWER)
def test_a_broken_looplet_is_told_with_its_level_and_plugin(way: str) -> None:
    """On the interpreter, which would else give 0 for some of these."""
    lower, message = BROKEN_LOWER[way]
    looplet = type("Odd", (Looplet,), {"precedence": Precedence.SEQUENCE, "lower": lower})()
    format = format_like(read=lambda self, ctx, fiber: looplet)
    with registered("by_hand", finch_level_format=lambda: format):
        odd = Tensor(format(Element(0.0)), np.arange(1.0, 5.0))
        for tensor in (odd, window(odd, (1, 3))):
            with pytest.raises(PluginError) as error:
                on("interpreter", plus_one)(Scalar(0.0), tensor)
            assert re.search(message, error.value.message)
            named = "the level format 'Mine' of 'by_hand' (registered by hand) in a: lower of the"
            assert f"{named} looplet Odd " in error.value.message


@attrs.frozen
class Halves(Looplet):
    """``first`` up to ``middle``, then ``second``."""

    middle: Any
    first: Any
    second: Any
    precedence = Precedence.SEQUENCE

    def lower(self, ctx, region, slot):
        phases = Phase(self.middle, self.first), Phase(None, self.second)
        region.put(slot, Sequence(phases)).lower(ctx)


@attrs.frozen
class ByHand(Halves):
    """The same, without a looplet that is there."""

    def lower(self, ctx, region, slot):
        middle = ctx.bind("middle", region.start.max(region.stop.min(self.middle)))
        region.between(region.start, middle).put(slot, self.first).lower(ctx)
        region.between(middle, region.stop).put(slot, self.second).lower(ctx)


@attrs.frozen
class Filled(ByHand):
    """The same, which puts the value of the second half into the body itself."""

    def lower(self, ctx, region, slot):
        middle = ctx.bind("middle", region.start.max(region.stop.min(self.middle)))
        region.between(region.start, middle).put(slot, self.first).lower(ctx)
        region.between(middle, region.stop).fill(ctx, slot, self.second.body).lower(ctx)


@attrs.frozen
class Asked(Looplet):
    """Asked for one index after another, as a lookup is."""

    fiber: Any
    precedence = Precedence.LOOKUP

    def lower(self, ctx, region, slot):
        region.put(slot, Lookup(lambda ctx, i: self.at(ctx, i))).lower(ctx)

    def at(self, ctx, index):
        return Run(self.fiber.subfiber(self.fiber.pos * self.fiber.lvl.shape + index))


def halved(kind: Any) -> Any:
    """A format whose first half alone is stored, read by a looplet of an author's own."""

    def read(self, ctx, fiber):
        if kind is Asked:
            return Asked(fiber)
        return kind((fiber.lvl.shape + 1) // 2, full(fiber), Run(fiber.filled()))

    limit = staticmethod(lambda fiber, array, fill: np.arange(len(array)) < (len(array) + 1) // 2)
    return format_like(kind.__name__, read=read, limit=limit)


def shifted(s, a, b, n):
    s[...] = 0
    for i in range(0, n):
        s[()] += a[i + 2] * b[i]
    return s


def looked_up(s, a, b):
    s[...] = 0
    for i in _:
        s[()] += a[b[i]]
    return s


@BACKENDS
@pytest.mark.parametrize("kind", [Halves, ByHand, Filled, Asked])
@pytest.mark.parametrize("other", [Dense, SparseList, RunList, SparseBand, SparseHash])
def test_looplets_of_ones_own_work_under_wrappers(
    backend: str | None, kind: Any, other: Any
) -> None:
    level = halved(kind)
    d, e = np.array([1.0, 2, 3, 4, 0, 0, 0]), np.array([0.0, 5, 5, 0, 6, 6, 7])
    a, b = Tensor(level(Element(0.0)), d), Tensor(other(Element(0.0)), e)
    run = on(backend, dot)
    assert run(Scalar(0.0), a, b).value == d @ e
    for n in (0, 1, 4, 5):
        found = on(backend, shifted)(Scalar(0.0), a, b, n).value
        assert found == d[2 : 2 + n] @ e[:n]
    for lo, hi in ((1, 4), (0, 7), (3, 6), (5, 7), (2, 2)):
        assert run(Scalar(0.0), window(a, (lo, hi)), e[lo:hi].copy()).value == d[lo:hi] @ e[lo:hi]
        part = window(window(a, (lo, hi)), (0, hi - lo))
        assert run(Scalar(0.0), part, window(b, (lo, hi))).value == d[lo:hi] @ e[lo:hi]
    assert run(Scalar(0.0), offset(offset(a, -1), 1), b).value == d @ e
    assert on(backend, looked_up)(Scalar(0.0), a, np.array([0, 3, 6])).value == 5
    nested = Tensor(Dense(level(Element(0.0))), np.array([d, 2 * d]))
    np.testing.assert_array_equal(nested.to_numpy(), [d, 2 * d])


@kernel
def over_rows(s, A, b):
    s[...] = 0
    for i, j in _:
        s[()] += A[i, j] * b[i]
    return s


@pytest.mark.parametrize("kind", [Halves, ByHand, Filled, Asked])
def test_subtensors_in_looplets_of_ones_own_are_wrapped_too(kind: Any) -> None:
    """The wrapper of a matrix goes on to its rows."""
    level = halved(kind)
    D = np.array([[1.0, 2, 3], [4, 5, 6], [0, 0, 0]])
    A = Tensor(level(SparseList(Element(0.0))), D)
    b = np.array([1.0, 10.0])
    found = over_rows(Scalar(0.0), window(A, (1, 3), (1, 3)), b).value
    assert found == (D[1:3, 1:] * b[:, None]).sum()
