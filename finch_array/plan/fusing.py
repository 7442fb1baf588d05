"""``fused``: functions whose graphs and plans are remembered.

A call finds the plan by the signatures and shapes of the arguments, and by the magnitudes of their
statistics. A function is traced anew for arguments that have not come before, where it looks at a
value, and where what it reads besides its arguments is another.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Sequence
from types import MethodType
from typing import Any

import numpy as np

from finch_array.operands import NUMBERS, is_dense, operand
from finch_array.plan.graph import Node, Source, Step, ordered
from finch_array.plan.lazies import Lazy, taken_apart
from finch_array.plan.numbers import Recipe, Varied, varies
from finch_array.plan.outside import NotFollowed, Outside, constant, outside
from finch_array.plan.programs import Plan, Problem
from finch_array.plan.statistics import statistics
from finch_array.plan.steps import as_operand
from finch_array.reductions import array_operand
from finch_core.interface.plugins import hub
from finch_core.records import define
from finch_core.runtime.pickling import named_in
from finch_core.runtime.tensor import Tensor

MOST = 1024
"""The most plans that are remembered."""

_plans: dict[Any, tuple[Plan, Problem]] = {}
_tracing: list[Trace] = []


def look() -> None:
    """Note that a function that is being traced looks at a value: what it does then, and what it
    gives, may be another thing for other arrays."""
    for trace in _tracing:
        trace.looked = True


def is_tracing() -> bool:
    """Whether a fused function is being traced."""
    return bool(_tracing)


def evaluated(nodes: Sequence[Node]) -> list[Any]:
    """The arrays of nodes, which are looked at."""
    look()
    wanted = tuple(dict.fromkeys(n for n in nodes if isinstance(n, Step)))
    found: dict[Node, Any] = {n: n.held() for n in nodes if isinstance(n, Source)}
    if wanted:
        found.update(zip(wanted, _evaluated(wanted), strict=True))
    return [found[n] for n in nodes]


def plan_of(nodes: Sequence[Node]) -> tuple[Plan | None, list[Any]]:
    """The plan that computes nodes, which has been run once, and the arrays of its sources."""
    look()
    wanted = tuple(dict.fromkeys(n for n in nodes if isinstance(n, Step)))
    if not wanted:
        return None, []
    _evaluated(wanted)
    key = (hub().generation, *key_of(wanted))
    return _plans[key][0], [n.held() for n in Problem.of(wanted).sources]


def _evaluated(roots: tuple[Node, ...]) -> tuple[Any, ...]:
    key = (hub().generation, *key_of(roots))
    known = _plans.get(key)
    if known is not None:
        plan, problem = known
        found = tuple(map(as_operand, plan.run([n.held() for n in Problem.of(roots).sources])))
        if plan.bad:
            del _plans[key]
        return found
    problem = Problem.of(roots)
    arrays = [n.held() for n in problem.sources]
    plan, results = problem.run(problem.plan(), arrays)
    if len(_plans) >= MOST:
        _plans.clear()
    _plans[key] = plan, problem
    return results


def key_of(roots: Sequence[Node]) -> list[Any]:
    """What a plan depends on: the graph, and the signatures and statistics of its sources."""
    places: dict[Node, int] = {}
    found: list[Any] = []
    for node in ordered(roots):
        places[node] = len(places)
        if isinstance(node, Source):
            found.append(signed(node.array) if node.is_finite else (type(node.array), "infinite"))
        elif isinstance(node, Step):
            below = tuple(places[c] for c in node.children)
            sizes = tuple(node.sizes.items())
            found.append((node.body, below, node.out, node.op, sizes, node.dtype))
    found.append(tuple(places[n] for n in roots))
    return found


def signed(array: Any) -> Any:
    """What a plan depends on of a source."""
    if isinstance(array, NUMBERS):
        return type(array)
    if is_dense(array):
        return array.signature, array.shape
    if array.__class__ is not Tensor:
        return array.signature, array.shape, statistics(array).magnitude
    known = _magnitudes.get(id(array))
    if known is not None and known[0] is array.state and known[1] == array.record.tobytes():
        return known[2]
    key, found = id(array), (array.signature, array.shape, statistics(array).magnitude)
    there = weakref.ref(array, lambda _: _magnitudes.pop(key, None))
    _magnitudes[key] = array.state, array.record.tobytes(), found, there
    return found


_magnitudes: dict[int, tuple[Any, ...]] = {}


# -- functions --------------------------------------------------------------------------------


class Trace:
    """One call of a function on lazy arrays: its graph, as long as the function does not look at
    values."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function, self.looked = function, False
        self.arrays: list[Any] = []

    def run(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """The result of the function on lazy arguments."""
        given = [self.lazily(x) for x in args]
        named = {k: self.lazily(x) for k, x in kwargs.items()}
        _tracing.append(self)
        try:
            return self.function(*given, **named)
        finally:
            _tracing.remove(self)

    def lazily(self, value: Any) -> Any:
        if not is_array(value):
            return value
        found = operand(value) if not isinstance(value, Lazy) else value
        if isinstance(found, NUMBERS) and not varies(found):
            return value
        made = found if isinstance(found, Lazy) else Lazy(Source(found))
        self.arrays.append(made.lazy_node)
        return made


def is_array(value: Any) -> bool:
    """Whether an argument is traced: an array or a float. Other values are constants, and so are
    numbers at which fills differ from those at others: ``S * inf`` has the fill NaN."""
    if isinstance(value, (float, complex, np.inexact)):
        return varies(value)
    return hasattr(value, "shape") and not isinstance(value, np.generic)


@define(eq=False)
class Call:
    """A call of a fused function: its operands, what its plan is found by: None where there is no
    such key."""

    arrays: list[Any]
    key: Any = None


class Fused:
    """A function of arrays that is planned as a whole; see ``fused``."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self._known: dict[Any, tuple[Any, ...]] = {}
        self._outside: Outside | None = None
        self._written: dict[int, Any] = {}

    def __get__(self, instance: Any, owner: Any = None) -> Fused:
        """The fused method of an object, which has its plans: they live as long as it does."""
        if instance is None:
            return self
        own = getattr(instance, "__dict__", {})  # without one, each call is planned
        name = f"_fused_{self.function.__name__}"
        known: Fused | None = own.get(name)
        of = getattr(getattr(known, "function", None), "__self__", None)
        if known is None or of is not instance:  # it is that of what this is a copy of
            known = own[name] = Fused(MethodType(self.function, instance))
        return known

    def __copy__(self) -> Fused:
        return self

    def __deepcopy__(self, memo: Any) -> Fused:
        return self

    def __reduce__(self) -> Any:
        """By name, or by the function, without plans."""
        module, name = self.function.__module__, self.function.__qualname__
        return name if named_in(module, name) is self else (fused, (self.function,))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        call = self._call(args, kwargs)
        known = self._known.get(call.key) if call.key is not None else None
        if known is None:
            return self._traced(args, kwargs, call)
        plan, places, rebuild = known
        arrays = call.arrays
        try:
            given = [
                arrays[k] if k.__class__ is int else
                k.array if k.__class__ is Source else k.value(arrays)
                for k in places
            ]  # fmt: skip
        except Varied:
            return self._traced(args, kwargs, call)
        results = plan.run(given)
        if plan.bad:
            self._known.pop(call.key, None)
        return rebuild([x if x.__class__ is Tensor else array_operand(x) for x in results])

    def _call(self, args: Sequence[Any], kwargs: dict[str, Any]) -> Call:
        """The operands among the arguments, and what a plan is found by."""
        arrays: list[Any] = []
        try:
            self._outside = outside(self.function, self._written, self._outside)
            parts: list[Any] = [hub().generation, *kwargs, self._outside]
            for x in (*args, *kwargs.values()):
                if isinstance(x, Lazy):
                    return Call(arrays)
                if is_array(x):
                    array = operand(x)
                    if isinstance(array, NUMBERS) and not varies(array):
                        parts.append(constant(array))
                        continue
                    arrays.append(array)
                    parts.append(signed(array))
                else:
                    parts.append(constant(x))
            key = tuple(parts)
            hash(key)
        except (NotFollowed, TypeError):
            return Call(arrays)
        return Call(arrays, key)

    def _traced(self, args: Sequence[Any], kwargs: dict[str, Any], call: Call) -> Any:
        trace = Trace(self.function)
        result = trace.run(args, kwargs)
        lazies: list[Lazy] = []
        rebuild = taken_apart(result, lazies)
        nodes = [x.lazy_node for x in lazies]
        places = {node: k for k, node in enumerate(trace.arrays)}
        known = not trace.looked and all(isinstance(n, Step) for n in nodes)
        problem = Problem.of(nodes)
        if (
            call.key is None
            or not known
            or not all(n in places or _is_number(n) for n in problem.sources)
        ):
            return rebuild([array_operand(x) for x in evaluated(nodes)])
        plan, results = problem.run(problem.plan(), [n.held() for n in problem.sources])
        slots = tuple([Recipe.of(n, places) for n in problem.sources])
        self._remember(args, kwargs, call, (plan, slots, rebuild))
        return rebuild([array_operand(x) for x in results])

    def _remember(
        self, args: Sequence[Any], kwargs: dict[str, Any], call: Call, plan: tuple[Any, ...]
    ) -> None:
        """Find the plan in later calls. What the function has changed itself while it was traced,
        such as a counter, is not followed."""
        written = self._outside.changed() if self._outside is not None else []
        if written:
            self._written.update((id(x), x) for x in written)
            self._outside = None
            call = self._call(args, kwargs)
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[call.key] = plan


def _is_number(node: Source) -> bool:
    return isinstance(node.array, NUMBERS)


def fused(function: Callable[..., Any]) -> Fused:
    """A function of arrays that is planned as a whole, and whose plans are remembered.

    The function is called with lazy arrays for its arrays and floats. What it does with them is
    computed together, by few kernels. Where it looks at a value (``float(x)``, ``if x > 0``), what
    is needed for it is computed at once, and the function is traced in each call.
    """
    return Fused(function)


__all__ = ["Fused", "Trace", "evaluated", "fused", "look", "plan_of"]
