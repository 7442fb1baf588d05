import importlib
import linecache
import os

import numpy as np
import pytest
from error_support import refusal

from finch_core import KernelSyntaxError

TEXT = """\
from finch_core import kernel, _


@kernel
def copied(y, x):
    for i in _:
        y[i] = x[i]
"""
EDITS = {
    "no program": "x = 1\n\n\n    oops\n  more = 3\nx = (\n",
    "comments": "# none\n" * 9,
    "a function not closed": TEXT.replace("x)", "x"),
    "another function": TEXT.replace("copied", "scaled"),
    "other parameters": TEXT.replace("(y, x)", "(z, x)").replace("y[i]", "z[i]"),
    "another statement": "\n\n\nimport os\nimport sys\n",
    "a class": "\n\n\nclass A:\n    pass\n",
}


@pytest.mark.parametrize("edit", EDITS)
def test_source_changed(edit, tmp_path, monkeypatch):
    file = tmp_path / "edited_program.py"
    file.write_text(TEXT)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(importlib.sys.modules, "edited_program", raising=False)
    program = importlib.import_module("edited_program").copied
    file.write_text(EDITS[edit])
    os.utime(file, (1, 1))
    linecache.checkcache(str(file))
    what, hint = refusal(KernelSyntaxError, program, np.zeros(2), np.ones(2)).splitlines()[:2]
    assert what == (
        f"the source of 'copied' has changed since Python read it: line 4 of {file} is not its "
        "definition"
    )
    assert hint == "  hint: import the module again, or start Python again"
