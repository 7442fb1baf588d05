"""Array programming: the array API standard over tensors of any format, run by compiled kernels.

``import finch_array as fa``. The operators and array methods of tensors are functions of this
package, which tensors find by the plugin ``finch_array``. ``docs/arrays.md`` has the rules: the
fill, the format and the dtype of results, and what is absent.
"""

from __future__ import annotations

from typing import Any

from finch_array.namespace import NAMES, look_up

__array_api_version__ = "2025.12"


def __getattr__(name: str) -> Any:
    """Functions are imported when they are first used."""
    value = look_up(name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *NAMES})
