"""The files of a new plugin: a package with a level format, its tests and what is needed to publish
it (``python -m finch_core new-plugin NAME``).

The format is the one that ``docs/write-a-format.md`` builds: it works as it is, and is there to be
changed.
"""

from __future__ import annotations

import keyword
import re
from pathlib import Path

from finch_core.errors import FormatError
from finch_core.interface.plugins import hub
from finch_core.interface.versions import INTERFACE

NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
"""A distribution's name, as package indexes normalise it."""

PYPROJECT = """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "{name}"
version = "0.1.0"
description = "A level format for Finch."
readme = "README.md"
requires-python = ">=3.11"
dependencies = ["attrs>=23.2", "finch-python", "numpy>=2.0"]

[project.optional-dependencies]
test = ["pytest>=8.2"]

[project.entry-points."finch.plugins"]
{module} = "{module}.level"

[tool.setuptools]
package-dir = {{ "" = "src" }}
packages = ["{module}"]

[tool.setuptools.package-data]
"*" = ["py.typed"]

[tool.pytest.ini_options]
testpaths = ["tests"]
filterwarnings = ["error"]
"""

README = """\
# {name}

A level format for Finch for Python: `{cls}` keeps a flag for each index, which says whether it is
stored.

```python
import numpy as np

from {module} import {cls}
from finch_core import Tensor
from finch_levels import Dense, Element

A = Tensor(Dense({cls}(Element(0.0))), np.eye(3))
```

Install it, and run its tests:

```sh
python -m pip install -e ".[test]" && python -m pytest
```

`python -m finch_core plugins` lists it. Publish it as any package: `python -m build`, and
`twine upload dist/*`.
"""

INIT = '''\
"""The level format ``{cls}``."""

from {module}.level import {cls}

__all__ = ["{cls}"]
'''

LEVEL = '''\
"""The level format ``{cls}``: a flag for each index says whether it is stored."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np

from finch_core.ir.expressions import Load
from finch_core.level import Field, Format, Mode, Order, check_child
from finch_core.looplets import Lookup, Run, Spike, Stepper, Switch, Thunk
from finch_core.looplets.routines import positions_below
from finch_core.plugins import hookimpl

finch_interface = {interface}

BOOL = np.dtype(bool)


@attrs.frozen
class {cls}(Format):
    """Subfiber ``i`` of fiber ``p`` is at ``p * shape + i``, and stored where ``flag`` says so."""

    lvl: Format = attrs.field(converter=check_child)

    name = "{cls}"
    order = Order.ANY
    protocols = frozenset({{"walk", "follow"}})
    passes_values = True

    @property
    def fields(self) -> tuple[Field, ...]:
        return (Field("flag", BOOL, "whether each subfiber is stored"),)

    def declare(self, ctx: Any, lvl: Any, init: Any) -> None:
        lvl.child.declare(ctx, init)

    def assemble(self, ctx: Any, lvl: Any, start: Any, stop: Any) -> None:
        flag, end = lvl.buffer("flag"), positions_below(ctx, lvl, stop)
        ctx.grow(flag, end)
        ctx.fill(flag, start * lvl.shape, end, False)
        lvl.child.assemble(ctx, start * lvl.shape, end)

    def freeze(self, ctx: Any, lvl: Any, stop: Any) -> None:
        lvl.child.freeze(ctx, stop * lvl.shape)

    def thaw(self, ctx: Any, lvl: Any, stop: Any) -> None:
        lvl.child.thaw(ctx, stop * lvl.shape)

    def sizes(self, positions: int, shape: int, fields: Any) -> Any:
        return {{"flag": positions * shape}}, positions * shape

    def blank(self, positions: int, shape: int) -> Any:
        return {{"flag": np.zeros(positions * shape, bool)}}, positions * shape

    def entries(self, positions: int, shape: int, fields: Any, below: int) -> int:
        return int(fields["flag"][: positions * shape].sum())

    def unfurl(self, ctx: Any, fiber: Any, mode: Mode, protocol: str) -> Any:
        if mode is Mode.UPDATE:
            return Thunk(lambda ctx: update(ctx, fiber))
        if protocol == "follow":
            return Thunk(lambda ctx: follow(ctx, fiber))
        return Thunk(lambda ctx: walk(ctx, fiber))


def follow(ctx: Any, fiber: Any) -> Any:
    """Look an index up: its flag says whether it is stored."""
    flag = fiber.lvl.buffer("flag")
    base = ctx.let("base", fiber.pos * fiber.lvl.shape)

    def lookup(ctx: Any, i: Any) -> Any:
        return Switch(Load(flag, base + i), fiber.subfiber(base + i), fiber.filled())

    yield Lookup(lookup)


def walk(ctx: Any, fiber: Any) -> Any:
    """Go through the indices whose flag is set."""
    flag, shape = fiber.lvl.buffer("flag"), fiber.lvl.shape
    base = ctx.let("base", fiber.pos * shape)
    q = ctx.var("next", 0)

    def skip(ctx: Any) -> None:
        with ctx.while_((q < shape).and_(Load(flag, base + q).not_())):
            ctx.assign(q, q + 1)

    def seek(ctx: Any, i: Any) -> None:
        ctx.assign(q, i)
        skip(ctx)

    def following(ctx: Any) -> None:
        ctx.assign(q, q + 1)
        skip(ctx)

    def last(ctx: Any) -> Any:
        k = ctx.var("last", shape)
        with ctx.while_((q < k).and_(Load(flag, base + k - 1).not_())):
            ctx.assign(k, k - 1)
        return k

    skip(ctx)
    yield Stepper(
        position=q,
        end=shape,
        stop=lambda q: q + 1,
        body=lambda ctx, q: Spike(fiber.filled(), fiber.subfiber(base + q)),
        seek=seek,
        bound=shape,
        tail=Run(fiber.filled()),
        start=ctx.lift(0),
        following=following,
        last=last,
    )


def update(ctx: Any, fiber: Any) -> Any:
    """Write at any index; its flag is set if something was written."""
    flag = fiber.lvl.buffer("flag")
    base = ctx.let("base", fiber.pos * fiber.lvl.shape)

    def at(ctx: Any, i: Any) -> Any:
        dirty = ctx.var("dirty", False)
        yield fiber.subfiber(base + i, dirty)
        with ctx.if_(dirty):
            ctx.store(flag, base + i, True)
            fiber.mark(ctx)

    yield Lookup(lambda ctx, i: Thunk(lambda ctx: at(ctx, i)))


@hookimpl
def finch_level_format() -> type[Format]:
    """The class that this plugin registers."""
    return {cls}
'''

