"""Scalar expressions, shared by programs and assembly.

Assembly uses ``Literal Var Call Cast Load Length Overlaps Invoke``. Programs also have
``Index``, ``Name``, ``Access`` and ``Modified``, until lowering removes them. Nodes are
immutable and hashable. ``ir/arithmetic.py`` has those that Python's operators build.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from finch_core.ir.arithmetic import (
    Call,
    Cast,
    Expr,
    ExprLike,
    Literal,
    call,
    cast,
    fold_literals,
    lift,
    unlike,
    zero_of,
)
from finch_core.ir.dtypes import BOOL, INTP, Type
from finch_core.ir.operators import alike, opposite
from finch_core.records import field, frozen

if TYPE_CHECKING:
    from finch_core.errors import Span

__all__ = [
    "FALSE",
    "TRUE",
    "Access",
    "Buffer",
    "Call",
    "Callee",
    "Cast",
    "Dimension",
    "Expr",
    "ExprLike",
    "Index",
    "Invoke",
    "Length",
    "Literal",
    "Load",
    "Modified",
    "Name",
    "Overlaps",
    "Var",
    "alike",
    "call",
    "cast",
    "fold_literals",
    "lift",
    "opposite",
    "unlike",
    "zero_of",
]


@frozen(order=False)
class Var(Expr):
    """A variable of the assembly, by name."""

    name: str
    type: Type

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def dtype(self) -> Type:
        return self.type


@frozen(order=False)
class Buffer:
    """A block of elements of one dtype, by name; ``growable`` if a kernel may reallocate it,
    ``ascending`` if its elements never decrease where the kernel does not change it;
    ``nonnegative`` if no element that is read is negative."""

    name: str
    dtype: np.dtype[Any]
    growable: bool = False
    ascending: bool = False
    nonnegative: bool = field(default=False, eq=False)


@frozen(order=False, eq=False, unsafe_hash=True, cache_hash=True)
class Load(Expr):
    """``buffer[index]``."""

    buffer: Buffer
    index: Expr

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return unlike(self, other)  # type: ignore[no-any-return]
        return self.buffer == other.buffer and self.index == other.index

    @property
    def dtype(self) -> Type:
        return self.buffer.dtype

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.index,)

    def rebuild(self, children: tuple[Expr, ...]) -> Expr:
        return Load(self.buffer, children[0])


@frozen(order=False)
class Length(Expr):
    """The capacity of a buffer in elements."""

    buffer: Buffer

    @property
    def dtype(self) -> Type:
        return INTP


@frozen(order=False)
class Overlaps(Expr):
    """Whether two buffers share memory."""

    first: Buffer
    second: Buffer

    @property
    def dtype(self) -> Type:
        return BOOL


class Callee(Protocol):
    """The members of an assembly function that a call uses."""

    @property
    def name(self) -> str: ...
    @property
    def params(self) -> tuple[Var | Buffer, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    @property
    def body(self) -> Any: ...


@frozen(order=False, eq=False, unsafe_hash=True, cache_hash=True)
class Invoke(Expr):
    """A call of an assembly function; arguments are expressions or buffers, like its parameters."""

    function: Callee
    args: tuple[Expr | Buffer, ...]

    def __eq__(self, other: object) -> bool:
        if other.__class__ is not self.__class__:
            return unlike(self, other)  # type: ignore[no-any-return]
        return self.function == other.function and self.args == other.args

    @property
    def dtype(self) -> Type:
        return self.function.dtype

    @property
    def children(self) -> tuple[Expr, ...]:
        return tuple(arg for arg in self.args if isinstance(arg, Expr))

    def rebuild(self, children: tuple[Expr, ...]) -> Expr:
        rest = iter(children)
        return Invoke(
            self.function,
            tuple(next(rest) if isinstance(arg, Expr) else arg for arg in self.args),
        )


# -- only in programs -----------------------------------------------------------------------


@frozen(order=False)
class Index(Expr):
    """A loop index. Its type is Python's ``int``, so it takes the width of the other operand."""

    name: str

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def dtype(self) -> Type:
        return int


@frozen(order=False)
class Name(Expr):
    """A name standing alone: a ``let`` variable, or a run-time scalar argument or free name.

    ``type`` is ``None`` until the name is bound.
    """

    name: str
    type: Type | None = field(default=None, eq=False)
    span: Span | None = field(default=None, eq=False, repr=False)

    @property
    def dtype(self) -> Type:
        if self.type is None:
            raise TypeError(f"the name {self.name!r} has no type yet")
        return self.type


@frozen(order=False)
class Dimension(Expr):
    """The number of indices of a tensor's dimension: ``len(A)``, ``A.shape[axis]``.

    The tensor is a name until it is bound; ``size`` is then its size as an expression, if the
    program does not change it. ``parts`` is how many names ``n, m = A.shape`` takes it apart into:
    the tensor must have as many dimensions.
    """

    tensor: Any
    axis: int
    size: Expr | None = None
    span: Span | None = field(default=None, eq=False, repr=False)
    parts: int | None = field(default=None, eq=False)

    @property
    def dtype(self) -> Type:
        return int


@frozen(order=False, cache_hash=True)
class Modified(Expr):
    """An index with a modifier: ``~i`` (permissive), a protocol (follow, walk, gallop), or, in
    normal form, an expression that no loop runs over (given; see ``symbolic.affine``)."""

    modifier: str
    index: Expr

    @property
    def dtype(self) -> Type:
        return self.index.dtype

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.index,)

    def rebuild(self, children: tuple[Expr, ...]) -> Expr:
        return Modified(self.modifier, children[0])


@frozen(order=False, cache_hash=True)
class Access(Expr):
    """``tensor[indices]``.

    The tensor is a name until it is bound, then a tensor-like object with ``dtype``. Whether
    the access reads or writes depends on where it occurs (see ``ir.program``).
    """

    tensor: Any
    indices: tuple[Expr, ...]
    span: Span | None = field(default=None, eq=False, repr=False)

    @property
    def dtype(self) -> Type:
        try:
            return self.tensor.dtype  # type: ignore[no-any-return]
        except AttributeError:
            raise TypeError(f"the tensor {self.tensor!r} is not bound yet") from None

    @property
    def children(self) -> tuple[Expr, ...]:
        return self.indices

    def rebuild(self, children: tuple[Expr, ...]) -> Expr:
        return Access(self.tensor, children, self.span)


TRUE, FALSE = Literal(np.True_, BOOL), Literal(np.False_, BOOL)
