"""Steps of a plan: each kernel as a request of the eager functions, on the arrays at hand.

Programs are made, cached and run by the same door as those of eager functions (``run``). A step
notes how many entries its result has, beside the estimate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from finch_array import run as running
from finch_array.operands import NUMBERS, array_of, is_dense, operand
from finch_array.plan.constants import constant_name, without_constants
from finch_array.plan.graph import substituted
from finch_array.plan.kernels import Book, Kernel
from finch_array.plan.loops import SHARED
from finch_array.plan.merging import masked_value
from finch_array.plan.normal import affine
from finch_array.requests import Request
from finch_core.ir import primitives as prim
from finch_core.ir.expressions import Access, Expr, Name
from finch_core.records import define, field, frozen

Operand = tuple[str, tuple[range, ...] | None]
"""An array by name, and the part of it that is read, by dimension (None: all of it)."""


@frozen(eq=False)
class Contraction:
    """A sum of products of two dense arrays, which NumPy computes: the dimensions that are summed,
    and the order of the result's."""

    axes: tuple[tuple[int, ...], tuple[int, ...]]
    order: tuple[int, ...]

    def run(self, a: Any, b: Any) -> Any:
        """The result as a NumPy array."""
        return np.array(np.tensordot(a, b, self.axes).transpose(self.order), order="C")


def contraction_of(kernel: Kernel, inputs: Sequence[tuple[str, ...]], out: Any) -> Any:
    """The kernel as a contraction of two arrays; None if it is none."""
    if kernel.op is not prim.add or kernel.times is not prim.mul or kernel.dtype.kind not in "fc":
        return None
    if kernel.masks or len(inputs) != 2 or len(kernel.factors) != 2 or not all(inputs):
        return None
    plain = all(isinstance(f, Access) and f.dtype == kernel.dtype for f in kernel.factors)
    a, b = inputs
    common = [i for i in a if i in b]
    free = [i for i in (*a, *b) if i not in common]
    if not plain or not common or sorted(free) != sorted(out):
        return None
    if len({*a}) < len(a) or len({*b}) < len(b):
        return None
    axes = tuple(map(a.index, common)), tuple(map(b.index, common))
    return Contraction(axes, tuple(map(free.index, out)))


@frozen(eq=False)
class Canonical:
    """A kernel in names that do not depend on the graph: ``kind`` is what its program is found by,
    but for the constants of its request."""

    kind: Any
    request: Request
    operands: tuple[Operand, ...]
    sizes: dict[str, int]
    contraction: Contraction | None


@define(eq=False)
class Runnable:
    """A kernel with its request, which is made when it is first run: of what is planned again, few
    are. ``plan`` is the eager plan of the last call."""

    kernel: Kernel
    book: Book | None = field(repr=False)
    """What is known of its operands, until the request is made."""
    plan: Any = None
    signatures: Any = None
    entries: float | None = None
    """How many entries the last result had; None before the first call."""
    kept: bool = False
    """Whether a result without dimensions stays a tensor: no other step reads the number."""
    _canonical: Canonical | None = field(default=None, init=False, repr=False)

    @property
    def canonical(self) -> Canonical:
        """The kernel as a request, by names of its own."""
        book = self.book
        if book is not None:
            self._canonical = canonical(self.kernel, book)
            self.book = None  # after it: another thread may be here
        assert self._canonical is not None
        return self._canonical

    def __call__(self, arrays: Mapping[str, Any]) -> Any:
        """The result, from the arrays by name."""
        given = [_part(arrays[name], part) for name, part in self.canonical.operands]
        signatures = tuple([x.signature if hasattr(x, "signature") else type(x) for x in given])
        if self.plan is not None and signatures == self.signatures:
            return self.plan(given)
        contraction = self.canonical.contraction
        if contraction is not None and all(is_dense(x) for x in given):
            return array_of(np.asarray(contraction.run(*(x.to_numpy() for x in given))))
        found, plan = running.planned(
            self.canonical.kind, self.canonical.request, given, self.canonical.sizes
        )
        if plan is not None:
            self.plan, self.signatures = plan, signatures
        return found


