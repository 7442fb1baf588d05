"""The layout of a tensor's record: the offset of each dimension, scalar and buffer (see
``abi``)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from finch_core.errors import FormatError, IndexOverflow, PluginError
from finch_core.interface.abi import words
from finch_core.interface.level import Format
from finch_core.interface.plugin_calls import described
from finch_core.interface.storage import Field, largest_of, narrowest, too_long
from finch_core.ir.dtypes import as_number
from finch_core.ir.program import Local, Program
from finch_core.records import frozen


@frozen
class Part:
    """One field of one level, at word ``offset`` of the record; ``number`` counts the buffers."""

    level: int
    field: Field
    offset: int
    number: int = -1

    @property
    def words(self) -> int:
        """The number of words that the field occupies."""
        return 2 if self.field.is_buffer else words(self.field.dtype)


Sized = tuple[frozenset[str], frozenset[str]]
"""The buffers of a level whose sizes ``Format.sizes`` must tell, and those whose sizes it may
tell: scratch ones, too."""


@frozen
class Layout:
    """The record of a format: dimensions first, then scalars, then buffers.

    If there are dimensions, a last word is 1 in a tensor that was made without a shape
    (``sizeless``).
    """

    levels: tuple[Format, ...]
    ndim: int
    scalars: tuple[Part, ...]
    buffers: tuple[Part, ...]
    words: int
    fields: tuple[dict[str, Part], ...]
    """The fields of each level, by name."""
    dtype: np.dtype[Any]
    """The dtype of the values; to ask the levels takes as long as a small kernel."""
    sized: tuple[Sized, ...]
    values: int | None = None
    """The number of the buffer that has every element other than the fill as it is; None: elements
    are computed, or not stored as values (``passes_values``)."""
    sizeless: int | None = None
    dense: bool = False
    """Whether all levels are dense, around values."""
    narrow: tuple[tuple[int, np.dtype[Any]], ...] = ()
    """The dimensions whose size the dtype of their level's indices bounds, with that dtype."""

    def require_lengths(self, shape: Sequence[int]) -> None:
        """Raise ``IndexOverflow`` for a dimension that is too long for its level's indices."""
        for k, dtype in self.narrow:
            if shape[k] > largest_of(dtype):
                message, hint = too_long(dtype)
                raise IndexOverflow(message.format(shape[k]), hint=hint)

    def part(self, level: int, name: str) -> Part:
        """The field ``name`` of a level; ``KeyError`` if the level has none of that name."""
        return self.fields[level][name]


@lru_cache(maxsize=4096)
def layout(format: Format) -> Layout:
    """The layout of a format's record.

    Raises ``FormatError`` for a leaf alone that cannot hold its fill: a tensor without dimensions
    has one element, which is stored.
    """
    levels = format.levels()
    if format.is_leaf and not format.holds_fill:
        raise FormatError(
            f"a tensor without dimensions stores its element, which {format.name} alone cannot: "
            f"it does not hold the fill value {as_number(format.fill_value)}",
            hint="Scalar(False), or Element(False) as the format",
        )
    offset = ndim = sum(1 for level in levels if not level.is_leaf)
    fields = [(k, field) for k, level in enumerate(levels) for field in level.fields]
    scalars: list[Part] = []
    buffers: list[Part] = []
    for k, field in fields:
        if not field.is_buffer:
            scalars.append(Part(k, field, offset))
            offset += words(field.dtype)
    for k, field in fields:
        if field.is_buffer:
            buffers.append(Part(k, field, offset, len(buffers)))
            offset += 2
    parts: tuple[dict[str, Part], ...] = tuple({} for _ in levels)
    for part in (*scalars, *buffers):
        parts[part.level][part.field.name] = part
    sizeless = offset if ndim else None
    words_ = max(offset + (ndim > 0), 1)
    return Layout(
        levels, ndim, tuple(scalars), tuple(buffers), words_, parts, format.dtype,
        tuple(map(_sized, levels)), _values(levels, parts[-1]), sizeless, _is_dense(levels),
        _narrow(levels),
    )  # fmt: skip


def _is_dense(levels: tuple[Format, ...]) -> bool:
    layouts = [getattr(level, "layout", "") for level in levels]
    return layouts == ["dense"] * (len(levels) - 1) + ["values"]


def _values(levels: tuple[Format, ...], leaf: Mapping[str, Part]) -> int | None:
    """``Layout.values``: that of a leaf of values below levels that pass them."""
    passed = all(level.passes_values for level in levels[:-1])
    return leaf["val"].number if passed and levels[-1].layout == "values" else None


def _narrow(levels: tuple[Format, ...]) -> tuple[tuple[int, np.dtype[Any]], ...]:
    dtypes = enumerate(narrowest(level.fields) for level in levels if not level.is_leaf)
    return tuple((k, dtype) for k, dtype in dtypes if dtype is not None)


def _sized(level: Format) -> Sized:
    buffers = [field for field in level.fields if field.is_buffer]
    wanted = frozenset([field.name for field in buffers if not field.scratch])
    return wanted, frozenset([field.name for field in buffers])


def sizes_of(
    format: Format, positions: int, shape: int, fields: Mapping[str, Any], sized: Sized
) -> Any:
    """The result of ``format.sizes``: the size of each buffer, and the number of child positions.
    ``sized`` is the level's of the layout.

    Raises ``PluginError`` if it is not of that form.
    """
    found = format.sizes(positions, shape, fields)
    sizes, below = found if isinstance(found, tuple) and len(found) == 2 else (None, None)
    wanted, known = sized
    if isinstance(sizes, dict) and wanted <= sizes.keys() <= known and below is not None:
        return sizes, below
    shown = f"({{{', '.join(f'{name!r}: ...' for name in sorted(wanted))}}}, ...)"
    raise PluginError(
        f"sizes of {described(format)} gives {found!r}, but {shown} is expected",
        hint="the elements in use of each buffer, by its name, and the child's positions",
    )


def local_records(program: Program) -> tuple[Local, ...]:
    """The temporaries that have a record, which compiled code takes after the arguments."""
    return tuple(local for local in program.locals if needs_record(local, program))


def needs_record(local: Local, program: Program) -> bool:
    """Whether a temporary has a record: it has buffers or dimensions, or is a result."""
    if local.name in program.results:
        return True
    parts = None if local.is_variable else layout(local.format)
    return parts is not None and bool(parts.buffers or parts.ndim)
