"""Black-and-white images: erosion and dilation in bytes, in words of 64 pixels and in runs, a
masked histogram, and blending of run-length images.

    python docs/examples/images.py [image.png [eroded.png]]

Beyond the border counts as white for erosion and as black for dilation. (Paper, Figure "Two
approaches to erosion in Finch".)
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from finch_core import Tensor, _, coalesce, kernel
from finch_levels import Dense, Element, Pattern, RunList, SparseRunList

RUNS = Dense(SparseRunList(Pattern()))
BYTES = Dense(Dense(Element(np.uint8(0))))
WORDS = Dense(Dense(Element(np.uint64(0))))
GREY_RUNS = Dense(RunList(Element(np.uint8(0))))
ALL = np.uint64(0xFFFF_FFFF_FFFF_FFFF)


@kernel
def erode_runs(out, image):
    """A pixel stays on if it and its eight neighbours are: first above and below, then beside."""
    out[...] = False
    for y in _:
        tmp = Tensor(SparseRunList(Pattern()))
        for x in _:
            tmp[x] = (
                coalesce(image[~(y - 1), x], True)
                & image[y, x]
                & coalesce(image[~(y + 1), x], True)
            )
        for x in _:
            out[y, x] = coalesce(tmp[~(x - 1)], True) & tmp[x] & coalesce(tmp[~(x + 1)], True)
    return out


@kernel
def erode_bytes(out, image):
    """The same, a byte for each pixel."""
    out[...] = 0
    for y in _:
        tmp = Tensor(Dense(Element(np.uint8(0))))
        for x in _:
            tmp[x] = (
                coalesce(image[~(y - 1), x], np.uint8(1))
                & image[y, x]
                & coalesce(image[~(y + 1), x], np.uint8(1))
            )
        for x in _:
            out[y, x] = (
                coalesce(tmp[~(x - 1)], np.uint8(1)) & tmp[x] & coalesce(tmp[~(x + 1)], np.uint8(1))
            )
    return out


@kernel
def dilate_runs(out, image):
    """A pixel comes on if it or one of its eight neighbours is."""
    out[...] = False
    for y in _:
        tmp = Tensor(SparseRunList(Pattern()))
        for x in _:
            tmp[x] = (
                coalesce(image[~(y - 1), x], False)
                | image[y, x]
                | coalesce(image[~(y + 1), x], False)
            )
        for x in _:
            out[y, x] = coalesce(tmp[~(x - 1)], False) | tmp[x] | coalesce(tmp[~(x + 1)], False)
    return out


@kernel
def erode_words(out, image, mask):
    """The same, 64 pixels at a time, where ``mask`` has a word that is not all off."""
    out[...] = 0
    for y in _:
        tmp = Tensor(Dense(Element(np.uint64(0))))
        for x in _:
            if mask[y, x]:
                tmp[x] = (
                    coalesce(image[~(y - 1), x], ALL)
                    & image[y, x]
                    & coalesce(image[~(y + 1), x], ALL)
                )
        for x in _:
            if mask[y, x]:
                left = coalesce(tmp[~(x - 1)], ALL)
                here = tmp[x]
                right = coalesce(tmp[~(x + 1)], ALL)
                out[y, x] = (
                    ((right << np.uint64(63)) | (here >> np.uint64(1)))
                    & here
                    & ((here << np.uint64(1)) | (left >> np.uint64(63)))
                )
    return out


@kernel
def histogram(bins, image, mask):
    """How many of the masked pixels are in each of 16 classes of brightness."""
    bins[...] = 0
    for y, x in _:
        if mask[y, x]:
            bins[image[y, x] // np.uint8(16)] += 1
    return bins


@kernel
def blend(out, first, second, alpha):
    """``alpha`` of one image over the rest of another: once for each pair of runs that meet."""
    out[...] = 0
    for y, x in _:
        out[y, x] = np.uint8(round(alpha * first[y, x] + (1 - alpha) * second[y, x]))
    return out


def pack(image: Any) -> Any:
    """Pixels as words, the first in the lowest bit; beyond the last column all bits are on."""
    height, width = image.shape
    padded = np.ones((height, -(-width // 64) * 64), dtype=np.uint8)
    padded[:, :width] = image != 0
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def unpack(words: Any, width: int) -> Any:
    """The opposite of ``pack``."""
    return np.unpackbits(np.ascontiguousarray(words).view(np.uint8), axis=1, bitorder="little")[
        :, :width
    ]


def repad(words: Any, width: int) -> Any:
    """Words with what is beyond the last column on again."""
    if width % 64:
        words[:, -1] |= ALL << np.uint64(width % 64)
    return words


def erode(image: Any, iterations: int = 1, way: str = "runs") -> Any:
    """An eroded image of zeros and ones, by ``bytes``, ``words`` or ``runs``."""
    if way == "words":
        words = pack(image)
        for _iteration in range(iterations):
            words = erode_words(Tensor(WORDS), words, words != 0).to_numpy()
            words = repad(words, image.shape[1])
        return unpack(words, image.shape[1])
    format, program = (RUNS, erode_runs) if way == "runs" else (BYTES, erode_bytes)
    found = Tensor(format, (image != 0).astype(format.dtype))
    for _iteration in range(iterations):
        found = program(Tensor(format), found)
    return found.to_numpy().astype(np.uint8)


def main(arguments: list[str]) -> None:
    if arguments:
        from PIL import Image

        grey = np.array(Image.open(arguments[0]).convert("L"))
        image = (grey > 127).astype(np.uint8)
    else:
        y, x = np.mgrid[:100, :100]
        image = ((y - 50) ** 2 + (x - 50) ** 2 < 900).astype(np.uint8)
    found = {way: erode(image, 2, way) for way in ("bytes", "words", "runs")}
    for way, eroded in found.items():
        np.testing.assert_array_equal(eroded, found["bytes"])
        print(f"{way}: {image.sum()} pixels on, {eroded.sum()} after two erosions")
    if len(arguments) > 1:
        Image.fromarray(found["runs"] * np.uint8(255)).save(arguments[1])


if __name__ == "__main__":
    main(sys.argv[1:])
