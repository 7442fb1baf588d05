"""Marks on tensors: by the calls that write them, and by objects that are over their buffers."""

from __future__ import annotations

from typing import Any


class Writer:
    """A call that writes tensors, until it has ``ended``; ``lent``: other objects may be over the
    buffers of one of them."""

    __slots__ = ("ended", "lent")

    def __init__(self) -> None:
        self.ended = self.lent = False


NOBODY, LENT = Writer(), Writer()
NOBODY.ended = LENT.ended = LENT.lent = True


def lend(tensor: Any) -> None:
    """Note that other objects may be over the buffers of a tensor."""
    try:
        before = tensor.writer
    except AttributeError:
        before = NOBODY
    if before.ended:
        tensor.writer = LENT
    else:
        before.lent = True


__all__ = ["NOBODY", "Writer", "lend"]
