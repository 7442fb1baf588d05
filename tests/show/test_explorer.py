"""The explorer: a page that shows how a kernel becomes C. Its structure is checked by a parser, its
behaviour in a browser where one is installed."""

from __future__ import annotations

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import BROWSER, used

from finch_core import Tensor, _, gallop, kernel
from finch_core.ir.assembly_text import block_text
from finch_core.show.explore import explained
from finch_core.show.links import assembly_lines, code_lines, normal_lines
from finch_core.show.record import record
from finch_levels import Dense, Element, RunList, Scalar, SparseBand, SparseByteMap, SparseList

E = Element(0.0)
DATA = np.array([0.0, 1.5, 0.0, 0.0, 2.5, 0.0])


@kernel
def dot(s, a, b):  # type: ignore[no-untyped-def]
    s[...] = 0
    for i in _:
        s[()] += a[i] * b[i]
    return s


@kernel
def spmv(y, A, x):  # type: ignore[no-untyped-def]
    y[...] = 0
    for i, j in _:
        y[i] += A[i, j] * x[j]
    return y


@kernel
def spgemm(C, A, B):  # type: ignore[no-untyped-def]
    C[...] = 0
    for i in _:
        w = Tensor(SparseByteMap(Element(0.0)))
        w[...] = 0
        for k, j in _:
            w[j] += A[i, k] * B[k, j]
        for j in _:
            C[i, j] = w[j]
    return C


@kernel
def large(out, a, least):  # type: ignore[no-untyped-def]
    out[...] = 0
    for i in _:
        if a[gallop(i)] > least:
            out[i] = a[gallop(i)]
    return out


def listed() -> Tensor:
    return Tensor(SparseList(E), DATA)


def matrix() -> Tensor:
    return Tensor(Dense(SparseList(E)), np.diag(DATA))


LOWERED = {
    "dot of lists": lambda: dot.lower(Scalar(0.0), listed(), listed()),
    "dot of arrays": lambda: dot.lower(Scalar(0.0), DATA, DATA.copy()),
    "dot of runs and a band": lambda: dot.lower(
        Scalar(0.0), Tensor(RunList(E), DATA), Tensor(SparseBand(E), DATA)
    ),
    "spmv": lambda: spmv.lower(Tensor(Dense(E)), matrix(), DATA),
    "spgemm": lambda: spgemm.lower(matrix(), matrix(), matrix()),
    "large": lambda: large.lower(listed(), listed(), 2.0),
}
KERNELS = sorted(LOWERED)


@pytest.mark.parametrize("name", KERNELS)
def test_watching_changes_nothing(name: str) -> None:
    lowered = LOWERED[name]()
    found, assembly = record(lowered)
    assert assembly.as_text() == lowered.kernel.as_text()
    assert block_text(assembly.body, "    ") in found.passes[-1][1]
    assert found.normal[0][0] == "program"
    assert found.passes[0][0] == "lowering"


def test_steps_are_the_looplets_one_at_a_time() -> None:
    found, _kernel = record(LOWERED["dot of lists"]())
    kinds, step = [], found.root.steps[1]
    while step.steps:
        step = next((s for s in step.steps if s.steps), step.steps[0])
        if step.first is not None:
            kinds.append(step.looplets[step.first][1].kind)
    assert kinds == ["Thunk", "Thunk", "Stepper", "Sequence", "Sequence", "Stepper", "Spike", "Run"]
    assert any("s_val += a1_val" in line for line in found.root.steps[1].emitted)


def test_rules_are_counted_with_examples() -> None:
    found, _kernel = record(LOWERED["dot of lists"]())
    assert found.used["annihilator"].count >= 4
    assert found.used["annihilator"].examples[0] == ("np.float64(0.0) * b[i]", "np.float64(0.0)")
    assert found.used["update by identity"].meaning


