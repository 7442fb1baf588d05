"""Running requests: the plan of a request is found by the signatures of its operands.

A call looks up, in this order, the plan by the request's key, the operands' signatures and which
dimensions of size 1 are stretched; the plan's kernel by its own table. Nothing else is done again.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from operator import is_
from typing import Any

import numpy as np

from finch_array import plans
from finch_array.fill_arguments import (
    Case,
    PassedNumbers,
    keeps_zeros,
    places_of_fills,
    without_fills,
)
from finch_array.leaves import relabelled, stored_values
from finch_array.listed import widened
from finch_array.one_pass import one_pass
from finch_array.operands import (
    IN_ORDER,
    NUMBERS,
    array_of,
    as_seen,
    entries,
    is_dense,
    is_lazy,
    kind_of,
    settled,
    stored,
)
from finch_array.programs import ROOM
from finch_array.ready import Ready, warn_taken_apart
from finch_array.requests import Request, letters
from finch_array.sorted_coordinates import order_of
from finch_core.errors import IndexOverflow
from finch_core.interface.level import Format
from finch_core.interface.plugins import when_plugins_change
from finch_core.interface.storage import integer_parameters
from finch_core.records import evolve, frozen
from finch_core.runtime.compressed import compressed_fields, fields_below_rows
from finch_core.runtime.convert import compressed_tensor, kernel_of, stored_coordinates
from finch_core.runtime.tensor import Tensor
from finch_core.runtime.transposing import transposed

MOST = 4096
"""The most plans that are remembered; beyond it all are forgotten."""

_plans: dict[Any, plans.Plan] = {}


def run(
    key: Any,
    request: Callable[[], Request],
    operands: Sequence[Any],
    given: dict[str, int] | None = None,
) -> Any:
    """The result of a request on operands (see ``operands.operand``).

    ``key`` identifies the request among all; ``request`` makes it. Raises ``DimensionMismatch``
    where shapes disagree, ``TypeError`` where the value is not defined on the dtypes, and
    ``OutOfMemory``.
    """
    whole = _told(key, operands, given)
    found = _quick.get(whole)
    if found is not None:
        ready, dense = found
        if dense is None or dense == is_dense_allowed(ready.plan.request, operands, ready.sizes):
            return ready(operands)
    return _found(key, request, operands, given, whole)


def _told(key: Any, operands: Sequence[Any], given: dict[str, int] | None) -> Any:
    """What calls that share a plan and sizes have in common."""
    quick: list[Any] = [key, None if given is None else tuple(given.values())]
    for x in operands:
        if x.__class__ is Tensor or not isinstance(x, NUMBERS):
            quick += (x.signature, x.shape)
        else:
            quick += (kind_of(x), ())
    return tuple(quick)


SIGNATURES, SHAPES = slice(2, None, 2), slice(3, None, 2)
"""Where the operands' signatures and shapes are in what ``_told`` gives."""


def settled_plan(key: Any, operands: Sequence[Any]) -> Ready | None:
    """The plan by which ``run`` has computed a request on operands like these, if it depends on
    nothing but their signatures and shapes; None if there is none."""
    ready, dense = _quick.get(_told(key, operands, None), (None, None))
    return ready if dense is None and ready.__class__ is Ready else None


def _found(
    key: Any, make: Callable[[], Request], operands: Sequence[Any], given: Any, quick: Any
) -> Any:
    """The result of a call whose shapes are new, by a plan for its signatures."""
    for x in operands:
        if x.__class__ is not Tensor and is_lazy(x):
            return _recorded(key, make, operands, given)
    found, plan = _computed(key, key, make, operands, given, quick)
    if plan is not None:
        allowed = None
        if plan.__class__ is Ready and plan.plan.collects and plan.cells > plans.DENSE_LEAST:
            allowed = is_dense_allowed(plan.plan.request, operands, plan.sizes)
        if len(_quick) >= MOST:
            _quick.clear()
        quicker = one_pass(plan, operands) if plan.__class__ is Ready else None
        _quick[quick] = plan if quicker is None else quicker, allowed
    return found


