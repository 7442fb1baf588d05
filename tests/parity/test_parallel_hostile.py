"""Loops whose turns cannot be told apart at a glance: each is refused, or gives the bits of the
plain loop on any number of threads and where the interpreter runs parts out of order."""

from __future__ import annotations

import linecache
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import finch_levels
from finch_core import RaceError, Tensor, _, maxby, parallel, set_threads, stored, swap
from finch_core.runtime.kernel import Kernel
from finch_core.runtime.options import Options
from finch_core.testing import backend_names
from finch_levels import Dense, Element, Scalar, SparseHash, SparseList

N = 12
NAMES = {
    **{name: getattr(finch_levels, name) for name in finch_levels.__all__},
    "_": _, "parallel": parallel, "stored": stored, "swap": swap, "maxby": maxby, "np": np,
    "Tensor": Tensor,
}  # fmt: skip
FORMATS = {
    "CSR": Dense(SparseList(Element(0))),
    "dense": Dense(Dense(Element(0))),
    "hash": Dense(SparseHash(Element(0))),
}


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    yield
    set_threads(None)


def made(text: str) -> Any:
    file = f"<hostile {text}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    scope: dict[str, Any] = dict(NAMES)
    exec(compile(text, file, "exec"), scope)
    return scope["program"]


def arguments(format: str = "CSR") -> dict[str, Any]:
    rng = np.random.default_rng(7)
    data = rng.integers(1, 9, (3, N, N)) * (rng.random((3, N, N)) < 0.4)
    return {
        "y": np.zeros(9000, int), "q": np.zeros(N, int), "x": rng.integers(-4, 9, N),
        "p": rng.permutation(N),
        "n": 3, "wide": 300, "one": np.int32(1), "few": np.int8(3), "less": -1,
        "C": Tensor(FORMATS[format], data[0]), "D": Tensor(FORMATS[format], data[1]),
        "A": Tensor(FORMATS["CSR"], data[2]), "s": Scalar(7), "small": Scalar(np.int8(100)),
        "many": np.array([300, 1, 50, 44] * 10), "near": Scalar((np.float32(0), -1)),
        "b": Scalar(True), "negative": Scalar(-0.0), "nought": np.full(N, -0.0),
        "sums": np.full(3, -0.0), "wave": Scalar(1j), "waves": np.full(3, 1j),
    }  # fmt: skip


def run(body: str, format: str, backend: str, threads: int) -> list[Any]:
    args = arguments(format)
    text = f"def program({', '.join(args)}):\n" + "\n".join(
        f"    {line}" for line in body.replace("N", str(N)).strip().splitlines()
    )
    set_threads(threads)
    Kernel(made(text), Options(backend=backend, least_work=1))(*args.values())
    # as text, which tells -0.0 from 0.0 and leaves out the bytes between the fields of a tuple
    return [repr(np.asarray(arg).tolist()) for arg in args.values()]


def check(body: str, format: str = "CSR") -> None:
    plain = body.replace("parallel(_)", "_").replace("parallel(range(N))", "range(N)")
    wanted = run(plain, format, "interpreter", 1)
    for backend in backend_names():
        for threads in (1,) if backend == "interpreter" else (1, 2, 3, 7):
            assert run(body, format, backend, threads) == wanted, (backend, threads)


REFUSED = {
    "the product is of int8": """
for i in parallel(range(N)):
    for j in range(wide):
        y[i * np.int64(np.int8(wide)) + j] = i""",
    "the range is of uint8": """
for i in parallel(range(N)):
    for j in range(np.uint8(less)):
        y[i * less + j + 20] = i""",
    "an index of int8": "for i in parallel(range(N)):\n    y[i * few + 0] = i",
    "twice an index of int32": "for i in parallel(range(N)):\n    y[2 * i + one] = i",
    "a factor of 2**61": """
for i in parallel(range(N)):
    if i % 8 == 0:
        y[i * 2305843009213693952] = i""",
    "the size of a workspace of the turn": """
w = Tensor(Dense(Element(0)))
for i in parallel(range(N)):
    w[...] = 0
    for j in range(12 - i):
        w[j] = 1
    for j in range(len(w)):
        y[i * len(w) + j] = i""",
    "a maximum that wraps": """
for i in parallel(_):
    small[()] = max(small[()], many[i])""",
    "maxima of complex numbers, which have no least": """
for i in parallel(_):
    waves[p[i] % 3] = max(waves[p[i] % 3], x[i] * 1j)""",
    "one of them at a time": """
for k in range(3):
    for i in parallel(_):
        waves[k] = max(waves[k], x[i] * 1j)""",
    "places by the maximum of rounded values": """
for i in parallel(_):
    near[()] = maxby(near[()], (x[i] / 3, i))""",
    "the variable of the turn before": """
t = 0
for i in parallel(range(N)):
    while t < i:
        t += 1
    y[i] = t""",
    "a scalar that a loop's end depends on": """
for i in parallel(range(N)):
    while s[()] < i:
        s[()] += 1""",
    "arguments are exchanged": """
for i in parallel(range(N)):
    swap(C, D)""",
    "what is stored in another row": """
for i in parallel(range(N)):
    for j in range(N):
        C[i, j] *= 2
        if stored(C[j, i]):
            y[i] += C[j, i]""",
}


