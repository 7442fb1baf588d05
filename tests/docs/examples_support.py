"""The example programs as modules, and small data for them."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]


def example(name: str) -> ModuleType:
    """The program ``docs/examples/<name>.py`` as a module: kernels are read from files."""
    folder = str(ROOT)
    if folder not in sys.path:
        sys.path.append(folder)
    return import_module(f"docs.examples.{name}")


def sparse(*shape: int, density: float = 0.3, seed: int = 0) -> Any:
    """A NumPy array with zeros in it."""
    generator = np.random.default_rng(seed)
    return generator.random(shape) * (generator.random(shape) < density)