@frozen(eq=False)
class WithCopies:
    """Computes a request once more that copies operands: whether it does depends on what they
    store (``size``, ``dense``), not on their signatures and shapes alone."""

    plan: plans.Plan
    key: Any
    make: Callable[[], Request]
    sizes: dict[str, int]
    size: tuple[int, ...]
    dense: bool
    given: Any
    inner: tuple[Any, Callable[[], Request]]

    def __call__(self, operands: Sequence[Any]) -> Any:
        request = self.plan.request
        dense = request.op is not None and is_dense_allowed(request, operands, self.sizes)
        if dense != self.dense or magnitudes(operands, self.sizes) != self.size:
            told = _told(self.key, operands, self.given)
            return _found(self.key, self.make, operands, self.given, told)
        key, make = self.inner
        return run(key, make, _with_copies(self.plan, operands), self.given)


Again = Ready | PassedNumbers | WithCopies
"""What computes a request once more on operands of the same signatures and shapes."""


def planned(
    kind: Any, request: Request, operands: Sequence[Any], given: dict[str, int] | None = None
) -> tuple[Any, Again | None]:
    """The result of a request on operands that are not lazy, and what computes it once more; None
    where operands were copied. ``kind`` identifies the request but for its constants."""
    key = (kind, *request.constants) if request.constants else kind
    return _computed(kind, key, lambda: request, operands, given, _told(key, operands, given))


def _computed(
    kind: Any, key: Any, make: Callable[[], Request], operands: Sequence[Any], given: Any, told: Any
) -> tuple[Any, Again | None]:
    case: Case | None = None
    found: Any = NotImplemented
    plan: Again | None = None
    places = places_of_fills(operands)
    if places or kind is not key:
        case, found, plan = _with_numbers(kind, key, make, operands, given, told, places)
        if found is not NotImplemented and found is not None:
            return found, plan
    ready, used, again = _prepared(key, make, operands, given, told)
    if found is None and case is not None:
        case.first = ready.plan
    try:
        return ready(used), None if places and used is not operands else again
    except IndexOverflow:
        wide = [_wide(x) for x in operands]
        if all(map(is_, wide, operands)):
            raise
    return _computed(kind, key, make, wide, given, _told(key, wide, given))


def _wide(x: Any) -> Any:
    """An operand whose indices and positions have 64 bits: those of a result are like them."""
    if x.__class__ is not Tensor:
        return x
    format = widened(x.format)
    return x if format == x.format else Tensor(format, x)


# -- fills and constants that change ----------------------------------------------------------


def _with_numbers(
    kind: Any, key: Any, make: Callable[[], Request], operands: Sequence[Any], given: Any,
    told: Any, places: tuple[int, ...],
) -> tuple[Case | None, Any, Again | None]:  # fmt: skip
    """What is known of requests on operands like these with other fills and constants, the result
    of a call that passes them to the kernel, and what computes it once more: the result is None for
    the first call that could have done so, ``NotImplemented`` where they need a kernel of their
    own."""
    known = _request(key, make)
    if any(k in known.marked for k in places):
        return None, NotImplemented, None
    sizes = plans.sizes_of(known, operands, given, told[SHAPES])
    bare, fills = without_fills(operands, places)
    case = _case(kind, known, operands, sizes, (places, _told(key, bare, given)[SIGNATURES]))
    constants = tuple([c.value for c in known.constants])
    passed = [*bare, *fills, *constants]
    fill = NotImplemented if case.refused else case.fill_of_result(known, operands, passed, sizes)
    if fill is NotImplemented or case.first is None:
        return case, None if fill is not NotImplemented else fill, None
    loops = case.first.order.loops
    own = ("numbers", kind, places, case.none, loops)
    ready, used, _ = _prepared(
        own, lambda: case.with_numbers(loops), passed, given, _told(own, passed, given)
    )
    copied = used is not passed
    if not case.is_alike(ready.plan) or (
        copied and not all(keeps_zeros(operands[k]) for k in places)
    ):
        case.refused = True
        return case, NotImplemented, None
    found = PassedNumbers(ready, places, constants, fill)
    again = found if not copied and not ready.plan.collects else None
    return case, found.finished(ready(used)), again


def _case(
    kind: Any, request: Request, operands: Sequence[Any], sizes: dict[str, int], like: Any
) -> Case:
    """What is known of requests that are alike but for their constants on operands that are alike
    but for their fills."""
    dense = is_dense_allowed(request, operands, sizes)
    thin = stretched(request, plans.shapes_of(operands), sizes)
    whole, size = (kind, like, thin, dense), magnitudes(operands, sizes)
    found = _cases.get((whole, size))
    if found is None:
        if len(_cases) >= MOST:
            _cases.clear()
        loops = plans.schedule(request, operands, sizes, dense).order.loops
        found = _cases.setdefault((whole, loops), Case(request, like[0]))
        _cases[whole, size] = found
    return found


