"""choose_format: the format that suits data, by what each level offers, explained by numbers."""

import contextlib
import types

import attrs
import numpy as np
import pytest
import scipy.sparse

from finch_core import FormatError, PluginError, Tensor, asarray
from finch_core.level import Offer
from finch_core.plugins import hookimpl, hub
from finch_core.runtime.pattern_statistics import Entries, statistics
from finch_levels import Dense, Element, Pattern, Scalar, SparseList, choose_format

N = 400
DRAW = np.random.default_rng(0)


def random(shape, density, seed=0):
    draw = np.random.default_rng(seed)
    return np.where(draw.random(shape) < density, draw.random(shape) + 0.5, 0)


def diagonals(*offsets):
    return sum(np.diag(DRAW.random(N - abs(k)) + 0.5, k) for k in offsets)


FULL = np.ones((10, 10))
MATRICES = {
    "permutation": (np.eye(N)[::-1] * np.arange(1, N + 1), "SparsePinpoint"),
    "runs": (np.tril(np.ones((N, N)), -2) * np.arange(1.0, N + 1)[:, None], "SparseInterval"),
    "more runs": (np.repeat(random((N, 10), 0.4), 40, axis=1), "SparseRunList"),
    "triangle": (np.triu(random((N, N), 1)), "SparseBand"),
    "blocks": (np.kron(random((40, 40), 0.1), FULL) * random((N, N), 1), "SparseBlockList"),
    "seven diagonals": (diagonals(-40, -20, -1, 0, 1, 20, 40), "SparseDiagonals"),
    "diagonals that few rows cross": (diagonals(-300, -200, -1, 0, 1, 200, 300), "SparseList"),
    "random": (random((N, N), 0.05), "SparseList"),
    "full": (random((N, N), 1), "Dense"),
}  # fmt: skip


@pytest.mark.parametrize("name", MATRICES)
@pytest.mark.parametrize("kind", ["scipy", "numpy", "tensor", "coordinates"])
def test_a_matrix_gets_what_suits_it(name, kind):
    dense, level = MATRICES[name]
    listed = scipy.sparse.csr_array(dense)
    shape = None
    if kind == "coordinates":
        coo, shape = listed.tocsc().tocoo(), dense.shape  # by columns: they are sorted
        data = coo.data, coo.coords
    elif kind == "tensor":
        data = Tensor(Dense(SparseList(Element(0.0))), dense)
    else:
        data = dense if kind == "numpy" else listed
    format = choose_format(data, shape=shape).format
    assert format.lvl.name == level
    assert type(format) is Dense
    np.testing.assert_array_equal(Tensor(format, dense).to_numpy(), dense)


def test_a_choice_explains_itself():
    choice = choose_format(scipy.sparse.csr_array(MATRICES["triangle"][0]))
    assert choice.format.lvl.name == "SparseBand"
    assert choice.why.startswith("100% of each fiber's stretch is stored")
    assert f"the conversion pays after {choice.pays_after} products" in choice.why
    assert 1 < choice.pays_after < 1000
    table = {row["format"]: row for row in choice.table}
    listed = table["Dense(SparseList(Element))"]
    assert listed["pays after"] == 0
    assert listed["conversion (us)"] == 0
    assert listed["product (us)"] > table["Dense(SparseBand(Element))"]["product (us)"]
    assert table["Dense(SparseHash(Element))"]["pays after"] is None
    text = str(choice).splitlines()
    assert text[0] == f"Dense(SparseBand(Element)): {choice.why}"
    assert len(text) == len(table) + 2


def test_few_uses_do_not_pay_for_a_conversion():
    matrix = scipy.sparse.csr_array(MATRICES["triangle"][0])
    pays = choose_format(matrix).pays_after
    assert choose_format(matrix, uses=1).format == asarray(matrix).format
    assert choose_format(matrix, uses=pays + 1).format.lvl.name != "SparseList"


def test_the_format_at_hand_needs_no_conversion():
    format = choose_format(MATRICES["triangle"][0]).format
    choice = choose_format(Tensor(format, MATRICES["triangle"][0]))
    assert choice.format == format
    assert choice.pays_after == 0
    assert "no conversion is needed" in choice.why


