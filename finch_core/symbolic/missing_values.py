"""Propagation of ``missing``: every operator but ``coalesce`` propagates it (paper, Table "Wrapper
tensors", PermissiveTensor).

It is resolved during compilation: no generated code tests for it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from finch_core.errors import FormatError, Span
from finch_core.ir import primitives as prim
from finch_core.ir.builder import negation
from finch_core.ir.dtypes import Type, concrete, is_weak, same
from finch_core.ir.expressions import FALSE, TRUE, Access, Call, Expr, Literal, Name, cast
from finch_core.ir.missing import Missing, MissingType, coalesce, present
from finch_core.ir.rewrite import rewrite_expr
from finch_core.records import evolve


def propagate(call: Call) -> Expr | None:
    """``op(..., missing, ...)`` is ``missing``, unless the other operand of a logical operator
    decides.

    An operand that is missing in one case only is split into two cases.
    """
    if call.op in (coalesce, present):
        return None
    for k, arg in enumerate(call.args):
        if call.op is prim.ifelse and k > 0:
            break
        if isinstance(arg, Missing):
            return _with_missing(call, k)
        if _in_one_case(arg):
            return _cases(call, k)
    return None


def first_present(call: Call) -> Expr | None:
    """``coalesce`` without operands that are missing, up to the first that cannot be."""
    kept: list[Expr] = []
    for arg in call.args:
        if not isinstance(arg, Missing):
            kept.append(arg)
            if _present(arg):
                break
    if not kept:
        return Missing(_type_of(call))
    if len(kept) == 1:
        return _as_type_of(kept[0], call)
    if len(kept) < len(call.args):
        return _as_type_of(Call(coalesce, tuple(kept)), call)
    found = next((k for k, arg in enumerate(call.args) if _in_one_case(arg)), None)
    return None if found is None else _cases(call, found)


def whether_present(call: Call) -> Expr | None:
    """Whether an operand is not missing, as far as its accesses have been read."""
    (arg,) = call.args
    if isinstance(arg, Missing):
        return FALSE
    if _in_one_case(arg):
        return _cases(call, 0)
    return TRUE if _present(arg) else None


def with_types(call: Call) -> Expr:
    """A call in which ``missing`` is written out: so is its value, or that of one case."""
    if not any(isinstance(arg, Missing) for arg in call.args) or call.op is coalesce:
        return call
    if call.op is not prim.ifelse:
        found = propagate(call)
        return call if found is None else found
    known = [arg.dtype for arg in call.args[1:] if not isinstance(arg, Missing)]
    if isinstance(call.args[0], Missing) or not known:
        return Missing(known[0] if known else MissingType)
    args = (Missing(known[0]) if isinstance(arg, Missing) else arg for arg in call.args)
    return evolve(call, args=tuple(args))


def fill_for_missing(call: Call) -> Expr:
    """``coalesce(A[~i], z)``, where ``z`` is the fill value of ``A``, is ``A`` extended with its
    fill: positions out of bounds need no case of their own."""
    if call.op is not coalesce or len(call.args) < 2:
        return call
    *first, access, default = call.args
    if not isinstance(access, Access) or not isinstance(default, Literal):
        return call
    tensor = access.tensor.filled_beyond() if _is_fill(access, default) else None
    if tensor is None:
        return call
    access = evolve(access, tensor=tensor)
    return Call(coalesce, (*first, access)) if first else _as_type_of(access, call)


def _is_fill(access: Access, default: Literal) -> bool:
    """Whether a number is the fill value of a tensor, including the sign of zero."""
    fill, dtype = access.tensor.fill_value, concrete(access.dtype)
    if fill is None or dtype.kind not in "biufc" or default.value != fill:
        return False
    return bool(np.asarray(default.value).astype(dtype).tobytes() == np.asarray(fill).tobytes())


def require_present(value: Expr, span: Span | None) -> None:
    """Raise ``FormatError`` at ``span`` if a statement would use ``missing``."""
    if may_be_missing(value):
        raise FormatError(
            "missing cannot be stored or tested: a permissive read may be out of bounds here",
            span=span,
            hint="give it a value there, as in coalesce(A[~i], 0)",
        )


def may_be_missing(value: Expr) -> bool:
    """Whether ``value``, all of whose accesses have been read, is missing in some case."""
    return any(isinstance(node, Missing) for node in value.walk())


def parted(value: Expr) -> tuple[Expr, Expr]:
    """When ``value``, a choice, is not missing; and ``value`` with a number for ``missing``."""
    zero = Literal(0, value.dtype if value.dtype is not MissingType else int)
    number = rewrite_expr(value, lambda e: zero if isinstance(e, Missing) else e)
    return presence(value, lambda e: isinstance(e, Missing)), number


def presence(value: Expr, is_absent: Callable[[Expr], bool]) -> Expr:
    """The condition under which a choice does not choose what is absent."""
    if not (isinstance(value, Call) and value.op is prim.ifelse):
        return FALSE if is_absent(value) else TRUE
    cond = value.args[0]
    yes, no = (presence(arg, is_absent) for arg in value.args[1:])
    if yes == TRUE:
        return cond.or_(no)
    return cond.and_(yes).or_(negation(cond).and_(no))


def _with_missing(call: Call, k: int) -> Expr:
    """A call whose operand ``k`` is missing: so is the call, unless the other operand of a logical
    operator decides, which may turn out to be missing, too."""
    none = Missing(_type_of(call))
    if call.op not in (prim.and_, prim.or_):
        return none
    other = call.args[1 - k]
    if isinstance(other, Missing):
        return none
    if isinstance(other, Literal):
        return other if bool(other.value) is (call.op is prim.or_) else none
    cases = (none, FALSE) if call.op is prim.and_ else (TRUE, none)
    undecided = TRUE if call.op is prim.and_ else FALSE
    cond = other if _present(other) else Call(coalesce, (other, undecided))
    return Call(prim.ifelse, (cond, *cases))


def _in_one_case(arg: Expr) -> bool:
    return isinstance(arg, Call) and arg.op is prim.ifelse and any(
        isinstance(case, Missing) or _in_one_case(case) for case in arg.args[1:]
    )  # fmt: skip


def _cases(call: Call, k: int) -> Expr:
    cond, yes, no = call.args[k].children
    before, after = call.args[:k], call.args[k + 1 :]
    cases = (_resolved(Call(call.op, (*before, case, *after))) for case in (yes, no))
    return Call(prim.ifelse, (cond, *cases))


def _resolved(call: Call) -> Expr:
    """``call``, whose operands are simplified, with ``missing`` propagated or dropped where
    possible."""
    rules = {coalesce: first_present, present: whether_present}
    found = rules.get(call.op, propagate)(call)
    return call if found is None else found


def _present(arg: Expr) -> bool:
    """Whether an expression is never missing."""
    return not any(isinstance(node, (Access, Name, Missing)) for node in arg.walk())


def _type_of(call: Call) -> Type:
    try:
        return call.dtype
    except TypeError:  # a missing without a type
        return MissingType


def _as_type_of(expr: Expr, call: Call) -> Expr:
    dtype = _type_of(call)
    if dtype is MissingType or is_weak(dtype) or same(expr.dtype, dtype):
        return expr
    return cast(expr, concrete(dtype))


__all__ = [
    "fill_for_missing", "first_present", "may_be_missing", "parted", "presence", "propagate",
    "require_present", "whether_present", "with_types",
]  # fmt: skip
