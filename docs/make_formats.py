"""Writes ``docs/formats.md``: every level format over one small matrix, drawn from what it stores.

Run it after a change of formats: ``python docs/make_formats.py``. A test compares the page with
what this makes.
"""

from __future__ import annotations

import inspect
import itertools
from pathlib import Path
from typing import Any

import numpy as np

from finch_core import FormatError, Tensor
from finch_core.level import Format
from finch_core.plugins import hub
from finch_levels import Dense, Element

PAGE = Path(__file__).with_name("formats.md")

MATRIX = np.array(
    [
        [0, 2, 2, 0, 3, 3],
        [0, 0, 0, 0, 0, 0],
        [5, 5, 0, 0, 0, 0],
        [0, 0, 0, 7, 0, 0],
    ]
)
SINGULAR = np.array(
    [
        [0, 2, 0, 0, 0, 0],
        [0, 0, 0, 0, 0, 0],
        [5, 0, 0, 0, 0, 0],
        [0, 0, 0, 7, 0, 0],
    ]
)

HEAD = """\
# The level formats

A tensor's format is a tree of levels, one for each dimension, ending in a leaf. Each level is a
pool of fibers and says which indices of each fiber are stored (paper, Table "The main level formats
supported by Finch"). Here each stands below a `Dense` level, so that its fibers are the rows of a
matrix:

```text
{matrix}
```

and those that hold one nonzero or one run a row store this one instead:

```text
{singular}
```

In the pictures a digit is a stored value, `.` an index that nothing is stored for; `|` parts what
is stored together. The buffers are those of a real tensor: `docs/make_formats.py` makes this page.
"""


def page() -> str:
    """The whole page."""
    head = HEAD.format(matrix=_grid(MATRIX), singular=_grid(SINGULAR))
    ours = [f for f in hub().levels.values() if f.__module__.partition(".")[0] == "finch_levels"]
    formats = [f for f in ours if not f.is_leaf]
    return "\n".join([head, *map(_section, sorted(formats, key=_order))])


def _order(format: Any) -> tuple[int, str]:
    """Dense first, then by name."""
    return (getattr(format, "layout", "") != "dense", format.name)


def _section(format: Any) -> str:
    tensor = _tensor(format)
    lines = [
        f"## {format.name}",
        "",
        _paragraph(format),
        "",
        "```text",
        _picture(tensor),
        "```",
        "",
    ]
    lines += ["| buffer | holds | here |", "| --- | --- | --- |"]
    for key, values in tensor.buffers.items():
        depth, name = key.split("_", 1)
        level = tensor.format.levels()[int(depth)]
        field = next(f for f in level.fields if f.name == name)
        lines.append(f"| `{name}` of {level.name} | {field.role} | {_values(values)} |")
    lines += ["", f"Writes: {format.order.value}. Reads: {', '.join(sorted(format.protocols))}."]
    thaw = "can" if format.thaws else "cannot"
    lines += [f"A frozen tensor {thaw} be updated again.", ""]
    return "\n".join(lines)


def _tensor(format: Any) -> Tensor:
    """The matrix in this format; the singular one where a row has too much for it."""
    tree: Format = Dense(format(Element(0)))
    try:
        return Tensor(tree, MATRIX)
    except FormatError:
        return Tensor(tree, SINGULAR)


def _paragraph(format: Any) -> str:
    """The first paragraph of the format's own documentation."""
    text = inspect.getdoc(format) or ""
    return text.split("\n\n")[0].replace("``", "`")


def _picture(tensor: Tensor) -> str:
    """Each row, with what is stored for it."""
    stored = _stored(tensor)
    rows = []
    for row, groups in zip(tensor.to_numpy(), stored, strict=True):
        cells = ["." for _ in row]
        ends = set()
        for start, stop in groups:
            cells[start:stop] = [str(value) for value in row[start:stop]]
            ends |= {start, stop}
        line = "".join(("|" if k in ends else " ") + cell for k, cell in enumerate(cells))
        rows.append(line + ("|" if len(cells) in ends else " "))
    return "\n".join(row.rstrip() for row in rows)


def _stored(tensor: Tensor) -> list[list[tuple[int, int]]]:
    """For each row the stretches that are stored together."""
    buffers = {
        key.split("_", 1)[1]: v.tolist() for key, v in tensor.buffers.items() if key[0] == "1"
    }
    rows, columns = tensor.shape
    return [_stretches(buffers, row, columns) for row in range(rows)]


def _stretches(buffers: dict[str, list[int]], row: int, columns: int) -> list[tuple[int, int]]:
    entries = slice(*buffers["ptr"][row : row + 2]) if "ptr" in buffers else slice(row, row + 1)
    if "left" in buffers:
        pairs = zip(buffers["left"][entries], buffers["right"][entries], strict=True)
        return [(left, right + 1) for left, right in pairs if left < columns]
    if "right" in buffers:
        ends = buffers["right"][entries]
        return list(zip([0, *ends], ends, strict=False))
    if "ofs" in buffers:
        starts = buffers["ofs"][entries.start : entries.stop + 1]
        sizes = [b - a for a, b in itertools.pairwise(starts)]
        lasts = buffers["idx"][entries]
        return [(last + 1 - n, last + 1) for last, n in zip(lasts, sizes, strict=True) if n]
    if "idx" in buffers:
        return [(i, i + 1) for i in buffers["idx"][entries] if i < columns]
    if "pos" in buffers:
        return [(p - row * columns, p - row * columns + 1) for p in buffers["pos"][entries]]
    return [(i, i + 1) for i in range(columns)]


def _values(values: np.ndarray[Any, Any]) -> str:
    shown = [str(int(v)) for v in values[:24]]
    return " ".join(shown) + (" ..." if len(values) > 24 else "")


def _grid(matrix: np.ndarray[Any, Any]) -> str:
    return "\n".join(" ".join(map(str, row)) for row in matrix)


if __name__ == "__main__":
    PAGE.write_text(page())
