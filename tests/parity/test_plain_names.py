"""Names that are assigned again: C, the interpreter, the reference and the plain Python function
over NumPy arrays agree, in programs as written and in random ones."""

from __future__ import annotations

import linecache
import math
import random
from typing import Any

import numpy as np
import pytest

from finch_core import Tensor, _, kernel, minby
from finch_core.testing import backend_names
from finch_levels import (
    Dense,
    Element,
    RunList,
    Scalar,
    SparseBand,
    SparseByteMap,
    SparseHash,
    SparseList,
)

BACKENDS = backend_names()

VECTORS: dict[str, Any] = {
    "array": None,
    "dense": lambda leaf: Dense(leaf),
    "list": lambda leaf: SparseList(leaf),
    "runs": lambda leaf: RunList(leaf),
    "map": lambda leaf: SparseByteMap(leaf),
}
MATRICES: dict[str, Any] = {
    "array": None,
    "list": lambda leaf: Dense(SparseList(leaf)),
    "lists": lambda leaf: SparseList(SparseList(leaf)),
    "runs": lambda leaf: Dense(RunList(leaf)),
    "band": lambda leaf: Dense(SparseBand(leaf)),
    "hash": lambda leaf: SparseHash(SparseHash(leaf)),
}


def given(forms: dict[str, Any], form: str, data: np.ndarray[Any, Any]) -> Any:
    make = forms[form]
    return data.copy() if make is None else Tensor(make(Element(data.dtype.type(0))), data)


def agree(function: Any, backend: str, x: Any, A: Any, *numbers: Any) -> None:
    """A kernel, its reference and the Python function write the same into an array."""
    plain = [np.zeros(A[2].shape[0]), x[2].copy(), A[2].copy()]
    function(*plain, *numbers)
    made = kernel(backend=backend)(function)
    y = np.zeros(A[2].shape[0])
    args = (y, given(*x), given(*A), *numbers)
    found = made.reference(*args)["y"]
    np.testing.assert_allclose(found, plain[0], err_msg="reference", rtol=1e-12)
    made(*args)
    np.testing.assert_allclose(y, plain[0], err_msg=backend, rtol=1e-12)


def rows(y, x, A, n):
    for i in range(n):
        t = 0
        for j in range(n):
            t += A[i, j] * x[j]
        y[i] = t


def reused(y, x, A, n):
    t = 0.0
    for i in range(n):
        t += x[i]
    for i in range(n):
        y[i] = t
    t = 1
    for i in range(n):
        t = max(t, A[i, 0])
    if n > 0:
        y[0] = t


def branches(y, x, A, n):
    for i in range(n):
        if x[i] > 0:
            t = x[i]
            u = 1
        else:
            t = -x[i]
            u = 2.5
        y[i] = t * u


def carried(y, x, A, n):
    last = -1
    best = 0.0
    for i in range(n):
        if x[i] != 0:
            y[i] = i - last
            last = i
        if x[i] > best:
            best = x[i]
        y[i] += best


def counted(y, x, A, n):
    q = 0
    for i in range(n):
        for j in range(n):
            if A[i, j] != 0:
                y[q % n] += j
                q += 1


def fibonacci(y, x, A, n):
    a = 0
    b = 1
    for i in range(n):
        y[i] = a
        c = a + b
        a = b
        b = c % 1000


def own_parameter(y, x, A, n):
    n = n // 2
    for i in range(n):
        y[i] = x[n - 1 - i]
    n -= 1
    for i in range(max(n, 0)):
        y[i] += n


def index_by_name(y, x, A, n):
    k = n - 1
    for i in range(n):
        y[i] = x[k] + A[k, i]
        k -= 1


def bounds_by_name(y, x, A, n):
    low = 0
    high = n
    for i in range(n):
        for j in range(low, high):
            y[i] += A[i, j] + 1
        if low < high:
            low += 1
        if i % 2 == 0 and high > low:
            high -= 1


def flags(y, x, A, n):
    for i in range(n):
        seen = False
        both = True
        for j in range(n):
            seen = seen or A[i, j] != 0
            both = both and x[j] != 0
        y[i] = 2 * seen + both


def nearest(y, x, A, n):
    for i in range(n):
        m = (math.inf, -1)
        for j in range(n):
            if A[i, j] != 0:
                m = minby(m, (A[i, j], j))
        y[i] = m[1]


def sum_in_product(y, x, A, n):
    for i in range(n):
        for j in range(n):
            t = 1
            for k in range(n):
                t += A[i, k] * A[j, k]
            y[i] += A[i, j] * t


