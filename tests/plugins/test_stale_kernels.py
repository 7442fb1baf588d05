"""No kernel on disk outlives a change of the code that made it, wherever that is written."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

FORMAT = """
import attrs
from finch_core.level import Format, Order, check_child
from finch_core.looplets import Lookup
from finch_core.plugins import hookimpl
{imports}

class Mixin:
    def place(self, n, i):
        return {place}

@attrs.frozen
class Mine(Mixin, Format):
    lvl: Format = attrs.field(converter=check_child)
    backwards: bool = attrs.field(default=False, repr=False)
    name = "Mine"; order = Order.ANY; protocols = frozenset(); fields = ()
    def sizes(self, positions, shape, fields): return {{}}, positions * shape
    def declare(self, ctx, lvl, init): lvl.child.declare(ctx, init)
    def assemble(self, ctx, lvl, start, stop):
        lvl.child.assemble(ctx, start * lvl.shape, stop * lvl.shape)
    def freeze(self, ctx, lvl, stop): lvl.child.freeze(ctx, stop * lvl.shape)
    def thaw(self, ctx, lvl, stop): lvl.child.thaw(ctx, stop * lvl.shape)
    def unfurl(self, ctx, fiber, mode, protocol):
        n = fiber.lvl.shape
        return Lookup(lambda ctx, i: fiber.subfiber(fiber.pos * n + self.place(n, i)))
"""
HOOK = """
@hookimpl
def finch_level_format(): return Mine
"""
RUN = """
import sys
import numpy as np
from finch_core import _, kernel
from finch_core.runtime.tensor import Tensor
from finch_levels import Element
{imports}

@kernel(backend="c")
def copied(y, x):
    y[...] = 0
    for i in _:
        y[i] = x[i]
    return y

backwards = "backwards" in sys.argv
y = copied(Tensor(Mine(Element(0.0), backwards)), np.array([1.0, 2.0, 3.0]))
print(y.buffers["1_val"].tolist(), copied.stats()["from_disk"])
"""
SITE = "lib/python/site-packages"
AHEAD, BACK = "[1.0, 2.0, 3.0]", "[3.0, 2.0, 1.0]"


class Place:
    """A folder with modules, and a cache."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.cache = folder, folder / "cache"
        self.old = 1_000_000_000

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self.old += 10  # written long before the next process
        os.utime(path, (self.old, self.old))

    def run(self, *args: str, name: str = "run.py") -> str:
        environment = {
            **os.environ,
            "FINCH_CACHE_DIR": str(self.cache),
            "FINCH_DRAFTS": "0",
            "PYTHONDONTWRITEBYTECODE": "1",
            "PYTHONPATH": os.pathsep.join(map(str, (self.folder / SITE, self.folder, ROOT))),
        }
        command = [sys.executable, str(self.folder / name), *args]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, timeout=120, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


@pytest.fixture
def place(tmp_path):
    return Place(tmp_path)


def changed(place, first, then, **options):
    """Both runs of ``first``, the second from disk, and one after ``then``."""
    for name, text in first.items():
        place.write(name, text)
    assert [place.run(**options) for _k in range(2)] == [f"{AHEAD} 0", f"{AHEAD} 1"]
    for name, text in then.items():
        place.write(name, text)
    assert place.run(**options) == f"{BACK} 0"
    assert place.run(**options) == f"{BACK} 1"


def test_a_format_of_a_script(place):
    """It is registered by nobody."""
    first, then = (
        {"run.py": RUN.format(imports=FORMAT.format(imports="", place=text))}
        for text in ("i", "n - 1 - i")
    )
    changed(place, first, then)


def test_a_format_of_a_module(place):
    run = RUN.format(imports="from mine import Mine")
    first, then = (
        {"mine.py": FORMAT.format(imports="", place=text), "run.py": run}
        for text in ("i", "n - 1 - i")
    )
    changed(place, first, then)


IMPORTS = {
    "plain": ("import helper", "helper.where(n, i)", "helper.py"),
    "of a package": ("from pack import (\n    helper as h,\n)", "h.where(n, i)", "pack/helper.py"),
    "within a function": (
        "def late(n, i):\n    from helper import where\n    return where(n, i)",
        "late(n, i)",
        "helper.py",
    ),
    "in several steps": ("import one", "one.where(n, i)", "helper.py"),
}  # fmt: skip


