"""Graphs of lazy arrays: immutable nodes, of which equal ones are identical.

A node is a *source* (an array that there is), or a *step*: a value at each index, computed from
accesses of other nodes, and perhaps reduced over the indices that the result lacks. Transposes,
new dimensions and slices are steps too, whose accesses have other indices.
"""

from __future__ import annotations

import functools
import math
import weakref
from cmath import isfinite
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from finch_array import structures
from finch_array.final_fills import fill_of_several
from finch_array.operands import NUMBERS, kinds_of, told
from finch_array.requests import Dtype, Request
from finch_core.errors import DimensionMismatch
from finch_core.interface.structure import Structure
from finch_core.ir.dtypes import concrete, type_of
from finch_core.ir.expressions import Access, Cast, Expr, Index, Literal, Name, alike
from finch_core.ir.operators import Operator
from finch_core.ir.rewrite import rewrite_expr
from finch_core.records import frozen


class Node:
    """A node: ``shape``, ``dtype``, ``fill``, None where it depends on run-time numbers, and
    ``kinds``, the structure of each dimension."""

    __slots__ = ("__weakref__", "dtype", "fill", "kinds", "shape")
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fill: Any
    kinds: tuple[Structure, ...]
    children: tuple[Node, ...] = ()


class Source(Node):
    """An array that there is, or a number: ``array``."""

    __slots__ = ("array",)

    def __init__(self, array: Any) -> None:
        self.array = array
        if isinstance(array, NUMBERS):
            self.shape, self.dtype, self.fill = (), np.asarray(array).dtype, None
            self.kinds = ()
        else:
            self.shape, self.dtype = array.shape, np.dtype(array.dtype)
            self.fill = array.fill_value if array.shape else None
            self.kinds = kinds_of(array)

    def held(self) -> Any:
        """The array, to be read. Raises ``DimensionMismatch`` where it has grown or shrunk: the
        steps above were made for its shape."""
        if self.shape and self.array.shape != self.shape:
            raise DimensionMismatch(
                f"a lazy array is of shape {self.shape}, and its operand has shape "
                f"{self.array.shape} now",
                hint="make the lazy array again, after the operand has taken its shape",
            )
        return self.array

    @property
    def is_finite(self) -> bool:
        """Whether this is an array, or a number other than infinity and NaN."""
        return not isinstance(self.array, (float, complex, np.inexact)) or isfinite(self.array)

    @property
    def type(self) -> Any:
        """The dtype, weak for a plain number."""
        return type_of(self.array) if isinstance(self.array, NUMBERS) else self.dtype


class Step(Node):
    """``node[out] op= body``, for all indices of ``sizes``.

    ``body`` accesses child ``k`` as ``c<k>``, by ``Access`` where it has dimensions and by ``Name``
    where it has none. Without ``op`` the indices are those of ``out``.
    """

    __slots__ = ("body", "children", "name", "op", "out", "sizes")

    def __init__(
        self, name: str, body: Expr, children: tuple[Node, ...], out: tuple[str, ...],
        op: Operator | None, sizes: Mapping[str, int], dtype: np.dtype[Any], fill: Any,
        kinds: tuple[Structure, ...],
    ) -> None:  # fmt: skip
        self.name, self.body, self.children = name, body, children
        self.out, self.op, self.sizes = out, op, dict(sizes)
        self.shape = tuple(self.sizes[i] for i in out)
        self.dtype, self.fill, self.kinds = dtype, fill, kinds


_nodes: weakref.WeakValueDictionary[Any, Node] = weakref.WeakValueDictionary()


def source(array: Any) -> Source:
    """The node of an array or number. Nodes of one array are identical, as long as its shape
    stays."""
    key = ("number", told(array)) if isinstance(array, NUMBERS) else id(array)
    found = _nodes.get(key)
    if not isinstance(found, Source) or (found.shape and found.shape != array.shape):
        found = _nodes[key] = Source(array)
    return found


def step(
    name: str, body: Expr, children: Sequence[Node], out: tuple[str, ...], op: Operator | None,
    sizes: Mapping[str, int], dtype: Dtype = None,
) -> Node:  # fmt: skip
    """The node of a step. Raises ``TypeError`` where its value is not defined on the dtypes."""
    key = (body, tuple(map(id, children)), out, op, tuple(sizes.items()), dtype)
    found = _nodes.get(key)
    if found is None:
        known = _known_of(body, children, tuple(sizes), out, op, dtype)
        fill = known.fill
        if fill is None:
            count = math.prod(n for name, n in sizes.items() if name not in out)
            fill = _reduced_fill(known.own_fill, known.dtype, op, count)
        found = Step(
            name, known.expr, tuple(children), out, op, sizes, known.dtype, fill, known.kinds
        )
        _nodes[key] = found
    return found


@frozen(eq=False)
class _StepKind:
    """What steps have in common that differ in sizes: their value and its dtype, the structures of
    the result, the fill of the value, and that of the result unless it depends on sizes."""

    expr: Expr
    dtype: np.dtype[Any]
    kinds: tuple[Structure, ...]
    own_fill: Expr
    fill: Any


_known: dict[Any, _StepKind] = {}
MOST = 4096
"""The most kinds of steps that are remembered."""


