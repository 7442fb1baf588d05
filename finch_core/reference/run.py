"""The meaning of a program: its loops over dense NumPy arrays. Tests compare kernels with it.

``run`` translates the program into Python over NumPy arrays and executes that. It differs from
compiled kernels in one rule: a fill value that is not stored counts as a plain value here, so that
``0 * nan`` is NaN.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from finch_core.errors import DimensionMismatch, FormatError
from finch_core.interface.plugins import hub
from finch_core.ir.dense_like import DenseLike
from finch_core.ir.dtypes import Type, concrete, holds, type_of
from finch_core.ir.expressions import Access, Expr, Index, Name, Var, lift
from finch_core.ir.missing import Missing
from finch_core.ir.operators import Operator, alike, cast_value, spelled
from finch_core.ir.program import (
    BREAK,
    Declare,
    Define,
    Freeze,
    Labelled,
    Leave,
    Local,
    Loop,
    Program,
    Sequential,
    Sieve,
    Stmt,
    Swap,
    Thaw,
    Update,
    While,
    leaves,
)
from finch_core.ir.python_code import Code, Emitter, evaluate, inside, is_permissive, strip
from finch_core.ir.variables import variable_types
from finch_core.looplets.short_circuit import inexact_fixed_point
from finch_core.lower.local_shapes import unknown_shape
from finch_core.lower.made_like import Known, made_like
from finch_core.records import evolve, frozen
from finch_core.reference.extents import Extents
from finch_core.reference.linear import accesses
from finch_core.reference.sizes import dimensions, with_sizes
from finch_core.reference.structures import Structures
from finch_core.reference.wrappers import as_seen, unwrapped


def run(
    program: Program,
    arguments: Mapping[str, Any],
    free: Mapping[str, Any] | None = None,
    *,
    resize: bool = True,
) -> dict[str, np.ndarray[Any, Any]]:
    """Run a program; return the tensors that it writes or returns, as new dense arrays, by name.

    ``arguments`` and ``free`` map each parameter and free name to a value: an object with
    ``to_numpy()`` or ``toarray()`` or of another library, a NumPy array (0-dimensional for a scalar
    tensor), a wrapper, a mask, or a number. The values are not changed. If ``resize``, a NumPy
    array that the program declares takes the shape of what is written to it, as a tensor does; else
    it keeps its own, as in kernels.

    Raises ``DimensionMismatch`` where sizes disagree, ``OutOfBounds``, and ``TypeError`` for an
    update with ``missing``.
    """
    given = {**arguments, **(free or {})}
    program = _with_formats(program, given)
    fixed = set() if resize else {name for name, value in given.items() if _is_fixed(value)}
    program = with_sizes(program, given, fixed)
    program, values = unwrapped(program, given)
    used = _tensor_names(program)
    arrays = {name: to_array(value) for name, value in values.items() if name in used}
    scalars = {name: value for name, value in values.items() if isinstance(value, _NUMBERS)}
    extents = _extents(program, arrays, scalars, values, fixed)
    structures = Structures.of(program, values)
    arrays |= structures.arrays
    settling = _settling(program, values)
    writer = _Writer.of(program, arrays, scalars, extents, structures, settling)
    params = [f"t_{name}" for name in arrays] + [f"x_{name}" for name in scalars]
    text = _text(program, params, writer.lines(program.body))
    scope = writer.emitter.constants
    exec(_compiled(text, program.name), scope)
    copies = [array.copy() for array in arrays.values()]
    with np.errstate(all="ignore"):
        found: dict[str, np.ndarray[Any, Any]] = scope["run"](*copies, *scalars.values())
    return {name: as_seen(given.get(name), array) for name, array in found.items()}


def _with_formats(program: Program, given: Mapping[str, Any]) -> Program:
    """The program with a format for each tensor that it makes."""
    like = any(isinstance(local.format, DenseLike) for local in program.locals)
    tensors, numbers = {}, {}
    for name, value in given.items() if like else ():
        if isinstance(value, _NUMBERS):
            numbers[name] = type_of(value)
        else:
            known = value if hasattr(value, "dtype") and hasattr(value, "ndim") else to_array(value)
            tensors[name] = Known(known.dtype, known.ndim, getattr(value, "fill_value", 0))
    return made_like(program, tensors, numbers) if like else program


def _text(program: Program, params: Sequence[str], lines: Iterable[str]) -> str:
    """A function that runs the lines and gives the tensors that the program writes or returns."""
    written = [n for n in _written(program) if f"t_{n}" in params or n in program.results]
    results = ", ".join(f"{name!r}: t_{name}" for name in written)
    body = "\n".join(f"    {line}" for line in lines)
    return f"def run({', '.join(params)}):\n{body}\n    return {{{results}}}\n"


def _compiled(text: str, name: str) -> Any:
    """The compiled text. Raises ``RecursionError`` where parentheses nest too deeply for Python."""
    try:
        return compile(text, f"<reference of {name}>", "exec")
    except SyntaxError as error:
        raise RecursionError(str(error)) from None


_NUMBERS = (bool, int, float, complex, np.generic)
"""Types of numbers. A free name with a value of another type is not used by the program."""


def _is_fixed(value: Any) -> bool:
    """Whether a declaration keeps the shape of an argument."""
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return bool(getattr(getattr(value, "signature", None), "fixed", False))


def to_array(value: Any) -> np.ndarray[Any, Any]:
    """A tensor's elements as a dense array."""
    for method in ("to_numpy", "toarray"):
        if hasattr(value, method):
            return np.asarray(getattr(value, method)())
    conversion = hub().conversion_of(value)
    return np.asarray(value) if conversion is None else to_array(conversion.take(value))


