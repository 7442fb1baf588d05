"""How the tests of wrappers run a program: on the interpreter, compiled, and as NumPy loops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from finch_core import Tensor
from finch_core.level import Format
from finch_core.testing import backend_names, on
from finch_levels import Dense, Element, SparseList

BACKENDS = backend_names()

QUICK = settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=True
)
"""A kernel is compiled for each combination of formats, then runs on many small arrays."""

VECTORS = (Dense(Element(0.0)), SparseList(Element(0.0)))
MATRICES = (
    Dense(Dense(Element(0.0))),
    Dense(SparseList(Element(0.0))),
    SparseList(SparseList(Element(0.0))),
)


def check(function: Callable[..., Any], output: Callable[[], Any], *args: Any) -> Any:
    """Run ``function(output(), *args)`` everywhere, and return the one result it has."""
    expected = np.asarray(on(BACKENDS[-1], function).reference(output(), *args))
    for backend in BACKENDS:
        found = np.asarray(on(backend, function)(output(), *args))
        np.testing.assert_allclose(found, expected, err_msg=f"on {backend}")
    return expected


def arrays(*sizes: int, largest: int = 6) -> st.SearchStrategy[np.ndarray[Any, Any]]:
    """Arrays of small whole numbers, half of them zero; a size of 0 is drawn too."""
    shapes = st.tuples(*(st.just(n) if n else st.integers(0, largest) for n in sizes))
    return shapes.flatmap(filled)


def filled(shape: tuple[int, ...]) -> st.SearchStrategy[np.ndarray[Any, Any]]:
    """An array of this shape."""
    values = st.sampled_from([0.0, 0.0, 0.0, 1.0, 2.0, -3.0])
    count = int(np.prod(shape))
    return st.lists(values, min_size=count, max_size=count).map(
        lambda found: np.array(found, float).reshape(shape)
    )


def dense(ndim: int, fill: float = 0.0) -> Callable[[], Tensor]:
    """A maker of empty dense outputs."""
    format: Format = Element(fill)
    for _ in range(ndim):
        format = Dense(format)
    return lambda: Tensor(format)
