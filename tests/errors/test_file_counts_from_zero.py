import pytest

from finch_core import FormatError, read


def test_file_counts_from_zero(tmp_path):
    path = tmp_path / "a.tns"
    path.write_text("# a comment\n1 1 2.0\n2 0 3.0\n")
    with pytest.raises(FormatError) as error:
        read(path)
    assert str(error.value) == "a.tns, line 3: the index 0 is out of range: indices count from 1"
