"""Merges of more operands than are merged by cases: the code grows with their number."""

import numpy as np
import pytest

from finch_core import Tensor, kernel
from finch_core.testing import backend_names
from finch_levels import Dense, Element, SparseList

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
    import linecache

    file = f"<{operands} operands>"
    text = "\n".join(lines)
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    scope = {}
    exec(compile(text, file, "exec"), scope)
    lowered = kernel(backend="interpreter")(scope["program"]).lower(
        Tensor(SPARSE), *(Tensor(SPARSE, (5,)) for _ in names)
    )
    assert len(lowered.as_text("assembly").splitlines()) < 40 * operands
