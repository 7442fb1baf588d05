"""A submodule that shares a public name would replace it as soon as anything imports it."""

from pathlib import Path

import finch_core


def test_no_submodule_is_called_like_a_public_name():
    modules = {path.stem for path in Path(finch_core.__file__).parent.iterdir()}
    assert not modules & set(finch_core.__all__)