@pytest.mark.parametrize("kind", list(IMPORTS))
def test_what_a_format_imports(place, kind):
    imports, text, helper = IMPORTS[kind]
    first = {
        "mine.py": FORMAT.format(imports=imports, place=text),
        "pack/__init__.py": "",
        "one.py": "import two\nwhere = two.where\n",
        "two.py": "from helper import where\n",
        "run.py": RUN.format(imports="from mine import Mine"),
        helper: "def where(n, i): return i\n",
    }
    changed(place, first, {helper: "def where(n, i): return n - 1 - i\n"})


def test_a_distribution_that_a_plugin_needs(place):
    """Installed, and upgraded: a module of it that is not imported by name has changed."""
    first = {
        f"{SITE}/mine.py": FORMAT.format(imports="import helper", place="helper.where(n, i)")
        + HOOK,
        f"{SITE}/mine-1.0.dist-info/METADATA": "Name: mine\nVersion: 1.0\n",
        f"{SITE}/mine-1.0.dist-info/entry_points.txt": "[finch.plugins]\nmine = mine\n",
        f"{SITE}/helper-1.0.dist-info/METADATA": "Name: helper\nVersion: 1.0\n",
        f"{SITE}/helper.py": "import importlib\nwhere = importlib.import_module('deep').where\n",
        f"{SITE}/deep.py": "def where(n, i): return i\n",
        "run.py": RUN.format(imports="from mine import Mine"),
    }
    for name, text in first.items():
        place.write(name, text)
    assert [place.run() for _k in range(2)] == [f"{AHEAD} 0", f"{AHEAD} 1"]
    place.write(f"{SITE}/deep.py", "def where(n, i): return n - 1 - i\n")
    (place.folder / f"{SITE}/helper-1.0.dist-info").rename(
        place.folder / f"{SITE}/helper-2.0.dist-info"
    )
    assert place.run() == f"{BACK} 0"


def test_a_parameter_that_is_not_shown(place):
    place.write("mine.py", FORMAT.format(imports="", place="n - 1 - i if self.backwards else i"))
    place.write("run.py", RUN.format(imports="from mine import Mine"))
    assert place.run() == f"{AHEAD} 0"
    assert place.run("backwards") == f"{BACK} 0"
    assert place.run("backwards") == f"{BACK} 1"


def test_a_file_that_changes_while_a_process_runs(place):
    """What the process has read is not what the file says: nothing is kept."""
    place.write("mine.py", FORMAT.format(imports="", place="i"))
    edit = "from mine import Mine\nimport os\nos.utime(sys.modules['mine'].__file__)"
    place.write("run.py", RUN.format(imports=edit))
    assert [place.run() for _k in range(2)] == [f"{AHEAD} 0", f"{AHEAD} 0"]


MASK = """
from finch_core import _, kernel
from finch_core.runtime.tensor import Tensor
from finch_levels import Element, Scalar
from finch_wrappers.masking import Mask, Row
from finch_core.records import frozen
import numpy as np

@frozen
class Mine(Mask):
    name = "Mine"
    def row(self, i):
        return Row(False, (i, i + {width}))
    def holds(self, i, j):
        return (i <= j) & (j < i + {width})

@kernel(backend="c")
def near(s, A, m):
    s[...] = 0
    for i, j in _:
        if m[i, j]:
            s[()] += A[i, j]
    return s

print(near(Scalar(0.0), np.ones((9, 9)), Mine()).value, near.stats()["from_disk"])
"""


def test_a_mask_of_a_script(place):
    place.write("run.py", MASK.format(width=1))
    assert [place.run() for _k in range(2)] == ["9.0 0", "9.0 1"]
    place.write("run.py", MASK.format(width=2))
    assert place.run() == "17.0 0"


OPERATOR = """
from finch_core import _, kernel
from finch_core.frontend.user_operators import define_operator
import numpy as np

@define_operator({algebra})
def combined(a, b):
    return a + b - 1

@kernel(backend="c")
def total(s, x):
    for i in _:
        s[()] = combined(s[()], x[i])
    return s

print(total(np.zeros(()), np.arange(5.0)), total.stats()["from_disk"])
"""


def test_the_algebra_of_an_operator(place):
    found = []
    for algebra in ("", "", "associative=True", "identity=1", "identity=2"):
        place.write("run.py", OPERATOR.format(algebra=algebra))
        found.append(place.run())
    assert found == ["5.0 0", "5.0 1", "5.0 0", "5.0 0", "5.0 0"]
