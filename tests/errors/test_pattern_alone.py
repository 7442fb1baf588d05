import numpy as np
import pytest

from finch_core import FormatError, Tensor
from finch_levels import Pattern


@pytest.mark.parametrize("data", [None, (), False, True, np.zeros((), bool)], ids=repr)
def test_pattern_alone(data):
    """A tensor without dimensions stores its element, and what a Pattern stores is True."""
    with pytest.raises(FormatError) as refused:
        Tensor(Pattern(), data)
    assert (
        str(refused.value)
        == """\
a tensor without dimensions stores its element, which Pattern alone cannot: it does not hold the fill value False
  hint: Scalar(False), or Element(False) as the format"""
    )


def test_pattern_alone_over_buffers():
    with pytest.raises(FormatError, match="Pattern alone"):
        Tensor.from_buffers(Pattern(), (), {})
