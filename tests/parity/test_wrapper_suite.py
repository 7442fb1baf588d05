"""The built-in wrappers pass the suite that authors of wrappers subclass."""

from __future__ import annotations

import pytest

from finch_core.plugins import hub
from finch_core.testing import WrapperSuite, wrapper_names

pytestmark = pytest.mark.sampled(0.36)


def suite(name: str) -> type[WrapperSuite]:
    """The suite of one wrapper; a failure names it by the class."""
    members = {"wrapper": hub().wrappers[name], "__module__": __name__}
    return type(f"Test_{name}", (WrapperSuite,), members)


globals().update({f"Test_{name}": suite(name) for name in wrapper_names()})


def test_there_are_wrappers_to_test() -> None:
    assert {"offset", "swizzle", "window"} <= set(wrapper_names())
