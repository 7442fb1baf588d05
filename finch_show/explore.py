"""x"""

from typing import Any


def explore(kernel: Any, args: Any, options: Any, path: Any) -> Any:
    """x"""
