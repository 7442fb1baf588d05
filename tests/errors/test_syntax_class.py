import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_class():
    def kernel(y, A):
        for i in _:

            class C:
                pass

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    message = str(error.value).replace(__file__, "FILE")
    expected = """\
a class cannot be defined inside a kernel
  File "FILE", line 11
    class C:
    ^^^^^^^^
  hint: define it outside the kernel"""
    assert message == expected
