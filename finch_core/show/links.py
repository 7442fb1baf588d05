"""Which lines of source, normal form, assembly and generated code belong together.

A line of assembly is known by what it does: it sets a variable, stores to a buffer, begins a loop.
The backend's line that does the same to the same name belongs to it, in the order in which they
come; a line that does nothing of its own belongs to the statement around it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from finch_core.ir.assembly import Block, Comment, Kernel
from finch_core.ir.assembly_text import kernel_text
from finch_core.ir.dtypes import SUPPORTED
from finch_core.ir.program import Labelled, Sequential, Stmt
from finch_core.records import evolve, frozen

Key = tuple[str, str]
_NOTHING = Block((Comment(""),))


def _patterns(**patterns: str) -> tuple[tuple[str, Any], ...]:
    """The kinds of lines with the pattern of each, tried in this order."""
    return tuple((kind, re.compile(pattern)) for kind, pattern in patterns.items())


_ASSEMBLY = _patterns(**{
    "for": r"for (\w+) in ",
    "while": r"while (.*):",
    "if": r"(?:el)?if (.*?):(?:  #.*)?$",
    "grow": r"grow\((\w+)",
    "fail": r"(fail)\(",
    "store": r"(\w+)\[.*?\] (?:\W{1,2})?= ",
    "set": r"(?:mut )?(\w+)(?:: [^=]*)? (?:\W{1,2})?= ",
    "call": r"(fill|move|swap|sort|prefetch)\(",
})  # fmt: skip
_C = _patterns(**{
    "for": r"for \(\w+ (\w+) = ",
    "while": r"(?:\} )?while \((.*)\)",
    "if": r"(?:\} else )?if \((.*)\)",
    "grow": r"GROW\((\w+)",
    "fail": r"(status|return) =? ?[3-9]",
    "store": r"(\w+)\[.*?\](?: (?:\W{1,2})?= |\+\+)",
    "set": r"(?:const )?(?:[a-z]\w* (?:\*const )?\*?)?(\w+)(?: (?:\W{1,2})?= |\+\+)",
    "call": r"(memmove|SWAP|sort|__builtin_prefetch|heapsort)",
})  # fmt: skip
_WORDS = re.compile(r"[A-Za-z_]\w*")
_CALLS = {"memmove": "move", "SWAP": "swap", "heapsort": "sort", "__builtin_prefetch": "prefetch"}
_NO_NAMES = frozenset({"and", "or", "not", "likely", "unlikely", *map(str, SUPPORTED)})


@frozen
class Line:
    """A line of text; ``source`` are lines of the kernel's file, ``steps`` numbers of lines of
    assembly, that it belongs to."""

    text: str
    source: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()


def normal_lines(text: str, body: Stmt) -> list[Line]:
    """The lines of a program in normal form, each with the source line of its statement."""
    headed = [s for s in body.walk() if not isinstance(s, (Sequential, Labelled))]
    left, found = iter(headed), list[Line]()
    last: tuple[int, ...] = ()
    for line in text.splitlines():
        plain = line.strip()
        if plain and not re.match(r"def |return |else:|pass$", plain):
            stmt = next(left, None)
            last = () if stmt is None or stmt.span is None else (stmt.span.line,)
        found.append(Line(line, last if not plain.startswith(("def ", "return ")) else ()))
    return found


def assembly_lines(kernel: Kernel, origins: Mapping[str, int]) -> list[Line]:
    """The lines of assembly, each with the source line that the same or the like line of the code
    before the passes came from."""
    by_key: dict[Key | None, set[int]] = defaultdict(set)
    for text, origin in origins.items():
        by_key[_key(text, _ASSEMBLY)].add(origin)
    by_key.pop(None, None)
    without = kernel_text(evolve(kernel, body=_NOTHING, sites=()))
    slots = without.count("\n") - 1  # the functions and the parameters
    found: list[Line] = []
    around: list[tuple[int, tuple[int, ...]]] = []
    for k, text in enumerate(kernel_text(kernel).splitlines()):
        plain, depth = text.strip(), _depth(text)
        around = [(d, s) for d, s in around if d < depth]
        source: tuple[int, ...] = ()
        if depth and k >= slots:
            known = {origins[plain]} if plain in origins else by_key.get(_key(plain, _ASSEMBLY))
            source = tuple(sorted(known)) if known else (around[-1][1] if around else ())
        if plain.endswith(":") or ":  #" in plain:
            around.append((depth, source))
        found.append(Line(text, source, (k,)))
    return found


def code_lines(text: str, assembly: Sequence[Line]) -> list[Line]:
    """The lines of the backend's code, each with the lines of assembly that it is made of."""
    wanted: dict[Key, list[int]] = defaultdict(list)
    for line in assembly:
        if line.source and (key := _key(line.text.strip(), _ASSEMBLY)):
            wanted[key].append(line.steps[0])
    texts = text.splitlines()
    keys = [_key(one.strip(), _C) for one in texts]
    count: dict[Key, int] = defaultdict(int)
    for key in filter(None, keys):
        count[key] += 1
    turn: dict[Key, int] = defaultdict(int)
    found: list[Line] = []
    around: list[tuple[int, tuple[int, ...]]] = []
    for one, key in zip(texts, keys, strict=True):
        around = [(d, s) for d, s in around if d < _depth(one)]
        steps = _steps(key, wanted, count, turn) or _derived(key, wanted)
        if not steps and around and one.strip() not in ("", "}"):
            steps = around[-1][1]
        if steps and _heads(one):
            around.append((_depth(one), steps))
        found.append(Line(one, _sources(assembly, steps), steps))
    return found


def _steps(
    key: Key | None,
    wanted: Mapping[Key, list[int]],
    count: Mapping[Key, int],
    turn: dict[Key, int],
) -> tuple[int, ...]:
    places = wanted.get(key, []) if key else []
    if not key or not places:
        return ()
    turn[key] += 1
    return (places[turn[key] - 1],) if count[key] == len(places) else tuple(places)


def _derived(key: Key | None, wanted: Mapping[Key, list[int]]) -> tuple[int, ...]:
    """The lines of assembly about the variable from which a backend derived one of its own: ``i``
    for ``i_at``, ``s_val`` for ``s_val_lane_2``."""
    if key is None or key[0] not in ("for", "set", "store"):
        return ()
    parts = key[1].split("_")
    for end in range(len(parts), 0, -1):
        name = "_".join(parts[:end])
        found = [k for kind in ("for", "set", "store") for k in wanted.get((kind, name), ())]
        if found:
            return tuple(found)
    return ()


def _heads(line: str) -> bool:
    return re.match(r"\s*(?:\} else )?(?:for|while|if)\b", line) is not None


def _sources(assembly: Sequence[Line], steps: Iterable[int]) -> tuple[int, ...]:
    return tuple(sorted({line for k in steps for line in assembly[k].source}))


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _key(line: str, table: Sequence[tuple[str, Any]]) -> Key | None:
    """What a line does, and to which name; for a condition, the names in it."""
    for kind, pattern in table:
        match = pattern.match(line)
        if match:
            name = match[1]
            if kind in ("if", "while"):
                name = " ".join(sorted(set(_WORDS.findall(name)) - _NO_NAMES))
            if kind in ("fail", "call"):
                name = _CALLS.get(name, kind if kind == "fail" else name)
            return kind, name
    return None


__all__ = ["Line", "assembly_lines", "code_lines", "normal_lines"]
