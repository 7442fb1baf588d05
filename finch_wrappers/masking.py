"""The base class of masks: Boolean tensors without memory, made of fixed looplets (paper, section
"Wrapperization")."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from finch_core.interface.abi import MOST_INDICES
from finch_core.interface.array_methods import ArrayOperators
from finch_core.interface.masks import BooleanTensor
from finch_core.interface.signatures import ImplicitSignature, implicit_signature
from finch_core.interface.structure import Pieces, Structure
from finch_core.interface.tensorlike import Constant, TensorLike
from finch_core.ir.expressions import FALSE, TRUE, Access, Expr, Index, Literal, Var, lift
from finch_core.looplets import Lookup, Looplet, Phase, Run, Sequence
from finch_core.operators import Operator
from finch_core.records import frozen
from finch_core.symbolic.affine import Scope, given, is_given, is_unlimited


@frozen
class Mask(ArrayOperators, BooleanTensor):
    """A Boolean matrix: a ``Lookup`` of rows, each of which is true in one range of indices.

    It can be an argument of a kernel. It has no dimensions: the extents of loops come from other
    accesses or from written ranges, and the shape of a result of operators from other arrays.
    """

    name: ClassVar[str]
    shape: ClassVar[tuple[None, None]] = (None, None)
    fill_value: ClassVar[np.bool_] = np.False_
    structures: ClassVar[tuple[Structure, Structure]] = (
        Structure(Pieces.RUNS, gaps=False), Structure(Pieces.RUNS, gaps=True)
    )  # fmt: skip
    nscalars: ClassVar[int] = 0
    memory: ClassVar[tuple[()]] = ()

    def row(self, i: Expr) -> Row:
        """Row ``i`` of the mask."""
        raise NotImplementedError

    def holds(self, i: Any, j: Any) -> Any:
        """Whether the mask is true at ``i, j``: integers, integer arrays or expressions."""
        raise NotImplementedError

    # -- as an argument -----------------------------------------------------------------

    @property
    def signature(self) -> ImplicitSignature:
        return implicit_signature(self)

    def words(self) -> tuple[Any, ...]:
        return ()

    def bind(self, scalars: tuple[Var, ...]) -> TensorLike:
        return self

    def dense_access(self, node: Access) -> Expr:
        """The comparison of indices that an access to this mask means."""
        found: Expr = self.holds(*node.indices)
        return found

    def to_numpy(self, shape: tuple[int, int]) -> np.ndarray[Any, Any]:
        """The first rows and columns of the mask, as a bool array of the given shape."""
        result: np.ndarray[Any, Any] = self.holds(*np.indices(shape, sparse=True))
        return result

    # -- in a program -------------------------------------------------------------------

    @property
    def ndim(self) -> int:
        return 2

    def looplet(self) -> Looplet:
        return Lookup(lambda ctx, i: self.row(i))


@frozen
class Row(BooleanTensor):
    """A row of a mask: ``first`` up to the first of ``cuts``, then alternating at each of them."""

    first: bool
    cuts: tuple[Expr, ...]

    def looplet(self) -> Looplet:
        values = (self.first ^ bool(k % 2) for k in range(len(self.cuts) + 1))
        runs = (Run(Constant(TRUE if value else FALSE)) for value in values)
        return Sequence(tuple(map(Phase, (*self.cuts, None), runs)))


Comparison = tuple[Operator, Expr, Index]


def mask_for(
    mask: TensorLike, found: Comparison | None, where: Operator, elsewhere: Operator
) -> Expr | None:
    """The access of ``mask`` that is equivalent to a comparison, or None: ``where`` is the operator
    for which ``i op j`` is the mask at ``i, j``, ``elsewhere`` the one for its negation."""
    if found is None or found[0] not in (where, elsewhere):
        return None
    op, bound, index = found
    access = Access(mask, (given(bound), index))
    return access if op is where else access.not_()


def is_row(node: Access, scope: Scope) -> bool:
    """Whether an access reads a mask along its second index, the first fixed by an outer loop."""
    first, second = node.indices
    known = isinstance(first, Index) or is_given(first)
    return known and second in scope.loops and scope.depth(first) < scope.depth(second)


def with_room(found: Comparison | None) -> Comparison | None:
    """A comparison to whose bound one can be added without overflow, or None."""
    if found is None:
        return None
    op, bound, index = found
    if isinstance(bound, Literal):
        return op, lift(min(bound.value, MOST_INDICES)), index
    return (op, bound.min(MOST_INDICES), index) if is_unlimited(bound) else found
