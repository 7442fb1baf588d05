"""Real data: from a folder, and from packages that ship some.

In a folder there may be ``.mtx`` and ``.mtx.gz`` (or in its ``mtx`` and ``graphs``), ``.tns`` and
``.tns.gz`` (or in its ``tensors``), and pictures (or in its ``images``): ``.png``, ``.npy``, zip
files of ``.png``, and MNIST's ``.idx3-ubyte.gz``.
"""

from __future__ import annotations

import gzip
import io
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import scipy.io
import scipy.sparse

from bench.generators import int32

SMALL = 10_000
"""Stored values below which a matrix is small: SpMV takes some microseconds, as do calls."""
MEDIUM = 100_000
SAMPLE = 100
MAGNIFIED = 8
"""Each pixel becomes a square of so many, in one in ten pictures of a sample."""


def _files(folder: Path | None, below: tuple[str, ...], *patterns: str) -> Iterator[Path]:
    """Small ones first, so that an interrupted run has seen most of them."""
    for place in [folder, *(folder / name for name in below)] if folder else []:
        found = (path for pattern in patterns for path in place.glob(pattern))
        yield from sorted(found, key=lambda path: (path.stat().st_size, path.name))


def matrices(
    folder: Path | None,
    largest: int = 2_500_000,
    below: tuple[str, ...] = ("mtx", "graphs"),
    kinds: str = "iuf",
) -> Iterator[tuple[str, Any]]:
    """Names and CSR matrices, of doubles or complex numbers, of the files of a folder with numbers
    of these ``kinds`` (NumPy's), up to ``largest`` values."""
    for path in _files(folder, below, "*.mtx", "*.mtx.gz"):
        if (found := _matrix(path, kinds)) is not None and found.nnz <= largest:
            yield path.name.partition(".mtx")[0], found


def _matrix(path: Path, kinds: str) -> Any:
    found = scipy.io.mmread(path)
    if not scipy.sparse.issparse(found) or found.dtype.kind not in kinds:
        return None
    return int32(found.astype(np.result_type(found.dtype, np.float64)))


def collection(matrix: Any) -> str:
    """Where a matrix is reported: of small ones it is the calls that are measured."""
    if matrix.dtype.kind == "c":
        return "complex matrices"
    names = {"small matrices": SMALL, "medium matrices": MEDIUM}
    return next((name for name, end in names.items() if matrix.nnz < end), "large matrices")


def packaged_matrices() -> Iterator[tuple[str, Any]]:
    """The real matrices that pyamg ships."""
    try:
        from pyamg.gallery import load_example
    except ImportError:
        return
    for name in ("airfoil", "bar", "knot", "local_disc_galerkin_diffusion", "recirc_flow",
                 "unit_cube", "unit_square"):  # fmt: skip
        yield f"pyamg {name}", int32(load_example(name)["A"].astype(np.float64))


def graphs(folder: Path | None, largest: int = 2_500_000) -> Iterator[tuple[str, Any]]:
    """Names and square matrices of ones without loops, from ``folder`` and its ``graphs``."""
    for name, matrix in matrices(folder, largest, ("graphs",)):
        if matrix.shape[0] == matrix.shape[1]:
            matrix = matrix.copy()
            matrix.data[:] = 1  # an edge that weighs 0 is one
            matrix.setdiag(0)
            matrix.eliminate_zeros()
            yield name, int32(matrix)


def tensor_files(folder: Path | None) -> Iterator[tuple[str, Path]]:
    """Names and paths of the tensors of a folder in FROSTT's format."""
    for path in _files(folder, ("tensors",), "*.tns", "*.tns.gz"):
        yield path.name.partition(".tns")[0], path


@attrs.frozen
class Collection:
    """Grey pictures that are reported as one."""

    name: str
    pictures: list[Any]

    def magnified(self) -> Collection:
        ones = np.ones((MAGNIFIED, MAGNIFIED), dtype=np.uint8)
        few = self.pictures[:: max(1, len(self.pictures) // 10)]
        return Collection(f"{self.name} x {MAGNIFIED}", [np.kron(p, ones) for p in few])


def collections(folder: Path | None, sample: int = SAMPLE) -> Iterator[Collection]:
    """The pictures of a folder: each zip file and each MNIST file is a collection."""
    for path in _files(folder, ("images",), "*.idx3-ubyte.gz"):
        yield Collection(path.name.partition("_")[0], _mnist(path, sample))
    for path in _files(folder, ("images",), "*.zip"):
        yield Collection(path.stem.partition("_images")[0], _zipped(path, sample))
    single = [*_files(folder, ("images",), "*.png", "*.npy")]
    if single:
        yield Collection("pictures", [_picture(path) for path in single])


def packaged_pictures(sample: int = SAMPLE) -> Iterator[Collection]:
    """What scikit-image and scikit-learn ship."""
    try:
        import skimage

        place = Path(skimage.__file__).parent / "data"
        names = ("camera", "coins", "horse", "moon", "page", "phantom", "text")
        paths = [place / f"{name}.png" for name in names]
        yield Collection("scikit-image", [_picture(path) for path in paths if path.exists()])
    except ImportError:
        pass
    try:
        from sklearn.datasets import load_digits, load_sample_images

        digits = _drawn(load_digits().images, sample)
        yield Collection("digits", [(16 * d).clip(0, 255).astype(np.uint8) for d in digits])
        photographs = load_sample_images().images
        yield Collection("scikit-learn", [p.mean(axis=2).astype(np.uint8) for p in photographs])
    except ImportError:
        pass


def _drawn(all_of_them: Any, sample: int) -> list[Any]:
    """A few, at random but always the same."""
    count = len(all_of_them)
    chosen = np.random.default_rng(0).permutation(count)[:sample]
    return [all_of_them[k] for k in sorted(chosen)]


def _mnist(path: Path, sample: int) -> list[Any]:
    with gzip.open(path) as file:
        header = np.frombuffer(file.read(16), ">i4")
        pixels = np.frombuffer(file.read(), np.uint8)
    return [np.ascontiguousarray(p) for p in _drawn(pixels.reshape(-1, *header[2:4]), sample)]


def _zipped(path: Path, sample: int) -> list[Any]:
    with zipfile.ZipFile(path) as archive:
        names = sorted(n for n in archive.namelist() if n.endswith(".png") and "__" not in n)
        return [_picture(io.BytesIO(archive.read(name))) for name in _drawn(names, sample)]


def _picture(source: Any) -> Any:
    from PIL import Image

    if isinstance(source, Path) and source.suffix == ".npy":
        return (np.load(source) > 0).astype(np.uint8) * np.uint8(255)
    return np.array(Image.open(source).convert("L"))


def thresholded(picture: Any) -> Any:
    """Zeros and ones: what is drawn is on, whether it is dark or bright (fewer pixels are so)."""
    bright = np.ascontiguousarray(picture > 127)
    drawn = ~bright if bright.mean() > 0.5 else bright
    return drawn.astype(np.uint8)
