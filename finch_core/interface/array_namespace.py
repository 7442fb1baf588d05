"""The namespace of array functions, which a plugin provides and tensors find by the hub.

The core has no array functions of its own. A plugin returns an ``ArrayNamespace`` from the hook
``finch_array_namespace``; the operators and array methods of tensors and wrappers call it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from finch_core.interface.plugins import hub, when_plugins_change
from finch_core.records import frozen

KIND = "array namespace"


@frozen
class ArrayNamespace:
    """A namespace of array functions: ``load()`` imports and returns it at the first use.

    The namespace has the functions of the array API standard by their names, and
    ``array_method(name)``, which gives the function of an operator or array method.
    """

    name: str
    load: Callable[[], Any]


_found: tuple[int, Any] = (-1, None)
METHODS: dict[str, Callable[..., Any]] = {}
"""The functions of operators and array methods that were called, by name."""
when_plugins_change(METHODS.clear)


def array_namespace() -> Any:
    """The installed namespace of array functions. Raises ``TypeError`` if there is none."""
    _refresh()
    return _found[1]


def array_method(name: str) -> Callable[..., Any]:
    """The function of an operator or array method, such as ``"add"``. Raises ``TypeError`` without
    a namespace of array functions."""
    method = METHODS.get(name)
    if method is None:
        _refresh()
        generation, namespace = _found
        method = namespace.array_method(name)
        if generation == hub().generation:
            METHODS[name] = method
    return method


def _refresh() -> None:
    """Look the namespace up again if plugins were added or removed."""
    global _found
    plugins = hub()
    if _found[0] == plugins.generation:
        return
    offered = plugins.array_namespaces
    if not offered:
        raise TypeError(
            "tensors have no operators or array functions: no plugin provides an array namespace. "
            "finch_array does; it may be missing, or blocked (python -m finch_core plugins)"
        )
    _found = plugins.generation, next(iter(offered.values())).load()


__all__ = ["METHODS", "ArrayNamespace", "array_method", "array_namespace"]
