import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_whole_update():
    def kernel(y, A):
        for i in _:
            y[...] += 1

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
an update changes one element
  File "FILE", line 10
    y[...] += 1
    ^^^^^^
  hint: write 'A[i] += e' in a loop"""
    assert message == expected
