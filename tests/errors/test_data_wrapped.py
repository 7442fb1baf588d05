import numpy as np
import pytest
from error_support import dense, sparse

from finch_core import FormatError, Tensor
from finch_core.plugins import hub
from finch_core.testing.formats import level_names
from finch_levels import Dense, Element, SparseList
from finch_wrappers import BandMask, offset, permissive, protocolize, swizzle, toeplitz, window

DATA = np.arange(30.0).reshape(5, 6) % 4
VIEWS = {
    "window": (lambda t: window(t, (1, 4), None), DATA[1:4]),
    "window of window": (lambda t: window(window(t, (1, 4), (0, 3)), None, (1, 3)), DATA[1:4, 1:3]),
    "window of swizzle": (lambda t: window(swizzle(t, (1, 0)), (1, 4), None), DATA.T[1:4]),
    "swizzle of window": (lambda t: swizzle(window(t, (1, 4), None), (1, 0)), DATA[1:4].T),
    "protocolize": (lambda t: protocolize(t, "follow", None), DATA),
    "protocolize of swizzle": (lambda t: protocolize(swizzle(t, (1, 0)), None, None), DATA.T),
    "empty window": (lambda t: window(t, (2, 2), None), DATA[2:2]),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("make", [dense, sparse, np.asarray])
def test_views_are_data(view, make):
    seen, expected = VIEWS[view]
    for format in (Dense(Dense(Element(0.0))), Dense(SparseList(Element(0.0)))):
        np.testing.assert_array_equal(Tensor(format, seen(make(DATA))).to_numpy(), expected)


@pytest.mark.parametrize("name", level_names())
def test_a_window_of_every_level(name):
    tensor = Tensor(hub().level(name)(Element(0.0)), np.array([0, 2.0, 0, 0, 0]))
    found = Tensor(SparseList(Element(0.0)), window(tensor, (1, 4)))
    assert found.to_numpy().tolist() == [2, 0, 0]


@pytest.mark.parametrize(
    ("name", "wrap", "why"),
    [
        ("offset", lambda t: offset(t, 1, 1), "its indices do not begin at 0"),
        (
            "permissive",
            lambda t: permissive(t, True, False),
            "indices before 0 and after the last are read, too, as missing",
        ),
        (
            "offset",
            lambda t: protocolize(offset(t, 1, 1), None, None),
            "its indices do not begin at 0",
        ),
    ],
)
def test_data_wrapped(name, wrap, why):
    with pytest.raises(FormatError) as error:
        Tensor(Dense(Dense(Element(0.0))), wrap(dense(DATA)))
    expected = f"""\
the result of {name} cannot be converted: {why}
  hint: read it in a kernel, into a tensor of its own"""
    assert str(error.value) == expected


def test_data_of_other_dimensions():
    for data in (toeplitz(dense(DATA[0]), 0), BandMask(0, 1)):
        with pytest.raises(FormatError):
            Tensor(Dense(Dense(Element(0.0))), data)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda t: offset(t, ("a",)), "a shift is an integer, not str 'a'"),
        (lambda t: offset(t, 2.5), "a shift is an integer, not float 2.5"),
        (lambda t: offset(t, 2**63), "a shift of 9223372036854775808 is too large"),
        (lambda t: window(t, ((0, 2),)), "the part of a dimension is a pair of integers"),
        (lambda t: window(t, 3), "the part of a dimension is a pair of integers, not 3"),
        (lambda t: window(t, (0, "b")), "the bound of a window is an integer, not str 'b'"),
        (lambda t: window(t, (0, 1.5)), "the bound of a window is an integer, not float 1.5"),
        (lambda t: swizzle(t, ("a",)), "an entry of a permutation is an integer, not str 'a'"),
        (lambda t: toeplitz(t, "a"), "a dimension is an integer, not str 'a'"),
        (lambda t: BandMask("a", 2).words(), "the bound of a band is an integer, not str 'a'"),
    ],
)
def test_numbers_of_wrappers(make, message):
    with pytest.raises(FormatError) as error:
        make(dense(DATA[0]))
    assert error.value.message.startswith(message)
