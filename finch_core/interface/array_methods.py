"""The operators and array methods of tensors and wrappers: each is a function of the installed
array namespace (``interface.array_namespace``), which is looked up when it is called."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterator
from math import nan
from typing import Any, ClassVar, Protocol, TypeVar

import numpy as np

from finch_core.interface.array_namespace import METHODS, array_method, array_namespace
from finch_core.interface.names_elsewhere import NamesElsewhere

Array = TypeVar("Array")
Method = Callable[..., Any]
UNSUPPORTED = (str, bytes, dict, set, frozenset, type, type(None))
"""Operands that no operator takes (unless they have a shape, as SciPy's ``dok_array``, a dict):
Python then asks the other operand, and raises ``TypeError``."""

SUPPORTED = frozenset((np.ndarray, np.float64, bool, int, float, complex))
"""Operands that all operators take: most are of these, and found sooner than among the others."""


def _is_unsupported(other: Any) -> bool:
    return isinstance(other, UNSUPPORTED) and not hasattr(other, "shape")


class Giving(Protocol):
    """A method whose result has the methods of what it is called on, as a checker sees it: an
    array, or a lazy array of a lazy one."""

    def __get__(self, array: Array, owner: Any = None, /) -> Callable[..., Array]: ...


def _method(name: str, function: str | None = None) -> Method:
    """A method that calls ``function`` of the namespace, or that of its own name."""
    called = function or name

    def method(self: Any, *args: Any, **options: Any) -> Any:
        try:
            return array_method(called)(self, *args, **options)
        except TypeError as error:
            trace = error.__traceback__
            if trace is None or trace.tb_next is not None:  # the function ran
                raise
            raise _by_name(name, called, options, error) from None

    method.__name__ = name
    method.__doc__ = f"``{called}`` of the array namespace, with this as its first argument."
    return method


def _by_name(name: str, called: str, options: dict[str, Any], error: TypeError) -> TypeError:
    """The error of arguments that a function does not take, by the name of the method, and with
    what does: NumPy's function where that has an option."""
    found = list(inspect.signature(array_method(called)).parameters.values())[1:]
    known = [p.name for p in found if p.kind not in (p.VAR_POSITIONAL, p.POSITIONAL_ONLY)]
    for option in sorted(options):
        if option == "ddof" and "correction" in known:
            remedy = f"correction= of the array API is the same; np.{name}(A, ddof=...)"
        elif option in _parameters_of_numpy(name):
            remedy = f"np.{name}(A, {option}=...)"
        else:
            remedy = f"it takes {', '.join(f'{p}=' for p in known) or 'none by name'}"
        if option not in known:
            return TypeError(f"{name}() takes no {option}=: {remedy}")
    return TypeError(f"{name}() {str(error).partition('() ')[2]}")


def _parameters_of_numpy(name: str) -> Any:
    """Those of NumPy's function of this name; empty if there is none, or if it does not tell."""
    try:
        return inspect.signature(getattr(np, name)).parameters
    except (AttributeError, TypeError, ValueError):
        return ()


def _array(name: str, function: str | None = None) -> Giving:
    return _method(name, function)


def _along(name: str) -> Giving:
    """A method whose first argument may be ``axis``, as of NumPy's arrays: ``A.sum(0)``."""
    call = _method(name)

    def method(self: Any, *axis: Any, **options: Any) -> Any:
        if len(axis) > 1:
            raise TypeError(f"{name}() takes one argument by position, the axis, not {len(axis)}")
        return call(self, axis=axis[0], **options) if axis else call(self, **options)

    method.__name__ = name
    method.__doc__ = call.__doc__
    return method


def _unary(name: str) -> Callable[[Array], Array]:
    return _method(name)


def _not_implemented(_self: Any, _other: Any) -> Any:
    return NotImplemented


def _operator(
    name: str, otherwise: Callable[[Any, Any], Any] = _not_implemented
) -> Callable[[Array, Any], Array]:
    """An operator; ``otherwise`` says what it is of an operand that none takes."""

    def method(self: Any, other: Any) -> Any:
        if other.__class__ not in SUPPORTED and _is_unsupported(other):
            return otherwise(self, other)
        return (METHODS.get(name) or array_method(name))(self, other)  # without one more call

    method.__name__ = name
    return method


def _reflected(
    name: str, otherwise: Callable[[Any, Any], Any] = _not_implemented
) -> Callable[[Array, Any], Array]:
    def method(self: Any, other: Any) -> Any:
        if other.__class__ not in SUPPORTED and _is_unsupported(other):
            return otherwise(self, other)
        return (METHODS.get(name) or array_method(name))(other, self)

    method.__name__ = name
    return method


def _no_texts(self: Any, other: Any) -> Any:
    """``*`` refuses texts itself: Python would repeat a text as often as the array says."""
    if isinstance(other, (str, bytes)):
        own, told = type(self).__name__, type(other).__name__
        raise TypeError(f"unsupported operand type(s) for *: '{own}' and '{told}'")
    return NotImplemented


def _power(self: Any, other: Any, modulus: Any = None) -> Any:
    if modulus is not None:
        raise TypeError("pow() of a tensor takes no modulus: pow(A, n) % m computes it")
    if other.__class__ not in SUPPORTED and _is_unsupported(other):
        return NotImplemented
    return (METHODS.get("pow") or array_method("pow"))(self, other)


def _compared(name: str) -> Callable[[Array, Any], Array]:
    """``==`` or ``!=``: with None, texts and others that are no numbers, no element is equal to
    them, as none is to NaN."""

    def method(self: Any, other: Any) -> Any:
        call = METHODS.get(name) or array_method(name)
        is_unsupported = other.__class__ not in SUPPORTED and _is_unsupported(other)
        found = NotImplemented if is_unsupported else call(self, other)
        if found is NotImplemented and self.dtype.kind not in "mM":  # texts may be dates
            return call(self, nan)
        return found

    method.__name__ = name
    return method


def _in_place(name: str) -> Callable[[Array, Any], Array]:
    def method(self: Any, other: Any) -> Any:
        if other.__class__ not in SUPPORTED and _is_unsupported(other):
            return NotImplemented
        return array_method("in_place")(self, array_method(name)(self, other))

    method.__name__ = name
    return method


class ArrayOperators:
    """The operators of arrays, but for ``==`` and ``!=``: for what has no shape, too (a mask).

    Raises ``TypeError`` if no plugin provides an array namespace.
    """

    __slots__ = ()
    __array_priority__: ClassVar[int] = 1000

    __add__, __radd__, __iadd__ = _operator("add"), _reflected("add"), _in_place("add")
    __sub__, __rsub__ = _operator("subtract"), _reflected("subtract")
    __isub__ = _in_place("subtract")
    __mul__, __rmul__ = _operator("multiply", _no_texts), _reflected("multiply", _no_texts)
    __imul__ = _in_place("multiply")
    __truediv__, __rtruediv__ = _operator("divide"), _reflected("divide")
    __itruediv__ = _in_place("divide")
    __floordiv__, __rfloordiv__ = _operator("floor_divide"), _reflected("floor_divide")
    __ifloordiv__ = _in_place("floor_divide")
    __mod__, __rmod__ = _operator("remainder"), _reflected("remainder")
    __imod__ = _in_place("remainder")
    __pow__, __rpow__, __ipow__ = _power, _reflected("pow"), _in_place("pow")
    __matmul__, __rmatmul__ = _operator("matmul"), _reflected("matmul")
    __imatmul__ = _in_place("matmul")
    __and__, __rand__ = _operator("bitwise_and"), _reflected("bitwise_and")
    __iand__ = _in_place("bitwise_and")
    __or__, __ror__ = _operator("bitwise_or"), _reflected("bitwise_or")
    __ior__ = _in_place("bitwise_or")
    __xor__, __rxor__ = _operator("bitwise_xor"), _reflected("bitwise_xor")
    __ixor__ = _in_place("bitwise_xor")
    __lshift__, __rlshift__ = _operator("bitwise_left_shift"), _reflected("bitwise_left_shift")
    __ilshift__ = _in_place("bitwise_left_shift")
    __rshift__, __rrshift__ = _operator("bitwise_right_shift"), _reflected("bitwise_right_shift")
    __irshift__ = _in_place("bitwise_right_shift")
    __lt__: Method = _operator("less")
    __le__: Method = _operator("less_equal")
    __gt__: Method = _operator("greater")
    __ge__: Method = _operator("greater_equal")
    __neg__, __pos__ = _unary("negative"), _unary("positive")
    __abs__, __invert__ = _unary("abs"), _unary("bitwise_invert")
    __divmod__: Method = _operator("divmod")
    __rdivmod__: Method = _reflected("divmod")
    __array_ufunc__ = _method("array_ufunc")


class ArrayMethods(NamesElsewhere, ArrayOperators):
    """What makes a tensor or wrapper an array of the array API standard.

    Raises ``TypeError`` if no plugin provides an array namespace.
    """

    __slots__ = ()
    __hash__ = object.__hash__
    __eq__: Method = _compared("equal")
    __ne__: Method = _compared("not_equal")

    def __format__(self, spec: str) -> str:
        """The text, or that of the element of an array without dimensions by ``spec``."""
        found: str = array_method("formatted")(self, spec) if spec else str(self)
        return found

    def __round__(self, digits: int | None = None) -> Any:
        """The elements rounded, to even ones from the middle; of an array without dimensions a
        number, as of NumPy's scalars."""
        if self.ndim:
            return array_method("round")(self, operator.index(digits or 0))
        return round(array_method("item")(self), digits)

    __bool__, __int__, __float__ = _method("as_bool"), _method("as_int"), _method("as_float")
    __complex__, __index__ = _method("as_complex"), _method("as_index")
    __array_function__ = _method("array_function")
    __dlpack_device__ = _method("dlpack_device")
    __setitem__ = _method("setitem")

    ndim: Any
    shape: Any
    dtype: Any
    tensor: Any

    def __getitem__(self, index: Any) -> Any:
        """Elements by integers, slices, ``None``, ``...``, boolean masks and integer arrays, as of
        a NumPy array."""
        return array_method("getitem")(self, index)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a tensor without dimensions has no len()")
        return int(self.shape[0])

    def __iter__(self) -> Iterator[Any]:
        if not self.shape:
            raise TypeError("a tensor without dimensions cannot be iterated over")
        return (self[k] for k in range(len(self)))

    def __contains__(self, value: Any) -> bool:
        return bool(array_method("any")(array_method("equal")(self, value)))

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        """The namespace with the functions of the array API standard. Raises ``ValueError`` for a
        version of the standard that it does not have."""
        return array_method("array_namespace")(api_version)

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[Any, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """The DLPack capsule of a dense tensor. Raises ``BufferError`` for one that is not."""
        asked = {
            "stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy
        }  # fmt: skip
        return array_method("to_dlpack")(self, **asked)

    def to_device(self, device: Any, /, *, stream: Any = None) -> Any:
        """This tensor. Raises ``ValueError`` for a device other than ``"cpu"``."""
        return array_method("to_device")(self, device, stream=stream)

    @property
    def size(self) -> int:
        """The number of elements, stored or not."""
        total = 1
        for n in self.shape:
            total *= n
        return int(total)

    @property
    def T(self: Array) -> Array:  # noqa: N802 (the standard's name)
        """A matrix with its dimensions exchanged, without a copy."""
        return array_method("transposed_matrix")(self)  # type: ignore[no-any-return]

    @property
    def mT(self: Array) -> Array:  # noqa: N802 (the standard's name)
        """The last two dimensions exchanged, without a copy."""
        return array_method("matrix_transpose")(self)  # type: ignore[no-any-return]

    @property
    def device(self) -> str:
        """``"cpu"``."""
        return "cpu"

    @property
    def nnz(self) -> int:
        """The number of stored values, as SciPy names it."""
        return int(array_method("stored_count")(self))

    @property
    def itemsize(self) -> int:
        """The number of bytes of one value."""
        return int(self.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        """The number of bytes of the buffers: of what is stored, not of all elements."""
        own = getattr(self, "arrays", None)
        return sum(a.nbytes for a in own) if own is not None else int(self.tensor.nbytes)

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes

    @property
    def flags(self) -> Any:
        """NumPy's flags of an array that is not contiguous: code that asks before it takes the
        memory for that of a NumPy array (SciPy's ``lobpcg``) goes by the operators instead."""
        return np.empty((2, 2))[:, :1].T.flags

    def __dask_tokenize__(self) -> Any:
        return array_method("token")(self)

    @property
    def real(self) -> Any:
        """The real parts."""
        return array_method("real")(self)

    @property
    def imag(self) -> Any:
        """The imaginary parts."""
        return array_method("imag")(self)

    @classmethod
    def from_scipy_sparse(cls, matrix: Any, /, *, fill_value: Any = None) -> Any:
        """A tensor of a SciPy sparse array, over its memory where the layout allows; what is not
        stored is ``fill_value`` (default 0)."""
        return array_method("from_scipy_sparse")(matrix, fill_value=fill_value)

    # the text after an assignment is what editors show of it
    matvec = _method("matvec")
    """``A @ x`` as a NumPy vector, for SciPy's solvers."""
    rmatvec = _method("rmatvec")
    """The conjugate transpose times ``x``, as a NumPy vector."""
    matmat = _method("matmat")
    """``A @ X`` as a NumPy matrix."""
    rmatmat = _method("rmatmat")
    """The conjugate transpose times ``X``, as a NumPy matrix."""
    to_scipy_sparse = _method("to_scipy_sparse")
    """A SciPy array of the same values: over the memory of CSR, and as CSC of what is permuted."""
    to_scipy = _method("to_scipy", "to_scipy_sparse")
    """The same."""
    copy = _method("copy", "copied")
    """An array of its own with the same elements."""
    astype = _array("astype")
    """``astype(dtype)``: the values, and the fill, cast to a dtype; ``casting="safe"`` and others
    refuse what they do not allow."""
    item = _method("item")
    """The element at an index, or the only one, as a Python number."""
    with_fill_value = _array("with_fill_value")
    """The same elements with another fill."""
    todense = _method("todense", "to_dense_array")
    """A NumPy array of the elements."""
    tolist = _method("tolist", "to_list")
    """All elements as Python numbers in nested lists."""
    reshape = _array("reshape", "reshape_method")
    """``reshape(m, n)`` or ``reshape((m, n))``: the elements in another shape, in row-major order,
    or ``order="F"``, column-major."""
    transpose = _array("transpose", "transpose_method")
    """The dimensions reversed, or permuted as the axes say, without a copy."""
    sum = _along("sum")
    """``sum(axis=None, dtype=None, keepdims=False)``: the sum; of small integers in 64 bits."""
    prod = _along("prod")
    """``prod(axis=None, dtype=None, keepdims=False)``: the product; of integers in 64 bits."""
    mean = _along("mean")
    """``mean(axis=None, keepdims=False)``: the mean."""
    std = _along("std")
    """``std(axis=None, correction=0.0, keepdims=False)``: the standard deviation."""
    var = _along("var")
    """``var(axis=None, correction=0.0, keepdims=False)``: the variance."""
    min = _along("min")
    """``min(axis=None, keepdims=False)``: the least element; NaN if there is one."""
    max = _along("max")
    """``max(axis=None, keepdims=False)``: the greatest element; NaN if there is one."""
    any = _along("any")
    """``any(axis=None, keepdims=False)``: whether any element is true."""
    all = _along("all")
    """``all(axis=None, keepdims=False)``: whether all elements are true."""
    argmin = _along("argmin")
    """``argmin(axis=None, keepdims=False)``: the index of the first least element."""
    argmax = _along("argmax")
    """``argmax(axis=None, keepdims=False)``: the index of the first greatest element."""
    dot = _method("dot")
    """``A @ x``; an array of NumPy where ``x`` is one and the result is dense."""
    conj = _array("conj")
    """The complex conjugates."""
    round = _array("round")
    """``round(decimals=0)``: rounded, to even ones from the middle."""
    diagonal = _array("diagonal", "linalg_diagonal")
    """``diagonal(offset=0, axis1=0, axis2=1)``: a diagonal along two dimensions, as the last."""
    trace = _array("trace", "linalg_trace")
    """``trace(offset=0, axis1=0, axis2=1, dtype=None)``: the sum of a diagonal along two
    dimensions."""
    nonzero = _method("nonzero")
    """The coordinates of the elements that are not 0, one array for each dimension."""
    clip = _array("clip")
    """``clip(min, max)``: values below ``min`` and above ``max`` replaced by these."""
    squeeze = _array("squeeze")
    """``squeeze(axis=None)``: without dimensions that are 1."""
    ravel = _array("ravel")
    """``ravel(order="C")``: one dimension, in row-major order, or ``"F"``, column-major."""
    flatten = _array("flatten", "flattened")
    """``flatten(order="C")``: the same, with memory of its own."""
    swapaxes = _array("swapaxes")
    """``swapaxes(a, b)``: two dimensions exchanged, without a copy."""
    take = _array("take", "take_method")
    """``take(indices, axis=None)``: the subarrays at ``indices``."""
    repeat = _array("repeat", "repeat_method")
    """``repeat(repeats, axis=None)``: each element repeated."""
    cumsum = _array("cumsum")
    """``cumsum(axis=None, dtype=None)``: the sums of the elements up to each one; without ``axis``
    of all, in a row."""
    cumprod = _array("cumprod")
    """``cumprod(axis=None, dtype=None)``: the products of the elements up to each one; without
    ``axis`` of all, in a row."""


__all__ = ["ArrayMethods", "ArrayOperators", "array_namespace"]
