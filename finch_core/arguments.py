"""What may be passed to a kernel: tensors, arrays, SciPy arrays, numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from finch_core.dtypes import concrete, type_of
from finch_core.errors import FormatError, KernelSyntaxError
from finch_core.notation import Program
from finch_core.signatures import ScalarSignature, scalar_signature


class Number:
    """A run-time number, as a kernel takes it."""

    __slots__ = ("signature", "value")
    _memory = ()
    signature: ScalarSignature

    def __init__(self, value: Any) -> None:
        self.signature = scalar_signature(type_of(value))
        self.value = value

    def words(self) -> tuple[Any, ...]:
        """The values by which it is passed (see ``abi``)."""
        kind = concrete(self.signature.type).kind
        if kind == "c":
            return (float(self.value.real), float(self.value.imag))
        return (float(self.value),) if kind == "f" else (int(self.value),)


def as_argument(value: Any, name: str, written: bool, program: Program) -> Any:
    """``value`` as something with a signature. Raises ``FormatError`` for what is no argument."""
    if hasattr(value, "signature"):
        return value
    if isinstance(value, np.ndarray):
        return array_argument(value, name, written, program)
    if isinstance(value, (bool, int, float, complex, np.generic)):
        if written:
            raise KernelSyntaxError(
                f"{name} is written, and a number was passed",
                span=program.spans.get(name),
                hint="pass Scalar(0.0), and read its .value afterwards",
            )
        return Number(value)
    if hasattr(value, "tocoo"):
        from finch_core.scipy_arrays import from_scipy

        if written:
            raise FormatError(
                f"{name} is written, and SciPy arrays are read only",
                span=program.spans.get(name),
                hint="pass Tensor(fmt), and convert it afterwards with .to_scipy()",
            )
        return from_scipy(value)
    raise FormatError(
        f"{name} is a {type(value).__name__}, which a kernel does not take",
        span=program.spans.get(name),
        hint="pass a Tensor, a NumPy array, a SciPy sparse array or a number",
    )


def array_argument(array: np.ndarray[Any, Any], name: str, written: bool, program: Program) -> Any:
    """A NumPy array as a tensor over its memory."""
    if written and not array.flags.writeable:
        raise FormatError(f"{name} is written, and the array is read-only",
                          span=program.spans.get(name), hint="pass a copy")  # fmt: skip
    if written and not array.flags.c_contiguous:
        raise FormatError(
            f"{name} is written, and the array is not contiguous",
            span=program.spans.get(name),
            hint="pass np.ascontiguousarray(a), or a Tensor",
        )
    from finch_core.convert import from_array

    try:
        return from_array(array)
    except FormatError as error:
        error.message = f"{name} is an array of {array.dtype}: {error.message}"
        error.span = program.spans.get(name)
        raise
