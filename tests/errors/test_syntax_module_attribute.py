import math

import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def near(y, A):
    for i in _:
        y[i] = math.sqr(A[i])


def far(y, A):
    for i in _:
        y[i] = math.zeta(A[i])


@pytest.mark.parametrize(
    ("kernel", "line", "name", "hint"),
    [(near, 11, "sqr", "\n  hint: did you mean 'sqrt'?"), (far, 16, "zeta", "")],
)
def test_module_attribute(kernel, line, name, hint):
    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = f"""\
the module 'math' has no '{name}'
  File "FILE", line {line}
    y[i] = math.{name}(A[i])
           {"^" * (5 + len(name))}{hint}"""
    assert message == expected
