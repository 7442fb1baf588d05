from error_support import VECTOR, dense, refusal

from finch_core import FormatError, kernel


@kernel
def ones(y):
    y[...] = 1


def test_declared_not_fill():
    expected = """\
y is declared to 1, but its fill value is 0.0
  line 2
    y[...] = 1
    ^^^^^^^^^^
  hint: write y[...] = 0.0, or make the tensor with that fill value"""
    assert refusal(FormatError, ones, dense(VECTOR)) == expected


@kernel
def set_to(y, c):
    y[...] = 2 * c


def test_declared_to_what_is_known_at_run_time():
    expected = """\
y is declared to a run-time value, but its fill value is 0.0
  line 2
    y[...] = 2 * c
    ^^^^^^^^^^^^^^
  hint: write y[...] = 0.0, a number: a name stands for a value that is known at run time alone"""
    assert refusal(FormatError, set_to, dense(VECTOR), 2.0) == expected
