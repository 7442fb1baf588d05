"""Dependencies point one way, and the core knows no format, wrapper or backend by name."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("finch_core", "finch_levels", "finch_wrappers", "finch_backend_c")

# two names that the core knows: the default order of backends
ALLOWED = {"c", "interpreter"}


def files(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module or ""


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_imports_no_other_than_the_core(package: str) -> None:
    others = {*PACKAGES, "bench", "tests"} - {package, "finch_core"}
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in files(package)
        for name in imported(ast.parse(path.read_text()))
        if name.split(".")[0] in others
    ]
    assert files(package)
    assert not wrong


def plugin_names() -> set[str]:
    """Names of formats, wrappers and scalars, of their modules, and of the other packages."""
    names = set(PACKAGES) - {"finch_core"}
    for package in ("finch_levels", "finch_wrappers"):
        for path in (ROOT / package).glob("*.py"):
            if path.stem != "__init__":
                names |= {path.stem} | set(public(path))
    return names - GENERIC


# words of the language that also name a plugin's module
GENERIC = {"scalar", "element", "pattern", "dense", "window", "offset", "permissive"}


def public(path: Path) -> Iterator[str]:
    """Names of the classes and functions that a plugin's module defines for users."""
    for node in ast.parse(path.read_text()).body:
        named = isinstance(node, (ast.ClassDef, ast.FunctionDef))
        if named and not node.name.startswith(("_", "finch_")):
            yield node.name


def words(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Identifiers and strings, except docstrings and messages, with their lines."""
    docstrings = {id(node) for node in docstring_nodes(tree)}
    for node in ast.walk(tree):
        line = getattr(node, "lineno", 0)
        for field in ("id", "attr", "arg", "name", "module"):
            if isinstance(value := getattr(node, field, None), str):
                yield line, value
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        # messages to users, which may show a format by way of example, are prose: they have spaces
        if is_text and id(node) not in docstrings and " " not in node.value:
            yield line, node.value


def docstring_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Strings that stand as statements: docstrings, of attributes too."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):
            yield node.value


def test_the_core_knows_no_plugin_by_name() -> None:
    names = plugin_names()
    assert {"SparseList", "Dense", "finch_backend_c"} <= names
    wrong = []
    for path in files("finch_core"):
        tree = ast.parse(path.read_text())
        for line, text in words(tree):
            found = names & set(re.findall(r"\w+", text))
            if found:
                wrong.append(f"{path.relative_to(ROOT)}:{line}: {sorted(found)}")
    assert not wrong, "\n".join(wrong)


def test_the_core_names_no_backend_but_the_two_of_the_language() -> None:
    tree = ast.parse((ROOT / "finch_core/runtime/backends.py").read_text())
    constants = [n.value for n in ast.walk(tree) if isinstance(n, ast.Assign)]
    single = {n.value for n in constants if isinstance(n, ast.Constant)}
    assert single - {"finch.backends", "FINCH_BACKEND", None} == ALLOWED
