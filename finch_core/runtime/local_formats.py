"""The formats of what a program makes: of tensors as it has them, of variables by their dtypes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from finch_core.interface.layout import local_records
from finch_core.interface.level import Format
from finch_core.interface.signatures import Signature, bind
from finch_core.interface.variable import Variable
from finch_core.ir.builder import Names
from finch_core.ir.dtypes import Type
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
    names, types = Names(), {}
    for name, signature in zip((*program.params, *program.free), signatures, strict=True):
        _, tensor_like, vars_ = bind(signature, name, names)
        types[name] = vars_[0].type if tensor_like is None else tensor_like.dtype
    formats = dict(local_formats(program, types))
    return tuple(formats[local] for local in records)


__all__ = ["local_formats", "record_formats"]
