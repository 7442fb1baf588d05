import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_underscore_index():
    def kernel(y):
        for _ in range(3):
            y[0] += 1

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'_' is an extent, not an index
  File "FILE", line 9
    for _ in range(3):
        ^
  hint: give the index a name, used or not"""
    assert message == expected
