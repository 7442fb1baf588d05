"""A file of a user with annotations, on which ``tests/docs/test_typed_user.py`` runs mypy. Each
line that ends with a kind of error has that error, and no other line has one."""

from typing import Any

import numpy as np

import finch_array as fa
from finch_array.plan.lazies import Lazy
from finch_core import Tensor, _, gallop, kernel, parallel, stored
from finch_levels import Dense, Element, Scalar, SparseList


@kernel
def spmv(y: Tensor, A: Tensor, x: "Tensor | np.ndarray[Any, Any]") -> Tensor:
    y[...] = 0
    for i, j in _:
        y[i] += A[i, j] * x[j]
    return y


@kernel(strict=True)
def total(s: Tensor, A: Tensor, scale: float) -> Tensor:
    s[...] = 0
    for i in range(0, 3):
        for j in _:
            if A[i, gallop(j)] > 0:
                s[()] += A[i, gallop(j)] * scale
    return s


@kernel
def largest(p: Tensor, q: Tensor, A: Tensor) -> tuple[Tensor, Tensor]:
    p[...] = 0
    q[...] = 0
    for i in _:
        w = Scalar(0.0)
        for j in _:
            w[()] = max(w[()], A[i, j])
        p[i] = w[()]
        q[i] = -w[()]
    return p, q


@kernel
def shared(y: Tensor, A: Tensor) -> None:
    for i in parallel(_):
        t = 0.0
        for j in reversed(range(len(A))):
            if stored(A[i, j]):
                t += A[i, j]
        y[i] = t


@kernel
def untyped(y, A):  # type: ignore[no-untyped-def]
    y[...] = 0
    for i, j in _:
        y[i] += A[i, j]
    return y


VECTOR = Dense(Element(0.0))
A = Tensor(Dense(SparseList(Element(0.0))), np.eye(3))
y = spmv(Tensor(VECTOR), A, np.ones(3))
s = total(Scalar(0.0), A, scale=2.0)
value: float = s.value
array: np.ndarray[Any, Any] = y.to_numpy()
p, q = largest(Tensor(VECTOR), Tensor(VECTOR), A)
untyped(Tensor(VECTOR), A).anything_goes if value < 0 else None
product: Tensor = -(A @ A * 2).T
sums: Tensor = product.sum(0) + 1
plain = spmv.__wrapped__
squares: Tensor = fa.einsum("ij,ij->ij", A, A)
later: Lazy = fa.einsum("ij,jk->ik", A, fa.lazy(A))
named: Lazy = fa.sqrt(fa.einsum("C[i] += A[i, j]", A=fa.lazy(A)))
mean: float = float(fa.sum(squares) / 3)

# mistakes: from here on, lines are not run
spmv(y, A)  # call-arg
spmv(y, A, x=np.ones(3), z=1)  # call-arg
total(s, A, "2")  # arg-type
nothing = total(s, A, 2.0).nothing  # attr-defined
pair: Tensor = largest(y, y, A)  # assignment
absent = (A @ A).nothing  # attr-defined
gone = fa.einsum("ij->i", A).nothing  # attr-defined
early: Tensor = fa.add(1, fa.lazy(A))  # assignment
