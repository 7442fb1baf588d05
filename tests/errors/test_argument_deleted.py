"""A variable of the enclosing function that was deleted after the kernel was made."""

import numpy as np
import pytest

from finch_core import FormatError, kernel


def test_message():
    a = 2.0

    @kernel
    def filled(y):
        for i in range(len(y)):
            y[i] = a

    filled(np.zeros(2))
    del a
    with pytest.raises(FormatError) as info:
        filled(np.zeros(2))
    assert str(info.value).startswith(
        "a has no value: its variable was deleted after the kernel was made"
    )
    assert "hint: assign a again, or make it a parameter of the kernel" in str(info.value)
