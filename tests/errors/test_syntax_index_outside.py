import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_index_outside():
    def kernel(y, A):
        for i in _:
            y[i] = A[i]
        y[i] = 0

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
the index 'i' is used outside its loop
  File "FILE", line 11
    y[i] = 0
      ^
  hint: keep it in a name that begins before the loop: 'last = i'"""
    assert message == expected