def _tensor_names(program: Program) -> set[str]:
    """Names that are declared, accessed or returned."""
    names = set(program.results)
    for node in program.body.walk():
        names |= {str(access.tensor) for access in accesses(node)}
        names |= {part.tensor for part in dimensions(node)}
        if isinstance(node, (Declare, Freeze, Thaw)):
            names.add(str(node.tensor))
        if isinstance(node, Swap):
            names |= {str(node.first), str(node.second)}
    return names


def _written(program: Program) -> list[str]:
    names = dict.fromkeys(program.results)
    for node in program.body.walk():
        if isinstance(node, Declare):
            names[str(node.tensor)] = None
        elif isinstance(node, Swap):
            names |= dict.fromkeys((str(node.first), str(node.second)))
        elif isinstance(node, Update):
            names[str(node.target.tensor)] = None
    return list(names)


def _size(program: Program, local: Local, size: Expr, scalars: dict[str, Any]) -> int:
    """A dimension of a local. Raises ``KernelSyntaxError`` if it is known in the program alone."""
    for node in size.walk():
        later = isinstance(node, (Index, Name, Var)) and node.name not in scalars
        if later or isinstance(node, Access):
            declared = (s for s in program.body.walk() if isinstance(s, Declare))
            span = next((s.span for s in declared if str(s.tensor) == local.name), None)
            raise unknown_shape(local.name, span)
    return int(evaluate(size, scalars))


def _extents(
    program: Program,
    arrays: Mapping[str, np.ndarray[Any, Any]],
    scalars: dict[str, Any],
    values: Mapping[str, Any],
    fixed: set[str],
) -> Extents:
    shapes = {name: array.shape for name, array in arrays.items()}
    for local in program.locals:
        sizes = local.shape or (0,) * (0 if local.is_variable else local.format.ndim)
        shapes[local.name] = tuple(_size(program, local, lift(size), scalars) for size in sizes)
    fixed = fixed | {local.name for local in program.locals if local.shape is not None}
    sizeless = {name for name, value in values.items() if getattr(value, "is_sizeless", False)}
    sizeless |= {local.name for local in program.locals if local.shape is None}
    extents = Extents(shapes, scalars, frozenset(fixed), frozenset(sizeless))
    extents.find(program)
    return extents


