from error_support import VECTOR, refusal

from finch_core import KernelSyntaxError, _, kernel, stored


def test_syntax_stored_value():
    @kernel
    def asked(y, x):
        for i in _:
            if stored(2 * x[i]):
                y[i] += 1

    expected = """\
'stored' asks of an element of a tensor, and this is a value
  line 3
    if stored(2 * x[i]):
              ^^^^^^^^
  hint: write 'stored(A[i, j])'"""
    assert refusal(KernelSyntaxError, asked, VECTOR.copy(), VECTOR) == expected
