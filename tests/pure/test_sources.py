"""The state of source files in keys: which files are read, and which count by a stamp alone."""

import sys

import pytest

from finch_core.interface.plugins import hub
from finch_core.runtime import sources


@pytest.mark.parametrize(
    "name", ["finch_core", "finch_levels.dense", "finch_wrappers", "finch_backend_c.loader", "json"]
)
def test_our_own_modules_and_pythons_need_no_stamp_of_their_own(name):
    assert sources.is_settled(name)


@pytest.mark.parametrize("name", ["__main__", "pluggy", "finch", "finch_backend_c_more"])
def test_other_modules_do(name):
    assert not sources.is_settled(name)


def test_the_key_of_a_built_in_kernel_reads_no_source(monkeypatch):
    read = []
    monkeypatch.setattr(sources, "_imports", lambda name, *rest: read.append(name) or [])
    modules = {module.__name__ for module in hub().modules()}
    assert list(sources._reached({"finch_backend_c", "finch_core.reference", *modules})) == []
    assert read == []


def test_a_module_of_a_script_is_stamped_with_what_it_imports(tmp_path, monkeypatch):
    (tmp_path / "helper_a.py").write_text("import helper_b; from math import pi\n")
    (tmp_path / "helper_b.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    names = [path for path, _, _ in sources._reached({"helper_a"})]
    assert sorted(names) == [str(tmp_path / "helper_a.py"), str(tmp_path / "helper_b.py")]
    assert "helper_a" not in sys.modules
