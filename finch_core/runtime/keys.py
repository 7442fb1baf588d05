"""Keys of the disk cache: a hash over everything that the code of a kernel depends on.

A format, wrapper or mask is identified by its class and all its parameters, not by its ``repr``;
the files of the class's module count, too (``sources``). A kernel with a part that cannot be
identified in another process (a class defined in a notebook, a parameter without a comparable
state) has no key, and is not kept on disk.
"""

from __future__ import annotations

import enum
import sys
from collections.abc import Iterable
from functools import partial
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np

from finch_core import records
from finch_core.interface.abi import CompleteBackend
from finch_core.interface.digest import digest
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
from finch_core.runtime.sources import UnidentifiedError, is_settled, state

_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...))
_DTYPES = tuple(map(np.dtype, ("?", "i1", "u1", "i8", "u8", "f4", "f8", "c16")))
_DEEPEST = 40


def kernel_key(
    program: Program, signatures: Iterable[Signature], options: str, backend: CompleteBackend
) -> str:
    """The key of a kernel in the disk cache; empty if a part of it cannot be identified."""
    writer = KeyWriter()
    try:
        parts = [writer.program(program), *map(writer.signature, signatures), options]
        files = state(backend.module, frozenset(writer.modules))
    except (UnidentifiedError, OSError):
        return ""
    parts += [hub().fingerprint(), files]
    return digest("\n".join(parts).encode())


class KeyWriter:
    """Writes texts that differ between different values; collects in ``modules`` the modules, other
    than our own, whose code these values depend on. Methods raise ``UnidentifiedError`` for what
    another process could not recognise."""

    def __init__(self) -> None:
        self.modules: set[str] = set()

    def program(self, program: Program) -> str:
        """A text that differs between different programs; positions in the source left out."""
        shown = (program.params, program.free, program.results, program.body)
        locals_ = [(loc.name, self.value(loc.format), loc.shape) for loc in program.locals]
        operators = sorted({self.operator(op) for op in operators_in(program.body)})
        return f"{shown!r} {locals_!r} {operators!r}"

    def signature(self, signature: Signature) -> str:
        """A text that differs between different signatures."""
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
        """A text that differs between different values of any type."""
        if depth > _DEEPEST:
            raise UnidentifiedError
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
        """The texts of an object's items or attributes."""
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
            raise UnidentifiedError
        text = digest(np.ascontiguousarray(array).tobytes())
        return f"{array.dtype!r} {array.shape} {text}"

    # -- code -----------------------------------------------------------------------------------

    def kind(self, cls: type) -> str:
        """A class by its qualified name; its module and those of its bases are noted."""
        for base in cls.__mro__:
            if not is_settled(base.__module__):
                self._named(base)
        return f"{cls.__module__}.{cls.__qualname__}"

    def _named(self, thing: Any) -> None:
        """Note the module of a class or function, which must be found there by its name."""
        found: Any = sys.modules.get(thing.__module__)
        for name in thing.__qualname__.split("."):
            found = getattr(found, name, None)
        if found is not thing:  # made within a function, or replaced
            raise UnidentifiedError
        self.modules.add(thing.__module__)

    def _function(self, function: Any, depth: int) -> str:
        if isinstance(function, FunctionType):
            return self._code(function, depth)
        if not isinstance(function, np.ufunc) and not is_settled(str(function.__module__)):
            raise UnidentifiedError
        return f"{type(function).__name__} {function.__name__}"

    def _code(self, function: FunctionType, depth: int = 0) -> str:
        """A Python function: its module, name and line, its defaults and closure."""
        if not is_settled(function.__module__):
            self.modules.add(function.__module__)
        cells = [cell.cell_contents for cell in function.__closure__ or ()]
        made_with = self.value((function.__defaults__, function.__kwdefaults__, *cells), depth + 1)
        line = function.__code__.co_firstlineno
        return f"{function.__module__}.{function.__qualname__} {line} {made_with}"

    def operator(self, op: Operator) -> str:
        """An operator: its name, its algebraic properties, and its definition."""
        fields = {field.name: getattr(op, field.name) for field in records.fields(Operator)}
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
    """The names of the attributes that hold an object's state."""
    kind = type(value)
    names = [*getattr(value, "__dict__", ())]
    if records.has(kind):
        names += [field.name for field in records.fields(kind)]
    else:
        slots = [vars(base).get("__slots__", ()) for base in kind.__mro__]
        names += [name for some in slots for name in ([some] if isinstance(some, str) else some)]
    if not names and not kind.__flags__ & _MADE_BY_PYTHON:
        raise UnidentifiedError
    return [name for name in dict.fromkeys(names) if name not in _HIDDEN and hasattr(value, name)]


_HIDDEN = ("__weakref__", "__dict__")
_MADE_BY_PYTHON = 1 << 9
"""The flag of classes defined in Python; those defined in C may have state that is not visible."""


def _of(values: Any, dtype: np.dtype[Any]) -> Any:
    try:
        return values(dtype)
    except (TypeError, ValueError, OverflowError):
        return None


def _meaning(definition: Any) -> Expr:
    """The expression that defines an operator."""
    for count in (2, 1, 3, 4):
        try:
            return definition(*(Var(f"a{k}", float) for k in range(count)))  # type: ignore[no-any-return]
        except (TypeError, ValueError, IndexError):
            continue
    raise UnidentifiedError
