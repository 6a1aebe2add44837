import bz2
import gzip
import lzma
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array
from sklearn.datasets import dump_svmlight_file

from cvxens.datasets import files, load, load_file
from cvxens.errors import DataFileError, InvalidInput

SVM = b"+1 1:0.5 3:2 # a comment\n-1 2:1\n\n-1\n+1 1:4\n"


def found(path, **options):
    with pytest.raises(DataFileError) as caught:
        load_file(path, **options)
    assert caught.value.remedy
    return str(caught.value)


def put(path, content):
    path.write_bytes(content)
    return path


def archive(path, **arrays_by_name):
    np.savez_compressed(path, **arrays_by_name)
    return path


def csr_parts(X, y, part):
    X = csr_array(X)
    parts = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape), "y": y}
    return {f"{key}_{part}": value for key, value in parts.items()}


X = np.array([[0, 2], [3, 0], [0, 0]], dtype=np.uint8)
Y = np.array([1, -1, 1], dtype=np.int8)


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_packed_libsvm_text(tmp_path, pack):
    data = load_file(put(tmp_path / "heart_scale", pack(SVM)))
    assert data.X.tolist() == [[0.5, 0, 2], [0, 1, 0], [0, 0, 0], [4, 0, 0]]
    assert data.y.tolist() == [1, -1, -1, 1]
    assert data.feature_names == ("x0", "x1", "x2")
    assert data.name == "heart_scale"


@settings(deadline=None, max_examples=20)
@given(arrays(np.float64, (3, 4), elements=st.floats(-1e9, 1e9)), st.booleans())
def test_libsvm_numbers_survive(tmp_path_factory, X, zero_based):
    X[:, [0, -1]] = 1
    path = tmp_path_factory.mktemp("svm") / "x"
    dump_svmlight_file(X, [1, 2, 1], str(path), zero_based=zero_based)
    np.testing.assert_allclose(load_file(path).X, X, rtol=1e-15)


def test_libsvm_parts_share_their_features(tmp_path):
    data = load_file(put(tmp_path / "a", SVM), test=put(tmp_path / "a.t", b"1 5:1\n"))
    assert data.X.shape == (4, 5)
    assert data.X_test.tolist() == [[0, 0, 0, 0, 1]]


def test_libsvm_as_csr(tmp_path):
    data = load_file(put(tmp_path / "a", SVM), test=put(tmp_path / "a.t", SVM), sparse=True)
    assert (data.X.format, data.X_test.format) == ("csr", "csr")
    assert data.X.toarray().tolist() == data.X_test.toarray().tolist()


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"1 1:1\n-1 1:abc\n", "malformed LIBSVM"),
        (b"1 2:1 1:1\n-1 1:1\n", "malformed LIBSVM"),
        (b"1 1:1\nfoo\n", "malformed LIBSVM"),
        (b"1 1:nan\n-1 1:1\n", "NaN or infinity in the feature x0"),
        (b"1 1:1\n1 1:2\n", "one label only, 1"),
    ],
)
def test_malformed_libsvm(tmp_path, content, word):
    path = put(tmp_path / "bad.svm", content)
    message = found(path)
    assert word in message
    assert str(path) in message


def test_a_sparse_file_too_large_to_be_dense_says_how_large(tmp_path):
    path = put(tmp_path / "wide.svm", b"1 1:1\n-1 100000:1\n" * 200)
    message = found(path)
    assert "400 x 100000 values, 305 MiB as a dense float64 matrix" in message
    assert "sparse=True" in message
    assert load_file(path, sparse=True).X.shape == (400, 100_000)


def test_a_feature_index_beyond_reason(tmp_path):
    assert "found 100000000 features" in found(put(tmp_path / "wild.svm", b"1 1:1\n-1 100000000:1\n"))


def test_an_archive_of_one_part(tmp_path):
    path = archive(
        tmp_path / "one.npz",
        X=X,
        y=Y,
        source="a book",
        note="scaled",
        labels=np.array(["no", "yes"]),
        feature_names=np.array(["p", "q"]),
    )
    data = load_file(path)
    assert data.X.tolist() == X.tolist()
    assert data.X.dtype == np.float64
    assert data.y.dtype == np.int64
    assert (data.source, data.feature_names, data.name) == ("a book", ("p", "q"), "one")
    assert data.notes == ("scaled", "y: 0 = no, 1 = yes")


def test_an_archive_of_two_parts(tmp_path):
    data = load_file(archive(tmp_path / "two.npz", X_train=X, y_train=Y, X_test=X[:1], y_test=Y[:1]))
    assert data.X_test.tolist() == [[0, 2]]
    assert data.y_test.tolist() == [1]


def test_an_archive_of_csr_parts(tmp_path):
    path = archive(tmp_path / "csr.npz", **csr_parts(X, Y, "train"), **csr_parts(X[:1], Y[:1], "test"))
    assert load_file(path).X.tolist() == X.tolist()
    assert load_file(path).X_test.tolist() == [[0, 2]]
    assert load_file(path, sparse=True).X.dtype == np.float64


