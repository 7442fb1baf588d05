"""The programs of the paper over many formats each.

A format is written as its levels, outermost first: ``ds`` is ``Dense(SparseList(Element()))``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np
from paper_programs import (
    BY,
    accumulation,
    appending,
    argmin,
    blending,
    blocked_kronecker,
    concatenation,
    convolution,
    convolved,
    described,
    kronecker,
    least_of_rows,
    leasts,
    mask_convolved,
    masked_convolution,
    masked_histogram,
    masked_product,
    mttkrp,
    outer_product,
    product_by_rows,
    relaxation,
    sddmm,
    simple_graph,
    statistics,
    stencil,
    stencilled,
    symmetric_spmv,
    triangles,
    triangles_by_following,
    triangles_by_galloping,
    triangles_by_walking,
    ttm,
)

from finch_core.level import Format
from finch_levels import (
    Dense,
    Element,
    Pattern,
    RunList,
    Scalar,
    SparseBand,
    SparseBlockList,
    SparseByteMap,
    SparseHash,
    SparseList,
    SparseRunList,
    SparseScalar,
)

LEVELS = {
    "d": Dense, "s": SparseList, "r": RunList, "q": SparseRunList, "b": SparseBlockList,
    "n": SparseBand, "h": SparseHash, "m": SparseByteMap,
}  # fmt: skip


def made(text: str, fill: Any, dtype: Any) -> Format:
    """The format that ``text`` writes; a ``p`` at its end is Pattern, and ``""`` a scalar."""
    if text in ("", "?"):
        return (SparseScalar if text else Scalar)(fill, dtype).format
    leaf: Format = Pattern() if text[-1] == "p" else Element(fill, dtype)
    for level in reversed(text.removesuffix("p")):
        leaf = LEVELS[level](leaf)
    return leaf


@attrs.frozen
class Output:
    """``shape`` names dimensions (``n m+1``), where nothing in the program fixes them."""

    dtype: Any = float
    fill: Any = 0
    shape: str | None = None

    def sizes(self, dims: dict[str, int]) -> tuple[tuple[int, ...], ...]:
        """The shape, if there is one."""
        if self.shape is None:
            return ()
        return (tuple(eval(part, {}, dims) for part in self.shape.split()),)


@attrs.frozen
class Input(Output):
    """``suited`` makes what the program asks of its input, of any array: a symmetric one, say."""

    suited: Callable[[Any], Any] | None = None


@attrs.frozen
class Paper:
    """A program: what it works on, and what it means on NumPy arrays."""

    function: Callable[..., Any]
    outputs: tuple[Output, ...]
    inputs: tuple[Input, ...]
    formats: tuple[str, ...]
    """Each the formats of the outputs and inputs, separated by spaces; ``.`` is a scalar."""
    meaning: Callable[..., Any]
    numbers: Callable[[dict[str, int]], tuple[int, ...]] = lambda dims: ()
    """The numbers that follow the inputs."""

    def cases(self) -> Iterator[Case]:
        for text in self.formats:
            texts = ["" if t == "." else t for t in text.split()]
            assert len(texts) == len(self.outputs) + len(self.inputs), text
            roles = (*self.outputs, *self.inputs)
            pairs = zip(texts, roles, strict=True)
            formats = tuple(made(t, role.fill, role.dtype) for t, role in pairs)
            yield Case(self, text, formats)


@attrs.frozen
class Case:
    """A program over certain formats."""

    program: Paper
    text: str
    formats: tuple[Format, ...]

    def __str__(self) -> str:
        return f"{self.program.function.__name__}-{self.text.replace(' ', '-')}"


def over(shape: str, dtype: Any = float, **rest: Any) -> Input:
    """An input over these dimensions."""
    return Input(dtype, shape=shape, **rest)


OUT, SUM = Output(), Output()
LEASTS = Output(fill=BY, dtype=None)

PROGRAMS = (
    Paper(convolution, (OUT,), (over("n"), over("k")),
          ("d d d", "d d s", "d s d", "d s s", "s b n", "s r d", "b s n", "q q s", "h m b"),
          convolved, lambda d: (d["n"], d["p"])),
    Paper(masked_convolution, (OUT,), (over("n m"), over("k l")),
          ("dd dd dd", "dd ds dd", "ds ds ds", "ss ss dd", "hh dm ds"), mask_convolved),
    Paper(concatenation, (OUT,), (over("n"), over("m")),
          ("d d d", "s s s", "s b n", "r r q", "b d s", "q q r", "m h m", "n n d"),
          lambda a, b, *_: np.concatenate([a, b]), lambda d: (d["n"], d["n"] + d["m"])),
    Paper(stencil, (OUT,), (over("n"),),
          ("d d", "d s", "s s", "r r", "b b", "d h", "q m", "s n"), stencilled),
    Paper(masked_histogram, (Output(np.int64, shape="4"),),
          (over("n m", np.uint8), over("n m", bool)),
          ("d dd dd", "d dr ds", "d rr dsp", "h dd rr", "m ds dbp", "d dd ssp"),
          lambda A, M: np.bincount(A[M], minlength=4)),
    Paper(blending, (Output(np.uint8),), (over("n m", np.uint8), over("n m", np.uint8)),
          ("dd dd dd", "dr dr dr", "rr dr rr", "dq dq dr", "ds ds dq", "db dn db"),
          lambda A, B, c: np.round(A * (c / 8) + B * (1 - c / 8)).astype(np.uint8),
          lambda d: (d["p"] % 9,)),
    *(Paper(f, (SUM,), (over("n n", suited=simple_graph),), formats, triangles)
      for f, formats in (
          (triangles_by_walking, (". dd", ". ds", ". ss", ". db", "? dh", ". dm")),
          (triangles_by_galloping, (". ds", ". ss", ". db", "? ds")),
          (triangles_by_following, (". dd", ". ds", ". dh", ". dm", "? db")))),
    Paper(relaxation, (Output(fill=np.inf),), (over("n+1 n+1", fill=np.inf, suited=abs),),
          ("dd dd", "ds ds", "dh ds", "dm dh", "db db", "ds dm"),
          lambda A, k: np.minimum(A, A[:, k : k + 1] + A[k : k + 1]), lambda d: (d["n"],)),
    Paper(symmetric_spmv, (OUT,), (over("n n", suited=lambda A: np.triu(A, 1)), over("n"),
          over("n")), ("d ds d d", "d ss s d", "d dd d s", "h ds d d", "m dn d b", "d dh s s"),
          lambda A, d, x: (A + A.T + np.diag(d)) @ x),
    Paper(kronecker, (Output(shape="n*k m*l"),), (over("n m"), over("k l")),
          ("dd dd dd", "dd ds ds", "hh ss ds", "dh ds dd", "mm dh ss"),
          lambda A, B, *_: np.kron(A, B), lambda d: (d["k"], d["l"])),
    Paper(blocked_kronecker, (OUT,), (over("n m"), over("k l")),
          ("dddd dd dd", "ddds ds ds", "ssss ss ss", "ddsb ds db", "dsds ds ss"),
          lambda A, B: np.einsum("ij,kl->ikjl", A, B)),
    Paper(outer_product, (OUT,), (over("n"), over("m")),
          ("dd d d", "ds s s", "ss s s", "sb b b", "hh s h", "qq q q", "rr r r"),
          lambda x, y: np.outer(x, y)),
    Paper(mttkrp, (OUT,), (over("n m k"), over("m l"), over("k l")),
          ("dd ddd dd dd", "dd sss dd dd", "dd dss ds dd", "dm sss ds ds", "dh dds dd ds"),
          lambda X, A, B: np.einsum("ikl,kj,lj->ij", X, A, B)),
    Paper(ttm, (OUT,), (over("n m k"), over("l k")),
          ("ddd ddd dd", "ddd sss dd", "ssd sss dd", "dsm dss ds", "ssh sss dd"),
          lambda X, A: np.einsum("ijl,kl->ijk", X, A)),
    Paper(sddmm, (OUT,), (over("n m"), over("n k"), over("m k")),
          ("dd dd dd dd", "ds ds dd dd", "ss ss dd dd", "dh ds ds dd", "db db dd ds"),
          lambda S, A, B: S * (A @ B.T)),
    Paper(masked_product, (OUT,), (over("n m", bool), over("n k"), over("m k")),
          ("dd dd dd dd", "ds dsp ds ds", "ss ssp ss ds", "dd dr dd dd", "dh dhp ds dd"),
          lambda M, A, B: np.where(M, A @ B.T, 0)),
    Paper(product_by_rows, (OUT,), (over("n k"), over("k m")),
          ("dd dd dd", "ds ds ds", "ss ss ds", "dh dd dm", "db ds dd"), lambda A, B: A @ B),
    Paper(statistics, (SUM, SUM, Output(fill=np.inf), Output(fill=-np.inf), Output(np.int64)),
          (over("n"),), (". . . . . d", ". . . . . s", "? ? . . . r", ". . . . . q",
          ". . . . . b", ". . . . ? h"), described),
    Paper(argmin, (LEASTS,), (over("n"),), (". d", ". s", ". r", ". q", ". b", ". m"), leasts),
    Paper(least_of_rows, (LEASTS,), (over("n m"),),
          ("d dd", "d ds", "s dr", "s ss", "b dq", "h dh"), leasts),
    Paper(accumulation, (OUT, SUM), (over("n"), over("n")),
          ("d . d d", "h . s s", "m . b s", "h ? r d", "m . d q"),
          lambda a, b, *_: (a + b, a.sum()), lambda d: (d["n"],)),
    Paper(appending, (Output(shape="n+m"), SUM), (over("n"), over("n+m")),
          ("d . d d", "s . s s", "h . s d", "m . b s", "s ? r d"),
          lambda a, b, n, _: (np.concatenate([a, b[n:]]), a.sum()),
          lambda d: (d["n"], d["n"] + d["m"])),
)  # fmt: skip


def cases() -> list[Case]:
    return [case for program in PROGRAMS for case in program.cases()]
