"""The level interface: five functions by which a format joins the compiler (paper, Table "The five
functions that define a level"), and what a format says of itself for tensors.

A *level* is a pool of fibers, each named by its *position*; a leaf level holds scalars. A format is
one immutable object (attrs, frozen, hashable) that names the buffers and scalars of its level and
emits the code that works on them. The compiler binds those to variables; no method runs on data
except ``sizes`` and ``validate``, which look at a tensor's arrays from Python.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from finch_core.errors import FormatError
from finch_core.interface.capacity import Limit
from finch_core.ir.dtypes import STORABLE, concrete, is_storable, is_tuple, tuple_fields, type_of
from finch_core.ir.expressions import Expr
from finch_core.records import frozen

if TYPE_CHECKING:
    from finch_core.interface.context import Context
    from finch_core.interface.looplet import Alternatives, Looplet
    from finch_core.interface.tensorlike import BoundLevel, Fiber
    from finch_core.ir.operators import Operator


class Mode(enum.Enum):
    """Whether an access reads a frozen tensor or updates a thawed one."""

    READ = "read"
    UPDATE = "update"


RANDOM_ACCESS = "follow"
"""The protocol by which a single index is read, of levels that have it."""

PROTOCOLS = ("walk", "gallop", RANDOM_ACCESS)
"""The protocols that a program may name."""


class Order(enum.Enum):
    """Which updates a level takes, in terms of the loops around a write.

    ``ONCE``: each fiber is visited once, fibers and indices in increasing order. ``ANY``: any index
    of any assembled fiber, as often as one likes.
    """

    ONCE = "in order, once"
    ANY = "in any order"


@frozen
class Field:
    """A buffer or a persistent scalar of a level."""

    name: str
    dtype: np.dtype[Any]
    role: str
    """What it holds, for messages and documentation."""
    is_buffer: bool = True
    init: Any = 0
    """A scalar's value in an empty tensor."""
    scratch: bool = False
    """Whether it means nothing outside of a kernel: nobody is asked for it, or shown it."""
    private: bool = False
    """Whether it tells of memory beyond what is in use, of what a kernel has left there: begins
    with ``init`` over buffers that come from outside."""

    def __attrs_post_init__(self) -> None:
        if not (isinstance(self.name, str) and self.name.isidentifier()):
            raise FormatError(f"a field is called {self.name!r}, which is no identifier")
        object.__setattr__(self, "dtype", _field_dtype(self.name, self.dtype))


def _field_dtype(name: str, dtype: Any) -> np.dtype[Any]:
    """``dtype`` as that of a field; ``FormatError`` where no buffer can be of it."""
    try:
        found: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        raise FormatError(f"the field {name!r} has the dtype {dtype!r}, which is none") from None
    if not is_storable(found):
        why = f"the field {name!r} has the dtype {found}, which is not supported"
        raise FormatError(why, hint=STORABLE)
    return found


