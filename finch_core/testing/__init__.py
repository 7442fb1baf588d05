"""The suites by which authors of plugins test them, and what they are built from.

They need ``pytest``; nothing in ``finch_core`` imports this package.
"""

from finch_core.testing.arrays import DTYPES, KINDS, array, using, values

__all__ = ["DTYPES", "KINDS", "array", "using", "values"]
