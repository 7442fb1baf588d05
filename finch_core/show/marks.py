"""Marks of HTML and SVG as text. Everything that comes from outside goes through ``escaped``."""

from __future__ import annotations

from html import escape
from typing import Any


def escaped(text: Any) -> str:
    """``text`` with the characters that mean something in HTML replaced."""
    return escape(str(text), quote=True)


def shortened(text: Any, most: int) -> str:
    """At most ``most`` characters of a text, with an ellipsis for the rest."""
    whole = " ".join(str(text).split())
    return whole if len(whole) <= most else whole[: most - 1] + "…"


def element(tag: str, content: str = "", /, **attributes: Any) -> str:
    """One element; ``content`` is marked up already. Underscores in names stand for hyphens, and
    one at the end for nothing (``class_``)."""
    told = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{escaped(value)}"'
        for name, value in attributes.items()
    )
    return f"<{tag}{told}>{content}</{tag}>" if content else f"<{tag}{told}/>"


def label(x: float, y: float, text: Any, **attributes: Any) -> str:
    """A text of an SVG, from ``x`` on the line ``y``."""
    return element("text", escaped(text) or " ", x=x, y=y, **attributes)


def drawing(width: float, height: float, title: str, *parts: str) -> str:
    """An SVG in the colour of the text around it, so that it fits a dark page too; screen readers
    say ``title``."""
    head = element("title", escaped(title))
    return element(
        "svg",
        head + "".join(parts),
        xmlns="http://www.w3.org/2000/svg",
        role="img",
        width=width,
        height=height,
        viewBox=f"0 0 {width} {height}",
        style="font:12px monospace;fill:currentColor;stroke:none;max-width:100%",
    )


__all__ = ["drawing", "element", "escaped", "label", "shortened"]
