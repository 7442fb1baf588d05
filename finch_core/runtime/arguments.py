"""Arguments of kernels: tensors, NumPy arrays, SciPy arrays and numbers are given signatures."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np
from _cffi_backend import FFI
from numpy.lib.array_utils import byte_bounds

from finch_core.errors import FormatError, KernelSyntaxError
from finch_core.interface.plugins import hub
from finch_core.interface.signatures import ScalarSignature, Signature, scalar_signature
from finch_core.ir.dtypes import Type, concrete, is_storable, is_tuple, type_of
from finch_core.ir.program import Declare, Program, Swap, Update
from finch_core.ir.stored_dtypes import stored_dtype
from finch_core.runtime.arrays import array_signature, from_array
from finch_core.runtime.storage import TensorStorage

if TYPE_CHECKING:
    from finch_core.runtime.options import Small


class Number:
    """A number passed to a kernel: its value, and the signature that code depends on."""

    __slots__ = ("kind", "signature", "value")
    memory = ()
    signature: ScalarSignature

    def __init__(self, value: Any) -> None:
        known = _SIGNATURES.get(type(value)) or _signature(type_of(value))
        self.signature, self.kind = known
        self.value = value

    state = property(attrgetter("signature"))
    """Repeated calls differ in numbers, not in their signatures."""

    @property
    def fits(self) -> bool:
        """Whether the value, if a Python int, fits in int64."""
        return type(self.value) is not int or -(2**63) <= self.value < 2**63

    def words(self) -> tuple[Any, ...]:
        """The machine words that pass it to compiled code (see ``interface.abi``): one, or two
        for a complex number."""
        if self.kind not in "biufc":
            return self._computed().words()
        if self.kind == "f":
            return (float(self.value),)
        if self.kind == "c":
            return (float(self.value.real), float(self.value.imag))
        return (int(self.value),)

    def _computed(self) -> Number:
        """The number that stands for it in compiled code."""
        row = stored_dtype(self.value.dtype)
        assert row is not None, "a dtype of the backends, or one that is stored as such"
        return Number(row.value_of(self.value))


def _signature(type: Type) -> tuple[ScalarSignature, str]:
    return scalar_signature(type), concrete(type).kind


_SIGNATURES = {
    type(value): _signature(type_of(value))
    for value in (False, 0, 0.0, 0j, *(np.dtype(code).type() for code in "?bhilqBHILQfdFD"))
}
"""The signature and dtype kind of numbers, by Python or NumPy type: those passed most often."""
SIMPLE_NUMBERS = frozenset(
    type for type, (_, kind) in _SIGNATURES.items() if kind != "c" and type is not np.bool_
)
"""The types of those that are one word, which Python's ``float`` and ``operator.index`` take."""


def is_masked(value: Any) -> bool:
    """Whether ``value`` is a masked array; NumPy's module of them is not imported for that."""
    return "numpy.ma" in sys.modules and isinstance(value, np.ma.MaskedArray)


UNMASK = "pass a.filled(value), and the mask, np.ma.getmaskarray(a), as an array of its own"
"""The hint of refusals of a masked array."""


def as_argument(value: Any, name: str, written: bool, program: Program) -> Any:
    """An object with a signature for the argument ``value`` called ``name``; ``written`` says
    whether the program writes it.

    Raises ``FormatError`` for what a kernel cannot take or may not write, and
    ``KernelSyntaxError`` for a plain number that the program writes.
    """
    if isinstance(value, np.ndarray):
        return array_argument(value, name, written, program)
    if isinstance(getattr(value, "signature", None), Signature):
        if written:
            require_writeable(value, name, program)
        return value
    if isinstance(value, (bool, int, float, complex, np.generic)):
        return _as_number(value, name, written, program)
    if (conversion := hub().conversion_of(value)) is not None:
        if written:
            memory = conversion.memory(value)
            if memory is not None:
                return array_argument(memory, name, written, program)
            raise FormatError(
                f"{name} is written, and {conversion.objects} are read only",
                span=program.spans.get(name),
                hint=f"pass a copy, Tensor(fmt, {name}), and convert it afterwards"
                + (f" with {conversion.by}" if conversion.by else ""),
            )
        from finch_core.runtime.remembered import argument_of

        return argument_of(conversion, value)
    from finch_core.frontend.names import UNBOUND
    from finch_core.runtime.uses import instead_of, kind_of

    if value is UNBOUND:
        raise FormatError(
            f"{name} has no value: its variable was deleted after the kernel was made",
            span=program.spans.get(name),
            hint=f"assign {name} again, or make it a parameter of the kernel",
        )
    raise FormatError(
        f"{name} is {kind_of(value)}, which a kernel does not take",
        span=program.spans.get(name),
        hint=instead_of(value, name),
    )


