"""What the tests of refusals share: the pinned text, and arguments that stay as they were."""

import numpy as np
import pytest
import scipy.sparse as sp

from finch_core import Tensor, _, kernel
from finch_core.errors import quote
from finch_core.level import Order
from finch_core.plugins import hub
from finch_core.runtime.validation import validate
from finch_levels import Dense, Element, SparseList

LEVELS = [(name, level) for name, level in sorted(hub().levels.items()) if not level.is_leaf]
ANY_ORDER = quote(name for name, level in LEVELS if level.order is Order.ANY)
"""The levels that are installed and can be written in any order, as a hint lists them."""
CONTINUING = quote(name for name, level in LEVELS if level.thaws)
"""Those that can be updated again once they are frozen."""

APART = quote(name for name, level in LEVELS if not level.shares)
"""Those that have a value for each index that they store."""

VECTOR = np.array([0.0, 1.5, 0.0, -2.0])
MATRIX = np.array([[0.0, 1.0, 0.0, 2.0], [3.0, 0.0, 0.0, 0.0], [0.0, 0.0, 4.0, 0.0]])


def dense(data):
    """A dense tensor with memory of its own."""
    data = np.asarray(data)
    format = Element(data.dtype.type(0))
    for _dim in range(data.ndim):
        format = Dense(format)
    return Tensor(format, data)


def sparse(data):
    """A tensor compressed in its last dimension."""
    data = np.asarray(data)
    format = SparseList(Element(data.dtype.type(0)))
    for _dim in range(data.ndim - 1):
        format = Dense(format)
    return Tensor(format, data)


def contents(value):
    """A copy of all that an argument holds."""
    if isinstance(value, Tensor):
        return value.shape, {name: array.copy() for name, array in value.buffers.items()}
    if sp.issparse(value):
        parts = value.coords if value.format == "coo" else (value.indices, value.indptr)
        return value.shape, value.data.copy(), *(part.copy() for part in parts)
    if hasattr(value, "signature"):
        return value.to_numpy().copy() if getattr(value, "has_array", False) else id(value)
    return value.copy() if isinstance(value, np.ndarray) else value


@kernel
def copied(y, x):
    y[...] = 0
    for i in _:
        y[i] = x[i]


def refusal(exception, call, *args):
    """The message with which ``call(*args)`` is refused, all arguments being as before."""
    before = [contents(arg) for arg in args]
    with pytest.raises(exception) as error:
        call(*args)
    assert type(error.value) is exception
    for arg, held in zip(args, before, strict=True):
        np.testing.assert_equal(contents(arg), held)
        if isinstance(arg, Tensor):
            validate(arg)
    return text(error.value, call)


def text(error, call):
    """The message, with the file's name and the line relative to the kernel's ``def``."""
    message = str(error)
    if error.span is None:
        return message
    where = f'File "{error.span.source.filename}", line {error.span.line}'
    assert where in message
    start = call.__wrapped__.__code__.co_firstlineno
    other = getattr(error, "other", None)
    if other is not None:
        there = f'File "{other.source.filename}", line {other.line}'
        message = message.replace(there, f"line {other.line - start}")
    return message.replace(where, f"line {error.span.line - start}")
