"""Names: every variable and buffer of a kernel as a C identifier of its own."""

from __future__ import annotations

from finch_backend_c.spelling import identifier


class Scope:
    """C names for the names of the assembly, given out in the order in which they are asked for.

    A buffer has four variables: its address ``A_val``, its capacity ``A_val_cap``, whether this
    call allocated it, ``A_val_own``, and where its record tells of it, ``A_val_at``.
    """

    def __init__(self, outer: Scope | None = None) -> None:
        self._names: dict[tuple[str, str], str] = {}
        self._taken: set[str] = set() if outer is None else set(outer._taken)

    def fresh(self, wanted: str, endings: tuple[str, ...] = ("",)) -> str:
        """A name like ``wanted`` that is free, with each of the endings."""
        base, number = identifier(wanted), 1
        name = base
        while any(name + ending in self._taken for ending in endings):
            number += 1
            name = f"{base}_{number}"
        self._taken.update(name + ending for ending in endings)
        return name

    def variable(self, name: str) -> str:
        """The C name of a variable."""
        return self._name("", name, ("",))

    def buffer(self, name: str) -> str:
        """The C name of a buffer's address."""
        return self._name("buffer", name, ("", "_cap", "_own", "_at"))

    def _name(self, kind: str, name: str, endings: tuple[str, ...]) -> str:
        if (kind, name) not in self._names:
            self._names[kind, name] = self.fresh(name, endings)
        return self._names[kind, name]
