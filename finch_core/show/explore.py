"""``kernel.explore``: one page that shows how a kernel becomes code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from finch_core.show.links import Line, assembly_lines, code_lines, normal_lines
from finch_core.show.page import Pages, page
from finch_core.show.record import record

PREAMBLE = "static __attribute__((noinline)) int64_t"
"""How the part of generated code begins that is the kernel's own."""


def explore(lowered: Any, path: Any) -> Path:
    """Write the page of a kernel that is specialised to its arguments to ``path`` (None:
    ``<name>.html`` in the current directory), and return its path."""
    name = "".join(c if c.isalnum() else "_" for c in lowered.program.name)
    target = Path(f"{name}.html" if path is None else path)
    target.write_text(explained(lowered), encoding="utf-8")
    return target


def explained(lowered: Any) -> str:
    """The text of the page."""
    found, assembly = record(lowered)
    source = _source(lowered.program)
    step_lines = assembly_lines(assembly, found.origins)
    preamble, code = _code(lowered.as_text("source"), step_lines)
    normal = normal_lines(found.normal[-1][1], lowered.normal)
    panes = (
        ("Python", source),
        ("normal form", normal),
        ("assembly", step_lines),
        (f"code of the backend {lowered.backend.name}", code),
    )
    return page(Pages(lowered.program.name, _about(lowered), panes, preamble, found))


def _about(lowered: Any) -> str:
    names = (*lowered.program.params, *lowered.program.free)
    told = [f"{n}: {_kind(s)}" for n, s in zip(names, lowered.signatures, strict=True)]
    return ", ".join(told)


def _kind(signature: Any) -> str:
    """A signature in the words of a user: the format's levels, or a number's dtype."""
    format = getattr(signature, "format", None)
    if format is not None:
        return " / ".join(level.name for level in format.levels()) + f" of {format.dtype}"
    inner = getattr(signature, "inner", None)
    if inner is not None:
        return f"{type(signature).__name__.removesuffix('Signature').lower()} of {_kind(inner)}"
    return str(getattr(signature, "dtype", type(signature).__name__))


def _source(program: Any) -> list[Line]:
    """The lines of the kernel's function."""
    source = program.source
    if source is None:
        return [Line(line) for line in program.as_text().splitlines()]
    return [
        Line(text.rstrip("\n"), (source.first_line + k,)) for k, text in enumerate(source.lines)
    ]


def _code(text: str, assembly: Sequence[Line]) -> tuple[str, list[Line]]:
    """The code before the kernel's own, and the lines of that."""
    at = text.rfind("\n" + PREAMBLE) + 1
    return text[:at], code_lines(text[at:], assembly)


__all__ = ["explained", "explore"]