_cases: dict[Any, Case] = {}


def _recorded(key: Any, make: Callable[[], Request], operands: Sequence[Any], given: Any) -> Any:
    """A request on lazy arrays: a lazy array."""
    from finch_array.plan.graph import recorded
    from finch_array.plan.lazies import Lazy

    request = _request(key, make)
    return Lazy(recorded(request, operands, plans.sizes_of(request, operands, given)))


def prepared(
    key: Any, request: Request, operands: Sequence[Any], given: dict[str, int] | None = None
) -> tuple[Ready, Sequence[Any]]:
    """The plan for a request on operands, and the operands, some of them copied."""
    return _prepared(key, lambda: request, operands, given, _told(key, operands, given))[:2]


def _prepared(
    key: Any, make: Callable[[], Request], operands: Sequence[Any], given: Any, told: Any
) -> tuple[Ready, Sequence[Any], Ready | WithCopies]:
    """The plan for operands, these, some of them copied, and what computes the request again."""
    known = _request(key, make)
    shapes = told[SHAPES]
    sizes = plans.sizes_of(known, operands, given, shapes)
    dense = known.op is not None and is_dense_allowed(known, operands, sizes)
    whole: Any = (key, told[SIGNATURES], stretched(known, shapes, sizes), dense)
    size = magnitudes(operands, sizes)
    plan = _plans.get((whole, size)) or _planned(whole, size, known, operands, sizes, dense)
    if plan.copies:
        own, request = inner = _copying(plan, key)
        again = WithCopies(plan, key, make, sizes, size, dense, given, inner)
        copies = _with_copies(plan, operands)
        return *_prepared(own, request, copies, given, _told(own, copies, given))[:2], again
    if plan.varies is not None:
        whole = (*whole, plan.varies(sizes).tobytes())
        plan = _plans.get((whole, size)) or _planned(whole, size, known, operands, sizes, dense)
    ready = plan.ready(sizes, size)
    return ready, operands, ready


def _copying(plan: plans.Plan, key: Any) -> tuple[Any, Callable[[], Request]]:
    """The request in the loops that operands are copied for, whatever others cost: its key, and
    what makes it."""
    loops = plan.order.loops
    return ("copied", key, loops), lambda: evolve(plan.request, loops=loops)


def _with_copies(plan: plans.Plan, operands: Sequence[Any]) -> list[Any]:
    """The operands with their copies."""
    return [_copied(x, plan.copies[k]) if k in plan.copies else x for k, x in enumerate(operands)]


def _request(key: Any, make: Callable[[], Request]) -> Request:
    found = _requests.get(key)
    if found is None:
        found = _requests[key] = make()
    return found


_quick: dict[Any, tuple[Any, bool | None]] = {}


def _forget() -> None:
    """Forget all plans: plugins were added or removed."""
    for table in (_quick, _plans, _requests, _cases):
        table.clear()


_requests: dict[Any, Request] = {}
when_plugins_change(_forget)


def magnitudes(operands: Sequence[Any], sizes: Mapping[str, int]) -> tuple[int, ...]:
    """The binary logarithms of the sizes of the indices and of what each operand stores: those of
    one tuple share an order of loops."""
    found = [n.bit_length() for n in sizes.values()]
    for x in operands:
        if (x.__class__ is Tensor or not isinstance(x, NUMBERS)) and not is_dense(x):
            found.append(entries(x).bit_length())
    return tuple(found)


def _planned(
    whole: Any, size: Any, request: Request, operands: Sequence[Any], sizes: dict[str, int],
    dense: bool,
) -> plans.Plan:  # fmt: skip
    """The plan for operands of these magnitudes: that of others, if their loops have one order."""
    if len(_plans) >= MOST:
        _plans.clear()
    schedule = plans.schedule(request, operands, sizes, dense)
    long = tuple([n > ROOM for n in sizes.values()])  # whose workspaces are hash tables
    key = whole, schedule.key, long
    plan = _plans.get(key)
    if plan is None:
        plan = _plans[key] = plans.make(schedule, operands, sizes, dense)
    _plans[whole, size] = plan
    return plan