@pytest.mark.parametrize("body", REFUSED.values(), ids=REFUSED)
def test_is_refused(body: str) -> None:
    with pytest.raises(RaceError):
        run(body, "CSR", "interpreter", 1)


EMPTY_OR_NOT = {
    "declared after the loop": """
for i in parallel(_):
    for j in _:
        C[i, j] = A[i, j]
for i, j in _:
    q[i] += C[i, j]
C[...] = 0""",
    "declared after the loop, in a loop": """
for k in range(2):
    for i in parallel(_):
        for j in _:
            C[i, j] = A[i, j]
    for i, j in _:
        q[i] += C[i, j]
    C[...] = 0""",
    "declared under a condition": """
if n > 3:
    C[...] = 0
for i in parallel(_):
    for j in _:
        C[i, j] = A[i, j]""",
    "exchanged with one that is not empty": """
C[...] = 0
swap(C, D)
for i in parallel(_):
    for j in _:
        C[i, j] += A[i, j]""",
}


@pytest.mark.parametrize("body", EMPTY_OR_NOT.values(), ids=EMPTY_OR_NOT)
@pytest.mark.parametrize("format", FORMATS)
def test_rows_are_not_joined_to_what_is_not_empty(body: str, format: str) -> None:
    if format == "dense":
        check(body, format)
    else:
        with pytest.raises(RaceError):
            run(body, format, "interpreter", 1)


ACCEPTED = {
    "declared in each turn of a loop around": """
k = 0
while k < 3:
    C[...] = 0
    for i in parallel(_):
        for j in _:
            C[i, j] += A[i, j] * k
    for i, j in _:
        q[i] += C[i, j]
    k += 1""",
    "declared in both branches": """
if n > 3:
    C[...] = 0
else:
    C[...] = 0
for i in parallel(_):
    for j in _:
        C[i, j] = A[i, j]""",
    "an index that is shifted by an int32": "for i in parallel(range(N)):\n    y[i + one] = i",
    "an index of int64": "for i in parallel(range(N)):\n    y[3 * i + n] = i",
    "workspaces are exchanged": """
v = Tensor(Dense(Element(0)), (3,))
w = Tensor(Dense(Element(0)), (3,))
for i in parallel(range(N)):
    v[...] = 0
    w[...] = 0
    v[1] = i
    w[1] = 2 * i
    swap(v, w)
    y[i] = v[1] * 100 + w[1]""",
    "a sum that wraps": "for i in parallel(_):\n    small[()] += many[i]",
    "a sum of negative zeros": """
for i in parallel(_):
    negative[()] += nought[i]
    sums[p[i] % 3] += nought[i]""",
    "sums of -0.0 into one element at a time": """
for k in range(3):
    for i in parallel(_):
        sums[k] += nought[i]""",
    "a maximum of complex numbers": """
for i in parallel(_):
    wave[()] = max(wave[()], x[i] * 1j)""",
    "a turn that ends early": """
C[...] = 0
for i in parallel(_):
    if x[i] > 3:
        continue
    for j in _:
        if A[i, j] > 6:
            break
        C[i, j] = A[i, j] + 1""",
}


@pytest.mark.parametrize("body", ACCEPTED.values(), ids=ACCEPTED)
def test_is_that_of_the_plain_loop(body: str) -> None:
    check(body)
