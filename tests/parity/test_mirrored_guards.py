"""Guarded reads against the order of a tensor, ``if i <= 3 and x[3 - i] > 0``: several in a loop
make code that grows with their number, not with the number of their orders."""

from __future__ import annotations

import linecache
import random

import numpy as np
import pytest

from finch_core import Tensor, kernel
from finch_core.errors import DimensionMismatch, OutOfBounds
from finch_core.testing import backend_names
from finch_levels import Dense, Element, RunList, SparseBlockList, SparseByteMap, SparseList

LEVELS = (SparseList, RunList, SparseBlockList, SparseByteMap, Dense)


def compiled(lines):
    """The function of these lines."""
    text = ["def program(y, x, z, n):\n", *(f"    {line}\n" for line in lines)]
    name = f"<mirrored {hash(tuple(text))}>"
    linecache.cache[name] = (len("".join(text)), None, text, name)
    scope = {}
    exec(compile("".join(text), name, "exec"), scope)
    return scope["program"]


def guarded(count, form):
    """A program of so many guarded reads."""
    lines = ["for i in range(len(y)):"]
    for q in range(count):
        lines += [f"    if {form.format(q + 1)} > 0:", f"        y[i] += {q + 1}"]
    return compiled(lines)


def arguments():
    x = Tensor(SparseList(Element(0.0)), np.array([0.0, 1.0, 0.0, 2.0, 0.0, 3.0, 0.0]))
    return np.zeros(7), x, x, 7


@pytest.mark.parametrize("form", ["i <= {0} and x[{0} - i]", "i < n - {0} and x[n - {0} - i]"])
def test_code_grows_with_the_number_of_reads(form):
    sizes = []
    for count in (2, 4, 6):
        program = kernel(guarded(count, form))
        text = program.lower(*arguments()).as_text("assembly")
        sizes.append(len(text.splitlines()))
        y, *rest = arguments()
        program(y, *rest)
        assert np.array_equal(y, program.reference(*arguments())["y"])
    assert sizes[2] < 600
    assert sizes[2] - sizes[1] < 3 * (sizes[1] - sizes[0])


def written(chance):
    """Random statements that read x and z forwards and backwards under conditions, not all of which
    keep the reads inside."""

    def read():
        tensor, shift = chance.choice("xz"), chance.randint(0, 5)
        index, guard = chance.choice(
            [
                (f"{shift} - i", f"i <= {shift}"),
                (f"n - {shift} - i", f"i <= n - {shift}"),
                ("n - 1 - i", "i < n"),
                (f"i - {shift}", f"i >= {shift}"),
                (f"i + {shift}", f"i + {shift} < n"),
                (f"{2 * shift} - 2 * i", f"i <= {shift}"),
            ]
        )
        if chance.random() < 0.2:
            guard = f"i > {chance.randint(0, 6)}"
        return f"{tensor}[{index}]", guard

    lines = [f"for i in range({chance.choice(['len(y)', 'n', '1, n - 1'])}):"]
    for _statement in range(chance.randint(1, 4)):
        (value, guard), (other, second) = read(), read()
        lines += chance.choice(
            [
                [f"    if {guard} and {value} > {chance.randint(0, 2)}:", "        y[i] += 1"],
                [f"    y[i] += {value} if {guard} else {chance.randint(0, 2)}"],
                [f"    if {guard}:", f"        y[i] += {value} * 2 + 1"],
                [f"    if {guard} and {second}:", f"        y[i] += {value} * {other}"],
                [f"    if {guard} and {value} > 0 or {second} and {other} > 1:",
                 "        y[i] += 3", "    else:", "        y[i] -= 1"],
            ]
        )  # fmt: skip
    return lines


def outcome(call):
    """What a call writes, or that an index was out of bounds."""
    try:
        return call().tolist()
    except (DimensionMismatch, OutOfBounds):
        return "out of bounds"


@pytest.mark.parametrize("seed", range(12))
def test_random_guards(seed):
    chance = random.Random(seed)
    lines = written(chance)
    program = compiled(lines)
    first, second = (chance.choice(LEVELS)(Element(0.0)) for _tensor in range(2))
    data = np.random.default_rng(seed)
    for n in (6, 7):
        x, z = (np.where(data.random(n) < 0.5, data.integers(1, 4, n), 0.0) for _ in range(2))
        given = Tensor(first, x), Tensor(second, z), n
        wanted = outcome(lambda: kernel(program).reference(np.zeros(n), *given)["y"])  # noqa: B023
        for backend in backend_names():

            def run(backend=backend, n=n, given=given):
                y = np.zeros(n)
                kernel(program, backend=backend)(y, *given)
                return y

            assert outcome(run) == wanted, (backend, lines)
