"""Arrays of other libraries in memory that the processor does not reach: which device has them, and
how they are copied here."""

from __future__ import annotations

from typing import Any

import numpy as np

from finch_core.errors import FormatError

_NAMES = {
    2: "cuda", 4: "opencl", 7: "vulkan", 8: "metal", 9: "vpi", 10: "rocm", 12: "ext_dev",
    14: "oneapi", 15: "webgpu", 16: "hexagon", 17: "maia", 18: "trainium",
}  # fmt: skip
_REACHED = frozenset((1, 3, 11, 13))
"""Kinds of DLPack's devices whose memory the processor reads: its own, pinned, managed."""


def device_of(value: Any) -> str:
    """The device whose memory an array is in, as in ``"cuda:0"``; empty where the processor reads
    that memory, and where the array does not say."""
    ask = getattr(value, "__dlpack_device__", None)
    if ask is None:
        return ""
    try:
        kind, number = ask()
        kind = int(kind)
    except Exception:  # of a foreign library: anything
        return ""
    return "" if kind in _REACHED else f"{_NAMES.get(kind, f'device {kind}')}:{number}"


def _named(value: Any) -> str:
    """The type of a value with its library, as in ``torch.Tensor``: ours is a Tensor, too."""
    return f"{type(value).__module__.partition('.')[0]}.{type(value).__name__}"


def refused(value: Any, device: str) -> FormatError:
    """The error for an array that ``device`` has in its memory."""
    return FormatError(
        f"this {_named(value)} is on {device}, and kernels run on the processor",
        hint=way_here(value),
    )


def way_here(value: Any) -> str:
    """What copies an array to memory of the processor, as its library spells it."""
    for method in ("cpu", "get"):
        if callable(getattr(value, method, None)):
            return f"x.{method}() copies it to memory of the processor"
    return "np.from_dlpack(x, device='cpu') copies it to memory of the processor"


def from_dlpack(value: Any, device: Any = None, copy: bool | None = None) -> Any:
    """A NumPy array over the memory of an object with ``__dlpack__``. With ``device="cpu"`` the
    object is asked for a copy that the processor reads, if it has none.

    Raises ``BufferError`` for an object on another device without that, and ``AttributeError`` for
    one without ``__dlpack__``.
    """
    place = device_of(value)
    name = _named(value)
    if place and device is None:
        raise BufferError(
            f"this {name} is on {place}: from_dlpack(x, device='cpu') copies it to memory of the "
            "processor"
        )
    asked = {"device": device} if place else {}  # NumPy 2.0 has no such parameter
    try:
        return np.from_dlpack(value, copy=copy, **asked)
    except TypeError as error:
        if not place:
            raise
        raise BufferError(
            f"this {name} is on {place}, and its __dlpack__ copies to no other device: "
            f"{way_here(value)}"
        ) from error


__all__ = ["device_of", "from_dlpack", "refused", "way_here"]
