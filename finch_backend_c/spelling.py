"""C spellings of dtypes, constants and names."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np

from finch_backend_c import ctree as c
from finch_core.ir.dtypes import INTEGERS, is_tuple, tuple_fields
from finch_core.ir.primitives import PRIMITIVES
from finch_core.operators import literal_value, operator

_SPELLING: dict[str, tuple[str, str]] = {
    "bool": ("bool", "bool"),
    **{t.name: (f"{t.name}_t", f"{t.kind}{8 * t.itemsize}") for t in INTEGERS},
    "float16": ("_Float16", "f16"),
    "float32": ("float", "f32"),
    "float64": ("double", "f64"),
    "complex64": ("float _Complex", "c64"),
    "complex128": ("double _Complex", "c128"),
}
SUFFIXES: dict[str, np.dtype[Any]] = {s: np.dtype(name) for name, (_, s) in _SPELLING.items()}
"""The dtypes by the suffix of helper functions."""


@cache
def ctype(dtype: np.dtype[Any]) -> str:
    """The C type of a dtype: structs for tuples are named by their fields."""
    return suffix(dtype) + "_t" if is_tuple(dtype) else _SPELLING[dtype.name][0]


def memory(dtype: np.dtype[Any]) -> str:
    """The C type of elements of this dtype in memory: a bool is a byte, since memory that is the
    caller's may hold bytes that are neither 0 nor 1, which C must not load as ``bool``."""
    return "uint8_t" if dtype.kind == "b" else ctype(dtype)


@cache
def suffix(dtype: np.dtype[Any]) -> str:
    """The short name of a dtype in the names of functions and structs: ``i64``, ``c128``."""
    if is_tuple(dtype):
        return f"tuple_{'_'.join(map(suffix, tuple_fields(dtype)))}_"
    return _SPELLING[dtype.name][1]


def struct(dtype: np.dtype[Any]) -> str:
    """The definition of a tuple's struct. Its layout is that of NumPy's aligned dtype."""
    fields = "".join(f" {memory(t)} f{k};" for k, t in enumerate(tuple_fields(dtype)))
    name = ctype(dtype)
    check = f'_Static_assert(sizeof({name}) == {dtype.itemsize}, "the layout of NumPy");'
    return f"typedef struct {{{fields} }} {name};\n{check}\n"


def structs(dtype: np.dtype[Any]) -> tuple[np.dtype[Any], ...]:
    """The tuples inside a dtype, innermost first, and itself if it is one."""
    if not is_tuple(dtype):
        return ()
    inner = (s for field in tuple_fields(dtype) for s in structs(field))
    return (*dict.fromkeys(inner), dtype)


# -- constants --------------------------------------------------------------------------------


def literal(value: Any, dtype: np.dtype[Any]) -> c.Expr:
    """``value`` as a C constant. Integers have no suffix, so their C type may be narrower."""
    value = literal_value(value, dtype)
    if is_tuple(dtype):
        fields = zip(value, tuple_fields(dtype), strict=True)
        return c.Compound(ctype(dtype), tuple(literal(v, t) for v, t in fields))
    return _LITERALS[dtype.kind](value, dtype)


def _bool(value: Any, dtype: np.dtype[Any]) -> c.Expr:
    return c.Name("true" if value else "false")


def _integer(value: Any, dtype: np.dtype[Any]) -> c.Expr:
    number = int(value)
    if number == -(1 << 63):
        return c.Name("INT64_MIN")
    return c.Number(f"{number}u" if number >= 1 << 63 else str(number))


def _real(value: Any, dtype: np.dtype[Any]) -> c.Expr:
    if dtype.itemsize == 2:
        return c.Cast(ctype(dtype), _real(np.float32(value), np.dtype(np.float32)))
    kind = "f" if dtype.itemsize == 4 else ""
    sign = "-" if np.signbit(value) else ""
    if np.isnan(value):
        text = f'__builtin_nan{kind}("")'
    elif np.isinf(value):
        text = f"__builtin_inf{kind}()"
    else:
        text = np.format_float_scientific(abs(value), unique=True, trim="0")
        plain = np.format_float_positional(abs(value), unique=True, trim="0")
        text = (plain if len(plain) <= 12 else text) + kind
    return c.Number(sign + text)


def _complex(value: Any, dtype: np.dtype[Any]) -> c.Expr:
    part = np.dtype(f"f{dtype.itemsize // 2}")
    parts = _real(value.real, part), _real(value.imag, part)
    return c.Call("__builtin_complex", parts)


_LITERALS = {"b": _bool, "i": _integer, "u": _integer, "f": _real, "c": _complex}


_VECTOR = re.compile(r"\b(f32|f64)x(\d+)_t\b")


def vectors(text: str) -> str:
    """The definitions of the vector types in a text. They may start at any element, and point to
    elements of arrays."""
    found = sorted({(name, int(width)) for name, width in _VECTOR.findall(text)})
    lines = []
    for name, width in found:
        dtype = SUFFIXES[name]
        attributes = f"vector_size({width * dtype.itemsize}), aligned({dtype.itemsize}), may_alias"
        lines.append(f"typedef {ctype(dtype)} {name}x{width}_t __attribute__(({attributes}));\n")
    return "".join(lines)


# -- names ------------------------------------------------------------------------------------

_KEYWORDS = """auto break case char const continue default do double else enum extern float for
    goto if inline int long register restrict return short signed sizeof static struct switch
    typedef union unsigned void volatile while asm typeof bool true false linux unix i386"""
_OURS = """both control status moved done out_of_memory grow overlap packed large fresh malloc
    realloc aligned_alloc free madvise memmove guard state settle unsettle BEGIN END"""
_RESERVED = frozenset((_KEYWORDS + " " + _OURS).split())
_LIBRARY = {op.library: op for op in map(operator, PRIMITIVES) if op.library}
_MATH = {
    prefix + name + ending: (type + number, op.arity[0])
    for name, op in _LIBRARY.items()
    for prefix, number in (("", ""), ("c", " _Complex"))
    for ending, type in (("", "double"), ("f", "float"))
}
"""The type of the operands and of the result of each function of the math library, and how many
operands it has."""

_HELPER = re.compile(
    rf".*_({'|'.join(SUFFIXES)}|t)?$|finch_.*|_.*|[A-Z0-9_]+_(MIN|MAX|C)$|GROW$|LARGE$"
)


def identifier(name: str) -> str:
    """``name`` as a C identifier that is neither a keyword nor the name of a helper."""
    text = "".join(ch if ch.isascii() and ch.isalnum() else _spelt(ch) for ch in name)
    if not text or text[0].isdigit():
        text = "v" + text
    taken = text in _RESERVED or text in _MATH or _HELPER.match(text)
    if not taken:
        return text
    return f"{'v' if text.startswith(('_', 'finch_')) else ''}{text}_v"


def _spelt(character: str) -> str:
    return "_" if character == "_" else f"u{ord(character):x}"


def is_math(name: str) -> bool:
    """Whether this is a function of the math library."""
    return name in _MATH


def prototype(name: str) -> str:
    """The declaration of a function of the math library; its header would cost compile time."""
    type, arity = _MATH[name]
    return f"{type} {name}({', '.join([type] * arity)});\n"