@frozen
class _Writer:
    """Translates statements into lines of Python."""

    emitter: Emitter
    extents: Extents
    structures: Structures
    settling: frozenset[str] = frozenset()
    """The tensors whose value an operator's annihilator settles (``Format.settles``)."""

    @classmethod
    def of(
        cls,
        program: Program,
        arrays: Mapping[str, np.ndarray[Any, Any]],
        scalars: Mapping[str, Any],
        extents: Extents,
        structures: Structures,
        settling: frozenset[str],
    ) -> _Writer:
        types = {name: Code(f"x_{name}", type_of(value)) for name, value in scalars.items()}
        tensors = {name: array.dtype for name, array in arrays.items()}
        made = [local for local in program.locals if not local.is_variable]
        tensors |= {local.name: np.dtype(local.format.dtype) for local in made}
        known: dict[str, Type] = {name: code.type for name, code in types.items()}
        tensors |= variable_types(program, {**known, **tensors})
        tensors |= dict.fromkeys(structures.names.values(), np.dtype(bool))
        emitter = Emitter(types, tensors, structures.names, _safe(program))
        emitter.constants |= {"_new": _new, "_inside": inside, "_same": _same}
        return cls(emitter, extents, structures, settling)

    def lines(self, node: Stmt) -> Iterator[str]:
        yield from _STATEMENTS[type(node)](self, node)

    def below(self, node: Stmt) -> Iterator[str]:
        yield "    pass"
        for line in self.lines(node):
            yield f"    {line}"

    def sequential(self, node: Sequential) -> Iterator[str]:
        for statement in node.statements:
            yield from self.lines(statement)

    def loop(self, node: Loop) -> Iterator[str]:
        if node.extent is None:
            ends = ", ".join(map(str, self.extents.loops[id(node)]))
        else:
            parts = map(self.emitter.emit, node.extent.children)
            ends = ", ".join(f"int({part.text})" for part in parts)
        self.emitter.types[node.index.name] = Code(f"i_{node.index.name}", int)
        back = node.extent is not None and node.extent.backwards
        over = f"reversed(range({ends}))" if back else f"range({ends})"
        yield f"for i_{node.index.name} in {over}:"
        yield from self.below(node.body)
        if isinstance(node.body, Loop) and BREAK in leaves(node.body):
            yield "    if left:"
            yield "        break"

    def while_(self, node: While) -> Iterator[str]:
        yield f"while {self.emitter.emit(node.cond).text}:"
        yield from self.below(node.body)

    def labelled(self, node: Labelled) -> Iterator[str]:
        """A ``for`` over several indices is several loops: the flag ``left`` says that the inner
        one was left, which ends the outer ones."""
        if node.label == BREAK:
            yield "left = False"
        yield from self.lines(node.body)
        if node.label == BREAK:
            yield "left = False"

    def leave(self, node: Leave) -> Iterator[str]:
        if node.label == BREAK:
            yield "left = True"
        yield node.label

    def sieve(self, node: Sieve) -> Iterator[str]:
        yield f"if {self.emitter.emit(node.cond).text}:"
        yield from self.below(node.body)
        yield "else:"
        yield from self.below(node.orelse)

    def define(self, node: Define) -> Iterator[str]:
        value = self.emitter.emit(node.value)
        name = node.name.name
        self.emitter.types[name] = Code(f"x_{name}", value.type, value.maybe)
        yield f"x_{name} = {value.text}"
        yield from self.lines(node.body)

    def declare(self, node: Declare) -> Iterator[str]:
        name = str(node.tensor)
        dtype = self.emitter.constant(self.emitter.tensors[name])
        init = "0" if isinstance(node.init, Missing) else self.emitter.emit(node.init).text
        shape = tuple(self.extents.declares[id(node)])
        yield f"t_{name} = _new({shape}, {dtype}, {init})"
        if name in self.structures.names:
            full, stored = self.structures.full(name), self.emitter.constant(np.dtype(bool))
            yield f"t_{self.structures.names[name]} = _new({shape}, {stored}, {full})"

    def update(self, node: Update) -> Iterator[str]:
        target, emitter = node.target, self.emitter
        dtype = emitter.tensors[str(target.tensor)]
        value = given = emitter.emit(node.value)
        if value.maybe:
            value = evolve(value, text=f"_present({value.text})", maybe=False)
        element = emitter.element(Access(target.tensor, tuple(map(strip, target.indices))))
        if node.op is not None:
            args = [Code(element, dtype), value]
            types = node.op.typing((dtype, value.type))
            value = emitter.operation(node.op, args, *types)
        if not value.maybe and not holds(concrete(dtype), value.type):
            raise FormatError(
                f"{target.tensor} holds {spelled(concrete(dtype))}, and cannot take a value of "
                f"{spelled(concrete(value.type))}",
                span=node.span,
                hint=f"cast the value, as in np.{concrete(dtype)}(...)",
            )
        line = f"{element} = {emitter.cast(value, dtype).text}"
        if target.tensor in self.settling and node.op is not None:
            line = f"{line} if {self.unsettled(element, dtype, node.op, given.type)} else {element}"
        if target.tensor in self.structures.names:
            line += f"; {self.inserted(target, element)}"
        if any(map(is_permissive, target.indices)):
            listed = "".join(f"{emitter.emit(strip(i)).text}, " for i in target.indices)
            modes = list(map(is_permissive, target.indices))
            yield f"if _inside(t_{target.tensor}, ({listed}), {modes}):"
            line = f"    {line}"
        yield line

    def unsettled(self, element: str, dtype: Any, op: Operator, type_: Type) -> str:
        """The condition under which an update by ``op`` may change a tensor that settles."""
        held = Var("the value held", dtype)
        settled = inexact_fixed_point(op, held, Var("the value given", type_))
        if settled is None:
            return "True"
        self.emitter.types[held.name] = Code(element, dtype)
        return f"not {self.emitter.emit(settled).text}"

    def inserted(self, target: Access, element: str) -> str:
        """The statement by which an element that is no fill value is stored from now on."""
        name = str(target.tensor)
        indices = tuple(map(strip, target.indices))
        stored = self.emitter.element(Access(self.structures.names[name], indices))
        fill = self.emitter.constant(self.structures.fills[name])
        return f"{stored} = {stored} or bool({element} != {fill})"

    def swap(self, node: Swap) -> Iterator[str]:
        yield f"_same(t_{node.first}, t_{node.second})"
        names = self.structures.names
        pairs = [(node.first, node.second)]
        if node.first in names:
            pairs.append((names[node.first], names[node.second]))
        for first, second in pairs:
            yield f"t_{first}, t_{second} = t_{second}, t_{first}"

    def nothing(self, node: Stmt) -> Iterator[str]:
        return iter(())


