"""What tells kernels apart across processes: a text with all that code depends on, or none.

Formats, wrappers and masks are told by their classes and all their parameters, not by their
``repr``; the modules of the classes are asked for their files (``sources``). What cannot be told so
(a class that was written in a notebook, a parameter that is an object like no other) makes a kernel
that no other process finds.
"""

from __future__ import annotations

import enum
import hashlib
import sys
from collections.abc import Iterable
from functools import partial
from types import BuiltinFunctionType, FunctionType
from typing import Any

import attrs
import numpy as np

from finch_core.interface.abi import CompleteBackend
from finch_core.interface.plugins import hub
from finch_core.interface.signatures import (
    ImplicitSignature,
    ScalarSignature,
    Signature,
    TensorSignature,
    WrappedSignature,
)
from finch_core.ir.expressions import Expr, Var
from finch_core.ir.operators import Operator
from finch_core.ir.program import Program, operators_in
from finch_core.runtime.sources import UntoldError, is_settled, state

_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...))
_DTYPES = tuple(map(np.dtype, ("?", "i1", "u1", "i8", "u8", "f4", "f8", "c16")))
_DEEPEST = 40


def kernel_key(
    program: Program, signatures: Iterable[Signature], options: str, backend: CompleteBackend
) -> str:
    """The key of a kernel; empty where what it depends on cannot be told."""
    tell = Teller()
    try:
        parts = [tell.program(program), *map(tell.signature, signatures), options]
        files = state(backend.module, frozenset(tell.modules))
    except (UntoldError, OSError):
        return ""
    parts += [hub().fingerprint(), files]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


