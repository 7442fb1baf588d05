"""Buffers with one mistake: each is refused by name, or valid. A long search, with several at once,
is ``python tests/parity/hostile_buffers.py 10000``."""

import random

import numpy as np
import pytest
from hostile_buffers import (
    byte_changes,
    is_taken,
    several,
    single_changes,
    small_subjects,
    subjects,
    trouble,
)

from finch_core import FormatError, PerformanceWarning, Tensor, _, kernel
from finch_core.errors import IndexOverflow
from finch_core.plugins import hub
from finch_levels import (
    Dense,
    Element,
    Scalar,
    SparseByteMap,
    SparseHash,
    SparseScalar,
)

ALL = list(subjects())
FLAT = [subject for subject in ALL if len(subject.shape) == 1]
DEEP = [subject for subject in ALL if len(subject.shape) > 1]

pytestmark = pytest.mark.filterwarnings(
    f"ignore::{PerformanceWarning.__module__}.PerformanceWarning"
)


def test_every_format_is_a_subject():
    ours = {n for n, f in hub().levels.items() if f.__module__.startswith("finch_levels.")}
    assert ours <= {level.name for subject in ALL for level in subject.format.levels()}


@pytest.mark.parametrize("subject", FLAT, ids=lambda s: f"{s.format.name}-{s.format.child.name}")
def test_every_single_change_of_a_vector(subject):
    changed = list(single_changes(subject))
    for change in changed:
        assert not trouble(change), change
    taken = sum(map(is_taken, changed))
    assert 0 < taken < len(changed)


def test_some_of_the_single_changes_of_a_matrix():
    draw = random.Random("matrices")
    for subject in DEEP:
        for change in draw.sample(list(single_changes(subject)), 12):
            assert not trouble(change), change


def test_some_changes_of_one_byte():
    draw = random.Random("bytes")
    for subject in small_subjects():
        for change in draw.sample(list(byte_changes(subject)), 12):
            assert not trouble(change), change


@pytest.mark.parametrize("k", range(100))
def test_several_changes(k):
    subject = several(ALL, f"buffers.{k}")
    assert not trouble(subject), subject


def test_the_search_finds_what_is_not_checked(monkeypatch):
    monkeypatch.setattr("finch_core.runtime.validation.check_indices", lambda *args: None)
    (subject,) = (
        s for s in FLAT if s.format.name == "SparseList" and s.format.child.name != "Pattern"
    )
    assert any(trouble(change) for change in single_changes(subject))


@kernel
def add(y, x):
    for i, j in _:
        y[i, j] += x[i, j]


@pytest.mark.parametrize("backend", ["interpreter", None])
def test_values_of_what_is_not_stored_do_not_come_up(backend):
    first = Tensor(Dense(SparseByteMap(Element(0.0))), np.diag([1.0, 2.0]))
    buffers = {name: part.copy() for name, part in first.buffers.items()}
    buffers["2_val"][[1, 2]] = 7
    tensor = Tensor.from_buffers(first.format, first.shape, buffers)
    assert tensor.to_numpy().tolist() == [[1, 0], [0, 2]]
    kernel(backend=backend)(add.__wrapped__)(tensor, np.ones((2, 2)))
    assert tensor.to_numpy().tolist() == [[2, 1], [1, 3]]


@pytest.mark.parametrize("value", ["a", None, 1j, [1.0], (1.0,), np.datetime64(1, "s")])
@pytest.mark.parametrize("make", [Scalar, SparseScalar])
def test_what_is_no_number_in_a_scalar(make, value):
    with pytest.raises(FormatError, match="^val is .*, and the format has a number of float64"):
        Tensor.from_buffers(make(0.0).format, (), {"val": value})


@pytest.mark.parametrize("shape", [(4, 2**62), (2, 2**62), (3, 2**62), (16, 2**60), (2**20, 2**43)])
@pytest.mark.parametrize("level", [Dense, SparseByteMap])
def test_a_hash_whose_keys_would_wrap_is_not_made(level, shape):
    with pytest.raises(IndexOverflow, match="more keys than a SparseHash can tell apart"):
        Tensor(level(SparseHash(Element(0.0))), shape)


def test_keys_of_a_hash_that_would_wrap():
    tensor = Tensor(Dense(SparseHash(Element(0.0))), (4, 3))
    with pytest.raises(FormatError, match="more keys than a SparseHash can tell apart"):
        Tensor.from_buffers(tensor.format, (4, 2**62), tensor.buffers)
