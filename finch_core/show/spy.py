"""A spy plot: where a tensor, or a slice of it, stores elements.

Small slices show each element: a square for a single one, a ruled box for a block, a bar for a run
of one value. Large ones show a square in each cell, the larger the more of the cell is stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from finch_core.interface.structure import Pieces
from finch_core.show.marks import drawing, element, label, shortened
from finch_core.show.samples import CELLS, Array, density, leading, window

SIDE = 256
"""The side of the plot, in pixels."""

_TOP = 34


def spy(tensor: Any) -> str:
    """The plot; nothing for a tensor without dimensions or elements."""
    if not tensor.ndim or 0 in tensor.shape:
        return ""
    lead = leading(tensor)
    height, width = (1, *tensor.shape)[-2:]
    if height <= CELLS and width <= CELLS:
        what, path, lines = _elements(tensor, lead)
    else:
        what, path, lines = _cells(tensor, lead)
    rows, columns = min(height, CELLS), min(width, CELLS)
    step = SIDE / max(rows, columns, 8)
    parts = [
        label(0, 12, _place(tensor, lead)),
        label(0, 26, what, opacity=0.75),
        _frame(rows, columns, step),
        element(
            "path", d=path or "M0,0", transform=f"translate(0,{_TOP}) scale({step:g})",
            fill_opacity=0.45 if _ruled(tensor, lines) else 1,
        ),
        element(
            "path", d=lines or "M0,0", transform=f"translate(0,{_TOP}) scale({step:g})",
            fill="none", stroke="currentColor", stroke_width=f"{1 / step:.3f}", stroke_opacity=0.7,
        ),
    ]  # fmt: skip
    title = f"{_place(tensor, lead)}: {what}"
    return drawing(max(SIDE, 8 * len(what)) + 2, step * rows + _TOP + 2, title, *parts)


def _ruled(tensor: Any, lines: str) -> bool:
    """Whether lines are drawn across what is filled, and must be seen on it."""
    return bool(lines) and _innermost(tensor) is Pieces.BLOCKS


def _innermost(tensor: Any) -> Pieces:
    pieces: Pieces = tensor.format.levels()[-2].structure.pieces
    return pieces


def _place(tensor: Any, lead: tuple[int, ...]) -> str:
    size = " x ".join(f"{n:,}" for n in tensor.shape[-2:])
    if not lead:
        return size
    return shortened(f"[{', '.join(map(str, lead))}, :, :], {size}", 34)


def _frame(rows: int, columns: int, step: float) -> str:
    return element(
        "rect", x=0.5, y=_TOP, width=f"{columns * step:g}", height=f"{rows * step:g}",
        fill="none", stroke="currentColor", stroke_opacity=0.35,
    )  # fmt: skip


# -- each element -----------------------------------------------------------------------------


def _elements(tensor: Any, lead: tuple[int, ...]) -> tuple[str, str, str]:
    """What the shapes are, what is filled, and the lines of each piece."""
    pieces = _innermost(tensor)
    there, values = window(tensor, lead)
    filled, lines = [], []
    for top, bottom in _rows(tensor, there, values):
        for start, stop in _pieces(pieces, there[top], values[top]):
            box = _box(start, top, stop - start, bottom - top)
            if pieces is Pieces.RUNS and _same(values[top, start], tensor.fill_value):
                lines.append(box)
            else:
                filled.append(box)
                ticks = range(start + 1, stop) if pieces is Pieces.BLOCKS else ()
                lines += [f"M{k},{top}v{bottom - top}" for k in ticks]
    return _MEANING[pieces], "".join(filled), "".join(lines)


_MEANING = {
    Pieces.POINTS: "■ a stored element",
    Pieces.BLOCKS: "■ stored elements, joined in blocks",
    Pieces.RUNS: "▬ a run of one value, ▭ of the fill",
}


def _rows(tensor: Any, there: Array, values: Array) -> Iterator[tuple[int, int]]:
    """The ranges of rows to draw as one: of a level that stores runs, rows that are the same."""
    shares = tensor.ndim > 1 and tensor.format.levels()[-3].structure.pieces is Pieces.RUNS
    top = 0
    for i in range(1, len(there) + 1):
        same = i < len(there) and shares and (there[i] == there[top]).all()
        if not (same and all(map(_same, values[i], values[top]))):
            yield top, i
            top = i


def _pieces(pieces: Pieces, there: Array, values: Array) -> Iterator[tuple[int, int]]:
    """The ranges of a row that are one piece."""
    start = None
    for k in range(len(there) + 1):
        stored = k < len(there) and bool(there[k])
        if start is not None and not (stored and _joined(pieces, values, k)):
            yield start, k
            start = None
        if stored and start is None:
            start = k


def _joined(pieces: Pieces, values: Array, k: int) -> bool:
    if pieces is Pieces.RUNS:
        return _same(values[k], values[k - 1])
    return pieces is Pieces.BLOCKS


def _same(a: Any, b: Any) -> bool:
    return bool(a == b) or bool(a != a and b != b)


def _box(x: float, y: float, width: float, height: float) -> str:
    """A rectangle, a little smaller than its cells, so that neighbours are told apart."""
    gap = 0.08
    wide, high = f"{width - 2 * gap:.4g}", f"{height - 2 * gap:.4g}"
    return f"M{x + gap:.4g},{y + gap:.4g}h{wide}v{high}h-{wide}z"


# -- from afar --------------------------------------------------------------------------------


def _cells(tensor: Any, lead: tuple[int, ...]) -> tuple[str, str, str]:
    """A square in each cell, whose area says how much of the cell is stored."""
    full = all(level.stores_fill for level in tensor.format.levels()[:-1])
    sample = density(tensor, lead, nonfill=full)
    boxes = []
    for (i, j), share in np.ndenumerate(sample.density):
        if share > 0:
            side = 0.3 + 0.7 * float(share) ** 0.5
            boxes.append(_square(i + 0.5, j + 0.5, side))
    what = f"elements other than {shortened(tensor.fill_value, 8)}" if full else "what is stored"
    note = ", sampled" if sample.partly else ""
    return f"■ {what} in each cell{note}", "".join(boxes), ""


def _square(y: float, x: float, side: float) -> str:
    return f"M{x - side / 2:.3g},{y - side / 2:.3g}h{side:.2g}v{side:.2g}h-{side:.2g}z"


__all__ = ["SIDE", "spy"]
