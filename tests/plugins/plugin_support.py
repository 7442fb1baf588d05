"""What the tests of mistaken plugins share: a format that is right, to be changed in one place."""

from __future__ import annotations

import contextlib
import types
from collections.abc import Iterator
from typing import Any

import attrs

from finch_core.level import Field, Format, Mode, Order, check_child
from finch_core.looplets import Lookup
from finch_core.plugins import hookimpl, hub


def plugin(**hooks: Any) -> types.SimpleNamespace:
    """An object with these hooks."""
    return types.SimpleNamespace(**{name: hookimpl(function) for name, function in hooks.items()})


def full(fiber: Any) -> Lookup:
    """Every index has a subfiber."""
    return Lookup(lambda ctx, i: fiber.subfiber(fiber.pos * fiber.lvl.shape + i))


def _unfurl(self: Any, ctx: Any, fiber: Any, mode: Mode, protocol: str) -> Any:
    return full(fiber) if mode is Mode.UPDATE else self.read(ctx, fiber)


_MEMBERS: dict[str, Any] = {
    "order": Order.ANY,
    "protocols": frozenset(),
    "fields": (),
    "sizes": lambda self, positions, shape, fields: ({}, positions * shape),
    "declare": lambda self, ctx, lvl, init: lvl.child.declare(ctx, init),
    "assemble": lambda self, ctx, lvl, start, stop: lvl.child.assemble(
        ctx, start * lvl.shape, stop * lvl.shape
    ),
    "freeze": lambda self, ctx, lvl, stop: lvl.child.freeze(ctx, stop * lvl.shape),
    "thaw": lambda self, ctx, lvl, stop: lvl.child.thaw(ctx, stop * lvl.shape),
    "unfurl": _unfurl,
    "read": lambda self, ctx, fiber: full(fiber),
}


def format_like(name: str = "Mine", **members: Any) -> Any:
    """A format that stores every index; ``members`` are in place of its own, ``read`` makes the
    looplet that it is read by."""
    body = {**_MEMBERS, "name": name, "__module__": __name__}
    body |= {"lvl": attrs.field(converter=check_child), "__annotations__": {"lvl": Format}}
    return attrs.frozen(type(name, (Format,), body | members))


@contextlib.contextmanager
def registered(name: str = "by_hand", **hooks: Any) -> Iterator[None]:
    """A plugin with these hooks in the hub of the process meanwhile."""
    hub().register(plugin(**hooks), name)
    try:
        yield
    finally:
        hub().unregister(name)


__all__ = ["Field", "Mode", "Order", "format_like", "full", "plugin", "registered"]
