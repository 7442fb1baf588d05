import types

import attrs
import pytest

from finch_core import PluginError
from finch_core.plugins import Hub, hookimpl
from finch_levels import Dense


@attrs.frozen
class Short(Dense):
    name = "Short"
    layout = ""

    def assemble(self, ctx, lvl, start): ...


def test_plugin_signature():
    expected = """\
the plugin 'short' (registered by hand): the level format 'Short' has a method with the wrong signature: assemble(self, ctx, lvl, start); it is called as assemble(ctx, lvl, start, stop)
  hint: docs/hooks.md has what each hook takes; where a name is taken, block(name) gives it up"""
    with pytest.raises(PluginError) as error:
        Hub().register(types.SimpleNamespace(finch_level_format=hookimpl(lambda: Short)), "short")
    assert str(error.value) == expected
