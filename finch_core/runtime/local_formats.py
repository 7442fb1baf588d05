"""The formats of what a program makes: of tensors as it has them, of variables by their dtypes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from finch_core.interface.layout import local_records
from finch_core.interface.level import Format
from finch_core.interface.plugins import hub
from finch_core.interface.signatures import Signature, bind
from finch_core.interface.tensorlike import TensorLike
from finch_core.interface.variable import Variable
from finch_core.ir.builder import Names
from finch_core.ir.dense_like import DenseLike
from finch_core.ir.dtypes import Type
from finch_core.ir.expressions import Access, Index
from finch_core.ir.program import Local, Program
from finch_core.ir.variables import variable_types


def local_formats(program: Program, types: Mapping[str, Type]) -> Iterator[tuple[Local, Format]]:
    """The temporaries with their formats; ``types`` are those of arguments and free names."""
    made = {local.name: local.format.dtype for local in program.locals if not local.is_variable}
    variables = variable_types(program, {**types, **made})
    for local in program.locals:
        yield local, Variable(variables[local.name]) if local.is_variable else local.format


def record_formats(program: Program, signatures: tuple[Signature, ...]) -> tuple[Format, ...]:
    """The formats of the temporaries that have a record."""
    records = local_records(program)
    if not any(local.is_variable for local in records):
        return tuple(local.format for local in records)
    tensors, numbers = _types(program, signatures)
    types = {**numbers, **{name: tensor.dtype for name, tensor in tensors.items()}}
    formats = dict(local_formats(program, types))
    return tuple(formats[local] for local in records)


def with_formats(program: Program, signatures: tuple[Signature, ...]) -> Program:
    """The program with a format for each tensor that it makes, those that take after arguments
    included. Raises ``FinchError`` where an argument is no tensor, as they need."""
    if not any(isinstance(local.format, DenseLike) for local in program.locals):
        return program
    from finch_core.lower.made_like import Known, made_like  # what lowers, when it is needed

    tensors, numbers = _types(program, signatures)
    known = {
        name: Known(seen.dtype, seen.ndim, seen.fill_value, _order(seen))
        for name, seen in tensors.items()
    }
    return made_like(program, known, numbers)


def _order(tensor: TensorLike) -> tuple[int, ...]:
    """The dimensions as they are stored, the outermost first."""
    dims = tuple(Index(str(axis)) for axis in range(tensor.ndim))
    wrappers = [w for w in hub().wrappers.values() if getattr(w, "permutes", False)]
    access: Access | None = Access(tensor, dims)
    while access is not None:
        indices = access.indices
        matches = (wrapper.match_access(access, dims) for wrapper in wrappers)
        access = next((found for found in matches if found is not None), None)
    return tuple(dims.index(index) for index in indices if isinstance(index, Index))


def _types(
    program: Program, signatures: tuple[Signature, ...]
) -> tuple[dict[str, TensorLike], dict[str, Type]]:
    """The arguments and free names that are tensors, and the types of numbers."""
    names, tensors, numbers = Names(), {}, {}
    for name, signature in zip((*program.params, *program.free), signatures, strict=True):
        _, tensor_like, vars_ = bind(signature, name, names)
        if tensor_like is None:
            numbers[name] = vars_[0].type
        else:
            tensors[name] = tensor_like
    return tensors, numbers


__all__ = ["local_formats", "record_formats", "with_formats"]
