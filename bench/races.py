"""A race: all contenders of one workload on one data set, checked against each other and timed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import attrs
import numpy as np

from bench.harness import compare


class Disagreement(AssertionError):
    """Two contenders gave different results."""


@attrs.frozen
class Target:
    """What the generated code is asked for: ``times`` faster than ``peer``."""

    peer: str
    times: float


def over_taco(times: float) -> tuple[Target, ...]:
    """Targets over TACO, where it is there, and over loops like those that it emits."""
    return Target("taco", times), Target("taco-like", times)


@attrs.frozen
class Race:
    """``ours`` and ``theirs`` by name; results that are functions are called for their arrays."""

    name: str
    ours: Mapping[str, Callable[[], Any]]
    theirs: Mapping[str, Callable[[], Any]]
    value: Callable[[Any], Any] = np.asarray
    targets: tuple[Target, ...] = ()
    exact: bool = False
    tolerance: float = 1e-8
    work: str = ""
    """What is done, where a command has several kinds of work."""
    group: str = ""
    """The collection that the data belongs to: reported as one, by its geometric mean."""
    size: float | None = None
    """How large the data is, on the axis of a scaling curve."""
    share: float = 1.0
    """The part of the usual time."""
    about: str = ""
    rule: str = ""
    """Which of ours a rule names beforehand; without one, the best in hindsight is compared."""
    fresh: Mapping[str, str] = attrs.field(factory=dict)
    """By peers that make their result anew in each call, which of ours does so, too."""

    def check(self) -> None:
        """Raise ``Disagreement`` unless every result equals the first."""
        everyone = {**self.ours, **self.theirs}
        first, expected = "", None
        for name, run in everyone.items():
            found = run()
            found = np.array(self.value(found() if callable(found) else found))
            if expected is None:
                first, expected = name, found
            elif not self._same(found, expected):
                raise Disagreement(f"{self.work} {self.name}: {name} and {first} differ")

    def _same(self, a: Any, b: Any) -> bool:
        if a.shape != b.shape:
            return False
        rough = self.tolerance
        return bool(np.array_equal(a, b) if self.exact else np.allclose(a, b, rough, rough / 100))

    def run(self, seconds: float) -> dict[str, Any]:
        """Microseconds of each contender, and how our best stands to each target and peer."""
        self.check()
        timing = compare({**self.ours, **self.theirs}, seconds * self.share, at_least=3)
        times = {name: t.seconds * 1e6 for name, t in timing.items()}
        anew = set(self.fresh.values())
        hindsight = min((name for name in self.ours if name not in anew), key=times.__getitem__)
        best = self.rule or hindsight
        ratios = {peer: times[peer] / times[self.fresh.get(peer, best)] for peer in self.theirs}
        asked = {t.peer: t.times for t in self.targets if t.peer in ratios}
        if "taco" in asked:
            asked.pop("taco-like", None)  # the real one is there
        row = {"data": self.name, "best": best, "us": times, "ratios": ratios, "asked": asked}
        if self.rule:
            row |= {"hindsight": hindsight, "converting": self._conversions()}
        more = {"work": self.work, "group": self.group, "size": self.size, "about": self.about}
        return {**row, **{name: value for name, value in more.items() if value not in ("", None)}}

    def _conversions(self) -> dict[str, float]:
        """Microseconds of the conversions that contenders name, the least of three."""
        found = {}
        for name, run in {**self.ours, **self.theirs}.items():
            convert = getattr(run, "convert", None)
            if convert is not None:
                times = compare({name: convert}, 0.0, at_least=3)
                found[name] = times[name].seconds * 1e6
        return found


def mean(ratios: Iterable[float]) -> float:
    """The geometric mean; not a number of nothing."""
    logs = [math.log(ratio) for ratio in ratios]
    return math.exp(sum(logs) / len(logs)) if logs else math.nan


def geometric_means(rows: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """The geometric mean of our best against each peer, over the data sets it took part in."""
    found: dict[str, list[float]] = {}
    for row in rows:
        for peer, ratio in row["ratios"].items():
            found.setdefault(peer, []).append(ratio)
    return {peer: mean(ratios) for peer, ratios in found.items()}
