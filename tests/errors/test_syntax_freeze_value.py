import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse
from finch_core.frontend.functions import freeze


def test_freeze_value():
    def kernel(y, A):
        for i in _:
            y[i] = freeze(A)

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'freeze' is a statement, not a value
  File "FILE", line 11
    y[i] = freeze(A)
           ^^^^^^^^^
  hint: write 'freeze(A)' on a line of its own"""
    assert message == expected
