"""Runs random programs and compares them with the reference."""

from __future__ import annotations

import linecache
from collections import Counter
from typing import Any

import attrs
import numpy as np
from random_shrink import shrunk
from random_tree import Random, as_seen

import finch_core
import finch_levels
import finch_wrappers
from finch_core import FinchError, Tensor, kernel
from finch_core.testing import using

SCOPE = {
    name: getattr(module, name)
    for module in (finch_core, finch_levels, finch_wrappers)
    for name in module.__all__
} | {"np": np, "_": finch_core._}


def function(program: Random) -> Any:
    """The Python function of a program, whose source can be found."""
    text = program.helpers() + program.source()
    filename = f"<random program {program.seed}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    scope = dict(SCOPE)
    exec(compile(text, filename, "exec"), scope)
    return scope["program"]


def arguments(program: Random) -> list[Any]:
    made = []
    for operand in program.params:
        if operand.role == "mask":
            made.append(eval(operand.data, SCOPE))
        elif operand.format is None:
            made.append(operand.data)
        else:
            data = () if operand.data is None else (operand.data,)
            tensor = Tensor(operand.format, *data)
            for wrap in reversed(operand.wraps):
                tensor = SCOPE[wrap.name](tensor, *wrap.arguments)
            made.append(tensor)
    return made


def mismatch(program: Random, backend: str) -> str:
    """What is wrong with a program's results on a backend; empty if nothing is.

    Raises ``FinchError`` where the program is refused.
    """
    with using("interpreter"):
        found = kernel(backend=backend)(function(program))(*arguments(program))
        plain = program.plain()
        expected = kernel(backend=backend)(function(plain)).reference(*arguments(plain))
        results = (found, expected) if isinstance(expected, tuple) else ((found,), (expected,))
        outs = [operand for operand in program.params if operand.role == "out"]
        for k, (result, array) in enumerate(zip(*results, strict=True)):
            a, b = result.to_numpy(), as_seen(outs[k], array)
            if a.shape != b.shape or a.dtype != b.dtype or not np.array_equal(a, b):
                return f"result {k} is\n{a!r}\nand should be\n{b!r}"
    return ""


@attrs.define
class Tally:
    """What became of many programs."""

    ran: int = 0
    refused: Counter = attrs.field(factory=Counter)


def outcome(program: Random, backend: str) -> tuple[str, str]:
    """``("ok", "")``, ``("refused", why)`` or ``("failed", what)``."""
    try:
        found = mismatch(program, backend)
    except FinchError as error:
        return "refused", f"{type(error).__name__}: {error.message}"
    except Exception as error:
        return "failed", f"{type(error).__name__}: {error}"
    return ("failed", found) if found else ("ok", "")


def category(what: str) -> str:
    """The sort of a failure, which shrinking must keep."""
    return what.split(" ")[0].split("\n")[0]


def report(program: Random, backend: str, what: str) -> str:
    """A failing program made small and written as Python that can be run."""
    sort = category(what)

    def fails(smaller: Random) -> bool:
        found, why = outcome(smaller, backend)
        return found == "failed" and category(why) == sort

    small = shrunk(program, fails)
    why = outcome(small, backend)[1]
    return f"seed {program.seed!r} on {backend}: {why}\n\n{small.runnable(backend)}"
