"""What random programs work on: formats, inputs with wrappers around them, masks and numbers.

The data are small whole numbers, so that a sum is the same in any order.
"""

from __future__ import annotations

import random
from contextlib import suppress
from typing import Any

import numpy as np
from random_forms import FORMS, ODD, SPARSE
from random_tree import MASKS, Lit, Op, Operand, Read, Ref, Wrap, moved_by

from finch_core import FormatError
from finch_core.level import Order
from finch_core.plugins import hub
from finch_core.testing import KINDS, admit, array, leaf, level_names, nest

SIZES = (0, 1, 1, 2, 3, 3, 4, 4, 5, 6)
INTS = (np.int64, np.int64, np.int64, np.int32, np.int8, np.uint8)
FLOATS = (np.float64, np.float64, np.float32)
COMPLEX = (np.complex128, np.complex128, np.complex64, np.float64, np.int64)
DTYPE = {"i": np.int64, "f": np.float64, "b": np.bool_, "c": np.complex128}
WIDTHS = (np.int8, np.uint8, np.int16, np.int32, np.uint64)
"""Of indices and pointers, where they are not the default."""
WHOLE = (-129, -128, -1, 127, 128, 255, 256, 2**31 - 1, 2**31, 2**32, -(2**31), 2**63 - 1, -(2**63))
"""Whole numbers at the ends of their types. Those from 2**63 on are floats beside others."""
AROUND = ("offset", "permissive", "protocolize", "swizzle", "window", "toeplitz")