class Teller:
    """Texts that tell things apart, and the ``modules`` of others that they depend on."""

    def __init__(self) -> None:
        self.modules: set[str] = set()

    def program(self, program: Program) -> str:
        """A text that tells programs apart: all but where they were written."""
        shown = (program.params, program.free, program.results, program.body)
        locals_ = [(loc.name, self.value(loc.format), loc.shape) for loc in program.locals]
        operators = sorted({self.operator(op) for op in operators_in(program.body)})
        return f"{shown!r} {locals_!r} {operators!r}"

    def signature(self, signature: Signature) -> str:
        """A text that tells signatures apart."""
        if isinstance(signature, TensorSignature):
            return f"{self.value(signature.format)}{' fixed' if signature.fixed else ''}"
        if isinstance(signature, ScalarSignature):
            return f"scalar {signature.type!r}"
        if isinstance(signature, ImplicitSignature):
            return f"{self.kind(type(signature.tensor))}{self.value(signature.key)}"
        assert isinstance(signature, WrappedSignature)
        wrapper = f"{self.kind(type(signature.wrapper))}{self.value(signature.key)}"
        return f"{wrapper} of {self.signature(signature.inner)}"

    # -- values ---------------------------------------------------------------------------------

    def value(self, value: Any, depth: int = 0) -> str:
        """A text that tells values apart. Raises ``UntoldError`` for those it cannot tell."""
        if depth > _DEEPEST:
            raise UntoldError
        if isinstance(value, Signature):
            return self.signature(value)
        if isinstance(value, Operator):
            return self.operator(value)
        kind = type(value)
        if kind in _PLAIN or isinstance(value, np.dtype):
            return f"{kind.__name__} {value!r}"
        if isinstance(value, np.generic):
            return f"{value.dtype!r} {value!r}"
        if isinstance(value, enum.Enum):
            return f"{self.kind(kind)}.{value.name}"
        if isinstance(value, type):
            return self.kind(value)
        if isinstance(value, np.ndarray):
            return self._array(value)
        if isinstance(value, (FunctionType, BuiltinFunctionType, np.ufunc)):
            return self._function(value, depth)
        return f"{self.kind(kind)}({', '.join(self._parts(value, depth + 1))})"

    def _parts(self, value: Any, depth: int) -> list[str]:
        """What an object consists of."""
        if isinstance(value, (tuple, list)):
            return [self.value(item, depth) for item in value]
        if isinstance(value, (set, frozenset)):
            return sorted(self.value(item, depth) for item in value)
        if isinstance(value, dict):
            return [self.value(item, depth) for item in value.items()]
        if isinstance(value, partial):
            return [self.value(v, depth) for v in (value.func, value.args, value.keywords)]
        state = {name: getattr(value, name) for name in _names(value)}
        return [f"{name}={self.value(state[name], depth)}" for name in sorted(state)]

    def _array(self, array: np.ndarray[Any, Any]) -> str:
        if array.dtype.hasobject:
            raise UntoldError
        digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
        return f"{array.dtype!r} {array.shape} {digest}"

    # -- code -----------------------------------------------------------------------------------

    def kind(self, cls: type) -> str:
        """A class, by its name; its module and those of its bases are asked for their files."""
        for base in cls.__mro__:
            if not is_settled(base.__module__):
                self._named(base)
        return f"{cls.__module__}.{cls.__qualname__}"

    def _named(self, thing: Any) -> None:
        """Note the module of a class or function, which must be where its name says."""
        found: Any = sys.modules.get(thing.__module__)
        for name in thing.__qualname__.split("."):
            found = getattr(found, name, None)
        if found is not thing:  # made within a function, or replaced
            raise UntoldError
        self.modules.add(thing.__module__)

    def _function(self, function: Any, depth: int) -> str:
        if isinstance(function, FunctionType):
            return self._code(function, depth)
        if not isinstance(function, np.ufunc) and not is_settled(str(function.__module__)):
            raise UntoldError
        return f"{type(function).__name__} {function.__name__}"

    def _code(self, function: FunctionType, depth: int = 0) -> str:
        """A function of Python: where it is written, and what it was made with."""
        if not is_settled(function.__module__):
            self.modules.add(function.__module__)
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        made_with = self.value((function.__defaults__, function.__kwdefaults__, *cells), depth + 1)
        line = function.__code__.co_firstlineno
        return f"{function.__module__}.{function.__qualname__} {line} {made_with}"

    def operator(self, op: Operator) -> str:
        """An operator: its name, its algebra, and what it stands for."""
        fields = {field.name: getattr(op, field.name) for field in attrs.fields(Operator)}
        del fields["python"]
        parts = [f"{n}={v!r}" for n, v in fields.items() if isinstance(v, (str, bool, tuple))]
        for values in (op.identity, op.annihilator):
            parts += ["" if values is None else repr([_of(values, dtype) for dtype in _DTYPES])]
        for function in fields.values():
            if isinstance(function, FunctionType) and not is_settled(function.__module__):
                parts.append(self._code(function))
        if op.definition is not None:
            parts.append(repr(_meaning(op.definition)))
        return " ".join(parts)


def _names(value: Any) -> list[str]:
    """The attributes that hold the state of an object."""
    kind = type(value)
    names = [*getattr(value, "__dict__", ())]
    if attrs.has(kind):
        names += [field.name for field in attrs.fields(kind)]
    else:
        slots = [vars(base).get("__slots__", ()) for base in kind.__mro__]
        names += [name for some in slots for name in ([some] if isinstance(some, str) else some)]
    if not names and not kind.__flags__ & _MADE_BY_PYTHON:
        raise UntoldError
    return [name for name in dict.fromkeys(names) if name not in _HIDDEN and hasattr(value, name)]


_HIDDEN = ("__weakref__", "__dict__")
_MADE_BY_PYTHON = 1 << 9
"""Of the flags of a class: others, written in C, keep a state that nobody sees."""


def _of(values: Any, dtype: np.dtype[Any]) -> Any:
    try:
        return values(dtype)
    except (TypeError, ValueError, OverflowError):
        return None


def _meaning(definition: Any) -> Expr:
    """The expression that an operator stands for."""
    for count in (2, 1, 3, 4):
        try:
            return definition(*(Var(f"a{k}", float) for k in range(count)))  # type: ignore[no-any-return]
        except (TypeError, ValueError, IndexError):
            continue
    raise UntoldError
