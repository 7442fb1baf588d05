"""Functions of dense arrays that are one function of NumPy: it goes over the elements once, as a
kernel would, and none is compiled for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from finch_array.ready import Ready
from finch_array.vectorised import Code
from finch_core.records import frozen
from finch_core.runtime import worth
from finch_core.runtime.over_buffers import maker_over
from finch_core.runtime.tensor import Tensor


@frozen(eq=False)
class OnePass:
    """Computes a request on dense tensors, of whose values, by ``names``, the ``function`` takes
    ``args``. They have these ``shapes``; None where each has the shape of the result, or no
    dimensions. ``record`` is one of the result, which ``make`` makes over its values. Operands
    whose memory is longer than their ``sizes`` are left to ``ready``."""

    ready: Ready
    function: np.ufunc
    args: tuple[Code, ...]
    names: tuple[str, ...]
    sizes: list[int]
    shapes: tuple[tuple[int, ...], ...] | None
    record: Any
    make: Callable[[Any, list[Any]], Any]

    def __call__(self, operands: Sequence[Any]) -> Any:
        """The result on tensors of the formats and shapes that this was made for."""
        arrays = [x.arrays[0] for x in operands]
        if self.ready.cells > worth.ONE_FUNCTION or [x.size for x in arrays] != self.sizes:
            return self.ready(operands)
        if self.shapes is not None:
            arrays = [x.reshape(shape) for x, shape in zip(arrays, self.shapes, strict=True)]
        given = dict(zip(self.names, arrays, strict=True))
        with np.errstate(all="ignore"):
            found = self.function(*[arg(given) for arg in self.args])
        return self.make(self.record, [found if self.shapes is None else found.reshape(-1)])


def one_pass(ready: Ready, operands: Sequence[Any]) -> OnePass | None:
    """What computes the request of a plan on operands like these, if that is one function of NumPy
    of few elements of dense tensors."""
    request, shape = ready.plan.request, ready.shape
    whole = ready.plan.elementwise
    if whole is None or ready.cells > worth.ONE_FUNCTION:
        return None
    if ready.watched or ready.refill is not None or ready.back is not None:
        return None
    for x, names in zip(operands, request.inputs, strict=True):
        if x.__class__ is not Tensor or not x.layout.dense:
            return None
        if names != request.out[len(request.out) - len(names) :]:  # as NumPy aligns them
            return None
    blank = ready.blank()
    found = whole.one_function() if blank.layout.dense else None
    if found is None:
        return None
    shapes = tuple([x.shape for x in operands])
    flat = all(own in (shape, ()) for own in shapes) and shape in shapes
    names = tuple([f"a{k}" for k in range(len(operands))])
    sizes, make = [math.prod(own) for own in shapes], maker_over(ready.plan.format, Tensor)
    return OnePass(ready, *found, names, sizes, None if flat else shapes, blank.record, make)


__all__ = ["OnePass", "one_pass"]
