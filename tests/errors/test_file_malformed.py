import pytest

from finch_core import FormatError, read


def test_file_malformed(tmp_path):
    path = tmp_path / "a.mtx"
    path.write_text("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1.0\n1 x 2.0\n")
    with pytest.raises(FormatError) as error:
        read(path)
    assert str(error.value) == "a.mtx, line 4: 'x' is no index"
