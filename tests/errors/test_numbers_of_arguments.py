"""Elementwise functions with more or fewer arguments than they have, or with other names."""

from __future__ import annotations

import numpy as np
import pytest

import finch_array as fa
from finch_core.errors import KernelSyntaxError


def scaled(x, by):
    return x * by


def summed(x, *others):
    return x


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: fa.add(x), "add takes 2 arguments, not 1"),
        (lambda x: fa.sin(x, x), "sin takes 1 argument, not 2"),
        (lambda x: fa.pow(x), "pow takes 2 arguments, not 1"),
        (lambda x: fa.logaddexp(x), "logaddexp: missing a required argument: 'y'"),
        (lambda x: fa.add(x, x, out=x), "add has no parameter 'out'"),
        (lambda x: fa.elementwise_of(scaled)(x), "scaled: missing a required argument: 'by'"),
        (lambda x: fa.elementwise_of(scaled)(x, x, x), "scaled: too many positional arguments"),
        (
            lambda x: fa.elementwise_of(scaled)(x, 2.0, times=3.0),
            "scaled: got an unexpected keyword argument 'times'",
        ),
    ],
)
def test_functions_tell_what_they_take(call, message):
    with pytest.raises(TypeError) as caught:
        call(fa.asarray(np.eye(3)))
    assert str(caught.value) == message


def test_functions_of_any_number_of_arguments_are_refused():
    with pytest.raises(KernelSyntaxError) as caught:
        fa.elementwise_of(summed)
    assert str(caught.value).startswith("'summed' cannot be inlined: it takes any number of")
