import types

import pytest

from finch_core import PluginError
from finch_core.level import Format
from finch_core.plugins import Hub, hookimpl


class Bare(Format):
    name = "Bare"


def test_plugin_lacks_method():
    expected = """\
the plugin 'bare' (registered by hand): the level format 'Bare' lacks the methods 'declare', 'assemble', 'freeze', 'thaw', 'unfurl or unwrap' and 'sizes'
  hint: docs/hooks.md has what each hook takes; where a name is taken, block(name) gives it up"""
    with pytest.raises(PluginError) as error:
        Hub().register(types.SimpleNamespace(finch_level_format=hookimpl(lambda: Bare)), "bare")
    assert str(error.value) == expected
