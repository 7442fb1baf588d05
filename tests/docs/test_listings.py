"""The listings in ``docs/looplets.md`` are what the compiler makes of the kernels beside them.

Where they differ because the compiler got better, ``FINCH_UPDATE_DOCS=1 pytest tests/docs``
rewrites them, to be reviewed like code.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs/looplets.md"
PYTHON = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LISTING = re.compile(r"^```text\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def printed(text: str, folder: Path) -> list[str]:
    """What the program of the page prints, listing by listing."""
    script = folder / "looplets_page.py"
    script.write_text("\n".join(PYTHON.findall(text)))
    done = subprocess.run(
        [sys.executable, "-W", "error", str(script)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split("---\n")[:-1]


def test_the_listings_are_what_comes_out(tmp_path: Path) -> None:
    text = PAGE.read_text()
    found = printed(text, tmp_path)
    assert len(found) == len(LISTING.findall(text)) > 10
    if os.environ.get("FINCH_UPDATE_DOCS"):
        rest = iter(found)
        PAGE.write_text(LISTING.sub(lambda match: f"```text\n{next(rest)}```", text))
    else:
        assert LISTING.findall(text) == found
