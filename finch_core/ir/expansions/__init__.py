"""Operators, casts and statements in terms of simpler ones: the library of backends.

    kernel = in_terms_of_others(kernel, lacks)

``lacks`` says of each ``Call``, ``Cast`` and ``Sort`` whether the backend has no code for it.
"""

from finch_core.ir.expansions import complex_functions, complexes, conversions, floats, integers
from finch_core.ir.expansions.forms import assembly_form
from finch_core.ir.expansions.replacing import in_terms_of_others
from finch_core.ir.expansions.sorting import heapsort

__all__ = ["assembly_form", "heapsort", "in_terms_of_others"]

FAMILIES = (integers, floats, complexes, complex_functions, conversions)
"""The modules whose forms are in the table: importing them puts them there."""
