"""Requests on few elements in lists, computed by NumPy: no kernel is compiled for them.

The operands are aligned by their coordinates, or joined by the indices that they share where each
decides what is stored. The elements that the same operands store are a group, for which the value
is that with the fills of the others as constants: as in a merge by cases of a kernel, whose values
and stored elements these are, bit for bit. Reductions take the values in the order of the loops,
and are left to kernels where these add in another. A kernel is compiled when the calls of a plan
have taken so many elements together that it is worth that.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from finch_array import structures
from finch_array.alignment import Aligned, Entries, joined, united
from finch_array.leaves import differs
from finch_array.listed import dense_above_lists, listed
from finch_array.operands import is_dense, stored
from finch_array.sorted_coordinates import MOST_PLACES, keys_of
from finch_array.vectorised import EXACT_DTYPES, Code, function_of, one_function
from finch_array.wide_numbers import is_word
from finch_core.interface.level import Format
from finch_core.ir import primitives as prim
from finch_core.ir.expressions import FALSE, TRUE, Access, Expr, Literal, Name, Var, alike
from finch_core.ir.operators import Operator
from finch_core.ir.program import Stored
from finch_core.ir.rewrite import rewrite_expr
from finch_core.records import define, field, frozen
from finch_core.runtime import worth
from finch_core.runtime.lists import coordinates_of_lists, stored_positions
from finch_core.runtime.tensor import Tensor
from finch_core.runtime.wrapping import WrapperTensor

SPARSE = 3
"""More sparse operands than these have too many groups."""


@frozen(eq=False)
class Fold:
    """A reduction of the values at the indices ``loops`` to those at ``own``, by ``op`` from
    ``start`` on."""

    loops: tuple[str, ...]
    own: tuple[str, ...]
    op: Operator
    start: Any

    def is_exact(self, shared: bool) -> bool:
        """Whether NumPy gives the bits of kernels (``shared``: with parallel loops): where values
        are added in the order of the loops, or in any order."""
        if self.op not in _IN_TURN and self.op not in _EXTREMES:
            return False
        exact = self.op in _EXTREMES or np.asarray(self.start).dtype.kind in "biu"
        return exact or (self.loops[-1] in self.own and (not shared or self.loops[0] in self.own))

    def __call__(self, totals: Any, keys: Any, values: Any) -> None:
        """Combine each value with the total at its key, which is ``start`` before."""
        ufunc = _IN_TURN.get(self.op)
        if ufunc is not None:
            ufunc.at(totals, keys, values)
            return
        if not len(keys):
            return
        sign = _EXTREMES[self.op]
        order = np.lexsort((values if sign > 0 else _opposite(values), keys))
        keys = keys[order]  # the last of equal values counts, and NaN is the last
        last = np.concatenate((keys[1:] != keys[:-1], [True]))
        totals[keys[last]] = values[order[last]]


_IN_TURN: dict[Operator, np.ufunc] = {
    prim.add: np.add, prim.mul: np.multiply, prim.or_: np.logical_or, prim.and_: np.logical_and,
    prim.bitor: np.bitwise_or, prim.bitand: np.bitwise_and, prim.bitxor: np.bitwise_xor,
}  # fmt: skip
_EXTREMES = {prim.maximum: 1, prim.minimum: -1}


def _opposite(values: Any) -> Any:
    """Numbers in the opposite order; NaN stays the last."""
    return ~values if values.dtype.kind in "biu" else -values


@define(eq=False)
class Pointwise:
    """How a request is computed of few elements.

    ``value`` is in terms of the operands ``a0``, ``s1``, ...; ``indices`` are the names of their
    dimensions as they are stored, None for one of which one index is read, and ``leaves`` what is
    known of each array. There are values at the indices ``loops``, of which ``fold`` makes the
    result, in this ``format``, of lists, or dense; ``sieved``: values that equal its fill are left
    out. The elements that calls take are counted by ``worth``.
    """

    value: Expr
    indices: Sequence[tuple[str | None, ...]]
    leaves: Mapping[str, structures.Leaf]
    numbers: Mapping[str, Any]
    loops: tuple[str, ...]
    fold: Fold | None
    format: Format
    sieved: bool
    groups: Sequence[Code | None] | None = field(default=None)
    _one: Any = field(default=NotImplemented)

    def __call__(
        self, operands: Sequence[Any], sizes: Mapping[str, int], blank: Callable[[], Tensor],
        shared: bool,
    ) -> Tensor | None:  # fmt: skip
        """The result for indices of these sizes, of which ``blank`` makes a tensor, as of a kernel
        that is ``shared`` by several cores or not; None where a kernel is worth it, or NumPy cannot
        do it."""
        shape = [sizes[i] for i in self.loops]
        if math.prod(shape) > MOST_PLACES:
            return None
        if self.fold is not None and not self.fold.is_exact(shared):
            return None
        values = {name: operands[int(name[1:])] for name in self.numbers}
        sources = {int(name[1:]): stored(operands[int(name[1:])]).source for name in self.leaves}
        dense = {k: source.to_numpy() for k, source in sources.items() if is_dense(source)}
        sparse = [k for k in sources if k not in dense]
        lists = dense_above_lists(self.format) is not None
        if not sparse and (lists or self.fold is not None):
            return None
        if len(sparse) > SPARSE or not all(map(is_word, values.values())):
            return None
        looked_at = sum([_looked_at(sources[k]) for k in sparse])
        of_result = 0 if lists or self.fold is not None else math.prod(shape)
        if not self._are_few(max(looked_at, of_result)):
            return None
        found = [self._entries(k, sources[k]) for k in sparse]
        if None in found:
            return None
        entries = [own for own in found if own is not None]
        if self.groups is None:
            self.groups = self._made(sparse)
        if not self.groups:
            return None
        if not sparse:
            return self._of_dense(blank(), values, dense)
        aligned = self._aligned(entries, sizes)
        if aligned is None:
            return None
        result, place = self._of_sparse(sparse, aligned, values, dense)
        if self.fold is not None:
            return self._folded(self.fold, sizes, place, result, blank)
        if lists:
            return listed(self.format, shape, list(place.values()), result, in_order=True)
        out = self._of_dense(blank(), values, dense)
        out.to_numpy()[tuple(place.values())] = result
        return out

    def one_function(self) -> tuple[np.ufunc, tuple[Code, ...]] | None:
        """The function of NumPy that the value is where all operands store all elements, and its
        arguments, of the operands ``a0``, ...; None where it is more than one."""
        if self._one is NotImplemented:
            value = structures.simplified(rewrite_expr(self.value, partial(self._known, set())))
            self._one = one_function(value, self.format.dtype, *self.leaves)
        return self._one  # type: ignore[no-any-return]

    def _entries(self, k: int, source: Any) -> Entries | None:
        """What operand ``k`` stores; None where it is not in lists."""
        found = _stored_in(source)
        if found is None:
            return None
        coords, values, in_order = found
        own = {i: c for i, c in zip(self.indices[k], coords, strict=True) if i is not None}
        return Entries(own, values, in_order) if own else None

    def _aligned(self, operands: Sequence[Entries], sizes: Mapping[str, int]) -> Aligned | None:
        """The operands side by side; None where they share too few indices, or there are many
        places."""
        if all(tuple(own.coords) == self.loops for own in operands):
            return united(self.loops, sizes, operands)
        assert self.groups is not None
        deciding = [
            all(code is None for number, code in enumerate(self.groups) if not number >> n & 1)
            for n in range(len(operands))
        ]
        found = joined(self.loops, sizes, operands, deciding, worth.WORTH_OF_VALUES)
        return found if found is not None and self._are_few(len(found.group)) else None

    def _are_few(self, count: int) -> bool:
        """Whether calls have taken few elements, so many more too."""
        return worth.are_few(self, count, worth.WORTH_OF_VALUES)

    def _made(self, sparse: Sequence[int]) -> Sequence[Code | None]:
        """The function of each group: of the operands ``sparse``, those whose bits its number has
        are stored. None where the value is the fill, or what a reduction begins with; empty where
        NumPy cannot compute one."""
        dtype = self.format.dtype
        fill = self.format.fill_value if self.fold is None else self.fold.start
        same = structures.equal if self.sieved else _is_alike
        lists = self.fold is not None or dense_above_lists(self.format) is not None
        groups: list[Code | None] = []
        for number in range(1 << len(sparse)):
            absent = {f"a{k}" for n, k in enumerate(sparse) if not number >> n & 1}
            known = partial(self._known, absent)
            value = structures.simplified(rewrite_expr(self.value, known))
            if (lists or (sparse and not number)) and same(value, Literal(fill, dtype)):
                groups.append(None)
                continue
            code = function_of(value, dtype)
            if code is None or (not number and lists):  # where none is stored, it is no fill
                return ()
            groups.append(code)
        return groups

    def _known(self, absent: set[str], expr: Expr) -> Expr:
        """A part of the value where some operands are not stored."""
        if isinstance(expr, Stored):
            return FALSE if isinstance(expr.access, Literal) else TRUE
        if isinstance(expr, Access):
            leaf = self.leaves[expr.tensor]
            if expr.tensor in absent:
                return Literal(leaf.fill, leaf.dtype, structural=True)
            return Var(expr.tensor, leaf.dtype)
        return Var(expr.name, self.numbers[expr.name]) if isinstance(expr, Name) else expr

    def _of_dense(self, out: Tensor, values: dict[str, Any], dense: Mapping[int, Any]) -> Tensor:
        """A dense result, where no sparse operand stores anything."""
        assert self.groups is not None
        code = self.groups[0]
        if code is None:
            out.to_numpy().fill(self.format.fill_value)
            return out
        known = dict(values)
        for k, array in dense.items():
            rest = [0 if i is None else slice(None) for i in self.indices[k]]
            names = [i for i in self.indices[k] if i is not None]
            order = sorted(range(len(names)), key=lambda n: self.loops.index(names[n]))
            spread = [slice(None) if i in names else None for i in self.loops]
            known[f"a{k}"] = array[tuple(rest)].transpose(order)[tuple(spread)]
        with np.errstate(all="ignore"):
            out.to_numpy()[...] = code(known)
        return out

    def _of_sparse(
        self, sparse: Sequence[int], aligned: Aligned, values: dict[str, Any],
        dense: Mapping[int, Any],
    ) -> tuple[Any, dict[str, Any]]:  # fmt: skip
        """The values of operands of which some are lists, and where they are by each index."""
        place, known = aligned.place, dict(values)
        for k, array in dense.items():
            known[f"a{k}"] = array[tuple([0 if i is None else place[i] for i in self.indices[k]])]
        for k, own in zip(sparse, aligned.values, strict=True):
            known[f"a{k}"] = own
        result, kept = self._evaluated(known, aligned.group)
        if not kept.all():
            result, place = result[kept], {i: c[kept] for i, c in place.items()}
        return result, place

    def _folded(
        self, fold: Fold, sizes: Mapping[str, int], place: Mapping[str, Any], values: Any,
        blank: Callable[[], Tensor],
    ) -> Tensor:  # fmt: skip
        """The result of a reduction."""
        shape = tuple([sizes[i] for i in fold.own])
        keys = keys_of(shape, [place[i] for i in fold.own])
        if dense_above_lists(self.format) is None:
            out = blank()
            totals = out.to_numpy().reshape(-1)
            totals.fill(fold.start)
            fold(totals, keys, values)
            return out
        found, own = np.unique(keys, return_inverse=True)
        totals = np.full(len(found), fold.start, self.format.dtype)
        fold(totals, own, values)
        coords = list(np.unravel_index(found, shape)) if len(shape) > 1 else [found]
        return listed(self.format, shape, coords, totals, in_order=True)

    def _evaluated(self, values: dict[str, Any], group: Any) -> tuple[Any, Any]:
        """The value of each element, and which of them are stored."""
        assert self.groups is not None
        result = np.zeros(len(group), self.format.dtype)
        for number, code in enumerate(self.groups):
            (here,) = (group == number).nonzero()
            if code is None or not len(here):
                continue
            known = {k: x[here] if np.ndim(x) else x for k, x in values.items()}
            with np.errstate(all="ignore"):
                result[here] = code(known)
        kept = np.array([code is not None for code in self.groups])[group]
        if self.sieved and self.fold is None:
            kept &= differs(result, self.format.fill_value)
        return result, kept


def pointwise_of(
    value: Expr, indices: Sequence[tuple[str | None, ...]], leaves: Mapping[str, structures.Leaf],
    numbers: Mapping[str, Any], loops: tuple[str, ...], fold: Fold | None, format: Format,
    sieved: bool,
) -> Pointwise | None:  # fmt: skip
    """How a request is computed of few elements; None where its result is neither dense nor in
    lists, or NumPy would compute other bits."""
    dtypes = [format.dtype, *[leaf.dtype for leaf in leaves.values()]]
    *layouts, leaf = [level.layout for level in format.levels()]
    dense = set(layouts) == {"dense"} and leaf == "values"
    if not dense and dense_above_lists(format) is None:
        return None
    if any(dtype.char not in EXACT_DTYPES for dtype in dtypes) or not (
        fold is None or fold.is_exact(False)
    ):
        return None
    indices = [tuple([i if i in loops else None for i in names]) for names in indices]
    if any(names.count(i) > 1 for names in indices for i in names if i is not None):  # diagonals
        return None
    return Pointwise(value, indices, leaves, numbers, loops, fold, format, sieved)


def _is_alike(value: Expr, fill: Literal) -> bool:
    return isinstance(value, Literal) and alike(value.value, fill.value)


def _looked_at(source: Any) -> int:
    """How many elements are read for those that an operand has: all of which it is a view."""
    while isinstance(source, WrapperTensor):
        source = source.tensor
    return stored_positions(source) if source.__class__ is Tensor else 0


def _stored_in(source: Any) -> tuple[Sequence[Any], Any, bool] | None:
    """The indices and values that lists store, or a view of them, and whether they are in order."""
    if source.__class__ is Tensor:
        lists = coordinates_of_lists(source, shared=True)
        return None if lists is None else (lists[1], lists[2], True)
    if not isinstance(source, WrapperTensor):
        return None
    inner = _stored_in(source.tensor)
    found = None if inner is None else source.located(inner[0])
    if inner is None or found is None:
        return None
    (inside, coords), values = found, inner[1]
    if inside is not None:
        coords, values = [c[inside] for c in coords], values[inside]
    return coords, values, False


__all__ = ["Fold", "Pointwise", "pointwise_of"]
