import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_annotated_variable():
    def kernel(y, A):
        for i in _:
            y[i]: float = A[i]

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
a variable cannot be annotated here
  File "FILE", line 10
    y[i]: float = A[i]
    ^^^^^^^^^^^^^^^^^^
  hint: write 'x = e': its type is e's"""
    assert message == expected
