"""TACO, where a ``taco`` command is on the PATH: its generated C, compiled with its own flags, and
(``taco native``) for this machine, over arrays that begin at lines of the cache.

``compute`` fills in the values of a result whose structure is there, ``assemble`` finds the
structure, ``evaluate`` does both in one pass. TACO's published timings are those of the first two.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import scipy.sparse

from bench.hand import TACO_FLAGS, built
from bench.peers import Contenders, aligned
from finch_backend_c import toolchain

COMMAND = shutil.which("taco") or ""
if not COMMAND:
    raise ImportError("there is no taco command on the PATH")
STRUCT = re.compile(r"typedef enum.*?\} taco_tensor_t;", re.DOTALL)
COMMENT = re.compile(r"//.*")
SPGEMM = ("reorder(i,k,j)", "precompute(A(i,k)*B(k,j),j,j)")


def version() -> str:
    """The version that the command prints."""
    said = subprocess.run([COMMAND, "-version"], capture_output=True, text=True).stdout
    found = re.search(r"version:?\s*(\S+)", said, re.IGNORECASE)
    return found[1] if found else said.strip().partition("\n")[0]


def generated(expression: str, formats: tuple[str, ...], schedule: tuple[str, ...]) -> str:
    """The C functions of an expression in index notation."""
    options = [f"-f={f}" for f in formats] + [f"-s={s}" for s in schedule]
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "kernel.c"
        line = [COMMAND, expression, *options, "-print-nocolor", f"-write-source={source}"]
        done = subprocess.run(line, capture_output=True, text=True)
        if not source.exists():
            raise RuntimeError(f"taco refuses {expression}: {done.stderr or done.stdout}")
        return source.read_text()


@attrs.frozen
class Program:
    """The compiled functions, which take the result and then the operands."""

    ffi: Any
    lib: Any

    def tensor(self, shape: tuple[int, ...], modes: Any = None, values: Any = None) -> Stored:
        """A tensor over arrays: for each mode none (dense), or its positions and coordinates."""
        ffi = self.ffi
        address = lambda array: ffi.cast("uint8_t *", ffi.from_buffer(array))  # noqa: E731
        arrays = [
            ffi.new("uint8_t *[2]", [address(array) for array in mode])
            for mode in modes or [()] * len(shape)
        ]
        sizes, table = ffi.new("int32_t[]", list(shape)), ffi.new("uint8_t **[]", arrays)
        record = ffi.new("taco_tensor_t *")
        record.order, record.dimensions, record.csize = len(shape), sizes, 8
        record.indices = table
        record.vals = ffi.NULL if values is None else address(values)
        return Stored(record, (arrays, sizes, table, modes, values))

    def result(self, shape: tuple[int, int]) -> Result:
        return Result(self, shape)


@attrs.frozen
class Stored:
    """A TACO tensor, and what it points to."""

    record: Any
    kept: Any


class Result:
    """Compressed rows that TACO allocates; called, they are a copy as a SciPy matrix."""

    def __init__(self, program: Program, shape: tuple[int, int]) -> None:
        self._program, self._shape, self._tensor = program, shape, program.tensor(shape)
        self.record = self._tensor.record

    def __call__(self) -> Any:
        rows, (pos, crd) = self._shape[0], self.record.indices[1][0:2]
        positions = self._copied(pos, np.int32, rows + 1)
        stored = int(positions[-1])
        parts = (self._copied(self.record.vals, np.float64, stored),
                 self._copied(crd, np.int32, stored), positions)  # fmt: skip
        return scipy.sparse.csr_array(parts, shape=self._shape)

    def _copied(self, address: Any, dtype: Any, count: int) -> Any:
        size = count * np.dtype(dtype).itemsize
        return np.frombuffer(self._program.ffi.buffer(address, size), dtype).copy()

    def __del__(self) -> None:
        for address in (*self.record.indices[1][0:2], self.record.vals):
            self._program.lib.free(address)


NATIVE = (*TACO_FLAGS, "-march=native")
BUILDS = {"taco": TACO_FLAGS, "taco native": NATIVE}
"""The flags of each contender."""


@cache
def program(
    expression: str,
    formats: tuple[str, ...],
    schedule: tuple[str, ...] = (),
    flags: tuple[str, ...] = TACO_FLAGS,
) -> Program:
    """Generated and compiled once for each expression."""
    text = generated(expression, formats, schedule)
    count = len(re.search(r"int compute\((.*?)\)", text)[1].split(","))
    given = ", ".join(["taco_tensor_t *"] * count)
    declared = COMMENT.sub("", STRUCT.search(text)[0]) + "void free(void *);"
    declared += "".join(f"int {f}({given});" for f in ("compute", "assemble", "evaluate"))
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "kernel.c"
        source.write_text(text)
        return Program(*built(source, [*toolchain.find().command, *flags], declared))


def _rows(matrix: Any) -> Any:
    return [(), (matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32))]


def _filling(made: Program, name: str, out: Any, target: Any, operands: Any) -> Contenders:
    """``compute`` into a result whose structure is there."""
    given = [operand.record for operand in operands]

    def run() -> Any:
        made.lib.compute(target.record, *given)
        return out

    run.kept = operands  # type: ignore[attr-defined]
    return {name: run}


def _growing(made: Program, shape: tuple[int, int], operands: Any) -> Contenders:
    """A result in compressed rows, in one pass and in two."""

    def fused() -> Any:
        result = made.result(shape)
        made.lib.evaluate(result.record, *(operand.record for operand in operands))
        return result

    def apart() -> Any:
        result, given = made.result(shape), [operand.record for operand in operands]
        made.lib.assemble(result.record, *given)
        made.lib.compute(result.record, *given)
        return result

    return {"taco": fused, "taco assemble+compute": apart}


def placed(build: str, *arrays: Any) -> list[Any]:
    """The arrays as they are, or copies at lines of the cache for ``taco native``."""
    return [aligned(array) if build == "taco native" else array for array in arrays]


def spmv(matrix: Any, x: Any) -> Contenders:
    found: Contenders = {}
    for build, flags in BUILDS.items():
        for name, format in ((build, "A:ds"), (f"{build} columns", "A:ds:1,0")):
            made = program("y(i)=A(i,j)*x(j)", (format,), (), flags)
            stored = matrix if name == build else scipy.sparse.csc_array(matrix)
            y, vector, values, *rows = placed(
                build, np.empty(matrix.shape[0]), x, stored.data, *_rows(stored)[1]
            )
            A = made.tensor(matrix.shape, [(), tuple(rows)], values)
            operands = (A, made.tensor(x.shape, None, vector))
            found |= _filling(made, name, y, made.tensor(y.shape, None, y), operands)
    return found


def spmm(A: Any, B: Any) -> Contenders:
    found: Contenders = {}
    for build, flags in BUILDS.items():
        made = program("C(i,k)=A(i,j)*B(j,k)", ("A:ds",), ("reorder(i,j,k)",), flags)
        C, right, values, *rows = placed(
            build, np.empty((A.shape[0], B.shape[1])), B, A.data, *_rows(A)[1]
        )
        left = made.tensor(A.shape, [(), tuple(rows)], values)
        operands = (left, made.tensor(B.shape, None, right))
        found |= _filling(made, build, C, made.tensor(C.shape, None, C), operands)
    return found


def spgemm(A: Any, B: Any) -> Contenders:
    made = program("C(i,j)=A(i,k)*B(k,j)", ("A:ds", "B:ds", "C:ds"), SPGEMM)
    operands = [made.tensor(M.shape, _rows(M), M.data) for M in (A, B)]
    return _growing(made, (A.shape[0], B.shape[1]), operands)


def sddmm(S: Any, A: Any, B: Any) -> Contenders:
    """``taco`` finds the structure of the result, too; ``compute`` fills in its values."""
    contenders: Contenders = {}
    for build, flags in BUILDS.items():
        made = program("C(i,j)=S(i,j)*A(i,k)*B(j,k)", ("S:ds", "C:ds"), (), flags)
        values, left, right, given, *rows = placed(
            build, np.empty(S.nnz), A, B, S.data, *_rows(S)[1]
        )
        stored = made.tensor(S.shape, [(), tuple(rows)], given)
        operands = [stored, *(made.tensor(M.shape, None, M) for M in (left, right))]
        found = _growing(made, S.shape, operands)
        target = made.tensor(S.shape, [(), tuple(rows)], values)
        contenders[build] = lambda f=found["taco"]: (result := f()) and (lambda: result().data)
        contenders |= _filling(made, f"{build} compute", values, target, operands)
    return contenders


def mttkrp(buffers: Any, shape: Any, B: Any, C: Any) -> Contenders:
    found: Contenders = {}
    for build, flags in BUILDS.items():
        order = ("reorder(i,j,k,r)",)
        made = program("D(i,r)=A(i,j,k)*B(j,r)*C(k,r)", ("A:sss",), order, flags)
        modes = [
            tuple(placed(build, buffers[f"{level}_ptr"], buffers[f"{level}_idx"]))
            for level in range(3)
        ]
        D, values, *factors = placed(
            build, np.empty((shape[0], B.shape[1])), buffers["3_val"], B, C
        )
        operands = [made.tensor(shape, modes, values)]
        operands += [made.tensor(factor.shape, None, factor) for factor in factors]
        found |= _filling(made, build, D, made.tensor(D.shape, None, D), operands)
    return found


def ttv(coordinates: Any, values: Any, shape: Any, x: Any) -> Contenders:
    """``compute`` alone: the structure of the result is that of the first two modes."""
    made = program("B(i,j)=A(i,j,k)*x(k)", ("A:sss", "B:ss"))
    return _contracted(made, coordinates, values, shape, x, ())


def ttm(coordinates: Any, values: Any, shape: Any, X: Any) -> Contenders:
    made = program("B(i,j,r)=A(i,j,k)*X(k,r)", ("A:sss", "B:ssd"), ("reorder(i,j,k,r)",))
    return _contracted(made, coordinates, values, shape, X, X.shape[1:])


def _contracted(
    made: Program, coordinates: Any, values: Any, shape: Any, X: Any, more: Any
) -> Contenders:
    modes = _fibers(coordinates)
    operands = [made.tensor(shape, modes, values), made.tensor(X.shape, None, X)]
    out = np.empty((len(modes[1][1]), *more))
    given = [*modes[:2], *[()] * len(more)]
    target = made.tensor((*shape[:2], *more), given, out)
    return _filling(made, "taco compute", out, target, operands)


def _fibers(coordinates: Any) -> list[Any]:
    """Positions and coordinates of each mode of a tensor with sorted entries."""
    modes, starts = [], np.array([0])
    new = np.zeros(coordinates.shape[1], dtype=bool)
    new[:1] = True
    for index in coordinates:
        new = new | (np.diff(index, prepend=-1) != 0)
        places = np.flatnonzero(new)
        pos = np.searchsorted(places, np.append(starts, len(index)))
        modes.append((pos.astype(np.int32), index[places].astype(np.int32)))
        starts = places
    return modes
