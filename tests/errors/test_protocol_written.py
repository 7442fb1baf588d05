from error_support import VECTOR, dense, refusal

from finch_core import FormatError, _, kernel, walk


@kernel
def write(y, x):
    for i in _:
        y[walk(i)] += x[i]


def test_protocol_written():
    expected = """\
y is written: protocols are ways of reading
  line 3
    y[walk(i)] += x[i]
    ^^^^^^^^^^
  hint: leave the protocol out on the left of an assignment"""
    assert refusal(FormatError, write, dense(VECTOR), VECTOR) == expected
