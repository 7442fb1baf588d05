"""The prover takes differences apart: ``a - b <= 0`` is ``a <= b``, if they do not wrap around."""

import pytest

from finch_core.ir.dtypes import INTP
from finch_core.ir.expressions import Var, lift
from finch_core.symbolic.prover import Prover

AT, N, K = (Var(name, INTP) for name in ("i", "n", "k"))


@pytest.fixture
def prover():
    """1 <= i <= n - 2, 0 <= n, and k <= n, which may be any number."""
    prover = Prover()
    prover.know_le(lift(1), AT)
    prover.know_le(AT, N - 2)
    prover.know_le(lift(0), N)
    prover.know_le(K, N)
    return prover


def test_what_is_before_the_first_index(prover):
    assert prover.le(lift(0) - (AT - 1), lift(0))
    assert not prover.le(lift(0) - (AT - 2), lift(0))


def test_what_is_behind_the_last_index(prover):
    assert prover.le(lift(3), N - (AT - 1))
    assert not prover.le(lift(4), N - (AT - 1))
    assert prover.le(lift(2), N - AT)
    assert prover.le(AT - N, lift(-2))


def test_the_least_of_a_number_and_a_difference(prover):
    assert prover.minimum(lift(3), N - (AT - 1)) == lift(3)
    assert prover.maximum(lift(0), lift(0) - (AT - 1)) == lift(0)


def test_a_difference_that_may_wrap_around_is_not_known(prover):
    assert prover.le(K, N)
    assert not prover.le(K - N, lift(0))
    assert not prover.le(lift(0), N - K)
    prover.know_le(lift(0), K)
    assert prover.le(K - N, lift(0))
    assert prover.le(lift(0), N - K)


def test_facts_that_contradict_each_other_are_gone_through_once_a_round(monkeypatch):
    """As under a condition that never holds: a frontier with repetitions grew in each round."""
    looked = []
    edges = Prover._edges
    monkeypatch.setattr(Prover, "_edges", lambda self, x: looked.append(x) or edges(self, x))
    prover = Prover()
    several = [Var(f"v{k}", INTP) for k in range(6)]
    for one in several:
        for other in several:
            if one is not other:
                prover.know_le(one + 1, other)
    prover.le(Var("a", INTP), several[0])
    prover.le(several[0], Var("b", INTP))
    assert len(looked) <= 12 * len(several) + 2
