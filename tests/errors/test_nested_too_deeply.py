import linecache

import numpy as np
import pytest

from finch_core import _, kernel
from finch_core.errors import KernelSyntaxError


def test_more_variables_than_may_be_in_a_row():
    lines = [f"        t{k + 1} = t{k} + 1" for k in range(2100)]
    text = "\n".join(["def program(s, x):", "    for i in _:", "        t0 = x[i]", *lines])
    text += "\n        s[()] += t2100\n"
    linecache.cache["<2100 variables>"] = (1, None, text.splitlines(True), "<2100 variables>")
    scope = {"_": _}
    exec(compile(text, "<2100 variables>", "exec"), scope)
    with pytest.raises(KernelSyntaxError) as error:
        kernel(scope["program"])(np.zeros(()), np.ones(2))
    expected = """\
program is nested more than 2000 levels deep
  File "<2100 variables>", line 2002
    t1999 = t1998 + 1
    ^^^^^^^^^^^^^^^^^
  hint: each term of a sum and each variable is a level: add up in several statements or in a loop"""
    assert str(error.value) == expected
