"""Parquet tables are read as the same tables in delimited text."""

import sys

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from cvxens.datasets import load_file, load_samples
from cvxens.errors import DataFileError

COLUMNS = {
    "size": [0.1, 1 / 3, 1e-300, None, -2.5e17],
    "town": ["Ulm", 'a "b", c', None, "Ulm", "Bonn"],
    "large": [True, False, None, True, False],
    "class": [1, 0, 1, 0, 1],
}


@pytest.fixture
def path(tmp_path):
    parquet.write_table(pyarrow.table(COLUMNS), tmp_path / "table.parquet")
    return tmp_path / "table.parquet"


def test_a_table_is_read_to_the_last_bit(path):
    data = load_file(path)
    assert data.feature_names[:2] == ("size", "town=?")
    np.testing.assert_array_equal(data.X[[0, 1, 2, 4], 0], [0.1, 1 / 3, 1e-300, -2.5e17])
    np.testing.assert_array_equal(data.y, COLUMNS["class"])
    assert data.X[:, data.feature_names.index("town=Ulm")].tolist() == [1, 0, 0, 1, 0]
    assert data.X[:, data.feature_names.index("large=true")].tolist() == [1, 0, 0, 1, 0]


def test_samples_are_encoded_as_in_the_fit(path, tmp_path):
    data = load_file(path)
    new = {name: COLUMNS[name][::-1] for name in ("large", "town", "size")}
    parquet.write_table(pyarrow.table(new), tmp_path / "new.parquet")
    X, y, _ = load_samples(tmp_path / "new.parquet", data.X.shape[1], data.encoder)
    assert y is None
    np.testing.assert_array_equal(X, data.X[::-1])


def test_a_truncated_file(path):
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataFileError, match="cannot be read as a table"):
        load_file(path)


def test_columns_of_lists(tmp_path):
    parquet.write_table(pyarrow.table({"a": [[1], [2]], "class": [0, 1]}), tmp_path / "lists.parquet")
    with pytest.raises(DataFileError, match="cannot be read as a table"):
        load_file(tmp_path / "lists.parquet")


def test_without_pyarrow(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataFileError, match=r"no pyarrow to read it; install cvxens\[parquet\]"):
        load_file(path)
