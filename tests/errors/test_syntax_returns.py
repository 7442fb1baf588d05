import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def refused(kernel):
    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    return str(error.value).replace(__file__, "FILE")


def test_returns_that_give_different_numbers_of_results():
    def kernel(x):
        for i in _:
            if x[i] > 0:
                return i, x[i]
        return -1

    expected = """\
this 'return' gives 2 results, the last one one value
  File "FILE", line 17
    return i, x[i]
    ^^^^^^^^^^^^^^
  hint: let each 'return' give the same number of results"""
    assert refused(kernel) == expected


def test_an_end_without_a_return():
    def kernel(x):
        for i in _:
            if x[i] > 0:
                return i

    expected = """\
the kernel may end without a 'return', where Python gives None
  File "FILE", line 33
    return i
    ^^^^^^^^
  hint: end it with a 'return' of the same results"""
    assert refused(kernel) == expected


def test_a_return_of_nothing_beside_one_of_a_number():
    def kernel(x):
        for i in _:
            if x[i] > 0:
                return
        return 1

    assert refused(kernel).startswith("this 'return' gives nothing, the last one one value\n")


def test_returns_of_different_tensors():
    def kernel(x, y, n):
        x[0] = y[0]
        if n > 0:
            return x
        return y

    expected = """\
'return' gives 'x', a tensor, here, and another result elsewhere
  File "FILE", line 58
    return x
           ^
  hint: let each 'return' give the same tensor, or a number"""
    assert refused(kernel) == expected