class Format:
    """Base of all level formats.

    Subclasses are attrs-frozen classes with a field ``lvl`` (the child format) unless they are
    leaves. ``order`` is the update order, ``protocols`` the read protocols beside the default,
    ``thaws`` whether an assembled and frozen tensor can be updated again.
    """

    name: ClassVar[str] = ""
    layout: ClassVar[str] = ""
    """The plain storage that this is, by which the core finds a format where it has to make one
    (files, foreign arrays): ``dense``, ``compressed`` (sorted coordinates), ``values`` (a leaf)."""
    order: ClassVar[Order] = Order.ANY
    protocols: ClassVar[frozenset[str]] = frozenset({"walk"})
    random_access: ClassVar[str] = ""
    """How one index of a fiber is found, where that takes more than constant time: ``a binary
    search of its runs``, say. Accesses against the order of the storage are warned of with it."""
    thaws: ClassVar[bool] = True
    resumes: ClassVar[bool] = False
    """Whether a level of order *once* can be asked for a fiber again, to write behind what it has
    stored (``BoundLevel.resumed``): it refuses, while a program runs, what does not come behind."""
    is_leaf: ClassVar[bool] = False
    stores_fill: ClassVar[bool] = False
    """Whether every index has a stored value, so that nothing is gained by leaving out fills."""
    pads: ClassVar[bool] = False
    """Whether it stores indices that nothing was written to, so that a fill which is stored means
    no more than one that is not: conversions to formats that can leave it out do."""
    limit: ClassVar[Limit | None] = None
    """What a fiber can hold, where that is not everything (see ``limits``): writes of more are
    refused while a program runs. The test suites ask for no more."""

    # -- what a format says of itself ---------------------------------------------------

    @property
    def child(self) -> Format | None:
        return getattr(self, "lvl", None)

    @property
    def fields(self) -> tuple[Field, ...]:
        """The buffers and persistent scalars of this level alone."""
        return ()

    @property
    def ndim(self) -> int:
        """The number of dimensions from here down."""
        return 0 if self.child is None else 1 + self.child.ndim

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the leaves."""
        assert self.child is not None
        return self.child.dtype

    @property
    def fill_value(self) -> Any:
        """The value of whatever is not stored, as a NumPy scalar of ``dtype``."""
        assert self.child is not None
        return self.child.fill_value

    @property
    def holds_fill(self) -> bool:
        """Whether what is assembled and never written reads as the fill."""
        return self.child is None or not self.stores_fill or self.child.holds_fill

    @property
    def resets(self) -> bool:
        """Whether ``declare`` leaves what is assembled as it was, and ``reset`` empties a part of
        it: a parent then clears what was written, instead of assembling all of it again."""
        return False

    def levels(self) -> tuple[Format, ...]:
        """This level and all below, outermost first."""
        below = () if self.child is None else self.child.levels()
        return (self, *below)

    # -- seen from Python ---------------------------------------------------------------

    def sizes(
        self, positions: int, shape: int, fields: Mapping[str, Any]
    ) -> tuple[dict[str, int], int]:
        """How many elements of each buffer are in use for ``positions`` fibers of length ``shape``,
        and the number of positions of the child. ``fields`` maps field names to NumPy arrays (of
        at least that size) and scalars."""
        raise NotImplementedError

    def entries(self, positions: int, shape: int, fields: Mapping[str, Any], below: int) -> int:
        """How many subfibers are stored in ``positions`` fibers of length ``shape``, where
        ``sizes`` has ``below`` positions of the child."""
        return below

    def validate(self, positions: int, shape: int, fields: Mapping[str, Any]) -> None:
        """Raise ``FormatError`` naming the buffer and the position where ``sizes`` cannot rely on
        ``fields``: a pointer that is not one, say. Nothing has been checked before but dtypes."""

    def validate_contents(self, positions: int, shape: int, fields: Mapping[str, Any]) -> None:
        """As ``validate``, for what remains: each buffer is as long as ``sizes`` says."""

    def blank(self, positions: int, shape: int) -> tuple[dict[str, Any], int] | None:
        """The fields of an empty level, as arrays and scalars, and the child's positions.

        Optional: None has a kernel make it. Where all levels of a format have this, making an empty
        tensor compiles and lowers nothing.
        """
        return None

    # -- the five functions -------------------------------------------------------------

    def declare(self, ctx: Context, lvl: BoundLevel, init: Expr) -> None:
        """Make the level empty and ready for updates: no position is assembled afterwards."""
        raise NotImplementedError

    def assemble(self, ctx: Context, lvl: BoundLevel, start: Expr, stop: Expr) -> None:
        """Allocate the fibers at positions ``start`` up to ``stop``, empty. Positions below
        ``start`` are assembled already."""
        raise NotImplementedError

    def reset(self, ctx: Context, lvl: BoundLevel, start: Expr, stop: Expr) -> None:
        """Make the fibers at positions ``start`` up to ``stop``, which are assembled, empty again.
        Only levels that say so with ``resets`` are asked to."""
        raise NotImplementedError

    def freeze(self, ctx: Context, lvl: BoundLevel, stop: Expr) -> None:
        """End the updates; positions up to ``stop`` are assembled before, and readable after."""
        raise NotImplementedError

    def thaw(self, ctx: Context, lvl: BoundLevel, stop: Expr) -> None:
        """Take up updates again; positions up to ``stop`` are frozen before, assembled after."""
        raise NotImplementedError

    def unfurl(self, ctx: Context, fiber: Fiber, mode: Mode, protocol: str) -> Looplet:
        """The looplet over one fiber: of subfibers to read, or of subfibers to update."""
        raise NotImplementedError

    def unwrap(
        self, ctx: Context, fiber: Fiber, mode: Mode, op: Operator | None, value: Expr | None
    ) -> Expr | None:
        """A leaf's scalar: its value (``READ``), or emit ``leaf = op(leaf, value)`` (``UPDATE``,
        plain assignment where ``op`` is None) and mark the fiber dirty if it was written."""
        raise NotImplementedError

    def cases(self, ctx: Context, fiber: Fiber) -> Alternatives | None:
        """A leaf: the two things that it may be (see ``TensorLike.cases``)."""
        return None

    def settled(
        self, ctx: Context, fiber: Fiber, op: Operator, dtype: np.dtype[Any]
    ) -> Expr | None:
        """A leaf: when updates change nothing any more (see ``TensorLike.settled``)."""
        return None


def check_child(child: Any) -> Format:
    """``child`` if it is a level format (attrs converter); ``FormatError`` otherwise."""
    if isinstance(child, type) and issubclass(child, Format):
        child = child()
    if not isinstance(child, Format):
        raise FormatError(
            f"a level's child must be a level format, not {child!r}",
            hint="nest formats down to a leaf, as in Dense(SparseList(Element(0.0)))",
        )
    if child.is_leaf and child.fields and not any(field.is_buffer for field in child.fields):
        raise FormatError(
            f"a {child.name} holds one value, which all positions of a level would share",
            hint="use Element, which has a value for each position",
        )
    return child


def integer_dtype(dtype: Any) -> np.dtype[Any]:
    """``dtype`` as an integer dtype of an index or pointer; ``FormatError`` otherwise."""
    try:
        result: np.dtype[Any] = np.dtype(dtype)
    except TypeError:
        raise FormatError(f"{dtype!r} is no dtype") from None
    if result.kind not in "iu":
        raise FormatError(
            f"indices and pointers are integers, not {result}", hint="np.int32 or np.int64, say"
        )
    return result


def leaf_dtype(fill: Any, dtype: Any) -> np.dtype[Any]:
    """The dtype of a leaf with this fill value, ``dtype`` if given."""
    try:
        found = np.dtype(dtype) if dtype is not None else concrete(type_of(fill))
    except TypeError as error:
        raise FormatError(f"{fill!r} is no fill value: {error}") from None
    if not is_storable(found):
        aligned = is_tuple(found) and all(map(is_storable, tuple_fields(found)))
        raise FormatError(
            f"tensors of {found} are not supported",
            hint="np.dtype(..., align=True) lays fields out as they are here, as in C"
            if aligned
            else STORABLE,
        )
    return found


__all__ = [
    "PROTOCOLS",
    "RANDOM_ACCESS",
    "Field",
    "Format",
    "Mode",
    "Order",
    "check_child",
    "integer_dtype",
    "leaf_dtype",
]
