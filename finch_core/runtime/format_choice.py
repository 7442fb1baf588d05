"""Choosing a format for data: each level format offers itself by what the data store.

No format is named here: levels say what it takes to store and to read fibers of given statistics
(``Format.offers``), and the tree of levels is taken that is read fastest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from finch_core.errors import FormatError
from finch_core.interface.level import Format
from finch_core.interface.offers import Fibers, Offer
from finch_core.interface.plugin_calls import offers_of
from finch_core.interface.plugins import hub
from finch_core.interface.structure import Pieces
from finch_core.records import evolve, frozen
from finch_core.runtime.pattern_statistics import Entries, entries_of, statistics
from finch_core.runtime.scipy_arrays import csr_format

CACHE, MEMORY = 0.008, 0.035
"""Nanoseconds for each byte that comes from a cache, and from memory."""
CACHED = 8 << 20
"""Bytes up to which data are taken to stay in a cache."""
CONVERSION = 1e5
"""Nanoseconds of a conversion of next to nothing."""
WRITTEN = 0.15
"""Nanoseconds for each byte that a conversion writes."""
SCATTERED = 0.3
"""Nanoseconds for each entry above the diagonal that is used for the one below it, too."""
SHORT = 4.0
"""Nanoseconds for a row, where rows have less than three of these: their loops hide nothing."""
LOADED = 0.01
"""Nanoseconds for each byte of a value more or less than those of a double."""
ABOVE = 1.1
"""What a sparse level above another costs, where not all rows of a result are written."""
MOST_BYTES = 1 << 50


@frozen
class Candidate:
    """A format, and what it is estimated to take: ``bytes`` of memory, ``time`` of one product with
    a vector and ``conversion`` in microseconds."""

    format: Format
    why: str
    bytes: int
    time: float
    conversion: float
    symmetric: bool = False


@frozen
class Choice:
    """The format that suits data best, why, and the other candidates.

    ``given`` is the format that the data have already, or the sorted lists that they would have if
    they came as coordinates. Estimates are for one core; only their ratios matter.
    """

    best: Candidate
    given: Candidate
    candidates: tuple[Candidate, ...]
    measures: tuple[Fibers, ...]
    """What was measured of each level."""

    @property
    def format(self) -> Format:
        """The format that was chosen."""
        return self.best.format

    @property
    def symmetric(self) -> bool:
        """Whether it is for the entries above the diagonal alone, of a symmetric matrix."""
        return self.best.symmetric

    @property
    def pays_after(self) -> int | None:
        """The number of products from which on the conversion pays: 0 if none is needed, None if it
        never does."""
        return _pays_after(self.best, self.given)

    @property
    def why(self) -> str:
        """The reasons, in one line."""
        return f"{self.best.why}; {_paid(self.pays_after)}"

    @property
    def bytes(self) -> dict[str, int]:
        """About how many bytes the data take, by the innermost level."""
        found: dict[str, int] = {}
        for c in self.candidates:
            name = c.format.levels()[-2].name
            found[name] = min(c.bytes, found.get(name, c.bytes))
        return found

    @property
    def table(self) -> list[dict[str, Any]]:
        """All candidates, the fastest first."""
        return [
            {
                "format": ("upper triangle in " if c.symmetric else "") + shown(c.format),
                "MB": c.bytes / 1e6,
                "product (us)": c.time,
                "conversion (us)": 0.0 if c.format == self.given.format else c.conversion,
                "pays after": _pays_after(c, self.given),
                "why": c.why,
            }
            for c in self.candidates
        ]

    def __str__(self) -> str:
        head = ("format", "MB", "product (us)", "conversion (us)", "pays after")
        rows = [[_cell(row[name]) for name in head] for row in self.table]
        widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
        lines = [
            "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip()
            for row in (head, *rows)
        ]
        return "\n".join([f"{shown(self.format)}: {self.why}", *lines])


def choose_format(
    data: Any,
    *,
    shape: Sequence[int] | None = None,
    leaf: Format | None = None,
    index: Any = None,
    uses: float = math.inf,
    access: str = "walk",
    symmetric: bool = False,
    pattern: bool = False,
    runs: bool = True,
) -> Choice:
    """The ``format`` in which an array is read fastest, why, and the numbers of other candidates.

    ``data`` is a tensor, a SciPy or NumPy array, anything that ``asarray`` takes, or coordinates:
    ``(values, (i, j, ...))``, with the ``shape``. The choice is for programs that read it in order,
    beside dense operands, as a matrix-vector product does (``access="walk"``), or that look indices
    up in any order (``"follow"``).

    With a number of ``uses`` the conversion counts, too. ``symmetric`` permits a format for what is
    above the diagonal of a symmetric matrix, for programs that use each entry of it twice;
    ``pattern`` one that stores no values where all of them are 1, and reads as bools. ``runs`` are
    runs of equal values, which pay where all other operands are constant along them, or dense.
    ``leaf`` is that of the format, and ``index`` the dtype of indices and pointers, if not the
    values' own and the narrowest that fits.

    Raises ``FormatError`` for data without dimensions, and for an unknown ``access``.
    """
    _check_access(access)
    entries, given = entries_of(data, shape, index)
    leaves = _leaves(entries.values, pattern) if leaf is None else [leaf]
    levels = statistics(entries)
    found = [c for leaf in leaves for c in _candidates(levels, leaf, access)]
    found = [c for c in found if runs or not _has_runs(c.format)]
    now = _given(given, levels, leaves[0], access) or _given(None, levels, leaves[0], access)
    # whoever blocked the formats of this distribution has others
    now = now or min(found, key=lambda c: c.conversion)
    others = [c for c in found if c.format != now.format]
    halves = _halves(entries, leaves) if access == "walk" else []
    return _choice([now, *others, *halves], now, uses, symmetric, levels)


def _halves(entries: Entries, leaves: Sequence[Format]) -> list[Candidate]:
    """The candidates for the upper triangle of a symmetric matrix; none for other arrays."""
    if not entries.is_symmetric():
        return []
    levels = statistics(entries.upper())
    halves = [c for leaf in leaves for c in _candidates(levels, leaf, "walk")]
    return [_symmetric(c, entries) for c in halves]


def _check_access(access: str) -> None:
    if access not in ("walk", "follow"):
        raise FormatError(f"access is 'walk' or 'follow', not {access!r}")


def _has_runs(format: Format) -> bool:
    return any(level.structure.pieces is Pieces.RUNS for level in format.levels())


def _choice(
    found: list[Candidate],
    now: Candidate,
    uses: float,
    symmetric: bool,
    measures: tuple[Fibers, ...],
) -> Choice:
    def cost(candidate: Candidate) -> float:
        once = 0.0 if candidate.format == now.format else candidate.conversion
        return candidate.time + once / uses

    ranked = sorted(found, key=lambda c: (cost(c), c.bytes))
    best = next(c for c in ranked if not c.symmetric)
    if symmetric and ranked[0].symmetric and cost(ranked[0]) < 0.95 * cost(best):
        best = ranked[0]
    best = now if cost(now) <= cost(best) else best
    return Choice(best, now, tuple(_apart(ranked, now)), measures)


def _apart(ranked: list[Candidate], now: Candidate) -> Iterator[Candidate]:
    """What the data are now, and the best of the candidates whose innermost levels are of one
    kind."""
    seen = set()
    for candidate in ranked:
        levels = candidate.format.levels()
        key = levels[-2].name, levels[-1].name, candidate.symmetric
        if candidate is now:
            key = ("", "", False)
        if key not in seen:
            seen.add(key)
            yield candidate


# -- the data -------------------------------------------------------------------------------


def _leaves(values: Any, pattern: bool) -> list[Format]:
    leaf: Format = hub().layout("values")(np.zeros((), values.dtype)[()])
    ones = pattern and bool((values == 1).all())
    kinds = [kind for kind in hub().levels.values() if ones and kind.is_leaf]
    return [leaf, *(kind() for kind in kinds if kind is not type(leaf) and not _stores(kind))]


def _stores(leaf: Any) -> bool:
    """Whether a leaf has memory of its own."""
    try:
        return bool(leaf().fields)
    except TypeError:  # it wants more than a child: whatever it is, it is not without values
        return True


# -- the candidates -------------------------------------------------------------------------


@frozen
class _Prefix:
    """Levels from the outermost on, and what they take."""

    makes: tuple[Offer, ...] = ()
    positions: int = 1
    full: bool = True
    """Whether all of them store every index."""

    @property
    def cost(self) -> float:
        return sum(o.work + o.bytes * CACHE for o in self.makes)


def _candidates(levels: Sequence[Fibers], leaf: Format, access: str) -> Iterator[Candidate]:
    """The formats that the levels offer, over this leaf."""
    depth = len(levels)
    reached: list[dict[tuple[int, bool], _Prefix]] = [{} for _ in range(depth)]
    reached[0][1, True] = _Prefix()
    for k, fibers in enumerate(levels):
        for prefix in reached[k].values():
            for offer in _offers(fibers, prefix):
                more = _Prefix((*prefix.makes, offer), offer.below, _is_full(prefix, offer, fibers))
                if k + offer.depth == depth:
                    if (made := _candidate(more, leaf, levels, access)) is not None:
                        yield made
                    continue
                key, after = (more.positions, more.full), reached[k + offer.depth]
                if key not in after or more.cost < after[key].cost:
                    after[key] = more


def _is_full(prefix: _Prefix, offer: Offer, fibers: Fibers) -> bool:
    return prefix.full and offer.below == prefix.positions * fibers.shape


def _offers(
    fibers: Fibers, prefix: _Prefix, kinds: Iterable[type[Format]] | None = None
) -> Iterator[Offer]:
    """What levels of these kinds offer for the fibers below a prefix; all that are installed, if
    none are given."""
    diagonals = fibers.diagonals if prefix.full else None
    here = evolve(fibers, positions=prefix.positions, diagonals=diagonals)
    for kind in hub().levels.values() if kinds is None else kinds:
        for offer in () if kind.is_leaf else offers_of(kind, here):
            if offer.below < MOST_BYTES:
                yield offer


def _candidate(
    prefix: _Prefix, leaf: Format, levels: Sequence[Fibers], access: str
) -> Candidate | None:
    """The format of these levels; None if they cannot be over this leaf."""
    format = leaf
    try:
        for offer in reversed(prefix.makes):
            format = offer.make(format)
    except FormatError:  # it stores fill values, which the leaf cannot hold
        return None
    if any(level.pads and not level.child.holds_fill for level in format.levels()[:-1]):  # type: ignore[union-attr]
        return None
    width = sum(f.dtype.itemsize for f in leaf.fields)
    size = sum(offer.bytes for offer in prefix.makes) + prefix.positions * width
    stored = levels[-1].stored
    if access == "walk":
        sparse = sum(not level.stores_fill for level in format.levels()[:-2])
        work = sum(offer.work for offer in prefix.makes) * ABOVE**sparse
        work = max(0.0, work + prefix.positions * (width - 8) * LOADED)
        time = max(work, size * (CACHE if size <= CACHED else MEMORY))
    else:
        time = stored * (sum(offer.lookup for offer in prefix.makes) + 1) + size * CACHE
    conversion = CONVERSION + prefix.makes[-1].convert * stored + size * WRITTEN
    return Candidate(format, prefix.makes[-1].why, size, time / 1e3, conversion / 1e3)


def _symmetric(half: Candidate, entries: Entries) -> Candidate:
    """A candidate for the entries above the diagonal, each of which is used twice."""
    above = int(np.count_nonzero(entries.coords[0] < entries.coords[1]))
    rows = entries.shape[0]
    size = half.bytes + rows * entries.values.itemsize
    each = 1.0 if above >= 3 * rows else SHORT
    time = half.time + (above * SCATTERED + rows * each) / 1e3
    why = f"symmetric: {above} entries above the diagonal stand for {len(entries.values)}"
    return evolve(half, bytes=size, time=time, why=why, symmetric=True)


def _given(
    format: Format | None, levels: Sequence[Fibers], leaf: Format, access: str
) -> Candidate | None:
    """What a format takes that the data have already, or the sorted lists below a dense level that
    they would have; None if its levels offer nothing."""
    if format is None:
        format = csr_format(len(levels), leaf.dtype, levels[0].index, levels[0].index)
    prefix = _Prefix()
    for kind, fibers in zip(_kinds(format), levels, strict=True):
        offer = next((o for o in _offers(fibers, prefix, [kind]) if o.depth == 1), None)
        if offer is None:
            return None
        prefix = _Prefix((*prefix.makes, offer), offer.below, _is_full(prefix, offer, fibers))
    found = _candidate(prefix, format.levels()[-1], levels, access)
    return None if found is None else evolve(found, format=format)


def _kinds(format: Format) -> list[type[Format]]:
    return [type(level) for level in format.levels()[:-1]]


# -- for people -----------------------------------------------------------------------------


def shown(format: Format) -> str:
    """A format by the names of its levels."""
    return "(".join(level.name for level in format.levels()) + ")" * (len(format.levels()) - 1)


def _pays_after(candidate: Candidate, now: Candidate) -> int | None:
    if candidate.format == now.format and not candidate.symmetric:
        return 0
    gain = now.time - candidate.time
    return math.ceil(candidate.conversion / gain) if gain > 0 else None


def _paid(uses: int | None) -> str:
    if uses is None:
        return "the conversion does not pay by itself"
    return f"the conversion pays after {uses} products" if uses else "no conversion is needed"


def _cell(value: Any) -> str:
    if value is None:
        return "never"
    return f"{value:.3g}" if isinstance(value, float) else str(value)


__all__ = ["Candidate", "Choice", "choose_format", "shown"]
