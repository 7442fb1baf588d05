"""The version of the interface between the core and plugins: what ``docs/public-modules.md``
lists.

A plugin may name the version that it was made for, by ``finch_interface = 2`` in its module.
Without that, only its methods are checked.
"""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import Any

INTERFACE = 2
"""This release's version. It goes up when names are added, removed, or change their meaning."""

OLDEST_INTERFACE = 1
"""The oldest version whose plugins still work. It goes up when names are removed, or change their
meaning."""

ATTRIBUTE = "finch_interface"
"""The attribute of a plugin, or of a backend, that names the version."""

_ASSIGNED = rf"^{ATTRIBUTE}\s*(?::[^=\n]*)?=\s*(\d+)"
"""The assignment in a module's text; compiled when a module fails to load, not on import."""


def version_objection(plugin: Any) -> str:
    """Why ``plugin`` does not fit this version of the interface; empty if it fits."""
    return objection_to(getattr(plugin, ATTRIBUTE, INTERFACE))


def objection_to(version: Any) -> str:
    """Why a plugin made for ``version`` is not accepted; empty if it is."""
    if type(version) is not int or version < 1:
        return f"{ATTRIBUTE} is {version!r}: it is the number of a version, {INTERFACE} say"
    made = f"it is made for version {version} of the interface of plugins, and this is version"
    if version > INTERFACE:
        return f"{made} {INTERFACE}; a newer finch-python has it"
    if version < OLDEST_INTERFACE:
        return (
            f"{made} {INTERFACE}, which takes those from {OLDEST_INTERFACE} on; update the plugin"
        )
    return ""


def version_objection_in_file(module: str) -> str:
    """``version_objection`` of a module that fails to load, from the text of its file."""
    try:
        spec = find_spec(module)  # imports the packages that it is in
        text = _text(spec.origin or "") if spec else ""
    except (Exception, SystemExit):  # whatever the packages of a plugin raise
        return ""
    found = re.search(_ASSIGNED, text, re.MULTILINE)
    return objection_to(int(found[1])) if found else ""


def _text(file: str) -> str:
    with open(file, encoding="utf-8", errors="replace") as opened:
        return opened.read()
