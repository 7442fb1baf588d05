"""Erosion and masked histograms: the example's programs against OpenCV and others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench import generators, peers
from bench.races import Race, Target
from docs.examples import images
from finch_core import Tensor, asarray
from finch_levels import Dense, Element


def pictures(data: Path | None, quick: bool) -> Iterator[tuple[str, Any]]:
    """Names and images of zeros and ones: smooth blobs of several sizes, noise, real ones."""
    for side, sigma in ((28, 2.0), (105, 4.0), (400, 10.0), (1111, 25.0)):
        yield f"blobs {side}", generators.blobs(side, side, sigma)
    yield "noise 400", (np.random.default_rng(0).random((400, 400)) < 0.9).astype(np.uint8)
    if data is not None and not quick:
        from PIL import Image

        for path in sorted(data.glob("*.png")):
            yield path.stem, (np.array(Image.open(path).convert("L")) > 127).astype(np.uint8)


def _twice(program: Any, format: Any, image: Any) -> Callable[[], Any]:
    """Two erosions in a format, back and forth between two outputs."""
    source = Tensor(format, image.astype(format.dtype))
    first, second = Tensor(format), Tensor(format)
    return lambda: program(second, program(first, source))


def _words(image: Any) -> Callable[[], Any]:
    """Both erosions at once, in words; the pixels are unpacked only to be compared."""
    source, out = Tensor(images.WORDS, images.pack(image)), Tensor(images.WORDS)

    def run() -> Any:
        images.erode_words_twice(out, source)
        return lambda: images.unpack(out.to_numpy(), image.shape[0])

    return run


def erosion(name: str, image: Any, systems: Any) -> Race:
    ours = {
        "finch bytes": _twice(images.erode_bytes, images.BYTES, image),
        "finch runs": _twice(images.erode_runs, images.RUNS, image),
        "finch words": _words(image),
    }
    theirs = peers.contenders(systems, "erosion", image, 2)
    value = lambda found: np.asarray(found).astype(np.uint8)  # noqa: E731
    return Race(f"erosion {name}", ours, theirs, value, (Target("opencv", 4.0),), exact=True)


def histogram(name: str, mask: Any, systems: Any) -> Race:
    generator = np.random.default_rng(0)
    grey = generator.integers(0, 256, mask.shape).astype(np.uint8)
    pixels, runs, plain = asarray(grey), Tensor(images.RUNS, mask != 0), asarray(mask)
    bins, others = (Tensor(Dense(Element(0)), (16,)) for _ in range(2))
    ours = {
        "finch runs": lambda: images.histogram(bins, pixels, runs),
        "finch bytes": lambda: images.histogram_bytes(others, pixels, plain),
    }
    theirs = peers.contenders(systems, "histogram", grey, mask)
    value = lambda found: np.asarray(found).ravel().astype(np.int64)  # noqa: E731
    return Race(f"histogram {name}", ours, theirs, value, (Target("opencv", 1.0),), exact=True)


def races(systems: Any, data: Path | None, quick: bool) -> Iterator[Race]:
    for name, image in pictures(data, quick):
        yield erosion(name, image, systems)
        yield histogram(name, image, systems)
