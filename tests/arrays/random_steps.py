"""Random steps of expressions: each makes one array of others, by this package and by NumPy.

NumPy goes first: what it refuses is not drawn, and neither are results that are not finite (a fill
is exact: ``0 * x`` is 0, also where ``x`` is infinite) or of a dtype that the language lacks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from random_leaves import Pair

import finch_array as fa
from finch_core.ir.dtypes import SUPPORTED

Step = Callable[[Any, Pair, Any], Pair]


EXACT = {"float16": 2.0**8, "float32": 2.0**20, "complex64": 2.0**20}
"""Up to these sizes, sums and products of what is drawn are exact."""


RTOL = {"float16": 2e-2, "float32": 1e-3, "complex64": 1e-3}
"""The relative error of values that were rounded in these dtypes; 1e-8 in others."""


class Refused(Exception):
    """What was drawn has no meaning in NumPy, or none that can be compared."""


def refuse_if(condition: Any) -> None:
    if condition:
        raise Refused


def both(text: str, theirs: Any, mine: Any, *parts: Pair, rounded: bool = False) -> Pair:
    """The array of ``theirs()`` and ``mine()``, functions of no arguments."""
    try:
        wanted = np.asarray(theirs())
    except Exception as error:
        raise Refused from error
    refuse_if(wanted.dtype not in SUPPORTED or wanted.size > 4000)
    size = np.max(np.abs(wanted), initial=0) if wanted.dtype.kind in "fc" else 0
    refuse_if(not np.isfinite(size))
    inexact = size > EXACT.get(str(wanted.dtype), 2.0**48)
    try:
        found = mine()
    except Exception as error:
        error.add_note(text)
        raise
    error_of_parts = max((p.rounded for p in parts), default=0.0)
    if wanted.dtype.kind not in "fc" or not (rounded or inexact or error_of_parts):
        return Pair(found, wanted, text, 0.0)
    return Pair(found, wanted, text, max(error_of_parts, RTOL.get(str(wanted.dtype), 1e-8)))


def shape_of(pair: Pair) -> tuple[int, ...]:
    return tuple(np.shape(pair.theirs))


def kind_of(pair: Pair) -> str:
    return np.asarray(pair.theirs).dtype.kind


# -- elementwise ------------------------------------------------------------------------------

BINARY: dict[str, Any] = {
    "+": lambda x, y: x + y, "-": lambda x, y: x - y, "*": lambda x, y: x * y,
    "<": lambda x, y: x < y, "<=": lambda x, y: x <= y, "==": lambda x, y: x == y,
    "!=": lambda x, y: x != y, ">=": lambda x, y: x >= y, ">": lambda x, y: x > y,
    "/": lambda x, y: x / y, "//": lambda x, y: x // y, "%": lambda x, y: x % y,
    "&": lambda x, y: x & y, "|": lambda x, y: x | y, "^": lambda x, y: x ^ y,
    "**": lambda x, y: x**y,
}  # fmt: skip
ORDERED = {"<", "<=", ">", ">=", "maximum", "minimum"}
JUMPS = {"<", "<=", ">", ">=", "==", "!=", "//", "%"}
NAMED = ("maximum", "minimum", "logical_and", "logical_or", "logical_xor", "hypot", "logaddexp")
ROUNDED = {"/", "hypot", "logaddexp"}


def operand(rng: Any, first: Pair, another: Any) -> Pair:
    """A second operand that broadcasts with the first."""
    kind = rng.random()
    if kind < 0.2:
        number: Any = (2, 3, 0.5, True, 1, 0)[rng.integers(6)]
        if rng is not rng.data and number in (2, 3, 0.5):  # another one in each draw
            number += type(number)(rng.data.integers(4))
        return Pair(number, number, repr(number))
    if kind < 0.6:
        shape = tuple(n if rng.random() < 0.8 else 1 for n in shape_of(first))
        drop = int(rng.integers(len(shape) + 1)) if shape and rng.random() < 0.2 else 0
        found: Pair = another(shape[drop:])
        return found
    return fitted(first, another())


def fitted(first: Pair, second: Pair) -> Pair:
    """The second operand cut so that it broadcasts with the first."""
    a, b = shape_of(first), shape_of(second)
    index = tuple(
        slice(0, 1) if n not in (1, m) and m != 1 else slice(None)
        for m, n in zip(((1,) * 8 + a)[-len(b) :] if b else (), b, strict=True)
    )
    if all(part == slice(None) for part in index):
        return second
    text = f"{second.text}[{index}]"
    return both(text, lambda: second.theirs[index], lambda: second.mine[index], second)


def binary(rng: Any, first: Pair, another: Any) -> Pair:
    second = operand(rng, first, another)
    if rng.random() < 0.3:
        first, second = second, first
    name = [*BINARY, *NAMED][rng.integers(len(BINARY) + len(NAMED))]
    complex_ = "c" in (kind_of(first), kind_of(second))
    refuse_if(name in ORDERED and complex_)
    refuse_if(name in JUMPS and (first.rounded or second.rounded))
    refuse_if(name == "**" and np.any(np.abs(np.asarray(second.theirs, complex)) > 3))
    # NumPy squares for `x ** 2`, which makes int8 of bools; of other powers, and by name, int64
    function = np.power if name == "**" else BINARY.get(name) or getattr(np, name)
    own = BINARY.get(name) or getattr(np if rng.random() < 0.3 else fa, name)
    return both(
        f"({first.text} {name} {second.text})",
        lambda: function(first.theirs, second.theirs),
        lambda: own(first.mine, second.mine),
        first, second, rounded=name in ROUNDED or (name == "**" and "i" not in kind_of(first)),
    )  # fmt: skip


def truth(pair: Pair) -> Pair:
    """A condition: where a pair is not 0."""
    refuse_if(pair.rounded)
    if kind_of(pair) == "b":
        return pair
    return both(f"({pair.text} != 0)", lambda: pair.theirs != 0, lambda: pair.mine != 0)


def chosen(rng: Any, first: Pair, another: Any) -> Pair:
    x, y = operand(rng, first, another), operand(rng, first, another)
    condition = truth(first)
    return both(
        f"where({condition.text}, {x.text}, {y.text})",
        lambda: np.where(condition.theirs, x.theirs, y.theirs),
        lambda: fa.where(condition.mine, x.mine, y.mine),
        x, y,
    )  # fmt: skip


UNARY = (
    "abs square sign logical_not isnan isfinite expm1 floor ceil trunc negative conj real imag sin "
    "cos positive round bitwise_invert exp sqrt reciprocal tanh"
).split()
STEPPED = {"sign", "floor", "ceil", "trunc", "round", "logical_not"}
SMOOTH = {"expm1", "sin", "cos", "exp", "sqrt", "reciprocal", "tanh"}


def unary(rng: Any, first: Pair, another: Any) -> Pair:
    name = UNARY[rng.integers(len(UNARY))]
    kind = kind_of(first)
    refuse_if(name in ("square", "conj") and kind == "b")  # NumPy makes an int8 of it
    refuse_if(name == "reciprocal" and kind in "biu")  # the standard's is of floats
    refuse_if(name in STEPPED and first.rounded)
    own = getattr(np if rng.random() < 0.3 else fa, name)
    return both(
        f"{name}({first.text})", lambda: getattr(np, name)(first.theirs), lambda: own(first.mine),
        first, rounded=name in SMOOTH or (name in ("abs", "sign") and kind == "c"),
    )  # fmt: skip


def cast(rng: Any, first: Pair, another: Any) -> Pair:
    dtypes = sorted(SUPPORTED, key=str)
    dtype = dtypes[rng.integers(len(dtypes))]
    own = np.asarray(first.theirs).dtype
    refuse_if(not np.can_cast(own, dtype, "same_kind") and dtype.kind != "b")
    refuse_if(first.rounded and dtype.kind == "b")
    return both(
        f"astype({first.text}, {dtype})", lambda: np.asarray(first.theirs).astype(dtype),
        lambda: fa.astype(first.mine, dtype), first,
        rounded=str(dtype) in EXACT and own.itemsize > 2,
    )  # fmt: skip


# -- reductions -------------------------------------------------------------------------------

REDUCED = (
    "sum prod max min any all mean count_nonzero argmax argmin var std sum max".split()
)  # fmt: skip
OF_ORDER = {"max", "min", "argmax", "argmin"}


def axis_of(rng: Any, ndim: int, several: bool) -> Any:
    if not ndim or rng.random() < 0.2:
        return None
    if several and rng.random() < 0.2:
        count = int(rng.integers(1, ndim + 1))
        return tuple(rng.permutation(ndim)[:count].tolist())
    return int(rng.integers(-ndim, ndim))


def reduced(rng: Any, first: Pair, another: Any) -> Pair:
    name = REDUCED[rng.integers(len(REDUCED))]
    refuse_if(name in OF_ORDER and kind_of(first) == "c")
    refuse_if(name in ("any", "all", "count_nonzero", "argmax", "argmin") and first.rounded)
    axis = axis_of(rng, len(shape_of(first)), name not in ("argmax", "argmin"))
    options: Any = {"axis": axis, "keepdims": bool(rng.random() < 0.3)}
    if name in ("var", "std") and rng.random() < 0.5:
        options["correction"] = 1
    own = getattr(np if rng.random() < 0.2 and name not in ("var", "std") else fa, name)
    return both(
        f"{name}({first.text}, {options})",
        lambda: getattr(np, name)(np.asarray(first.theirs), **options),
        lambda: own(first.mine, **options), first, rounded=name in ("mean", "var", "std"),
    )  # fmt: skip


def cumulated(rng: Any, first: Pair, another: Any) -> Pair:
    name = ("cumulative_sum", "cumulative_prod")[rng.integers(2)]
    ndim = len(shape_of(first))
    refuse_if(ndim == 0)
    options: Any = {"axis": int(rng.integers(-ndim, ndim))}
    options["include_initial"] = bool(rng.random() < 0.3)
    return both(
        f"{name}({first.text}, {options})", lambda: getattr(np, name)(first.theirs, **options),
        lambda: getattr(fa, name)(first.mine, **options), first,
    )  # fmt: skip


# -- products ---------------------------------------------------------------------------------

EINSUMS = (
    ("ij,jk->ik", "ij", "jk"), ("ij,kj->ik", "ij", "kj"), ("ij,ij->", "ij", "ij"),
    ("ij,i->j", "ij", "i"), ("ij,ij->ij", "ij", "ij"), ("i,j->ji", "i", "j"),
    ("ij,jk,ki->", "ij", "jk", "ki"), ("ijk,kl->ijl", "ijk", "kl"), ("ij,ji->i", "ij", "ji"),
)  # fmt: skip
STATEMENTS: tuple[tuple[str, Any], ...] = (
    ("C[i,j] min= A[i,k] + B[k,j]", lambda a, b: (a[:, :, None] + b[None]).min(1)),
    ("C[i] max= A[i,k] * B[k,j]", lambda a, b: (a[:, :, None] * b[None]).max((1, 2))),
    ("C[j,i] += A[i,k] * (B[k,j] != 0)", lambda a, b: (a @ (b != 0)).T),
)


def multiplied(rng: Any, first: Pair, another: Any) -> Pair:
    shape = shape_of(first)
    refuse_if(not shape)
    kind = rng.integers(6)
    n = int(rng.choice([0, 1, 2, 4]))
    if kind == 0:
        wide = ((shape[-1], n), (shape[-1],), (*shape[:-2], shape[-1], n))[rng.integers(3)]
        second = another(wide)
        return _pair("matmul", first, second)
    if kind == 1 and len(shape) > 1:
        return _pair("matmul", another((n, shape[-2])), first)
    if kind == 2:
        return _pair("tensordot", first, another((shape[-1], n)), axes=1)
    if kind == 3:
        return _pair("vecdot", first, another(shape))
    if kind == 4 and len(shape) == 1:
        return _pair("outer", first, another((n,)))
    refuse_if(len(shape) > 2)
    return _pair("kron", first, another((2, n)[: len(shape)]))


def _functions(name: str, first: Pair, second: Pair, **options: Any) -> tuple[Any, Any]:
    return (
        lambda: getattr(np, name)(first.theirs, second.theirs, **options),
        lambda: getattr(fa, name)(first.mine, second.mine, **options),
    )


def _pair(name: str, first: Pair, second: Pair, **options: Any) -> Pair:
    text = f"{name}({first.text}, {second.text}, {options})"
    return both(text, *_functions(name, first, second, **options), first, second)


def summed(rng: Any, first: Pair, another: Any) -> Pair:
    subscripts, own, *others = EINSUMS[rng.integers(len(EINSUMS))]
    shape = shape_of(first)
    refuse_if(len(shape) != len(own))
    sizes = dict(zip(own, shape, strict=True))
    parts = [first]
    for names in others:
        parts.append(another(tuple(sizes.setdefault(n, int(rng.integers(1, 4))) for n in names)))
    return both(
        f"einsum({subscripts}, {', '.join(p.text for p in parts)})",
        lambda: np.einsum(subscripts, *(p.theirs for p in parts)),
        lambda: fa.einsum(subscripts, *(p.mine for p in parts)), *parts,
    )  # fmt: skip


def stated(rng: Any, first: Pair, another: Any) -> Pair:
    shape = shape_of(first)
    refuse_if(len(shape) != 2 or 0 in shape or kind_of(first) not in "if")
    statement, meaning = STATEMENTS[rng.integers(3)]
    second = another((shape[1], int(rng.integers(1, 4))), kind_of(first))
    refuse_if("!=" in statement and second.rounded)
    small = np.asarray(first.theirs).dtype.itemsize < 8 or second.theirs.dtype.itemsize < 8
    refuse_if(small)  # a matrix product of NumPy adds in the dtype of its operands
    return both(
        f"einsum({statement!r}, A={first.text}, B={second.text})",
        lambda: meaning(first.theirs, second.theirs),
        lambda: fa.einsum(statement, A=first.mine, B=second.mine), first, second,
    )  # fmt: skip
