import pytest

from finch_backend_c.cbackend import CBackend
from finch_core import BackendError
from finch_core.ir.assembly import Block, Kernel


def test_backend_compiler_fails(monkeypatch, tmp_path):
    broken = tmp_path / "cc"
    broken.write_text("#!/bin/sh\necho 'internal error: out of ideas' >&2\nexit 3\n")
    broken.chmod(0o755)
    monkeypatch.setenv("CC", str(broken))
    monkeypatch.delenv("FINCH_CFLAGS", raising=False)
    with pytest.raises(BackendError) as error:
        CBackend().compile(Kernel("nothing", (), (), Block(()), ()))
    first, *rest = str(error.value).splitlines()
    assert first.startswith(f"the C compiler failed: {broken} -O3")
    assert rest == [
        "    internal error: out of ideas",
        "  hint: set CC to another compiler, or check FINCH_CFLAGS if you set it",
    ]
