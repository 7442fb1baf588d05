"""Runs random programs and asks every oracle of them: the plain reading, the checks of the
interpreter, the validation of buffers, and that nothing changed which is not an output."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from typing import Any
from zlib import crc32

import attrs
import numpy as np
from random_forms import FORMS
from random_shrink import shrunk
from random_tree import Declare, Operand, Put, Random, as_seen, statements

import finch_core
import finch_levels
import finch_wrappers
from finch_core import FinchError, Tensor, kernel
from finch_core.runtime.validation import validate
from finch_core.testing import using

SCOPE = {
    name: getattr(module, name)
    for module in (finch_core, finch_levels, finch_wrappers)
    for name in module.__all__
} | {"np": np, "_": finch_core._}


class Differs(Exception):
    """What is wrong with what a program did."""


def function(program: Random) -> Any:
    """The Python function of a program, whose source can be found."""
    text = program.helpers() + program.source()
    filename = f"<random program {program.seed}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    scope = dict(SCOPE)
    exec(compile(text, filename, "exec"), scope)
    return scope["program"]


# -- arguments ----------------------------------------------------------------------------------


def arguments(program: Random) -> list[Any]:
    """What is passed to a program, new each time."""
    made: dict[str, Any] = {}
    for operand in program.params:
        made[operand.name] = argument(operand)
    for operand in program.params:
        if operand.form in made:
            made[operand.name] = made[operand.form]
    return list(made.values())


def argument(operand: Operand) -> Any:
    if operand.role == "mask":
        return eval(operand.data, SCOPE)
    if operand.format is None:
        return operand.data
    form = FORMS.get(operand.form)
    if form is not None and form.of_data and operand.data is not None:
        made = form.make(operand.data)
    else:
        made = Tensor(operand.format, *(() if operand.data is None else (operand.data,)))
        made = made if form is None else form.make(made)
    for wrap in reversed(operand.wraps):
        made = SCOPE[wrap.name](made, *wrap.arguments)
    return made


def parts(value: Any) -> list[np.ndarray]:
    """The arrays that an argument consists of."""
    while hasattr(value, "tensor"):
        value = value.tensor
    if isinstance(value, np.ndarray):
        return [value]
    if hasattr(value, "buffers"):
        return [b for b in value.buffers.values() if isinstance(b, np.ndarray)]
    names = ("data", "indices", "indptr", "row", "col")
    return [found for name in names if (found := getattr(value, name, None)) is not None]


@attrs.frozen
class Watch:
    """What the memory of a call's arguments held before it."""

    inputs: list[tuple[str, np.ndarray, bytes]]
    must_refuse: str = ""
    """Why the call must be refused; empty if it need not be."""

    @classmethod
    def of(cls, program: Random, args: list[Any]) -> Watch:
        written = {s.target.tensor for s in statements(program.body) if isinstance(s, Put)}
        written |= {s.tensor for s in statements(program.body) if isinstance(s, Declare)}
        kept, why = [], ""
        for operand, value in zip(program.params, args, strict=True):
            if operand.format is None:
                continue
            is_written = operand.name in written
            for array in parts(value):
                if not is_written or not array.flags.writeable:
                    kept.append((operand.name, array, array.tobytes()))
            flags = value.flags if isinstance(value, np.ndarray) else None
            if is_written and flags and not (flags.writeable and flags.c_contiguous):
                why = f"{operand.name} is written, and cannot be"
            if operand.form in written or (is_written and operand.form in program.names()):
                why = f"{operand.name} and {operand.form} are the same, and one is written"
        shared = any(operand.form in written for operand in program.params)
        return cls([] if shared else kept, why)

    def unchanged(self) -> None:
        for name, array, before in self.inputs:
            if array.tobytes() != before:
                raise Differs(f"memory of {name} was changed")


# -- one program --------------------------------------------------------------------------------


def meaning(program: Random, args: list[Any]) -> tuple[list[Any], Exception | None]:
    """The results of the plain reading, or why it refuses."""
    try:
        found = kernel(backend="interpreter")(function(program)).reference(*args)
    except (FinchError, TypeError, IndexError, OverflowError) as error:
        return [], error
    return list(found) if isinstance(found, tuple) else [found], None


def switched_off(seed: Any) -> frozenset[str]:
    """The optimisations that are off for a random program. A fifth has no merges by cases, as
    kernels have whose cases are too many."""
    return frozenset({"merge_by_cases"} if crc32(str(seed).encode()) % 5 == 0 else ())


