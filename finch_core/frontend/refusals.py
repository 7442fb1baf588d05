"""Python syntax that is not part of the language: a message and a hint for each kind of node."""

from __future__ import annotations

import ast

from finch_core.ir.close_names import nearest

_NO_LOOP = "write 'for i in _:' or 'for i in range(a, b):'"
_NO_NEST = "define it outside the kernel and call it here: it is inlined"
_WORKSPACE = "'w = np.zeros(n)' on a line of its own makes a vector of n zeros"
_COPY = "'w = x.copy()' on a line of its own makes a dense copy of a whole tensor"
_NO_LIST = "write the loop: 'for i in _:' with an update inside"
TEXT = "let a number stand for it, and write text after the call"
OUTSIDE = "look it up before the call, and pass the number"
VARIADIC = "name each parameter; many vectors of one length are passed as the rows of a matrix"

STATEMENTS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Try: ("'try' is not part of the language", "errors are raised to the kernel's caller"),
    ast.TryStar: ("'try' is not part of the language", "errors are raised to the kernel's caller"),
    ast.With: ("'with' is not part of the language", "open it around the call of the kernel"),
    ast.AsyncWith: ("'async with' is not part of the language", ""),
    ast.AsyncFor: ("'async for' is not part of the language", _NO_LOOP),
    ast.FunctionDef: ("a function cannot be defined inside a kernel", _NO_NEST),
    ast.AsyncFunctionDef: ("a function cannot be defined inside a kernel", _NO_NEST),
    ast.ClassDef: ("a class cannot be defined inside a kernel", "define it outside the kernel"),
    ast.Global: ("'global' is not part of the language", "a free name is read without it"),
    ast.Nonlocal: ("'nonlocal' is not part of the language", "a free name is read without it"),
    ast.Import: ("'import' is not part of the language", "import at the top of the file"),
    ast.ImportFrom: ("'import' is not part of the language", "import at the top of the file"),
    ast.Delete: ("'del' is not part of the language", "a name ends with its block"),
    ast.Raise: ("'raise' is not part of the language", "check the result after the call"),
    ast.Assert: ("'assert' is not part of the language", "check the arguments before the call"),
    ast.Match: ("'match' is not part of the language", "write 'if', 'elif' and 'else'"),
    ast.AnnAssign: ("a variable cannot be annotated here", "write 'x = e': its type is e's"),
}

EXPRESSIONS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Lambda: ("a lambda cannot be written inside a kernel", _NO_NEST),
    ast.ListComp: ("a comprehension is not part of the language", _NO_LIST),
    ast.SetComp: ("a comprehension is not part of the language", _NO_LIST),
    ast.DictComp: ("a comprehension is not part of the language", _NO_LIST),
    ast.GeneratorExp: ("a generator is not part of the language", _NO_LIST),
    ast.List: ("a list is not a value of the language", f"write a tuple, '(a, b)'; {_WORKSPACE}"),
    ast.Set: ("a set is not a value of the language", "write a tuple, '(a, b)'"),
    ast.Dict: ("a dict is not a value of the language", "write a tuple, '(a, b)'"),
    ast.JoinedStr: ("a string is not a value of the language", TEXT),
    ast.NamedExpr: ("':=' is not part of the language", "write 'x = e' on a line before"),
    ast.Await: ("'await' is not part of the language", ""),
    ast.Yield: ("'yield' is not part of the language", "return the tensors after the loops"),
    ast.YieldFrom: ("'yield' is not part of the language", "return the tensors after the loops"),
    ast.Starred: ("'*' before a value is not part of the language", "write the values out"),
    ast.Slice: (
        "a slice is not an index of the language",
        "loop over 'range(a, b)', or take a 'window' of the tensor",
    ),
}

OPERATIONS: dict[type[ast.AST], tuple[str, str]] = {
    ast.MatMult: ("'@' is not part of the language", "write the loops of the product"),
    ast.Is: ("'is' is not part of the language", "compare values with '=='"),
    ast.IsNot: ("'is not' is not part of the language", "compare values with '!='"),
    ast.In: ("'in' takes numbers that are written out", "write 'x in (a, b)'"),
    ast.NotIn: ("'not in' takes numbers that are written out", "write 'x not in (a, b)'"),
}

_REDUCED = "write the loop: 't = 0', then 't += A[i]', or with 'min' and 'max', 't = max(t, A[i])'"
ATTRIBUTES = {
    "T": "swap the indices, 'A[j, i]', or pass 'swizzle(A, (1, 0))'",
    "astype": "cast a number by its dtype: 'np.float32(x)', 'int(x)'",
    "item": "an element, 'A[i]', is a number already",
    "size": "'len(x)' is the size of a vector, 'A.shape[0] * A.shape[1]' that of a matrix",
    **dict.fromkeys(
        ("nnz", "indptr", "indices", "data", "coords", "row", "col"),
        "loops visit what is stored, in any format: 'stored(A[i, j])' is whether an entry is",
    ),
    "ndim": "a kernel is written for one number of dimensions, that of its accesses",
    "nstored": "take it before the call, and pass the number",
    "fill_value": "take it before the call, and pass the number",
    "copy": _COPY,
    "dot": "write the loops of the product",
    "fill": "write 'A[...] = 0', with the value that is to be everywhere",
    **dict.fromkeys(("sum", "prod", "mean", "max", "min", "any", "all"), _REDUCED),
}
"""Attributes and methods of arrays that kernels lack: what is written instead."""


WHOLE_ARRAYS = {
    **dict.fromkeys(("sum", "prod", "mean", "max", "min", "amax", "amin", "any", "all"), _REDUCED),
    **dict.fromkeys(("std", "var", "argmax", "argmin", "median", "count_nonzero"), _REDUCED),
    **dict.fromkeys(("dot", "vdot", "inner"), "write the loop: 't = 0', then 't += a[i] * b[i]'"),
    **dict.fromkeys(("matmul", "outer", "tensordot", "einsum"), "write the loops of the product"),
    **dict.fromkeys(("cumsum", "cumprod"), "write the loop: 't += x[i]', then 'y[i] = t'"),
    **dict.fromkeys(("array", "asarray"), _COPY),
    **dict.fromkeys(("arange", "linspace", "eye"), _WORKSPACE),
    **dict.fromkeys(("sort", "argsort", "unique", "concatenate", "where"), "call it before"),
}
"""Functions of NumPy that take or make whole arrays: what is written instead."""
RANDOM = "pass an array of random numbers, made before the call"


def element_hint(name: str, ndim: int) -> str:
    """What to write where a tensor stands without an index."""
    if not ndim:
        return f"write '{name}[()]', or pass a number, 'float({name})'"
    indices = ", ".join("ijklmnop"[:ndim])
    return f"read or update an element, {name}[{indices}], in a loop"


def attribute_hint(name: str) -> str:
    """What to write in place of an attribute that the language lacks."""
    if name in ATTRIBUTES:
        return ATTRIBUTES[name]
    meant = nearest(name, ("shape", "real", "imag", "conjugate"))
    return meant or (
        "only a module's functions and constants, 'A.shape[0]' of a tensor, and '.real', '.imag' "
        "and '.conjugate()' of a number"
    )
