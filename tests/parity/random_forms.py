"""How an operand is handed over: as a tensor, an array of any layout, a SciPy array, or over memory
that may not be written. Each form is a function of the operand's tensor and data, and a text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import attrs
import numpy as np
import scipy.sparse

from finch_core import Tensor

Array = np.ndarray[Any, Any]


def fortran(a: Array) -> Array:
    """The array with its first dimension closest in memory."""
    return a.copy("F")


def strided(a: Array) -> Array:
    """Every other element of a larger array."""
    room = np.zeros((*a.shape[:-1], 2 * a.shape[-1] + 1), a.dtype)[..., ::2][..., : a.shape[-1]]
    room[...] = a
    return room


def turned(a: Array) -> Array:
    """A view with negative strides."""
    return a[::-1].copy()[::-1]


def unaligned(a: Array) -> Array:
    """An array that begins at an odd address."""
    room = np.zeros(a.nbytes + 1, np.uint8)[1:].view(a.dtype).reshape(a.shape)
    room[...] = a
    return room


def read_only(a: Array) -> Array:
    """An array that may not be written."""
    a = a.copy()
    a.flags.writeable = False
    return a


def swapped(a: Array) -> Array:
    """An array of the other order of bytes."""
    return a.astype(a.dtype.newbyteorder())


def beside(a: Array) -> Array:
    """An array that ends where its memory ends, so that what is read behind it is seen."""
    return np.concatenate([np.zeros(3, a.dtype), a.ravel()])[3:].reshape(a.shape)


def odd(a: Array) -> Array:
    """Bools whose bytes are those of any numbers; the same array of another dtype."""
    a = a.copy()
    if a.dtype.kind == "b":
        view = a.view(np.uint8)
        view[a] = np.resize([2, 255, 1, 128], int(a.sum()))
    return a


def over_odd(tensor: Any) -> Any:
    """The same tensor with such bools as values."""
    buffers = {name: odd(b) if name.endswith("_val") else b for name, b in tensor.buffers.items()}
    return Tensor.from_buffers(tensor.format, tensor.shape, buffers)


def over_read_only(tensor: Any) -> Any:
    """The same tensor over buffers that may not be written."""
    buffers = {name: read_only(b) if isinstance(b, np.ndarray) else b
               for name, b in tensor.buffers.items()}  # fmt: skip
    return Tensor.from_buffers(tensor.format, tensor.shape, buffers)


def over_bytes(tensor: Any) -> Any:
    """The same tensor over ``bytes``."""
    buffers = {name: np.frombuffer(b.tobytes(), b.dtype) if isinstance(b, np.ndarray) else b
               for name, b in tensor.buffers.items()}  # fmt: skip
    return Tensor.from_buffers(tensor.format, tensor.shape, buffers)


@attrs.frozen
class Form:
    """A way of handing over: made of the data (``of_data``) or of the tensor. ``least`` is the
    least number of dimensions; ``writable`` says whether a kernel may write there."""

    make: Callable[[Any], Any]
    text: str
    of_data: bool = True
    least: int = 0
    writable: bool = False


def _sparse(kind: str) -> Form:
    make = getattr(scipy.sparse, f"{kind}_array")
    return Form(make, f"scipy.sparse.{kind}_array({{}})", least=2)


FORMS = {
    "array": Form(np.array, "{}", writable=True),
    "beside": Form(beside, "beside({})", least=1, writable=True),
    "unaligned": Form(unaligned, "unaligned({})", least=1, writable=True),
    "odd": Form(odd, "odd({})", writable=True),
    "over_odd": Form(over_odd, "over_odd({})", of_data=False, writable=True),
    "fortran": Form(fortran, "fortran({})", least=2),
    "strided": Form(strided, "strided({})", least=1),
    "turned": Form(turned, "turned({})", least=1),
    "swapped": Form(swapped, "swapped({})"),
    "read_only": Form(read_only, "read_only({})"),
    "over_read_only": Form(over_read_only, "over_read_only({})", of_data=False),
    "over_bytes": Form(over_bytes, "over_bytes({})", of_data=False),
    "csr": _sparse("csr"),
    "csc": _sparse("csc"),
    "coo": _sparse("coo"),
}  # fmt: skip
"""All forms but ``tensor``, by name."""

ODD = ("odd", "over_odd")
SPARSE = ("csr", "csc", "coo")
