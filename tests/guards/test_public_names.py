"""Names in ``__all__`` resolve, packages are typed, hooks are documented."""

from __future__ import annotations

import ast
import importlib
import inspect
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

import finch_core
import finch_core.errors
import finch_core.level
import finch_levels
from finch_array.namespace import NAMES
from finch_core.interface import hookspecs
from finch_core.ir.dtypes import SUPPORTED
from finch_core.plugins import hub

ROOT = Path(__file__).parents[2]
PACKAGES = ("finch_core", "finch_levels", "finch_wrappers", "finch_backend_c")
ERRORS = {name for name, value in vars(finch_core.errors).items() if isinstance(value, type)}
HOOKS = sorted(name for name in vars(hookspecs) if name.startswith("finch_"))


@pytest.mark.parametrize("package", PACKAGES)
def test_names_in_all_resolve(package: str) -> None:
    module = importlib.import_module(package)
    assert module.__all__
    assert [name for name in module.__all__ if not hasattr(module, name)] == []


def test_built_in_formats_are_public_names_of_their_package() -> None:
    made = {**hub().levels, **hub().scalars}
    own = {name for name, cls in made.items() if cls.__module__.startswith("finch_levels.")}
    assert own - {*finch_levels.__all__} == set()


def test_array_programs_have_a_name_for_every_dtype() -> None:
    assert {*map(str, SUPPORTED)} - {*NAMES} == set()


def test_the_core_lists_its_public_names_and_modules() -> None:
    assert sorted(finch_core._HOME_OF) == sorted(finch_core.__all__)
    found = {name for name in dir(finch_core) if not name.startswith("__")}
    assert set(finch_core.__all__) <= found
    assert {"errors", "level"} <= found
    assert found.isdisjoint({"Any", "importlib", "sys", "_HOMES"})


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_are_marked_as_typed(package: str) -> None:
    assert (ROOT / package / "py.typed").exists()


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_is_documented_with_its_arguments(hook: str) -> None:
    arguments = ", ".join(inspect.signature(getattr(hookspecs, hook)).parameters)
    assert f"### `{hook}({arguments})`\n" in (ROOT / "docs/hooks.md").read_text()


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_has_a_test(hook: str) -> None:
    text = "".join(p.read_text() for p in (ROOT / "tests/plugins").glob("test_*.py"))
    assert re.search(rf"\b{hook}\b", text)


def test_no_document_describes_a_hook_that_is_not_there() -> None:
    described = re.findall(r"^### `(\w+)\(", (ROOT / "docs/hooks.md").read_text(), re.MULTILINE)
    assert sorted(described) == HOOKS


def unnamed_errors(path: Path) -> Iterator[str]:
    """Public functions with a docstring that does not name the errors raised by their bodies."""
    text = path.read_text()
    tree = ast.parse(text if re.search(rf"raise ({'|'.join(ERRORS)})\(", text) else "")
    for node in ast.walk(tree):
        if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
            continue
        said, raised = ast.get_docstring(node), set(raised_in(node.body))
        if (
            said is not None
            and raised
            and not re.search("|".join({*raised, "[Rr]efuse", "raises as"}), said)
        ):
            yield f"{path.relative_to(ROOT)}: {node.name} raises {', '.join(sorted(raised))}"


def raised_in(body: Iterable[ast.AST]) -> Iterator[str]:
    """The names of errors of the project that statements raise, functions inside left out."""
    for node in body:
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
            name = ast.unparse(node.exc.func)
            if name in ERRORS:
                yield name
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.Lambda)):
            yield from raised_in(ast.iter_child_nodes(node))


def test_public_functions_name_the_errors_that_they_raise() -> None:
    paths = [
        path for package in (*PACKAGES, "finch_array") for path in (ROOT / package).rglob("*.py")
    ]
    assert [line for path in paths for line in unnamed_errors(path)] == []


def test_every_room_of_the_core_is_on_the_floor_plan() -> None:
    plan = (ROOT / "docs/floorplan.md").read_text()
    folders = [p.name for p in (ROOT / "finch_core").iterdir() if (p / "__init__.py").exists()]
    assert folders
    assert [name for name in folders if f"`finch_core/{name}`" not in plan] == []
