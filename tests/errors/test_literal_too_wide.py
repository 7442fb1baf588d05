import numpy as np
import pytest
from error_support import refusal

from finch_core import FormatError, _, kernel

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint32"]


@kernel
def scaled(y, x):
    for i in _:
        y[i] = x[i] * 9223372036854775808


@kernel
def shifted(y, x):
    for i in _:
        y[i] = x[i] + 18446744073709551615


@kernel
def summed(y, x):
    for i in _:
        y[i] += 9223372036854775808


@kernel
def folded(y, x):
    for i in _:
        y[i] = x[i] * (9223372036854775807 + 1) + 2**63


@kernel
def alone(y, x):
    for i in _:
        y[i] = 9223372036854775808


@kernel
def of_index(y, x):
    for i in _:
        y[i] = x[i] + (i + 9223372036854775808)


def test_literal_too_wide():
    expected = """\
9223372036854775808 does not fit in int64, in which '*' computes here
  line 3
    y[i] = x[i] * 9223372036854775808
    ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: write a float, or cast the other operand, np.float64(x)"""
    assert refusal(FormatError, scaled, np.zeros(2, int), np.ones(2, int)) == expected


@pytest.mark.parametrize("program", [scaled, shifted, summed])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_literals_beside_integers(program, dtype):
    y, x = np.zeros(2, dtype), np.ones(2, dtype)
    assert f"does not fit in {dtype}" in refusal(FormatError, program, y, x)


def test_literals_beside_indices():
    assert "in int64, in which '+'" in refusal(FormatError, of_index, np.zeros(2), np.ones(2))


@pytest.mark.parametrize("backend", ["interpreter", None])
@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "uint64"])
@pytest.mark.parametrize("program", [scaled, shifted, summed, folded, alone])
def test_literals_beside_floats(backend, dtype, program):
    run = kernel(backend=backend)(program.__wrapped__)
    y, x = np.zeros(2, dtype), np.arange(2).astype(dtype)
    wide = np.array([2**63, 2**64 - 1], np.uint64).astype(dtype)
    expected = {
        scaled: x * wide[0], shifted: x + wide[1], summed: y + wide[0],
        folded: x * wide[0] + wide[0], alone: y + wide[0],
    }[program]  # fmt: skip
    np.testing.assert_array_equal(run.reference(y, x)["y"], expected)
    run(y, x)
    np.testing.assert_array_equal(y, expected)


@kernel
def above(y, x):
    for i in _:
        y[i] = x[i] > -1


@kernel
def equal(y, x):
    for i in _:
        y[i] = x[i] == -1


@pytest.mark.parametrize("program", [above, equal])
def test_negative_literals_are_compared_exactly(program):
    for dtype in (*INTEGERS, "uint64", "float32"):
        y = np.zeros(2, bool)
        program(y, np.ones(2, dtype))
        assert y.tolist() == [program is above] * 2


@kernel
def narrow(y, x):
    for i in _:
        y[i] = x[i] + 300


@kernel
def negative(y, x):
    for i in _:
        y[i] += -1


def test_a_literal_beside_a_narrow_dtype_does_not_wrap():
    message = refusal(FormatError, narrow, np.zeros(2, np.int64), np.ones(2, np.int8))
    assert message.startswith("300 does not fit in int8, in which '+' computes here\n")
    assert message.endswith("hint: cast the other operand to a wider dtype, as in np.int64(x)")
    for dtype in ("int8", "uint8"):
        refusal(FormatError, narrow, np.zeros(2, np.int64), np.ones(2, dtype))
    narrow(np.zeros(2, np.int64), np.ones(2, np.int16))
    for dtype in ("uint8", "uint32", "uint64"):
        message = refusal(FormatError, negative, np.ones(2, dtype), np.ones(2, dtype))
        assert message.startswith(f"-1 does not fit in {dtype}, in which '+' computes here")


@kernel
def least(y, x):
    for i in _:
        y[i] = x[i] + min(9223372036854775807 + 3, 1)


@pytest.mark.parametrize("backend", ["interpreter", None])
def test_the_lesser_of_literals_is_exact(backend):
    y = np.zeros(2, np.int64)
    kernel(backend=backend)(least.__wrapped__)(y, np.ones(2, np.int64))
    assert y.tolist() == [2, 2]


def test_a_literal_that_an_element_cannot_hold():
    @kernel
    def stored(y, x):
        for i in _:
            y[i] = 9223372036854775808

    message = refusal(FormatError, stored, np.zeros(2, np.int64), np.ones(2))
    assert message.startswith(
        "y holds int64, and cannot take 9223372036854775808, which does not fit\n"
    )


@pytest.mark.parametrize("dtype", ["int64", "int32"])
def test_a_number_of_written_integers_is_refused_as_one_literal_is(dtype):
    @kernel
    def bounded(y, x):
        for i in _:
            y[i] = min(9223372036854775807 + 3, x[i])

    message = refusal(FormatError, bounded, np.zeros(2, np.int64), np.ones(2, dtype))
    assert message.startswith("9223372036854775810 does not fit in")
