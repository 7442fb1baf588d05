"""Fused methods: planned for each object, by what it holds."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

import finch_array as fa


class Model:
    def __init__(self, weights):
        self.weights = np.asarray(weights, float)
        self.traced = 0

    @fa.fused
    def predict(self, X, scale=1.0):
        """The docstring."""
        return (X @ self.weights) * scale


class Slotted:
    __slots__ = ("weights",)

    @fa.fused
    def predict(self, X):
        return X @ self.weights


X = np.arange(6.0).reshape(2, 3)


def test_it_is_bound_to_its_object():
    one, other = Model([1, 2, 3]), Model([0, 0, 1])
    assert np.array_equal(one.predict(X), X @ one.weights)
    assert np.array_equal(other.predict(X, scale=2.0), X @ other.weights * 2)
    assert np.array_equal(Model.predict(one, X), X @ one.weights)
    assert one.predict.__doc__ == "The docstring."
    assert one.predict is one.predict


def test_what_the_object_holds_may_change():
    model = Model([1, 2, 3])
    for weights in ([1, 2, 3], [4, 5, 6], [7, 8, 9]):
        model.weights = np.asarray(weights, float)
        for _time in range(2):
            assert np.array_equal(model.predict(X), X @ model.weights)


class Scaled:
    def __init__(self, scale):
        self.scale = scale

    @fa.fused
    def times(self, x):
        return x * self.scale


def test_plans_are_remembered_where_what_the_object_holds_can_be_followed():
    """Arrays cannot."""
    one, other = Scaled(2.0), Scaled(3.0)
    for _time in range(3):
        assert np.array_equal(one.times(X), 2 * X)
        assert np.array_equal(other.times(X), 3 * X)
    assert len(one.times._known) == len(other.times._known) == 1
    one.scale = 5.0
    assert np.array_equal(one.times(X), 5 * X)


@pytest.mark.parametrize("of", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_a_copy_has_a_method_of_its_own(of):
    model = Model([1, 2, 3])
    model.predict(X)
    again = of(model)
    again.weights = np.array([0.0, 1.0, 0.0])
    assert np.array_equal(again.predict(X), X[:, 1])
    assert np.array_equal(model.predict(X), X @ [1, 2, 3])


def test_objects_without_attributes_of_their_own():
    model = Slotted()
    model.weights = np.array([1.0, 1, 1])
    assert np.array_equal(model.predict(X), X.sum(axis=1))


def test_the_object_is_not_kept():
    model = Model([1, 2, 3])
    model.predict(X)
    there = weakref.ref(model)
    del model
    gc.collect()
    assert there() is None
