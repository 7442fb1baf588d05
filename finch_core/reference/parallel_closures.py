"""Parallel loops in the interpreter: parts run out of order, on a few simulated threads.

Each thread has private variables and buffers of its own, and a frame of its own for each part. The
parts of one group run last to first; then their merges run first to last. So a part that depends on
another, or on what a thread has left from an earlier part, gives another result than in C.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from finch_core.ir.assembly import Block, For, Let, Merge, Parallel
from finch_core.ir.dtypes import concrete
from finch_core.reference.closures import FIRST, Code, Failure, Frame, FrameLayout

THREADS = 3

BlockCode = Callable[[Block, FrameLayout], Code]


def parallel_code(loop: Parallel, frames: FrameLayout, block_code: BlockCode) -> Code:
    """The closure that runs a parallel loop."""
    return _Loop(loop, frames, block_code).run


class _Loop:
    """A parallel loop, and the places of its variables in a frame."""

    def __init__(self, loop: Parallel, frames: FrameLayout, block_code: BlockCode) -> None:
        body, merge = _parts(loop.body)
        self._private = loop.private
        self._inits = [None if x.init is None else frames.code(x.init) for x in loop.private]
        self._place, self._count = frames.place(loop.var), frames.code(loop.count)
        self._at = [frames.place(item.target) for item in loop.private]
        self._body, self._merge = block_code(body, frames), block_code(merge, frames)
        declared = [s.var for s in loop.body.walk() if isinstance(s, (Let, For))]
        self._own = {frames.place(var) for var in declared} | {self._place, *self._at}

    def run(self, frame: Frame) -> None:
        """Run the loop in the frame of its block."""
        held = [self._made(frame) for _ in range(THREADS)]
        outer = [at for at in range(FIRST, len(frame)) if at not in self._own]
        parts = self._count(frame)
        for first in range(0, parts, THREADS):
            group = range(first, min(first + THREADS, parts))
            ran = {part: self._part(frame, part, held[part - first]) for part in reversed(group)}
            for part in group:
                mine, failure = ran[part]
                if failure is not None:
                    raise failure
                for at in outer:
                    mine[at] = frame[at]
                self._merge(mine)
                for at in outer:
                    frame[at] = mine[at]
                held[part - first] = [mine[at] for at in self._at]

    def _made(self, frame: Frame) -> list[Any]:
        """The private variables and buffers of a thread."""
        pairs = zip(self._inits, self._private, strict=True)
        return [
            init(frame) if init else np.empty(0, concrete(item.target.dtype))
            for init, item in pairs
        ]

    def _part(self, frame: Frame, part: int, values: list[Any]) -> tuple[Frame, Failure | None]:
        """The frame of a part after its body, and the failure that ended it."""
        mine = list(frame)
        mine[self._place] = part
        for at, value in zip(self._at, values, strict=True):
            mine[at] = value
        try:
            self._body(mine)
        except Failure as failure:
            return mine, failure
        return mine, None


def _parts(block: Block) -> tuple[Block, Block]:
    """What parts do at the same time, and in order."""
    last = block.statements[-1] if block else None
    if isinstance(last, Merge):
        return Block(block.statements[:-1]), last.body
    return block, Block()


__all__ = ["parallel_code"]
