"""Parts of tensors that were taken before, by integers and slices: the view of such a part of a
tensor of the same signature and shape, and the plan that copies it, are known."""

from __future__ import annotations

from typing import Any

from finch_array.ready import Ready
from finch_core.interface.plugins import when_plugins_change
from finch_core.records import frozen
from finch_core.runtime.tensor import Tensor

MOST = 4096
"""The most parts that are remembered; beyond it all are forgotten."""
_cuts: dict[Any, Cut] = {}
when_plugins_change(_cuts.clear)


@frozen(eq=False)
class Cut:
    """A part of tensors of one signature and shape: the wrappers of its view by class and
    attributes, innermost first, the ``words`` that a kernel is passed after the address of the
    tensor, and the plan that copies it."""

    wrappers: tuple[tuple[type, dict[str, Any]], ...]
    words: tuple[Any, ...]
    ready: Ready

    def __call__(self, tensor: Tensor) -> Any:
        """The part of a tensor of that signature and shape."""
        seen: Any = tensor
        for kind, attributes in self.wrappers:
            view: Any = object.__new__(kind)
            view.__dict__.update(attributes)
            view.tensor = seen
            seen = view
        return self.ready.on_words([seen], (tensor.address, *self.words))


def key_of(tensor: Tensor, index: Any) -> Any:
    """What a part of a tensor depends on; None for an index other than integers and slices."""
    told: list[Any] = [tensor.signature, tensor.record[: tensor.layout.ndim].tobytes()]
    for x in index if index.__class__ is tuple else (index,):
        if x.__class__ is int:
            told.append(x)
        elif x.__class__ is slice:
            part = x.start, x.stop, x.step
            for n in part:
                if n is not None and n.__class__ is not int:
                    return None
            told.append(part)
        else:
            return None
    return tuple(told)


recall = _cuts.get
"""The part that is remembered for a key; None if there is none."""


def remember(key: Any, view: Any, ready: Ready | None) -> None:
    """Remember a part whose ``view`` was copied by a plan, if that depends on nothing else."""
    if ready is None or ready.watched or ready.extended:  # as few cuts are
        return
    wrappers: list[tuple[type, dict[str, Any]]] = []
    inner = view
    while inner.__class__ is not Tensor:
        if not isinstance(getattr(inner, "__dict__", None), dict) or "tensor" not in vars(inner):
            return
        wrappers.append((type(inner), {k: x for k, x in vars(inner).items() if k != "tensor"}))
        inner = inner.tensor
    address, *words = view.words()
    if not wrappers or address != inner.address:
        return
    if len(_cuts) >= MOST:
        _cuts.clear()
    _cuts[key] = Cut(tuple(reversed(wrappers)), tuple(words), ready)


__all__ = ["Cut", "key_of", "recall", "remember"]
