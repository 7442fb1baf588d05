"""Parts that were taken before, and sums of products by subscripts, are not worked out again."""

from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest
import scipy.sparse as sp
from array_support import MATRICES, data, fa, held, same, tensor

from finch_array import cuts, einsums, indexing
from finch_array.ready import KEPT, LEAST_AT_ONCE, Room
from finch_core.errors import DimensionMismatch, OutOfBounds

PARTS = {
    "rows": np.s_[1:3], "row": np.s_[2], "last": np.s_[-1], "column": np.s_[:, 1],
    "box": np.s_[1:4, 2:], "steps": np.s_[::2], "back": np.s_[::-1, ::-2], "none": np.s_[3:1],
    "all": np.s_[:],
}  # fmt: skip


def refused(*_, **__):
    raise AssertionError("this is known from the last call")


@pytest.mark.parametrize("kind", ["rows", "lists", "runs", "hashes"])
@pytest.mark.parametrize("name", PARTS)
def test_parts_of_like_tensors(kind, name, monkeypatch):
    index, levels = PARTS[name], MATRICES[kind]
    arrays = [held(data((4, 5), seed=seed), levels) for seed in (1, 2, 3)]
    first = tensor(arrays[0], levels)
    for _ in range(2):
        same(first[index], arrays[0][index])
    remembered = cuts.recall(cuts.key_of(first, index)) is not None
    assert remembered or kind != "rows" or name == "all"  # which is copied as it is
    if remembered:
        monkeypatch.setattr(indexing, "view_of", refused)
    for a in arrays:
        A = tensor(a, levels)
        found = A[index]
        same(found, a[index])
        A[...] = 7  # what is written to one is not seen in the other
        same(found, a[index])


def test_parts_of_other_shapes_fills_and_dtypes():
    for shape, dtype, fill in (
        ((4, 5), float, 0), ((6, 5), float, 0), ((4, 9), float, 0), ((4, 5), np.int32, 0),
        ((4, 5), float, 2), ((4, 5), bool, 0),
    ):  # fmt: skip
        a = data(shape, dtype, fill=fill, seed=1)
        A = tensor(a, MATRICES["rows"], fill)
        for index in PARTS.values():
            for _ in range(2):
                same(A[index], a[index])
                assert not np.ndim(A[index]) or A[index].fill_value == fill


def test_indices_that_equal_remembered_ones_are_refused():
    A = tensor(data((4, 5), seed=1), MATRICES["rows"])
    for _ in range(2):
        assert A[1:3].shape == (2, 5)
        assert A[1].shape == (5,)
    for bad in (slice(1.0, 3), slice(1, np.float64(3))):
        with pytest.raises(TypeError):
            A[bad]
    assert A[np.True_].shape == A[True].shape == (1, 4, 5)
    with pytest.raises(OutOfBounds, match="index 4 is out of bounds"):
        A[4]


def test_what_is_remembered_keeps_no_tensor():
    A = tensor(data((4, 5), seed=1), MATRICES["rows"])
    for _ in range(2):
        A[1:3, ::-1]
    kept = weakref.ref(A)
    del A
    gc.collect()
    assert kept() is None


def test_subscripts_are_read_once(monkeypatch):
    a, b = (data((4, 4), seed=seed) for seed in (1, 2))
    A, B = (fa.asarray(sp.csr_array(x)) for x in (a, b))
    whole = {"ij,jk->ik": a @ b, "ij,ij": (a * b).sum(), "ij,kj->k": b @ a.sum(axis=0)}
    for text, wanted in whole.items():
        same(fa.einsum(text, A, B), wanted)
    monkeypatch.setattr(einsums, "_product", refused)
    for text, wanted in whole.items():
        same(fa.einsum(text, A, B), wanted)


def test_subscripts_that_are_known_say_which_sizes_disagree():
    A = fa.asarray(sp.csr_array(data((4, 4), seed=1)))
    wide = fa.asarray(sp.csr_array(data((5, 4), seed=1)))
    for _ in range(2):
        fa.einsum("ij,jk->ik", A, A)
        with pytest.raises(DimensionMismatch) as caught:
            fa.einsum("ij,jk->ik", A, wide)
        assert caught.value.message == "einsum: the index j has size 4 in 'ij', but 5 in 'jk'"


def test_half_floats_by_known_subscripts():
    a = data((4, 4), np.float16, seed=1)
    for _ in range(2):
        found = fa.einsum("ij,jk->ik", tensor(a, MATRICES["rows"]), tensor(a, MATRICES["rows"]))
        assert found.dtype == np.float16
        same(found, a @ a)


def test_results_of_a_kilobyte_are_allocated_together(monkeypatch):
    a = np.zeros((20, 10))
    a[:, ::3] = 1
    A = tensor(a, MATRICES["rows"])
    rooms, note = [], Room.note

    def noted(room, values):
        note(room, values)
        rooms.append(room)

    monkeypatch.setattr(Room, "note", noted)
    found = [A + A for _ in range(40)]
    for out in found:
        same(out, 2 * a)
        out.arrays[-1][:] = 9.0
    if rooms and rooms[-1].sizes:  # a backend that compiles
        nbytes = sum(
            size * dtype.itemsize
            for size, (_, _, dtype, _) in zip(rooms[-1].sizes, rooms[-1].places, strict=True)
        )
        assert LEAST_AT_ONCE <= rooms[-1].most <= KEPT // nbytes
