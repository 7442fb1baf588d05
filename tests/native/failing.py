"""Programs whose allocations fail one after the other, for the tests of failures."""

import numpy as np

from finch_core import Tensor, _, kernel
from finch_core.compile import Lowered
from finch_core.validation import validate
from finch_levels import Dense, Element, SparseList

VECTORS = np.array([[0, 1, 0, 2, 3, 0, 0, 4, 5, 6, 0, 7.0], [1, 0, 0, 3, 4, 0, 0, 5, 0, 8, 0, 9]])
SPARSE = SparseList(Element(0.0))


def add(C, A, B):
    C[...] = 0
    for i in _:
        C[i] = A[i] + B[i]
    return C


def outer(C, A, B):
    C[...] = 0
    for i, j in _:
        C[i, j] = A[i] * B[j]
    return C


def append(C, A, B):
    for i in _:
        if A[i] > 1:
            C[i] += A[i] * B[i]
    return C


def empty_output(format):
    """What an earlier kernel might have left: an output that holds something else."""
    shape = (3,) * format.ndim
    return Tensor(format, np.arange(1.0, 1 + 3**format.ndim).reshape(shape))


def begun_output(format):
    """A vector as long as the operands, with little in it."""
    data = np.zeros(VECTORS.shape[1])
    data[1] = 5
    return Tensor(format, data)


PROGRAMS = {
    "add to Dense": (add, Dense(Element(0.0)), empty_output),
    "add to SparseList": (add, SPARSE, empty_output),
    "outer to Dense Dense": (outer, Dense(Dense(Element(0.0))), empty_output),
    "outer to Dense SparseList": (outer, Dense(SPARSE), empty_output),
    "outer to SparseList SparseList": (outer, SparseList(SPARSE), empty_output),
    "append to SparseList": (append, SPARSE, begun_output),
}


def on(backend, function):
    """A new kernel of ``function`` on a backend object."""
    made = kernel(function)
    made._lowered = lambda signatures: Lowered(made.program, signatures, made._options, backend)
    return made


def operands():
    return [Tensor(SPARSE, vector) for vector in VECTORS]


def fails(name, backend):
    """Run a program on a backend, and again on a new kernel if memory ran out. Whether it did.

    Inputs stay as they are, the output stays valid, and is used again.
    """
    function, format, output = PROGRAMS[name]
    inputs, C = operands(), output(format)
    before = C.to_numpy().copy()
    said = ""
    try:
        on(backend, function)(C, *inputs)
    except MemoryError as error:
        said = str(error)
    if said:
        assert "memory ran out" in said
        validate(C)
        for tensor, vector in zip(inputs, VECTORS, strict=True):
            validate(tensor)
            np.testing.assert_array_equal(tensor.to_numpy(), vector)
        before = C.to_numpy().copy()
        kernel(function)(C, *inputs)
    validate(C)
    np.testing.assert_array_equal(C.to_numpy(), kernel(function).reference(before, *VECTORS))
    return bool(said)
