from error_support import VECTOR, dense, refusal

from finch_core import FormatError, _, kernel


@kernel
def shifted(y, x):
    y[...] = 0
    for i in _:
        y[i] = x[i] + x[~(i - 1)]


def test_missing_stored():
    expected = """\
missing cannot be stored or tested: a permissive read may be out of bounds here
  line 4
    y[i] = x[i] + x[~(i - 1)]
    ^^^^^^^^^^^^^^^^^^^^^^^^^
  hint: give it a value there, as in coalesce(A[~i], 0)"""
    assert refusal(FormatError, shifted, dense(VECTOR), VECTOR) == expected
