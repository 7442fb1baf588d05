"""A plan as a graph: a box for each array and each kernel, and lines from what a kernel reads."""

from __future__ import annotations

from collections.abc import Sequence

from finch_core.show.marks import drawing, element, label, shortened

MOST = 40
"""The most boxes that are drawn."""

_HEIGHT, _GAP, _LEFT, _WIDTH, _LETTERS = 40, 14, 90, 620, 82

Node = tuple[str, str, str, tuple[str, ...]]
"""A name, what it is, a note, and the names that it reads."""


def plan_html(nodes: Sequence[Node]) -> str:
    """The boxes from top to bottom in the order of the plan; lines on the left, drawn further out
    the further they lead."""
    shown = list(nodes[:MOST])
    rows = {name: k for k, (name, *_rest) in enumerate(shown)}
    parts = [_box(k, node) for k, node in enumerate(shown)]
    for k, (_name, _what, _note, reads) in enumerate(shown):
        parts += [_line(rows[name], k) for name in reads if rows.get(name, k) < k]
    if len(nodes) > MOST:
        parts.append(label(_LEFT, _top(MOST) + 14, f"… {len(nodes) - MOST} more kernels"))
    height = _top(len(shown)) + 24
    title = "plan: " + ", ".join(name for name, *_rest in shown)
    return drawing(_LEFT + _WIDTH + 2, height, shortened(title, 200), *parts)


def _top(k: int) -> int:
    return k * (_HEIGHT + _GAP) + 2


def _box(k: int, node: Node) -> str:
    name, what, note, reads = node
    style = {} if reads else {"stroke_dasharray": "4 3"}  # an array that is given
    frame = element(
        "rect", x=_LEFT, y=_top(k), width=_WIDTH, height=_HEIGHT, rx=4, fill="none",
        stroke="currentColor", **style,
    )  # fmt: skip
    first = what if what.startswith(name) else f"{name}: {what}"
    texts = label(_LEFT + 8, _top(k) + 16, shortened(first, _LETTERS), font_weight="bold")
    if note:
        texts += label(_LEFT + 8, _top(k) + 32, shortened(note, _LETTERS), opacity=0.75)
    return frame + texts


def _line(start: int, end: int) -> str:
    """A line from the box of what is read to that of the kernel, with an arrow's head."""
    y, to = _top(start) + _HEIGHT // 2, _top(end) + _HEIGHT // 2 - 6
    out = _LEFT - min(12 + 12 * (end - start), _LEFT - 4)
    path = f"M{_LEFT},{y}C{out},{y} {out},{to} {_LEFT},{to}m-7,-4l7,4l-7,4"
    return element("path", d=path, fill="none", stroke="currentColor", stroke_opacity=0.7)


__all__ = ["plan_html"]
