import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_loop_over_values():
    def kernel(y, A):
        for a in A:
            y[0] += a

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
a loop runs over '_' or a 'range'
  File "FILE", line 9
    for a in A:
             ^
  hint: write 'for i in range(len(A)):', and read 'A[i]'"""
    assert message == expected


def test_loop_over_pairs():
    def kernel(y, A):
        for i, a in enumerate(A):
            y[i] += a

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    assert error.value.hint == "write 'for i in range(len(A)):', and read 'A[i]'"


def test_loop_over_numbers_at_other_distances():
    def kernel(y, A):
        for i in (0, 1, 3):
            y[i] += A[i]

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    hint = "pass the values as an array: 'for k in range(len(v)):', and read 'v[k]'"
    assert error.value.hint == hint
