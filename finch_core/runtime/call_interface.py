"""What a call of a kernel takes and returns, and which tensors its program writes."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any

from finch_core.interface.layout import local_records
from finch_core.ir.program import Declare, Program


def ordered(program: Program, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The arguments in the order of the parameters. Raises ``TypeError`` where Python would."""
    names = program.params
    if len(args) > len(names):
        raise TypeError(f"{program.name}() takes {len(names)} arguments, {len(args)} were given")
    if not kwargs and program.defaults.keys() >= set(names[len(args) :]):
        return [*args, *[program.defaults[name] for name in names[len(args) :]]]
    given = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name not in names:
            raise TypeError(f"{program.name}() has no parameter {name!r}")
        if name in given:
            raise TypeError(f"{program.name}() got {name!r} twice")
        given[name] = value
    given = {**program.defaults, **given}
    missing = [name for name in names if name not in given]
    if missing:
        raise TypeError(f"{program.name}() lacks the argument {missing[0]!r}")
    return [given[name] for name in names]


def declared(program: Program) -> frozenset[str]:
    """The names of the tensors that the program declares."""
    return frozenset(p.tensor for p in program.body.walk() if isinstance(p, Declare))


class Result(enum.Enum):
    """What a result of a kernel is."""

    ARGUMENT = "an argument, as it was given"
    TENSOR = "a tensor that the kernel makes"
    NUMBER = "the value of a variable"


TAKE: dict[Result, Callable[[Sequence[Any], Sequence[Any], int], Any]] = {
    Result.ARGUMENT: lambda given, _locals, k: given[k],
    Result.TENSOR: lambda _given, locals_, k: locals_[k],
    Result.NUMBER: lambda _given, locals_, k: locals_[k].value,
}


def result_plan(program: Program) -> tuple[tuple[Result, int], ...]:
    """For each result: what it is, and its position among arguments or records."""
    plan = {n: (Result.ARGUMENT, k) for k, n in enumerate((*program.params, *program.free))}
    for k, local in enumerate(local_records(program)):
        plan[local.name] = (Result.NUMBER if local.is_variable else Result.TENSOR, k)
    return tuple(plan[name] for name in program.results)
