import numpy as np
import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def of_a_tensor(y, A):
    for i in _:
        a = b = np.zeros(3)


def of_a_tuple(y, A):
    for i in _:
        a = b = (1, 2)


@pytest.mark.parametrize(
    ("kernel", "code", "what"),
    [(of_a_tensor, "np.zeros(3)", "new tensor"), (of_a_tuple, "(1, 2)", "tuple")],
)
def test_chained_assignment(kernel, code, what):
    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    line = kernel.__code__.co_firstlineno + 2
    message = str(error.value).replace(__file__, "FILE")
    expected = f"""\
several targets take one number, not a {what}
  File "FILE", line {line}
    a = b = {code}
        ^
  hint: write one line for each target"""
    assert message == expected
