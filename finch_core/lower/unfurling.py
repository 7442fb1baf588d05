"""Unfurling: the accesses of a loop's index become slots, each with the looplet of its level.

Paper, Figure "Looplet evaluation semantics", rule *Unfurl*.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Any

from finch_core.errors import Span, placed
from finch_core.interface.abilities import RANDOM_ACCESS
from finch_core.interface.level import Mode
from finch_core.interface.looplet import Looplet
from finch_core.interface.run import Part, Run, as_looplet, as_subtensor
from finch_core.interface.tensorlike import BoundTensor, Constant, TensorLike
from finch_core.interface.views import InPlace, View
from finch_core.ir.expressions import TRUE, Access, Expr, Literal
from finch_core.ir.program import Extent, Loop, Stmt
from finch_core.looplets import Lookup, Phase, Sequence, Stepper, Switch
from finch_core.looplets.select import select
from finch_core.looplets.slots import AccessSlot
from finch_core.looplets.transform import inside
from finch_core.lower.bounds import Beyond, contained, has_fields, is_loose
from finch_core.lower.extents import is_settled
from finch_core.lower.leading_indices import Missed, selected
from finch_core.records import define, evolve, field
from finch_core.symbolic.affine import leading

if TYPE_CHECKING:
    from finch_core.interface.context import Context


@define
class Unfurling:
    """The accesses of a loop's index, as they become slots.

    ``region`` is where the loop runs; ``certain`` are the reads that every turn does; ``single``:
    the loop has one turn; ``inner`` are the tensors that indices read.
    """

    ctx: Context
    stmt: Loop
    region: Extent
    certain: Container[Access]
    single: bool
    inner: frozenset[TensorLike]
    looplets: dict[int, Looplet] = field(factory=dict)
    """The looplet of each slot, by its number."""
    whole: dict[int, Access] = field(factory=dict)
    """What is updated in place, by the number of its slot."""
    slots: dict[Any, AccessSlot] = field(factory=dict)
    """The slot of each subfiber and mode."""

    def rule(self, mode: Mode) -> Callable[[Expr], Expr]:
        """Replaces the tensor of an access by a slot, if its next index is the loop's."""

        def rule(node: Expr) -> Expr:
            if not isinstance(node, Access) or isinstance(node.tensor, AccessSlot):
                return node
            lead = leading(node)
            if node.indices[lead : lead + 1] != (self.stmt.index,):
                return node
            view, base = _seen(node)
            slot = self._slot(node, base, lead, Mode.READ if view is not None else mode)
            slot = evolve(slot, view=view)
            if view is InPlace:
                self.whole[slot.number] = base
            return evolve(node, tensor=slot, indices=node.indices[lead:])

        return rule

    def _slot(self, node: Access, base: Access, lead: int, mode: Mode) -> AccessSlot:
        key = (base.tensor, node.indices[:lead], mode)
        if key not in self.slots:
            root = node.tensor.root
            if root is not None:
                self.ctx.spans[root] = node.span
            sure = mode is Mode.READ and node in self.certain
            tensor = selected(self.ctx, base, sure)
            self.slots[key] = slot = AccessSlot(self.ctx.fresh_slot(), tensor)
            protocol = RANDOM_ACCESS if self._at_random(root, mode) else ""
            with placed(node.span):
                looplet = tensor.unfurl(self.ctx, mode, protocol)
            if mode is Mode.READ and not sure:
                looplet = self._where_it_exists(looplet, tensor, node.span)
                looplet = self._kept_inside(looplet, tensor, base.tensor in self.inner)
            self.looplets[slot.number] = looplet
        return self.slots[key]

    def _where_it_exists(self, looplet: Looplet, tensor: TensorLike, span: Span | None) -> Looplet:
        """``looplet``, if the loop is within the dimension; else what fails where it is read. The
        bounds of a read under a condition are checked under that condition, and levels may load
        their fields before."""
        extent = tensor.dims[0]
        if extent is None or (self.stmt.index, extent) in self.ctx.fitting:
            return looplet
        if not has_fields(tensor) or is_loose(self.ctx, self.stmt.index, extent):
            return looplet
        start, stop = self.region.start, self.region.stop
        fits = contained(self.ctx, start, stop, extent)
        if fits == TRUE:
            return looplet
        index = start if self.single else None
        beyond = Beyond(tensor, tensor.ndim - 1, extent.stop, index, span)
        return Switch(fits, looplet, Missed(beyond))

    def _kept_inside(self, looplet: Looplet, tensor: TensorLike, inner: bool) -> Looplet:
        """``looplet``, which is read at indices outside of the dimension, too, where conditions
        keep accesses inside: a level may load its fields before it is known whether these hold. A
        lookup finds there what is at the first index; steps end, and before and after is fill.

        ``inner``: it is read in the index of an access, which is computed before the access.
        """
        extent = tensor.dims[0]
        parts = () if extent is None else self.ctx.loose.get(self.stmt.index, {}).get(extent, ())
        if extent is None or not parts or not (inner or has_fields(tensor)):
            return looplet
        if self.stmt.extent in parts:
            return looplet  # some access has no condition: the whole range is within
        known = [p for p in parts if is_settled(p)]
        where = known[0] if len(known) == len(parts) == 1 else extent
        fill = Literal(tensor.fill_value, tensor.dtype, structural=True)
        missing = Run(Constant(fill, tensor.ndim - 1))

        def kept(part: Part) -> Part:
            if isinstance(part, Lookup):
                return evolve(part, body=lambda ctx, i: at(ctx, part, i))
            if isinstance(part, Stepper) and part.tail is None:
                phases = Phase(where.start, missing), Phase(where.stop, part)
                return Sequence((*phases, Phase(None, missing)))
            return part

        def at(ctx: Context, lookup: Lookup, i: Expr) -> Part:
            held = [ctx.prover.decide((p.start <= i).and_(i < p.stop)) for p in known]
            within = ctx.prover.decide((extent.start <= i).and_(i < extent.stop))
            alone = tensor.ndim == 1 and not inner
            if within == TRUE or TRUE in held or (alone and _is_element(ctx, lookup, i)):
                return lookup.at(ctx, i)
            exists = ctx.prover.decide(extent.start < extent.stop)
            first = ctx.let("at", ctx.ifelse(within, i, extent.start))
            found = ctx.under(exists, lambda: lookup.at(ctx, first))
            if isinstance(found, Run):
                return select(exists, as_subtensor(found.body), missing.body)
            return found if exists == TRUE else Switch(exists, found, missing)

        return as_looplet(inside(looplet, kept))

    def _at_random(self, root: BoundTensor | None, mode: Mode) -> bool:
        """Whether an access is a read that uses random access."""
        alone = self.single and self.ctx.allows("random_access")
        return mode is Mode.READ and (root in self.ctx.updating or alone)


def _is_element(ctx: Context, lookup: Lookup, i: Expr) -> bool:
    """Whether a lookup gives an element, which is loaded where it is read."""
    return isinstance(ctx.look(lambda: lookup.at(ctx, i)), Run)


def read_in_indices(stmt: Stmt) -> frozenset[TensorLike]:
    """The tensors that the indices of accesses read, or ranges of loops, which such indices
    become."""
    exprs = (expr for part in stmt.walk() for expr in part.exprs)
    accesses = (node for expr in exprs for node in expr.walk() if isinstance(node, Access))
    indices = [index for access in accesses for index in access.indices]
    indices += [expr for part in stmt.walk() if isinstance(part, Loop) for expr in part.exprs]
    inner = (node for index in indices for node in index.walk())
    return frozenset([node.tensor for node in inner if isinstance(node, Access)])


def _seen(node: Access) -> tuple[Callable[[TensorLike], TensorLike] | None, Access]:
    """The view of an access, if it is one, and the access of the tensor inside."""
    if not isinstance(node.tensor, View):
        return None, node
    return node.tensor.kind, evolve(node, tensor=node.tensor.inner)
