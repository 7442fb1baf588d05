"""Looplets as nested boxes: each with its kind, what it says of itself, and the looplets inside."""

from __future__ import annotations

import inspect
from typing import Any

from finch_core.interface.looplet import Looplet
from finch_core.interface.tensorlike import Constant, TensorLike
from finch_core.ir.assembly_text import expr_text
from finch_core.ir.expressions import Expr
from finch_core.records import fields, frozen, has
from finch_core.show.marks import shortened

DEPTH = 6
"""How deep boxes are nested; what is deeper is left out."""


@frozen
class Box:
    """One looplet: ``facts`` are names and texts, ``inner`` names and boxes."""

    kind: str
    meaning: str
    facts: tuple[tuple[str, str], ...] = ()
    inner: tuple[tuple[str, Box], ...] = ()


def shown(expr: Any) -> str:
    """An expression of assembly as a short text."""
    try:
        return shortened(expr_text(expr), 60)
    except (KeyError, TypeError, AttributeError):
        return shortened(repr(expr), 60)


def box_of(part: Any, depth: int = DEPTH) -> Box:
    """The box of a looplet or of a subtensor: of its fields, those that are looplets, subtensors or
    expressions. What a function gives is not known before it is lowered."""
    if isinstance(part, TensorLike):
        return _subtensor(part)
    facts: list[tuple[str, str]] = []
    inner: list[tuple[str, Box]] = []
    for name, value in _fields(part):
        if isinstance(value, (Looplet, TensorLike)):
            if depth:
                inner.append((name, box_of(value, depth - 1)))
        elif isinstance(value, tuple) and value and isinstance(value[0], Looplet):
            parts = value if depth else ()
            inner += [(f"{name} {k}", box_of(p, depth - 1)) for k, p in enumerate(parts)]
        elif isinstance(value, Expr):
            facts.append((name, shown(value)))
        elif callable(value) and name in ("body", "inner"):
            facts.append((name, "… opens when lowered"))
    return Box(type(part).__name__, _meaning(type(part)), tuple(facts), tuple(inner))


def _fields(part: Any) -> list[tuple[str, Any]]:
    if not has(type(part)):
        return []
    return [(a.name, getattr(part, a.name)) for a in fields(type(part)) if a.repr]


def _subtensor(part: TensorLike) -> Box:
    if isinstance(part, Constant):
        return Box("value", "one value", (("", shown(part.value)),))
    kind = "element" if part.ndim == 0 else f"subtensor of {part.ndim} dimensions"
    facts = [(name, shown(v)) for name, v in _fields(part) if name == "pos" and isinstance(v, Expr)]
    return Box(kind, "", (("of", shortened(part, 40)), *facts))


def _meaning(kind: type) -> str:
    """The first sentence of a looplet's documentation."""
    text = " ".join((inspect.getdoc(kind) or "").split())
    return shortened(text.partition(". ")[0].rstrip(".").replace("``", ""), 120)


__all__ = ["Box", "box_of", "shown"]
