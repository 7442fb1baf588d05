"""The ``repr`` of a tensor: its tree of levels."""

from __future__ import annotations

from typing import Any

import numpy as np

from finch_core.ir.dtypes import as_number


def describe(tensor: Any) -> str:
    """Shape and dtype, then one line for each level: its buffers, counts and bytes; what is in
    buffers of few elements."""
    if tensor.ndim == 0:
        head = f"Tensor of {tensor.dtype}, value {tensor[()]}"
    else:
        shape = " x ".join(map(str, tensor.shape))
        head = f"Tensor {shape} of {tensor.dtype}, {tensor.nstored:,} stored, fill {_fill(tensor)}"
    lines = [head]
    buffers = tensor.named_arrays()
    dims = iter(tensor.shape)
    for k, (level, positions, sizes, _) in enumerate(tensor.levels()):
        nbytes = sum(buffers[f"{k}_{name}"].nbytes for name in sizes)
        indent = "   " * k + ("└─ " if k else "")
        size = "" if level.is_leaf else f"[{next(dims)}]"
        count = f"{positions:,} {'value' if level.is_leaf else 'fiber'}{'s' * (positions != 1)}"
        parts = ", ".join(f"{n} {b.dtype}[{len(b):,}]{_shown(b)}" for n, b in _own(buffers, k))
        lines.append(f"{indent}{level.name}{size}: {count}{_suffix(parts, nbytes)}")
    return "\n".join(lines)


FEW = 8
"""The most elements of a buffer that are shown."""


def _shown(buffer: Any) -> str:
    if not 0 < len(buffer) <= FEW:
        return ""
    return f" = {np.array2string(buffer, max_line_width=1 << 16)}"


def _own(buffers: dict[str, Any], k: int) -> list[tuple[str, Any]]:
    return [(key.split("_", 1)[1], b) for key, b in buffers.items() if key.startswith(f"{k}_")]


def _suffix(parts: str, nbytes: int) -> str:
    return f", {parts}, {nbytes:,} bytes" if parts else ""


def _fill(tensor: Any) -> Any:
    return as_number(tensor.fill_value)
