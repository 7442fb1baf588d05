"""The page of the explorer: plain HTML, which works without scripts; the script beside this file
lights what belongs together and steps through the loops."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from importlib.resources import files
from itertools import pairwise

from finch_core.records import frozen
from finch_core.show.boxes import Box
from finch_core.show.links import Line
from finch_core.show.marks import element, escaped
from finch_core.show.record import LoweringStep, Record, Used

DIFF = 300
"""The most lines that are shown of what one pass changed."""

LINES = 16
"""The most lines that are shown of the statement of one step, and of what it emits."""


@frozen(eq=False)
class Pages:
    """What a page shows: the kernel, its arguments, panes of linked lines, the generated code
    before the kernel's own, and the record of its steps."""

    name: str
    about: str
    panes: tuple[tuple[str, Sequence[Line]], ...]
    preamble: str
    record: Record


def page(found: Pages) -> str:
    """The whole page."""
    own = files("finch_core.show")
    style = (own / "explorer.css").read_text(encoding="utf-8")
    script = (own / "explorer.js").read_text(encoding="utf-8")
    sections = (
        ("code", "Code", _code(found)),
        ("steps", "Steps", _steps(found.record)),
        ("passes", "Passes", _passes(found.record)),
        ("rules", "Rules", _rules(found.record)),
    )
    tabs = "".join(
        f'<button role="tab" id="tab-{key}" aria-controls="{key}" '
        f'aria-selected="{str(k == 0).lower()}">{title}</button>'
        for k, (key, title, _) in enumerate(sections)
    )
    bodies = "".join(
        f'<section id="{key}" role="tabpanel" aria-labelledby="tab-{key}">{body}</section>'
        for key, _, body in sections
    )
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width">'
        f"<title>{escaped(found.name)}: from loop to code</title>"
        f"<style>\n{style}</style></head><body>"
        f"<header><h1>{escaped(found.name)}</h1><p>{escaped(found.about)}</p>"
        f'<div role="tablist" aria-label="views">{tabs}</div></header>'
        f"<main>{bodies}</main>"
        f"<script>\n{script}</script></body></html>\n"
    )


# -- panes ------------------------------------------------------------------------------------


def _code(found: Pages) -> str:
    help_ = (
        "Point at a line, or walk with the arrow keys (up and down within a pane, left and right "
        "between panes): what belongs to it in the other panes is marked."
    )
    panes = "".join(_pane(title, lines) for title, lines in found.panes)
    preamble = ""
    if found.preamble:
        body = element("pre", escaped(found.preamble))
        preamble = f"<details><summary>code before the kernel</summary>{body}</details>"
    return f'<p class="help">{help_}</p><div class="panes">{panes}</div>{preamble}'


def _pane(title: str, lines: Iterable[Line]) -> str:
    shown = "".join(map(_line, lines))
    return (
        f'<div class="pane"><h2>{escaped(title)}</h2>'
        f'<div class="lines" role="listbox" aria-label="{escaped(title)}" tabindex="0">'
        f"{shown}</div></div>"
    )


def _line(line: Line) -> str:
    marks = f' data-s="{_numbers(line.source)}"' if line.source else ""
    marks += f' data-a="{_numbers(line.steps)}"' if line.steps and line.source else ""
    return f'<div class="line" role="option"{marks}>{escaped(line.text) or "&#8203;"}</div>'


def _numbers(values: Iterable[int]) -> str:
    return " ".join(map(str, values))


# -- steps ------------------------------------------------------------------------------------


def _steps(record: Record) -> str:
    help_ = (
        "Each box is a range of one loop. Its looplets say what each operand is along it; the rule "
        "of the one that is marked is applied, and gives the boxes inside. N opens the next step, "
        "P closes it again; the arrow keys walk."
    )
    buttons = (
        '<button id="next">next step (N)</button> <button id="back">back (P)</button> '
        '<button id="all">open all</button> <button id="none">close all</button>'
    )
    body = "".join(map(_step, record.root.steps))
    rest = f"<p>{record.left_out} more steps are left out.</p>" if record.left_out else ""
    return f'<p class="help">{help_}</p><p>{buttons}</p><div class="tree">{body}</div>{rest}'


