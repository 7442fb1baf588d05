import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_import():
    def kernel(y, A):
        for i in _:
            import math

            y[i] = A[i]

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
'import' is not part of the language
  File "FILE", line 10
    import math
    ^^^^^^^^^^^
  hint: import at the top of the file"""
    assert message == expected
