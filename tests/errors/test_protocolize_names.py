import pytest
from error_support import VECTOR, sparse

from finch_core import DimensionMismatch
from finch_wrappers import protocolize


def test_protocolize_names():
    x = sparse(VECTOR)
    expected = """\
('leap',) is not one protocol for each of 1 dimension
  hint: pass one of 'follow', 'gallop' and 'walk' or None for each dimension"""
    with pytest.raises(DimensionMismatch) as error:
        protocolize(x, "leap")
    assert str(error.value) == expected
