"""A page in a real browser: loaded with a script that uses it, and what that script reports."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any

_NAMES = ("chromium", "chromium-browser", "google-chrome")
BROWSER = next(filter(None, map(shutil.which, _NAMES)), None)

_BEFORE = """<script>
window.failures = [];
window.addEventListener("error", (e) => failures.push(String(e.message)));
</script>"""
_AFTER = """<script>
(() => {
  const told = {};
  const press = (target, key) =>
    target.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  const all = (query, root = document) => [...root.querySelectorAll(query)];
  try { %s } catch (error) { failures.push(String(error)); }
  const found = document.createElement("pre");
  found.id = "told";
  found.textContent = JSON.stringify({ told, failures });
  document.body.append(found);
})();
</script>"""


def used(page: Path, script: str, folder: Path) -> dict[str, Any]:
    """What ``script`` puts into ``told`` when it runs at the end of the page. Fails where a script
    raises."""
    assert BROWSER
    text = page.read_text(encoding="utf-8").replace("<head>", "<head>" + _BEFORE, 1)
    probe = folder / "probe.html"
    probe.write_text(text.replace("</body>", _AFTER % script + "</body>"), encoding="utf-8")
    command = [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    command += [f"--user-data-dir={folder / 'profile'}", probe.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    match = re.search(r'<pre id="told">(.*?)</pre>', done.stdout, re.DOTALL)
    assert match, done.stderr
    found = json.loads(unescape(match[1]))
    assert found["failures"] == []
    told: dict[str, Any] = found["told"]
    return told
