"""Fills and constants that change from call to call: one kernel for all of them, to which they are
passed.

The fill of an array is a constant of its format, so that a kernel that would skip fills can. Where
it has to visit them all the same, as sums of products with dense arrays do unless the fill is 0, an
array like the last one but for its fill needs no other kernel: what is stored is read, and the fill
is a number beside it. So are the constants of requests that are alike but for them
(``Request.constants``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from finch_array import plans
from finch_array.final_fills import final_fill, start_of
from finch_array.leaves import dense_fill, relabelled, with_leaf
from finch_array.operands import (
    NUMBERS,
    has_gaps,
    has_memory,
    holding,
    is_dense,
    stored,
    tells_absent,
)
from finch_array.ready import Ready
from finch_array.requests import Indices, Request
from finch_array.structures import equal, forgets, is_full, where_stored
from finch_core.ir import primitives as prim
from finch_core.ir.dtypes import concrete
from finch_core.ir.expressions import Access, Call, Expr, Literal, alike
from finch_core.ir.program import Stored
from finch_core.ir.rewrite import rewrite_expr
from finch_core.records import define, evolve, frozen
from finch_core.runtime.tensor import Tensor


def places_of_fills(operands: Sequence[Any]) -> tuple[int, ...]:
    """The operands whose fills can be passed: arrays of values that do not store elements that are
    numbers without a meaning of their own to operators."""
    return tuple(
        [k for k, x in enumerate(operands) if not isinstance(x, NUMBERS) and _is_passed(x)]
    )


def _is_passed(array: Any) -> bool:
    if not array.ndim or not has_memory(array):
        return False
    if not is_ordinary(array.fill_value, array.dtype) or is_dense(array):
        return False
    if holding(array).layout.values is None:
        return False
    return array.__class__ is Tensor or hasattr(array, "around")


def is_ordinary(value: Any, dtype: np.dtype[Any]) -> bool:
    """Whether a value of a dtype is a number without a meaning of its own to operators."""
    if dtype.kind not in "iufc" or value in (0, 1, -1):
        return False
    if dtype.kind in "iu":  # where the ends are the identities of ``min`` and ``max``
        return value not in _ends(dtype)
    return bool(np.isfinite(value))


@cache
def _ends(dtype: np.dtype[Any]) -> tuple[int, int]:
    """The least and the greatest integer of a dtype."""
    known = np.iinfo(dtype)
    return known.min, known.max


def without_fills(
    operands: Sequence[Any], places: Sequence[int]
) -> tuple[list[Any], tuple[Any, ...]]:
    """The operands over the same memory with the fill 0 at ``places``, and the fills there."""
    given = list(operands)
    for k in places:
        given[k] = _refilled(operands[k], operands[k].dtype.type(0))
    return given, tuple([operands[k].fill_value for k in places])


def _refilled(array: Any, fill: Any) -> Any:
    """An array over the same memory with another fill."""
    if array.__class__ is Tensor:
        return relabelled(array, fill)
    return array.around(_refilled(array.tensor, fill))


def keeps_zeros(array: Any) -> bool:
    """Whether a copy of an array with the fill 0, made of its coordinates, stores zeros that this
    one stores: where no level stores elements that only pad it, and of a view not."""
    source = stored(array).source
    return isinstance(source, Tensor) and not source.format.levels()[-2].pads


@frozen(eq=False)
class PassedNumbers:
    """A plan to which the fills of the operands at ``places`` are passed, and ``constants``;
    ``fill`` is that of the result (None: what the plan gives)."""

    ready: Ready
    places: tuple[int, ...]
    constants: tuple[Any, ...]
    fill: Any

    def __call__(self, operands: Sequence[Any]) -> Any:
        """Run the kernel; the operands have the signatures and shapes that this was made for."""
        bare, fills = without_fills(operands, self.places)
        return self.finished(self.ready([*bare, *fills, *self.constants]))

    def finished(self, found: Any) -> Any:
        """The result of the kernel with its own fill."""
        return found if self.fill is None else _refilled(found, self.fill)


@define(eq=False)
class Case:
    """Calls of a request on operands that differ in their fills alone, at ``places``, and in the
    constants of the request.

    ``first`` is the plan of the first call that could have passed them, ``general`` the request to
    which they are passed, with its ``analysis``. If the fill of the result depends on them, it is 0
    in the kernel, of the dtype ``none``, and is set afterwards. ``refused``: the results of that
    request are stored in another way, it may store 0 where no array stores anything, or its
    operands would be copied without their zeros."""

    request: Request
    places: tuple[int, ...]
    first: plans.Plan | None = None
    general: Request | None = None
    none: np.dtype[Any] | None = None
    analysis: Any = None
    refused: bool = False

    def fill_of_result(
        self, request: Request, operands: Sequence[Any], passed: Sequence[Any],
        sizes: Mapping[str, int],
    ) -> Any:  # fmt: skip
        """The fill of the result of a request on operands, of which ``passed`` are given to the
        kernel; None where it is the same for all fills, ``NotImplemented`` where a kernel for these
        fills alone would skip them, or store less."""
        if self.general is None:
            self._generalise(passed, sizes)
        if self.refused:
            return NotImplemented
        known, general = plans.analysed(request, operands, sizes), self.analysis
        if _unjoined(known.shapes) != _unjoined(general.shapes):
            return NotImplemented
        fill, dtype = known.fill, concrete(known.dtype)
        if isinstance(general.fill, Literal) and self.none is None:
            return None if equal(fill, general.fill) else NotImplemented
        if not isinstance(fill, Literal):
            return None
        if all(is_dense(x) for x in operands if not isinstance(x, NUMBERS)):
            return None  # which leave nothing out
        skipped = request.op is not None and not is_full(known)
        if skipped and alike(fill.value, start_of(request, dtype)):
            return NotImplemented
        return final_fill(request, fill, sizes, dtype, request.out)

    def with_numbers(self, loops: Indices) -> Request:
        """The request to which fills and constants are passed, with these loops."""
        assert self.general is not None
        return evolve(self.general, loops=loops)

    def _generalise(self, passed: Sequence[Any], sizes: Mapping[str, int]) -> None:
        """Make the general request, if there are arrays."""
        arrays = [x for x in passed if not isinstance(x, NUMBERS)]
        self.refused = not arrays
        if self.refused:
            return
        count = len(self.request.inputs)
        general = _general(self.request, self.places, count)
        known = plans.analysed(general, passed, sizes)
        whole = not all(map(has_gaps, arrays))  # where one is, each element of the result is stored
        given = self.request.dense or self.request.op is not None
        if not given and not isinstance(known.fill, Literal) and (whole or not is_full(known)):
            gaps = not whole and plans.reads_gaps_at_constants(general, passed, sizes)
            self.refused = gaps or any(has_memory(x) and tells_absent(x) for x in arrays)
            self.none = concrete(known.dtype)
            none = dense_fill(self.none)
            general = evolve(_general(self.request, self.places, count, none), keeps=True)
            known = plans.analysed(general, passed, sizes)
        self.general, self.analysis = general, known

    def is_alike(self, plan: plans.Plan) -> bool:
        """Whether the results of a plan are stored like those of the first one, and whether it can
        tell what equals its fill from what is not stored."""
        first = self.first
        assert first is not None
        if plan.copies or plan.varies is not None or plan.stored != first.stored:
            return False
        levels = plan.format.levels()
        gaps = any(level.structure.gaps for level in levels[:-1])
        if plan.request.keeps and gaps and forgets(levels):
            return False
        none = dense_fill(plan.format.dtype)
        one, other = (with_leaf(x.format, none, none.dtype) for x in (plan, first))
        return one == other


def _unjoined(shapes: Any) -> Any:
    """Structures without what tells that dimensions are stored together."""
    return shapes and [evolve(kind, joined=False) for kind in shapes]


def _general(request: Request, places: Sequence[int], count: int, none: Any = None) -> Request:
    """A request to which the fills of the operands at ``places`` are passed, behind the ``count``
    operands, and the constants; its value is ``none``, if that is given, where no array stores
    anything."""
    several = count + len(places)

    def value(*exprs: Expr) -> Expr:
        own, fills, constants = exprs[:count], exprs[count:several], exprs[several:]
        by_array = {own[k]: fill for k, fill in zip(places, fills, strict=True)}

        def read(expr: Expr) -> Expr:
            if isinstance(expr, Stored) and isinstance(expr.access, Call):
                return expr.access.args[0]  # which its operand has become
            if isinstance(expr, Access) and expr in by_array:
                return Call(prim.ifelse, (Stored(expr), expr, by_array[expr]))
            return expr

        found = rewrite_expr(request.value(*own, *constants), read)
        return found if none is None else where_stored(own, found, none)

    more = len(places) + len(request.constants)
    return evolve(request, value=value, inputs=(*request.inputs, *[()] * more), constants=())


__all__ = [
    "Case",
    "PassedNumbers",
    "is_ordinary",
    "keeps_zeros",
    "places_of_fills",
    "without_fills",
]
