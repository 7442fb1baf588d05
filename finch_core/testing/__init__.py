# ruff: noqa: E402
"""Test suites that authors of plugins subclass, and the helpers that these use.

They need ``pytest``; nothing in ``finch_core`` imports this package.
"""

import pkgutil

import pytest

# before the suites are imported: a failing assertion in them shows its values, as those in tests do
pytest.register_assert_rewrite(*(f"{__name__}.{m.name}" for m in pkgutil.iter_modules(__path__)))

from finch_core.interface.wrapper_examples import Example, View
from finch_core.testing.arrays import DTYPES, KINDS, array, values
from finch_core.testing.assembly_passes import AssemblyPassSuite
from finch_core.testing.backends import BackendSuite
from finch_core.testing.bench import Bench
from finch_core.testing.dtypes import DtypeSuite
from finch_core.testing.file_formats import FileFormatSuite
from finch_core.testing.formats import (
    admit,
    leaf,
    level_names,
    nest,
    only_first,
    only_first_run,
    takes_any_order,
)
from finch_core.testing.levels import LevelSuite
from finch_core.testing.masks import MaskSuite
from finch_core.testing.parts import LeafSuite, OperatorSuite, RuleSuite, ScalarSuite
from finch_core.testing.running import backend_names, on, using
from finch_core.testing.wrappers import WrapperSuite, wrapper_names

__all__ = [
    "AssemblyPassSuite",
    "BackendSuite",
    "Bench",
    "DTYPES",
    "DtypeSuite",
    "Example",
    "FileFormatSuite",
    "KINDS",
    "LeafSuite",
    "LevelSuite",
    "MaskSuite",
    "OperatorSuite",
    "RuleSuite",
    "ScalarSuite",
    "View",
    "WrapperSuite",
    "admit",
    "array",
    "backend_names",
    "leaf",
    "level_names",
    "nest",
    "on",
    "only_first",
    "only_first_run",
    "takes_any_order",
    "using",
    "values",
    "wrapper_names",
]
