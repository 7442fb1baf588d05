"""Former module names: plugins that import a module under its old name keep working, with a
``DeprecationWarning`` that gives the new one.

``finch_core.context`` is ``finch_core.interface.context`` now, and so on. The finder is asked
only if there is no module of that name, so it costs nothing otherwise. New code imports the
public modules (``docs/public-modules.md``).
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import warnings
from collections.abc import Sequence
from types import ModuleType
from typing import Any

MOVED = {
    "abi": "interface.abi",
    "absent": "symbolic.missing_values",
    "affine": "symbolic.affine",
    "algebra": "symbolic.algebra",
    "arguments": "runtime.arguments",
    "arrays": "runtime.arrays",
    "assembly": "ir.assembly",
    "assembly_check": "ir.verify",
    "assembly_rewrite": "ir.assembly_rewrite",
    "assembly_text": "ir.assembly_text",
    "backends": "runtime.backends",
    "binding": "interface.tensorlike",
    "bounds": "lower.bounds symbolic.out_of_range symbolic.guards",
    "boxes": "lower.boxes",
    "builder": "ir.builder",
    "commands": "cli",
    "compile": "runtime.pipeline runtime.normalize runtime.parameters",
    "context": "interface.context",
    "conversions": "interface.conversions",
    "convert": "runtime.convert",
    "coordinate_files": "io.coordinate_files",
    "dead_locals": "symbolic.dead_locals",
    "depth": "ir.depth",
    "describe": "runtime.describe",
    "dimensions": "lower.dimensions",
    "discordance": "lower.access_order",
    "dtypes": "ir.dtypes",
    "entries": "runtime.specialization",
    "entry_points": "interface.discovery",
    "expressions": "ir.expressions",
    "extents": "lower.extents",
    "file_contents": "io.file_contents",
    "files": "io.files",
    "functions": "frontend.functions frontend.user_operators ir.defined_operators ir.missing",
    "hookspecs": "interface.hookspecs",
    "interpreter": "reference.interpreter",
    "interpreter_code": "reference.closures reference.statement_closures",
    "kernels": "runtime.kernel",
    "keys": "runtime.keys",
    "layout": "interface.layout",
    "limits": "interface.capacity",
    "looplets.base": "interface.looplet interface.run",
    "looplets.cases": "looplets.merge_cost",
    "looplets.choice": "looplets.select",
    "looplets.masked": "looplets.predicated_merge",
    "looplets.run": "interface.run",
    "lowering": "lower.statements symbolic.guards",
    "market_files": "io.market_files",
    "notation": "ir.program",
    "number_text": "io.number_text",
    "numpy_files": "io.numpy_files",
    "optimize.banks": "optimize.privatization",
    "optimize.dead": "optimize.dead_code",
    "optimize.elements": "optimize.scalar_replacement",
    "optimize.fills": "optimize.store_forwarding",
    "optimize.flags": "optimize.boolean_constants",
    "optimize.fresh": "optimize.dead_fills",
    "optimize.heads": "optimize.growth_hoisting",
    "optimize.indirect": "optimize.gather_reductions",
    "optimize.invariant": "optimize.invariant_code_motion",
    "optimize.lanes": "optimize.vector_reductions",
    "optimize.places": "optimize.dereferenceability",
    "optimize.promote": "optimize.scalar_promotion",
    "optimize.raised": "optimize.invariant_stores",
    "optimize.scanned": "optimize.predicate_compaction",
    "optimize.scoped": "optimize.sinking",
    "optimize.settled": "optimize.copy_propagation",
    "optimize.threaded": "optimize.jump_threading",
    "optimize.unswitched": "optimize.unswitching",
    "outcomes": "symbolic.outcomes",
    "passes": "lower.passes",
    "passes.concordize": "lower.concordize",
    "passes.dimensionalize": "lower.dimensionalize",
    "passes.lifecycle": "lower.lifecycle",
    "passes.orders": "lower.write_order",
    "passes.scopes": "lower.scopes",
    "passes.scratch": "lower.scratch",
    "passes.unit": "lower.pass_state",
    "passes.widths": "lower.index_casts",
    "passes.wrapperize": "lower.wrapperize",
    "pickling": "runtime.pickling",
    "plugin_calls": "interface.plugin_calls",
    "plugin_checks": "interface.plugin_checks",
    "plugin_objects": "interface.plugin_objects",
    "plugin_records": "interface.plugin_records",
    "plugin_rules": "symbolic.plugin_rules",
    "primitives": "ir.primitives",
    "program_text": "ir.program_text",
    "prover": "symbolic.prover",
    "ranges": "symbolic.ranges",
    "reference_code": "ir.python_code",
    "reference_extents": "reference.extents",
    "reference_wrappers": "reference.wrappers",
    "rewrite": "ir.rewrite looplets.slots",
    "routines": "looplets.routines",
    "run_block": "testing.run_block",
    "scipy_arrays": "runtime.scipy_arrays",
    "scipy_conversion": "runtime.scipy_conversion",
    "selection": "lower.leading_indices",
    "signatures": "interface.signatures",
    "simplify": "symbolic.simplifier",
    "sources": "runtime.sources",
    "specialize": "lower.scalar_cases",
    "storage": "runtime.storage",
    "tensor": "runtime.tensor",
    "text_tables": "io.text_tables",
    "tracebacks": "runtime.tracebacks",
    "typing_pass": "ir.typing",
    "updates": "symbolic.updates",
    "validation": "runtime.validation",
    "views": "interface.wrapper_examples",
    "wrapping": "runtime.wrapping",
}
"""The present modules of each former module; several where it was divided."""


def _warn(module: str, target: str, name: str) -> None:
    warnings.warn(
        f"{module}.{name} is finch_core.{target}.{name} since version {RENAMED} of the interface "
        "of plugins; the former name goes with a later version",
        DeprecationWarning,
        stacklevel=3,
    )


RENAMED = 2
"""The version of the interface that has the present names."""


class _Loader:
    """Creates a module that forwards attribute access to others."""

    def __init__(self, targets: tuple[str, ...]) -> None:
        self.targets = targets

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        def find(name: str) -> Any:
            for target in self.targets:
                found = importlib.import_module(f"finch_core.{target}")
                if hasattr(found, name):
                    if not name.startswith("__"):  # what the import system asks of every module
                        _warn(module.__name__, target, name)
                    return getattr(found, name)
            raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}")

        module.__getattr__ = find  # type: ignore[method-assign]


class MovedFinder:
    """Finds the modules of ``MOVED`` under their former names."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        package, _, inner = name.partition(".")
        if package != "finch_core" or inner not in MOVED:
            return None
        loader: Any = _Loader(tuple(MOVED[inner].split()))
        is_package = any(other.startswith(f"{inner}.") for other in MOVED)
        return importlib.util.spec_from_loader(name, loader, is_package=is_package)
