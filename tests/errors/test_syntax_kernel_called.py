import pytest

from finch_core import kernel
from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


@kernel
def add(y, a, x):
    for i in _:
        y[i] += a * x[i]


@kernel(rules=[object()])
def ruled(y):
    y[...] = 0


def refusal(made):
    with pytest.raises(KernelSyntaxError) as error:
        parse(made)
    return str(error.value).replace(__file__, "FILE")


def test_kernel_called_for_a_value():
    def caller(y, x):
        for i in _:
            y[i] = add(y, 1, x)

    expected = """\
'add' is a kernel that returns no number
  File "FILE", line 28
    y[i] = add(y, 1, x)
           ^^^^^^^^^^^^
  hint: call it on a line of its own: it writes to its arguments"""
    assert refusal(caller) == expected


def test_too_many_arguments():
    def caller(y, x):
        add(y, 1, x, x)

    expected = """\
'add' takes 3 arguments, not 4
  File "FILE", line 41
    add(y, 1, x, x)
    ^^^^^^^^^^^^^^^"""
    assert refusal(caller) == expected


def test_an_argument_is_missing():
    def caller(y, x):
        add(y, x=x)

    assert "'add' lacks an argument for 'a'\n" in refusal(caller)


def test_an_argument_is_given_twice():
    def caller(y, x):
        add(y, 1, x, a=2)

    assert "'add' does not take 'a' here\n" in refusal(caller)


def test_a_number_for_a_tensor():
    def caller(y, x):
        add(y, 1, 2)

    expected = """\
a tensor must be a plain name
  File "FILE", line 67
    add(y, 1, 2)
              ^
  hint: bind it to a name outside the kernel"""
    assert refusal(caller) == expected


def test_a_tensor_for_a_number():
    def caller(y, x):
        x[0] = 1
        add(y, x, x)

    assert "'x' is a tensor, not a number" in refusal(caller)


def test_rules_of_its_own():
    def caller(y):
        ruled(y)

    assert "'ruled' has rewrite rules of its own, and cannot be called here" in refusal(caller)
