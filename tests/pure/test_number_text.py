"""Words are read as Python reads them, or refused."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

from finch_core.io.number_text import NotANumber, Words

FLOAT, INT, UNSIGNED = np.dtype(np.float64), np.dtype(np.int64), np.dtype(np.uint64)
RNG = np.random.default_rng(5)
BITS = np.frombuffer(RNG.bytes(8 * 5000), np.float64)


def numbers(texts: list[str], dtype: np.dtype[Any]) -> np.ndarray:
    return Words.of("\n".join(texts).encode()).numbers(dtype)


def spelled(rng: random.Random) -> str:
    digits = "".join(rng.choices("0123456789", k=rng.choice([1, 2, 7, 8, 9, 16, 17, 19, 20, 23])))
    place = rng.randrange(len(digits) + 1)
    text = rng.choice(["", "-", "+"]) + digits[:place] + rng.choice(["", "."]) + digits[place:]
    if rng.random() < 0.4:
        text += rng.choice("eE") + rng.choice(["", "-", "+"])
        text += str(rng.choice([0, 1, 5, 20, 22, 23, 27, 28, 100, 308, 400, 99999]))
    return text


FLOATS = {
    "shortest": [repr(x) for x in RNG.random(5000).tolist()],
    "of any bits": [repr(x) for x in BITS.tolist()],
    "scientific": [f"{x:.16e}" for x in (RNG.random(5000) * 10.0 ** RNG.integers(-20, 20, 5000))],
    "fixed": [f"{x:.3f}" for x in RNG.standard_normal(5000) * 1000],
    "of all spellings": [spelled(random.Random(k)) for k in range(5000)],
    "halfway between two": [str(2**53 + k) for k in range(9)] + [str(2**54 + k) for k in range(9)],
    "ends": ["0", "-0", "-0.0e9", "inf", "-Infinity", "nan", "1e999", "5e-324", "2e-324", "1." * 1],
    "nothing": [],
}


@pytest.mark.parametrize("kind", FLOATS)
def test_floats_are_the_nearest(kind: str) -> None:
    expected = np.array([float(text) for text in FLOATS[kind]])
    found = numbers(FLOATS[kind], FLOAT)
    numeric = expected == expected
    assert np.array_equal(found[numeric].view(np.uint64), expected[numeric].view(np.uint64))
    assert np.isnan(found[~numeric]).all()


@pytest.mark.parametrize("dtype", [INT, UNSIGNED], ids=str)
def test_whole_numbers_are_exact(dtype: np.dtype[Any]) -> None:
    limits = np.iinfo(dtype)
    drawn = RNG.integers(limits.min, limits.max, 5000, dtype) >> RNG.integers(0, 63, 5000).astype(
        dtype
    )
    expected = [*drawn.tolist(), limits.min, limits.max, 0]
    assert numbers([str(n) for n in expected], dtype).tolist() == expected
    assert numbers(["+7", "0" * 40 + "9"], dtype).tolist() == [7, 9]


NO_FLOATS = (
    "1_0 0x10 1e e5 . - + 1..2 1e5e5 1e5.0 1\x00 --1 1- 1e+ 1e- .e5 1: 1/ -. 1e--5 infx 1+5 1e5+ "
    "in 1,5 \x1c1 1d5 '1' 9999999999999999999999x 1.00000000000000000000000000000x"
).split(" ")
NO_INTEGERS = (
    "1.5 1e3 nan + - 0x1 1_0 9223372036854775808 -9223372036854775809 " + "9" * 30
).split()


@pytest.mark.parametrize(
    ("word", "dtype"),
    [(word, FLOAT) for word in NO_FLOATS]
    + [(word, INT) for word in NO_INTEGERS]
    + [(word, UNSIGNED) for word in ("-1", "18446744073709551616", "1.0")],
)
def test_a_word_that_is_no_number_is_named(word: str, dtype: np.dtype[Any]) -> None:
    with pytest.raises(NotANumber) as error:
        numbers(["1", word, "2"], dtype)
    assert (error.value.position, error.value.word) == (1, word.encode())


def test_a_byte_beyond_ascii_is_no_digit_and_no_blank() -> None:
    for byte in (*range(9), *range(14, 32), *range(127, 256)):
        with pytest.raises(NotANumber):
            Words.of(b"1" + bytes([byte]) + b"2").numbers(FLOAT)
