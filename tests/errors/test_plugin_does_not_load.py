import pytest

from finch_core import PluginError
from finch_core.interface.discovery import EntryPoint
from finch_core.plugins import Hub


def test_plugin_does_not_load():
    expected = """\
there is no level format 'Broken'
  hint: installed: none; failed: 'broken' (my-formats 1.2): it does not load: ModuleNotFoundError: No module named 'broken_formats'"""
    entry = EntryPoint("broken", "broken_formats:plugin", "finch.plugins", "my-formats", "1.2")
    made = Hub.discover([entry])
    with pytest.raises(PluginError) as error:
        made.level("Broken")
    assert str(error.value) == expected
