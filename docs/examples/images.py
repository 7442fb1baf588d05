"""Black-and-white images: erosion and dilation in bytes, in words of 64 pixels and in runs, a
masked histogram, and blending of run-length images.

    python docs/examples/images.py [image.png [eroded.png]]

Pixels outside the image count as white for erosion and as black for dilation. (Paper, Figure "Two
approaches to erosion in Finch".)
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from finch_core import Tensor, _, coalesce, kernel, parallel
from finch_levels import Dense, Element, Pattern, RunList, SparseRunList

RUNS = Dense(SparseRunList(Pattern(), index=np.int32, pointer=np.int32))
BYTES = Dense(Dense(Element(np.uint8(0))))
WORDS = Dense(Dense(Element(np.uint64(0))))
GREY_RUNS = Dense(RunList(Element(np.uint8(0))))


# -- runs -----------------------------------------------------------------------------------


@kernel
def erode_runs(out, image):
    """Erosion: a pixel stays on if it and its eight neighbours are on; columns first, then rows."""
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
def dilate_runs(out, image):
    """Dilation: a pixel is set if it or one of its eight neighbours is on."""
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


# -- bytes ----------------------------------------------------------------------------------


@kernel
def erode_bytes(out, image):
    """The same, a byte for each pixel."""
    out[...] = 0
    for y in parallel(_):
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
def dilate_bytes(out, image):
    """The same, a byte for each pixel."""
    out[...] = 0
    for y in parallel(_):
        tmp = Tensor(Dense(Element(np.uint8(0))))
        for x in _:
            tmp[x] = (
                coalesce(image[~(y - 1), x], np.uint8(0))
                | image[y, x]
                | coalesce(image[~(y + 1), x], np.uint8(0))
            )
        for x in _:
            out[y, x] = (
                coalesce(tmp[~(x - 1)], np.uint8(0)) | tmp[x] | coalesce(tmp[~(x + 1)], np.uint8(0))
            )
    return out


@kernel
def erode_bytes_twice(out, image):
    """Two erosions in one: a pixel stays on if all pixels up to two away are."""
    out[...] = 0
    for y in _:
        tmp = Tensor(Dense(Element(np.uint8(0))))
        for x in _:
            above = coalesce(image[~(y - 2), x], np.uint8(1)) & coalesce(
                image[~(y - 1), x], np.uint8(1)
            )
            below = coalesce(image[~(y + 1), x], np.uint8(1)) & coalesce(
                image[~(y + 2), x], np.uint8(1)
            )
            tmp[x] = above & image[y, x] & below
        for x in _:
            left = coalesce(tmp[~(x - 2)], np.uint8(1)) & coalesce(tmp[~(x - 1)], np.uint8(1))
            right = coalesce(tmp[~(x + 1)], np.uint8(1)) & coalesce(tmp[~(x + 2)], np.uint8(1))
            out[y, x] = left & tmp[x] & right
    return out


@kernel
def dilate_bytes_twice(out, image):
    """Two dilations in one: a pixel comes on if one of the pixels up to two away is."""
    out[...] = 0
    for y in _:
        tmp = Tensor(Dense(Element(np.uint8(0))))
        for x in _:
            above = coalesce(image[~(y - 2), x], np.uint8(0)) | coalesce(
                image[~(y - 1), x], np.uint8(0)
            )
            below = coalesce(image[~(y + 1), x], np.uint8(0)) | coalesce(
                image[~(y + 2), x], np.uint8(0)
            )
            tmp[x] = above | image[y, x] | below
        for x in _:
            left = coalesce(tmp[~(x - 2)], np.uint8(0)) | coalesce(tmp[~(x - 1)], np.uint8(0))
            right = coalesce(tmp[~(x + 1)], np.uint8(0)) | coalesce(tmp[~(x + 2)], np.uint8(0))
            out[y, x] = left | tmp[x] | right
    return out


# -- words ----------------------------------------------------------------------------------

# A word holds 64 pixels of a column, the uppermost in its lowest bit. The pixels above and below
# are then one shift away, with a carry from the next word, and loops run along rows of words.


def down(above, here):
    """At each pixel the pixel above it: a shift, with a carry from the word ``above``."""
    return (here << np.uint64(1)) | (above >> np.uint64(63))


def up(here, below):
    """At each pixel the pixel below it: a shift, with a carry from the word ``below``."""
    return (here >> np.uint64(1)) | (below << np.uint64(63))


def down2(above, here):
    """The pixels two further up."""
    return (here << np.uint64(2)) | (above >> np.uint64(62))


def up2(here, below):
    """The pixels two further down."""
    return (here >> np.uint64(2)) | (below << np.uint64(62))


@kernel
def erode_words(out, image):
    """The same, 64 pixels at a time."""
    out[...] = 0
    for y in parallel(_):
        tmp = Tensor(Dense(Element(np.uint64(0))))
        for x in _:
            above = coalesce(image[~(y - 1), x], ~np.uint64(0))
            here = image[y, x]
            below = coalesce(image[~(y + 1), x], ~np.uint64(0))
            tmp[x] = down(above, here) & here & up(here, below)
        for x in _:
            left = coalesce(tmp[~(x - 1)], ~np.uint64(0))
            right = coalesce(tmp[~(x + 1)], ~np.uint64(0))
            out[y, x] = left & tmp[x] & right
    return out


@kernel
def erode_words_twice(out, image):
    """Two erosions in one: a pixel stays on if all pixels up to two away are."""
    out[...] = 0
    for y in _:
        tmp = Tensor(Dense(Element(np.uint64(0))))
        for x in _:
            above = coalesce(image[~(y - 1), x], ~np.uint64(0))
            here = image[y, x]
            below = coalesce(image[~(y + 1), x], ~np.uint64(0))
            near = down(above, here) & here & up(here, below)
            tmp[x] = down2(above, here) & near & up2(here, below)
        for x in _:
            left = coalesce(tmp[~(x - 2)], ~np.uint64(0)) & coalesce(tmp[~(x - 1)], ~np.uint64(0))
            right = coalesce(tmp[~(x + 1)], ~np.uint64(0)) & coalesce(tmp[~(x + 2)], ~np.uint64(0))
            out[y, x] = left & tmp[x] & right
    return out


@kernel
def dilate_words(out, image):
    """The same, 64 pixels at a time."""
    out[...] = 0
    for y in _:
        tmp = Tensor(Dense(Element(np.uint64(0))))
        for x in _:
            above = coalesce(image[~(y - 1), x], np.uint64(0))
            here = image[y, x]
            below = coalesce(image[~(y + 1), x], np.uint64(0))
            tmp[x] = down(above, here) | here | up(here, below)
        for x in _:
            left = coalesce(tmp[~(x - 1)], np.uint64(0))
            right = coalesce(tmp[~(x + 1)], np.uint64(0))
            out[y, x] = left | tmp[x] | right
    return out


@kernel
def dilate_words_twice(out, image):
    """Two dilations in one: a pixel comes on if one of the pixels up to two away is."""
    out[...] = 0
    for y in _:
        tmp = Tensor(Dense(Element(np.uint64(0))))
        for x in _:
            above = coalesce(image[~(y - 1), x], np.uint64(0))
            here = image[y, x]
            below = coalesce(image[~(y + 1), x], np.uint64(0))
            near = down(above, here) | here | up(here, below)
            tmp[x] = down2(above, here) | near | up2(here, below)
        for x in _:
            left = coalesce(tmp[~(x - 2)], np.uint64(0)) | coalesce(tmp[~(x - 1)], np.uint64(0))
            right = coalesce(tmp[~(x + 1)], np.uint64(0)) | coalesce(tmp[~(x + 2)], np.uint64(0))
            out[y, x] = left | tmp[x] | right
    return out


@kernel
def pack_words(words, image, beyond):
    """Pixels as words of columns: eight rows as bytes first, of which a register holds many."""
    words[...] = 0
    for q in range(8 * len(words)):
        eight = Tensor(Dense(Element(np.uint8(0))))
        eight[...] = 0
        for k in range(8):
            row = 8 * q + k
            bit = np.uint8(1) << np.uint8(k)
            if row < len(image):
                for x in _:
                    eight[x] |= bit * np.uint8(image[row, x] != 0)
            elif beyond:
                for x in _:
                    eight[x] |= bit
        for x in _:
            words[q // 8, x] |= np.uint64(eight[x]) << np.uint64(8 * (q % 8))


@kernel
def unpack_words(image, words):
    """The opposite of ``pack_words``."""
    for row in _:
        shift = np.uint64(row % 64)
        for x in _:
            image[row, x] = np.uint8((words[row // 64, x] >> shift) & np.uint64(1))


def pack(image: Any, beyond: int = 1) -> Any:
    """Pixels as words of columns; what is beyond the last row is ``beyond``, on or off."""
    height, width = image.shape
    words = np.empty((-(-height // 64), width), np.uint64)
    pack_words(words, np.ascontiguousarray(image), beyond)
    return words


def unpack(words: Any, height: int) -> Any:
    """The opposite of ``pack``."""
    image = np.empty((height, words.shape[1]), np.uint8)
    unpack_words(image, words)
    return image


def repad(words: Any, height: int, beyond: int = 1) -> Any:
    """Words with what is beyond the last row ``beyond`` again."""
    if height % 64:
        pad = ~np.uint64(0) << np.uint64(height % 64)
        words[-1] = words[-1] | pad if beyond else words[-1] & ~pad
    return words


# -- other operations -----------------------------------------------------------------------


@kernel
def histogram(bins, image, mask):
    """How many of the masked pixels are in each of 16 classes of brightness."""
    bins[...] = 0
    for y in parallel(_):
        for x in _:
            if mask[y, x]:
                bins[image[y, x] // np.uint8(16)] += 1
    return bins


@kernel
def histogram_bytes(bins, image, mask):
    """The same for a mask of bytes, zeros and ones: what is off adds nothing."""
    bins[...] = 0
    for y in parallel(_):
        for x in _:
            bins[image[y, x] // np.uint8(16)] += mask[y, x]
    return bins


@kernel
def blend(out, first, second, alpha):
    """``alpha`` of one image over the rest of another: once for each pair of runs that meet."""
    out[...] = 0
    for y, x in _:
        out[y, x] = np.uint8(round(alpha * first[y, x] + (1 - alpha) * second[y, x]))
    return out


@kernel
def box_sum(out, image):
    """The sum of a grey pixel and its eight neighbours, in two parts: four additions, not eight."""
    out[...] = 0
    for y in _:
        tmp = Tensor(Dense(Element(np.uint16(0))))
        for x in _:
            tmp[x] = (
                np.uint16(coalesce(image[~(y - 1), x], np.uint8(0)))
                + np.uint16(image[y, x])
                + np.uint16(coalesce(image[~(y + 1), x], np.uint8(0)))
            )
        for x in _:
            left = coalesce(tmp[~(x - 1)], np.uint16(0))
            right = coalesce(tmp[~(x + 1)], np.uint16(0))
            out[y, x] = left + tmp[x] + right
    return out


def erode(image: Any, iterations: int = 1, way: str = "runs") -> Any:
    """An eroded image of zeros and ones, by ``bytes``, ``words`` or ``runs``."""
    if way == "words":
        return _by_words(image, iterations, erode_words, erode_words_twice, beyond=1)
    return _by_pixels(image, iterations, *ERODE[way])


def dilate(image: Any, iterations: int = 1, way: str = "runs") -> Any:
    """A dilated image of zeros and ones, by ``bytes``, ``words`` or ``runs``."""
    if way == "words":
        return _by_words(image, iterations, dilate_words, dilate_words_twice, beyond=0)
    return _by_pixels(image, iterations, *DILATE[way])


ERODE = {"bytes": (erode_bytes, erode_bytes_twice, BYTES), "runs": (erode_runs, None, RUNS)}
DILATE = {"bytes": (dilate_bytes, dilate_bytes_twice, BYTES), "runs": (dilate_runs, None, RUNS)}


def _steps(iterations: int, once: Any, twice: Any) -> list[Any]:
    """The programs that make up so many iterations, two at a time where there is a program."""
    if twice is None:
        return [once] * iterations
    return [twice] * (iterations // 2) + [once] * (iterations % 2)


def _by_pixels(image: Any, iterations: int, once: Any, twice: Any, format: Any) -> Any:
    found = Tensor(format, (image != 0).astype(format.dtype))
    for program in _steps(iterations, once, twice):
        found = program(Tensor(format), found)
    return found.to_numpy().astype(np.uint8)


def _by_words(image: Any, iterations: int, once: Any, twice: Any, beyond: int) -> Any:
    height = image.shape[0]
    words = pack(image, beyond)
    for program in _steps(iterations, once, twice):
        words = program(Tensor(WORDS), words).to_numpy()
        words = repad(words, height, beyond)
    return unpack(words, height)


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
