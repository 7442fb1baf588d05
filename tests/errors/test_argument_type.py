import datetime
from array import array
from decimal import Decimal

import numpy as np
import pytest
from error_support import refusal

from finch_core import FormatError, _, kernel


@kernel
def add(y, x):
    for i in _:
        y[i] += x[i]


def test_argument_type():
    expected = """\
x is a str, which a kernel does not take
  line 1
    def add(y, x):
               ^
  hint: let a number stand for it, or pass np.frombuffer(x.encode(), np.uint8)"""
    assert refusal(FormatError, add, np.zeros(4), "text") == expected


ANY = "pass a Tensor, a NumPy array, a SciPy sparse array or a number"
TOLD = {
    "a bytes": (b"text", "pass an array of its bytes, np.frombuffer(x, np.uint8)"),
    "a list": ([1, 2, 3, 4], "pass an array, np.asarray(x)"),
    "a tuple": (
        (1, 2),
        "pass each number as an argument of its own, or an array, np.asarray(x)",
    ),
    "an array.array": (array("d", [1.0, 2.0]), "pass an array, np.asarray(x)"),
    "a memoryview": (memoryview(b"text"), "pass an array, np.asarray(x)"),
    "a set": ({1, 2}, "pass an array, np.array(list(x))"),
    "a dict": ({"a": 1}, "pass its numbers, each as an argument of its own"),
    "a Decimal": (Decimal(1), "pass a number, float(x)"),
    "a datetime.date": (datetime.date(2000, 1, 1), ANY),
    "None": (None, ANY),
}


@pytest.mark.parametrize("kind", TOLD)
def test_what_to_pass_is_told(kind):
    value, hint = TOLD[kind]
    message = refusal(FormatError, add, np.zeros(4), value)
    assert message.startswith(f"x is {kind}, which a kernel does not take\n")
    assert message.endswith(f"hint: {hint}")
