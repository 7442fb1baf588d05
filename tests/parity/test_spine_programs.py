"""SpMV, dot, add, multiply and the upper triangle over every combination of Dense and SparseList:
the interpreter, a compiled backend and NumPy agree.

Each combination of formats is one test; which leaves, dtypes and index widths it has is drawn from
its name. The data come from hypothesis. Every kernel runs twice into the same output, so that
declaring an output that holds something is tested too.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from finch_core import Tensor
from finch_core.level import Format
from finch_core.testing import DTYPES, KINDS, array, backend_names, on, using
from finch_levels import Dense, Element, Pattern, Scalar, SparseList
from finch_wrappers import swizzle

pytestmark = pytest.mark.sampled(0.22)

WIDTHS = (np.int32, np.int64, np.uint8, np.uint16, np.intp)

# -- the programs -------------------------------------------------------------------------------


def spmv_by_rows(y, A, x):
    y[...] = 0
    for i, j in _:
        y[i] += A[i, j] * x[j]
    return y


def spmv_by_columns(y, A, x):
    y[...] = 0
    for j, i in _:
        y[i] += A[j, i] * x[j]
    return y


def spmv_by_swizzle(y, A, x):
    y[...] = 0
    for j, i in _:
        y[i] += A[i, j] * x[j]
    return y


def dot_two(s, a, b):
    s[...] = 0
    for i in _:
        s[()] += a[i] * b[i]
    return s


def dot_three(s, a, b, c):
    s[...] = 0
    for i in _:
        s[()] += a[i] * b[i] * c[i]
    return s


def add_two(z, a, b):
    z[...] = 0
    for i in _:
        z[i] = a[i] + b[i]
    return z


def add_three(z, a, b, c):
    z[...] = 0
    for i in _:
        z[i] = a[i] + b[i] + c[i]
    return z


def multiply_two(z, a, b):
    z[...] = 0
    for i in _:
        z[i] = a[i] * b[i]
    return z


def multiply_three(z, a, b, c):
    z[...] = 0
    for i in _:
        z[i] = a[i] * b[i] * c[i]
    return z


def add_two_matrices(z, a, b):
    z[...] = 0
    for i, j in _:
        z[i, j] = a[i, j] + b[i, j]
    return z


def add_three_matrices(z, a, b, c):
    z[...] = 0
    for i, j in _:
        z[i, j] = a[i, j] + b[i, j] + c[i, j]
    return z


def multiply_two_matrices(z, a, b):
    z[...] = 0
    for i, j in _:
        z[i, j] = a[i, j] * b[i, j]
    return z


def multiply_three_matrices(z, a, b, c):
    z[...] = 0
    for i, j in _:
        z[i, j] = a[i, j] * b[i, j] * c[i, j]
    return z


def upper_triangle(s, A):
    s[...] = 0
    for i, j in _:
        if i <= j:
            s[()] += A[i, j]
    return s


def upper_triangle_by_columns(s, A):
    s[...] = 0
    for j, i in _:
        if i <= j:
            s[()] += A[j, i]
    return s


def total(array: Any, axis: Any = None) -> Any:
    """A sum that stays in its dtype."""
    return np.add.reduce(array, axis=axis, dtype=array.dtype)


@attrs.frozen
class Spine:
    """A program, the ranks of its output and operands, and what it means on NumPy arrays.

    ``scatters``: it writes its output out of order, or more than once.
    """

    function: Callable[..., Any]
    out: int
    operands: tuple[int, ...]
    meaning: Callable[..., Any]
    scatters: bool = False
    assigns: bool = False
    swizzled: bool = False


PROGRAMS = (
    Spine(spmv_by_rows, 1, (2, 1), lambda A, x: total(A * x, 1)),
    Spine(spmv_by_columns, 1, (2, 1), lambda A, x: total(A.T * x, 1), scatters=True),
    Spine(spmv_by_swizzle, 1, (2, 1), lambda A, x: total(A.T * x, 1), scatters=True,
          swizzled=True),
    Spine(dot_two, 0, (1, 1), lambda a, b: total(a * b)),
    Spine(dot_three, 0, (1, 1, 1), lambda a, b, c: total(a * b * c)),
    Spine(add_two, 1, (1, 1), lambda a, b: a + b, assigns=True),
    Spine(add_three, 1, (1, 1, 1), lambda a, b, c: a + b + c, assigns=True),
    Spine(multiply_two, 1, (1, 1), lambda a, b: a * b, assigns=True),
    Spine(multiply_three, 1, (1, 1, 1), lambda a, b, c: a * b * c, assigns=True),
    Spine(add_two_matrices, 2, (2, 2), lambda a, b: a + b, assigns=True),
    Spine(add_three_matrices, 2, (2, 2, 2), lambda a, b, c: a + b + c, assigns=True),
    Spine(multiply_two_matrices, 2, (2, 2), lambda a, b: a * b, assigns=True),
    Spine(multiply_three_matrices, 2, (2, 2, 2), lambda a, b, c: a * b * c, assigns=True),
    Spine(upper_triangle, 0, (2,), lambda A: total(np.triu(A))),
    Spine(upper_triangle_by_columns, 0, (2,), lambda A: total(np.tril(A))),
)  # fmt: skip

# -- the cases ----------------------------------------------------------------------------------

LEVELS = {"d": Dense, "s": SparseList}


@attrs.frozen
class Case:
    """A program with the levels of its output and operands (``"ds"`` is ``Dense(SparseList)``)."""

    spine: Spine
    out: str
    operands: tuple[str, ...]
    dtype: Any = None

    def __str__(self) -> str:
        name = "-".join((self.spine.function.__name__, self.out or "0", *self.operands))
        return name if self.dtype is None else f"{name}-{self.dtype}"

    def formats(self) -> tuple[Format | None, tuple[Format, ...]]:
        """The output's format (None for a scalar) and the operands'."""
        draw = random.Random(str(self))
        same = self.dtype or draw.choice(DTYPES)
        mixed = self.dtype is None and draw.random() < 0.3
        operands = []
        for levels in self.operands:
            dtype = draw.choice(DTYPES) if mixed else same
            pattern = levels[-1] == "s" and draw.random() < (0.5 if dtype.kind == "b" else 0.08)
            operands.append(nested(levels, Pattern() if pattern else Element(0, dtype), draw))
        dtype = np.result_type(*(f.dtype for f in operands))
        if not self.out:
            return None, tuple(operands)
        pattern = dtype.kind == "b" and self.spine.assigns and self.out[-1] == "s"
        leaf = Pattern() if pattern and draw.random() < 0.5 else Element(0, dtype)
        return nested(self.out, leaf, draw), tuple(operands)


def nested(levels: str, leaf: Format, draw: random.Random) -> Format:
    format = leaf
    for level in reversed(levels):
        if level == "s":
            format = SparseList(format, index=draw.choice(WIDTHS), pointer=draw.choice(WIDTHS))
        else:
            format = Dense(format)
    return format


def nests(rank: int) -> list[str]:
    return ["".join(levels) for levels in itertools.product("ds", repeat=rank)]


def outputs(spine: Spine) -> list[str]:
    return ["d" * spine.out] if spine.scatters else nests(spine.out)


def combinations() -> Iterator[Case]:
    for spine in PROGRAMS:
        choices = [outputs(spine), *map(nests, spine.operands)]
        yield from (Case(spine, out, tuple(ops)) for out, *ops in itertools.product(*choices))


def dtypes() -> Iterator[Case]:
    """Every dtype in every program of up to two matrices, over the sparsest formats."""
    for spine in PROGRAMS:
        if spine.operands == (2, 2, 2):
            continue
        out = "d" * spine.out if spine.scatters else "s" * spine.out
        operands = tuple("s" * rank for rank in spine.operands)
        yield from (Case(spine, out, operands, dtype) for dtype in DTYPES)


# -- running them -------------------------------------------------------------------------------

SIZES = st.sampled_from((0, 1, 2, 3, 4, 5, 7, 12))


def shapes(spine: Spine, n: int, m: int) -> list[tuple[int, ...]]:
    if spine.out == 1 and spine.operands == (2, 1):
        return [(m, n) if spine.scatters else (n, m), (m,)]
    if spine.operands == (2,):
        return [(n, m)]
    return [(n, m)[:rank] for rank in spine.operands]


def result(case: Case, backend: str, arrays: list[Any], formats: Any) -> Any:
    """The program's output, made twice over into one tensor."""
    out_format, operand_formats = formats
    with using("interpreter"):  # conversions
        tensors = [Tensor(f, a) for f, a in zip(operand_formats, arrays, strict=True)]
        if case.spine.swizzled:
            tensors[0] = swizzle(tensors[0], (1, 0))
        dtype = np.result_type(*(f.dtype for f in operand_formats))
        out = Scalar(0, dtype) if out_format is None else Tensor(out_format)
        run = on(backend, case.spine.function)
        run(out, *tensors)
        assert run(out, *tensors) is out
        return out.to_numpy()


