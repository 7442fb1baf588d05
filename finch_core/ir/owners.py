"""Whose objects of plugins are: messages about what goes wrong in one name its plugin."""

from __future__ import annotations

from typing import Any

_OWNERS: dict[int, tuple[Any, str]] = {}
"""Objects with their plugins, by their ids: they need not be hashable."""


def own(item: Any, owner: str) -> None:
    """Tell which plugin brought an object; an empty text if none does any more."""
    if owner:
        _OWNERS[id(item)] = (item, owner)
    else:
        _OWNERS.pop(id(item), None)


def of_owner(item: Any) -> str:
    """``" of 'ragged' (finch-ragged 1.0)"``, say; empty for what no plugin has brought."""
    found = _OWNERS.get(id(item))
    return "" if found is None else f" of {found[1]}"


__all__ = ["of_owner", "own"]
