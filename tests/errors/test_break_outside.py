import pytest


def test_break_outside():
    """Python itself refuses it, where the function is defined."""
    for word, message in (
        ("break", "'break' outside loop"),
        ("continue", "'continue' not properly in loop"),
    ):
        with pytest.raises(SyntaxError) as error:
            compile(f"def kernel(y):\n    y[0] = 1\n    {word}\n", "kernels.py", "exec")
        assert (error.value.msg, error.value.lineno) == (message, 3)