_STATEMENTS: dict[type, Any] = {
    Sequential: _Writer.sequential,
    Loop: _Writer.loop,
    Sieve: _Writer.sieve,
    While: _Writer.while_,
    Labelled: _Writer.labelled,
    Leave: _Writer.leave,
    Define: _Writer.define,
    Declare: _Writer.declare,
    Update: _Writer.update,
    Freeze: _Writer.nothing,
    Thaw: _Writer.nothing,
    Swap: _Writer.swap,
}


def _same(first: np.ndarray[Any, Any], second: np.ndarray[Any, Any]) -> None:
    if first.shape != second.shape:
        raise DimensionMismatch(f"swap of shapes {first.shape} and {second.shape}")


def _new(shape: tuple[int, ...], dtype: np.dtype[Any], init: Any) -> np.ndarray[Any, Any]:
    """A declared array. Raises ``FormatError`` for whole numbers declared to another number."""
    array, value = np.empty(shape, dtype), cast_value(init, dtype)
    if dtype.kind in "biu" and not isinstance(init, tuple) and not alike(value, init):
        raise FormatError(f"a tensor of {dtype} cannot be declared to {init}")
    array[...] = value
    return array


def _settling(program: Program, values: Mapping[str, Any]) -> frozenset[str]:
    """The tensors that settle; none in a ``strict`` kernel."""
    formats = {name: getattr(value, "format", None) for name, value in values.items()}
    formats |= {local.name: local.format for local in program.locals}
    settle = (name for name, format in formats.items() if getattr(format, "settles", False))
    return frozenset() if program.strict else frozenset(settle)


def _safe(program: Program) -> frozenset[tuple[str, str]]:
    """Pairs of a tensor and the index of a loop of inferred extent that need no bounds check: the
    tensor is never declared, so its dimensions determined the extent."""
    nodes = list(program.body.walk())
    declared = {str(node.tensor) for node in nodes if isinstance(node, Declare)}
    loops = {node.index.name for node in nodes if isinstance(node, Loop) and node.extent is None}
    loops -= {
        node.index.name for node in nodes if isinstance(node, Loop) and node.extent is not None
    }
    names = _tensor_names(program) - declared
    return frozenset((tensor, index) for tensor in names for index in loops)
