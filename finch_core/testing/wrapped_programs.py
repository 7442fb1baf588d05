"""The kernels of the wrapper suite: their results depend on the position of each element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from finch_core.frontend.functions import _, follow, gallop, walk
from finch_core.ir.missing import coalesce

Function = Callable[..., Any]
OUTSIDE = 7
"""The value read out of bounds (written as 7 in the kernels below)."""


def weigh_1(s: Any, a: Any, i0: Any, i1: Any) -> Any:
    """The sum of a vector's elements, each multiplied by a number that depends on its index."""
    s[...] = 0
    for i in range(i0, i1):
        s[()] += coalesce(a[i], 7) * np.int64((i * 7919) ^ 5)
    return s


def weigh_2(s: Any, a: Any, i0: Any, i1: Any, j0: Any, j1: Any) -> Any:
    """``weigh_1`` of a matrix."""
    s[...] = 0
    for i in range(i0, i1):
        for j in range(j0, j1):
            s[()] += coalesce(a[i, j], 7) * np.int64((i * 7919) ^ (j * 104729))
    return s


def weigh_3(s: Any, a: Any, i0: Any, i1: Any, j0: Any, j1: Any, k0: Any, k1: Any) -> Any:
    """``weigh_1`` of three dimensions."""
    s[...] = 0
    for i in range(i0, i1):
        for j in range(j0, j1):
            for k in range(k0, k1):
                s[()] += coalesce(a[i, j, k], 7) * np.int64(
                    (i * 7919) ^ (j * 104729) ^ (k * 1299709)
                )
    return s


def weigh_4(
    s: Any, a: Any, i0: Any, i1: Any, j0: Any, j1: Any, k0: Any, k1: Any, l0: Any, l1: Any
) -> Any:
    """``weigh_1`` of four dimensions."""
    s[...] = 0
    for i in range(i0, i1):
        for j in range(j0, j1):
            for k in range(k0, k1):
                for m in range(l0, l1):
                    s[()] += coalesce(a[i, j, k, m], 7) * np.int64(
                        (i * 7919) ^ (j * 104729) ^ (k * 1299709) ^ (m * 15485863)
                    )
    return s


def weigh_all_1(s: Any, a: Any) -> Any:
    """``weigh_1`` over the vector's own extent."""
    s[...] = 0
    for i in _:
        s[()] += coalesce(a[i], 7) * np.int64((i * 7919) ^ 5)
    return s


def weigh_all_2(s: Any, a: Any) -> Any:
    """``weigh_2`` over the matrix's own extents."""
    s[...] = 0
    for i, j in _:
        s[()] += coalesce(a[i, j], 7) * np.int64((i * 7919) ^ (j * 104729))
    return s


def add_1(a: Any, i0: Any, i1: Any) -> Any:
    """Add to each element a number that tells its place."""
    for i in range(i0, i1):
        a[i] += (i * 7919) ^ 5
    return a


def add_2(a: Any, i0: Any, i1: Any, j0: Any, j1: Any) -> Any:
    """``add_1`` of a matrix."""
    for i in range(i0, i1):
        for j in range(j0, j1):
            a[i, j] += (i * 7919) ^ (j * 104729)
    return a


def add_3(a: Any, i0: Any, i1: Any, j0: Any, j1: Any, k0: Any, k1: Any) -> Any:
    """``add_1`` of three dimensions."""
    for i in range(i0, i1):
        for j in range(j0, j1):
            for k in range(k0, k1):
                a[i, j, k] += (i * 7919) ^ (j * 104729) ^ (k * 1299709)
    return a


def make_1(a: Any, i0: Any, i1: Any) -> Any:
    """Declare a vector, and give each element a number that tells its place."""
    a[...] = 0
    for i in range(i0, i1):
        a[i] += (i * 7919) ^ 5
    return a


def make_2(a: Any, i0: Any, i1: Any, j0: Any, j1: Any) -> Any:
    """``make_1`` of a matrix."""
    a[...] = 0
    for i in range(i0, i1):
        for j in range(j0, j1):
            a[i, j] += (i * 7919) ^ (j * 104729)
    return a


def make_3(a: Any, i0: Any, i1: Any, j0: Any, j1: Any, k0: Any, k1: Any) -> Any:
    """``make_1`` of three dimensions."""
    a[...] = 0
    for i in range(i0, i1):
        for j in range(j0, j1):
            for k in range(k0, k1):
                a[i, j, k] += (i * 7919) ^ (j * 104729) ^ (k * 1299709)
    return a


def beside_1(s: Any, a: Any, b: Any, i0: Any, i1: Any) -> Any:
    """The sum of products and of sums of two vectors' elements."""
    s[...] = 0
    for i in range(i0, i1):
        s[()] += (coalesce(a[i], 7) * b[i] + coalesce(a[i], 7) + b[i]) * ((i * 7919) ^ 5)
    return s


def beside_2(s: Any, a: Any, b: Any, i0: Any, i1: Any, j0: Any, j1: Any) -> Any:
    """``beside_1`` of matrices."""
    s[...] = 0
    for i in range(i0, i1):
        for j in range(j0, j1):
            s[()] += (coalesce(a[i, j], 7) * b[i, j] + coalesce(a[i, j], 7) + b[i, j]) * (
                (i * 7919) ^ (j * 104729)
            )
    return s


def walked(s: Any, a: Any, b: Any, i0: Any, i1: Any) -> Any:
    """An inner product, read by ``walk``."""
    s[...] = 0
    for i in range(i0, i1):
        s[()] += coalesce(a[walk(i)], 7) * b[i]
    return s


def galloped(s: Any, a: Any, b: Any, i0: Any, i1: Any) -> Any:
    """An inner product, read by ``gallop``."""
    s[...] = 0
    for i in range(i0, i1):
        s[()] += coalesce(a[gallop(i)], 7) * b[i]
    return s


def followed(s: Any, a: Any, b: Any, i0: Any, i1: Any) -> Any:
    """An inner product, read by ``follow``."""
    s[...] = 0
    for i in range(i0, i1):
        s[()] += coalesce(a[follow(i)], 7) * b[i]
    return s


def sizes_1(y: Any, x: Any) -> None:
    """The size of a vector."""
    y[0] = x.shape[0]


def sizes_2(y: Any, x: Any) -> None:
    """The sizes of a matrix."""
    y[0] = x.shape[0]
    y[1] = x.shape[1]


def sizes_3(y: Any, x: Any) -> None:
    """The sizes of a tensor of three dimensions."""
    y[0] = x.shape[0]
    y[1] = x.shape[1]
    y[2] = x.shape[2]


BY_PROTOCOL: dict[str, Function] = {"walk": walked, "gallop": galloped, "follow": followed}
WEIGH: dict[int, Function] = {1: weigh_1, 2: weigh_2, 3: weigh_3, 4: weigh_4}
WEIGH_ALL: dict[int, Function] = {1: weigh_all_1, 2: weigh_all_2}
SIZES: dict[int, Callable[[Any, Any], None]] = {1: sizes_1, 2: sizes_2, 3: sizes_3}
ADD: dict[int, Function] = {1: add_1, 2: add_2, 3: add_3}
MAKE: dict[int, Function] = {1: make_1, 2: make_2, 3: make_3}
BESIDE: dict[int, Function] = {1: beside_1, 2: beside_2}
PRIMES = (7919, 104729, 1299709, 15485863)


def weight(index: tuple[int, ...]) -> int:
    """The number that tells a place."""
    found = 5 if len(index) == 1 else 0
    for i, prime in zip(index, PRIMES, strict=False):
        found ^= i * prime
    return found