@pytest.mark.parametrize("name", KERNELS)
def test_lines_belong_to_the_statements_that_they_come_from(name: str) -> None:
    lowered = LOWERED[name]()
    found, assembly = record(lowered)
    first = lowered.program.source.first_line
    source = lowered.program.source.lines
    lines = assembly_lines(assembly, found.origins)
    names = {"dot": "s_val +=", "spmv": "y1_val[", "spgemm": "w1_val[", "large": "out1_val["}
    mark = names[name.split()[0]]
    written = [line for line in lines if line.text.strip().startswith(mark)]
    assert written
    texts = {source[k - first].strip() for line in written for k in line.source}
    assert texts & {"s[()] += a[i] * b[i]", "y[i] += A[i, j] * x[j]", "w[j] += A[i, k] * B[k, j]",
                    "out[i] = a[gallop(i)]"}  # fmt: skip


@pytest.mark.parametrize("name", KERNELS)
def test_most_of_the_assembly_has_its_source_and_its_code(name: str) -> None:
    lowered = LOWERED[name]()
    found, assembly = record(lowered)
    lines = assembly_lines(assembly, found.origins)
    code = lowered.as_text("source")
    linked = {k for line in code_lines(code, lines) for k in line.steps}
    mine = [line for line in lines if line.source]
    assert len(mine) >= 3
    without = [line.text for line in mine if not linked.intersection(line.steps)]
    assert len(without) <= len(mine) / 4, without


def test_normal_form_has_its_source_lines() -> None:
    lowered = LOWERED["spgemm"]()
    found, _assembly = record(lowered)
    first = lowered.program.source.first_line
    pairs = {
        lowered.program.source.lines[line.source[0] - first].strip(): line.text.strip()
        for line in normal_lines(found.normal[-1][1], lowered.normal)
        if line.source
    }
    assert pairs["C[i, j] = w[j]"] == "C[i, j_2] = w[j_2]"
    assert pairs["w[j] += A[i, k] * B[k, j]"] == "w[j] += A[i, k] * B[k, j]"


class Outline(HTMLParser):
    """The open elements, ids, and what a page loads from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.controls: list[str] = []
        self.loads: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        given = dict(attrs)
        if tag not in ("meta", "br"):
            self.open.append(tag)
        self.ids += [given["id"]] if "id" in given else []
        self.controls += [given[k] for k in ("aria-controls", "aria-labelledby") if k in given]
        self.loads += [given[k] for k in ("src", "href") if k in given]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("name", KERNELS)
def test_the_page_is_well_formed_and_whole(name: str) -> None:
    text = explained(LOWERED[name]())
    outline = Outline()
    outline.feed(text)
    assert outline.open == []
    assert outline.loads == []
    assert "url(" not in text
    assert len(set(outline.ids)) == len(outline.ids)
    assert set(outline.controls) <= set(outline.ids)
    assert len(text) < 1_000_000
    for title in ("Python", "normal form", "assembly", "code of the backend"):
        assert f"<h2>{title}" in text


def test_text_is_escaped() -> None:
    text = explained(large.lower(listed(), listed(), 2.0))
    assert "a[gallop(i)] &gt; least" in text
    assert "if a[gallop(i)] > least" not in text


CLICKS = """
for (const tab of all("[role=tab]")) {
  tab.click();
  const shown = document.getElementById(tab.getAttribute("aria-controls"));
  told[tab.textContent] = getComputedStyle(shown).display;
}
document.getElementById("tab-steps").click();
const steps = all("#steps .step");
told.steps = steps.length;
let turns = 0;
while (steps.some((s) => !s.open) && turns < 1000) { press(document.body, "n"); turns += 1; }
told.turns = turns;
press(document.body, "p");
told.back = steps.filter((s) => !s.open).length;
document.getElementById("none").click();
told.none = steps.filter((s) => s.open).length;
for (const step of steps) step.querySelector("summary").click();
told.clicked = steps.filter((s) => s.open).length;
for (const one of all("#passes details")) one.querySelector("summary").click();
told.passes = all("#passes details").filter((one) => !one.open).length;

