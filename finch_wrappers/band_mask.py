"""BandMask: true on a band of diagonals."""

from __future__ import annotations

from typing import Any, ClassVar

from finch_core.interface.abi import MOST_INDICES
from finch_core.interface.signatures import ImplicitSignature, implicit_signature
from finch_core.ir.expressions import Access, Expr, Var, lift
from finch_core.plugins import hookimpl
from finch_core.records import frozen
from finch_core.runtime.wrapping import whole
from finch_core.symbolic.affine import Scope
from finch_wrappers.masking import Mask, Row, is_row


@frozen
class BandMask(Mask):
    """The Boolean matrix that is true at ``i, j`` where ``lo <= j - i <= hi``.

    ``lo`` and ``hi`` are integers: ``BandMask(0, 0)`` is the diagonal, ``BandMask(-1, 1)`` the
    three diagonals in the middle. They are run-time values, so that other bands use the same
    compiled code. The chained comparison ``i + lo <= j <= i + hi`` means the same.
    """

    lo: Any
    hi: Any

    name: ClassVar[str] = "BandMask"
    nscalars: ClassVar[int] = 2

    def __str__(self) -> str:
        shown = [b.name if isinstance(b, Var) else b for b in (self.lo, self.hi)]
        return f"BandMask({shown[0]}, {shown[1]})"

    @property
    def signature(self) -> ImplicitSignature:
        return _SIGNATURE

    def words(self) -> tuple[Any, ...]:
        bounds = (whole(bound, "the bound of a band") for bound in (self.lo, self.hi))
        return tuple(max(-MOST_INDICES, min(bound, MOST_INDICES)) for bound in bounds)

    def bind(self, scalars: tuple[Var, ...]) -> BandMask:
        return BandMask(*scalars)

    def row(self, i: Expr) -> Row:
        return Row(False, (i + lift(self.lo), i + lift(self.hi) + 1))

    def holds(self, i: Any, j: Any) -> Any:
        return (self.lo <= j - i) & (j - i <= self.hi)

    @staticmethod
    def match_access(node: Access, scope: Scope) -> Expr | None:
        """The comparisons that an access means, where its second index is not the inner one."""
        if not isinstance(node.tensor, BandMask) or is_row(node, scope):
            return None
        (i, j), mask = node.indices, node.tensor
        return (i + lift(mask.lo) <= j).and_(j <= i + lift(mask.hi))


_SIGNATURE = implicit_signature(BandMask(0, 0))


@hookimpl
def finch_mask() -> type[Mask]:
    """Register ``BandMask``."""
    return BandMask
