import pytest

from finch_core import kernel
from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


@kernel
def first(y):
    second(y)


@kernel
def second(y):
    first(y)


@kernel
def alone(y):
    for _i in range(2):
        alone(y)


def refusal(made):
    with pytest.raises(KernelSyntaxError) as error:
        parse(made.__wrapped__)
    return str(error.value).replace(__file__, "FILE")


def test_kernel_recursion():
    expected = """\
'alone' calls itself: kernels are inlined, and cannot be recursive
  File "FILE", line 21
    alone(y)
    ^^^^^^^^
  hint: write a loop, and keep what is left to do in a tensor"""
    assert refusal(alone) == expected


def test_kernels_that_call_each_other():
    expected = """\
'first' calls the kernel that calls it: kernels are inlined, and cannot be recursive
  File "FILE", line 15
    first(y)
    ^^^^^^^^
  hint: write a loop, and keep what is left to do in a tensor"""
    assert refusal(first) == expected


@kernel
def factorial(n):
    return n * factorial(n - 1) if n > 1 else 1


def test_recursion_in_a_value():
    expected = """\
'factorial' calls itself: kernels are inlined, and cannot be recursive
  File "FILE", line 52
    return n * factorial(n - 1) if n > 1 else 1
               ^^^^^^^^^^^^^^^^
  hint: write a loop, and keep what is left to do in a tensor"""
    assert refusal(factorial) == expected
