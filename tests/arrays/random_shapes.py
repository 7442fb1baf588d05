"""Random steps that move elements: indexing, assignment, manipulation of shapes, sorting, sets."""

from __future__ import annotations

from typing import Any

import numpy as np
from random_leaves import Pair, format_of, levels
from random_steps import Refused, both, kind_of, refuse_if, shape_of

import finch_array as fa
from finch_core.errors import FormatError

# -- indexing ---------------------------------------------------------------------------------


def index_of(rng: Any, shape: tuple[int, ...]) -> Any:
    items: list[Any] = [_item(rng, n) for n in shape[: int(rng.integers(1, len(shape) + 1))]]
    if rng.random() < 0.15:
        items.insert(int(rng.integers(len(items) + 1)), None)
    if rng.random() < 0.15:
        return (..., *[_item(rng, shape[-1])])
    return tuple(items)


def _item(rng: Any, n: int) -> Any:
    kind = rng.integers(7)
    if n == 0 or kind == 0:
        return slice(None)
    if kind == 1:
        return int(rng.integers(-n, n))
    if kind == 2:
        return slice(int(rng.integers(-n, n)), None)
    if kind == 3:
        return slice(None, int(rng.integers(n + 1)))
    if kind == 4:
        return slice(None, None, int(rng.choice([-2, -1, 2])))
    if kind == 5:
        return (rng.random(n) < 0.5).tolist()
    return rng.integers(-n, n, 2).tolist()


def indexed(rng: Any, first: Pair, another: Any) -> Pair:
    shape = shape_of(first)
    refuse_if(not shape)
    if rng.random() < 0.15:
        refuse_if(first.rounded or kind_of(first) == "c")
        return both(
            f"{first.text}[it > 0]", lambda: first.theirs[first.theirs > 0],
            lambda: first.mine[first.mine > 0], first,
        )  # fmt: skip
    index = index_of(rng, shape)
    return both(
        f"{first.text}[{index}]", lambda: first.theirs[index], lambda: first.mine[index], first
    )


def taken(rng: Any, first: Pair, another: Any) -> Pair:
    shape = shape_of(first)
    refuse_if(not shape or 0 in shape)
    axis = int(rng.integers(len(shape)))
    if rng.random() < 0.5:
        chosen = rng.integers(0, shape[axis], 3)
        return both(
            f"take({first.text}, {chosen.tolist()}, axis={axis})",
            lambda: np.take(first.theirs, chosen, axis=axis),
            lambda: fa.take(first.mine, fa.asarray(chosen), axis=axis), first,
        )  # fmt: skip
    wanted = list(shape)
    wanted[axis] = 2
    chosen = rng.integers(0, shape[axis], wanted)
    return both(
        f"take_along_axis({first.text}, {chosen.tolist()}, axis={axis})",
        lambda: np.take_along_axis(first.theirs, chosen, axis),
        lambda: fa.take_along_axis(first.mine, fa.asarray(chosen), axis=axis), first,
    )  # fmt: skip


def assigned(rng: Any, first: Pair, another: Any) -> Pair:
    shape = shape_of(first)
    refuse_if(not shape)
    index = index_of(rng, shape)
    try:
        part = first.theirs[index]
    except IndexError as error:
        raise Refused from error
    wide = rng.random() < 0.5
    value: Pair = another(np.shape(part)) if wide else Pair(1, 1, "1")
    own = np.asarray(first.theirs).dtype
    refuse_if(wide and not np.can_cast(value.theirs.dtype, own, "same_kind"))
    refuse_if(not wide and own.kind == "b")

    def theirs() -> Any:
        copy = np.array(first.theirs)
        copy[index] = value.theirs
        return copy

    def mine() -> Any:
        copy = fa.asarray(first.mine, copy=True)
        try:
            copy[index] = value.mine
        except FormatError as error:
            levels = str(source_of(copy).format)
            if "SparsePinpoint" in levels or "SparseInterval" in levels:
                raise Refused from error
            raise
        return copy

    return both(f"{first.text} with [{index}] = {value.text}", theirs, mine, first, value)


def source_of(array: Any) -> Any:
    """The tensor inside of wrappers."""
    while hasattr(array, "tensor"):
        array = array.tensor
    return array


# -- shapes -----------------------------------------------------------------------------------


def shaped(rng: Any, first: Pair, another: Any) -> Pair:
    shape = shape_of(first)
    ndim = len(shape)
    refuse_if(not ndim)
    axis = int(rng.integers(ndim))
    order = tuple(rng.permutation(ndim).tolist())
    wanted = _factored(rng, int(np.prod(shape)))
    wider = (2, *(3 if n == 1 else n for n in shape))
    choices: tuple[tuple[str, Any, Any], ...] = (
        ("reshape", (wanted,), {}), ("reshape", ((-1,),), {}), ("flip", (), {"axis": axis}),
        ("flip", (), {}), ("roll", (int(rng.integers(-3, 4)),), {"axis": axis}),
        ("roll", (1,), {}), ("expand_dims", (), {"axis": axis}), ("permute_dims", (order,), {}),
        ("moveaxis", (axis, 0), {}), ("broadcast_to", (wider,), {}),
        ("tile", ((1, 2)[:ndim],), {}), ("repeat", (2,), {"axis": axis}),
        ("squeeze", (axis,), {}), ("tril", (), {"k": int(rng.integers(-1, 2))}),
        ("triu", (), {"k": int(rng.integers(-1, 2))}), ("diff", (), {"axis": axis}),
        ("trace", (), {"offset": int(rng.integers(-1, 2))}),
        ("diagonal", (), {"offset": int(rng.integers(-1, 2))}),
    )  # fmt: skip
    name, args, options = choices[rng.integers(len(choices))]
    refuse_if(name in ("tril", "triu") and ndim < 2)
    refuse_if(name in ("trace", "diagonal") and ndim != 2)
    return both(
        f"{name}({first.text}, {args}, {options})",
        lambda: getattr(np, name)(first.theirs, *args, **options),
        lambda: getattr(fa, name)(first.mine, *args, **options), first,
    )  # fmt: skip


