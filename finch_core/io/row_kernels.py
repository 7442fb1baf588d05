"""Kernels that read and write the lines of a text of numbers, and the tables that they look up.

The first reads what is surely well-formed, and stops at anything else: ``row_reader`` then leaves
the block to ``text_tables``, which names the mistake or finds that there is none. Decimal numbers
become the nearest double by the product of their digits with 128 bits of a power of five (Eisel and
Lemire), doubles the shortest decimal number that is read back as the same (Schubfach, Giulietti).
"""

# a kernel's names have the dtype to which all their values promote, and its parameters any
# mypy: disable-error-code="no-untyped-def, assignment"

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from finch_core.frontend.functions import _
from finch_core.runtime.kernel import kernel

Array = np.ndarray[Any, np.dtype[Any]]

LEAST, MOST = -300, 330
"""The powers of ten in the table."""

TENS = np.array([10**k for k in range(20)], np.uint64)


@cache
def powers(above: bool) -> Array:
    """The powers of ten as 128 bits, the first of which is set, in two words: the upper, the lower.

    They are rounded up (``above``), or else down where the power is at least 1.
    """
    words = np.empty((2, MOST - LEAST + 1), np.uint64)
    for k, power in enumerate(range(LEAST, MOST + 1)):
        five = 5 ** abs(power)
        length = five.bit_length()
        if power < 0:
            bits = -(-(1 << (length + 127)) // five)
        else:
            bits = five << (128 - length) if length <= 128 else five >> (length - 128)
            bits += above and length > 128
        words[:, k] = bits >> 64, bits & (2**64 - 1)
    return words


# -- words of 64 bits -----------------------------------------------------------------------


def _lower(a: Any) -> Any:
    return a & np.uint64(0xFFFFFFFF)


def _upper(a: Any) -> Any:
    return a >> np.uint64(32)


def _middle(a: Any, b: Any) -> Any:
    return _upper(a) * _lower(b) + _upper(_lower(a) * _lower(b))


def _upper_product(a: Any, b: Any) -> Any:
    """The upper 64 bits of a product of two words."""
    return (
        _upper(a) * _upper(b)
        + _upper(_middle(a, b))
        + _upper(_lower(a) * _upper(b) + _lower(_middle(a, b)))
    )


def _lower_word(high: Any, low: Any, x: Any) -> Any:
    """The middle 64 bits of the product of ``x`` and a power of 128 bits."""
    return high * x + _upper_product(low, x)


def _upper_word(high: Any, low: Any, x: Any) -> Any:
    """The upper 64 bits of that product, the last of which is set if the rest is not 0 or 1."""
    return (_upper_product(high, x) + np.uint64(_lower_word(high, low, x) < high * x)) | np.uint64(
        _lower_word(high, low, x) > 1
    )


# -- reading --------------------------------------------------------------------------------


@kernel
def read_rows(text, sizes, length, indices, mantissas, exponents, signs, found):
    """Read lines of ``sizes[0]`` indices and ``sizes[1]`` values, the first ``sizes[2]`` of which
    are integers, from the first bytes of ``text``, the last of which is a line end.

    A value is ``(-1) ** signs * mantissas * 10.0 ** exponents``. ``found`` is the number of lines,
    and whether all of the text was surely read.
    """
    order = sizes[0]
    width = sizes[1]
    whole = sizes[2]
    p = 0
    row = 0
    sure = 1
    while p < length[()]:
        c = text[p]
        while c == 32 or c == 9 or c == 13:
            p += 1
            c = text[p]
        if c == 10:
            p += 1
            continue
        for k in range(order):
            while c == 32 or c == 9:
                p += 1
                c = text[p]
            first = p
            index = np.int64(0)
            while c - np.uint8(48) <= 9:
                index = 10 * index + (c - np.uint8(48))
                p += 1
                c = text[p]
            if p == first or p > first + 18 or (c != 32 and c != 9 and k + 1 < order + width):
                sure = 0
            indices[k, row] = index
        for k in range(width):
            while c == 32 or c == 9:
                p += 1
                c = text[p]
            signs[k, row] = c == 45
            p += np.int64(c == 45) + np.int64(c == 43)  # no branch, which would be mispredicted
            c = text[p]
            first = p
            mantissa = np.uint64(0)
            exponent = np.int64(0)
            while c - np.uint8(48) <= 9:
                mantissa = np.uint64(10) * mantissa + np.uint64(c - np.uint8(48))
                p += 1
                c = text[p]
            digits = p - first
            if k < whole:
                if digits > 18:
                    sure = 0
            else:
                if c == 46:
                    point = p + 1
                    p = point
                    c = text[p]
                    while c - np.uint8(48) <= 9:
                        mantissa = np.uint64(10) * mantissa + np.uint64(c - np.uint8(48))
                        p += 1
                        c = text[p]
                    exponent = point - p
                    digits = digits - exponent
                if digits > 19:
                    while text[first] == 48 or text[first] == 46:
                        digits -= text[first] == 48
                        first += 1
                    if digits > 19:
                        sure = 0
                    digits = 1
                if c == 101 or c == 69:
                    p += 1
                    c = text[p]
                    down = c == 45
                    if c == 45 or c == 43:
                        p += 1
                        c = text[p]
                    first = p
                    given = np.int64(0)
                    while c - np.uint8(48) <= 9:
                        given = 10 * given + (c - np.uint8(48))
                        p += 1
                        c = text[p]
                    if p == first or p > first + 4:
                        sure = 0
                    exponent += -given if down else given
            if digits < 1 or (c != 32 and c != 9 and k + 1 < width):
                sure = 0
            mantissas[k, row] = mantissa
            exponents[k, row] = exponent
        while c == 32 or c == 9 or c == 13:
            p += 1
            c = text[p]
        if c != 10:
            sure = 0
        if sure == 0:
            break
        p += 1
        row += 1
    found[0] = row
    found[1] = sure


@kernel
def nearest(bits, mantissas, exponents, signs, power, count, found):
    """The bits of the doubles nearest to the first ``count`` decimal numbers; ``found`` is cleared
    where one is not sure: beyond the normal doubles, or on a tie that more bits would decide."""
    for i in range(count[()]):
        digits = mantissas[i]
        exponent = exponents[i]
        sign = np.uint64(signs[i]) << np.uint64(63)
        if digits == 0:
            bits[i] = sign
        elif exponent < LEAST or exponent > MOST:
            found[()] = 0
        else:
            # the number of bits: those at and below the first one that is set
            ones = digits | (digits >> np.uint64(1))
            ones = ones | (ones >> np.uint64(2))
            ones = ones | (ones >> np.uint64(4))
            ones = ones | (ones >> np.uint64(8))
            ones = ones | (ones >> np.uint64(16))
            ones = ones | (ones >> np.uint64(32))
            length = np.int64(np.bitwise_count(ones))
            digits = digits << np.uint64(64 - length)
            upper = _upper_product(digits, power[0, exponent - LEAST])
            lower = digits * power[0, exponent - LEAST]
            if (upper & np.uint64(0x1FF)) == 0x1FF:
                more = _upper_product(digits, power[1, exponent - LEAST])
                lower = lower + more
                upper = upper + np.uint64(lower < more)
                if lower == 0xFFFFFFFFFFFFFFFF and (exponent < -27 or exponent > 55):
                    found[()] = 0
            top = upper >> np.uint64(63)
            shift = np.uint64(9) + top
            double = upper >> shift
            tie = lower <= 1 and exponent >= -4 and exponent <= 23
            if tie and (double & np.uint64(3)) == 1 and (double << shift) == upper:
                double = double - np.uint64(1)
            double = (double + (double & np.uint64(1))) >> np.uint64(1)
            scale = ((217706 * exponent) >> 16) + 1086 - 64 + length + np.int64(top)
            if (double >> np.uint64(53)) > 0:
                double = double >> np.uint64(1)
                scale += 1
            if scale < 1 or scale > 2046:
                found[()] = 0
            double = double & np.uint64(0xFFFFFFFFFFFFF)
            bits[i] = sign | double | (np.uint64(scale) << np.uint64(52))


# -- writing --------------------------------------------------------------------------------


@kernel
def shortest(digits, exponents, bits, power):
    """The shortest decimal numbers ``digits * 10.0 ** exponents``, without zeros at their end, that
    are nearest to the finite doubles of these bits, without their signs."""
    for i in _:
        fraction = bits[i] & np.uint64(0xFFFFFFFFFFFFF)
        scale = np.int64((bits[i] >> np.uint64(52)) & np.uint64(0x7FF))
        closer = np.int64(fraction == 0 and scale > 1)
        number = fraction | (np.uint64(scale > 0) << np.uint64(52))
        two = (scale if scale > 0 else 1) - 1075
        found = np.uint64(0)
        ten = np.int64(0)
        exact = two <= 0 and two > -53
        if exact and ((number >> np.uint64(-two)) << np.uint64(-two)) == number:
            found = number >> np.uint64(-two)
        elif number > 0:
            ten = (two * 1262611 - closer * 524031) >> 22
            shift = np.uint64(two + ((-ten * 1741647) >> 19) + 1)
            high = power[0, -ten - LEAST]
            low = power[1, -ten - LEAST]
            left = ((number << np.uint64(2)) - np.uint64(2) + np.uint64(closer)) << shift
            right = ((number << np.uint64(2)) + np.uint64(2)) << shift
            lower = _upper_word(high, low, left) + (number & np.uint64(1))
            middle = _upper_word(high, low, (number << np.uint64(2)) << shift)
            upper = _upper_word(high, low, right) - (number & np.uint64(1))
            found = middle >> np.uint64(2)
            fewer = found // np.uint64(10)
            below = lower <= np.uint64(40) * fewer
            above = np.uint64(40) * fewer + np.uint64(40) <= upper
            if found >= 10 and below != above:
                found, ten = fewer + np.uint64(above), ten + 1
            else:
                below = lower <= np.uint64(4) * found
                above = np.uint64(4) * found + np.uint64(4) <= upper
                nearer = middle + (found & np.uint64(1)) > np.uint64(4) * found + np.uint64(2)
                found = found + np.uint64(above if below != above else nearer)
        while found > 0 and found % np.uint64(10) == 0:
            found = found // np.uint64(10)
            ten += 1
        digits[i] = found
        exponents[i] = ten


@kernel
def write_rows(text, sizes, indices, digits, exponents, signs, tens, found):
    """Write lines of ``sizes[0]`` indices, counted from 1, and ``sizes[1]`` values, the first
    ``sizes[2]`` of which are integers, as Python writes them. ``found`` is the length."""
    order = sizes[0]
    width = sizes[1]
    whole = sizes[2]
    p = 0
    for row in range(indices.shape[1]):
        for k in range(order + width):
            if k > 0:
                text[p] = 32
                p += 1
            number = np.uint64(0)
            ten = np.int64(0)
            part = k
            if k < order:
                number = np.uint64(indices[part, row] + 1)
            else:
                part -= order
                number = digits[part, row]
                ten = exponents[part, row]
                if signs[part, row] != 0:
                    text[p] = 45
                    p += 1
            length = np.int64(1)
            if number >= tens[10]:
                length = 20
                while number < tens[length - 1]:
                    length -= 1
            else:
                while number >= tens[length]:
                    length += 1
            point = length
            if k >= order + whole:
                point = length + ten
                if point > 16 or point < -3:
                    point = 1
                if point < 1:
                    text[p] = 48
                    text[p + 1] = 46
                    for z in range(-point):
                        text[p + 2 + z] = 48
                    p += 2 - point
            split = length > point and point > 0
            stop = p + length
            last = stop
            if split:
                last = stop + 1
            q = last
            while q > p:
                q -= 1
                if split and q == p + point:
                    text[q] = 46
                else:
                    text[q] = np.uint8(number % np.uint64(10) + np.uint64(48))
                    number = number // np.uint64(10)
            p = last
            if k >= order + whole:
                if length + ten > 16 or length + ten < -3:
                    power = length + ten - 1
                    text[p] = 101
                    text[p + 1] = 43
                    if power < 0:
                        text[p + 1] = 45
                        power = -power
                    p += 2
                    if power > 99:
                        text[p] = np.uint8(48 + power // 100)
                        p += 1
                    text[p] = np.uint8(48 + power // 10 % 10)
                    text[p + 1] = np.uint8(48 + power % 10)
                    p += 2
                elif point >= length:
                    for z in range(point - length):
                        text[p + z] = 48
                    p += point - length
                    text[p] = 46
                    text[p + 1] = 48
                    p += 2
        text[p] = 10
        p += 1
    found[()] = p
