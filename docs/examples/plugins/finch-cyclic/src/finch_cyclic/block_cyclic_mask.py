"""BlockCyclicMask: the block-cyclic distribution of indices, as of arrays over the processes of a
cluster."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar

import attrs
import numpy as np

from finch_core.interface.masks import BooleanTensor
from finch_core.interface.signatures import ImplicitSignature, implicit_signature
from finch_core.interface.tensorlike import Constant
from finch_core.ir.expressions import FALSE, TRUE, Access, Call, Expr, Index, Literal, Var, lift
from finch_core.looplets import Looplet, Part, Phase, Run, Sequence, Stepper, Thunk
from finch_core.operators import operator
from finch_core.plugins import hookimpl
from finch_core.symbolic.affine import Scope

if TYPE_CHECKING:
    from finch_core.interface.context import Context

FAR = 2**62
"""Larger than any index."""


@attrs.frozen
class BlockCyclicMask(BooleanTensor):
    """The Boolean vector that is true at ``i`` where ``(i // block) % parts == part``.

    ``BlockCyclicMask(4, 3, 1)`` is true at 4 to 7, 16 to 19, 28 to 31, ... The three numbers are
    run-time values: others run the same code. The condition ``(i // 4) % 3 == 1`` means this too.
    Raises ``ValueError`` unless ``block > 0`` and ``0 <= part < parts``.
    """

    block: Any
    parts: Any
    part: Any

    name: ClassVar[str] = "BlockCyclicMask"
    nscalars: ClassVar[int] = 3

    def __attrs_post_init__(self) -> None:
        numbers = self.block, self.parts, self.part
        if not any(isinstance(n, Expr) for n in numbers) and not _is_mask(*numbers):
            raise ValueError(f"{self} is no mask: 0 < block and 0 <= part < parts are wanted")

    def __str__(self) -> str:
        shown = (n.name if isinstance(n, Var) else str(n) for n in self._numbers)
        return f"BlockCyclicMask({', '.join(shown)})"

    @property
    def _numbers(self) -> tuple[Any, Any, Any]:
        return self.block, self.parts, self.part

    def to_numpy(self, shape: int | tuple[int]) -> np.ndarray[Any, Any]:
        """The first elements of the mask, as a bool array of the given shape."""
        (n,) = shape if isinstance(shape, tuple) else (shape,)
        result: np.ndarray[Any, Any] = np.arange(n) // self.block % self.parts == self.part
        return result

    # -- as an argument ---------------------------------------------------------------------

    @property
    def signature(self) -> ImplicitSignature:
        return implicit_signature(BlockCyclicMask(1, 1, 0))

    def words(self) -> tuple[Any, ...]:
        return tuple(map(int, self._numbers))

    def bind(self, scalars: tuple[Var, ...]) -> BlockCyclicMask:
        return BlockCyclicMask(*scalars)

    # -- in a program -----------------------------------------------------------------------

    @staticmethod
    def match_condition(node: Call, scope: Scope) -> Expr | None:
        """The mask for ``(i // block) % parts == part`` with three constants."""
        found = _constants(node)
        return None if found is None else Access(BlockCyclicMask(*found[1:]), found[:1])

    def looplet(self) -> Looplet:
        return Thunk(self._cycles)

    def _cycles(self, ctx: Context) -> Iterator[Part]:
        """Step from cycle to cycle; in each, one block is true."""
        block, parts, part = map(lift, self._numbers)
        cycle = ctx.let("cycle", parts * block)
        before = ctx.let("before", part * block)
        c = ctx.var("cycle_c", 0)

        def body(ctx: Context, c: Expr) -> Part:
            start = ctx.let("block_start", c * cycle + before)
            stop = ctx.let("block_stop", start + block)
            ctx.prover.know_le(c * cycle, start)
            ctx.prover.know_le(start, stop)
            ctx.prover.know_le(stop, (c + 1) * cycle)
            yes, no = Run(Constant(TRUE)), Run(Constant(FALSE))
            return Sequence((Phase(start, no), Phase(stop, yes), Phase(None, no)))

        yield Stepper(
            position=c,
            end=None,
            stop=lambda c: (c + 1) * cycle,
            body=body,
            seek=lambda ctx, i: ctx.assign(c, i // cycle),
            bound=ctx.lift(FAR),
            tail=None,
            start=ctx.lift(0),
            anchored=True,
        )


def _is_mask(block: int, parts: int, part: int) -> bool:
    return block > 0 and 0 <= part < parts


def _constants(node: Call) -> tuple[Index, int, int, int] | None:
    """``(i, block, parts, part)`` where a comparison is ``(i // block) % parts == part``."""
    if node.op is not operator("eq") or not isinstance(node.args[1], Literal):
        return None
    inner, numbers = node.args[0], [int(node.args[1].value)]
    for name in ("mod", "floordiv"):
        if not isinstance(inner, Call) or inner.op is not operator(name):
            return None
        inner, number = inner.args
        if not isinstance(number, Literal):
            return None
        numbers.append(int(number.value))
    part, parts, block = numbers
    if not isinstance(inner, Index) or not _is_mask(block, parts, part):
        return None
    return inner, block, parts, part


@hookimpl
def finch_mask() -> type[BlockCyclicMask]:
    """Register ``BlockCyclicMask``."""
    return BlockCyclicMask


__all__ = ["BlockCyclicMask"]
