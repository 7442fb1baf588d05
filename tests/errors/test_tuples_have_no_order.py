import numpy as np
import pytest
from error_support import refusal

from finch_core import FormatError, _, kernel
from finch_levels import Scalar


@kernel
def least(m, x):
    for i in _:
        m[()] = min(m[()], (x[i], i))


def test_tuples_have_no_order():
    expected = """\
'min' is not defined on (float64, int64) and (float64, int64)
  line 3
    m[()] = min(m[()], (x[i], i))
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: minby(a, b) and maxby(a, b) compare tuples by their first elements"""
    assert refusal(FormatError, least, Scalar((9.0, -1)), np.ones(3)) == expected


@pytest.mark.parametrize("compared", ["<", "<=", ">", ">="])
def test_tuples_are_not_compared(compared, tmp_path):
    file = tmp_path / "program.py"
    lines = "def program(s, x):", "    for i in _:", f"        if (x[i], i) {compared} (3.0, 7):"
    file.write_text("\n".join([*lines, "            s[()] += 1", ""]))
    scope = {"_": _}
    exec(compile(file.read_text(), str(file), "exec"), scope)
    with pytest.raises(FormatError, match="is not defined on"):
        kernel(scope["program"])(Scalar(0), np.ones(3))
