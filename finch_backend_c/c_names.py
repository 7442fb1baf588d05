"""C names for the variables and buffers of a kernel."""

from __future__ import annotations

from finch_backend_c.spelling import identifier


class CNames:
    """Assigns distinct C names to the names of the assembly, in the order of requests.

    A buffer has four variables: its address ``A_val``, its capacity ``A_val_cap``, a flag whether
    this call allocated it, ``A_val_own``, and the address of its slot in the record, ``A_val_at``.
    """

    def __init__(self, outer: CNames | None = None) -> None:
        self._names: dict[tuple[str, str], str] = {}
        self._taken: set[str] = set() if outer is None else set(outer._taken)

    def fresh(self, wanted: str, endings: tuple[str, ...] = ("",)) -> str:
        """An unused name like ``wanted``, also unused with each of the endings."""
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