document.getElementById("tab-code").click();
const panes = all("#code .lines");
told.alone = [];
for (const line of all(".line[data-s]", panes[0])) {
  line.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
}
for (const line of all(".line[data-s]", panes[2])) {
  line.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
  const lit = panes.map((pane) => all(".lit", pane).length);
  if (!lit[0] || !lit[3]) told.alone.push(line.textContent.trim());
}
told.linked = all(".line[data-s]", panes[2]).length;
panes[0].focus();
const first = all(".line", panes[0]).findIndex((line) => line.textContent.includes("+="));
for (let k = 0; k < 40; k++) press(panes[0], "ArrowUp");
for (let k = 0; k < first; k++) press(panes[0], "ArrowDown");
press(panes[0], "ArrowRight");
told.pane = panes.indexOf(document.activeElement);
told.at = document.querySelector("#code .at").textContent;
"""


in_browser = pytest.mark.skipif(BROWSER is None, reason="no browser; a parser checks the structure")


@in_browser
@pytest.mark.parametrize("name", ["dot of lists", "spmv", "spgemm"])
def test_every_step_can_be_opened_in_a_browser(name: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(explained(LOWERED[name]()), encoding="utf-8")
    told = used(page, CLICKS, tmp_path)
    assert {told[k] for k in ("Code", "Steps", "Passes", "Rules")} == {"block"}
    assert told["turns"] == told["steps"] > 5
    assert told["back"] == 1
    assert told["none"] == 0
    assert told["clicked"] == told["steps"]
    assert told["passes"] == 0
    assert len(told["alone"]) <= told["linked"] / 4, told["alone"]


@in_browser
def test_the_keyboard_walks_between_panes(tmp_path: Path) -> None:
    page = dot.explore(Scalar(0.0), listed(), listed(), path=tmp_path / "dot.html")
    told = used(page, CLICKS, tmp_path)
    assert told["pane"] == 1
    assert told["at"].strip() == "s[()] += a[i] * b[i]"


# -- from the command line ----------------------------------------------------------------------

SCRIPT = """
import numpy as np
from finch_core import _, kernel

@kernel
def scaled(y, x, by):
    for i in _:
        y[i] = by * x[i]

y, x, by = np.zeros(3), np.ones(3), 2.0
{call}
"""


def command(tmp_path: Path, *arguments: str, call: str = "") -> subprocess.CompletedProcess[str]:
    (tmp_path / "script.py").write_text(SCRIPT.format(call=call))
    run = [sys.executable, "-m", "finch_core", "explore", *arguments]
    return subprocess.run(run, capture_output=True, text=True, cwd=tmp_path)


@pytest.mark.parametrize(
    ("call", "arguments", "format"),
    [
        ("scaled(y.astype('f'), x, by)", (), "float32"),
        ("", (), "float64"),
        ("", ("y.astype('f')", "x", "3"), "float32"),
    ],
)
def test_the_command_explores_a_kernel_of_a_file(
    tmp_path: Path, call: str, arguments: tuple[str, ...], format: str
) -> None:
    done = command(tmp_path, "script.py:scaled", *arguments, call=call)
    assert done.stdout == "wrote scaled.html\n", done.stderr
    text = (tmp_path / "scaled.html").read_text(encoding="utf-8")
    assert re.search(rf"y: Dense / Element of {format}", text)


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("script.py", "'script.py' names no kernel"),
        ("script.py:x", "'x' is no kernel of script.py"),
        ("nowhere:x", "there is no file and no module 'nowhere'"),
    ],
)
def test_the_command_says_what_is_missing(tmp_path: Path, place: str, told: str) -> None:
    done = command(tmp_path, place)
    assert done.returncode == 1
    assert told in done.stderr


def test_arguments_that_are_not_there_are_named(tmp_path: Path) -> None:
    done = command(tmp_path, "script.py:scaled", call="del x")
    assert "scaled is not called, and there is no 'x' to call it with" in done.stderr
