"""``explain``: a plan as text, with what was estimated and what was found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from finch_array.operands import levels_of, stored
from finch_array.plan.fusing import Fused, Trace, plan_of
from finch_array.plan.kernels import Kernel
from finch_array.plan.lazies import Lazy, taken_apart
from finch_array.plan.normal import Ref
from finch_array.plan.programs import Plan
from finch_array.plan.steps import Runnable
from finch_core.interface.display import drawn
from finch_core.ir.expressions import Access, Call, Cast, Expr, Index, Literal, Name


class Explanation(str):
    """A plan as text; notebooks show it as a graph. ``nodes`` are its arrays and kernels: of each
    its name, what it is, a note, and the names that it reads."""

    nodes: tuple[tuple[str, str, str, tuple[str, ...]], ...]

    def __new__(cls, text: str, nodes: Sequence[Any] = ()) -> Explanation:
        """The plan with this text."""
        self = super().__new__(cls, text)
        self.nodes = tuple(nodes)
        return self

    def _repr_html_(self) -> str | None:
        return drawn("plan_html", self.nodes) if self.nodes else None


def explain(x: Any, /, *args: Any, **kwargs: Any) -> Explanation:
    """The plan of lazy arrays, or of a function for arguments: its kernels in order, as text, which
    notebooks show as a graph.

    Of each kernel: what it computes, the order of its loops, copies in another order, the format
    of its result, the estimated price and visits, and the entries of its result, estimated and
    real. The kernels are run for this.
    """
    if isinstance(x, Fused):
        x = x.function
    if callable(x) and not isinstance(x, Lazy):
        x = Trace(x).run(args, kwargs)
    found: list[Lazy] = []
    taken_apart(x, found)
    plan, arrays = plan_of([one.lazy_node for one in found])
    if plan is None:
        return Explanation("nothing to compute")
    return Explanation(text(plan, arrays), [*_nodes(plan, arrays)])


def _nodes(plan: Plan, arrays: Sequence[Any]) -> Iterator[tuple[str, str, str, tuple[str, ...]]]:
    """The arrays and kernels of a plan, each with what it reads."""
    for name, k in plan.slots:
        yield name, _described(arrays[k]), "", ()
    for step in plan.steps:
        first, note = _kernel(step)
        parts = [part for e in (step.kernel.value, *step.kernel.masks) for part in e.walk()]
        accesses = [part.tensor for part in parts if isinstance(part, Access)]
        reads = [str(t.name) if isinstance(t, Ref) else str(t) for t in accesses]
        yield step.kernel.name, first, note.strip(), tuple(dict.fromkeys(reads))


def text(plan: Plan, arrays: Sequence[Any]) -> str:
    """The lines of a plan."""
    many = len(plan.steps)
    again = f", planned again {plan.replanned} times" if plan.replanned else ""
    lines = [f"{many} kernel{'s' * (many != 1)}, estimated at {_time(plan.price)}{again}"]
    for name, k in plan.slots:
        lines.append(f"  {name}: {_described(arrays[k])}")
    for step in plan.steps:
        lines += [f"  {line}" for line in _kernel(step)]
    return "\n".join(lines)


def _described(array: Any) -> str:
    if not getattr(array, "shape", ()):
        return "a number"
    levels = levels_of(stored(array).source)
    kinds = "(".join(level.name for level in levels) + ")" * (len(levels) - 1) if levels else "view"
    return f"{' x '.join(map(str, array.shape))} {array.dtype}, {kinds}"


def _kernel(step: Runnable) -> list[str]:
    kernel = step.kernel
    sign = f"{kernel.op.symbol or kernel.op.name + ' '}=" if kernel.op is not None else "="
    masks = " and ".join(f"stored({written(m)})" for m in kernel.masks)
    where = f" where {masks}" if masks else ""
    own = f"[{', '.join(kernel.out)}]" if kernel.out else ""
    first = f"{kernel.name}{own} {sign} {written(kernel.value)}{where}"
    notes = [f"loops {' '.join(kernel.loops) or 'none'}", f"visits {_short(kernel.visits)}"]
    if kernel.copied:
        notes.append(f"{len(kernel.copied)} copied into another order")
    if kernel.marked:
        notes.append(f"rows of {', '.join(map(written, kernel.marked))} in a workspace")
    notes += [_result(kernel, step), _time(kernel.price)]
    return [first, "    " + "; ".join(notes)]


def _result(kernel: Kernel, step: Runnable) -> str:
    if not kernel.out:
        return "a number"
    assert kernel.pattern is not None
    real = "?" if step.entries is None else _short(step.entries)
    kind = "dense" if kernel.dense else "sparse"
    return f"{kind}, {_short(kernel.pattern.entries)} entries estimated, {real} found"


def _short(x: float) -> str:
    return f"{x:.0f}" if x < 10000 else f"{x:.2g}"


def _time(nanoseconds: float) -> str:
    return f"{nanoseconds / 1000:.3g} us"


def written(expr: Expr) -> str:
    """An expression as Python would have it."""
    if isinstance(expr, Access):
        name = expr.tensor.name if isinstance(expr.tensor, Ref) else str(expr.tensor)
        return f"{name}[{', '.join(map(written, expr.indices))}]"
    if isinstance(expr, (Index, Name)):
        return expr.name
    if isinstance(expr, Literal):
        return str(expr.value)
    if isinstance(expr, Cast):
        return f"{expr.type}({written(expr.value)})"
    assert isinstance(expr, Call)
    parts = [written(arg) for arg in expr.args]
    if expr.op.symbol and len(parts) == 2:
        sides = [
            f"({p})" if isinstance(a, Call) and a.op is not expr.op and a.op.symbol else p
            for a, p in zip(expr.args, parts, strict=True)
        ]
        return f" {expr.op.symbol} ".join(sides)
    return f"{expr.op.name}({', '.join(parts)})"


__all__ = ["explain", "text", "written"]
