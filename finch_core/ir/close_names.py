"""The name that was probably meant by one that is not known."""

from __future__ import annotations

from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str:
    """``did you mean 'sqrt'?``, of the known names; empty where none is like ``name``."""
    import difflib  # needed for messages only

    names = [found for found in known if not found.startswith("_")]
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.7)
    return f"did you mean {close[0]!r}?" if close else ""