def test_published_splits(tmp_path):
    rows = {"train_idx": np.array([[0, 1], [1, 2]], dtype=np.uint16), "test_idx": np.array([[2], [0]], dtype=np.uint16)}
    data = load_file(archive(tmp_path / "s.npz", X=X, y=Y, **rows, splits="two of them"))
    assert [(train.tolist(), test.tolist()) for train, test in data.splits] == [([0, 1], [2]), ([1, 2], [0])]
    assert data.notes == ("two of them",)


def test_large_archives_keep_their_small_type_in_both_parts(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "DENSE_LIMIT", 3 * 2 * 8 - 1)
    dense = load_file(archive(tmp_path / "d.npz", X_train=X, y_train=Y, X_test=X[:1], y_test=Y[:1]))
    sparse = load_file(archive(tmp_path / "s.npz", **csr_parts(X, Y, "train")))
    assert (dense.X.dtype, dense.X_test.dtype, sparse.X.dtype) == (np.uint8, np.uint8, np.uint8)
    assert sparse.X.tolist() == X.tolist()
    assert "uint8" in dense.notes[-1]


@pytest.mark.parametrize(
    ("arrays_by_name", "word"),
    [
        ({"X": X}, "only the arrays X"),
        ({"a": X, "b": Y}, "only the arrays a, b"),
        ({"X": X, "y": Y[:2]}, "shape (3, 2) with 2 labels"),
        ({"X": Y, "y": Y}, "shape (3,)"),
        ({"X": X[:0], "y": Y[:0]}, "unusable labels"),
        ({"X": X, "y": np.array(1)}, "unusable labels"),
        ({"X": X.astype(str), "y": Y}, "type <U"),
        ({"X": np.full((3, 2), np.nan), "y": Y}, "NaN or infinity in the feature x0 of X"),
        ({"X": X, "y": np.array([1.0, np.nan, 2.0])}, "unusable labels"),
        ({"X": X, "y": np.ones(3)}, "one label only"),
        ({"X": X.astype(object), "y": Y}, "cannot be read"),
        ({"X": X, "y": Y, "feature_names": np.array(["p"])}, "1 feature names"),
        ({"X": X, "y": Y, "train_idx": np.array([[9]]), "test_idx": np.array([[0]])}, "not row numbers"),
        ({"X": X, "y": Y, "X_test": X[:, :1], "y_test": Y}, "X_test of shape (3, 1)"),
        (csr_parts(X, Y, "train") | {"shape_train": np.array([3, 10**8])}, "found 100000000 features"),
        ({"X": np.array(3), "y": Y}, "shape ()"),
        (csr_parts(X, Y, "train") | {"indices_train": np.array([7, 0])}, "no CSR matrix"),
    ],
)
def test_malformed_archives(tmp_path, arrays_by_name, word):
    path = archive(tmp_path / "bad.npz", **arrays_by_name)
    message = found(path)
    assert word in message
    assert str(path) in message


def test_a_truncated_archive(tmp_path):
    whole = archive(tmp_path / "whole.npz", X=np.arange(2000.0).reshape(-1, 2), y=np.arange(1000) % 2).read_bytes()
    assert "cannot be read" in found(put(tmp_path / "half.npz", whole[: len(whole) // 2]))
    damaged = bytearray(whole)
    damaged[200:260] = bytes(60)
    assert "cannot be read" in found(put(tmp_path / "damaged.npz", bytes(damaged)))


def test_an_archive_takes_no_separate_test_file(tmp_path):
    path = archive(tmp_path / "one.npz", X=X, y=Y)
    assert "separate test file" in found(path, test=path)


def test_parts_in_two_formats(tmp_path):
    train, test = put(tmp_path / "a.csv", b"a,t\n1,x\n2,y\n"), put(tmp_path / "b.svm", SVM)
    assert "another format" in found(train, test=test)


def test_files_that_are_no_data(tmp_path):
    assert "no such file" in found(tmp_path / "missing.csv")
    assert "a directory" in found(tmp_path)
    assert "an empty file" in found(put(tmp_path / "empty.csv", b""))
    assert "an empty file" in found(put(tmp_path / "blank.csv", b" \n\n"))
    assert "an empty file" in found(put(tmp_path / "empty.gz", gzip.compress(b"")))
    assert "neither text nor" in found(put(tmp_path / "junk.csv", bytes(range(256))))
    assert "not UTF-8" in found(put(tmp_path / "latin.csv", b"a,t\n\xe9t\xe9,x\n1,y\n"))
    assert "no readable file" in found(3)
    assert "no readable file" in found("a\0b")


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_truncated_compression(tmp_path, pack):
    message = found(put(tmp_path / "half", pack(SVM * 1000)[:-20]))
    assert "damaged or truncated" in message


def test_damaged_gzip(tmp_path):
    packed = bytearray(gzip.compress(SVM * 1000))
    packed[30] ^= 0xFF
    assert "damaged or truncated" in found(put(tmp_path / "flipped.gz", bytes(packed)))


def test_importing_the_package_is_light():
    code = (
        "import sys, cvxens.datasets; print([m for m in ('sklearn', 'scipy', 'pandas', 'cvxpy') if m in sys.modules])"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[]"


@pytest.mark.parametrize("name", [None, 3, ["breast_cancer"], {}, np.array(["breast_cancer"])])
def test_names_that_are_no_text(name):
    with pytest.raises(InvalidInput, match=r"^name: found"):
        load(name)
