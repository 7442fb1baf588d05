import pytest

from finch_core import FormatError, read


def test_file_ending(tmp_path):
    expected = """\
the ending of 'a.xyz' is not that of a known file format
  hint: endings are '.mtx', '.mtx.gz', '.ttx', '.ttx.gz', '.tns', '.tns.gz', '.npy', '.npz', \
'.bsp.h5', '.bsp.hdf5', '.bsp.npz', '.bsp.zarr', '.parquet', '.arrow' and '.feather'"""
    with pytest.raises(FormatError) as error:
        read(tmp_path / "a.xyz")
    assert str(error.value) == expected
