import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse
from finch_core.frontend.functions import choose


def test_choose_value():
    def kernel(y, A):
        for i in _:
            y[i] = choose(0)

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'choose(z)' is an operator, not a value
  File "FILE", line 11
    y[i] = choose(0)
           ^^^^^^^^^
  hint: write 'choose(z)(a, b)'"""
    assert message == expected
