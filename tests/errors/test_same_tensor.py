from error_support import VECTOR, refusal

from finch_core import LifecycleError, _, kernel


@kernel
def add(y, x):
    for i in _:
        y[i] += x[i]


def test_same_tensor():
    expected = """\
y is written, and shares memory with x
  line 1
    def add(y, x):
            ^
  hint: pass a copy of it, x.copy()"""
    assert refusal(LifecycleError, add, VECTOR, VECTOR) == expected
