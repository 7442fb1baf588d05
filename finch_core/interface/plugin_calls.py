"""Calls of plugin methods during compilation, with errors that name the format and the method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from finch_core.errors import MISTAKES, FinchError, PluginError, mistaken
from finch_core.interface.offers import Offer
from finch_core.ir.expressions import Expr
from finch_core.ir.owners import of_owner

if TYPE_CHECKING:
    from finch_core.interface.looplet import Looplet


def emitted(format: Any, method: str, *args: Any) -> Any:
    """Call a method of ``format`` that emits code; gives its result.

    Raises ``PluginError`` for an exception that shows a mistake in the method; errors of this
    package that it raises are passed on.
    """
    try:
        result = getattr(format, method)(*args)
    except PluginError as error:
        raise error.of(_called(format, method)) from error.__cause__
    except FinchError:
        raise
    except MISTAKES as error:
        raise mistaken(_called(format, method), error) from error
    if hasattr(result, "send"):
        raise PluginError(
            f"{_called(format, method)} is a generator, and so emits nothing",
            hint="the code of a Thunk yields; methods of formats emit and return",
        )
    return result


def unfurled(format: Any, *args: Any) -> Looplet:
    """The looplet that ``format.unfurl`` returns; ``PluginError`` if it returns anything else."""
    found: Looplet = emitted(format, "unfurl", *args)
    if hasattr(found, "lower") and hasattr(found, "precedence"):
        return found
    raise PluginError(
        f"{_called(format, 'unfurl')} gives {found!r}, which is not a looplet",
        hint="it returns a looplet, such as Run(subtensor) if all subtensors are the same, or "
        "Thunk(code) where code yields one",
    )


def offers_of(kind: Any, fibers: Any) -> tuple[Offer, ...]:
    """What a class of levels offers for fibers; ``PluginError`` if that fails or is no offer."""
    found = emitted(kind, "offers", fibers)
    several = isinstance(found, (tuple, list))
    wrong = [offer for offer in found if not isinstance(offer, Offer)] if several else [found]
    if wrong:
        raise PluginError(
            f"{_called(kind, 'offers')} gives {wrong[0]!r}, which is not "
            f"{'an Offer' if several else 'a tuple of Offer'}",
            hint="it returns a tuple of Offer, empty if it has none for these fibers",
        )
    return tuple(found)


def number_of(format: Any, method: str, *args: Any) -> Expr | None:
    """The number that a method of ``format`` gives, or None where it does not know it;
    ``PluginError`` if it gives anything else."""
    found = emitted(format, method, *args)
    if found is None or isinstance(found, Expr):
        return found
    raise PluginError(
        f"{_called(format, method)} gives {found!r}, which is not an expression",
        hint="it returns an expression such as Load(buffer, i) or ctx.lift(0), or None where the "
        "number is not known",
    )


def likeness_of(format: Any, *args: Any) -> tuple[Expr, Expr] | None:
    """What ``alike`` of ``format`` gives: a condition and a number, or None; ``PluginError`` if it
    gives anything else."""
    found = emitted(format, "alike", *args)
    if found is None:
        return None
    if isinstance(found, tuple) and len(found) == 2 and all(isinstance(x, Expr) for x in found):
        return found[0], found[1]
    raise PluginError(
        f"{_called(format, 'alike')} gives {found!r}, which is not a pair of expressions",
        hint="it returns whether the levels are alike and how many subfibers they have, or None",
    )


def value_of(format: Any, *args: Any) -> Expr:
    """The value that a leaf's ``unwrap`` returns; ``PluginError`` if it returns no expression."""
    found = emitted(format, "unwrap", *args)
    if isinstance(found, Expr):
        return found
    raise PluginError(
        f"{_called(format, 'unwrap')} gives {found!r} for Mode.READ, which is not an expression",
        hint="it returns the value that the leaf has: such as Load(buffer, fiber.pos)",
    )


def part_of(format: Any, parts: Mapping[str, Any], name: str, kind: Any, what: str) -> Any:
    """The buffer or scalar (``what``) that is bound to a field of a level.

    Raises ``PluginError`` if the level has no such field, or it is of the other kind.
    """
    found = parts.get(name)
    if isinstance(found, kind):
        return found
    fields = ", ".join(f"{n!r} (a {'scalar' if isinstance(p, Expr) else 'buffer'})"
                       for n, p in parts.items())  # fmt: skip
    raise PluginError(
        f"{described(format)} has no {what} {name!r}",
        hint=f"its fields are {fields}" if fields else "it has no fields",
    )


def _called(format: Any, method: str) -> str:
    return f"{method} of {described(format)}"


def described(format: Any) -> str:
    """A format, or its class, as messages name it: with the plugin that registered it."""
    kind = format if isinstance(format, type) else type(format)
    what = "leaf" if format.is_leaf else "level format"
    return f"the {what} {format.name or kind.__name__!r}{of_owner(kind)}"


__all__ = [
    "described",
    "emitted",
    "likeness_of",
    "number_of",
    "offers_of",
    "part_of",
    "unfurled",
    "value_of",
]