class Operands:
    """The operands of one random program, and what they are drawn from."""

    def __init__(self, seed: Any) -> None:
        self.seed = seed
        self.draw = random.Random(seed)
        self.sizes = {d: self.draw.choice(SIZES) for d in "nmp"}
        self.kind = self.draw.choice("iiiiiiffffbbc")
        """Of the data: whole numbers, floats, bools or complex numbers."""
        self.operands: dict[str, Operand] = {}
        self.dims: dict[str, tuple[str, ...]] = {}
        self.readable: list[str] = []
        self.ranged: set[str] = set()
        """Indices whose loops are written as ranges: an access may not fix their extents."""
        self.shifts: dict[str, int] = {}
        """Indices that do not start at 0, with what is added to them in every access."""
        self.exact = True
        self.wild: set[str] = set()
        """Vectors with indices that are outside: what they index is read under a condition."""
        """Whether no index reaches outside (see ``Random``)."""
        self.counter = 0

    # -- small choices ----------------------------------------------------------------------

    def chance(self, p: float) -> bool:
        return self.draw.random() < p

    def fresh(self, base: str) -> str:
        self.counter += 1
        return f"{base}{self.counter}"

    def dtype(self) -> Any:
        if self.kind == "b" or self.chance(0.1):
            return np.bool_
        return self.draw.choice({"i": INTS, "f": FLOATS, "c": COMPLEX}[self.kind])

    def dimension(self, *parts: str | int) -> str:
        """The name of a dimension as large as some dimensions and numbers in all."""
        name = "+".join(map(str, parts))
        self.sizes[name] = sum(p if isinstance(p, int) else self.sizes[p] for p in parts)
        return name

    def at(self, index: str) -> Any:
        """An index as accesses use it."""
        shift = self.shifts.get(index, 0)
        return Op("+", (Ref(index), Lit(shift))) if shift else Ref(index)

    # -- formats ----------------------------------------------------------------------------

    def crowded(self) -> bool:
        """Whether there are as many sparse inputs as merge into code of bearable size."""
        levels = [
            level
            for operand in self.operands.values()
            for level in (operand.format.levels()[:-1] if operand.format else ())
            if not level.stores_fill
        ]
        return len(levels) >= 5

    def format(
        self,
        rank: int,
        dtype: Any,
        fill: Any = 0,
        *,
        output: bool = False,
        plain: bool = False,
        free: bool = False,
    ) -> Any:
        """A random format: ``plain`` is dense, ``free`` takes updates in any order."""
        below = leaf(fill, dtype)
        if plain:
            return nest([hub().layout("dense")] * rank, below)
        if free:
            names = [n for n in level_names() if hub().level(n).order is Order.ANY]
            return nest([hub().level(self.draw.choice(names)) for _ in range(rank)], below)
        names = [n for n in level_names() if not (output and hub().level(n).limit)]
        common = [n for n in names if getattr(hub().level(n), "layout", "")]
        levels = [self.level_of(common if self.chance(0.4) else names) for _ in range(rank)]
        boolean = np.dtype(dtype).kind == "b" and not fill and rank
        if boolean and not levels[-1](below).stores_fill and self.chance(0.4):
            with suppress(FormatError):  # a level that stores more than what is True takes none
                return nest(levels, hub().level("Pattern")())
        return nest(levels, below)

    def level_of(self, names: list[str]) -> Any:
        """A level; one of those that merge runs may be told not to, and indices and pointers may
        be narrow."""
        level = hub().level(self.draw.choice(names))
        options: dict[str, Any] = {}
        if hasattr(level, "merge") and self.chance(0.2):
            options["merge"] = False
        for width in ("index", "pointer"):
            if hasattr(level, width) and self.chance(0.08):
                options[width] = self.draw.choice(WIDTHS)
        return (lambda below: level(below, **options)) if options else level

    def scalar_format(self, fill: Any, dtype: Any) -> Any:
        """The format of a scalar of any kind."""
        kinds = sorted(hub().scalars)
        return hub().scalar(self.draw.choice(kinds))(fill, dtype=dtype)

    # -- operands ---------------------------------------------------------------------------

    def add(
        self,
        name: str,
        dims: Any,
        format: Any,
        data: Any,
        role: str,
        wraps: Any = (),
        form: str = "tensor",
    ) -> str:
        self.operands[name] = Operand(name, format, data, role, tuple(wraps), form)
        self.dims[name] = tuple(dims)
        if role == "in" and not wraps:
            self.readable.append(name)
        return name

    def input(self, dims: tuple[str, ...], wraps: tuple[Wrap, ...] = ()) -> str:
        """An input with these dimensions (as it is stored): one that is there already, or new."""
        known = [n for n in self.readable if self.dims[n] == dims]
        if known and not wraps and self.chance(0.6):
            return self.draw.choice(known)
        name, dtype = self.fresh("A"), self.dtype()
        fill = 0 if self.chance(0.85) else self.draw.choice((1, 2))
        fill = bool(fill) if dtype is np.bool_ else fill
        shape = tuple(self.sizes[d] for d in dims)
        format = self.format(len(dims), dtype, fill, plain=self.crowded())
        form = self.form(len(dims), fill, dtype)
        if form in SPARSE:
            format = nest([hub().layout("dense"), hub().layout("compressed")], leaf(0, dtype))
        elif form in FORMS and FORMS[form].of_data:
            format = self.format(len(dims), dtype, 0, plain=True)
        data = array(shape, dtype, self.draw.choice(KINDS), self.draw.randrange(999), fill)
        return self.add(name, dims, format, admit(format, data), "in", wraps, form)

    def form(self, rank: int, fill: Any, dtype: Any, *, output: bool = False) -> str:
        """How an operand is handed over."""
        if self.chance(0.7):
            return "tensor"
        if np.dtype(dtype).kind == "b" and self.chance(0.4):
            return self.draw.choice(ODD)
        names = [
            name
            for name, form in FORMS.items()
            if form.least <= rank
            and name not in ODD
            and (name not in SPARSE or (rank == 2 and not fill))
            and not (name == "swapped" and self.chance(0.9))
        ]
        if output:
            names = [
                n for n in names if n not in SPARSE and (FORMS[n].writable or self.chance(0.2))
            ]
        return self.draw.choice(names or ["tensor"])

    def indirection(self, dim: str, target: str, wild: bool = False) -> str:
        """A dense vector over ``dim`` of indices into ``target``; ``wild``: of some beside it."""
        name, dtype = self.fresh("I"), self.draw.choice((np.int64, np.int64, np.int32, np.uint8))
        rng = np.random.default_rng(self.draw.randrange(999))
        data = rng.integers(0, self.sizes[target], self.sizes[dim]).astype(dtype)
        if wild and data.size:
            far = (
                (self.sizes[target], 127, 255)
                if dtype is np.uint8
                else (-1, self.sizes[target], 10**8)
            )
            for _ in range(self.draw.randint(1, 2)):
                data[self.draw.randrange(data.size)] = self.draw.choice(far)
        elif data.size and self.chance(0.03):  # it must be found out
            data[self.draw.randrange(data.size)] = self.draw.choice((self.sizes[target], 127))
            self.exact = False
        found = self.add(name, (dim,), nest([hub().layout("dense")], leaf(0, dtype)), data, "in")
        self.readable.remove(name)
        return found

    def number(self, value: int | None = None) -> str:
        name, given = self.fresh("c"), value
        value = self.draw.randint(0, 3) if value is None else value
        if self.chance(0.3):
            value = self.draw.choice((np.int64, np.int8, np.uint8, np.uint64, np.int32))(value)
        elif given is None and self.kind == "i" and self.chance(0.1):
            value = self.draw.choice(WHOLE)
        self.operands[name] = Operand(name, None, value, "number")
        self.dims[name] = ()
        return name

    def mask(self) -> str:
        name = self.fresh("M")
        low = self.draw.randint(-2, 1)
        band = f"BandMask({low}, {self.draw.randint(low - 1, 2)})"
        text = self.draw.choice((*MASKS, band, band))
        self.operands[name] = Operand(name, None, text, "mask")
        return name

    # -- wrapped operands -------------------------------------------------------------------

    def wrapped(self, children: list[Any], dims: list[str]) -> tuple[Any, bool]:
        """A read of a new input within wrappers, and whether it may be ``missing``.

        ``dims`` are the dimensions that the read shall have, outermost wrapper first.
        """
        children, dims, wraps = list(children), list(dims), []
        names = self.draw.sample(AROUND, self.draw.choice((1, 1, 2)))
        maybe, where = False, list(range(len(dims)))
        for name in sorted(names, key=lambda name: name == "window"):
            if name == "toeplitz":
                if len(dims) < 2 or wraps:
                    continue
                k = self.draw.randrange(len(dims) - 1)
                for child in children[k : k + 2]:
                    self.ranged |= {child.name} if isinstance(child, Ref) else set()
                if not all(isinstance(child, Ref) for child in children[k : k + 2]):
                    continue
                dims[k : k + 2] = [self.dimension(dims[k], dims[k + 1])]
                where = []  # an offset within is not undone
                wraps.append(Wrap(name, (k,)))
            elif name == "swizzle":
                perm = self.draw.sample(range(len(dims)), len(dims))
                dims = [dims[p] for p in perm]
                where = [where[p] for p in perm] if where else []
                wraps.append(Wrap(name, (tuple(perm),)))
            elif name == "offset" and where:
                deltas = [self.draw.choice((-2, -1, 0, 0, 1, 2)) for _ in dims]
                for k, delta in zip(where, deltas, strict=True):
                    if delta:
                        children[k] = moved_by(children[k], -delta)
                wraps.append(Wrap(name, tuple(deltas)))
            elif name == "permissive" and not any(_permissive(c) for c in children):
                flags = [self.chance(0.6) for _ in dims]
                for k, flag in zip(where, flags, strict=False):
                    if flag and self.chance(0.6):
                        children[k] = self.moved(children[k])
                maybe = maybe or any(flags)
                wraps.append(Wrap(name, tuple(flags)))
            elif name == "protocolize":
                names_of = [self.draw.choice((None, "walk", "walk", "follow")) for _ in dims]
                wraps.append(Wrap(name, tuple(names_of)))
            elif name == "window":
                bounds, larger = [], []
                for dim in dims:
                    a, extra = self.draw.randint(0, 2), self.draw.randint(0, 1)
                    cut = self.chance(0.7)
                    bounds.append((a, a + self.sizes[dim]) if cut else None)
                    larger.append(self.dimension(dim, a + extra) if cut else dim)
                dims = larger
                wraps.append(Wrap(name, tuple(bounds)))
        return Read(self.input(tuple(dims), tuple(wraps)), tuple(children)), maybe

    def moved(self, child: Any) -> Any:
        return Op(self.draw.choice("+-"), (child, Lit(self.draw.randint(1, 2))))


def _permissive(child: Any) -> bool:
    return isinstance(child, Op) and (child.op == "~" or any(map(_permissive, child.children)))