@attrs.define
class Prepared:
    """A program with its arguments and what its readings say, compiled and not yet run."""

    program: Random
    args: list[Any]
    watch: Watch
    readings: list[tuple[list[Any], Exception | None]]
    run: Any

    @classmethod
    def of(cls, program: Random, backend: str, made: Any = None) -> Prepared:
        """``made`` makes a kernel of a function; by default the library's own, of ``backend``."""
        with using("interpreter"):
            args = arguments(program)
            watch = Watch.of(program, args)
            readings = [meaning(program, args)]
            plain = program.plain()
            if plain is not program:
                readings.append(meaning(plain, arguments(plain)))
            watch.unchanged()
            own = kernel(backend=backend, disabled=switched_off(program.seed))
            run = (made or own)(function(program))
            run.lower(*args)
            return cls(program, args, watch, readings, run)

    def check(self) -> None:
        """Run and compare. Raises ``FinchError`` where the program is refused, ``Differs`` where an
        oracle has another opinion, and whatever else the library raises in error."""
        with using("interpreter"):
            try:
                found = self.run(*self.args)
            finally:
                self.watch.unchanged()
                valid(self.program, self.args)
            self.agrees(found)
            if self.watch.must_refuse:
                raise Differs(f"not refused: {self.watch.must_refuse}")
            self.agrees(self.run(*arguments(self.program)), "in a second call, ")
            self.watch.unchanged()

    def agrees(self, found: Any, when: str = "") -> None:
        """Results must be what every reading says."""
        outs = [o for o in self.program.params if o.role == "out"]
        results = found if len(outs) > 1 else (found,)
        for k, (expected, refusal) in enumerate(self.readings):
            if refusal is not None:
                if self.program.exact:
                    name = type(refusal).__name__
                    raise Differs(f"refused by the reading alone: {name}: {refusal}")
                continue
            for out, result, array in zip(outs, results, expected, strict=False):
                a = result if isinstance(result, np.ndarray) else result.to_numpy()
                b = as_seen(out, array) if k == 1 else array
                if not same(a, b):
                    raise Differs(f"{when}result {out.name} is\n{a!r}\nand should be\n{b!r}")


def same(a: np.ndarray, b: np.ndarray) -> bool:
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    return np.array_equal(a, b, equal_nan=a.dtype.kind in "fc")


def valid(program: Random, args: list[Any]) -> None:
    """The buffers of all tensors are well formed, whatever happened."""
    for operand, value in zip(program.params, args, strict=True):
        while hasattr(value, "tensor"):
            value = value.tensor
        if isinstance(value, Tensor):
            try:
                validate(value)
            except FinchError as error:
                raise Differs(f"buffers of {operand.name} are malformed: {error}") from None


def outcome(program: Random, backend: str) -> tuple[str, str]:
    """``("ok", "")``, ``("refused", why)`` or ``("failed", what)``."""
    return judged(lambda: Prepared.of(program, backend).check())


def outcome_of(prepared: Prepared) -> tuple[str, str]:
    return judged(prepared.check)


def judged(run: Callable[[], Any]) -> tuple[str, str]:
    """What became of a run: ``ok``, ``refused`` or ``failed``, and why."""
    try:
        run()
    except Differs as error:
        cause = error.__context__
        return "failed", f"{error}, after {cause!r}" if cause else str(error)
    except FinchError as error:
        return "refused", f"{type(error).__name__}: {error.message}"
    except Exception as error:
        return "failed", f"{type(error).__name__}: {error}"
    return "ok", ""


# -- findings -----------------------------------------------------------------------------------


def category(what: str) -> str:
    """The sort of a failure, which shrinking must keep."""
    first = what.split("\n")[0]
    words = first.removeprefix("in a second call, ").split(" ")
    if words[0] == "result":
        return "result differs"
    if words[0] == "memory" or words[0] == "buffers":
        return words[0]
    return " ".join(word for word in words[:9] if word.isalpha() or word.endswith(":"))


def report(program: Random, backend: str, what: str, ask: Any = outcome) -> str:
    """A failing program made small and written as Python that can be run."""
    sort = category(what)

    def fails(smaller: Random) -> bool:
        found, why = ask(smaller, backend)
        return found == "failed" and category(why) == sort

    small = shrunk(program, fails)
    why = ask(small, backend)[1]
    return f"seed {program.seed!r} on {backend}: {why}\n\n{small.runnable(backend)}"