def stretched(
    request: Request, shapes: Sequence[tuple[int, ...]], sizes: dict[str, int]
) -> tuple[tuple[int, str], ...]:
    """The dimensions of size 1 of operands of these shapes that stand for longer ones."""
    found: tuple[tuple[int, str], ...] = ()
    for k, shape in enumerate(shapes):
        if 1 in shape:
            names = request.inputs[k]
            found += tuple(
                [(k, i) for i, n in zip(names, shape, strict=True) if n == 1 != sizes.get(i, 1)]
            )
    return found


def is_dense_allowed(request: Request, operands: Sequence[Any], sizes: Mapping[str, int]) -> bool:
    """Whether a reduction that is written in no order may have a dense result."""
    if request.op is None:
        return False
    cells = math.prod(sizes[name] for name in request.out)
    if cells <= plans.DENSE_LEAST:
        return True
    there = sum(entries(x) for x in operands if not isinstance(x, NUMBERS))
    return plans.is_room_for(cells, there)


def in_format(array: Any, format: Format) -> Tensor:
    """``array`` in a format; itself if it has that."""
    if array.__class__ is Tensor and array.format == format:
        return array
    return Tensor(format, array)


# -- copies in another order ------------------------------------------------------------------


def _copied(operand: Any, order: Sequence[int]) -> Any:
    found = stored(operand)
    return as_seen(reordered(found.source, order), [found.axes[p] for p in order])


_BLOCK = 1 << 15
"""How many elements are transposed at once: they stay in the processor's cache."""


