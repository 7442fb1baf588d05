"""Builds the site: ``python docs/build.py [--quick] [--links] [--output FOLDER]``.

The examples of all pages are run, the gallery is made, every warning is an error, and links within
the site are checked. ``--quick`` leaves out the examples, which the tests run too, and the gallery.
``--links`` builds nothing: it asks other sites for what is linked there, which needs a network.
Needs ``python -m pip install -e ".[docs]"``.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

DOCS = Path(__file__).parent
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXPLORED = (
    ("plot_graph.py", "search"),
    ("plot_image.py", "erode"),
    ("plot_factor.py", "cholesky"),
    ("plot_formats.py", "spmv"),
)
"""The kernels of the gallery that have a page of the explorer."""

MOST_BYTES, MOST_OF_A_PAGE = 20_000_000, 1_000_000


def program(text: str) -> str:
    """The Python blocks of a page as one program, with the line numbers of the page."""
    lines = [""] * (text.count("\n") + 1)
    for block in BLOCK.finditer(text):
        first = text.count("\n", 0, block.start(1))
        code = block[1].splitlines()
        lines[first : first + len(code)] = code
    return "\n".join(lines)


def run_pages() -> None:
    """Run the blocks of every page; those of the example plugins are run by their tests."""
    pages = sorted(p for p in DOCS.rglob("*.md") if not {"plugins", "made", "_build"} & {*p.parts})
    with tempfile.TemporaryDirectory() as folder:
        for page in pages:
            text = page.read_text(encoding="utf-8")
            if not BLOCK.search(text):
                continue
            script = Path(folder) / "page.py"
            script.write_text(program(text), encoding="utf-8")
            done = subprocess.run(
                [sys.executable, "-W", "error", script], capture_output=True, text=True
            )
            if done.returncode:
                sys.exit(f"{page}: its examples fail\n{done.stdout}{done.stderr}")


def explorer_pages() -> None:
    """Write the explorer's pages of the gallery's kernels, to which the gallery links."""
    folder = DOCS / "made/extra/explorer"
    folder.mkdir(parents=True)
    for script, kernel in EXPLORED:
        page = folder / f"{kernel.lstrip('_')}.html"
        place = f"{DOCS / 'gallery' / script}:{kernel}"
        command = [sys.executable, "-m", "finch_core", "explore", place, "-o", page]
        subprocess.run(command, check=True, env={**os.environ, "MPLBACKEND": "agg"})


def sphinx(output: Path, *, gallery: bool, builder: str = "html") -> None:
    """Run Sphinx; a warning is an error."""
    environment = {**os.environ, "FINCH_DOCS_GALLERY": str(int(gallery))}
    doctrees = output.parent / f"{output.name}-doctrees"
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", builder]
    done = subprocess.run([*command, "-d", doctrees, DOCS, output], env=environment)
    if done.returncode:
        sys.exit("Sphinx fails")


# -- what was built ---------------------------------------------------------------------------


class Links(HTMLParser):
    """The targets of a page, and the places that it has."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: list[str] = []
        self.places: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.places |= {value for key in ("id", "name") if (value := given.get(key))}
        self.targets += [value for key in ("href", "src") if (value := given.get(key))]


def broken(output: Path) -> Iterator[str]:
    """The links within the site that lead nowhere."""
    found = (path for path in output.rglob("*.html") if "_static" not in path.parts)
    pages = {path: Links() for path in found}
    for path, links in pages.items():
        links.feed(path.read_text(encoding="utf-8", errors="replace"))
    for path, links in pages.items():
        for target in links.targets:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if there.is_dir():
                there /= "index.html"
            known = pages.get(there)
            if not there.exists():
                yield f"{path.relative_to(output)}: {target}"
            elif parts.fragment and known and unquote(parts.fragment) not in known.places:
                yield f"{path.relative_to(output)}: {target} (no such place)"


def heavy(output: Path) -> Iterator[str]:
    """The pages that are too large, and the site if it is."""
    sizes = {path: path.stat().st_size for path in output.rglob("*") if path.is_file()}
    if sum(sizes.values()) > MOST_BYTES:
        yield f"the site has {sum(sizes.values()):,} bytes"
    for path, size in sizes.items():
        if path.suffix == ".html" and size > MOST_OF_A_PAGE:
            yield f"{path.relative_to(output)} has {size:,} bytes"


def main() -> None:
    """Build and check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="neither examples nor gallery")
    parser.add_argument("--links", action="store_true", help="check links to other sites")
    parser.add_argument("--output", type=Path, default=DOCS / "_build/html")
    chosen = parser.parse_args()
    started, output = time.monotonic(), chosen.output.resolve()
    if chosen.links:
        return sphinx(output.with_name("links"), gallery=False, builder="linkcheck")
    if not chosen.quick:
        shutil.rmtree(DOCS / "made", ignore_errors=True)
        run_pages()
        explorer_pages()
    sphinx(output, gallery=not chosen.quick)
    wrong = [*broken(output), *heavy(output)]
    if wrong:
        sys.exit("\n".join(wrong))
    pages = sum(1 for _page in output.rglob("*.html"))
    print(f"{pages} pages in {output}, in {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    main()
