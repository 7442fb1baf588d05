"""Merges of more operands than are merged by cases: the code grows with their number."""

import numpy as np
import pytest
from shared_programs import function_of

from finch_core import Tensor, kernel
from finch_core.plugins import hub
from finch_core.testing import backend_names
from finch_core.testing.arrays import KINDS, array
from finch_core.testing.formats import admit, leaf, level_names, nest
from finch_levels import Dense, Element, Scalar, SparseList

SPARSE = SparseList(Element(0.0))


def total(C, A, B, D, E, F, G, H):
    C[...] = 0
    for i in _:
        C[i] = A[i] + B[i] + D[i] + E[i] + F[i] + G[i] * H[i]
    return C


def product(C, A, B, D, E, F, G, H):
    C[...] = 0
    for i in _:
        C[i] = A[i] * B[i] * D[i] * E[i] * F[i] * (G[i] + H[i])
    return C


def shifted(C, A, B, D, E, F, G, H):
    C[...] = 0
    for i in _:
        C[i] = A[i] + B[i] + D[i] + E[i] + F[i] + G[i] + H[i] + 1.0
    return C


@pytest.mark.parametrize("backend", backend_names())
@pytest.mark.parametrize("program", [total, product, shifted])
@pytest.mark.parametrize("n", [0, 1, 2, 40])
@pytest.mark.parametrize("density", [0.0, 0.2, 0.9, 1.0])
def test_seven_operands(backend, program, n, density):
    run = kernel(backend=backend)(program)
    rng = np.random.default_rng(n)
    arrays = [np.where(rng.random(n) < density, rng.integers(1, 9, n), 0.0) for _ in range(7)]
    tensors = [Tensor(SPARSE, a) for a in arrays]
    for out in (SPARSE, Dense(Element(0.0))):
        expected = run.reference(Tensor(out), *tensors)
        np.testing.assert_array_equal(run(Tensor(out), *tensors).to_numpy(), expected)


def test_a_product_stores_only_where_all_meet():
    run = kernel(product)
    arrays = [np.array([1.0, 0, 0, 2, 0]), *[np.array([1.0, 1, 0, 1, 1])] * 6]
    assert run(Tensor(SPARSE), *(Tensor(SPARSE, a) for a in arrays)).nstored == 2


NAMES = "ABDEFGH"
VALUES = {
    "sum": " + ".join(f"{name}[{{0}}]" for name in NAMES),
    "product": " * ".join(f"{name}[{{0}}]" for name in NAMES),
    "of products": "A[{0}] * B[{0}] + D[{0}] * E[{0}] - F[{0}] * max(G[{0}], H[{0}])",
    "with a constant": "A[{0}] + B[{0}] * D[{0}] + max(E[{0}], F[{0}], G[{0}]) + H[{0}] + 2.0",
    "conditional": "A[{0}] + B[{0}] + D[{0}] if E[{0}] > F[{0}] else G[{0}] - H[{0}]",
}


def made(value, rank, target="C"):
    """The kernel's program that computes one value at every index."""
    indices = ", ".join("ijk"[:rank])
    update = f"C[{indices}] =" if target == "C" else "C[()] +="
    lines = [
        f"def program(C, {', '.join(NAMES)}):",
        "    C[...] = 0",
        f"    for {indices} in _:",
        f"        {update} {value.format(indices)}",
        "    return C",
    ]
    return function_of("\n".join(lines))


def drawn(rng, rank, shape):
    """Operands in formats drawn at random, with data that those can hold."""
    for _operand in NAMES:
        levels = [hub().levels[name] for name in rng.choice(level_names(), rank)]
        format = nest(levels, leaf())
        kind = str(rng.choice(KINDS))
        yield Tensor(format, admit(format, array(shape, kind=kind, seed=int(rng.integers(99)))))


@pytest.mark.sampled(0.29)
@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("target", ["C", "()"])
def test_operands_of_any_formats(value, rank, target):
    rng = np.random.default_rng([rank, len(value), len(target)])
    shape = tuple(rng.choice([(0, 1, 1), (1, 2, 3), (6, 5, 4)], p=[0.1, 0.2, 0.7]))[:rank]
    tensors = list(drawn(rng, rank, tuple(map(int, shape))))
    format = nest([SparseList] * rank, leaf()) if target == "C" else Scalar(0.0).format
    program = made(VALUES[value], rank, target)
    expected = kernel(program).reference(Tensor(format), *tensors)
    for backend in backend_names():
        found = kernel(backend=backend)(program)(Tensor(format), *tensors)
        np.testing.assert_array_equal(found.to_numpy(), expected)


@pytest.mark.parametrize("level", [name for name in level_names() if name != "Dense"])
@pytest.mark.parametrize("rank", [1, 2])
def test_code_grows_with_the_number_of_operands_in_any_format(level, rank):
    format = nest([hub().levels[level]] * rank, leaf())
    value = VALUES["sum"]
    lowered = kernel(backend="interpreter")(made(value, rank)).lower(
        Tensor(nest([Dense] * rank, leaf())), *(Tensor(format) for _ in NAMES)
    )
    assert len(lowered.as_text("assembly").splitlines()) < 70 * rank * len(NAMES)


@pytest.mark.parametrize("operands", [6, 12, 24])
def test_code_grows_with_the_number_of_operands(operands):
    names = [f"A{k}" for k in range(operands)]
    lines = [
        f"def program(C, {', '.join(names)}):",
        "    C[...] = 0",
        "    for i in _:",
        f"        C[i] = {' + '.join(f'{n}[i]' for n in names)}",
        "    return C",
    ]
    lowered = kernel(backend="interpreter")(function_of("\n".join(lines))).lower(
        Tensor(SPARSE), *(Tensor(SPARSE, (5,)) for _ in names)
    )
    assert len(lowered.as_text("assembly").splitlines()) < 40 * operands


def test_two_operands_around_many_are_too_many_cases():
    names = "DEFGHIJK"
    inside = " + ".join(f"{name}[j]" for name in names)
    lines = [
        f"def program(C, A, B, {', '.join(names)}):",
        "    C[...] = 0",
        "    for i, j in _:",
        f"        C[i, j] = (A[i] + B[i]) * ({inside})",
        "    return C",
    ]
    lowered = kernel(backend="interpreter")(function_of("\n".join(lines))).lower(
        Tensor(Dense(Dense(Element(0.0)))), *(Tensor(SPARSE, (5,)) for _ in range(10))
    )
    assert len(lowered.as_text("assembly").splitlines()) < 25 * 10
