import pytest

from finch_backend_c import toolchain
from finch_backend_c.cbackend import CBackend
from finch_core import BackendError
from finch_core.ir.assembly import Block, Kernel


def test_backend_no_compiler(monkeypatch, tmp_path):
    expected = """\
no C compiler was found; tried cc, gcc, clang, the package ziglang
  hint: install gcc or clang, or `pip install ziglang`, or set CC to a compiler's path"""
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(toolchain, "find_spec", lambda name: None)
    with pytest.raises(BackendError) as error:
        CBackend().compile(Kernel("nothing", (), (), Block(()), ()))
    assert str(error.value) == expected
