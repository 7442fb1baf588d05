"""What every plugin imports: the marker of its hooks, the hub, and the version of the interface
(public; see ``docs/public-modules.md``)."""

from finch_core.interface.plugins import GROUP, Hub, hookimpl, hub
from finch_core.interface.versions import INTERFACE, OLDEST_INTERFACE

__all__ = ["GROUP", "INTERFACE", "OLDEST_INTERFACE", "Hub", "hookimpl", "hub"]
