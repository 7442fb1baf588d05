import pytest

from finch_core import FormatError
from finch_levels import Dense, Pattern, SparseList


def test_pattern_below_dense():
    """Every index of a Dense level is stored, and what a Pattern stores is True."""
    with pytest.raises(FormatError) as refused:
        Dense(Pattern())
    assert (
        str(refused.value)
        == """\
a Dense level stores fill values, which a Pattern below it cannot hold
  hint: Element(False) as the leaf, or a sparse level above the Pattern"""
    )
    with pytest.raises(FormatError):
        SparseList(Dense(Dense(Pattern())))
