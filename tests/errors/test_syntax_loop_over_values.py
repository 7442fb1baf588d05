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
  hint: write 'for i in _:' or 'range(a, b)'"""
    assert message == expected