def _part(array: Any, part: tuple[range, ...] | None) -> Any:
    if part is None:
        return array
    from finch_array.indexing import part_of

    return part_of(array, part)


def canonical(kernel: Kernel, book: Book) -> Canonical:
    """A kernel as a request, by names of its own."""
    names: dict[str, str] = {}
    for i in (*kernel.loops, *kernel.names):
        names.setdefault(i, f"e{len(names)}")
    sizes = {new: book.sizes[old] for old, new in names.items()}
    reader = _Reader(book, names, sizes)
    value = substituted(masked_value(kernel, book), reader.read)
    loops = tuple(names[i] for i in kernel.loops)
    out = tuple(names[i] for i in kernel.out)
    marked = tuple(int(reader.number(part)[1:]) for part in kernel.marked)
    inputs = tuple(reader.inputs)
    value, constants = without_constants(value)
    types = tuple([c.type for c in constants])
    places = (*[f"c{k}" for k in range(len(inputs))], *map(constant_name, range(len(constants))))

    def build(*exprs: Expr) -> Expr:
        known = dict(zip(places, exprs, strict=True))
        return substituted(value, lambda part: known[part.name] if isinstance(part, Name) else None)

    dense = kernel.dense and bool(out)
    shared = kernel.visits > SHARED
    request = Request(
        "fused", build, inputs, out, kernel.op, kernel.dtype, fixed=frozenset(reader.fixed),
        loops=loops, dense=dense, marked=marked, shared=shared, constants=constants,
    )  # fmt: skip
    decided = (kernel.op, kernel.dtype, loops, dense, marked, shared)
    kind = ("plan", value, types, inputs, out, *decided)
    found = contraction_of(kernel, inputs, out) if kernel.by_numpy else None
    return Canonical(kind, request, tuple(reader.operands), sizes, found)


@define(eq=False)
class _Reader:
    """Replaces the accesses of a kernel by the numbers of its operands."""

    book: Book
    names: Mapping[str, str]
    sizes: dict[str, int]
    operands: list[Operand] = field(factory=list)
    inputs: list[tuple[str, ...]] = field(factory=list)
    fixed: list[str] = field(factory=list)
    places: dict[Any, int] = field(factory=dict)

    def read(self, part: Expr) -> Expr | None:
        if isinstance(part, Name):
            return Name(f"c{self.place(part.name, (), None)}")
        if not isinstance(part, Access):
            return None
        shape = self.book.arrays[part.tensor.name].statistics.shape
        ranges: list[range] = []
        indices: list[str] = []
        whole = True
        for index, n in zip(part.indices, shape, strict=True):
            name, scale, shift = affine(index)
            if name is None:
                ranges.append(range(shift, shift + 1))
                indices.append("")
                whole = whole and not shift and n == 1
                continue
            size = self.sizes[self.names[name]]
            ranges.append(range(shift, shift + scale * size, scale))
            indices.append(self.names[name])
            whole = whole and scale == 1 and not shift and size == n
        place = self.place(part.tensor.name, tuple(indices), None if whole else tuple(ranges))
        return Name(f"c{place}")

    def number(self, part: Access) -> str:
        """The name of the operand that an access reads."""
        found = self.read(part)
        assert isinstance(found, Name)
        return found.name

    def place(self, name: str, indices: tuple[str, ...], part: tuple[range, ...] | None) -> int:
        key = (name, indices, part)
        found = self.places.get(key)
        if found is None:
            found = self.places[key] = len(self.operands)
            self.operands.append((name, part))
            self.inputs.append(tuple(i or self.constant() for i in indices))
        return found

    def constant(self) -> str:
        """The name of a dimension of size 1 that is read at 0."""
        name = f"z{len(self.fixed)}"
        self.fixed.append(name)
        return name


def as_operand(array: Any) -> Any:
    """A result as an operand: a number where it has no dimensions."""
    return array if isinstance(array, NUMBERS) else operand(array)


def stored_entries(array: Any) -> float:
    """How many entries a result has."""
    if isinstance(array, NUMBERS):
        return 1.0
    from finch_array.methods import stored_count

    return float(stored_count(array))


__all__ = [
    "Canonical", "Contraction", "Runnable", "as_operand", "stored_entries",
]  # fmt: skip
