import types

import pytest
from error_support import MATRIX, sparse

from finch_core import FormatError
from finch_core.interface.array_namespace import METHODS
from finch_core.plugins import hub


@pytest.fixture
def _no_array_functions(monkeypatch):
    """As if no plugin provided an array namespace."""
    monkeypatch.setattr(type(hub()), "array_namespaces", types.MappingProxyType({}))
    monkeypatch.delitem(METHODS, "getitem", raising=False)  # as the hub has it forgotten


@pytest.mark.usefixtures("_no_array_functions")
def test_element_slice():
    A = sparse(MATRIX)
    expected = """\
element access takes integers, not slice
  hint: to_numpy() gives an array that can be sliced"""
    with pytest.raises(FormatError) as error:
        A[1, :]
    assert str(error.value) == expected