def _as_number(value: Any, name: str, written: bool, program: Program) -> Number:
    """A number as an argument. Raises as ``as_argument``."""
    if isinstance(value, np.generic) and not _is_supported(value.dtype):
        raise FormatError(
            f"{name} is a {type(value).__name__}, which a kernel does not take",
            span=program.spans.get(name),
            hint="pass a bool, an integer, or a number in half, single or double precision, "
            "float(x)",
        )
    if written:
        raise KernelSyntaxError(
            f"{name} is written, and a number was passed",
            span=program.spans.get(name),
            hint="pass an array or a Tensor of the shape of the result"
            if _is_indexed(name, program)
            else "pass Scalar(0.0), and read its .value afterwards",
        )
    return Number(value)


def _is_indexed(name: str, program: Program) -> bool:
    """Whether a program writes elements of what is called ``name``."""
    updates = (part for part in program.body.walk() if isinstance(part, Update))
    return any(part.target.tensor == name and part.target.indices for part in updates)


def _is_supported(dtype: np.dtype[Any]) -> bool:
    return is_storable(dtype) or is_tuple(dtype)


def are_small(values: Iterable[Any], small: Small) -> bool:
    """Whether all arguments are numbers and tensors so small that a draft will do."""
    room = small.bytes
    for value in values:
        if value.__class__ is Number:
            if value.kind in "iu" and abs(int(value.value)) > small.integer:
                return False
            continue
        while not isinstance(value, TensorStorage):
            shape = getattr(value, "shape", None)  # may be longer than that of what it wraps
            if shape is None or not hasattr(value, "tensor"):
                return False
            if any(n is not None and n > small.extent for n in shape):
                return False
            value = value.tensor
        room -= sum(stop - start for start, stop in value.memory)
        if room < 0 or max(value.shape, default=0) > small.extent:
            return False
    return True


def is_writeable(value: Any) -> bool:
    """Whether an array, or the memory of a tensor, is writeable."""
    if isinstance(value, np.ndarray):
        return bool(value.flags.writeable)
    return not value.signature.readonly


def require_writeable(value: Any, name: str, program: Program) -> None:
    """Raise ``FormatError`` for an output whose memory is read-only."""
    tensor = value
    while not isinstance(tensor, (np.ndarray, TensorStorage)):
        if not hasattr(tensor, "tensor"):
            return  # it has no memory, and is refused when the program is normalised
        tensor = tensor.tensor
    if isinstance(tensor, TensorStorage) and tensor.signature.readonly:
        key, hint = tensor.readonly_buffer(), f"pass a copy, {name}.copy()"
        what = f"its buffer {key} is read-only"
        if tensor.signature.fixed:
            what = "the array that it wraps is read-only, or was copied to be wrapped"
            hint = "wrap an array that may be written, is contiguous and aligned"
    elif is_writeable(tensor):
        return
    else:
        what, hint = "the array is read-only", "pass a copy"
    raise FormatError(
        f"{name} {_how(name, program)}, and {what}", span=program.spans.get(name), hint=hint
    )


def _how(name: str, program: Program) -> str:
    """How a program writes what is called ``name``."""
    pairs = []
    for part in program.body.walk():
        if isinstance(part, Swap):
            pairs.append((part.first, part.second))
        elif (isinstance(part, Update) and part.target.tensor == name) or (
            isinstance(part, Declare) and part.tensor == name
        ):
            return "is written"
    others = [b if a == name else a for a, b in pairs if name in (a, b)]
    return f"may be written, as it is exchanged with {others[0]}" if others else "is written"


