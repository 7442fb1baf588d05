"""The entries of sparse operands side by side: those with the same coordinates, or joined by the
indices that they share, as the loops of a kernel visit them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from finch_array.sorted_coordinates import keys_of, pairs, ranges_in_order
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
        return _keys(self.coords, names, sizes)


@frozen(eq=False)
class Aligned:
    """Places, sorted by the loops: where they are, the value of each operand there (0 where it
    stores none), and which operands store one, as a number with a bit for each."""

    place: dict[str, Any]
    values: Sequence[Any]
    group: Any


def united(loops: Sequence[str], sizes: Mapping[str, int], operands: Sequence[Entries]) -> Aligned:
    """The places at which any operand stores something, of operands that have all indices."""
    shape = tuple([sizes[i] for i in loops])
    keys = [entries.keys(loops, sizes) for entries in operands]
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
    rest = [n for n, decides in enumerate(deciding) if decides]
    if not rest:
        return None
    n = rest.pop(0)
    chosen = {n: np.arange(len(operands[n].values))}  # the entry of each operand
    place = dict(operands[n].coords)
    while rest:
        shared = [n for n in rest if any(i in place for i in operands[n].coords)]
        n = (shared or rest)[0]
        rest.remove(n)
        names = [i for i in operands[n].coords if i in place]
        own, order = _sorted_keys(operands[n], names, sizes)
        first, count = ranges_in_order(own, _keys(place, names, sizes), _count(names, sizes))
        if count.sum() > most:
            return None
        entry, left = pairs(first, count)
        entry = entry if order is None else order[entry]
        chosen = {k: known[left] for k, known in chosen.items()} | {n: entry}
        place = {i: c[left] for i, c in place.items()}
        place |= {i: c[entry] for i, c in operands[n].coords.items() if i not in place}
    if len(place) < len(loops):
        return None
    keys = _keys(place, loops, sizes)
    if np.count_nonzero(keys[1:] < keys[:-1]):
        order = keys.argsort(kind="stable")
        place = {i: c[order] for i, c in place.items()}
        chosen = {k: known[order] for k, known in chosen.items()}
    place = {i: place[i] for i in loops}
    group = np.full(len(keys), sum([1 << n for n in chosen]), np.intp)
    values = []
    for n, entries in enumerate(operands):
        if n in chosen:
            values.append(entries.values[chosen[n]])
        else:
            values.append(_looked_up(place, entries, sizes, group, 1 << n))
    return Aligned(place, values, group)


def _sorted_keys(entries: Entries, names: Sequence[str], sizes: Mapping[str, int]) -> Any:
    """Numbers of entries by the indices ``names``, sorted, and the order that sorts them (None:
    they are)."""
    own = entries.keys(names, sizes)
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
    sought = _keys(place, names, sizes)
    at = np.minimum(own.searchsorted(sought), len(own) - 1)
    (there,) = (own[at] == sought).nonzero()
    entry = at[there]
    found[there] = entries.values[entry if order is None else order[entry]]
    group[there] |= bit
    return found


def _keys(coords: Mapping[str, Any], names: Sequence[str], sizes: Mapping[str, int]) -> Any:
    """A number for each place, by its indices ``names``: 0 where there are none."""
    if not names:
        return np.zeros(len(next(iter(coords.values()))), np.intp)
    return keys_of(tuple([sizes[i] for i in names]), [coords[i] for i in names])


def _count(names: Sequence[str], sizes: Mapping[str, int]) -> int:
    """How many numbers ``_keys`` tells apart."""
    return math.prod([sizes[i] for i in names])


__all__ = ["Aligned", "Entries", "joined", "united"]
