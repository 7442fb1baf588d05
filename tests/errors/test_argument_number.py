import numpy as np
import pytest
from error_support import refusal

from finch_core import FormatError, _, kernel


def add(y, c):
    for i in _:
        y[i] += c


SUM = kernel(add)


def test_argument_number():
    expected = """\
c is a longdouble, which a kernel does not take
  line 0
    def add(y, c):
               ^
  hint: pass a bool, an integer, or a number in half, single or double precision, float(x)"""
    assert refusal(FormatError, SUM, np.zeros(3), np.longdouble(1)) == expected


@pytest.mark.parametrize(
    "number",
    [np.longdouble(1), np.timedelta64(1), np.str_("a"), np.bytes_(b"a")],
)
def test_numbers_of_other_dtypes(number):
    assert f"c is a {type(number).__name__}, which" in refusal(
        FormatError, SUM, np.zeros(3), number
    )


def test_a_date_is_not_added_to_a_number():
    message = refusal(FormatError, SUM, np.zeros(3), np.datetime64(1, "s"))
    assert message.startswith("'+' is not defined on float64 and datetime64[s]\n")


@pytest.mark.parametrize("backend", ["interpreter", None])
@pytest.mark.parametrize("number", [2**63, 2**64 - 1, 2**64, -(2**63) - 1, 10**30])
def test_integers_of_more_than_64_bits(backend, number):
    run = kernel(backend=backend)(add)
    for _turn in range(2):
        message = refusal(FormatError, run, np.zeros(3), number)
        assert message.startswith(f"c is {number}, which does not fit in int64\n")
        assert message.endswith("hint: pass a float, or np.uint64(n) up to 2**64 - 1")
        run(np.zeros(3), 2**63 - 1)
    y = np.zeros(3)
    run(y, np.uint64(2**63))
    assert y.tolist() == [2.0**63] * 3
