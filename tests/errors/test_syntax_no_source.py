import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_no_source():
    scope = {}
    exec("def kernel(y):\n    y[0] = 1\n", scope)

    with pytest.raises(KernelSyntaxError) as error:
        parse(scope["kernel"])
    assert str(error.value) == (
        "the source of 'kernel' cannot be read\n"
        "  hint: write it in a file or a notebook cell: its text is parsed, it is never run"
    )
