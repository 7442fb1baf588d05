"""Lazy arrays read at other indices: transposed, sliced, with other dimensions of 1."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from finch_array.plan.graph import viewed
from finch_array.plan.lazies import Lazy
from finch_array.plan.normal import index_of
from finch_core.ir.expressions import Expr


def permuted(array: Lazy, order: Sequence[int]) -> Lazy:
    """The dimensions in another order: dimension ``k`` of the result is ``order[k]``."""
    out = {f"v{k}": array.shape[axis] for k, axis in enumerate(order)}
    indices = [index_of(f"v{list(order).index(axis)}", 1, 0) for axis in range(array.ndim)]
    return Lazy(viewed(array.lazy_node, indices, out))


def reshaped(array: Lazy, shape: Sequence[int]) -> Lazy:
    """``array`` with its dimensions other than 1 in their order, and those of 1 as in ``shape``."""
    out = {f"v{k}": n for k, n in enumerate(shape)}
    wide = iter([name for name, n in out.items() if n != 1])
    indices = [index_of(None if n == 1 else next(wide), 1, 0) for n in array.shape]
    return Lazy(viewed(array.lazy_node, indices, out))


def sliced(array: Lazy, items: Sequence[Any], new: Sequence[int]) -> Lazy:
    """An integer or a slice for each dimension, then new dimensions of 1 at these places."""
    indices: list[Expr] = []
    sizes: list[int] = []
    names: list[int] = []
    for item, n in zip(items, array.shape, strict=True):
        if isinstance(item, int):
            indices.append(index_of(None, 0, item))
            continue
        wanted = range(*item.indices(n))
        names.append(len(indices))
        sizes.append(len(wanted))
        whole = n == 1 and len(wanted) == 1
        indices.append(
            index_of(None, 0, 0)
            if whole
            else index_of(f"v{len(names) - 1}", wanted.step, wanted.start)
        )
    out = {f"v{k}": n for k, n in enumerate(sizes)}
    order = list(out)
    for k, place in enumerate(new):
        order.insert(place, f"u{k}")
        out[f"u{k}"] = 1
    return Lazy(viewed(array.lazy_node, indices, {name: out[name] for name in order}))


__all__ = ["permuted", "reshaped", "sliced"]
