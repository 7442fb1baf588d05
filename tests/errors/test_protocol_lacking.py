from error_support import VECTOR, refusal

from finch_core import FormatError, _, gallop, kernel
from finch_levels import Scalar


@kernel
def leading(s, x):
    for i in _:
        s[()] += x[gallop(i)]


def test_protocol_lacking():
    expected = """\
dimension 0 of x cannot be read by gallop: a Dense level reads by 'follow' and 'walk'
  line 3
    s[()] += x[gallop(i)]
             ^^^^^^^^^^^^
  hint: 'RunList', 'SparseBlockList', 'SparseByteMap', 'SparseCOO', 'SparseDiagonals', 'SparseHash', 'SparseList' and 'SparseRunList' can"""
    assert refusal(FormatError, leading, Scalar(0.0), VECTOR) == expected
