"""Lengths that a kernel has checked to be equal are one name in the parts of its parallel loops."""

from __future__ import annotations

import re

import numpy as np
import pytest

import finch_array as fa
from finch_backend_c.equal_names import unify_equal_names
from finch_core import Tensor, _, kernel, parallel, set_threads
from finch_core.errors import DimensionMismatch
from finch_core.ir import assembly as asm
from finch_core.ir import primitives as prim
from finch_core.ir.assembly_rewrite import names_in
from finch_core.ir.dtypes import FLOAT64, INTP
from finch_core.ir.expressions import Buffer, Call, Literal, Var
from finch_core.runtime.kernel import Kernel
from finch_core.runtime.options import Options
from finch_core.runtime.threads import threads
from finch_levels import Dense, Element, SparseList

OUT = Buffer("out", FLOAT64)
ROWS = Dense(Dense(Element(0.0)))
CSR = Dense(SparseList(Element(0.0)))


@pytest.fixture(params=[1, 2])
def each_number_of_threads(request):
    before = threads()
    set_threads(request.param)
    yield
    set_threads(before)


@kernel
def scaled_product(C, A, B, D):
    C[...] = 0
    for i in parallel(_):
        for k, r in _:
            C[i, r] += A[i, k] * B[k, r] * D[k, r]


@kernel
def twice(C, A, B):
    for _t in range(2):
        for i in parallel(_):
            for r in _:
                C[i, r] = A[i, r] + B[i, r]


def part_of(text: str) -> str:
    """The C function of the first part."""
    return text[text.index("int64_t part_1(") : text.index("call_1(")]


def data(*shape, seed=0):
    return np.random.default_rng(seed).integers(1, 5, shape).astype(float)


def test_one_length_of_three(each_number_of_threads):
    a, b, d = data(4, 5), data(5, 3, seed=1), data(5, 3, seed=2)
    C, A = Tensor(ROWS, (4, 3)), fa.asarray(a, format=CSR)
    text = part_of(scaled_product.lower(C, A, b, d).as_text("source"))
    lengths = set(re.findall(r"\b[ABCD]_n\d\b", text))
    for same in ({"A_n0", "C_n0"}, {"B_n1", "C_n1", "D_n1"}):
        assert len(lengths & same) == 1
    scaled_product(C, A, b, d)
    np.testing.assert_array_equal(C.to_numpy(), a @ (b * d))
    with pytest.raises(DimensionMismatch, match="dimension 1 of B is 3, but dimension 1 of D is 2"):
        scaled_product(C, A, b, d[:, :2])


def test_switched_off(each_number_of_threads):
    a, b = data(4, 5), data(4, 5, seed=1)
    C = Tensor(ROWS, (4, 5))
    apart = Kernel(twice.__wrapped__, Options(disabled={"equal_names", "loop_collapsing"}))
    text = part_of(apart.lower(C, a, b).as_text("source"))
    assert {"A_n1", "B_n1", "C_n1"} <= set(re.findall(r"\w+_n\d", text))
    apart(C, a, b)
    np.testing.assert_array_equal(C.to_numpy(), a + b)


def test_in_a_loop_in_order(each_number_of_threads):
    a, b = data(4, 5), data(4, 5, seed=1)
    C = Tensor(ROWS, (4, 5))
    text = part_of(twice.lower(C, a, b).as_text("source"))
    assert not {"A_n1", "B_n1"} & set(re.findall(r"\w+_n\d", text))
    twice(C, a, b)
    np.testing.assert_array_equal(C.to_numpy(), a + b)


def lengths_of_part(*checks: tuple[str, str], assigned: str = "", dtype=INTP) -> set[str]:
    """The names in a part that uses ``a`` to ``d``, after checks that pairs are equal."""
    names = {name: Var(name, dtype) for name in "abcd"}
    fail = asm.Block((asm.Fail(0),))
    statements: list[asm.Statement] = [
        asm.If(Call(prim.ne, (names[one], names[other])), fail) for one, other in checks
    ]
    statements += [asm.Assign(names[assigned], Literal(1, dtype))] if assigned else []
    stores = [asm.Store(OUT, Literal(k, INTP), var) for k, var in enumerate(names.values())]
    part = asm.Parallel(Var("p", INTP), Literal(1, INTP), asm.Block(tuple(stores)), (), (OUT,))
    block = asm.Block((*statements, part))
    last = unify_equal_names(asm.Kernel("k", (), (), block, ())).body.statements[-1]
    return names_in(last.blocks[0]) - {"out"}


def test_equal_in_turn():
    assert lengths_of_part() == {"a", "b", "c", "d"}
    assert lengths_of_part(("a", "b"), ("b", "c")) == {"a", "d"}
    assert lengths_of_part(("a", "b"), ("c", "d"), ("d", "b")) == {"c"}
    assert lengths_of_part(("a", "b"), ("b", "a")) == {"a", "c", "d"}


def test_names_that_change_stay():
    assert lengths_of_part(("a", "b"), ("a", "c"), assigned="b") == {"a", "b", "d"}
    assert lengths_of_part(("a", "b"), assigned="a") == {"a", "b", "c", "d"}


def test_floats_that_compare_equal_stay():
    assert lengths_of_part(("a", "b"), dtype=FLOAT64) == {"a", "b", "c", "d"}
