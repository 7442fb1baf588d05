"""What every plugin imports: the marker of its hooks, and the hub (public; see
``docs/public-modules.md``)."""

from finch_core.interface.plugins import GROUP, Hub, hookimpl, hub

__all__ = ["GROUP", "Hub", "hookimpl", "hub"]
