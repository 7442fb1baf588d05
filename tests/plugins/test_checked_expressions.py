"""Expressions of looplets and stores that have another dtype than is expected are refused."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plugin_support import Field, format_like, full

from finch_core import OutOfBounds, Tensor, _, kernel
from finch_core.errors import FormatError, PluginError, explained
from finch_core.ir.expressions import Load, Var
from finch_core.looplets import Lookup, Packed, Phase, Run, Sequence, Stepper, Switch, Thunk
from finch_core.testing.programs import dot
from finch_levels import Element, Scalar

OF = "the level format 'Mine' in a: "
INTEGER = "\n  hint: x.cast(INTP) makes one of a number"
BOOL = "\n  hint: x.ne(0) makes a bool of a number"
FLAG = np.dtype(bool)


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The formats here share their name, and no plugin tells their kernels apart on disk."""
    monkeypatch.setenv("FINCH_CACHE_DIR", str(tmp_path))


def refused(read: Any) -> str:
    """What is said of a level that is read by the looplet of ``read``."""
    format = format_like(read=lambda self, ctx, fiber: read(ctx, fiber))
    tensor = Tensor(format(Element(0.0)), np.arange(1.0, 5.0))
    with pytest.raises(PluginError) as error:
        kernel(backend="interpreter")(dot)(Scalar(0.0), tensor, np.ones(4))
    return plain(error.value)


def plain(error: PluginError) -> str:
    """What an error says, without the place in the kernel."""
    return explained(error.message, None, error.hint)


def stepped(**fields: Any) -> str:
    def code(ctx: Any, fiber: Any) -> Iterator[Any]:
        q = ctx.var("q", 0)
        given = {
            "position": q, "end": fiber.lvl.shape, "stop": lambda q: q + 1,
            "body": lambda ctx, q: Run(fiber.subfiber(q)), "bound": fiber.lvl.shape,
            "seek": lambda ctx, i: ctx.assign(q, i), "tail": Run(fiber.filled()),
            "start": ctx.lift(0),
        }  # fmt: skip
        yield Stepper(**given | fields)

    return refused(lambda ctx, fiber: Thunk(lambda ctx: code(ctx, fiber)))


def test_the_numbers_of_steps_are_integers() -> None:
    told = stepped(stop=lambda q: q < 1)
    assert told == f"{OF}the stop of a step is q < 1 (bool), and an integer is expected{INTEGER}"
    told = stepped(end=4.0)
    assert told == (
        f"{OF}the end of a Stepper is 4.0 (float64), and an integer is expected{INTEGER}"
    )
    told = stepped(position=Var("x", np.dtype(float)))
    assert told == (
        f"{OF}the position of a Stepper is x (float64), and an integer is expected{INTEGER}"
    )
    told = stepped(position=3)
    assert told == (
        f"{OF}the position of a Stepper is 3, and a variable is expected"
        "\n  hint: ctx.var makes a mutable variable"
    )
    told = stepped(start=None)
    assert told == f"{OF}the start of a Stepper is None, and an integer is expected"
    told = stepped(present=lambda q, i: q)
    assert told == f"{OF}whether a step is present is q (int64), and a bool is expected{BOOL}"


def test_seeks_assign_integers_and_give_nothing() -> None:
    def wide(s, a, first):
        s[...] = 0
        for i in range(first, len(a)):
            s[()] += a[i]
        return s

    def told(seek: Any) -> str:
        def code(ctx: Any, fiber: Any) -> Iterator[Any]:
            q = ctx.var("q", 0)
            yield Stepper(
                position=q, end=fiber.lvl.shape, stop=lambda q: q + 1,
                body=lambda ctx, q: Run(fiber.subfiber(q)), bound=fiber.lvl.shape,
                seek=lambda ctx, i: seek(ctx, q, i), tail=Run(fiber.filled()), start=ctx.lift(0),
            )  # fmt: skip

        read = lambda self, ctx, fiber: Thunk(lambda ctx: code(ctx, fiber))  # noqa: E731
        tensor = Tensor(format_like(read=read)(Element(0.0)), np.arange(1.0, 5.0))
        with pytest.raises(PluginError) as error:
            kernel(backend="interpreter")(wide)(Scalar(0.0), tensor, 2)
        return plain(error.value)

    assert told(lambda ctx, q, i: ctx.assign(q, i.cast(np.dtype(float)))) == (
        f"{OF}float64(i_start) (float64) is stored in q, which is int64"
        "\n  hint: x.cast(dtype) converts a value, x.ne(0) makes a bool of a number"
    )
    message = told(lambda ctx, q, i: i + 1)
    assert message.startswith(f"{OF}test_seeks_assign_integers_and_give_nothing.<locals>.told")
    assert "and None is expected" in message


