"""The folders of the core are floors: each imports only from those above it in ``FLOORS``, without
circles, imports for types and inside functions included."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORE = ROOT / "finch_core"

FLOORS = (
    "ir", "symbolic", "interface", "frontend", "looplets", "lower", "optimize", "reference",
    "runtime", "io", "show", "testing",
)  # fmt: skip
BESIDE = {
    "errors", "locks", "records", "record_fields",  # for all floors
    "__init__", "__main__", "cli",  # above all of them
    "level", "operators", "plugins",  # public names of what lives on a floor
}  # fmt: skip
BELOW_ALL = {"errors", "locks", "records", "record_fields"}
LARGEST_CIRCLE = 3

Graph = dict[str, set[str]]


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {name_of(path): path for path in sorted(CORE.rglob("*.py"))}


def imported(path: Path) -> Iterator[str]:
    """The modules that a file imports, also by ``import_module`` with a name that stands there."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom):
            module = absolute(node, path)
            for alias in node.names if module in MODULES else ():
                inner = f"{module}.{alias.name}"
                yield inner if inner in MODULES else module
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            yield from (a.value for a in node.args if getattr(a, "value", None) in MODULES)


def absolute(node: ast.ImportFrom, path: Path) -> str:
    """The module that an import names, from the root also where it is relative to its file."""
    if not node.level:
        return node.module or ""
    folder = path.relative_to(ROOT).parts[: -node.level]
    return ".".join([*folder, *filter(None, [node.module])])


@pytest.fixture(scope="module")
def graph() -> Graph:
    return {name: set(imported(path)) - {name} for name, path in MODULES.items()}


def floor(name: str) -> str:
    """The folder of a module, or its own name where it stands beside the folders."""
    return [*name.split("."), "__init__"][1]


def test_the_folders_are_the_floors() -> None:
    folders = {path.name for path in CORE.iterdir() if (path / "__init__.py").exists()}
    assert folders == set(FLOORS)
    assert {path.stem for path in CORE.glob("*.py")} == BESIDE


def test_every_floor_says_what_it_is_for() -> None:
    for name in FLOORS:
        assert ast.get_docstring(ast.parse((CORE / name / "__init__.py").read_text())), name


def test_imports_go_one_way(graph: Graph) -> None:
    wrong = []
    for name, found in graph.items():
        if floor(name) not in FLOORS:
            continue
        above = {*FLOORS[: FLOORS.index(floor(name)) + 1], *BELOW_ALL}
        wrong += [f"{name} imports {other}" for other in sorted(found) if floor(other) not in above]
    assert wrong == []


def test_what_every_floor_uses_imports_none(graph: Graph) -> None:
    for name in BELOW_ALL:
        assert {floor(other) for other in graph[f"finch_core.{name}"]} <= BELOW_ALL


def test_circles_are_small(graph: Graph) -> None:
    circles = [sorted(c) for c in components(graph) if len(c) > LARGEST_CIRCLE]
    assert circles == []


def components(graph: Graph) -> Iterator[set[str]]:
    """The strongly connected components of a graph: its circles (two walks, after Kosaraju)."""
    order: list[str] = []
    seen: set[str] = set()
    for start in graph:
        order += _finished(graph, start, seen)
    back: Graph = {name: set() for name in graph}
    for name, found in graph.items():
        for other in found:
            back[other].add(name)
    seen = set()
    for start in reversed(order):
        found = _finished(back, start, seen)
        if found:
            yield set(found)


def _finished(graph: Graph, start: str, seen: set[str]) -> list[str]:
    """What can be reached from ``start`` and has not been seen, in the order of being left."""
    if start in seen:
        return []
    seen.add(start)
    done, stack = [], [(start, iter(sorted(graph[start])))]
    while stack:
        name, rest = stack[-1]
        other = next((o for o in rest if o not in seen), None)
        if other is None:
            done.append(name)
            stack.pop()
        else:
            seen.add(other)
            stack.append((other, iter(sorted(graph[other]))))
    return done


def test_the_search_for_circles_finds_them() -> None:
    graph: Graph = {"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": {"d"}, "e": {"a"}}
    assert sorted(map(sorted, components(graph))) == [["a", "b", "c"], ["d"], ["e"]]


def test_imports_of_every_form_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    path = CORE / "ir" / "planted.py"
    forms = (
        "from finch_core.runtime import tensor",
        "import finch_core.runtime.tensor",
        "def f():\n    from ..runtime.tensor import Tensor",
        "from ..runtime import tensor",
        "import importlib\nimportlib.import_module('finch_core.runtime.tensor')",
    )
    for form in forms:
        monkeypatch.setattr(Path, "read_text", lambda self, form=form: form)
        assert list(imported(path)) == ["finch_core.runtime.tensor"], form
