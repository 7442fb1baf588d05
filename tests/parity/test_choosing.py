"""``choose_format``: the format that the structure asks for, with numbers that are right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from finch_core import FormatError, Tensor
from finch_levels import (
    Dense,
    Element,
    RunList,
    SparseBand,
    SparseBlockList,
    SparseInterval,
    SparseList,
    SparsePinpoint,
    SparseRunList,
    choose_format,
)

E = Element(0.0)
N = 60
RNG = np.random.default_rng(0)
SCATTERED = np.where(RNG.random((N, N)) < 0.1, RNG.random((N, N)), 0)
BLOCKS = np.kron(np.where(RNG.random((N, N // 6)) < 0.2, 1, 0), np.ones(6)) * RNG.random((N, N))
BAND = np.triu(np.tril(RNG.random((N, N)), 3), -3)
RUNS = np.kron(np.where(RNG.random((N, 2)) < 0.6, 1.0, 2.0), np.ones(30))
SPARSE_RUNS = np.zeros((N, 10 * N))
SPARSE_RUNS[:, 50:70] = 3
SPARSE_RUNS[::2, 80:90] = 4
EMPTY_ROWS = np.zeros((N, N))
EMPTY_ROWS[7] = SCATTERED[7]
CASES: dict[str, tuple[Any, Any]] = {
    "scattered": (SCATTERED, Dense(SparseList(E))),
    "blocks": (BLOCKS, Dense(SparseBlockList(E))),
    "band": (BAND, Dense(SparseBand(E))),
    "full": (RNG.random((N, N)), Dense(Dense(E))),
    "runs": (RUNS, Dense(RunList(E))),
    "sparse runs": (SPARSE_RUNS, Dense(SparseRunList(E))),
    "one a row": (np.eye(N), Dense(SparsePinpoint(E))),
    "one run a row": (np.tril(np.ones((N, N)), -40), Dense(SparseInterval(E))),
    "a row": (EMPTY_ROWS, SparseList(SparseList(E))),
    "nothing": (np.zeros((N, N)), Dense(SparseList(E))),
    "a vector": (SCATTERED[1], SparseList(E)),
    "a few slices": (SCATTERED.reshape(6, 10, N) * (np.arange(6) == 2)[:, None, None],
                     SparseList(Dense(SparseList(E)))),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_format_fits_the_structure(name: str) -> None:
    data, format = CASES[name]
    choice = choose_format(data)
    assert choice.format == format, str(choice)
    np.testing.assert_array_equal(Tensor(choice.format, data).to_numpy(), data)
    assert choose_format(Tensor(choice.format, data)).format == format


@pytest.mark.parametrize("name", CASES)
def test_the_bytes_are_those_of_the_tensors(name: str) -> None:
    data, _format = CASES[name]
    choice = choose_format(data)
    rows: Any = Dense
    for kind in (Dense, RunList, SparseList, SparseRunList, SparseBlockList, SparseBand):
        format = kind(E)
        for _k in range(data.ndim - 1):
            format = rows(format)
        held = sum(array.nbytes for array in Tensor(format, data).buffers.values())
        assert held == pytest.approx(choice.bytes[kind.name], rel=0.05, abs=24), kind.name


def test_leaf_and_widths_are_taken() -> None:
    choice = choose_format(SCATTERED, leaf=Element(0.0, np.float32), index=np.int32)
    assert choice.format == Dense(
        SparseList(Element(0.0, np.float32), index=np.int32, pointer=np.int32)
    )
    assert choose_format(RUNS, runs=False).format == Dense(Dense(E))


def test_the_choice_explains_itself_by_numbers() -> None:
    told = str(choose_format(BAND))
    assert "because 100% of each fiber's stretch is stored" in told
    assert "stored: 408 of 3,600 (11.33%), in blocks of 6.8" in told
    assert "bytes: SparseBand 4," in told


def test_a_scalar_has_no_levels() -> None:
    with pytest.raises(FormatError, match="a scalar has no levels to choose"):
        choose_format(3.0)