def _known_of(
    body: Expr, children: Sequence[Node], loops: tuple[str, ...], out: tuple[str, ...],
    op: Operator | None, dtype: Dtype,
) -> _StepKind:  # fmt: skip
    kinds = tuple([
        (child.dtype, child.fill.tobytes(), child.kinds) if child.shape else type_in(child)
        for child in children
    ])  # fmt: skip
    key = (body, kinds, loops, out, op, dtype)
    found = _known.get(key)
    if found is None:
        if len(_known) >= MOST:
            _known.clear()
        known = structures.settled(_analysed(body, children, loops), dtype)
        wanted = concrete(known.dtype)
        fill = structures.simplified(Cast(known.fill, wanted))
        once = _reduced_fill(fill, wanted, op, 1)
        alone = op is None
        if op is not None and op.identity is not None:  # of any number of fills, if of none
            alone = alike(once, _reduced_fill(fill, wanted, op, 0))
        found = _known[key] = _StepKind(
            known.expr, wanted, _kinds(known, loops, out), fill, once if alone else None
        )
    return found


def _kinds(
    known: structures.Analysis, loops: tuple[str, ...], out: tuple[str, ...]
) -> tuple[Structure, ...]:
    """The structures of the dimensions of a step. One that is collected in no order is dense."""
    if known.shapes is None or (out and loops[0] not in out):
        return (structures.DENSE,) * len(out)
    kept = structures.reduced(known.shapes, loops, out)
    return tuple(kept[name] for name in out)


def _analysed(body: Expr, children: Sequence[Node], loops: tuple[str, ...]) -> structures.Analysis:
    """The dtype, fill and structures of a body, by those of the children."""
    places = {
        part.tensor: tuple(map(_index_name, part.indices))
        for part in body.walk()
        if isinstance(part, Access)
    }
    leaves = {}
    for k, child in enumerate(children):
        if f"c{k}" in places:
            kinds = list(zip(places[f"c{k}"], child.kinds, strict=True))
            along = {name: kind for name, kind in kinds if name}
            fixed = [kind for name, kind in kinds if not name]
            leaves[f"c{k}"] = structures.Leaf(child.fill, child.dtype, along, fixed)
    numbers = {f"c{k}": type_in(c) for k, c in enumerate(children) if not c.shape}
    return structures.analyse(body, leaves, numbers, loops)


def _index_name(index: Expr) -> str:
    """The name of the loop that an index depends on; empty for a constant."""
    return next((part.name for part in index.walk() if isinstance(part, Index)), "")


def type_in(child: Node) -> Any:
    """The type of a child without dimensions in an expression."""
    return child.type if isinstance(child, Source) else child.dtype


def _reduced_fill(fill: Expr, dtype: np.dtype[Any], op: Operator | None, count: int) -> Any:
    """The fill of a step whose elements are each of ``count`` values."""
    request = Request("", lambda x: x, (), (), op)
    return np.asarray(fill_of_several(request, fill, count, dtype), dtype)[()]


def recorded(request: Request, operands: Sequence[Any], sizes: Mapping[str, int]) -> Node:
    """The node of a request on operands, some of them lazy."""
    fixed = request.fixed
    at = tuple([
        tuple([
            i in fixed or n == 1 != sizes[i] for i, n in zip(names, array.shape, strict=True)
        ]) if not isinstance(array, NUMBERS) and array.shape else None
        for names, array in zip(request.inputs, operands, strict=True)
    ])  # fmt: skip
    body = _body(request, at)
    children = tuple(map(node_of, operands))
    kept = _used(body, request, sizes)
    return step(request.name, body, children, request.out, request.op, kept, request.dtype)


@functools.lru_cache(MOST)
def _body(request: Request, at: tuple[tuple[bool, ...] | None, ...]) -> Expr:
    """The value of a request. ``at``: of each operand, the dimensions that are read at 0; None for
    a number."""
    exprs: list[Expr] = []
    for k, (names, zero) in enumerate(zip(request.inputs, at, strict=True)):
        if zero is None:
            exprs.append(Name(f"c{k}"))
            continue
        indices = [Literal(0, int) if z else Index(i) for i, z in zip(names, zero, strict=True)]
        exprs.append(Access(f"c{k}", tuple(indices)))
    return request.valued(exprs)


def _used(body: Expr, request: Request, sizes: Mapping[str, int]) -> dict[str, int]:
    """The sizes of the indices that occur, or that are reduced."""
    if request.op is not None:
        return {i: n for i, n in sizes.items() if i not in request.fixed}
    return {i: sizes[i] for i in request.out}


def node_of(operand: Any) -> Node:
    """The node of an operand: a lazy array's, or a source."""
    node = getattr(operand, "lazy_node", None)
    return node if node is not None else source(operand)


def viewed(child: Node, indices: Sequence[Expr], out: Mapping[str, int]) -> Node:
    """``child`` read at other indices: transposed, sliced, with new dimensions."""
    value: Expr = Access("c0", tuple(indices)) if child.shape else Name("c0")
    return step("view", value, (child,), tuple(out), None, out)


def ordered(roots: Sequence[Node]) -> list[Node]:
    """All nodes below, each after its children."""
    found: dict[Node, None] = {}
    stack: list[tuple[Node, bool]] = [(root, False) for root in reversed(roots)]
    while stack:
        node, done = stack.pop()
        if done:
            found[node] = None
        elif node not in found:
            stack.append((node, True))
            stack += [(child, False) for child in reversed(node.children)]
    return list(found)


def substituted(expr: Expr, rule: Any) -> Expr:
    """``expr`` with its accesses and names replaced by ``rule``, once, from the outside."""
    made = rule(expr)
    if made is not None:
        return made  # type: ignore[no-any-return]
    children = expr.children
    if not children:
        return expr
    new = tuple([substituted(child, rule) for child in children])
    for a, b in zip(new, children, strict=True):
        if a is not b:
            return expr.rebuild(new)
    return expr


__all__ = [
    "Node", "Source", "Step", "node_of", "ordered", "recorded", "rewrite_expr", "source", "step",
    "substituted", "type_in", "viewed",
]  # fmt: skip