def _in_row_order(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A permuted array copied in row-major order; a matrix in blocks that stay in the cache."""
    if array.ndim != 2 or len(array) < 16 or array.size <= _BLOCK:
        return np.array(array, order="C")
    found, step = np.empty(array.shape, array.dtype), max(1, _BLOCK // len(array))
    for start in range(0, array.shape[1], step):
        found[:, start : start + step] = array[:, start : start + step]
    return found


def reordered(source: Any, order: Sequence[int]) -> Tensor:
    """A copy whose dimension ``k`` is dimension ``order[k]`` of ``source``, sorted. It has
    narrow indices where ``source`` has, and then often the kernel of one that is not copied."""
    if is_dense(source):
        moved = array_of(_in_row_order(source.to_numpy().transpose(order)))
        return relabelled(moved, source.fill_value)
    counted = transposed(source, kernel_of) if tuple(order) == (1, 0) else None
    if counted is not None:
        (n, m), (starts, rows, values) = source.shape, counted
        index = _index_of((source,), (n, m), len(values))
        columns = {"ptr": starts, "idx": rows if index is np.int32 else rows.astype(np.intp)}
        return compressed_tensor((m, n), [{}, columns, {"val": values}], source.fill_value, index)
    shape, coords, values = coordinates(source)
    return sorted_tensor(
        tuple(shape[p] for p in order), [coords[p] for p in order], values, source.fill_value,
        of=(source,),
    )  # fmt: skip


def _index_of(arrays: Sequence[Any], shape: Sequence[int], count: int) -> Any:
    """The dtype of the indices and positions of ``count`` entries made from those of ``arrays``:
    int32 if all of these have that, and it holds what is made."""
    if not arrays or max((count, *shape)) > MOST_NARROW:
        return np.int64
    return np.int32 if all(map(_is_narrow, arrays)) else np.int64


MOST_NARROW = int(np.iinfo(np.int32).max)
"""The greatest index of 32 bits."""


def _is_narrow(array: Any) -> bool:
    """Whether the indices and positions that an array stores have 32 bits."""
    source = array if array.__class__ is Tensor else stored(array).source
    if not isinstance(source, Tensor):
        return False
    known = _narrow.get(source.signature)
    if known is None:
        if len(_narrow) >= MOST:
            _narrow.clear()
        levels = source.format.levels()
        found = {dtype for x in levels for dtype in integer_parameters(x).values()}
        known = _narrow[source.signature] = found == {_NARROW}
    return known


_narrow: dict[Any, bool] = {}
_NARROW, _INTP = np.dtype(np.int32), np.dtype(np.intp)


def coordinates(array: Any, shared: bool = False) -> tuple[tuple[int, ...], list[Any], Any]:
    """The shape, the stored indices by dimension and the values of an array, sorted unless a
    wrapper permutes its dimensions. Elements equal to the fill that only pad a format are left
    out. ``shared``: they are only read, and may be the array's own memory, in its dtypes.

    Runs are taken apart into elements: of more than ``LARGE``, it gives a ``PerformanceWarning``.
    """
    if array.__class__ is Tensor:
        found = stored_coordinates(_any_fill(array), shared)
        warn_taken_apart(array, len(found[2]))
        return found
    inner = stored(array)
    source = inner.source
    if not isinstance(source, Tensor):
        source = materialised(source)
    shape, coords, values = stored_coordinates(_any_fill(source), shared)
    warn_taken_apart(source, len(values))
    back = [inner.axes.index(k) for k in range(array.ndim)]
    return tuple([shape[b] for b in back]), [coords[b] for b in back], values


def stored_elements(array: Any) -> Any:
    """The values of ``coordinates``, in any order, which are only read: those of levels that store
    each element by itself as they are in memory."""
    source = stored(settled(array)).source
    if source.__class__ is Tensor and all(
        level.layout in _BY_NUMPY for level in source.format.levels()[:-1]
    ):
        values = stored_values(source)
        if values is not None:
            return values
    return coordinates(array)[2]


def _any_fill(tensor: Tensor) -> Tensor:
    """A tensor with the stored elements of another; with the fill 0, whose kernel does for all
    fills, where they do not depend on it."""
    levels = tensor.layout.levels
    if len(levels) < 2 or levels[-2].pads or levels[-2].layout in _BY_NUMPY:
        return tensor
    (bare,), _ = without_fills([tensor], places_of_fills([tensor]))
    return bare  # type: ignore[no-any-return]


_BY_NUMPY = ("dense", "compressed", "coordinates")
"""Innermost levels whose coordinates take no kernel, or are all of them."""


def materialised(array: Any) -> Tensor:
    """A tensor of its own with the values of a wrapper, in the order of its dimensions."""
    names = letters(array.ndim)
    copy = run(("copy", array.ndim), lambda: Request("copy", lambda x: x, (names,), names), [array])
    found = stored(copy)
    if found.axes == IN_ORDER[array.ndim]:
        return found.source  # type: ignore[no-any-return]
    if is_dense(copy):
        return Tensor(found.source.format, copy.to_numpy())
    return reordered(found.source, [found.axes.index(k) for k in range(array.ndim)])


def sorted_tensor(
    shape: Any, coords: Any, values: Any, fill: Any, there: int | None = None,
    of: Sequence[Any] = (), in_order: bool = False,
) -> Tensor:  # fmt: skip
    """A tensor from coordinates without duplicates, in any order unless they are known to be
    ``in_order``: dense in the first dimension where it is not much longer than what is stored (or
    ``there``), compressed in the others. Indices have 32 bits where those of all arrays have that
    it is made ``of``."""
    coords = [
        c if c.__class__ is np.ndarray and c.dtype is _INTP else np.asarray(c, np.intp)
        for c in coords
    ]
    if not in_order and coords and len(values):
        order = order_of(shape, coords)
        if order is not None:
            coords, values = [c[order] for c in coords], values[order]
    values = np.ascontiguousarray(values)
    index = _index_of(of, shape, len(values))
    if len(shape) > 1 and is_short(shape[0], len(values) if there is None else there):
        return _rows(shape, coords, values, fill, index)
    return compressed_tensor(shape, compressed_fields(coords, values), fill, index)


def is_short(length: int, there: int) -> bool:
    """Whether a first dimension is not much longer than what is stored."""
    return length <= 2 * there + SPARE


SPARE = 64
"""So few elements are dense in a result, whatever is stored, where a dimension may be."""


def _rows(shape: Sequence[int], coords: list[Any], values: Any, fill: Any, index: Any) -> Tensor:
    """A tensor from sorted coordinates, dense in the first dimension."""
    fields = fields_below_rows(shape[0], coords, values)
    return compressed_tensor(shape, [{}, *fields], fill, index)


def numpy_of(value: Any) -> Any:
    """A dense NumPy array of an operand."""
    return np.asarray(value) if isinstance(value, NUMBERS) else value.to_numpy()


__all__ = [
    "MOST_NARROW", "SPARE", "as_seen", "coordinates", "in_format", "is_short", "materialised",
    "numpy_of", "prepared", "reordered", "run", "settled_plan", "sorted_tensor", "stored_elements",
]  # fmt: skip
