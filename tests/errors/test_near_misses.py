# ruff: noqa: F841
"""Mistakes of which the hint says what is meant."""

import numpy as np
import pytest

from finch_core import FormatError, KernelSyntaxError, kernel


def row_length(y, A):
    for i in range(len(A[0])):
        y[i] = 1


def identity(y, A):
    w = np.eye(3)
    y[0] = w[0, 0]


def filled(y, A):
    y.fill(3)


def counted(y, A):
    for i in np.arange(1, 3):
        y[i] = 1


def misspelt(y, A):
    total = 0
    for i in range(3):
        totl += i
    y[0] = total


def several(y, A):
    for i in _, _:
        y[i] = 1


def renamed(y, A):
    t = A
    for i in range(3):
        y[i] = t[i]


def beyond(y, A):
    for i in range(3):
        y[i] = 256


@pytest.mark.parametrize(
    ("function", "error", "message", "hint"),
    [
        (
            row_length,
            KernelSyntaxError,
            "must be a plain name",
            "'A.shape[0]', 'A.shape[1]', ... are",
        ),
        (identity, KernelSyntaxError, "'np.eye' is of whole arrays", "'w = np.zeros(n)' on a line"),
        (filled, KernelSyntaxError, "the attribute 'fill'", "write 'A[...] = 0'"),
        (counted, KernelSyntaxError, "runs over '_'", "write 'for i in range(1, 3):'"),
        (misspelt, KernelSyntaxError, "'totl' may have no value", "did you mean 'total'?"),
        (several, KernelSyntaxError, "runs over '_'", "one '_' is for all indices"),
        (renamed, KernelSyntaxError, "'t' is no tensor: 't = A'", "write 'A' itself"),
        (beyond, FormatError, "cannot take 256, which does not fit", "give y a wider dtype"),
    ],
)
def test_hints(function, error, message, hint):
    y = np.zeros(3, np.uint8)
    with pytest.raises(error) as found:
        kernel(function)(y, np.zeros((3, 3)))
    first, *_, last = str(found.value).split("\n")
    assert message in first
    assert last.startswith(f"  hint: {hint}")
    assert not y.any()
