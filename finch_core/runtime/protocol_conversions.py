"""The plugin that converts objects of any library by the protocols that they share.

These are ``to_scipy_sparse()`` of sparse arrays, ``__dlpack__`` of arrays in the memory of the
processor, and ``__array__``. A conversion that a plugin brings for a library precedes them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from finch_core.errors import FinchError, FormatError
from finch_core.interface.conversions import Conversion
from finch_core.interface.plugins import hookimpl
from finch_core.runtime.convert import asarray
from finch_core.runtime.devices import device_of, refused


def _refusing(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """``read``, with what a foreign object raises turned into a ``FormatError``."""

    def take(value: Any) -> Any:
        try:
            return read(value)
        except (FinchError, MemoryError):
            raise
        except Exception as error:  # of a foreign library: anything
            name = type(value).__name__
            raise FormatError(
                f"this {name} cannot be read as an array: {error}",
                hint="convert it to a NumPy or SciPy array first",
            ) from error

    return take


@_refusing
def _sparse(value: Any) -> Any:
    return asarray(value.to_scipy_sparse())


@_refusing
def _dlpack(value: Any) -> Any:
    if place := device_of(value):
        return _copied_here(value, place)
    try:
        return asarray(np.from_dlpack(value))
    except (BufferError, RuntimeError):  # a dtype or a device that DLPack or NumPy lacks
        if not hasattr(value, "__array__"):
            raise
    return _array(value)


def _copied_here(value: Any, place: str) -> Any:
    """The array of an object on another device, where its library gives NumPy's arrays unasked."""
    if not hasattr(value, "__array__"):
        raise refused(value, place)
    try:
        return asarray(np.asarray(value))
    except MemoryError:
        raise
    except Exception as error:  # of a foreign library: anything
        raise refused(value, place) from error


@_refusing
def _array(value: Any) -> Any:
    return asarray(np.asarray(value))


def _to_numpy(tensor: Any) -> Any:
    return tensor.to_numpy()


def _to_scipy(tensor: Any) -> Any:
    return tensor.to_scipy()


@hookimpl
def finch_conversion() -> list[Conversion]:
    """The conversions by protocol, in the order in which they are tried."""
    return [
        Conversion(
            "sparse protocol", "to_scipy_sparse", "sparse arrays", _sparse, _to_scipy,
            ".to_scipy()", fallback=True,
        ),
        Conversion(
            "DLPack", "__dlpack__", "arrays of other libraries", _dlpack, _to_numpy,
            ".to_numpy()", fallback=True,
        ),
        Conversion(
            "array protocol", "__array__", "arrays of other libraries", _array, _to_numpy,
            ".to_numpy()", fallback=True,
        ),
    ]  # fmt: skip
