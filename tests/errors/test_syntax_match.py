import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_match():
    def kernel(y, A):
        for i in _:
            match A[i]:
                case 0:
                    pass

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'match' is not part of the language
  File "FILE", line 10
    match A[i]:
    ^^^^^^^^^^^
  hint: write 'if', 'elif' and 'else'"""
    assert message == expected