def _step(step: LoweringStep) -> str:
    line = f' <span class="note">line {step.line}</span>' if step.line else ""
    head = f"<summary><code>{escaped(step.head)}</code>{line}{_rule(step)}</summary>"
    body = f"<pre>{escaped(_first(step.body.splitlines()))}</pre>" if step.body else ""
    boxes = "".join(_slot(k, *pair, step.first) for k, pair in enumerate(step.looplets))
    boxes = f'<div class="boxes">{boxes}</div>' if boxes else ""
    inner = "".join(map(_step, step.steps))
    marks = f' data-s="{step.line}"' if step.line else ""
    return f"<details class='step'{marks}>{head}{body}{boxes}{inner}{_emitted(step)}</details>"


def _rule(step: LoweringStep) -> str:
    if step.first is None:
        return ""
    name, box = step.looplets[step.first]
    return f' <span class="note">rule of {escaped(box.kind)} for {escaped(name)}</span>'


def _slot(k: int, name: str, box: Box, first: int | None) -> str:
    mark = " first" if k == first else ""
    note = ' <span class="note">◀ lowered first</span>' if mark else ""
    return f'<div class="slot{mark}"><code>{escaped(name)}</code>{note}{_box(box)}</div>'


def _box(box: Box) -> str:
    facts = "".join(
        f"<div>{escaped(name)} <code>{escaped(text)}</code></div>" for name, text in box.facts
    )
    inner = "".join(f"<div>{escaped(name)}{_box(part)}</div>" for name, part in box.inner)
    head = f'<b title="{escaped(box.meaning)}">{escaped(box.kind)}</b>'
    return f'<div class="looplet">{head}{facts}{inner}</div>'


def _emitted(step: LoweringStep) -> str:
    if not step.emitted:
        return '<p class="note">nothing is emitted</p>'
    text = escaped(_first(step.emitted))
    return f"<details class='emitted'><summary>what is emitted</summary><pre>{text}</pre></details>"


def _first(lines: Sequence[str]) -> str:
    """The first lines, and how many there are more."""
    shown = list(lines[:LINES])
    if len(lines) > LINES:
        shown.append(f"… {len(lines) - LINES} more lines")
    return "\n".join(shown)


# -- passes and rules -------------------------------------------------------------------------


def _passes(record: Record) -> str:
    normal = _changes(record.normal)
    assembly = _changes(record.passes)
    return (
        f"<h2>to normal form</h2>{normal}"
        f"<h2>over assembly</h2>{assembly}"
        '<p class="note">Passes that changed nothing are named alone. A line that begins with - '
        "was there before, one that begins with + is there after.</p>"
    )


def _changes(stages: Sequence[tuple[str, str]]) -> str:
    parts, same = [], []
    for (_, before), (name, after) in pairwise(stages):
        if before == after:
            same.append(name)
        else:
            parts.append(_change(name, before, after))
    unchanged = ", ".join(map(escaped, same)) or "none"
    return "".join(parts) + f'<p class="note">changed nothing: {unchanged}</p>'


def _change(name: str, before: str, after: str) -> str:
    lines = list(difflib.unified_diff(before.splitlines(), after.splitlines(), lineterm="", n=2))[
        2:
    ]
    more = len(lines) - DIFF
    shown = "".join(map(_changed, lines[:DIFF]))
    if more > 0:
        shown += f'<div class="line">… {more} more lines</div>'
    return (
        f"<details class='pass'><summary>{escaped(name)}</summary>"
        f'<div class="lines">{shown}</div></details>'
    )


def _changed(line: str) -> str:
    kinds = {"+": "added", "-": "removed", "@": "place"}
    kind = kinds.get(line[:1], "")
    text = "⋮" if kind == "place" else line
    return f'<div class="line {kind}">{escaped(text) or "&#8203;"}</div>'


def _rules(record: Record) -> str:
    rows = "".join(
        _used(name, used) for name, used in sorted(record.used.items(), key=lambda x: -x[1].count)
    )
    if not rows:
        return "<p>No rule was needed.</p>"
    head = "<tr><th>rule</th><th>meaning</th><th>uses</th><th>for example</th></tr>"
    return f'<div class="wide"><table>{head}{rows}</table></div>'


def _used(name: str, used: Used) -> str:
    examples = "<br>".join(
        f"<code>{escaped(a)}</code> → <code>{escaped(b) or 'nothing'}</code>"
        for a, b in used.examples
    )
    meaning = escaped(used.meaning.replace("`", ""))
    return (
        f"<tr><td>{escaped(name)}</td><td>{meaning}</td><td>{used.count}</td>"
        f"<td>{examples}</td></tr>"
    )


__all__ = ["Pages", "page"]