TESTS = '''\
"""The suite that every level format must pass."""

from {module} import {cls}

from finch_core.testing import LevelSuite


class Test{cls}(LevelSuite):
    format = {cls}
'''


def new_plugin(name: str, folder: Path) -> list[Path]:
    """Write the files of a new plugin to ``folder / name``; gives their paths.

    Raises ``FormatError`` for a name that no distribution or class can have, or that is taken, and
    ``OSError`` if files cannot be written.
    """
    module = name.replace("-", "_")
    if not NAME.fullmatch(name) or keyword.iskeyword(module):
        raise FormatError(
            f"{name!r} is not a name for a package",
            hint="it has small letters, digits and single hyphens, as in finch-ragged",
        )
    home = folder / name
    if home.exists():
        raise FormatError(f"{home} exists already", hint="choose another name or folder")
    parts = [part for part in name.split("-") if part != "finch"] or [name]
    cls = "".join(part.capitalize() for part in parts)
    if not cls.isidentifier():
        raise FormatError(
            f"{name!r} gives the class no name: {cls!r} is not an identifier",
            hint="choose a name in which a letter comes first, as in finch-ragged",
        )
    if cls in hub().levels:
        raise FormatError(
            f"{name!r} gives the class a taken name: {cls} is a level format of "
            f"{hub().owner('level format', cls)}",
            hint="choose another name",
        )
    words = {
        "name": name,
        "module": module,
        "cls": cls,
        "interface": INTERFACE,
    }
    texts = {
        "pyproject.toml": PYPROJECT,
        "README.md": README,
        f"src/{module}/__init__.py": INIT,
        f"src/{module}/py.typed": "",
        f"src/{module}/level.py": LEVEL,
        "tests/test_level.py": TESTS,
    }
    written = []
    for path, text in texts.items():
        file = home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text.format(**words))
        written.append(file)
    return written


__all__ = ["new_plugin"]
