"""Shapes of locals: what they may depend on."""

from __future__ import annotations

from typing import Any

from finch_core.errors import KernelSyntaxError, Span


def unknown_shape(tensor: Any, span: Span | None) -> KernelSyntaxError:
    """The refusal of a local whose shape depends on tensors or loops."""
    return KernelSyntaxError(
        f"the shape of {tensor} is not known before the program runs",
        span=span,
        hint="make it of whole numbers, parameters that are numbers, sizes of tensors "
        "that the kernel does not declare, and their sums",
    )


__all__ = ["unknown_shape"]