def test_phases_and_switches_are_checked() -> None:
    told = refused(lambda ctx, f: Sequence((Phase(2.5, full(f)), Phase(None, full(f)))))
    assert told == (
        "unfurl of the level format 'Mine': the stop of a Phase is 2.5 (float64), and an integer "
        f"is expected{INTEGER}"
    )
    told = refused(lambda ctx, f: Switch(f.lvl.shape, full(f), full(f)))
    assert told == (
        "unfurl of the level format 'Mine': the condition of a Switch is a_n0 (int64), and a bool "
        f"is expected{BOOL}"
    )
    told = refused(
        lambda ctx, f: Lookup(lambda ctx, i: Switch(i + 1, f.subfiber(i), f.subfiber(i)))
    )
    assert told == f"{OF}the condition of a Switch is i + 1 (int64), and a bool is expected{BOOL}"
    told = refused(lambda ctx, f: Switch(f.pos == f.lvl.shape, full(f), full(f)))
    assert told == (
        "unfurl of the level format 'Mine': a condition is False of Python: == and != compare the "
        "expressions themselves, not their values\n  hint: a.eq(b) and a.ne(b) make conditions of "
        "values"
    )


def test_packed_words_are_checked() -> None:
    def packed(**fields: Any) -> str:
        def read(ctx: Any, fiber: Any) -> Packed:
            word = ctx.lift(np.uint64(3))
            given = {
                "word": lambda k: word, "body": lambda ctx, i: fiber.subfiber(i),
                "fill": fiber.filled(), "start": ctx.lift(0), "stop": fiber.lvl.shape,
            }  # fmt: skip
            return Packed(**given | fields)

        return refused(read)

    of = "unfurl of the level format 'Mine': "
    assert packed(start=0.5) == (
        f"{of}the start of a Packed is 0.5 (float64), and an integer is expected{INTEGER}"
    )
    assert packed(word=lambda k: k + 1) == (
        f"{of}a word of a Packed is 1 (int64), and uint64 is expected"
        "\n  hint: x.cast(dtype) converts it"
    )


def test_positions_and_places_are_integers() -> None:
    told = refused(lambda ctx, f: Lookup(lambda ctx, i: f.subfiber(i.cast(np.dtype(float)))))
    assert told == (
        f"{OF}the position of a subfiber is float64(i) (float64), and an integer is expected"
        f"{INTEGER}"
    )

    def loop(ctx: Any, lvl: Any) -> None:
        with ctx.for_("k", 0, 2.5) as k:
            ctx.store(lvl.buffer("flag"), k, True)

    assert assembled(loop) == (
        "assemble of the level format 'Mine': the stop of k is 2.5 (float64), and an integer is "
        f"expected{INTEGER}"
    )

    def load(ctx: Any, lvl: Any) -> None:
        flag = lvl.buffer("flag")
        ctx.store(flag, 0, Load(flag, (lvl.shape - 1).cast(np.dtype(float))))

    assert "_flag is float64(" in assembled(load)


def flagged(emit: Any) -> Any:
    """A format with a buffer of bools and what ``emit`` does when it is assembled."""

    def assemble(self: Any, ctx: Any, lvl: Any, start: Any, stop: Any) -> None:
        ctx.grow(lvl.buffer("flag"), stop * lvl.shape)
        ctx.fill(lvl.buffer("flag"), start, stop * lvl.shape, False)
        emit(ctx, lvl)
        lvl.child.assemble(ctx, start * lvl.shape, stop * lvl.shape)

    return format_like(
        assemble=assemble,
        fields=(Field("flag", FLAG, "whatever"),),
        sizes=lambda self, positions, shape, fields: (
            {"flag": positions * shape},
            positions * shape,
        ),
    )


def assembled(emit: Any) -> str:
    with pytest.raises(PluginError) as error:
        Tensor(flagged(emit)(Element(0.0)), np.ones(3))
    return plain(error.value)


def test_stores_are_checked() -> None:
    of = "assemble of the level format 'Mine': "
    told = assembled(lambda ctx, lvl: ctx.store(lvl.buffer("flag"), 0, 2.5))
    assert told == (
        f"{of}2.5 (float64) is stored in out0_flag, which is bool"
        "\n  hint: x.cast(dtype) converts a value, x.ne(0) makes a bool of a number"
    ).replace("out0", told.split(" is stored in ")[1].split("_flag")[0])
    told = assembled(lambda ctx, lvl: ctx.store(lvl.buffer("flag"), lvl.shape > 0, True))
    assert "an index of " in told
    assert "(bool), and an integer is expected" in told
    told = assembled(lambda ctx, lvl: ctx.fill(lvl.buffer("flag"), 0, 3, lvl.shape))
    assert "(int64) is stored in" in told


