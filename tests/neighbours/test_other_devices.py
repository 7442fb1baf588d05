"""Arrays in the memory of another device: stand-ins for those of CuPy and torch."""

from __future__ import annotations

import sys
import types
from typing import Any

import numpy as np
import pytest
import scipy.sparse

import finch_array as fa
from finch_core import FormatError, Tensor, _, kernel
from finch_levels import Dense, Element, SparseList

CSR = Dense(SparseList(Element(0.0)))
CUDA = 2


class Remote:
    """An array of CuPy: it is copied where that is asked for, and never by ``__array__``."""

    __module__, __qualname__ = "cupy", "ndarray"

    def __init__(self, data: Any, kind: int = CUDA) -> None:
        self._data, self.kind, self.asked = np.asarray(data), kind, []
        self.shape, self.ndim, self.dtype = self._data.shape, self._data.ndim, self._data.dtype

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def __dlpack_device__(self) -> Any:
        return (self.kind, 0)

    def __dlpack__(self, **options: Any) -> Any:
        self.asked.append(dict(options))
        options.pop("dl_device", None)
        return self._data.__dlpack__(**options)

    def get(self) -> Any:
        return self._data


class RemoteRows:
    """A matrix of ``cupyx.scipy.sparse``."""

    __module__, __qualname__ = "cupyx.scipy.sparse", "csr_matrix"
    format, ndim = "csr", 2

    def __init__(self, data: Any) -> None:
        self.rows = scipy.sparse.csr_matrix(data)
        self.shape, self.dtype = self.rows.shape, self.rows.dtype
        parts = (self.rows.data, self.rows.indices, self.rows.indptr)
        self.data, self.indices, self.indptr = map(Remote, parts)

    def tocoo(self) -> Any:
        raise NotImplementedError

    def get(self) -> Any:
        return self.rows


class RemoteCoordinates(RemoteRows):
    format = "coo"


@kernel
def total(s, A):
    s[...] = 0
    for i, j in _:
        s[()] += A[i, j]


USES = [
    fa.asarray, fa.sum, lambda x: fa.eye(3) + x, lambda x: x + fa.eye(3), fa.lazy,
    lambda x: Tensor(CSR, x), lambda x: total(np.zeros(()), x), lambda x: fa.matmul(x, fa.eye(3)),
]  # fmt: skip


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("made", [Remote, RemoteRows, RemoteCoordinates])
def test_arrays_on_a_device_are_refused_with_what_copies_them(made: Any, use: Any) -> None:
    with pytest.raises(FormatError, match="is on cuda:0, and kernels run on the") as error:
        use(made(np.eye(3)))
    assert error.value.hint == "x.get() copies it to memory of the processor"
    assert float(fa.sum(made(np.eye(3)).get())) == 3


def test_dlpack_copies_from_a_device_where_that_is_asked_for() -> None:
    remote = Remote(np.eye(3))
    with pytest.raises(BufferError, match=r"is on cuda:0: from_dlpack\(x, device='cpu'\) copies"):
        fa.from_dlpack(remote)
    assert not remote.asked
    found = fa.from_dlpack(remote, device="cpu")
    assert remote.asked[0]["dl_device"] == (1, 0)
    np.testing.assert_array_equal(found.to_numpy(), np.eye(3))
    fa.from_dlpack(remote, device="cpu", copy=True)
    assert remote.asked[1]["copy"] is True

    class Older(Remote):
        def __dlpack__(self, stream: Any = None) -> Any:
            return self._data.__dlpack__()

    with pytest.raises(BufferError, match=r"copies to no other device: x\.get\(\)"):
        fa.from_dlpack(Older(np.eye(3)), device="cpu")


@pytest.mark.parametrize("kind", [1, 3, 13])
def test_memory_that_the_processor_reads_is_taken(kind: int) -> None:
    """Its own, pinned and managed."""
    for found in (fa.from_dlpack(Remote(np.eye(3), kind)), fa.asarray(Remote(np.eye(3), kind))):
        np.testing.assert_array_equal(found.to_numpy(), np.eye(3))


def test_a_library_that_copies_unasked_is_asked_by_its_array_protocol() -> None:
    class Willing(Remote):
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return self._data

    np.testing.assert_array_equal(fa.asarray(Willing(np.eye(3))).to_numpy(), np.eye(3))


def test_tensors_of_torch_on_a_device(monkeypatch: pytest.MonkeyPatch) -> None:
    class Held:
        __module__, __qualname__ = "torch", "Tensor"
        layout, requires_grad, shape, ndim = "strided", False, (3, 3), 2
        device = types.SimpleNamespace(type="cuda")

        def cpu(self) -> Any: ...

    module: Any = types.ModuleType("torch")
    module.Tensor, module.strided = Held, "strided"
    monkeypatch.setitem(sys.modules, "torch", module)
    written = [lambda x: total(x, np.eye(3))]
    for use in (*USES[:3], *USES[5:], *written):
        with pytest.raises(FormatError, match="this torch.Held is on .*cuda.*") as error:
            use(Held())
        assert error.value.hint == "x.cpu() copies it to memory of the processor"


def test_values_that_are_no_array_of_numpy_are_named() -> None:
    held = RemoteRows(np.eye(3))
    held.data = memoryview(b"")
    with pytest.raises(FormatError, match="are no array of NumPy, but builtins.memoryview"):
        fa.asarray(held)


def test_compressed_arrays_of_pydata_come_by_scipy() -> None:
    """They have ``tocoo``, by which SciPy's arrays are known, and no format of SciPy."""

    class GCXS:
        format = "gcxs"

        def __init__(self, data: Any) -> None:
            self.dense = np.asarray(data)
            self.data = self.dense.reshape(-1)
            self.shape, self.ndim = self.dense.shape, self.dense.ndim

        def tocoo(self) -> Any: ...

        def to_scipy_sparse(self) -> Any:
            if self.ndim != 2:
                raise ValueError("of two dimensions")
            return scipy.sparse.csr_array(self.dense)

    np.testing.assert_array_equal(fa.asarray(GCXS(np.eye(3))).to_numpy(), np.eye(3))
    assert float(fa.sum(GCXS(np.eye(3)))) == 3
    with pytest.raises(FormatError, match="this GCXS cannot be read as an array: of two dim"):
        fa.asarray(GCXS(np.ones((2, 2, 2))))
