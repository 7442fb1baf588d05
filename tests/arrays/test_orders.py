"""The order of loops of a product of a sparse tensor and dense factors."""

from __future__ import annotations

import numpy as np

import finch_array as fa
from finch_array.orders import Term, choose
from finch_core import Tensor
from finch_levels import Dense, Element, SparseList

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
