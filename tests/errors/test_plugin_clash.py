import types

import pytest

from finch_core import PluginError
from finch_core.plugins import Hub, hookimpl
from finch_levels import SparseList, sparse_list


def test_plugin_clash():
    expected = """\
the plugin 'others' (registered by hand): the level format 'SparseList' is taken by 'lists' (registered by hand)
  hint: docs/hooks.md has what each hook takes; where a name is taken, block(name) gives it up"""
    made = Hub()
    made.register(sparse_list, "lists")
    again = hookimpl(lambda: SparseList)
    other = types.SimpleNamespace(finch_level_format=again)
    with pytest.raises(PluginError) as error:
        made.register(other, "others")
    assert str(error.value) == expected
    assert made.level("SparseList") is SparseList
