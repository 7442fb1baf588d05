"""Whole numbers as written, of any size: operators on them compute as Python's do.

Whether a number that 64 bits do not hold is allowed depends on where it stands: ``1 << 64`` is a
number among floats.
"""

from __future__ import annotations

import operator as py
from collections.abc import Callable, Sequence
from typing import Any

WIDE = 2**63
"""The first positive integer that an int64 does not hold."""
MOST_BITS = 1 << 13
"""Constants of more bits are not computed exactly."""
_PYTHON: dict[str, Callable[..., Any]] = {
    "add": py.add, "sub": py.sub, "mul": py.mul, "neg": py.neg, "floordiv": py.floordiv,
    "mod": py.mod, "pow": py.pow, "abs": abs, "min": min, "max": max, "lshift": py.lshift,
    "rshift": py.rshift, "bitand": py.and_, "bitor": py.or_, "bitxor": py.xor,
    "invert": py.invert, "and_value": lambda a, b: a and b, "or_value": lambda a, b: a or b,
    "ifelse": lambda condition, a, b: a if condition else b,
}  # fmt: skip
"""The operators by name, which compute exactly."""


def is_wide(number: int) -> bool:
    """Whether an int64 does not hold this number."""
    return not -WIDE <= number < WIDE


def is_too_long(op: str, numbers: Sequence[int]) -> bool:
    """Whether the result may have more bits than constants are computed of."""
    return op in _PYTHON and _bits(op, numbers) > MOST_BITS


def has_none(op: str, numbers: Sequence[int]) -> bool:
    """Whether this is a negative power, or a shift by a negative number, which are none."""
    return op in ("pow", "lshift", "rshift") and numbers[1] < 0


def computed(op: str, numbers: Sequence[int]) -> int | None:
    """The value of ``op`` in Python's arithmetic if it, or an operand, may not fit an int64; None
    for others, and where Python has no whole number."""
    bits = _bits(op, numbers) if op in _PYTHON else MOST_BITS + 1
    if bits > MOST_BITS or not (bits >= 63 or any(map(is_wide, numbers))):
        return None
    if has_none(op, numbers) or (op in ("floordiv", "mod") and not numbers[1]):
        return None
    return int(_PYTHON[op](*numbers))


def _bits(op: str, numbers: Sequence[int]) -> int:
    """A number of bits that the result does not exceed."""
    if op == "pow":
        return numbers[0].bit_length() * abs(numbers[1])
    if op == "lshift":
        return numbers[0].bit_length() + numbers[1] if numbers[0] else 0
    if op == "rshift":
        return numbers[0].bit_length()
    return sum(number.bit_length() for number in numbers)


__all__ = ["MOST_BITS", "WIDE", "computed", "has_none", "is_too_long", "is_wide"]
