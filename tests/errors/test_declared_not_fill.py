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
