import pytest

from finch_core import FormatError
from finch_levels import Pattern


def test_pattern_fill():
    expected = """\
Pattern stores True where something is stored: its fill is False, not True
  hint: Element(fill) takes any fill value"""
    with pytest.raises(FormatError) as error:
        Pattern(True)
    assert str(error.value) == expected
