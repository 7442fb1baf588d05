"""The parameters of a kernel: a record for each tensor, an argument for each number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from finch_core.interface.layout import layout
from finch_core.interface.tensorlike import BoundTensor
from finch_core.ir import assembly as asm
from finch_core.ir.assembly_rewrite import names_in, own_changes
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import Var
from finch_core.records import evolve, frozen


@frozen
class BoundParameter:
    """A parameter, free name or temporary of the program, bound to variables of the kernel.

    ``in_registers``: a temporary scalar that lives in variables of the kernel and has no record.
    """

    tensor: BoundTensor | None
    scalars: tuple[Var, ...] = ()
    in_registers: bool = False


def parameters_of(arguments: Iterable[BoundParameter]) -> Iterator[asm.Record | asm.Argument]:
    """The parameters in the order in which a call passes them."""
    for argument in arguments:
        if argument.tensor is not None and not argument.in_registers:
            yield _record(argument.tensor)
        for var in argument.scalars:
            yield asm.Argument(evolve(var, type=concrete(var.type)))


def _record(tensor: BoundTensor) -> asm.Record:
    place = layout(tensor.format)
    levels = tensor.level.levels()
    dims = [lvl.shape for lvl in levels if not lvl.format.is_leaf]
    slots = [asm.Slot(dim, k, length=True) for k, dim in enumerate(dims) if isinstance(dim, Var)]
    for part in (*place.scalars, *place.buffers):
        slots.append(asm.Slot(levels[part.level].parts[part.field.name], part.offset))
    if tensor.sizeless is not None and place.sizeless is not None:
        slots.append(asm.Slot(tensor.sizeless, place.sizeless))
    return asm.Record(tensor.name, tuple(slots), tensor.local)


def used_parameters(kernel: asm.Kernel) -> Iterator[asm.Record | asm.Argument]:
    """The parameters, reduced to the slots that the body uses; slots that it changes are marked."""
    used = names_in(kernel.body)
    changing = (s for s in kernel.body.walk() if isinstance(s, (asm.Assign, asm.Grow, asm.Swap)))
    written = {name for s in changing for name in own_changes(s)}
    for param in kernel.params:
        if isinstance(param, asm.Record):
            slots = tuple(
                evolve(slot, written=slot.target.name in written)
                for slot in param.slots
                if slot.target.name in used
            )
            param = evolve(param, slots=slots)
        yield param


__all__ = ["BoundParameter", "parameters_of", "used_parameters"]
