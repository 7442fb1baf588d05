import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def refusal(kernel):
    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    return str(error.value).replace(__file__, "FILE")


def test_name_unset_in_one_branch():
    def kernel(y, A):
        for i in _:
            if A[i] > 0:
                t = 1
            y[i] = t

    expected = """\
't' may have no value here: line 17 assigns it, but not on every way to this place
  File "FILE", line 18
    y[i] = t
           ^
  hint: give it a value first, 't = 0'; a number from outside needs another name"""
    assert refusal(kernel) == expected


def test_assigned_by_the_turn_before():
    def kernel(y, A):
        for i in range(1, 4):
            if i > 1:
                y[i] = t
            t = A[i]

    assert "line 33\n    y[i] = t" in refusal(kernel)


def test_updated_without_a_value():
    def kernel(y, A):
        for i in _:
            t += A[i]
        y[0] = t

    assert "line 42\n    t += A[i]" in refusal(kernel)
