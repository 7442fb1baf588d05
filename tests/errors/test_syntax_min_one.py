import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_min_one():
    def kernel(y, A):
        for i in _:
            y[i] = min(A[i])

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'min' takes at least 2 arguments, not 1
  File "FILE", line 10
    y[i] = min(A[i])
           ^^^^^^^^^
  hint: write the loop: 't = 0', then 't += A[i]', or with 'min' and 'max', 't = max(t, A[i])'"""
    assert message == expected
