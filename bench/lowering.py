"""What lowering costs: milliseconds and lines of assembly against rank, operands and statements."""

from __future__ import annotations

import linecache
import time
from typing import Any

from finch_core import Tensor, kernel
from finch_core.level import Format
from finch_levels import Dense, Element, SparseList


def lists(rank: int) -> Format:
    """Sorted coordinates of some rank."""
    format: Format = Element(0.0)
    for _level in range(rank):
        format = SparseList(format)
    return format


def made(text: str) -> Any:
    """The kernel of a program's text."""
    name = f"<lowered {hash(text)}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    scope: dict[str, Any] = {}
    exec(compile(text, name, "exec"), scope)
    return kernel(backend="interpreter")(scope["program"])


def total(rank: int, operands: int, statements: int = 1) -> str:
    """A program that adds ``operands`` tensors of some rank, into ``statements`` outputs."""
    indices = ", ".join("ijklmnop"[:rank])
    names = [f"A{k}" for k in range(operands)]
    outs = [f"C{k}" for k in range(statements)]
    lines = [f"def program({', '.join([*outs, *names])}):"]
    lines += [f"    {out}[...] = 0" for out in outs]
    lines += [f"    for {indices} in _:"]
    value = " + ".join(f"{name}[{indices}]" for name in names)
    lines += [f"        {out}[{indices}] = {value}" for out in outs]
    return "\n".join(lines) + "\n"


def _row(what: str, text: str, arguments: list[Any]) -> dict[str, Any]:
    made(text).lower(*arguments)  # imports what lowering needs
    program = made(text)
    start = time.perf_counter()
    lowered = program.lower(*arguments)
    lines = len(lowered.as_text("assembly").splitlines())
    total_ms = (time.perf_counter() - start) * 1e3
    return {
        "program": what,
        "lower ms": lowered.seconds["lower"] * 1e3,
        "all ms": total_ms,
        "lines of assembly": lines,
    }


def run() -> list[list[dict[str, Any]]]:
    """Tables against rank, number of operands and number of statements, and of conversions."""
    return [_conversions(), _ranks(), _operands(), _statements()]


def _conversions() -> list[dict[str, Any]]:
    rows = []
    formats = {f"SparseList, rank {r}": lists(r) for r in range(1, 8)}
    formats["Dense(SparseList(SparseList))"] = Dense(lists(2))
    for name, format in formats.items():
        rank = format.ndim
        indices = ", ".join("ijklmnop"[:rank])
        text = (
            "def program(C, A):\n    C[...] = 0\n"
            f"    for {indices} in _:\n"
            f"        if A[{indices}] != 0:\n"
            f"            C[{indices}] = A[{indices}]\n"
        )
        source: Format = Element(0.0)
        for _level in range(rank):
            source = Dense(source)
        arguments = [Tensor(format), Tensor(source, (2,) * rank)]
        rows.append(_row(f"array to {name}", text, arguments))
    return rows


def _ranks() -> list[dict[str, Any]]:
    return [
        _row(f"A + B, rank {r}", total(r, 2), [Tensor(lists(r)) for _each in range(3)])
        for r in range(1, 8)
    ]


def _operands() -> list[dict[str, Any]]:
    return [
        _row(f"{n} vectors added", total(1, n), [Tensor(lists(1)) for _each in range(n + 1)])
        for n in (1, 2, 3, 4, 5, 8, 12, 16)
    ] + [
        _row(f"{n} matrices of lists added", total(2, n), [Tensor(lists(2)) for _ in range(n + 1)])
        for n in (2, 3, 4, 8, 12)
    ]


def _statements() -> list[dict[str, Any]]:
    dense = Dense(Element(0.0))
    return [
        _row(
            f"A + B into {n} outputs",
            total(1, 2, n),
            [*(Tensor(dense) for _each in range(n)), Tensor(lists(1)), Tensor(lists(1))],
        )
        for n in (1, 2, 4, 8, 16)
    ]
