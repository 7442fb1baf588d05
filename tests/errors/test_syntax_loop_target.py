import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_loop_target():
    def kernel(y, A):
        for y[0] in _:
            y[0] = 1

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
a loop index must be a plain name
  File "FILE", line 9
    for y[0] in _:
        ^^^^"""
    assert message == expected
