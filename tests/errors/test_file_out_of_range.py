import pytest

from finch_core import FormatError, read


def test_file_out_of_range(tmp_path):
    path = tmp_path / "a.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 1.0\n")
    with pytest.raises(FormatError) as error:
        read(path)
    assert str(error.value) == "a.mtx, line 3: the index 3 is not from 1 to 2"
