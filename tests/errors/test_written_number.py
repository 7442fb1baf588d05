from error_support import VECTOR, refusal

from finch_core import KernelSyntaxError, _, kernel


@kernel
def add(y, x):
    for i in _:
        y[()] += x[i]


def test_written_number():
    expected = """\
y is written, and a number was passed
  line 1
    def add(y, x):
            ^
  hint: pass Scalar(0.0), and read its .value afterwards"""
    assert refusal(KernelSyntaxError, add, 1.0, VECTOR) == expected


@kernel
def copied(y, x):
    for i in _:
        y[i] = x[i]


def test_number_whose_elements_are_written():
    message = refusal(KernelSyntaxError, copied, 1.0, VECTOR)
    assert message.endswith("hint: pass an array or a Tensor of the shape of the result")
