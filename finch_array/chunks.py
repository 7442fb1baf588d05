"""What engines that compute an array in chunks ask of each chunk (``docs/neighbours.md``)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from finch_core.interface.level import Format
from finch_core.runtime.tensor import Tensor


def token(array: Any) -> Any:
    """What an array is told apart by: equal for arrays of one format, shape and contents, in every
    process. The engine hashes the buffers."""
    if isinstance(array, Tensor):
        scalars = [array.scalar(part).item() for part in array.layout.scalars]
        return *_name(array.format), array.shape, scalars, list(array.named_arrays().values())
    parts = {k: v for k, v in vars(array).items() if k != "signature"}
    return _path(type(array)), sorted(parts.items())


@lru_cache(maxsize=1024)
def _name(format: Format) -> tuple[str, ...]:
    """A format by its contents, and the classes of its levels."""
    return (repr(format), *(_path(type(level)) for level in format.levels()))


def _path(kind: type) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
