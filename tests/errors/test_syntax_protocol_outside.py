import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse
from finch_core.frontend.functions import follow


def test_protocol_outside():
    def kernel(y, A):
        for i in _:
            y[i] = follow(i) + A[i]

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'follow' is only allowed in an index
  File "FILE", line 11
    y[i] = follow(i) + A[i]
           ^^^^^^^^^
  hint: write 'A[follow(i)]'"""
    assert message == expected
