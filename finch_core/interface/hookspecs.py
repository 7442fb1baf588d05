"""The hooks of a plugin: the signatures that pluggy holds implementations to.

Hooks that *register* return one object or a list of them; hooks that *observe* return nothing and
are called on every plugin that has them. ``docs/hooks.md`` shows each in use.
"""

from __future__ import annotations

from typing import Any

import pluggy

PROJECT = "finch"
"""The project name of the pluggy markers; hook names start with it."""

hookspec = pluggy.HookspecMarker(PROJECT)


@hookspec
def finch_level_format() -> Any:
    """Level formats: the classes that a format tree is built of (paper, "Level Formats")."""


@hookspec
def finch_wrapper() -> Any:
    """Wrappers: what changes how the tensor inside is indexed (paper, "Wrapper Arrays")."""


@hookspec
def finch_mask() -> Any:
    """Masks: tensors without memory, such as the upper triangle."""


@hookspec
def finch_scalar() -> Any:
    """Kinds of scalar tensors."""


@hookspec
def finch_operators() -> Any:
    """``finch_core.operators.Operator`` objects, defined by expressions over other operators."""


@hookspec
def finch_rewrite_rules() -> Any:
    """Named rules of the simplifier."""


@hookspec
def finch_conversion() -> Any:
    """``Conversion`` objects: what makes tensors of another library's objects, and back."""


@hookspec
def finch_after_stage(name: str, stage: str, value: object) -> None:
    """After ``stage`` of the compilation of kernel ``name``, which made ``value`` (immutable)."""


@hookspec
def finch_kernel_built(name: str, seconds: dict[str, float], cached: bool) -> None:
    """Kernel ``name`` is ready to run: seconds spent by part; ``cached`` if disk had it."""