def _factored(rng: Any, n: int) -> tuple[int, ...]:
    """A shape of ``n`` elements."""
    divisors = [d for d in range(1, n + 1) if n % d == 0]
    d = int(rng.choice(divisors)) if divisors else 0
    return ((d, n // d) if d else (0, 3), (n,), (1, n))[rng.integers(3)]


def joined(rng: Any, first: Pair, another: Any) -> Pair:
    shape = shape_of(first)
    refuse_if(not shape)
    axis = int(rng.integers(len(shape)))
    if rng.random() < 0.3:
        second = another(shape)
        name, axis = "stack", int(rng.integers(len(shape) + 1))
    else:
        other = list(shape)
        other[axis] = int(rng.integers(0, 3))
        name, second = "concat", another(tuple(other))
    return both(
        f"{name}([{first.text}, {second.text}], {axis})",
        lambda: getattr(np, name)([first.theirs, second.theirs], axis=axis),
        lambda: getattr(fa, name)([first.mine, second.mine], axis=axis), first, second,
    )  # fmt: skip


def stored(rng: Any, first: Pair, another: Any) -> Pair:
    """The same values in another format, or with another fill."""
    shape = shape_of(first)
    refuse_if(not shape)
    dtype = np.asarray(first.theirs).dtype
    if rng.random() < 0.3:
        return both(
            f"{first.text}.with_fill_value(1)", lambda: first.theirs,
            lambda: first.mine.with_fill_value(1), first,
        )  # fmt: skip
    names = levels(rng, len(shape))
    refuse_if({"SparsePinpoint", "SparseInterval"} & set(names))
    format = format_of(names, dtype.type(0))
    return both(
        f"asarray({first.text}, {format})", lambda: first.theirs,
        lambda: fa.asarray(first.mine, format=format), first,
    )  # fmt: skip


# -- sorting ----------------------------------------------------------------------------------


def sorted_(rng: Any, first: Pair, another: Any) -> Pair:
    shape = shape_of(first)
    refuse_if(not shape or first.rounded)
    axis, down = int(rng.integers(len(shape))), bool(rng.random() < 0.4)
    kind = rng.integers(7)
    refuse_if(kind < 3 and kind_of(first) == "c")
    a, b, text = first.mine, first.theirs, first.text
    options: Any = {"axis": axis, "descending": down}
    if kind == 0:
        return both(
            f"sort({text}, {options})", lambda: _sorted(b, axis, down),
            lambda: fa.sort(a, **options), first,
        )  # fmt: skip
    if kind == 1:
        return both(
            f"argsort({text}, {options})", lambda: _argsorted(b, axis, down),
            lambda: fa.argsort(a, **options),
        )  # fmt: skip
    if kind == 2:
        refuse_if(shape[axis] == 0)
        return both(
            f"top_k({text}, 1, axis={axis})", lambda: np.max(b, axis=axis, keepdims=True),
            lambda: fa.top_k(a, 1, axis=axis)[0], first,
        )  # fmt: skip
    if kind == 3:
        part = int(rng.integers(3))
        return both(
            f"unique_all({text})[{part}]", lambda: _unique(b)[part],
            lambda: (fa.unique_all(a) if part != 2 else (0, 0, fa.unique_inverse(a)[1]))[part],
        )  # fmt: skip
    if kind == 4:
        return both(f"nonzero({text})", lambda: np.nonzero(b)[axis], lambda: fa.nonzero(a)[axis])
    if kind == 5:
        return both(
            f"unique_counts({text})", lambda: np.unique(b, return_counts=True)[1],
            lambda: fa.unique_counts(a)[1],
        )  # fmt: skip
    second = another((3,))
    return both(
        f"isin({text}, {second.text})", lambda: np.isin(b, second.theirs),
        lambda: fa.isin(a, second.mine),
    )  # fmt: skip


def _sorted(b: Any, axis: int, down: bool) -> Any:
    found = np.sort(b, axis=axis)
    return np.flip(found, axis) if down else found


def _argsorted(b: Any, axis: int, down: bool) -> Any:
    """Equal elements in their order, also where the greatest are first."""
    if not down:
        return np.argsort(b, axis=axis, kind="stable")
    flipped = np.argsort(np.flip(b, axis), axis=axis, kind="stable")
    return b.shape[axis] - 1 - np.flip(flipped, axis)


def _unique(b: Any) -> Any:
    values, index, inverse = np.unique(b, return_index=True, return_inverse=True)
    return values, index, inverse.reshape(b.shape)


__all__ = ["assigned", "indexed", "joined", "shaped", "sorted_", "stored", "taken"]