def steps(y, x, A, n):
    for i in range(n):
        for j in range(n):
            t = A[i, j]
            t = 3 * t
            t = t * x[j]
            y[i] += t


def lengths(y, x, A, n):
    m = len(x)
    for i in range(A.shape[0]):
        y[i] = A.shape[1] * m + len(y)


def workspace(y, x, A, n):
    for i in range(len(A)):
        for j in range(i, A.shape[1]):
            y[i] += x[j] * len(A)


def cast_again(y, x, A, n):
    """Casts that change nothing, of names that are set again."""
    seen = False
    for i in range(n):
        f = x[i]
        f = A[i, 0] + f
        g = float(f) / 2
        g = float(g)
        seen = not seen
        seen = bool(seen)
        y[i] = g + 4 * seen


PROGRAMS = (
    rows, reused, branches, carried, counted, fibonacci, own_parameter, index_by_name,
    bounds_by_name, flags, nearest, sum_in_product, steps, lengths, workspace, cast_again,
)  # fmt: skip


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("function", PROGRAMS)
def test_programs(function, backend):
    rng = np.random.default_rng(PROGRAMS.index(function))
    forms = [*MATRICES]
    for n, dtype in ((0, float), (1, np.int64), (5, float), (6, np.float32), (4, np.int8)):
        for k in range(2):
            form = forms[(n + k + PROGRAMS.index(function)) % len(forms)]
            vector = [*VECTORS][(n + 2 * k) % len(VECTORS)]
            x = (rng.integers(-3, 4, n) * (rng.random(n) < 0.6)).astype(dtype)
            A = (rng.integers(1, 4, (n, n)) * (rng.random((n, n)) < 0.4)).astype(dtype)
            agree(function, backend, (VECTORS, vector, x), (MATRICES, form, A), n)


@kernel
def named(y, A, x):
    y[...] = 0
    for i in _:
        t = 0.0
        for j in _:
            t += A[i, j] * x[j]
        y[i] = t


@kernel
def stored_in_scalar(y, A, x):
    y[...] = 0
    for i in _:
        t = Scalar(0.0)
        for j in _:
            t[()] += A[i, j] * x[j]
        y[i] = t[()]


def test_a_name_costs_what_a_scalar_costs():
    A = Tensor(Dense(SparseList(Element(0.0))), np.eye(3))
    args = (Tensor(Dense(Element(0.0))), A, np.ones(3))
    found = [k.lower(*args).as_text("assembly") for k in (named, stored_in_scalar)]
    assert found[0].partition("\n")[2] == found[1].partition("\n")[2]  # the first line has the name


def test_the_sum_of_the_program_is_the_sum_of_the_product():
    def sampled(C, S, U, V):
        C[...] = 0
        for i, j in _:
            t = 0.0
            for k in _:
                t += U[i, k] * V[j, k]
            C[i, j] = S[i, j] * t

    S = Tensor(Dense(SparseList(Element(0.0))), np.eye(3))
    U = np.ones((3, 2))
    C = Tensor(Dense(SparseList(Element(0.0))))
    text = kernel(sampled).lower(C, S, U, U).as_text("assembly")
    assert text.index("for q in") < text.index("for k in")
    assert "range(0, V_n0)" not in text


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_workspace_of_computed_shape(backend):
    @kernel(backend=backend)
    def doubled(y, x):
        n = len(x)
        m = 2 * n + 1
        w = Tensor(Dense(Element(0.0)), (m,))
        for i in range(n):
            w[2 * i] = x[i]
        for i in range(m):
            y[i] = w[i] + len(w)

    for size in (0, 1, 4):
        x, y = np.arange(1.0, size + 1), np.zeros(2 * size + 1)
        found = doubled.reference(y, x)["y"]
        doubled(y, x)
        wanted = np.full(2 * size + 1, 2.0 * size + 1)
        wanted[: 2 * size : 2] += x
        np.testing.assert_array_equal(y, wanted)
        np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("backend", BACKENDS)
def test_the_size_of_what_is_declared(backend):
    @kernel(backend=backend)
    def sized(y, x):
        y[...] = 0
        for i in range(len(x) + 1):
            y[i] = 1
        for i in range(len(x)):
            y[i] += len(y) * x[i]
        return y

    y, x = Tensor(Dense(Element(0.0))), np.arange(3.0)
    assert sized(y, x).to_numpy().tolist() == [1.0, 5.0, 9.0, 1.0]
    assert sized.reference(y, x).tolist() == [1.0, 5.0, 9.0, 1.0]


