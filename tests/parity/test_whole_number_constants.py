"""Operators on whole numbers as written compute as Python's, whatever the number of bits."""

from __future__ import annotations

import linecache
import random

import numpy as np
import pytest

from finch_core import kernel

NUMBERS = [0, 1, 2, 3, 7, 62, 63, 64, 65, 2**31, 2**62, 2**63 - 1, 2**63, 2**64 - 1]
BINARY = ["+", "-", "*", "//", "%", "&", "|", "^"]
COMPARED = ["<", "<=", ">", ">=", "==", "!="]


def written(chance, depth):
    """A random expression of whole numbers, as text."""
    kind = chance.choice(["number", "binary", "shift", "sign", "least", "choice", "logic", "abs"])
    if depth == 0 or kind == "number":
        return str(chance.choice(NUMBERS))
    first, second = (written(chance, depth - 1) for _part in range(2))
    if kind == "binary":
        return f"({first} {chance.choice(BINARY)} {second})"
    if kind == "shift":
        shift = chance.choice(["<<", ">>"])
        return f"({first} {shift} {chance.choice([0, 1, 31, 62, 63, 64, 65, 70])})"
    if kind == "sign":
        return f"({chance.choice('~-+')}{first})"
    if kind == "least":
        return f"{chance.choice(['min', 'max'])}({first}, {second})"
    if kind == "choice":
        return f"({first} if {second} {chance.choice(COMPARED)} {first} else {second})"
    if kind == "logic":
        return f"({first} {chance.choice(['and', 'or'])} {second})"
    return f"abs({first})"


def expressions(seed, count):
    """Random expressions that have a value of at most 2000 bits."""
    chance = random.Random(seed)
    found = []
    while len(found) < count:
        text = written(chance, 3)
        try:
            value = eval(text)
        except ZeroDivisionError:
            continue
        if value.bit_length() <= 2000:
            found.append(text)
    return found


def compiled(statements):
    """The Python function of these statements."""
    lines = ["def program(y, x):\n", *(f"    {line}\n" for line in statements)]
    name = f"<whole numbers {hash(tuple(lines))}>"
    linecache.cache[name] = (len("".join(lines)), None, lines, name)
    scope = {}
    exec(compile("".join(lines), name, "exec"), scope)
    return scope["program"]


def results(program, size):
    """What backends and the reference compute."""
    x = np.array([1.0])
    for backend in ("interpreter", "c"):
        y = np.zeros(size)
        kernel(program, backend=backend)(y, x)
        yield backend, y
    yield "reference", kernel(program).reference(np.zeros(size), x)["y"]


@pytest.mark.parametrize("seed", range(4))
def test_random_constants(seed):
    lines = []
    for text in expressions(seed, 10):
        at = len(lines)
        lines += [
            f"y[{at}] = {text} % 1000003",
            f"y[{at + 1}] = x[0] * ({text} >> 64 & 255)",
            f"y[{at + 2}] = 5.0 if {text} > 1 << 64 else 7.0",
            f"t{at} = {text} // (1 << 60) & 1023",
            f"y[{at + 3}] = t{at} + x[0]",
            f"if not {text} < (1 << 65) - 1:",
            f"    y[{at + 4}] = 1",
        ]
    program = compiled(lines)
    wanted = np.zeros(len(lines))
    program(wanted, np.array([1.0]))
    for backend, found in results(program, len(lines)):
        np.testing.assert_array_equal(found, wanted, err_msg=f"{backend}: {lines}")


def constants(y, x):
    y[0] = 1 << 64
    y[1] = (3 << 63) >> 63
    y[2] = 2**70 >> 69
    y[3] = 2**64 & 2**64
    y[4] = ~(2**64) + 2**64
    y[5] = (1 << 65) // (1 << 63)
    y[6] = (1 << 63) // 2
    if (1 << 64) > 5:
        y[7] = 1
    t = (1 << 64) >> 60
    y[8] = t
    y[9] = x[0] + (1 << 64)
    y[10] = bool(1 << 64) + float(1 << 64)
    y[11] = -1 >> 100
    for i in range(((1 << 65) >> 63) - 1):
        y[12] += i + ((1 << 65) >> 64)
    y[13] = (1 << 64) / (1 << 63)
    y[14] = not 1 << 64
    y[15] = 2.0 ** ((1 << 64) >> 60)


def test_constants():
    wanted = np.zeros(16)
    constants(wanted, np.array([1.0]))
    for backend, found in results(constants, 16):
        np.testing.assert_array_equal(found, wanted, err_msg=backend)


@pytest.mark.parametrize("backend", ["c", "interpreter"])
def test_all_elements_take_a_constant(backend):
    @kernel(backend=backend)
    def filled(y):
        y[...] = 1 << 64

    y = np.zeros(3)
    filled(y)
    assert (y == 2.0**64).all()
