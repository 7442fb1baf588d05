import pytest

from finch_core import PluginError
from finch_core.plugins import Hub
from finch_levels import sparse_list


def test_plugin_unknown():
    expected = """\
there is no level format 'SparseLost'
  hint: installed: SparseList"""
    made = Hub()
    made.register(sparse_list, "lists")
    with pytest.raises(PluginError) as error:
        made.level("SparseLost")
    assert str(error.value) == expected
