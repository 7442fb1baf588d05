"""Access order warnings: reads against the storage order, each of which costs a random access.

    for j, i in _:
        s[()] += A[i, j]           # rows are stored, and elements are read one at a time

A warning is given where a level finds an index in more than a constant number of steps, and the
enclosing loops repeat that. ``A[follow(i)]`` states that the search is intended.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence

from finch_core.errors import PerformanceWarning, Source, Span, explained, quote
from finch_core.interface.abilities import Order
from finch_core.interface.plugins import hub
from finch_core.ir.expressions import Access, Expr, Index
from finch_core.records import frozen
from finch_core.symbolic.affine import Scope


@frozen
class Discordance:
    """A read or write that costs more than it appears to: what, where, and what would avoid it."""

    message: str
    span: Span | None
    hint: str


def discordance(
    node: Access, k: int, depths: Mapping[Index, int], plain: bool, scope: Scope,
    name_of: Callable[[Index], str],
) -> Sequence[Discordance]:  # fmt: skip
    """The warning, if there is one, for a read whose index ``k`` is found by random access.

    ``plain``: the tensor is an argument in its storage order. ``name_of``: what the program calls
    an index.
    """
    level, index = node.tensor.level_of(k), node.indices[k]
    if level is None or not level.random_access or not depths:
        return ()
    if node.tensor.protocol_of(k) or index in node.indices[:k]:  # intended, or as cheap as in order
        return ()
    message = (
        f"this read of {node.tensor.root} goes against the order in which it is stored: an index "
        f"of its {level.name} level is found by {level.random_access}, each time"
    )
    stored = _transposed(node, depths, scope) if plain else ()
    ways = (*_loop_order(node, k, depths, name_of), *stored, _formats())
    return (Discordance(message, node.span, "; or ".join(ways)),)


def _loop_order(
    node: Access, k: int, depths: Mapping[Index, int], name_of: Callable[[Index], str]
) -> Sequence[str]:
    """The order of loops that would match the storage."""
    index, before = node.indices[k], [i for i in node.indices[:k] if i in depths]
    if index not in depths or not before:
        return ()
    deepest: Index = max(before, key=lambda i: depths[i])  # type: ignore[index, assignment]
    return (f"loop over {name_of(deepest)} outside of {name_of(index)}",)  # type: ignore[arg-type]


def _transposed(node: Access, depths: Mapping[Index, int], scope: Scope) -> Sequence[str]:
    """The storage format in which the dimensions have the order of the loops."""
    root = node.tensor.root
    if root is None or len(node.indices) != root.format.ndim:  # sums are several indices by now
        return ()
    if not all(_simple(index, depths) for index in node.indices):
        return ()
    order = sorted(range(len(node.indices)), key=lambda k: scope.depth(node.indices[k]))
    if order == list(range(len(order))):
        return ()
    name, there = node.tensor.root, tuple(order.index(k) for k in range(len(order)))
    return (
        f"store it in the order of the loops, as swizzle(Tensor({name}.format, "
        f"swizzle({name}, {there})), {tuple(order)})",
    )


def _simple(index: Expr, depths: Mapping[Index, int]) -> bool:
    return all(not isinstance(part, Index) or part in depths for part in index.walk())


def _formats() -> str:
    levels = sorted(hub().levels.items())
    found = [
        name
        for name, level in levels
        if not level.is_leaf and level.order is Order.ANY and not level.random_access
    ]
    return f"use a level that finds an index in constant time: {quote(found)}"


# -- what the cache stores with a kernel ---------------------------------------------------------


def noted(found: Sequence[Discordance], source: Source | None) -> str:
    """The warnings as one line of text; line numbers count from the first line of ``source``."""
    if not found:
        return ""
    import json

    return json.dumps([[d.message, d.hint, _place(d.span, source)] for d in found])


def _place(span: Span | None, source: Source | None) -> tuple[int, int, int] | None:
    if span is None or source is None or span.source != source:
        return None
    return span.line - source.first_line, span.column, span.end_column


def read_notes(text: str, source: Source | None) -> Sequence[Discordance]:
    """The inverse of ``noted``, for a program with the same text."""
    if not text:
        return ()
    import json

    found = []
    for message, hint, place in json.loads(text):
        span = None
        if place is not None and source is not None:
            span = Span(source, source.first_line + place[0], *place[1:])
        found.append(Discordance(message, span, hint))
    return found


def warn(found: Sequence[Discordance], kernel: str) -> None:
    """Issue one Python warning for all that was found in ``kernel``."""
    first, *others = found
    shown = explained(f"{kernel}: {first.message}", first.span, first.hint)
    if others:
        places = ", ".join(str(other.span.line) for other in others if other.span is not None)
        shown += f"\n  the same in line {places}"
    if first.span is None:
        warnings.warn(shown, PerformanceWarning, stacklevel=2)
    else:
        where = first.span.source.filename, first.span.line
        warnings.warn_explicit(shown, PerformanceWarning, *where)


__all__ = ["Discordance", "discordance", "noted", "read_notes", "warn"]
