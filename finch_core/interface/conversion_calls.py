"""Calls of a plugin's conversion, with errors that name it and its plugin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from finch_core.errors import FinchError, PluginError, mistaken
from finch_core.interface.conversions import Conversion
from finch_core.records import evolve


def guarded(conversion: Conversion, owner: str) -> Conversion:
    """``conversion`` with functions that raise ``PluginError`` for what its contract does not
    allow: an exception, something that is no tensor, a tensor of another shape."""

    def what(method: str) -> str:
        return f"{method} of the conversion {conversion.name!r} of {owner}"

    def called(method: str) -> Callable[[Any], Any]:
        function = getattr(conversion, method)

        def call(value: Any) -> Any:
            try:
                return function(value)
            except (FinchError, OSError, MemoryError):
                raise
            except Exception as error:
                raise mistaken(what(method), error) from error

        return call

    def checked(method: str, objection: Callable[[Any, Any], str]) -> Callable[[Any], Any]:
        call = called(method)

        def run(value: Any) -> Any:
            found = call(value)
            wrong = objection(found, value)
            if wrong:
                raise PluginError(f"{what(method)} gives {wrong}", hint=_HINTS[method])
            return found

        return run

    return evolve(
        conversion,
        take=checked("take", _no_tensor),
        give=called("give"),
        unchanged=checked("unchanged", _no_check),
        state=checked("state", _no_state),
        memory=checked("memory", _no_memory),
    )


_HINTS = {
    "take": "it returns a tensor of the object's shape, such as asarray(array), or raises "
    "FormatError for what cannot be converted",
    "unchanged": "it returns a function without arguments, or None where take copies",
    "state": "it returns a value and a list of arrays, or None",
    "memory": "it returns the array over the object's memory, or None for what is only read",
}


def _no_tensor(found: Any, value: Any) -> str:
    if not hasattr(found, "signature"):
        return f"{_shown(found)}, which is not a tensor"
    shapes = _shape(found), _shape(value)
    if None not in shapes and shapes[0] != shapes[1]:
        return f"a tensor of the shape {shapes[0]} for an object of the shape {shapes[1]}"
    return ""


def _shape(value: Any) -> tuple[int, ...] | None:
    """The shape of a tensor or of an object that has one; None where it is not known."""
    try:
        found = tuple(getattr(value, "shape", ()) or (None,))
    except Exception:
        return None
    return found if all(isinstance(n, (int, np.integer)) for n in found) else None


def _no_check(found: Any, value: Any) -> str:
    return "" if found is None or callable(found) else f"{_shown(found)}, which is not a function"


def _no_state(found: Any, value: Any) -> str:
    if found is None:
        return ""
    pair = isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], (list, tuple))
    if pair and all(isinstance(array, np.ndarray) for array in found[1]):
        return ""
    return f"{_shown(found)}, which is not a value and a list of arrays"


def _no_memory(found: Any, value: Any) -> str:
    right = found is None or isinstance(found, np.ndarray)
    return "" if right else f"{_shown(found)}, which is not an array"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


__all__ = ["guarded"]
