"""What is installed: the folders that are read here, against ``importlib.metadata``."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from finch_core.interface import discovery as entry_points
from finch_core.interface.discovery import EntryPoint, installed

PLUGINS = "finch.plugins"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all of the path."""
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    return tmp_path


def write(place: Path, folder: str, lines: str, name: str = "Some-Formats", file: str = "METADATA"):
    made = place / folder
    made.mkdir(parents=True)
    made.joinpath("entry_points.txt").write_text(lines)
    made.joinpath(file).write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.5\n\nName: no")
    return made


def by_library(group: str = PLUGINS) -> set[EntryPoint]:
    return {
        EntryPoint(e.name, e.value, e.group, e.dist.name, e.dist.version)
        for e in metadata.entry_points(group=group)
    }


@pytest.mark.parametrize("group", [PLUGINS, "finch.backends"])
def test_here_the_library_finds_the_same(group: str) -> None:
    assert {"dense", "c"} & {entry.name for entry in installed(group)}
    assert set(installed(group)) == by_library(group)


@pytest.mark.parametrize(
    "lines",
    [
        "[finch.plugins]\nmine = my_formats",
        "[finch.plugins]\nmine = my_formats:plugin.inner\nother=my_formats.other [extra]\n",
        "# finch\n\n[console_scripts]\nmine = no:main\n\n[finch.plugins]\n# none\n  mine  =  a:b \n"
        "[finch.backends]\nc = c:backend\n[gui_scripts]\nno = no:no\n",
        "[console_scripts]\nfinch.plugins = [finch.plugins:no\n",
        "[finch.plugins.more]\nno = no",
        "",
    ],
    ids=["one", "forms", "groups", "name", "longer", "empty"],
)
@pytest.mark.parametrize(
    ("folder", "file"),
    [("some_formats-1.5.dist-info", "METADATA"), ("Some.Formats.egg-info", "PKG-INFO")],
)
def test_a_folder_is_read_as_the_library_reads_it(place, folder, file, lines) -> None:
    write(place, folder, lines, file=file)
    for group in (PLUGINS, "finch.backends"):
        assert set(installed(group)) == by_library(group)


def test_the_first_of_a_distribution_hides_the_others(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(sys, "path", [str(tmp_path / "a"), str(tmp_path / "b")])
    write(tmp_path, "a/some_formats-2.dist-info", "[finch.plugins]\nmine = new")
    write(tmp_path, "b/Some.Formats-1.dist-info", "[finch.plugins]\nmine = old\nlost = old")
    assert [(e.name, e.value) for e in installed(PLUGINS)] == [("mine", "new")]
    assert set(installed(PLUGINS)) == by_library()


def test_the_folder_one_works_in_is_on_the_path(tmp_path, monkeypatch) -> None:
    write(tmp_path, "mine.egg-info", "[finch.plugins]\nmine = mine")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["", str(tmp_path / "not there"), tmp_path, None])
    assert [entry.value for entry in installed(PLUGINS)] == ["mine"]


def test_finders_that_are_not_pythons_own_see_names_of_folders_alone(place, monkeypatch) -> None:
    """``importlib_metadata``'s finder fails on whatever else lies on the path."""

    class Finder(metadata.DistributionFinder):
        def find_distributions(self, context: Any = None) -> list[metadata.Distribution]:
            assert all(isinstance(folder, str) for folder in context.path)
            return []

    write(place, "mine-1.dist-info", "[finch.plugins]\nmine = mine")
    write(place, "again/mine-2.dist-info", "[finch.plugins]\nold = mine")
    monkeypatch.setattr(sys, "path", [str(place), str(place / "again"), place, None])
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    entry_points._on_path.cache_clear()
    assert [(e.name, e.distribution) for e in installed(PLUGINS)] == [("mine", "Some-Formats")]
    entry_points._on_path.cache_clear()


def test_a_folder_that_cannot_be_read_tells_nothing(place: Path) -> None:
    place.joinpath("broken-1.dist-info", "entry_points.txt").mkdir(parents=True)
    place.joinpath("file-1.egg-info").write_text("Name: file")
    write(place, "mine-1.dist-info", "[finch.plugins]\nmine = mine")
    assert [entry.name for entry in installed(PLUGINS)] == ["mine"]


def test_what_is_not_in_a_folder_is_left_to_the_library(tmp_path, monkeypatch) -> None:
    archive = tmp_path / "formats.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("mine-1.dist-info/entry_points.txt", "[finch.plugins]\nmine = mine")
        file.writestr("mine-1.dist-info/METADATA", "Name: mine\nVersion: 1\n")
    monkeypatch.setattr(sys, "path", [str(archive)])
    assert set(installed(PLUGINS)) == {EntryPoint("mine", "mine", PLUGINS, "mine", "1")}
    egg = tmp_path / "formats-1-py3.egg"
    write(egg, "EGG-INFO", "[finch.plugins]\nmine = mine", file="PKG-INFO")
    monkeypatch.setattr(sys, "path", [str(egg)])
    assert [entry.name for entry in installed(PLUGINS)] == ["mine"]


def test_a_finder_with_distributions_of_its_own_is_asked(place: Path, monkeypatch) -> None:
    class Frozen(metadata.Distribution):
        def read_text(self, filename: str) -> str | None:
            return {
                "entry_points.txt": "[finch.plugins]\nfrozen = frozen",
                "METADATA": "Name: frozen\nVersion: 3\n",
            }.get(filename)

        def locate_file(self, path: Any) -> Any:
            return path

    class Finder(metadata.DistributionFinder):
        def find_distributions(self, context: Any = None) -> list[metadata.Distribution]:
            return [Frozen()]

    write(place, "mine-1.dist-info", "[finch.plugins]\nmine = mine")
    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    entry_points._on_path.cache_clear()
    assert {(e.name, e.version) for e in installed(PLUGINS)} == {("mine", "1.5"), ("frozen", "3")}
    entry_points._on_path.cache_clear()


def test_what_is_found_is_loaded() -> None:
    def load(value: str) -> Any:
        return EntryPoint("x", value, PLUGINS).load()

    assert load("os.path").__name__ in sys.modules
    assert load("os : path.join [extra]") is __import__("os").path.join
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        load("no_such_module")
    with pytest.raises(AttributeError, match="no_such_name"):
        load("os:no_such_name")


def test_the_common_case_does_without_the_library() -> None:
    program = (
        "import sys; from finch_core.plugins import hub; hub(); "
        "from finch_core.runtime.backends import backends; backends().installed; "
        "sys.exit('importlib.metadata' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