def test_conditions_of_python_are_refused() -> None:
    def emit(ctx: Any, lvl: Any) -> None:
        q = ctx.var("q", 0)
        with ctx.while_(q == lvl.shape):
            ctx.assign(q, q + 1)

    assert assembled(emit) == (
        "assemble of the level format 'Mine': a condition is False of Python: == and != compare "
        "the expressions themselves, not their values\n  hint: a.eq(b) and a.ne(b) make "
        "conditions of values"
    )
    message = assembled(lambda ctx, lvl: ctx.require(lvl.shape == 3, FormatError, "no"))  # type: ignore[comparison-overlap]
    assert "compared with 3" in message


def test_integers_that_do_not_fit_are_refused() -> None:
    told = assembled(lambda ctx, lvl: ctx.require(lvl.shape <= 2**64 - 1, FormatError, "no"))
    assert told == (
        "assemble of the level format 'Mine': the integer 18446744073709551615 is used as int64, "
        "which does not hold it"
        "\n  hint: compare and compute in a wider dtype: x.cast(dtype)"
    )


def test_integers_that_would_wrap_in_arithmetic_are_refused() -> None:
    """They became other numbers: a product with 2**64 - 1 was one with -1."""
    hint = "\n  hint: compare and compute in a wider dtype: x.cast(dtype)"
    told = assembled(lambda ctx, lvl: ctx.var("most", lvl.shape // (2**64 - 1)))
    wrong = "the integer 18446744073709551615 is used as int64, which does not hold it"
    assert told.endswith(wrong + hint)
    told = assembled(lambda ctx, lvl: ctx.var("q", lvl.shape.cast(np.dtype("u1")) + 300))
    assert told.endswith("the integer 300 is used as uint8, which does not hold it" + hint)


def test_errors_and_messages_of_failures_are_checked() -> None:
    of = "assemble of the level format 'Mine': "
    told = assembled(lambda ctx, lvl: ctx.require(lvl.shape < 2, ValueError, "no {0}", lvl.shape))
    assert told == (
        f"{of}a kernel is to fail with ValueError, which is no error of Finch\n  hint: "
        "FormatError, IndexOverflow and OutOfBounds of finch_core.errors are, and classes of "
        "one's own that derive from them"
    )
    place = "\n  hint: {0} is the first value; {{ and }} are braces"
    told = assembled(
        lambda ctx, lvl: ctx.require(lvl.shape < 2, FormatError, "{0} of {1}", lvl.shape)
    )
    assert told == f"{of}the message '{{0}} of {{1}}' does not fit 1 value{place}"
    told = assembled(lambda ctx, lvl: ctx.require(lvl.shape < 2, FormatError, "{0", lvl.shape))
    assert told == f"{of}the message '{{0' does not fit 1 value{place}"
    told = assembled(lambda ctx, lvl: ctx.require(lvl.shape < 2, FormatError, "", 1, 2, 3, 4))
    assert told == f"{of}the message '' is given 4 values, and takes 3 at most"


def test_a_thunk_that_yields_twice_is_named() -> None:
    def code(ctx: Any, fiber: Any) -> Iterator[Any]:
        yield full(fiber)
        yield full(fiber)

    told = refused(lambda ctx, fiber: Thunk(lambda ctx: code(ctx, fiber)))
    assert told.startswith(f"{OF}the code of a Thunk, ")
    assert told.endswith("yields twice")


@kernel
def scattered(out, x, where):
    out[...] = 0
    for i in _:
        out[where[i]] = x[i]


def test_failures_without_blank_are_told() -> None:
    format = flagged(lambda ctx, lvl: None)
    out = Tensor(format(Element(0.0)), np.arange(3.0))
    with pytest.raises(OutOfBounds, match="index 7 is out of bounds for dimension 0 of out"):
        scattered(out, np.ones(3), np.array([0, 1, 7]))
    np.testing.assert_array_equal(out.to_numpy(), np.zeros(3))
    scattered(out, np.ones(3), np.array([0, 1, 2]))
    np.testing.assert_array_equal(out.to_numpy(), np.ones(3))


def test_what_is_right_is_taken() -> None:
    def read(self: Any, ctx: Any, fiber: Any) -> Lookup:
        flag = fiber.lvl.buffer("flag")
        return Lookup(lambda ctx, i: Switch(Load(flag, i), fiber.filled(), fiber.subfiber(i)))

    kind = flagged(lambda ctx, lvl: ctx.require(lvl.shape < 2**63 - 1, FormatError, "of {0}", 1))
    kind.read = read
    tensor = Tensor(kind(Element(0.0)), np.arange(3.0))
    assert kernel(backend="interpreter")(dot)(Scalar(0.0), tensor, np.ones(3)).value == 3
