"""This room compiles quickly."""

from __future__ import annotations

from quick_compiles import quick_compiles

__all__ = ["quick_compiles"]
