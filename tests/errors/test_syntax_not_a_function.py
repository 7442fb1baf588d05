import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_not_a_function():
    with pytest.raises(KernelSyntaxError) as error:
        parse(len)
    assert str(error.value) == (
        "a builtin_function_or_method is not a Python function, so it cannot be parsed"
    )
