import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse
from finch_core.frontend.functions import freeze


def test_freeze_arguments():
    def kernel(y, A):
        freeze(y, A)
        y[0] = A[0]

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'freeze' takes one tensor
  File "FILE", line 10
    freeze(y, A)
    ^^^^^^^^^^^^"""
    assert message == expected
