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


@attrs.frozen
class Race:
    """``ours`` and ``theirs`` by name; results that are functions are called for their arrays."""

    name: str
    ours: Mapping[str, Callable[[], Any]]
    theirs: Mapping[str, Callable[[], Any]]
    value: Callable[[Any], Any] = np.asarray
    targets: tuple[Target, ...] = ()
    exact: bool = False

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
                raise Disagreement(f"{self.name}: {name} and {first} differ")

    def _same(self, a: Any, b: Any) -> bool:
        if a.shape != b.shape:
            return False
        return bool(np.array_equal(a, b) if self.exact else np.allclose(a, b, 1e-8, 1e-10))

    def run(self, seconds: float) -> dict[str, Any]:
        """Microseconds of each contender, and how our best stands to each target and peer."""
        self.check()
        timing = compare({**self.ours, **self.theirs}, seconds, at_least=3)
        times = {name: t.seconds * 1e6 for name, t in timing.items()}
        best = min(self.ours, key=times.__getitem__)
        ratios = {peer: times[peer] / times[best] for peer in self.theirs}
        asked = {t.peer: t.times for t in self.targets if t.peer in ratios}
        return {"data": self.name, "best": best, "us": times, "ratios": ratios, "asked": asked}


def geometric_means(rows: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """The geometric mean of our best against each peer, over the data sets it took part in."""
    logs: dict[str, list[float]] = {}
    for row in rows:
        for peer, ratio in row["ratios"].items():
            logs.setdefault(peer, []).append(math.log(ratio))
    return {peer: math.exp(sum(found) / len(found)) for peer, found in logs.items()}
