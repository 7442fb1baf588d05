"""Sums that scatter over few elements, in private copies: turns spelt out in rounds of eight."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from finch_core import Tensor, _, kernel
from finch_levels import Dense, Element, Pattern, SparseRunList
from finch_wrappers import window

RNG = np.random.default_rng(3)


@kernel
def counted(bins, image, mask):
    bins[...] = 0
    for y, x in _:
        if mask[y, x]:
            bins[image[y, x] // np.uint8(16)] += 1


@kernel
def weighed(bins, image, mask):
    bins[...] = 0
    for y, x in _:
        bins[image[y, x] // np.uint8(16)] += mask[y, x]


@kernel
def in_range(bins, image, first, last):
    bins[...] = 0
    for y in _:
        for x in range(first, last):
            bins[image[y, x] // np.uint8(16)] += 1


@kernel
def both(bins, others, image):
    bins[...] = 0
    others[...] = 0
    for y, x in _:
        bins[image[y, x] // np.uint8(16)] += 1
        others[image[y, x] % np.uint8(8)] += image[y, x]


def check(program: Any, outputs: int, *args: Any) -> None:
    """C, the interpreter and plain NumPy agree."""
    found = []
    for made in (program, kernel(backend="interpreter")(program.__wrapped__)):
        bins = [np.zeros(16, np.int64) for _k in range(outputs)]
        made(*bins, *args)
        found.append(bins)
    plain = program.reference(*(np.zeros(16, np.int64) for _k in range(outputs)), *args)
    found.append([plain[name] for name in program.program.params[:outputs]])
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)


@pytest.mark.parametrize("width", [0, 1, 8, 9, 31, 32, 33, 63])
def test_rows_of_any_length(width: int) -> None:
    image = RNG.integers(0, 256, (20, width)).astype(np.uint8)
    mask = RNG.integers(0, 2, (20, width)).astype(np.uint8)
    check(counted, 1, image, mask)
    check(weighed, 1, image, mask)
    check(both, 2, image)
    assert "unroll 8" in both.lower(np.zeros(16, int), np.zeros(16, int), image).as_text("source")


@pytest.mark.parametrize(("first", "last"), [(0, 50), (3, 3), (5, 2), (1, 9), (9, 50)])
def test_ranges_that_begin_anywhere(first: int, last: int) -> None:
    check(in_range, 1, RNG.integers(0, 256, (20, 50)).astype(np.uint8), first, last)


def test_runs_and_windows() -> None:
    image = RNG.integers(0, 256, (20, 50)).astype(np.uint8)
    mask = np.repeat(RNG.integers(0, 2, (20, 10)), 5, axis=1).astype(bool)
    check(counted, 1, image, Tensor(Dense(SparseRunList(Pattern())), mask))
    seen = window(Tensor(Dense(Dense(Element(np.uint8(0)))), image), None, (3, 40))
    bins = np.zeros(16, np.int64)
    inside = np.ascontiguousarray(mask[:, 3:40])
    counted(bins, seen, inside)
    counts = np.bincount(image[:, 3:40][inside] // 16, minlength=16)
    np.testing.assert_array_equal(bins, counts)


@kernel
def weighed_twice(bins, image, mask):
    bins[...] = 0
    for y, x in _:
        bins[image[y, x] // np.uint8(16)] += mask[y, x] * image[y, x]


@kernel
def positive(bins, image, mask):
    bins[...] = 0
    for y, x in _:
        if mask[y, x] > 0:
            bins[image[y, x] // np.uint8(16)] += image[y, x]


@kernel
def by_columns(bins, image, mask):
    bins[...] = 0
    for y, x in _:
        bins[image[y, x] // np.uint8(16)] += mask[x, y]


@kernel
def otherwise(bins, image, mask):
    bins[...] = 0
    for y, x in _:
        if mask[y, x]:
            bins[image[y, x] // np.uint8(16)] += 1
        else:
            bins[image[y, x] % np.uint8(16)] += 2


@kernel
def nonzero_or_small(bins, image, mask):
    bins[...] = 0
    for y, x in _:
        if mask[y, x] == 0:
            bins[image[y, x] // np.uint8(16)] += 1


def goes_by_words(program: Any, image: Any, mask: Any) -> bool:
    lowered = program.lower(np.zeros(16, np.int64), image, mask)
    return "memcpy(&word" in lowered.as_text("source")


@pytest.mark.parametrize("dtype", [bool, np.uint8, np.int8])
@pytest.mark.parametrize("program", [counted, weighed, weighed_twice, positive])
def test_rounds_of_which_no_byte_of_the_mask_is_set_are_left_out(program: Any, dtype: Any) -> None:
    image = RNG.integers(0, 256, (20, 67)).astype(np.uint8)
    values = np.array([0, 1] if dtype is bool else [0, 1, 2, 100], dtype)
    if dtype is np.int8:
        values = np.array([0, -1, -128, 127], dtype)
    for share in (0, 0.02, 0.2, 1):
        mask = RNG.choice(values, (20, 67)) * (RNG.random((20, 67)) < share)
        check(program, 1, image, mask.astype(dtype))
        mask[...] = 0
        mask.flat[RNG.integers(mask.size)] = values[-1]  # one byte of a word, whichever
        check(program, 1, image, mask.astype(dtype))
    assert goes_by_words(program, image, mask.astype(dtype))


def test_views_of_masks_are_read_where_they_are() -> None:
    image = RNG.integers(0, 256, (20, 50)).astype(np.uint8)
    wide = (RNG.random((20, 53)) < 0.1).astype(np.uint8)
    view = window(Tensor(Dense(Dense(Element(np.uint8(0)))), wide), None, (3, 53))
    for program in (counted, weighed):
        bins, wanted = np.zeros(16, np.int64), np.zeros(16, np.int64)
        program(bins, image, view)
        program(wanted, image, np.ascontiguousarray(wide[:, 3:]))
        np.testing.assert_array_equal(bins, wanted)
        assert goes_by_words(program, image, view)


@pytest.mark.parametrize(
    ("program", "dtype"),
    [(by_columns, np.uint8), (otherwise, np.uint8), (nonzero_or_small, np.uint8),
     (counted, np.int16), (weighed, np.int64)],
)  # fmt: skip
def test_other_turns_are_all_made(program: Any, dtype: Any) -> None:
    image = RNG.integers(0, 256, (40, 40)).astype(np.uint8)
    mask = (RNG.random((40, 40)) < 0.1).astype(dtype)
    check(program, 1, image, mask)
    assert not goes_by_words(program, image, mask)


BESIDE = {
    "out[x] *= mask[x]": False, "out[x] &= mask[x]": False, "out[x] |= mask[x]": False,
    "out[x] -= mask[x]": False, "out[x] = min(out[x], mask[x])": False,
    "out[x] = max(out[x], mask[x])": False, "out[x] = mask[x] - out[x]": False,
    "out[x] = 7": False, "out[x] = image[x]": False, "out[x] = mask[x]": False,
    "out[x] = 3 - mask[x]": False, "out[x] = mask[x] == 0": False,
    "out[x] = mask[x] * image[x]": False, "mask[x] = 1": False, "out[image[x]] *= mask[x]": False,
    "out[image[x]] = min(out[image[x]], mask[x])": False, "out[image[x]] += 1": False,
    "out[image[x]] += 2 * mask[x]": True, "out[x] += mask[x]": True,
    "out[image[x]] += mask[x] + 1": False, "out[image[x]] += mask[x] - 1": False,
    "t = mask[x]; out[x] += 3 * t": True, "t = mask[x] + 1; out[x] += t": False,
}  # fmt: skip
"""Statements beside a histogram under a mask, and whether they do nothing where the mask is off."""


@pytest.mark.parametrize("statement", BESIDE)
@pytest.mark.parametrize("dtype", [np.int64, np.int16, np.float64])
@pytest.mark.parametrize("first", [False, True])
def test_what_stands_beside_a_histogram_is_done_in_each_turn(
    statement: str, dtype: Any, first: bool, tmp_path: Path
) -> None:
    lines = ["bins[image[x]] += mask[x]", *statement.split("; ")]
    body = "\n        ".join(lines[1:] + lines[:1] if first else lines)
    path = tmp_path / "beside.py"
    path.write_text(f"def beside(bins, image, mask, out):\n    for x in _:\n        {body}\n")
    names: dict[str, Any] = {"_": _}
    exec(compile(path.read_text(), str(path), "exec"), names)
    if dtype is np.float64 and statement[7] in "&|":  # which floats have not
        dtype = np.int32
    image = RNG.integers(0, 256, 400).astype(np.uint8)
    mask = (RNG.random(400) < 0.01).astype(np.uint8)
    found = []
    for backend in ("c", "interpreter"):
        run = kernel(backend=backend)(names["beside"])
        bins, own, out = np.zeros(256, np.int64), mask.copy(), np.arange(400).astype(dtype)
        run(bins, image, own, out)
        found.append((bins, own, out))
    bins, own, out = np.zeros(256, np.int64), mask.copy(), np.arange(400).astype(dtype)
    plain = run.reference(bins, image, own, out)
    found.append((plain["bins"], plain.get("mask", own), plain.get("out", out)))
    for other in found[1:]:
        for one, same in zip(found[0], other, strict=True):
            np.testing.assert_array_equal(one, same)
    lowered = kernel(names["beside"]).lower(bins, image, own, out)
    words = BESIDE[statement] and dtype is not np.float64
    assert ("memcpy(&word" in lowered.as_text("source")) == words
