"""What is found of a node of a tree, kept by the node.

Trees do not change, and most nodes outlive many passes, which ask the same of them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

N = TypeVar("N")
T = TypeVar("T")


def kept(slot: str) -> Callable[[Callable[[N], T]], Callable[[N], T]]:
    """A function of a node that is computed once for each: the node, whose class has the
    ``slot``, keeps the result there."""

    def decorated(find: Callable[[N], T]) -> Callable[[N], T]:
        def found(node: N) -> T:
            value: Any = getattr(node, slot, _UNKNOWN)
            if value is _UNKNOWN:
                value = find(node)
                object.__setattr__(node, slot, value)
            return value  # type: ignore[no-any-return]

        found.__doc__ = find.__doc__
        return found

    return decorated


_UNKNOWN: Any = object()