def test_symmetric_storage_is_offered_to_programs_that_can_use_it():
    upper = np.triu(random((N, N), 0.02), 1)
    upper[: N // 20] += np.triu(random((N, N), 0.5, 1), 1)[: N // 20]  # a few long rows
    matrix = scipy.sparse.csr_array(upper + upper.T)
    for symmetric in (False, True):
        choice = choose_format(matrix, symmetric=symmetric)
        halves = [row for row in choice.table if row["format"].startswith("upper triangle")]
        assert halves[0]["MB"] < choice.given.bytes / 1e6
        assert not choice.symmetric or symmetric
    unsymmetric = choose_format(scipy.sparse.csr_array(upper), symmetric=True)
    assert not any("upper" in row["format"] for row in unsymmetric.table)


def test_rows_of_unforeseen_lengths_make_symmetric_storage_pay():
    draw = np.random.default_rng(0)
    ends = (draw.random((2, 200_000)) ** 3 * 20_000).astype(int)
    graph = scipy.sparse.coo_array((np.ones(ends.shape[1]), ends), shape=(20_000, 20_000)).tocsr()
    graph = graph + graph.T
    choice = choose_format(graph, symmetric=True)
    assert choice.symmetric
    assert "stand for" in choice.why


def test_ones_are_stored_as_a_pattern_if_asked_for():
    matrix = scipy.sparse.csr_array((random((N, N), 0.05) > 0) * 1.0)
    assert choose_format(matrix).format.levels()[-1] == Element(0.0)
    assert choose_format(matrix, pattern=True).format.levels()[-1] == Pattern()
    full = scipy.sparse.csr_array(np.ones((N, N)))  # Dense cannot be over a Pattern
    Tensor(choose_format(full, pattern=True).format, np.ones((N, N), bool))
    assert choose_format(matrix * 2, pattern=True).format.levels()[-1] == Element(0.0)


def test_random_access_wants_another_format():
    matrix = scipy.sparse.csr_array(random((N, N), 0.05))
    assert choose_format(matrix, access="follow").format.lvl.name in ("Dense", "SparseByteMap")
    with pytest.raises(FormatError, match="access is 'walk' or 'follow', not 'gallop'"):
        choose_format(matrix, access="gallop")


def test_tensors_of_any_rank():
    assert choose_format(random(50_000, 0.001)).format == SparseList(
        Element(0.0), index=np.int32, pointer=np.int32
    )
    where = tuple(DRAW.integers(0, 1 << 20, 500) for _ in range(4))
    hypersparse = choose_format((np.ones(500), where), shape=(1 << 20,) * 4).format
    assert hypersparse.ndim == 4
    assert not any(level.stores_fill for level in hypersparse.levels())
    slabs = np.zeros((30, 20, 10))
    slabs[[3, 7]] = 1 + DRAW.random((2, 20, 10))
    choice = choose_format(slabs)
    assert not choice.format.stores_fill
    np.testing.assert_array_equal(Tensor(choice.format, slabs).to_numpy(), slabs)


@pytest.mark.parametrize("shape", [(0,), (0, 5), (5, 0), (3, 4), (1, 1), (0, 0, 0)])
def test_empty_data_have_a_format(shape):
    format = choose_format(np.zeros(shape)).format
    np.testing.assert_array_equal(Tensor(format, np.zeros(shape)).to_numpy(), np.zeros(shape))


def test_scalars_have_no_levels():
    with pytest.raises(FormatError, match="a scalar has no levels to choose"):
        choose_format(Scalar(1.0))


def test_every_candidate_holds_the_data():
    dense = np.triu(random((12, 12), 0.6))
    for candidate in choose_format(dense, pattern=True).candidates:
        if not candidate.symmetric:
            np.testing.assert_array_equal(Tensor(candidate.format, dense).to_numpy(), dense)


def test_statistics():
    dense = np.array([[0, 2, 2, 0, 3, 3], [0] * 6, [5, 5, 0, 0, 0, 0], [0, 0, 0, 7, 0, 0]])
    rows, columns = np.nonzero(dense)
    outer, inner = statistics(Entries(dense.shape, (rows, columns), dense[rows, columns]))
    assert (outer.positions, outer.shape, outer.filled, outer.stored) == (1, 4, 1, 3)
    assert (outer.blocks, outer.spans, outer.entries, outer.depth) == (2, 4, 7, 2)
    assert outer.runs is outer.most_runs is outer.diagonals is None
    assert (inner.positions, inner.shape, inner.filled, inner.stored) == (4, 6, 3, 7)
    assert (inner.longest, inner.blocks, inner.spans, inner.runs, inner.most_runs) == (
        4,
        4,
        8,
        4,
        2,
    )
    assert (inner.diagonals, inner.crossed, inner.changes, inner.depth) == (7, 0, 2, 1)
    band = np.eye(5, k=-1) + np.eye(5, k=2)
    _outer, inner = statistics(Entries((5, 5), np.nonzero(band), band[band > 0]))
    assert (inner.diagonals, inner.crossed) == (2, 2)
    empty = np.zeros(0, np.intp)
    _outer, inner = statistics(Entries((5, 5), (empty, empty), np.zeros(0)))
    assert (inner.diagonals, inner.crossed) == (0, 5)


def plugin(offers):
    """A plugin with a format whose offers are these."""

    class Cheap(SparseList):
        name = "Cheap"
        layout = ""

    Cheap.offers = classmethod(offers)
    Cheap = attrs.frozen(Cheap)
    return types.SimpleNamespace(finch_level_format=hookimpl(lambda: Cheap))


@contextlib.contextmanager
def registered(offers):
    hub().register(plugin(offers), "cheap")
    try:
        yield
    finally:
        hub().unregister("cheap")


def test_the_format_of_a_plugin_is_chosen():
    """Whoever offers better terms is taken, under whatever name."""
    better = lambda cls, fibers: (Offer(cls, "it says so", fibers.stored, 0, 0.0, 0.0),)  # noqa: E731
    with registered(better):
        choice = choose_format(random((20, 20), 0.2))
    assert "Cheap" in [level.name for level in choice.format.levels()]
    assert choice.why.startswith("it says so")
    assert choice.best.time < choice.given.time


def test_a_plugin_that_cannot_say_what_it_offers_is_named():
    def broken(cls, fibers):
        return 1 / 0

    for offers, message in (
        (broken, "ZeroDivisionError"),
        (lambda cls, fibers: [1], "not an Offer"),
    ):
        with (
            registered(offers),
            pytest.raises(PluginError, match="offers of the level format 'Cheap'.*" + message),
        ):
            choose_format(random((20, 20), 0.2))


def test_a_format_that_offers_nothing_is_not_chosen(monkeypatch):
    before = choose_format(MATRICES["triangle"][0]).format
    monkeypatch.setattr(type(before.lvl), "offers", classmethod(lambda cls, fibers: ()))
    assert choose_format(MATRICES["triangle"][0]).format != before


def test_leaf_widths_and_runs_are_taken():
    dense = MATRICES["more runs"][0]
    leaf = Element(0.0, np.float32)
    choice = choose_format(dense, leaf=leaf, index=np.int64, runs=False)
    assert choice.format.levels()[-1] == leaf
    assert not {"RunList", "SparseRunList", "SparseInterval"} & choice.bytes.keys()
    listed = choose_format(random((N, N), 0.05), index=np.int64).format
    assert listed.lvl == SparseList(Element(0.0))


@pytest.mark.parametrize("name", MATRICES)
def test_bytes_are_those_of_tensors(name):
    dense = MATRICES[name][0]
    for candidate in choose_format(dense).candidates:
        if candidate.symmetric or candidate.format.lvl.name in ("SparseHash", "RunList"):
            continue  # a hash table has more slots than entries; of runs of zeros there is a bound
        held = sum(part.nbytes for part in Tensor(candidate.format, dense).buffers.values())
        assert held == pytest.approx(candidate.bytes, rel=0.1, abs=64), candidate.format


def test_coordinates_outside_of_the_shape_are_refused():
    with pytest.raises(FormatError, match="index 6 of dimension 1, at position 1, is not within 3"):
        choose_format((np.ones(2), ([0, 1], [2, 6])), shape=(3, 3))