# -- random programs ------------------------------------------------------------------------------


class _Writer:
    """Writes a random program over the names ``a`` to ``d``; ``known`` have a value."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.loops = 0

    def program(self) -> str:
        known = {"n"}
        lines = self.block(known, (), 3)
        last = f"    y[0] += {' + '.join(sorted(known))}"
        return "\n".join(["def program(y, x, A, n):", *lines, last]) + "\n"

    def block(self, known: set[str], indices: tuple[str, ...], depth: int) -> list[str]:
        lines: list[str] = []
        for _k in range(self.random.randint(2, 4)):
            lines += self.statement(known, indices, depth)
        return ["    " + line for line in lines]

    def statement(self, known: set[str], indices: tuple[str, ...], depth: int) -> list[str]:
        pick = self.random.random()
        if depth and pick < 0.22:
            self.loops += 1
            index, ends = f"i{self.loops}", self.random.choice(["n", "2", "1, n"])
            inner = self.block(set(known), (*indices, index), depth - 1)
            return [f"for {index} in range({ends}):", *inner]
        if depth and pick < 0.3:
            self.loops += 1
            count = f"w{self.loops}"
            inner = self.block(set(known) | {count}, indices, depth - 1)
            begin = f"while {count} < {self.random.choice(['2', 'n'])}:"
            self.inside = True
            return [f"{count} = 0", begin, f"    {count} += 1", *inner]
        if indices and pick < 0.35:
            leave = self.random.choice(["break", "continue"])
            return [f"if {self.value(known, indices, 1)} > 3:", f"    {leave}"]
        if depth and pick < 0.45:
            cond = f"{self.value(known, indices, 1)} > {self.random.randint(-2, 2)}"
            first, second = set(known), set(known)
            lines = [f"if {cond}:", *self.block(first, indices, depth - 1)]
            if self.random.random() < 0.7:
                lines += ["else:", *self.block(second, indices, depth - 1)]
            known |= first & second
            return lines
        if pick < 0.6:
            at = self.random.choice(indices) if indices else "0"
            return [f"y[{at} % len(y)] += {self.value(known, indices, 2)}"]
        return [self.assignment(known, indices)]

    def assignment(self, known: set[str], indices: tuple[str, ...]) -> str:
        name = self.random.choice("abcd")
        value = self.value(known, indices, 2)
        if name in known and self.random.random() < 0.5:
            return self.random.choice(
                [f"{name} += {value}", f"{name} -= {value}", f"{name} = max({name}, {value})"]
            )
        known.add(name)
        return f"{name} = {value}"

    def value(self, known: set[str], indices: tuple[str, ...], depth: int) -> str:
        if depth and self.random.random() < 0.5:
            op = self.random.choice("+-*")
            first, second = (self.value(known, indices, depth - 1) for _k in range(2))
            return f"({first} {op} {second}) % 17"
        return self.leaf(known, indices)

    def leaf(self, known: set[str], indices: tuple[str, ...]) -> str:
        pick = self.random.random()
        if pick < 0.45:
            return self.random.choice(sorted(known))
        if indices and pick < 0.65:
            return f"x[{self.random.choice(indices)} % len(x)]" if pick < 0.5 else (
                f"x[{self.random.choice(indices)}]")  # fmt: skip
        if indices and pick < 0.85:
            return f"A[{self.random.choice(indices)}, {self.random.choice(indices)}]"
        return self.random.choice(["1", "2", "0.5", "3"])


def _made(text: str) -> Any:
    file = f"<random program {hash(text)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {}
    exec(compile(text, file, "exec"), names)
    return names["program"]


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed):
    text = _Writer(seed).program()
    program, rng = _made(text), np.random.default_rng(seed)
    n = 2 + seed % 4
    dtype = (float, np.int64)[seed % 2]
    x = (rng.integers(-3, 4, n) * (rng.random(n) < 0.6)).astype(dtype)
    A = (rng.integers(1, 4, (n, n)) * (rng.random((n, n)) < 0.4)).astype(dtype)
    vector, form = [*VECTORS][seed % len(VECTORS)], [*MATRICES][seed // 2 % len(MATRICES)]
    for backend in BACKENDS:
        try:
            agree(program, backend, (VECTORS, vector, x), (MATRICES, form, A), n)
        except Exception as error:
            error.add_note(f"{vector}, {form}, {dtype}:\n{text}")
            raise
