"""The simplifier's rules on statements and on loops in which nothing varies, each seen at work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from finch_core import Tensor, kernel
from finch_core.looplets.invariant import LOOP_RULES
from finch_core.symbolic.simplifier import STATEMENT_RULES
from finch_levels import Dense, Element, RunList, Scalar, SparseList

VECTOR, LIST = Dense(Element(0.0)), SparseList(Element(0.0))


def text(program: Callable[..., Any], *args: Any, **options: Any) -> str:
    found = str(kernel(backend="interpreter", **options)(program).lower(*args).as_text("assembly"))
    return found.partition("kernel ")[2]


def discarded(y, x, n):
    for i in _:
        y[~(i + n)] += x[i]
    return y


def by_identity(s, x, n):
    for i in range(0, n):
        s[()] += x[i] * 0
    return s


def fill_over_fill(y, x):
    y[...] = 0
    for i in _:
        y[i] = x[i]
    return y


def decided(s, x):
    s[...] = 0
    for i in _:
        if i >= 0 and 2 > 1:
            s[()] += x[i]
        else:
            s[()] += 7 * x[i]
    return s


def empty_branches(s, x, n):
    for i in range(0, 2 * n):
        if n > i:
            s[()] *= 1
    return s


def dead_loop(s, x, n):
    for i in range(0, n):
        for j in range(0, 3):
            s[()] += 0 * (i + j)
    return s


def dead_definition(s, x, n):
    for i in range(0, n):
        k = n * n
        s[()] += 0 * (i + k)
    return s


def block(s, x):
    s[...] = 0
    for i in _:
        if 2 > 1:
            s[()] += x[i]
            s[()] += x[i]
    return s


def while_false(s, n):
    while n < 0 and 2 < 1:
        s[()] += 1
    return s


def label(s, x):
    s[...] = 0
    for i in _:
        if 2 < 1:
            break
        s[()] += x[i]
    return s


def dead_local(y, A, x, k):
    y[...] = 0
    for i in _:
        for j in _:
            t = Scalar(0.0)
            for r in _:
                t[()] += x[r] * k
            y[i] += A[i, j] * t[()]
    return y


def blank_local(y, x):
    for i in _:
        t = Tensor(Dense(Element(0.0)), (4,))
        for j in _:
            t[j] += x[i]
        for j in _:
            y[i] += t[j]
    return y


def constant_variable(s, x):
    s[...] = 0
    for i in _:
        t = x[i]
        if t > 1:
            t = 1.0
        s[()] += t
    return s


INTS = Tensor(Dense(Element(0)))
SEEN: dict[str, Callable[[], bool]] = {
    "discarded update": lambda: text(discarded, Tensor(VECTOR), Tensor(VECTOR), 3).count("+=") == 1,
    "update by identity": lambda: "for" not in text(by_identity, Scalar(0), INTS, 4),
    "fill over fill": lambda: "for i" not in text(fill_over_fill, Tensor(LIST), Tensor(LIST)),
    "decided sieve": lambda: "7" not in text(decided, Scalar(0.0), Tensor(VECTOR)),
    "empty branches": lambda: "if" not in text(empty_branches, Scalar(0), INTS, 1),
    "dead loop": lambda: "for" not in text(dead_loop, Scalar(0), INTS, 4),
    "while False": lambda: "while n" not in text(while_false, Scalar(0), 1),
    "unused label": lambda: "left" not in text(label, Scalar(0.0), Tensor(VECTOR)),
    "dead definition": lambda: "n * n" not in text(dead_definition, Scalar(0), INTS, 1),
    "blank local": lambda: text(blank_local, Tensor(VECTOR), Tensor(LIST)).count("for j") == 2,
    "constant variable": lambda: (
        text(constant_variable, Scalar(0.0), Tensor(LIST)).count("for") == 1
    ),
    "dead local": lambda: (
        text(dead_local, Tensor(VECTOR), Tensor(Dense(LIST)), Tensor(VECTOR), 2.0).count("for") == 3
    ),
    "block": lambda: text(block, Scalar(0.0), Tensor(VECTOR)).count("for") == 1,
}


@pytest.mark.parametrize("rule", STATEMENT_RULES, ids=lambda rule: rule.name)
def test_a_statement_rule_is_seen_at_work(rule: Any) -> None:
    assert SEEN[rule.name]()


# -- loops in which nothing varies ---------------------------------------------------------------


def assigned(s, x):
    for i in _:
        s[()] = x[i]
    return s


def largest(s, x):
    for i in _:
        s[()] = max(s[()], x[i])
    return s


def summed(s, x):
    for i in _:
        s[()] += x[i]
    return s


def subtracted(s, x):
    for i in _:
        s[()] -= x[i]
    return s


def multiplied(s, x):
    for i in _:
        s[()] *= x[i]
    return s


def toggled(s, x):
    for i in _:
        s[()] ^= x[i]
    return s


LOOPS = {
    "last assignment": (assigned,),
    "idempotent once": (largest,),
    "repeated operator": (summed, subtracted, multiplied, toggled),
}


@pytest.mark.parametrize("rule", LOOP_RULES, ids=lambda rule: rule.name)
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int64", "uint64", "float64"])
def test_a_run_is_taken_at_once_and_comes_to_what_its_loop_does(rule: Any, dtype: str) -> None:
    """Runs longer than narrow integers count; powers and sums of integers wrap."""
    kind = np.dtype(dtype)
    data = np.repeat([3, 1, 7, 2], [300, 2, 301, 5]).astype(kind)
    format = RunList(Element(kind.type(0)))
    for program in LOOPS[rule.name]:
        if (kind.kind == "f" and program in (toggled, multiplied)) or (
            kind.kind == "b" and program is subtracted
        ):
            continue
        run = kernel(backend="interpreter")(program)
        args = (Scalar(kind.type(0)), Tensor(format, data))
        assert text(program, *args).count("for") == 1, "the runs, not their indices"
        with np.errstate(all="ignore"):
            expected = run.reference(*args)
        assert run(*args).value == expected


def test_a_strict_kernel_adds_floats_one_by_one() -> None:
    args = (Scalar(0.0), Tensor(RunList(Element(0.0)), np.full(10, 0.1)))
    assert text(summed, *args).count("for") == 1
    assert text(summed, *args, strict=True).count("for") == 2
    exact = sum([0.1] * 10)
    assert kernel(strict=True, backend="interpreter")(summed)(*args).value == exact