def check(case: Case, data: Any, backend: str) -> None:
    spine, formats = case.spine, case.formats()
    kinds, seeds = st.sampled_from(KINDS), st.integers(0, 99)
    arrays = [
        array(shape, format.dtype, data.draw(kinds), data.draw(seeds))
        for shape, format in zip(
            shapes(spine, data.draw(SIZES), data.draw(SIZES)), formats[1], strict=True
        )
    ]
    expected = np.asarray(spine.meaning(*arrays))
    np.testing.assert_array_equal(
        result(case, backend, arrays, formats), expected, strict=True, err_msg=str(formats)
    )


quick = settings(
    max_examples=7, deadline=None, derandomize=True, database=None,
    suppress_health_check=list(HealthCheck),
)  # fmt: skip


@pytest.mark.parametrize("backend", backend_names())
@pytest.mark.parametrize("case", list(combinations()), ids=str)
@quick
@given(data=st.data())
def test_every_combination_of_formats_equals_numpy(case: Case, backend: str, data: Any) -> None:
    check(case, data, backend)


@pytest.mark.parametrize("backend", backend_names())
@pytest.mark.parametrize("case", list(dtypes()), ids=str)
@quick
@given(data=st.data())
def test_every_dtype_equals_numpy(case: Case, backend: str, data: Any) -> None:
    check(case, data, backend)
