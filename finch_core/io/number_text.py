"""Conversion of the words of a text to numbers, vectorised over the words.

The digits of a word are read eight bytes at a time, from its end, so that words of all lengths take
the same few operations on arrays. Words that these do not cover (long mantissas, large exponents,
infinities, invalid numbers) are converted one by one. The result is the float nearest to the
decimal number, as Python's ``float`` gives it.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from finch_core.records import evolve, frozen

Array = np.ndarray[Any, np.dtype[Any]]

MARGIN = 32
"""Blanks before and after the bytes of a block: there are always 24 bytes before a word."""

LONGEST = 24
"""The most digits that are read by vectorised code; longer words are converted one by one."""

_WHOLE = re.compile(rb"[+-]?[0-9]+")
_FLOAT = re.compile(
    rb"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:inf|infinity|nan))"
)
_TENS = 10 ** np.arange(20, dtype=np.uint64)
_MOST_DIGITS = 19
"""Mantissas of up to this many digits fit in 64 bits."""

_EXACT_TENS = 27
"""Powers of ten up to this exponent are exact with a 64-bit mantissa (up to 22 with 53 bits)."""

_EXTENDED = np.finfo(np.longdouble).nmant == 63
_LONG_TENS = np.array([10**k for k in range(_EXACT_TENS + 1)], dtype=object).astype(np.longdouble)
_EXACT = 22
_FLOAT_TENS = 10.0 ** np.arange(_EXACT + 1)


class NotANumber(Exception):
    """A word is not a number of the dtype; ``position`` counts the given words."""

    def __init__(self, position: int, word: bytes) -> None:
        super().__init__(position, word)
        self.position, self.word = position, word


@frozen(eq=False)
class Words:
    """A block of text with the positions where words start and end, and those of decimal points,
    exponent letters and line ends."""

    data: Array
    starts: Array
    ends: Array
    points: Array
    exponents: Array
    lines: Array

    @classmethod
    def of(cls, block: bytes) -> Words:
        margin = b" " * MARGIN
        data = np.frombuffer(b"".join((margin, block, margin)), np.uint8)
        # one pass over all bytes finds those that are not digits, a fifth of most files
        places = ((data - np.uint8(48)) > 9).nonzero()[0]
        codes = data.take(places)
        # blanks: tab, line ends, form feed and space, but no other control character
        blanks = places.compress(((codes - np.uint8(9)) <= 4) | (codes == 32))
        apart = blanks[1:] - blanks[:-1] > 1
        return cls(
            data,
            blanks[:-1].compress(apart) + 1,
            blanks[1:].compress(apart),
            places.compress(codes == 46),
            places.compress((codes | np.uint8(32)) == 101),
            places.compress(codes == 10),
        )

    def column(self, start: int, step: int) -> Words:
        """Every ``step``-th word from ``start``."""
        starts = np.ascontiguousarray(self.starts[start::step])
        ends = np.ascontiguousarray(self.ends[start::step])
        return evolve(self, starts=starts, ends=ends)

    def word(self, k: int) -> bytes:
        return self.data[self.starts[k] : self.ends[k]].tobytes()

    def numbers(self, dtype: np.dtype[Any]) -> Array:
        """The words as numbers of ``dtype``: float64, int64 or uint64. Raises ``NotANumber``."""
        if dtype.kind == "f":
            values, sure = _floats(self)
        else:
            values, sure = _integers(self, dtype)
        for k in np.flatnonzero(~sure).tolist():
            values[k] = number(k, self.word(k), dtype)
        return values


def number(position: int, word: bytes, dtype: np.dtype[Any]) -> Any:
    """One word as a number of ``dtype``; raises ``NotANumber`` with its ``position``."""
    if dtype.kind == "f":
        if _FLOAT.fullmatch(word):
            return float(word)
        raise NotANumber(position, word)
    if _WHOLE.fullmatch(word):
        digits = word.lstrip(b"+-").lstrip(b"0") or b"0"
        value = int(digits[:LONGEST]) * (-1 if word.startswith(b"-") else 1)
        limits = np.iinfo(dtype)
        if len(digits) < LONGEST and limits.min <= value <= limits.max:
            return value
    raise NotANumber(position, word)


def _signs(words: Words) -> tuple[Array, Array]:
    """A mask of the words that begin with a minus sign, and where the digits of each start."""
    first = words.data[words.starts]
    negative = first == 45
    return negative, words.starts + (negative | (first == 43))


def _integers(words: Words, dtype: np.dtype[Any]) -> tuple[Array, Array]:
    """The numbers, and of which of them that is sure."""
    first = words.data[words.starts]
    if not ((first - np.uint8(48)) > 9).any():
        values, sure = _digits(words.data, words.starts, words.ends)
        return values.astype(dtype, copy=False), sure & (values <= np.iinfo(dtype).max)
    negative, starts = _signs(words)
    values, sure = _digits(words.data, starts, words.ends)
    sure &= starts < words.ends
    if dtype.kind == "u":
        return values, sure & ~negative
    sure &= values <= np.iinfo(dtype).max
    signed = values.view(np.int64)
    return np.where(negative, -signed, signed), sure


def _floats(words: Words) -> tuple[Array, Array]:
    """The numbers, and of which of them that is sure."""
    data, ends = words.data, words.ends
    negative, starts = _signs(words)
    exponent, once = _places(words, words.exponents, ends)
    dot, single = _places(words, words.points, exponent)
    sure = once & single & (dot <= exponent)
    whole, fine = _digits(data, starts, dot)
    sure &= fine
    after = np.minimum(dot + 1, exponent)
    part, fine = _digits(data, after, exponent)
    sure &= fine
    places = exponent - after
    sure &= (dot - starts) + places > 0
    # the digits before and after the point as one number of 64 bits
    places = np.minimum(places, _MOST_DIGITS)
    sure &= whole < _TENS[_MOST_DIGITS - places]
    mantissa = whole * _TENS[places] + part
    power = -places
    if (exponent < ends).any():
        given, fine = _exponents(data, exponent, ends)
        power += given
        sure &= fine
    values = _scaled(mantissa, power, sure)
    np.negative(values, out=values, where=negative)
    return values, sure


def _places(words: Words, places: Array, otherwise: Array) -> tuple[Array, Array]:
    """For each word the position in ``places`` that lies in it, or ``otherwise``; and a mask of the
    words with at most one."""
    once = np.ones(len(words.starts), bool)
    if len(places) == len(once) and ((places >= words.starts) & (places < words.ends)).all():
        return places, once
    found = otherwise.copy()
    if not len(places) or not len(once):
        return found, once
    word = np.searchsorted(words.ends, places, "right")
    # ignore marks in words of other columns
    ours = word < len(once)
    word, places = word[ours], places[ours]
    ours = places >= words.starts[word]
    word, places = word[ours], places[ours]
    found[word] = places
    once[word[1:][word[1:] == word[:-1]]] = False
    return found, once


def _exponents(data: Array, marks: Array, ends: Array) -> tuple[Array, Array]:
    """The exponents after ``marks``; 0 where the mark is at the end of the word."""
    there = marks < ends
    at = np.minimum(marks + 1, ends)
    first = data[at]
    negative = there & (first == 45)
    starts = np.where(there & (at < ends) & (negative | (first == 43)), at + 1, at)
    values, sure = _digits(data, starts, ends)
    sure &= ~there | (starts < ends)
    sure &= values < 10_000
    signed = np.where(sure, values, 0).astype(np.int64)
    return np.where(negative, -signed, signed), sure


def _scaled(mantissa: Array, power: Array, sure: Array) -> Array:
    """``mantissa * 10 ** power``, rounded once; clears ``sure`` where that is not certain."""
    size = np.abs(power)
    small = (mantissa < (1 << 53)) & (size <= _EXACT)
    if not _EXTENDED or small.all():
        sure &= small
        return _times_tens(mantissa.astype(np.float64), power, _FLOAT_TENS)
    sure &= size <= _EXACT_TENS
    exact = _times_tens(mantissa.astype(np.longdouble), power, _LONG_TENS)
    bits = exact.view(np.uint64)[::2]
    # rounded to 64 bits, then to 53: correct unless the second rounding is a tie
    tie = (bits & np.uint64(0x7FF)) == 0x400
    values = exact.astype(np.float64)
    if tie.any():
        sure &= small | ~tie
        tie &= small
        values[tie] = _times_tens(mantissa[tie].astype(np.float64), power[tie], _FLOAT_TENS)
    return values


def _times_tens(values: Array, power: Array, tens: Array) -> Array:
    size = np.minimum(np.abs(power), len(tens) - 1)
    down = power <= 0
    if down.all():
        values /= tens[size]
        return values
    return np.where(down, values / tens[size], values * tens[size])


def _digits(data: Array, starts: Array, ends: Array) -> tuple[Array, Array]:
    """The 64-bit numbers that the digits of words spell (0 for no digits), and a mask of the words
    that consist of digits only and do not overflow."""
    lengths = ends - starts
    longest = int(lengths.max(initial=0))
    values, amiss = _eight(data, ends, lengths)
    for read in (8, 16):
        if longest > read:
            more, wrong = _eight(data, ends - read, lengths - read)
            amiss |= wrong
            more *= np.uint64(10**read)
            values += more
    sure = amiss == 0
    if longest > _MOST_DIGITS:
        sure &= lengths <= _MOST_DIGITS
    return values, sure


def _eight(data: Array, ends: Array, lengths: Array) -> tuple[Array, Array]:
    """The numbers that the ``lengths`` (at most eight) digits before ``ends`` spell; and an array
    that is not 0 where one of these bytes is no digit."""
    eights = np.ndarray((len(data) - 7,), "V8", data, strides=(1,))
    found = eights[ends - 8].view("<u8").astype(np.uint64, copy=False)
    found ^= np.uint64(0x3030303030303030)
    # bytes before the digits become zeros (NumPy's shifts by 64 or more give 0)
    unused = 64 - 8 * lengths
    np.maximum(unused, 0, out=unused)
    unused = unused.view(np.uint64)
    found >>= unused
    found <<= unused
    amiss = found + np.uint64(0x7676767676767676)
    amiss |= found
    amiss &= np.uint64(0x8080808080808080)
    found *= np.uint64(2561)
    found >>= np.uint64(8)
    found &= np.uint64(0x00FF00FF00FF00FF)
    found *= np.uint64(6553601)
    found >>= np.uint64(16)
    found &= np.uint64(0x0000FFFF0000FFFF)
    found *= np.uint64(42949672960001)
    found >>= np.uint64(32)
    return found, amiss
