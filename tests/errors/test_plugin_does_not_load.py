import importlib.metadata

import pytest

from finch_core import PluginError
from finch_core.plugins import Hub


class Broken:
    """An entry point of a distribution that is installed, and broken."""

    name, value, group = "broken", "broken_formats:plugin", "finch.plugins"
    dist = importlib.metadata.distribution("pluggy")

    def load(self):
        raise ImportError("No module named 'broken_formats'")


def test_plugin_does_not_load():
    expected = """\
there is no level format 'Broken'
  hint: installed: none; failed: 'broken' (pluggy VERSION): it does not load: ImportError: No module named 'broken_formats'"""
    made = Hub.discover([Broken()])
    with pytest.raises(PluginError) as error:
        made.level("Broken")
    version = Broken.dist.version
    assert str(error.value).replace(version, "VERSION") == expected
