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
    body, merge = _parts(loop.body)
    place, count = frames.place(loop.var), frames.code(loop.count)
    private = [frames.place(item.target) for item in loop.private]
    run, finish = block_code(body, frames), block_code(merge, frames)
    inits = [None if item.init is None else frames.code(item.init) for item in loop.private]
    declared = [s.var for s in loop.body.walk() if isinstance(s, (Let, For))]
    own = {frames.place(var) for var in declared} | {place, *private}

    def fresh(frame: Frame, k: int) -> Any:
        init, target = inits[k], loop.private[k].target
        return init(frame) if init else np.empty(0, concrete(target.dtype))

    def started(frame: Frame, part: int, values: list[Any]) -> tuple[Frame, Failure | None]:
        """The frame of a part after its body, and the failure that ended it."""
        mine = list(frame)
        mine[place] = part
        for at, value in zip(private, values, strict=True):
            mine[at] = value
        try:
            run(mine)
        except Failure as failure:
            return mine, failure
        return mine, None

    def parallel(frame: Frame) -> None:
        held = [[fresh(frame, k) for k in range(len(private))] for _ in range(THREADS)]
        outer = [at for at in range(FIRST, len(frame)) if at not in own]
        parts = count(frame)
        for first in range(0, parts, THREADS):
            group = range(first, min(first + THREADS, parts))
            ran = {part: started(frame, part, held[part - first]) for part in reversed(group)}
            for part in group:
                mine, failure = ran[part]
                if failure is not None:
                    raise failure
                for at in outer:
                    mine[at] = frame[at]
                finish(mine)
                for at in outer:
                    frame[at] = mine[at]
                held[part - first] = [mine[at] for at in private]

    return parallel


def _parts(block: Block) -> tuple[Block, Block]:
    """What parts do at the same time, and in order."""
    last = block.statements[-1] if block else None
    if isinstance(last, Merge):
        return Block(block.statements[:-1]), last.body
    return block, Block()


__all__ = ["parallel_code"]
