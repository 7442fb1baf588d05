"""From a program and signatures to Finch Normal Form: names are bound, and the passes run."""

from __future__ import annotations

from finch_core.interface.layout import needs_record
from finch_core.interface.plugins import hub
from finch_core.interface.signatures import ScalarSignature, Signature, bind, tensor_signature
from finch_core.interface.tensorlike import BoundTensor, TensorLike
from finch_core.interface.watch import Watch
from finch_core.ir.builder import Names
from finch_core.ir.expressions import Var
from finch_core.ir.program import Program, Stmt
from finch_core.lower.passes import PASSES, Unit
from finch_core.runtime.local_formats import local_formats
from finch_core.runtime.options import Options
from finch_core.runtime.parameters import BoundParameter
from finch_core.runtime.uses import check_uses
from finch_core.symbolic.plugin_rules import checked_rules
from finch_core.symbolic.simplifier import RULES, Simplifier


def normalize(
    program: Program,
    signatures: tuple[Signature, ...],
    options: Options,
    watch: Watch | None = None,
) -> tuple[Stmt, Unit, tuple[BoundParameter, ...]]:
    """The body in normal form, what the passes found out, and what the program's names stand for.

    Raises the ``FinchError`` of the first pass that refuses the program.
    """
    unit, arguments = _bound(program, signatures, options, watch)
    stmt = program.body
    for pass_ in PASSES:
        stmt = pass_(stmt, unit)
        if watch is not None:
            watch.normalized(pass_.__name__, stmt)
    made = tuple(BoundParameter(tensor, in_registers=True) for tensor in unit.made)
    return unit.simplifier.stmt(stmt), unit, (*arguments, *made)


def _bound(
    program: Program,
    signatures: tuple[Signature, ...],
    options: Options,
    watch: Watch | None = None,
) -> tuple[Unit, tuple[BoundParameter, ...]]:
    """The program's names, bound to variables of the kernel."""
    given = (*program.params, *program.free)
    named = [
        n for n, s in zip(given, signatures, strict=True) if not isinstance(s, ScalarSignature)
    ]
    named += [local.name for local in program.locals if not local.is_variable]
    names = Names(("control", *named))  # the records of tensors have their names
    tensors: dict[str, BoundTensor] = {}
    seen: dict[str, TensorLike] = {}
    scalars: dict[str, Var] = {}
    arguments = []
    for name, signature in zip(given, signatures, strict=True):
        tensor, tensor_like, vars_ = bind(signature, name, names)
        if tensor_like is None:
            scalars[name] = vars_[0]
        else:
            seen[name] = tensor_like
            if tensor is not None:
                tensors[name] = tensor
        arguments.append(BoundParameter(tensor, vars_))
    check_uses(program, seen, scalars)
    types = {name: tensor_like.dtype for name, tensor_like in seen.items()}
    types |= {name: var.type for name, var in scalars.items()}
    for local, format in local_formats(program, types):
        tensor, tensor_like, _ = bind(tensor_signature(format), local.name, names)
        assert tensor is not None
        assert tensor_like is not None
        tensor.local = True
        tensors[local.name], seen[local.name] = tensor, tensor_like
        arguments.append(BoundParameter(tensor, in_registers=not needs_record(local, program)))
    found = hub()
    unit = Unit(program, names, tensors, seen, scalars, options.strict, options.disabled, hub=found)
    own = checked_rules((*found.rules, *options.rules))
    unit.simplifier = Simplifier((*RULES, *own), watch)
    return unit, tuple(arguments)


__all__ = ["normalize"]
