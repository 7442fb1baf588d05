"""Base classes of wrappers, which change how some dimensions of a tensor are indexed: within a
program, and as an argument of a kernel (paper, section "Wrapperization")."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from finch_core.errors import FormatError
from finch_core.interface.around import Around
from finch_core.interface.array_methods import ArrayMethods
from finch_core.interface.names_elsewhere import Elsewhere
from finch_core.interface.signatures import Signature, wrapped_signature
from finch_core.interface.tensorlike import Constant, Discard, TensorLike
from finch_core.ir.expressions import Access, Expr, Modified, Var
from finch_core.ir.program import Extent
from finch_core.looplets.transform import Transform
from finch_core.records import evolve, frozen
from finch_core.runtime.convert import dense_copy, structure, wrapped

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.interface.level import Format, Mode
    from finch_core.looplets import Looplet


@frozen
class Wrapped(Around):
    """A wrapper within a program: ``inner``, with those dimensions changed whose entry in ``parts``
    is not None."""

    inner: TensorLike
    parts: tuple[Any, ...]

    verb: ClassVar[str] = ""
    unchanged: ClassVar[str] = "None"
    """The name of the wrapper, and the text for an unchanged dimension, in printed programs."""

    def __str__(self) -> str:
        parts = ", ".join(self.unchanged if p is None else _shown(p) for p in self.parts)
        return f"{self.verb}({self.inner}, ({parts}{',' * (len(self.parts) == 1)}))"

    @property
    def ndim(self) -> int:
        return self.inner.ndim

    distinct: ClassVar[bool] = False
    """Whether different indices are of different elements, if they are in ``inner``."""

    @property
    def keeps_apart(self) -> bool:
        return self.distinct and self.inner.keeps_apart

    def level_of(self, dim: int) -> Format | None:
        return self.inner.level_of(dim)

    def protocol_of(self, dim: int) -> str:
        return self.inner.protocol_of(dim)

    @property
    def dims(self) -> tuple[Extent | None, ...]:
        return self._changed(self.inner.dims)

    @property
    def sizes(self) -> tuple[Extent | None, ...]:
        return self._changed(self.inner.sizes)

    def _changed(self, extents: tuple[Extent | None, ...]) -> tuple[Extent | None, ...]:
        pairs = zip(extents, self.parts, strict=True)
        return tuple(e if e is None or p is None else self.extent(e, p) for e, p in pairs)

    def filled_beyond(self) -> TensorLike | None:
        inner = self.inner.filled_beyond()
        return None if inner is None else evolve(self, inner=inner)

    def extent(self, extent: Extent, part: Any) -> Extent | None:
        """The extent of a dimension that ``part`` changes."""
        return extent

    def outermost(self, looplet: Looplet, part: Any) -> Looplet:
        """The looplet over the outermost dimension after the change ``part``."""
        return looplet

    def unfurl(self, ctx: Context, mode: Mode, protocol: str) -> Looplet:
        looplet = self.inner.unfurl(ctx, mode, protocol)
        if any(part is not None for part in self.parts[1:]):
            looplet = Transform(self.around).looplet(looplet)
        return looplet if self.parts[0] is None else self.outermost(looplet, self.parts[0])

    def around(self, sub: TensorLike) -> TensorLike:
        """This wrapper around a subtensor: the changes of the remaining dimensions."""
        if isinstance(sub, Discard) or all(part is None for part in self.parts[1:]):
            return sub
        found = evolve(self, inner=sub, parts=self.parts[1:])
        if isinstance(sub, Constant):
            return evolve(sub, extents=found.dims if sub.extents else ())
        return found

    @classmethod
    def along(cls, node: Access, k: int, part: Any, index: Expr) -> Access:
        """``node`` with its tensor changed along dimension ``k``, and ``index`` there."""
        tensor, rest = node.tensor, (None,) * (node.tensor.ndim - k - 1)
        parts = (*(None,) * k, part, *rest)
        if isinstance(tensor, cls) and tensor.parts[k] is None:
            parts = (*tensor.parts[:k], part, *tensor.parts[k + 1 :])
            tensor = tensor.inner
        indices = (*node.indices[:k], index, *node.indices[k + 1 :])
        return evolve(node, tensor=cls(tensor, parts), indices=indices)


def whole(value: Any, what: str) -> int:
    """``value`` as an int within 64 bits. Raises ``FormatError``, which names it ``what``."""
    try:
        number = operator.index(value)
    except TypeError:
        shown = f"{type(value).__name__} {value!r}"
        raise FormatError(f"{what} is an integer, not {shown}") from None
    if not -(2**63) <= number < 2**63:
        raise FormatError(f"{what} of {number} is too large: integers have 64 bits")
    return number


def _shown(part: Any) -> str:
    from finch_core.ir.program_text import expression_text

    return expression_text(part) if isinstance(part, Expr) else str(part)


@frozen
class Seen(Around):
    """An argument that is a wrapper around ``inner``. Wrapperization rewrites its accesses into
    index expressions of ``inner``, so that wrappers nest in any order."""

    inner: TensorLike
    kind: type[WrapperTensor]
    params: Any
    ndim: int

    @property
    def dims(self) -> tuple[Extent | None, ...]:
        return (None,) * self.ndim

    @property
    def sizes(self) -> tuple[Extent | None, ...]:
        return self.kind.sizes_of(self.inner, self.params) or self.dims


def seen(node: Access, kind: type) -> Seen | None:
    """The tensor of an access if it is an argument wrapped by this kind of wrapper, else None."""
    tensor = node.tensor
    return tensor if isinstance(tensor, Seen) and tensor.kind is kind else None


def plus(index: Expr, shift: Expr) -> Expr:
    """``index + shift``, with modifiers (``~``, protocols) moved outermost."""
    if isinstance(index, Modified):
        return Modified(index.modifier, plus(index.index, shift))
    if isinstance(shift, Modified):
        return Modified(shift.modifier, plus(index, shift.index))
    return index + shift


def mapped(index: Expr, change: Callable[[Expr], Expr]) -> Expr:
    """``change(index)``, with modifiers (``~``, protocols) kept outermost."""
    if isinstance(index, Modified):
        return Modified(index.modifier, mapped(index.index, change))
    return change(index)


def tensor_of(data: Any) -> Any:
    """What a wrapper is put around, as an argument of a kernel: tensors and wrappers as they are,
    all else as ``asarray`` reads it."""
    return data if hasattr(data, "signature") else wrapped(data)


class Signed:
    """What wrappers have in common as arguments: they are pickled without their signatures, which
    each process interns for itself, and have no memory of their own."""

    tensor: Any

    def sign(self) -> None:
        """Set the signature by the other attributes."""
        raise NotImplementedError

    def around(self, tensor: Any) -> Self:
        """This wrapper around another tensor, of the same shape."""
        found = object.__new__(type(self))
        vars(found).update(vars(self))
        found.tensor = tensor
        found.sign()
        return found

    def __copy__(self) -> Self:
        """This wrapper around a copy of the tensor."""
        return self.around(self.tensor.__copy__())

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "signature"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.sign()

    format: Any = Elsewhere(
        "format",
        "a view has that of what it is a view of, tensor.format, whose dimensions may be others; "
        "Tensor(format, A) makes a tensor of it",
    )
    buffers: Any = Elsewhere("buffers", "a view has those of what it is a view of, tensor.buffers")


class WrapperTensor(Signed, ArrayMethods):
    """A wrapper as an argument of a kernel: a tensor, and how its dimensions are changed.

    ``tensor`` is anything that ``asarray`` takes. ``key`` (hashable) is what compiled code depends
    on; ``scalars`` are integers that are passed at run time. What ``bind`` and ``params`` use is
    set before ``__init__`` of this class, or is in ``key``: they are called on an outline of this
    without the tensor's memory, which has ``ndim``, ``dtype``, ``fill_value`` and ``format``.
    """

    permutes: ClassVar[bool] = False
    """Whether it gives the dimensions of the wrapped tensor in another order, and has no scalars;
    its accesses are replaced before those of other wrappers."""
    has_array: ClassVar[bool] = False
    """Whether ``shape`` and ``to_numpy`` are those of an array with the indices from 0 up to a
    size, where the wrapped tensor has them."""
    gives_extents: ClassVar[bool] = False
    """Whether a loop over a plain index of a dimension takes its extent from it, so that it is that
    of the dimension. Array functions give the others their sizes."""
    without_array: ClassVar[str] = "its indices need not be those from 0 up to a size"
    """Why it has no array, in messages, unless ``has_array``."""
    name: ClassVar[str]
    signature: Signature

    def __init__(self, tensor: Any, key: Any = (), scalars: tuple[int, ...] = ()) -> None:
        self.tensor = tensor_of(tensor)
        self.key, self.scalars, self.nscalars = key, scalars, len(scalars)
        self.sign()

    def sign(self) -> None:
        """Set the signature by the other attributes."""
        key = (self.key, len(self.scalars))
        self.signature = wrapped_signature(self, self.tensor.signature, key)

    def bind(self, inner: TensorLike, scalars: tuple[Var, ...]) -> TensorLike:
        """The tensor-like that stands for this argument in a program, around ``inner``."""
        return Seen(inner, type(self), self.params(scalars), self.ndim)

    def params(self, scalars: tuple[Var, ...]) -> Any:
        """The parameters of this argument for ``match_access``: its ``scalars`` as variables."""
        return scalars

    @staticmethod
    def sizes_of(inner: TensorLike, params: Any) -> tuple[Extent | None, ...]:
        """The dimensions of ``inner`` seen through a wrapper with these ``params``, for programs
        that ask for ``A.shape``; None for one without a size, empty if none has."""
        return ()

    def dense_access(self, node: Access) -> Expr:
        """The expression of the wrapped tensor, under the same name, that an access of this means,
        for the reference implementation (``reference.wrappers``). Not needed if ``has_array``.
        Raises ``FormatError`` by default."""
        raise FormatError(
            f"the reference implementation does not know what the result of {self.name} means",
            hint=f"{type(self).__name__}.dense_access(access) gives an expression of what it wraps",
        )

    def located(self, coords: Sequence[Any]) -> tuple[Any, Sequence[Any]] | None:
        """Where the elements of the wrapped tensor at ``coords``, an array of indices for each
        dimension, are seen here: which of them (a mask, None: all), and the indices of all, which
        mean nothing for the others. None where the wrapper does not tell (the default)."""
        return None

    def words(self) -> tuple[Any, ...]:
        """The machine words that pass this to a kernel: those of the tensor, and the scalars."""
        return (*self.tensor.words(), *self.scalars)

    @property
    def memory(self) -> Any:
        return self.tensor.memory

    def adopt_moved(self, kernel: Any, keep: bool = False) -> None:
        self.tensor.adopt_moved(kernel, keep)

    def fill(self, shape: tuple[int, ...]) -> None:
        """Set every element of the wrapped tensor to its fill value; its shape stays."""
        self.tensor.fill(self.tensor.shape)

    @property
    def ndim(self) -> int:
        return int(self.tensor.ndim)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many indices each dimension has, wherever they begin: those of the wrapped tensor. A
        wrapper with other dimensions overrides it."""
        shape: tuple[int, ...] = self.tensor.shape
        return shape

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self.tensor.dtype
        return dtype

    @property
    def fill_value(self) -> Any:
        return self.tensor.fill_value

    def to_numpy(self) -> np.ndarray[Any, Any]:
        """A dense array of the same values. Raises ``FormatError`` unless the indices of each
        dimension are those from 0 up to a size (``has_array``)."""
        if self.has_array:
            return dense_copy(self)
        raise FormatError(
            f"the result of {self.name} has no dense array: {self.without_array}",
            hint="read it in a kernel, into a tensor of its own",
        )

    def structure(self) -> np.ndarray[Any, Any]:
        """Which elements are stored; raises as ``to_numpy`` does."""
        if not self.has_array:
            self.to_numpy()
        return structure(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        return np.array(self.to_numpy(), dtype=dtype, copy=copy)

    def __repr__(self) -> str:
        shown = ", ".join(map(str, (*((self.key,) if self.key != () else ()), *self.scalars)))
        return f"{self.name}({shown}) of\n{self.tensor!r}"
