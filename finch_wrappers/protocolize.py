"""ProtocolizedTensor: the access protocol of each dimension is chosen (paper, Table "Wrapper
tensors")."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from finch_core.errors import DimensionMismatch, FormatError, count, quote
from finch_core.frontend.functions import PROTOCOLS
from finch_core.interface.wrapper_examples import Example, View
from finch_core.ir.expressions import Access, Expr, Modified
from finch_core.level import Mode
from finch_core.looplets import Looplet
from finch_core.plugins import hookimpl, hub
from finch_core.records import evolve
from finch_core.runtime.wrapping import Seen, Wrapped, WrapperTensor, seen, tensor_of
from finch_core.symbolic.affine import Scope

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.interface.tensorlike import TensorLike
    from finch_core.ir.program import Extent
    from finch_core.level import Format

NAMES = frozenset(PROTOCOLS.values())


class Protocolized(Wrapped):
    """``inner``, read by the protocol that ``parts`` names for each dimension.

    ``follow`` looks up each index, ``walk`` iterates over the stored values, ``gallop`` also leads
    the loop, so that other operands skip ahead to its indices.
    """

    __slots__ = ()
    verb: ClassVar[str] = "protocolize"
    distinct: ClassVar[bool] = True

    def protocol_of(self, dim: int) -> str:
        return self.parts[dim] or super().protocol_of(dim)

    def unfurl(self, ctx: Context, mode: Mode, protocol: str) -> Looplet:
        if mode is Mode.UPDATE:
            raise FormatError(
                f"{self.root} is written: protocols are ways of reading",
                hint="leave the protocol out on the left of an assignment",
            )
        return super().unfurl(ctx, mode, self.parts[0] or protocol)


class ProtocolizedTensor(WrapperTensor):
    """``protocolize(A, (p, None))[i, j]`` is ``A[p(i), j]``."""

    name: ClassVar[str] = "protocolize"
    has_array: ClassVar[bool] = True
    gives_extents: ClassVar[bool] = True

    def dense_access(self, node: Access) -> Expr:
        return node

    def params(self, scalars: Any) -> Any:
        return self.key

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.tensor.shape
        return shape

    def to_numpy(self) -> Any:
        return self.tensor.to_numpy()

    def located(self, coords: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
        return None, coords

    @staticmethod
    def sizes_of(inner: TensorLike, params: Any) -> tuple[Extent | None, ...]:
        return inner.sizes

    @staticmethod
    def match_access(node: Access, scope: Scope) -> Access | None:
        """``A[..., p(j), ...]`` -> ``protocolize(A, (..., p, ...))[..., j, ...]``."""
        argument = seen(node, ProtocolizedTensor)
        if argument is not None:
            pairs = zip(node.indices, argument.params, strict=True)
            indices = tuple(i if p is None else Modified(p, i) for i, p in pairs)
            return evolve(node, tensor=argument.inner, indices=indices)
        if isinstance(node.tensor, Seen):
            return None
        for k, index in enumerate(node.indices):
            if isinstance(index, Modified) and index.modifier in NAMES:
                _check(node, k, index.modifier)
                return Protocolized.along(node, k, index.modifier, index.index)
        return None

    @staticmethod
    def examples(view: View) -> Iterator[Example]:
        """Each protocol, in every dimension."""
        for name in sorted(NAMES):
            yield _example(view, name)


def _example(view: View, name: str) -> Example:
    def make(tensor: Any) -> ProtocolizedTensor:
        return protocolize(tensor, *(name,) * view.ndim)

    return Example(make, view, updates=False, declares=False, protocols=frozenset({name}))


def _check(node: Access, k: int, protocol: str) -> None:
    """Raise ``FormatError`` if the level of dimension ``k`` lacks a protocol."""
    root = node.tensor.root
    if root is None:
        raise FormatError(f"{node.tensor} has no protocols", span=node.span)
    level = root.format.levels()[root.format.ndim - node.tensor.ndim + k]
    if protocol in level.protocols:
        return
    others = [n for n, f in sorted(hub().levels.items()) if _reads(f, protocol)]
    raise FormatError(
        f"dimension {k} of {root} cannot be read by {protocol}: a {level.name} level reads by "
        f"{quote(sorted(level.protocols))}",
        span=node.span,
        hint=f"{quote(others)} can" if others else "leave the protocol out",
    )


def _reads(format: type[Format], protocol: str) -> bool:
    return not format.is_leaf and protocol in format.protocols


def protocolize(tensor: Any, *protocols: Any) -> ProtocolizedTensor:
    """A view of ``tensor`` that is read by the given protocols: for each dimension ``follow``,
    ``walk`` or ``gallop`` (the functions or their names), or None for the level's default.

    Raises ``DimensionMismatch`` unless there is one for each dimension. Compiling a kernel raises
    ``FormatError`` for a protocol that a level lacks.
    """
    made = protocols[0] if len(protocols) == 1 and isinstance(protocols[0], tuple) else protocols
    names = tuple(None if p is None else p if isinstance(p, str) else PROTOCOLS[p] for p in made)
    tensor = tensor_of(tensor)
    if len(names) != tensor.ndim or not NAMES.issuperset(set(names) - {None}):
        raise DimensionMismatch(
            f"{names} is not one protocol for each of {count(tensor.ndim, 'dimension')}",
            hint=f"pass one of {quote(sorted(NAMES))} or None for each dimension",
        )
    return ProtocolizedTensor(tensor, names)


@hookimpl
def finch_wrapper() -> type[ProtocolizedTensor]:
    """Register ``protocolize``."""
    return ProtocolizedTensor
