"""Makes the screenshots of the README and the site: tensors as a notebook shows them, a plan, and
the explorer. Needs Chromium; run it after the pictures have changed."""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import finch_array as fa
from finch_core import Tensor, _, kernel
from finch_levels import Dense, Element, RunList, Scalar, SparseBand, SparseList

HERE = Path(__file__).parent / "images"
E = Element(0.0)


@kernel
def dot(s, a, b):
    s[...] = 0
    for i in _:
        s[()] += a[i] * b[i]
    return s


def tensors() -> str:
    """Three tensors in a dark notebook."""
    grid = np.add.outer(np.arange(14.0), -np.arange(16.0))
    band = np.where(abs(grid) <= 1, 1 + abs(grid), 0)
    sparse = np.where((grid * 7) % 11 == 0, 1.0, 0)
    runs = np.where(abs(grid) < 4, 1.0, 0) + np.where(grid > 6, 2.0, 0)
    shown = [
        Tensor(Dense(SparseList(E)), sparse),
        Tensor(Dense(SparseBand(E)), band),
        Tensor(Dense(RunList(E)), runs),
    ]
    cells = "".join(f"<div style='margin:12px'>{tensor._repr_html_()}</div>" for tensor in shown)
    return f"<meta charset=utf-8><body style='background:#161618;color:#e6e6e2'>{cells}"


def plan() -> str:
    """The plan of a sum over two sparse products and a sampled dense one."""
    csr = Dense(SparseList(E))
    A = fa.random((1000, 1000), 0.1, format=csr, rng=0)
    B = fa.random((1000, 1000), 0.1, format=csr, rng=1)
    C = fa.random((1000, 1000), 1e-4, format=csr, rng=2)
    told = fa.explain(fa.sum(fa.lazy(A) @ B @ C))
    return f"<meta charset=utf-8><body style='background:#fff;margin:12px'>{told._repr_html_()}"


def explorer(folder: Path, tab: str) -> str:
    """The page of a dot product of two lists, with a view that is open."""
    listed = Tensor(SparseList(E), np.array([0.0, 1.5, 0.0, 2.5]))
    page = dot.explore(Scalar(0.0), listed, listed.copy(), path=folder / "dot.html")
    script = f"""<script>
    document.getElementById("tab-{tab}").click();
    for (let k = 0; k < 6; k++) document.getElementById("next").click();
    const line = [...document.querySelectorAll("#code .line")]
      .find((x) => x.textContent.includes("+="));
    line.dispatchEvent(new MouseEvent("mouseover", {{ bubbles: true }}));
    setTimeout(() => window.scrollTo(0, 0), 50);
    </script>"""
    return page.read_text(encoding="utf-8").replace("</body>", script + "</body>")


def shoot(html: str, name: str, size: str, folder: Path) -> None:
    """Write ``images/<name>.png``, of a page in a window of this size."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        sys.exit("Chromium is needed: apt-get install chromium")
    page = folder / "shot.html"
    page.write_text(html, encoding="utf-8")
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    command += [f"--window-size={size}", f"--screenshot={HERE / name}.png", page.as_uri()]
    subprocess.run(command, check=True, capture_output=True)


def main() -> None:
    """Make all."""
    HERE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shoot(tensors(), "tensors", "860,900", folder)
        shoot(plan(), "plan", "740,340", folder)
        shoot(explorer(folder, "code"), "explorer", "1500,760", folder)
        shoot(explorer(folder, "steps"), "explorer-steps", "1000,1100", folder)


if __name__ == "__main__":
    main()
