"""Fills that no call had before: computed by the operators' meaning on NumPy's scalars, and put
into formats that share all else with those that are known."""

from __future__ import annotations

import numpy as np
import pytest
from array_support import MATRICES, data, tensor

from finch_array.elementwise import Elementwise, _on_fill
from finch_array.functions import FUNCTIONS, Direct, _choose
from finch_array.leaves import relabelled
from finch_core import Tensor
from finch_core.errors import FinchError
from finch_core.interface.layout import layout
from finch_core.interface.signatures import tensor_signature
from finch_levels import Element, SparseInterval, SparseList, SparsePinpoint
from finch_wrappers import stride

FILLS = (True, np.int8(-3), np.uint8(0), np.int64(7), np.float32(0.1), 0.0, -0.0, np.nan, 2 - 1j)
NUMBERS = (False, 3, -1, 2**40, 0.1, -np.inf, 1j, np.float16(3), np.uint64(2**63), np.int32(0))
FUNCTIONS_OF_OPERATORS = {k: f for k, f in FUNCTIONS.items() if f.__class__ is Elementwise}
EXPRESSIONS = ("square", "expit", "signbit", "pow")
"""Functions that are no primitive operator by itself, or one that refuses some operands."""


def filled(fill):
    return Tensor(SparseList(Element(np.asarray(fill)[()])), (0,))


def outcome(function, operands):
    try:
        return function(operands)
    except (TypeError, OverflowError, ValueError, FinchError) as error:
        return type(error)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", FUNCTIONS_OF_OPERATORS)
def test_fills_are_those_of_the_expression(name):
    function, known = FUNCTIONS_OF_OPERATORS[name], 0
    for array in map(filled, FILLS):
        pairs = [pair for x in NUMBERS for pair in ([array, x], [x, array])]
        for operands in ([array], *pairs):
            found = outcome(function._evaluated, operands)
            if found is None:
                continue
            wanted = outcome(lambda xs: function._folded([_on_fill(x) for x in xs]), operands)
            if isinstance(found, type):
                assert found is wanted
                continue
            known += 1
            assert found.dtype == wanted.dtype
            assert found.tobytes() == wanted.tobytes() or (found != found and wanted != wanted)
    assert known or name in EXPRESSIONS


@pytest.mark.parametrize("name", MATRICES)
def test_formats_of_new_fills_are_as_those_that_are_made(name):
    array = tensor(data((4, 5)), MATRICES[name])
    for number in (1.5, 2.5, -0.0, np.nan, np.float32(3)):
        found = array + number
        assert found.layout == layout(found.format)
        assert found.signature is tensor_signature(found.format)
        made = Tensor(found.format, found.to_numpy())
        assert made.signature is found.signature
        np.testing.assert_array_equal(found.to_numpy(), array.to_numpy() + number)
        np.testing.assert_array_equal((found * 2).to_numpy(), (array.to_numpy() + number) * 2)


def test_operands_that_no_operator_takes_are_left_to_python():
    array = tensor(data((4, 5)), MATRICES["rows"])
    for other in ("text", None, {}, set(), b""):
        with pytest.raises(TypeError, match="unsupported operand"):
            array + other
        with pytest.raises(TypeError, match="unsupported operand"):
            other - array


@pytest.mark.parametrize("name", MATRICES)
def test_fills_that_come_again_are_put_into_the_same_formats(name):
    array = tensor(data((4, 5)), MATRICES[name])
    for number in (4.25, 4.25, 4.25, 5.25, 4.25):
        found, both = array + number, array + number * array
        assert found.signature is tensor_signature(found.format)
        assert found.layout == layout(found.format)
        np.testing.assert_array_equal(found.to_numpy(), array.to_numpy() + number)
        np.testing.assert_array_equal(both.to_numpy(), array.to_numpy() * (1 + number))
        other = relabelled(found, np.float64(number + 1))
        assert other.fill_value == number + 1
        assert other.signature is tensor_signature(other.format)
        for mine, own in zip(other.arrays, found.arrays, strict=True):
            assert mine is own


@pytest.mark.parametrize("first", [(0, 1, 2), (0, 2, 1)])
def test_an_array_is_unlike_a_number_that_is_its_fill(first):
    """Whether a fill depends on numbers is remembered by operands, of which numbers are told from
    arrays: formats of results do not depend on earlier calls."""
    array = tensor(data((4, 5)), MATRICES["lists"])
    where = Direct("where", _choose._function)
    operands = array > 1, array, np.array(0.0)
    for order in (first, (0, 1, 2), (0, 2, 1)):
        given = [operands[k] for k in order]
        found = where(*given)
        assert found.format == Direct("where", _choose._function)(*given).format
        np.testing.assert_array_equal(found.to_numpy(), np.where(*map(np.asarray, given)))
    assert where(*operands).nnz < array.size


@pytest.mark.parametrize("level", [SparsePinpoint, SparseInterval, SparseList])
@pytest.mark.parametrize("step", [1, -1, -2])
def test_what_equals_another_fill_is_stored(level, step):
    """False is no fill of ``x != 0`` where the fill of ``x`` is 2: a level with room for one piece
    takes nothing that equals the fill of the kernel's result, which gets its own afterwards."""
    x = np.array([2, 2, 0], np.int64)
    seen = stride(Tensor(level(Element(np.int64(2))), x), slice(None, None, step))
    found = FUNCTIONS["not_equal"](seen, 0)
    assert found.to_numpy().tolist() == (x[::step] != 0).tolist()
    assert found.fill_value
