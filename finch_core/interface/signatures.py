"""Signatures: what compiled code depends on, the format of each tensor and the type of each
scalar."""

from __future__ import annotations

import atexit
from collections import deque
from typing import Any
from weakref import WeakValueDictionary

from finch_core.interface.level import Format
from finch_core.interface.tensorlike import BoundTensor, TensorLike, bind_level
from finch_core.ir.builder import Names
from finch_core.ir.dtypes import INTP, Type
from finch_core.ir.expressions import Var
from finch_core.locks import Lock
from finch_core.records import frozen


class Signature:
    """What compiled code depends on of one argument. Interned: equal signatures are identical."""

    __slots__ = ()


@frozen(eq=False)
class TensorSignature(Signature):
    """A tensor of some format.

    ``fixed``: its memory cannot be resized (a NumPy array). ``readonly``: it may not be
    written; code does not depend on that (see ``writable``), but cached calls do.
    """

    format: Format
    fixed: bool = False
    readonly: bool = False


@frozen(eq=False)
class ScalarSignature(Signature):
    """A run-time number."""

    type: Type


@frozen(eq=False)
class WrappedSignature(Signature):
    """A wrapper around a tensor; ``key`` is what code depends on of the wrapper itself.

    ``wrapper.bind(inner, scalars)`` puts it around a tensor-like; ``scalars`` are its
    ``wrapper.nscalars`` run-time integers. ``wrapper`` is the first one of this signature without
    the tensor in it: a signature lives as long as a kernel for it, and must not keep that memory.
    """

    wrapper: Any
    inner: Signature
    key: Any


@frozen(eq=False)
class ImplicitSignature(Signature):
    """A tensor without memory, such as a mask; ``key`` is what code depends on of it.

    ``tensor.bind(scalars)`` is the tensor-like with its ``tensor.nscalars`` run-time integers.
    """

    tensor: Any
    key: Any


_interned: WeakValueDictionary[Any, Signature] = WeakValueDictionary()
"""Each lives as long as a tensor or a kernel that has it (those of wrappers a while longer): fills
are drawn without end."""
atexit.register(_interned.clear)  # keys are compared by code that modules lose as Python ends
_lock = Lock()


class _Key:
    """A key with a format, whose hash is computed once: to look a key up, to enter it and to remove
    it ask for it, and each level of the format takes part."""

    __slots__ = ("hash", "parts")

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self.parts = parts
        self.hash = hash(parts)

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.parts == other.parts


def tensor_signature(
    format: Format, fixed: bool = False, readonly: bool = False
) -> TensorSignature:
    """The interned signature of a tensor of ``format``."""
    key = _Key((format, fixed, readonly))
    return _intern(key, lambda: TensorSignature(*key.parts))  # type: ignore[no-any-return]


def scalar_signature(type_: Type) -> ScalarSignature:
    """The interned signature of numbers of this type (weak or not)."""
    key = (isinstance(type_, type), type_)
    return _intern(key, lambda: ScalarSignature(type_))  # type: ignore[no-any-return]


def unseen_signature(format: Format) -> TensorSignature:
    """``tensor_signature`` of a format that no tensor is likely to have, in less time."""
    key = _Key((format, False, False))
    with _lock:
        return _interned.setdefault(key, TensorSignature(format))  # type: ignore[return-value]


class Outline:
    """What is known of a tensor by its signature, in place of the tensor in a wrapper."""

    __slots__ = ("dtype", "fill_value", "format", "ndim", "signature")

    def __init__(self, signature: TensorSignature) -> None:
        self.signature, self.format = signature, signature.format
        self.ndim, self.dtype = signature.format.ndim, signature.format.dtype
        self.fill_value = signature.format.fill_value


def wrapped_signature(wrapper: Any, inner: Signature, key: Any) -> WrappedSignature:
    """The interned signature of ``wrapper``, whose attributes are set, around ``wrapper.tensor`` of
    signature ``inner``."""
    made = (type(wrapper), inner, key)
    found = _interned.get(made)
    if found is None:
        found = _intern(made, lambda: WrappedSignature(_outline(wrapper, inner), inner, key))
        _recent.append(found)
    return found  # type: ignore[return-value]


_recent: deque[Signature] = deque(maxlen=64)
"""Signatures that live on after their wrappers: the next one around a result of the same kind has
them, and to make one takes longer than a small kernel."""


def _outline(wrapper: Any, inner: Signature) -> Any:
    """``wrapper`` without the tensor that it is around."""
    attributes = dict(getattr(wrapper, "__dict__", {}))
    if "tensor" not in attributes:
        return wrapper
    attributes.pop("signature", None)
    if isinstance(inner, TensorSignature):
        attributes["tensor"] = Outline(inner)
    elif isinstance(inner, WrappedSignature):
        attributes["tensor"] = inner.wrapper
    else:
        assert isinstance(inner, ImplicitSignature)
        attributes["tensor"] = inner.tensor
    made = object.__new__(type(wrapper))
    made.__dict__.update(attributes)
    return made


def implicit_signature(tensor: Any, key: Any = ()) -> ImplicitSignature:
    """The interned signature of a tensor without memory."""
    return _intern((type(tensor), key), lambda: ImplicitSignature(tensor, key))  # type: ignore[no-any-return]


def writable(signature: Signature) -> Signature:
    """The signature for writable memory: the one for which code is compiled."""
    if isinstance(signature, TensorSignature) and signature.readonly:
        return tensor_signature(signature.format, signature.fixed)
    if isinstance(signature, WrappedSignature):
        inner = writable(signature.inner)
        if inner is not signature.inner:
            return wrapped_signature(signature.wrapper, inner, signature.key)
    return signature


def _intern(key: Any, make: Any) -> Any:
    found = _interned.get(key)
    if found is None:
        with _lock:
            found = _interned.setdefault(key, make())
    return found


def parameters(signature: Signature) -> int:
    """The number of kernel parameters for an argument."""
    if isinstance(signature, WrappedSignature):
        return parameters(signature.inner) + int(signature.wrapper.nscalars)
    if isinstance(signature, ImplicitSignature):
        return int(signature.tensor.nscalars)
    return 1


def bind(
    signature: Signature, name: str, names: Names
) -> tuple[BoundTensor | None, TensorLike | None, tuple[Var, ...]]:
    """Bind an argument to variables: its tensor, its tensor-like (with wrappers), and its
    scalars."""
    if isinstance(signature, ScalarSignature):
        return None, None, (Var(names.fresh(name), signature.type),)
    if isinstance(signature, TensorSignature):
        level = bind_level(signature.format, name, names)
        open_ = not signature.fixed and signature.format.ndim > 0
        sizeless = Var(names.fresh(f"{name}_sizeless"), INTP) if open_ else None
        tensor = BoundTensor(
            name, signature.format, level, fixed=signature.fixed, sizeless=sizeless
        )
        return tensor, tensor.fiber, ()
    if isinstance(signature, ImplicitSignature):
        own = _scalars(signature.tensor.nscalars, name, names)
        return None, signature.tensor.bind(own), own
    assert isinstance(signature, WrappedSignature)
    inner, seen, scalars = bind(signature.inner, name, names)
    mine = _scalars(signature.wrapper.nscalars, name, names)
    assert seen is not None
    wrapped = signature.wrapper.bind(seen, mine)
    if inner is not None:
        inner.seen = wrapped
    return inner, wrapped, (*scalars, *mine)


def _scalars(count: int, name: str, names: Names) -> tuple[Var, ...]:
    return tuple(Var(names.fresh(f"{name}_w{k}"), int) for k in range(count))
