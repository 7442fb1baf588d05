"""The order of loops of a product of a sparse tensor and dense factors."""

from __future__ import annotations

import numpy as np
import pytest

import finch_array as fa
from finch_array import orders, remembered
from finch_array.orders import Term, choose
from finch_array.run import _forget
from finch_core import Tensor
from finch_levels import Dense, Element, SparseList

COPIED = orders.CALL_TO_COPY

SIZES = {"i": 256.0, "j": 512.0, "k": 512.0, "r": 16.0}
TERMS = [
    Term(("i", "j", "k"), (256.0, 256.0, 2.0), True, 131072.0, True),
    Term(("j", "r"), (512.0, 16.0), False, 8192.0, False),
    Term(("k", "r"), (512.0, 16.0), False, 8192.0, False),
]


def test_an_update_along_a_dimension_without_gaps_is_no_scatter():
    assert choose(TERMS, SIZES, "ir", False, full={"r"}).loops == ("i", "j", "k", "r")


def test_an_update_along_one_with_gaps_is():
    assert choose(TERMS, SIZES, "ir", False).loops[:2] == ("i", "r")


def test_loops_that_must_be_outermost_are():
    assert choose(TERMS, SIZES, "ir", True, full={"r"}).loops[:2] in (("i", "r"), ("r", "i"))


def test_rows_are_sorted_rather_than_updates_scattered_over_two_dimensions():
    """``A.T @ B``: a hash table of pairs costs more than a copy of ``A`` by columns."""
    sizes = dict.fromkeys("ikj", 16384.0)
    by_rows = (16384.0, 8.0), True, 131072.0, True
    terms = [Term(("k", "i"), *by_rows), Term(("k", "j"), *by_rows)]
    order = choose(terms, sizes, "ij", False)
    assert (order.loops, order.copied) == (("i", "k", "j"), (0,))


def test_copies_are_read_in_the_order_that_they_are_made_for():
    """Copies have other costs than what they are of: an order chosen anew would copy others."""
    rng = np.random.default_rng(2)
    core = Tensor(Dense(SparseList(SparseList(Element(0.0)))), rng.random((1, 1, 1)))
    factors = [Tensor(Dense(SparseList(Element(0.0))), rng.random((10, 1))) for _ in range(3)]
    arrays = [core, *factors]
    found = fa.einsum("ABC,aA,bB,cC->abc", *arrays)
    wanted = np.einsum("ABC,aA,bB,cC->abc", *(x.to_numpy() for x in arrays))
    np.testing.assert_allclose(found.to_numpy(), wanted)


def test_small_operands_are_read_as_they_are_stored(monkeypatch):
    """To call what copies them would take longer than the loops."""
    monkeypatch.setattr(orders, "CALL_TO_COPY", COPIED)

    def chosen(n):
        sizes = dict.fromkeys("ikj", float(n))
        by_rows = (float(n), 8.0), True, 8.0 * n, True
        return choose([Term(("i", "k"), *by_rows), Term(("j", "k"), *by_rows)], sizes, "ij", False)

    assert chosen(32).copied == ()
    assert chosen(2**14).copied == (1,)


@pytest.mark.parametrize(
    "levels", [Dense(SparseList(Element(0.0))), SparseList(SparseList(Element(0.0)))]
)
def test_products_of_small_operands_have_the_bits_of_copied_ones(levels, monkeypatch):
    rng = np.random.default_rng(4)
    a, b = (rng.random((7, 7)) * (rng.random((7, 7)) < 0.4) for _ in range(2))
    A, B, e = Tensor(levels, a), Tensor(levels, b), rng.random((3, 7))
    calls = {
        "A @ B": lambda: A @ B, "A @ B.T": lambda: A @ B.T, "A.T @ B": lambda: A.T @ B,
        "e @ A": lambda: e @ A, "einsum": lambda: fa.einsum("ij,ik,il->jkl", A, B, A),
    }  # fmt: skip
    for name, call in calls.items():
        found = []
        for cost in (0, COPIED):
            monkeypatch.setattr(orders, "CALL_TO_COPY", cost)
            _forget()
            found.append(call())
        assert np.asarray(found[0]).tobytes() == np.asarray(found[1]).tobytes(), name
    np.testing.assert_allclose(np.asarray(A @ B.T), a @ b.T)


def test_products_of_permuted_memory_are_remembered(monkeypatch):
    """``E @ A`` computes rows of its transpose."""
    monkeypatch.setattr(orders, "CALL_TO_COPY", COPIED)
    monkeypatch.setenv("FINCH_DRAFTS", "0")
    rng = np.random.default_rng(6)
    a = rng.random((6, 5)) * (rng.random((6, 5)) < 0.5)
    A, rows = Tensor(Dense(SparseList(Element(0.0))), a), [rng.random((3, 6)) for _ in range(5)]
    found = [e @ A for e in rows]
    assert remembered.recall(remembered.key_of(rows[0], A)) is not None
    for e, each in zip(rows, found, strict=True):  # each has memory of its own
        assert each.shape == (3, 5)
        np.testing.assert_allclose(np.asarray(each), e @ a)
