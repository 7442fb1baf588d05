"""The hooks of a plugin: the signatures that pluggy holds implementations to.

Hooks that *register* return one object or a list of them; hooks that *observe* return nothing
and are called on every plugin that implements them. ``docs/hooks.md`` shows each in use.
"""

from __future__ import annotations

from typing import Any

import pluggy

PROJECT = "finch"
"""The project name of the pluggy markers; hook names start with it."""

hookspec = pluggy.HookspecMarker(PROJECT)


@hookspec
def finch_level_format() -> Any:
    """Level formats: classes from which a format tree is built (paper, "Level Formats")."""


@hookspec
def finch_wrapper() -> Any:
    """Wrappers: tensors that change how another tensor is indexed (paper, "Wrapper Arrays")."""


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
    """Named rewrite rules of the simplifier."""


@hookspec
def finch_conversion() -> Any:
    """``Conversion`` objects: between tensors and the objects of another library."""


@hookspec
def finch_file_format() -> Any:
    """``FileFormat`` objects: formats of files that ``read`` and ``write`` know."""


@hookspec
def finch_array_namespace() -> Any:
    """``ArrayNamespace`` objects: where tensors find their operators and array methods."""


@hookspec
def finch_display() -> Any:
    """``Display`` objects: what draws tensors in notebooks, and kernels in pages."""


@hookspec
def finch_assembly_passes() -> Any:
    """``AssemblyPass`` objects: passes over assembly, which run for every backend."""


@hookspec
def finch_dtypes() -> Any:
    """``StoredDtype`` objects: dtypes of NumPy that are stored as one that backends have."""


@hookspec
def finch_after_stage(name: str, stage: str, value: object) -> None:
    """Called after ``stage`` in the compilation of kernel ``name``; ``value`` is its (immutable)
    result."""


@hookspec
def finch_kernel_built(name: str, seconds: dict[str, float], cached: bool) -> None:
    """Called when kernel ``name`` is ready to run.

    ``seconds`` is the time spent by part; ``cached`` is true if it was loaded from disk.
    """
