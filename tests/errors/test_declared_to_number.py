from error_support import VECTOR, dense, refusal

from finch_core import FormatError, kernel


@kernel
def constant(y, c):
    y[...] = c


def test_declared_to_number():
    expected = """\
y is declared to a run-time value, but its fill value is 0.0
  line 2
    y[...] = c
    ^^^^^^^^^^
  hint: write y[...] = 0.0, a number: a name stands for a value that is known at run time alone"""
    assert refusal(FormatError, constant, dense(VECTOR), 0.0) == expected
