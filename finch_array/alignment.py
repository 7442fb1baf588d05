"""The entries of sparse operands side by side: those with the same coordinates, or joined by the
indices that they share, as the loops of a kernel visit them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from finch_core.records import frozen


@frozen(eq=False)
class Entries:
    """What a sparse operand stores: for each of its indices, by name, where the entries are, and
    their values. ``in_order``: they are sorted by the indices in turn."""

    coords: Mapping[str, Any]
    values: Any
    in_order: bool

    def keys(self, names: Sequence[str], sizes: Mapping[str, int]) -> Any:
        """A number for each entry, by which those are sorted by the indices ``names`` in turn."""
        return keys_of([self.coords[i] for i in names], [sizes[i] for i in names])


@frozen(eq=False)
class Aligned:
    """Places, sorted by the loops: where they are, the value of each operand there (0 where it
    stores none), and which operands store one, as a number with a bit for each (None: all)."""

    place: dict[str, Any]
    values: Sequence[Any]
    group: Any


def united(loops: Sequence[str], sizes: Mapping[str, int], operands: Sequence[Entries]) -> Aligned:
    """The places at which any operand stores something, of operands that have all indices."""
    shape = tuple([sizes[i] for i in loops])
    keys = [entries.keys(loops, sizes) for entries in operands]
    if len(keys) == 1:
        (own,), (entries,) = keys, operands
        order = None if entries.in_order else own.argsort(kind="stable")
        every = own.copy() if order is None else own[order]
        values, group = [entries.values if order is None else entries.values[order]], None
    else:
        every = np.concatenate(keys)
        every.sort(kind="stable")  # which merges what is sorted
        if len(every):
            every = every[np.concatenate(([True], every[1:] != every[:-1]))]
        group, values = np.zeros(len(every), np.intp), []
        for n, (own, entries) in enumerate(zip(keys, operands, strict=True)):
            at = every.searchsorted(own)
            group[at] |= 1 << n
            spread = np.zeros(len(every), entries.values.dtype)
            spread[at] = entries.values
            values.append(spread)
    places = list(np.unravel_index(every, shape)) if len(shape) > 1 else [every]
    return Aligned(dict(zip(loops, places, strict=True)), values, group)


def joined(
    loops: Sequence[str], sizes: Mapping[str, int], operands: Sequence[Entries],
    deciding: Sequence[bool], most: int,
) -> Aligned | None:  # fmt: skip
    """The places at which all ``deciding`` operands store something; None where these do not have
    all indices, or there are more places than ``most``."""
    chosen: dict[int, Any] = {}  # the entry of each operand
    place: dict[str, Any] = {}
    rest = [n for n, decides in enumerate(deciding) if decides]
    while rest:
        shared = [n for n in rest if any(i in place for i in operands[n].coords)]
        n = (shared or rest)[0]
        rest.remove(n)
        matches = _matches(place, operands[n], sizes, most, not chosen)
        if matches is None:
            return None
        left, right = matches
        chosen = {k: entry[left] for k, entry in chosen.items()} | {n: right}
        place = {i: c[left] for i, c in place.items()}
        place |= {i: c[right] for i, c in operands[n].coords.items() if i not in place}
    if len(place) < len(loops):
        return None
    keys = keys_of([place[i] for i in loops], [sizes[i] for i in loops])
    if np.count_nonzero(keys[1:] < keys[:-1]):
        order = keys.argsort(kind="stable")
        place = {i: c[order] for i, c in place.items()}
        chosen = {k: entry[order] for k, entry in chosen.items()}
    place = {i: place[i] for i in loops}
    group = np.full(len(keys), sum([1 << n for n in chosen]), np.intp)
    values = []
    for n, entries in enumerate(operands):
        if n in chosen:
            values.append(entries.values[chosen[n]])
        else:
            values.append(_looked_up(place, entries, sizes, group, 1 << n))
    return Aligned(place, values, group)


def _matches(
    place: Mapping[str, Any], entries: Entries, sizes: Mapping[str, int], most: int, first: bool
) -> tuple[Any, Any] | None:
    """The pairs of places and entries that agree in the indices that both have, by their numbers,
    in the order of the places; None for more than ``most``."""
    count = len(entries.values)
    if first:
        return np.zeros(count, np.intp), np.arange(count)
    names = [i for i in entries.coords if i in place]
    own, order = _sorted_keys(entries, names, sizes)
    sought = keys_of([place[i] for i in names], [sizes[i] for i in names]) if names else None
    if sought is None:
        length = len(next(iter(place.values())))
        starts, ends = np.zeros(length, np.intp), np.full(length, count)
    else:
        starts, ends = own.searchsorted(sought), own.searchsorted(sought, "right")
    counts = ends - starts
    total = int(counts.sum())
    if total > most:
        return None
    left = np.arange(len(counts)).repeat(counts)
    right = np.arange(total) - (counts.cumsum() - counts - starts).repeat(counts)
    return left, right if order is None else order[right]


def _sorted_keys(entries: Entries, names: Sequence[str], sizes: Mapping[str, int]) -> Any:
    """Numbers of entries by the indices ``names``, sorted, and the order that sorts them (None:
    they are)."""
    own = entries.keys(names, sizes) if names else np.zeros(len(entries.values), np.intp)
    if not np.count_nonzero(own[1:] < own[:-1]):
        return own, None
    order = own.argsort(kind="stable")
    return own[order], order


def _looked_up(
    place: Mapping[str, Any], entries: Entries, sizes: Mapping[str, int], group: Any, bit: int
) -> Any:
    """The values of an operand at places, 0 where it stores none; where it does, ``bit`` is set in
    ``group``."""
    names = list(entries.coords)
    own, order = _sorted_keys(entries, names, sizes)
    found = np.zeros(len(group), entries.values.dtype)
    if not len(own):
        return found
    sought = keys_of([place[i] for i in names], [sizes[i] for i in names])
    at = np.minimum(own.searchsorted(sought), len(own) - 1)
    (there,) = (own[at] == sought).nonzero()
    entry = at[there]
    found[there] = entries.values[entry if order is None else order[entry]]
    group[there] |= bit
    return found


def keys_of(coords: Sequence[Any], shape: Sequence[int]) -> Any:
    """A number for each place, in row-major order."""
    first, *others = coords
    key = first.astype(np.intp, copy=False)
    for c, n in zip(others, shape[1:], strict=True):
        key = key * n + c
    return key


__all__ = ["Aligned", "Entries", "joined", "keys_of", "united"]
