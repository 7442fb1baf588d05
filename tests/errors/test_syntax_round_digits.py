import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_round_digits():
    def kernel(y, A):
        for i in _:
            y[i] = round(A[i], 2)

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'round' takes 1 argument, not 2
  File "FILE", line 10
    y[i] = round(A[i], 2)
           ^^^^^^^^^^^^^^
  hint: to two digits it is 'np.round(100 * x) / 100'"""
    assert message == expected
