"""A traceback shows the whole message, caret and hint included."""

import traceback

import pytest

from finch_core.errors import KernelSyntaxError
from finch_core.frontend import parse


def test_traceback():
    def kernel(y):
        y[0] = beta

    with pytest.raises(KernelSyntaxError) as error:
        parse(kernel)
    shown = "".join(traceback.format_exception_only(error.value))
    assert shown == f"finch_core.errors.KernelSyntaxError: {error.value}\n"
    assert shown.endswith("hint: make it a parameter, or define it before the kernel\n")