def array_argument(array: np.ndarray[Any, Any], name: str, written: bool, program: Program) -> Any:
    """A tensor over the memory of the NumPy array that was passed as ``name``.

    Raises ``FormatError`` for a masked array, and, where ``written``, for one that is read-only,
    not contiguous or not aligned.
    """
    if written:
        require_writeable(array, name, program)
    if written and not array.flags.c_contiguous:
        order, hint = "not contiguous", "pass a copy, b = a.copy(), and assign it back, a[...] = b"
        if array.flags.f_contiguous:
            order = "in Fortran's order, its last dimension outermost"
            hint = f"pass {name}.T, and write its indices in reverse; or {hint.partition(' ')[2]}"
        raise FormatError(
            f"{name} {_how(name, program)}, and the array is {order}",
            span=program.spans.get(name),
            hint=f"{hint}; or a Tensor",
        )
    if written and not array.flags.aligned:
        raise FormatError(
            f"{name} {_how(name, program)}, and the array is not aligned in memory",
            span=program.spans.get(name),
            hint="pass a copy, b = a.copy(), and assign it back, a[...] = b; or a Tensor",
        )
    if is_masked(array):
        raise FormatError(
            f"{name} is a masked array, and its mask would be lost",
            span=program.spans.get(name),
            hint=UNMASK,
        )
    try:
        return _over(array)
    except FormatError as error:
        error.message = f"{name} is an array of {array.dtype}: {error.message}"
        error.span = program.spans.get(name)
        raise


# -- arrays -----------------------------------------------------------------------------------

MOST = 1024
"""The most arrays whose tensors are remembered."""

_ffi = FFI()
_address = _ffi.from_buffer
_tensors: dict[tuple[Any, ...], Any] = {}
"""Tensors over arrays that were passed before, by address, shape and dtype.

A record depends on nothing else, so it serves any later array with the same three. These tensors
keep no memory alive; the caller's arguments do so during a call.
"""


def as_tensor(value: Any) -> Any:
    """A tensor for a checked argument: arrays are wrapped, tensors returned as they are."""
    return _over(value) if isinstance(value, np.ndarray) else value


def _known(array: np.ndarray[Any, Any]) -> Any:
    """The remembered tensor over an array. Raises ``KeyError`` where there is none, and
    ``ValueError``, ``BufferError`` or ``TypeError`` for arrays that are not C-contiguous."""
    return _tensors[_address(array), array.shape, array.dtype]


def _over(array: np.ndarray[Any, Any]) -> Any:
    """A tensor over an array's memory, valid while the caller holds the array."""
    try:
        return _known(array)
    except (KeyError, TypeError, ValueError, BufferError):
        return _remembered(array)


def _taken(array: np.ndarray[Any, Any]) -> Any:
    """A tensor over the memory of an array that needs no checks but of its write flag. Raises
    ``KeyError`` for others, and as ``_known``."""
    try:
        return _known(array)
    except KeyError:
        flags = array.flags  # cffi takes addresses of these kinds
        if not (flags.c_contiguous and flags.aligned and array.dtype.kind in "biufc"):
            raise
    return _remembered(array)


def _remembered(array: np.ndarray[Any, Any]) -> Any:
    tensor = from_array(array, TensorStorage)
    # calls check the write flag
    tensor.signature, _ = array_signature(array.ndim, array.dtype, False)
    flags = array.flags
    if not (flags.c_contiguous and flags.aligned):  # a copy, which misses what is written to it
        tensor.memory += (byte_bounds(array),)
    elif array.size:
        if len(_tensors) >= MOST:
            _tensors.clear()
        address = _ffi.cast("char *", _address(array))
        tensor.arrays = []
        _tensors[address, array.shape, array.dtype] = tensor
    return tensor


TAKEN: dict[type, Any] = {np.ndarray: _taken, **dict.fromkeys(_SIGNATURES, Number)}
"""Fast conversions to objects with a signature, by type of the argument."""


def as_value(argument: Any) -> Any:
    """A checked argument, as a call got it, as an object with a signature."""
    return Number(argument) if TAKEN.get(argument.__class__) is Number else as_tensor(argument)
