"""A tensor as HTML: its levels with their buffers, and where elements are stored."""

from __future__ import annotations

from typing import Any

from finch_core.show.marks import drawing, element, escaped, label, shortened
from finch_core.show.spy import spy

LEVELS = 12
"""The most levels that are drawn; those between the first and the last are left out."""

BUFFERS = 4
"""The most buffers of a level that are drawn."""

_ROW, _INDENT, _NAME, _BUFFER = 52, 18, 170, 118


def tensor_html(tensor: Any) -> str:
    """The picture of a tensor: a heading, the tree of levels, and a plot of what is stored."""
    head = element("div", escaped(heading(tensor)), style="font-family:monospace")
    plots = element("div", tree(tensor) + spy(tensor), style="display:flex;flex-wrap:wrap;gap:24px")
    return element("div", head + plots, class_="finch-tensor", style="padding:4px 0")


def heading(tensor: Any) -> str:
    """What the tensor is, in one line."""
    fill = shortened(tensor.fill_value.item(), 20)
    if not tensor.ndim:
        return f"Tensor of {tensor.dtype}, value {shortened(tensor[()], 40)}"
    shape = shortened(" x ".join(f"{n:,}" for n in tensor.shape), 80)
    size = f"{sum(array.nbytes for array in tensor.named_arrays().values()):,} bytes"
    dtype = shortened(tensor.dtype, 40)
    return f"Tensor {shape} of {dtype}, {tensor.nstored:,} stored in {size}, fill {fill}"


def tree(tensor: Any) -> str:
    """The levels, one a row, each with its fibers and its buffers."""
    rows = [*_rows(tensor)]
    if len(rows) > LEVELS:
        left = len(rows) - LEVELS + 1
        rows = [*rows[: LEVELS - 2], (f"… {left} more levels", "", []), rows[-1]]
    parts = [_level(k, *row) for k, row in enumerate(rows)]
    widest = max(len(buffers) for _, _, buffers in rows)
    width = _INDENT * len(rows) + _NAME + max(widest, 1) * _BUFFER
    title = "levels: " + ", ".join(name for name, _, _ in rows)
    return drawing(width, _ROW * len(rows), shortened(title, 200), *parts)


def _rows(tensor: Any) -> Any:
    """The rows of each level: its name and dimension, its fibers, and name, kind and bytes of
    buffers."""
    buffers, dims = tensor.named_arrays(), iter(tensor.shape)
    for k, (level, positions, sizes, _) in enumerate(tensor.levels()):
        size = "" if level.is_leaf else f"[{next(dims):,}]"
        noun = "value" if level.is_leaf else "fiber"
        found = [(name, buffers[f"{k}_{name}"]) for name in sizes]
        shown = [(n, f"{b.dtype}[{len(b):,}]", f"{b.nbytes:,} bytes") for n, b in found[:BUFFERS]]
        if len(found) > BUFFERS:
            shown[-1] = ("…", f"{len(found) - BUFFERS + 1} more buffers", "")
        yield f"{level.name}{size}", f"{positions:,} {noun}{'s' * (positions != 1)}", shown


def _level(k: int, name: str, count: str, buffers: list[tuple[str, str, str]]) -> str:
    """One row: a line from the level above, the level, and a box for each buffer."""
    x, y = k * _INDENT, k * _ROW
    parts = [_branch(x, y)] if k else []
    parts.append(label(x + 4, y + 16, shortened(name, 24), font_weight="bold"))
    parts.append(label(x + 4, y + 32, shortened(count, 24), opacity=0.75))
    for n, (field, kind, nbytes) in enumerate(buffers):
        left = x + _NAME + n * _BUFFER
        parts.append(_box(left, y + 2))
        parts.append(label(left + 5, y + 14, shortened(field, 15), font_weight="bold"))
        parts.append(label(left + 5, y + 27, shortened(kind, 15)))
        parts.append(label(left + 5, y + 40, shortened(nbytes, 15), opacity=0.75))
    return element("g", "".join(parts))


def _branch(x: int, y: int) -> str:
    path = f"M{x - _INDENT + 8},{y - _ROW + 38}V{y + 12}h{_INDENT - 8}"
    return element("path", d=path, fill="none", stroke="currentColor", stroke_opacity=0.6)


def _box(x: int, y: int) -> str:
    return element(
        "rect", x=x, y=y, width=_BUFFER - 8, height=_ROW - 8, rx=3,
        fill="none", stroke="currentColor", stroke_opacity=0.6,
    )  # fmt: skip


__all__ = ["heading", "tensor_html", "tree"]
