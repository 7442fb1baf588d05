"""Protocols: every way of reading gives the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from wrapper_support import QUICK, arrays, check, on

from finch_core import FormatError, Tensor, coalesce
from finch_levels import Element, Scalar, SparseList
from finch_wrappers import protocolize


def walk_walk(s, a, b):
    s[...] = 0
    for i in _:
        s[()] += a[walk(i)] * b[walk(i)]
    return s


def gallop_gallop(s, a, b):
    s[...] = 0
    for i in _:
        s[()] += a[gallop(i)] * b[gallop(i)]
    return s


def gallop_walk(s, a, b):
    s[...] = 0
    for i in _:
        s[()] += a[gallop(i)] * b[walk(i)]
    return s


def walk_follow(s, a, b):
    s[...] = 0
    for i in _:
        s[()] += a[walk(i)] * b[follow(i)]
    return s


def follow_follow(s, a, b):
    s[...] = 0
    for i in _:
        s[()] += a[follow(i)] * b[follow(i)]
    return s


def gallop_three(s, a, b, c):
    s[...] = 0
    for i in _:
        s[()] += a[gallop(i)] * b[gallop(i)] * c[gallop(i)]
    return s


def mixed_three(s, a, b, c):
    s[...] = 0
    for i in _:
        s[()] += a[gallop(i)] * b[walk(i)] * c[follow(i)]
    return s


def shifted_gallop(s, a, b):
    s[...] = 0
    for i in range(1, 5):
        s[()] += coalesce(a[~gallop(i - 2)], 0) * b[gallop(i)] + coalesce(b[walk(~(i + 9))], 0)
    return s


SPARSE = SparseList(Element(0.0))
PAIRS = (walk_walk, gallop_gallop, gallop_walk, walk_follow, follow_follow)


@pytest.mark.parametrize("program", PAIRS, ids=lambda program: program.__name__)
def test_every_protocol_gives_the_dot_product(program: Callable[..., Any]) -> None:
    @QUICK
    @given(arrays(8), arrays(8))
    def property_(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> None:
        found = check(program, lambda: Scalar(0.0), Tensor(SPARSE, a), Tensor(SPARSE, b))
        assert found == a @ b

    property_()


@pytest.mark.parametrize("program", [gallop_three, mixed_three], ids=lambda p: p.__name__)
def test_every_protocol_gives_the_product_of_three(program: Callable[..., Any]) -> None:
    @QUICK
    @given(arrays(8), arrays(8), arrays(8))
    def property_(a: Any, b: Any, c: Any) -> None:
        tensors = (Tensor(SPARSE, x) for x in (a, b, c))
        assert check(program, lambda: Scalar(0.0), *tensors) == (a * b * c).sum()

    property_()


def test_protocols_combine_with_shifts_and_padding() -> None:
    @QUICK
    @given(arrays(6), arrays(6))
    def property_(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> None:
        check(shifted_gallop, lambda: Scalar(0.0), Tensor(SPARSE, a), Tensor(SPARSE, b))

    property_()


def test_a_protocolized_argument_reads_by_that_protocol() -> None:
    def dot(s, a, b):
        s[...] = 0
        for i in _:
            s[()] += a[i] * b[i]
        return s

    x = np.array([1.0, 0.0, 2.0, 0.0, 3.0])
    a = Tensor(SPARSE, x)
    plain = on("interpreter", dot)
    galloping = plain.lower(Scalar(0.0), protocolize(a, "gallop"), protocolize(a, "gallop"))
    written = on("interpreter", gallop_gallop).lower(Scalar(0.0), a, a)
    assert plain(Scalar(0.0), protocolize(a, "gallop"), protocolize(a, "follow")).value == x @ x
    texts = [lowered.as_text("assembly").partition("kernel")[2] for lowered in (galloping, written)]
    assert texts[0].partition("site")[0] == texts[1].partition("site")[0].replace(
        "gallop_gallop", "dot"
    )


def test_a_protocol_that_a_level_lacks_is_refused() -> None:
    def leading(s, a):
        s[...] = 0
        for i in _:
            s[()] += a[gallop(i)]
        return s

    with pytest.raises(FormatError, match="dimension 0 of a cannot be read by gallop") as caught:
        on("interpreter", leading)(Scalar(0.0), np.ones(3))
    assert "'SparseList'" in caught.value.hint


def test_a_write_has_no_protocol() -> None:
    def write(y, x):
        for i in _:
            y[walk(i)] += x[i]

    with pytest.raises(FormatError, match="protocols are ways of reading"):
        on("interpreter", write)(np.ones(3), np.ones(3))
