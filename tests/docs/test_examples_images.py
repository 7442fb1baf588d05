"""Image programs against ``scipy.ndimage`` and NumPy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.ndimage
from examples_support import example

from finch_core import Tensor
from finch_levels import Dense, Element

programs = example("images")
BOX = np.ones((3, 3), dtype=bool)


def blobs(height: int, width: int, sigma: float = 2, seed: int = 0) -> Any:
    noise = np.random.default_rng(seed).random((height, width))
    return (scipy.ndimage.gaussian_filter(noise, sigma) > 0.5).astype(np.uint8)


IMAGES = {
    "smooth": blobs(20, 150),
    "noise": (np.random.default_rng(1).random((9, 70)) < 0.9).astype(np.uint8),
    "tall": blobs(150, 20),
    "one word": blobs(64, 12, 1),
    "all on": np.ones((66, 5), dtype=np.uint8),
    "all off": np.zeros((66, 5), dtype=np.uint8),
    "a row": blobs(1, 40, 1),
    "a column": blobs(40, 1, 1),
}


@pytest.mark.parametrize("name", IMAGES)
@pytest.mark.parametrize("way", ["bytes", "words", "runs"])
def test_erosion(name: str, way: str) -> None:
    image = IMAGES[name]
    for iterations in (1, 3):
        expected = scipy.ndimage.binary_erosion(image, BOX, iterations, border_value=1)
        np.testing.assert_array_equal(programs.erode(image, iterations, way), expected)


@pytest.mark.parametrize("name", IMAGES)
@pytest.mark.parametrize("way", ["bytes", "words", "runs"])
def test_dilation(name: str, way: str) -> None:
    image = IMAGES[name]
    for iterations in (1, 3):
        expected = scipy.ndimage.binary_dilation(image, BOX, iterations)
        np.testing.assert_array_equal(programs.dilate(image, iterations, way), expected)


@pytest.mark.parametrize("name", IMAGES)
def test_packing(name: str) -> None:
    image = IMAGES[name]
    np.testing.assert_array_equal(programs.unpack(programs.pack(image), image.shape[0]), image)


@pytest.mark.parametrize("way", ["tested bytes", "bytes", "runs"])
def test_histogram(way: str) -> None:
    mask = IMAGES["smooth"] != 0
    grey = np.random.default_rng(0).integers(0, 256, mask.shape).astype(np.uint8)
    program = programs.histogram_bytes if way == "bytes" else programs.histogram
    where = Tensor(programs.RUNS, mask) if way == "runs" else mask
    bins = program(Tensor(Dense(Element(0)), (16,)), grey, where).to_numpy()
    np.testing.assert_array_equal(bins, np.bincount(grey[mask] // 16, minlength=16))


@pytest.mark.parametrize("shape", [(7, 9), (1, 5), (5, 1), (1, 1), (0, 3)])
def test_sums_over_boxes(shape: tuple[int, int]) -> None:
    image = np.random.default_rng(0).integers(0, 256, shape).astype(np.uint8)
    sums = Tensor(Dense(Dense(Element(np.uint16(0)))))
    expected = scipy.ndimage.convolve(image.astype(int), BOX.astype(int), mode="constant")
    np.testing.assert_array_equal(programs.box_sum(sums, image).to_numpy(), expected)


def test_blending_meets_each_pair_of_runs_once() -> None:
    generator = np.random.default_rng(0)
    first = np.repeat(generator.integers(0, 256, (8, 15)), 10, axis=1).astype(np.uint8)
    second = np.repeat(generator.integers(0, 256, (8, 10)), 15, axis=1).astype(np.uint8)
    pair = [Tensor(programs.GREY_RUNS, image) for image in (first, second)]
    out = programs.blend(Tensor(programs.GREY_RUNS), *pair, 0.3)
    np.testing.assert_array_equal(
        out.to_numpy(), np.round(0.3 * first + 0.7 * second).astype(np.uint8)
    )
    assert out.nstored <= sum(tensor.nstored for tensor in pair)


def test_a_picture_from_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from PIL import Image

    image = IMAGES["smooth"]
    source, target = str(tmp_path / "in.png"), str(tmp_path / "out.png")
    Image.fromarray(image * np.uint8(255)).save(source)
    programs.main([source, target])
    expected = scipy.ndimage.binary_erosion(image, BOX, 2, border_value=1)
    np.testing.assert_array_equal(np.array(Image.open(target)) > 0, expected)
    assert capsys.readouterr().out.count("after two erosions") == 3
