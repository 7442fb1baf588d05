"""Erosion, dilation, masked histograms, box sums and blending, against OpenCV and others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench import data as real
from bench import generators, peers
from bench.races import Race, Target
from docs.examples import images
from finch_core import Tensor, asarray
from finch_levels import Dense, Element

AS_GIVEN = "finch bytes"
"""Ours on the bytes in which users have images: what is compared with the peers. Runs and words
have to be made of them, and made into bytes again."""

SIZES = (28, 56, 112, 224, 448, 896, 1792)


def pictures(quick: bool) -> Iterator[tuple[str, Any]]:
    """Names and images of zeros and ones: smooth blobs of several sizes, and noise."""
    for side, sigma in ((28, 2.0), (105, 4.0), (400, 10.0), (1111, 25.0)):
        yield f"blobs {side}", generators.blobs(side, side, sigma)
    yield "noise 400", (np.random.default_rng(0).random((400, 400)) < 0.9).astype(np.uint8)


def _bytes(program: Any, image: Any) -> Callable[[], Any]:
    """Both iterations at once, on the bytes as the user has them; the call is bound, as a call that
    is repeated is, and the result is an array that is kept, as OpenCV's is."""
    run: Callable[[], Any] = program.bind(np.empty_like(image), image)
    return run


def _runs(program: Any, image: Any) -> Callable[[], Any]:
    """Two iterations, back and forth between two outputs; ``convert`` is there and back."""
    source = Tensor(images.RUNS, image.astype(bool))
    first, second = Tensor(images.RUNS), Tensor(images.RUNS)

    def run() -> Any:
        return program(second, program(first, source))

    run.convert = lambda: Tensor(images.RUNS, image.view(bool)).to_numpy()  # type: ignore[attr-defined]
    return run


def _words(program: Any, image: Any, beyond: int) -> Callable[[], Any]:
    """Both iterations at once, in words; the pixels are unpacked only to be compared. ``convert``
    packs and unpacks."""
    words, height = images.pack(image, beyond), image.shape[0]
    out = np.empty_like(words)
    call = program.bind(out, words)

    def unpacked() -> Any:
        return images.unpack(out, height)

    def run() -> Any:
        call()
        return unpacked

    run.convert = lambda: images.unpack(images.pack(image, beyond), height)  # type: ignore[attr-defined]
    return run


def _bits(found: Any) -> Any:
    return np.asarray(found).astype(np.uint8)


def erosion(name: str, image: Any, systems: Any, **more: Any) -> Race:
    ours = {
        "finch bytes": _bytes(images.erode_bytes_twice, image),
        "finch runs": _runs(images.erode_runs, image),
        "finch words": _words(images.erode_words_twice, image, beyond=1),
    }
    theirs = peers.contenders(systems, "erosion", image, 2)
    asked = (Target("opencv", 1.0),)
    more |= {"exact": True, "work": "erosion", "rule": AS_GIVEN}
    return Race(name, ours, theirs, _bits, asked, **more)


def dilation(name: str, image: Any, systems: Any, **more: Any) -> Race:
    ours = {
        "finch bytes": _bytes(images.dilate_bytes_twice, image),
        "finch runs": _runs(images.dilate_runs, image),
        "finch words": _words(images.dilate_words_twice, image, beyond=0),
    }
    theirs = peers.contenders(systems, "dilation", image, 2)
    more |= {"exact": True, "work": "dilation", "rule": AS_GIVEN}
    return Race(name, ours, theirs, _bits, **more)


def histogram(name: str, mask: Any, systems: Any, **more: Any) -> Race:
    generator = np.random.default_rng(0)
    grey = generator.integers(0, 256, mask.shape).astype(np.uint8)
    runs, bins = Tensor(images.RUNS, mask != 0), [np.zeros(16, np.int64) for _ in range(2)]
    by_runs = images.histogram.bind(bins[1], grey, runs)

    def run() -> Any:
        return by_runs()

    run.convert = lambda: Tensor(images.RUNS, mask.view(bool))  # type: ignore[attr-defined]
    ours = {"finch bytes": images.histogram_bytes.bind(bins[0], grey, mask), "finch runs": run}
    theirs = peers.contenders(systems, "histogram", grey, mask)
    value = lambda found: np.asarray(found).ravel().astype(np.int64)  # noqa: E731
    asked = (Target("opencv", 1.0),)
    more |= {"exact": True, "work": "histogram", "rule": AS_GIVEN}
    return Race(name, ours, theirs, value, asked, **more)


def blending(name: str, first: Any, second: Any, systems: Any) -> Race:
    """Run-length images; OpenCV blends all pixels."""
    pair = [Tensor(images.GREY_RUNS, image) for image in (first, second)]
    out = Tensor(images.GREY_RUNS)
    ours = {"finch runs": lambda: images.blend(out, *pair, 0.25)}
    theirs = peers.contenders(systems, "blend", first, second, 0.25)
    value = lambda found: found.to_numpy() if isinstance(found, Tensor) else found  # noqa: E731
    return Race(name, ours, theirs, value, exact=True, work="blend")


def box(name: str, grey: Any, systems: Any) -> Race:
    """A stencil in two parts."""
    pixels, sums = asarray(grey), Tensor(Dense(Dense(Element(np.uint16(0)))))
    ours = {"finch": lambda: images.box_sum(sums, pixels)}
    theirs = peers.contenders(systems, "box_sum", grey)
    value = lambda found: found.to_numpy() if isinstance(found, Tensor) else found  # noqa: E731
    return Race(name, ours, theirs, value, exact=True, work="box sum")


def from_collections(systems: Any, data: Path | None) -> Iterator[Race]:
    """Each picture of each collection, as a few; a collection is reported as one."""
    plain = [*real.collections(data), *real.packaged_pictures()]
    for collection in plain + [c.magnified() for c in plain]:
        share = 2.0 / len(collection.pictures)
        for k, picture in enumerate(collection.pictures):
            name, image = f"{collection.name} {k}", real.thresholded(picture)
            if min(image.shape) and image.size <= 4_000_000:
                more = {"group": collection.name, "share": share}
                yield erosion(name, image, systems, **more)
                yield histogram(name, image, systems, **more)


def races(systems: Any, data: Path | None, quick: bool) -> Iterator[Race]:
    for name, image in pictures(quick):
        yield erosion(name, image, systems)
        yield histogram(name, image, systems)
    yield dilation("blobs 400", generators.blobs(400, 400, 10.0), systems)
    pair = [generators.runs(400, 400, 40, seed) for seed in (0, 1)]
    yield blending("runs of 40, 400", *pair, systems)
    yield box("runs of 40, 400", pair[0], systems)
    for side in SIZES[1:5] if quick else SIZES:
        image = generators.blobs(side, side, side / 14)
        yield erosion(f"erosion {side}", image, systems, group="scaling", size=float(side))
        yield histogram(f"histogram {side}", image, systems, group="scaling", size=float(side))
    if not quick:
        yield from from_collections(systems, data)
