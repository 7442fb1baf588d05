"""Returns before the end, beside what Python does."""

import numpy as np
import pytest

from finch_core import KernelSyntaxError, Tensor, kernel
from finch_levels import Dense, Element, RunList, SparseByteMap, SparseHash, SparseList

BACKENDS = pytest.mark.parametrize("backend", ["interpreter", "c"])
LISTS = Dense(SparseList(Element(0.0)))


def find(x, value):
    for i in range(len(x)):
        if x[i] == value:
            return i
    return -1


def find_in_rows(A, value):
    for i in range(A.shape[0]):
        for j in range(A.shape[1]):
            if A[i, j] == value:
                return i, j
    return -1, -1


def kind(a):
    if a > 0:
        return 1
    elif a < 0:
        return -1
    else:
        return 0


def largest(a, b):
    if a > b:
        return a
    return b


def is_sorted(x):
    for i in range(1, len(x)):  # noqa: SIM110 (the language has no generators)
        if x[i] < x[i - 1]:
            return False
    return True


def root(a, most):
    t = 1.0
    while True:
        u = (t + a / t) / 2
        if abs(u - t) < 1e-9:
            return u
        most -= 1
        if most < 0:
            return -1.0
        t = u


def capped(x, most):
    """A return outside of loops, with statements after it and around."""
    if len(x) == 0:
        return 0.0
    total = 0.0
    for i in range(len(x)):
        if x[i] < 0:
            continue
        total += x[i]
        if total > most:
            if most < 0:
                return -total
            total = most
            break
    if total == most:
        if most > 2:
            return total * 2
        total += 1
    while total > 100:
        total /= 2
        for i in range(3):
            if total < i:
                return total
    return total


def positives(y, x):
    for i in range(len(x)):
        if x[i] < 0:
            return
        y[i] = x[i]


def positives_of(y, x):
    count = 0
    for i in range(len(x)):
        if x[i] < 0:
            return y, count
        y[i] = x[i]
        count += 1
    return y, count


def forever(x):
    i = 0
    while True:
        for j in range(i, len(x)):
            if x[j] > 2:
                return j
        if i > len(x):
            return -5
        i += 2


VECTORS = ([], [3.0], [1, 2, 3, 3], [5, -1, 6], [0, 0, 0, 3], [-2, 4, 1])


def equal(found, wanted):
    assert type(found) is type(wanted)
    assert found == wanted


@BACKENDS
def test_returns_from_loops(backend):
    made = {f: kernel(backend=backend)(f) for f in (find, is_sorted, capped, forever)}
    for values in VECTORS:
        x = np.array(values, float)
        for value in (3.0, 0.0, -1.0):
            equal(made[find](x, value), find(x, value))
            equal(made[capped](x, value), float(capped(x, value)))
        equal(made[is_sorted](x), is_sorted(x))
        equal(made[forever](x), forever(x))


@BACKENDS
def test_returns_from_branches(backend):
    made = {f: kernel(backend=backend)(f) for f in (kind, largest, root)}
    for a in (2, -3, 0, 2.5):
        equal(made[kind](a), kind(a))
        equal(made[largest](a, 2 * a), largest(a, 2 * a))
    for most in (3, 100):
        assert made[root](2.0, most) == pytest.approx(root(2.0, most))


@BACKENDS
@pytest.mark.parametrize(
    "format",
    [
        LISTS, SparseList(SparseList(Element(0.0))), Dense(SparseByteMap(Element(0.0))),
        Dense(SparseHash(Element(0.0))), Dense(RunList(Element(0.0))),
    ],
)  # fmt: skip
def test_returns_from_walks_of_formats(format, backend):
    run = kernel(backend=backend)(find_in_rows)
    for shape in ((0, 3), (1, 1), (4, 5)):
        rng = np.random.default_rng(shape[0])
        A = rng.integers(0, 4, shape).astype(float) * (rng.random(shape) < 0.5)
        for value in (0.0, 1.0, 3.0, 9.0):
            wanted = find_in_rows(A, value)
            assert run(Tensor(format, A), value) == wanted
            assert run.reference(Tensor(format, A), value) == wanted


@BACKENDS
def test_returns_of_nothing_and_of_tensors(backend):
    made = {f: kernel(backend=backend)(f) for f in (positives, positives_of)}
    for values in VECTORS:
        x = np.array(values, float)
        wanted, found = np.zeros(len(x)), np.zeros(len(x))
        positives(wanted, x)
        assert made[positives](found, x) is None
        np.testing.assert_array_equal(found, wanted)
        again = np.zeros(len(x))
        given, count = made[positives_of](again, x)
        assert given is again
        assert count == positives_of(np.zeros(len(x)), x)[1]
        np.testing.assert_array_equal(again, wanted)


find_kernel = kernel(find)


@kernel
def places(y, x, wanted):
    for k in range(len(wanted)):
        y[k] = find_kernel(x, wanted[k])
        if y[k] < 0:
            return k
    return len(wanted)


def test_a_kernel_that_returns_early_is_a_value():
    x = np.array([4.0, 5.0, 6.0])
    y = np.zeros(3)
    assert places(y, x, np.array([6.0, 4.0, 5.0])) == 3
    assert y.tolist() == [2, 0, 1]
    assert places(y, x, np.array([5.0, 9.0, 4.0])) == 1
    assert y.tolist() == [1, -1, 1]


def test_the_code_of_a_search_is_a_loop_that_is_left():
    text = kernel(backend="c")(find).lower(np.zeros(3), 1.0).as_text("source")
    loop = text[text.index("for (int64_t i = 0") :]
    assert loop.index("break;") < loop.index("}\n    }")
    assert "returned" not in kernel(kind).lower(1).as_text("program")


def test_nothing_after_a_return_is_read():
    def made(x):
        x[0] = 1
        return 5
        for _k in range(3):
            x[1] = 7

    x = np.zeros(2)
    assert kernel(made)(x) == 5
    assert x.tolist() == [1, 0]


def first_above(x, least):
    i = 0
    while True:
        t = x[i]
        i += 1
        if t > least:
            break
        for j in range(2):
            if x[j] > 9:
                break
            x[3] = j + 4
    return t


def maybe_unset(x):
    i = 0
    while True:
        if x[i] > 3:
            break
        t = x[i]
        i += 1
    return t


@BACKENDS
def test_a_loop_without_end_is_left_by_its_breaks(backend):
    x = np.array([1.0, 2.0, 3.0, 4.0])
    assert kernel(backend=backend)(first_above)(x, 2.0) == 3.0
    with pytest.raises(KernelSyntaxError, match="'t' may have no value here"):
        kernel(backend=backend)(maybe_unset)(x)
