import gzip
import subprocess
import sys
from hashlib import sha256

import numpy as np
import pytest

from cvxens.datasets import available, breast_cancer, catalogue, load
from cvxens.errors import DataFileError, InvalidInput

TRAIN, TEST = b"a,c,t\n1,p,x\n2,q,y\n", b"a,c,t\n3,q,y\n"


@pytest.fixture
def directory(tmp_path, monkeypatch):
    (tmp_path / "town_train.csv.gz").write_bytes(packed := gzip.compress(TRAIN))
    (tmp_path / "town_test.csv").write_bytes(TEST)
    np.savez(tmp_path / "river.npz", X=np.eye(3), y=[1, -1, 1])
    lines = [
        "name\tfile\tsource\tsha256",
        f"town_train\ttown_train.csv.gz\tcensus\t{sha256(packed).hexdigest()}",
        'town_test\ttown_test.csv\tcensus "2"',
        f"river\triver.npz\tsurvey\t{'0' * 64}",
        "lake\tlake.npz\tsurvey\t",
    ]
    (tmp_path / "MANIFEST.tsv").write_text("\n".join(lines) + "\n")
    monkeypatch.setenv("CVXENS_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def nowhere(tmp_path, monkeypatch):
    monkeypatch.delenv("CVXENS_DATA", raising=False)
    monkeypatch.setattr(catalogue, "__file__", str(tmp_path / "a" / "b" / "c" / "catalogue.py"))
    return tmp_path


def test_names_are_looked_up_in_the_manifest(directory):
    assert available() == ("breast_cancer", "lake", "river", "town", "town_test", "town_train")
    data = load("town_train")
    assert (data.name, data.source) == ("town_train", "census")
    assert data.X.tolist() == [[1, 1, 0], [2, 0, 1]]


def test_a_training_and_a_test_file_make_one_set(directory):
    data = load("town")
    assert (data.name, data.source) == ("town", 'census; census "2"')
    assert data.X_test.tolist() == [[3, 0, 1]]
    assert load("town", sparse=True).X_test.format == "csr"


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("river", "SHA-256"),
        ("lake", "no such file"),
        ("twon", "did you mean town"),
        ("breast-cancer", "did you mean breast_cancer"),
        ("rivers", "did you mean river"),
        ("zzzz", r"none of the 6 known data sets; available\(\) lists"),
        *((name, "^name: found") for name in (None, 3, ["breast_cancer"], {}, np.array(["breast_cancer"]))),
    ],
)
def test_what_cannot_be_loaded(directory, name, found):
    with pytest.raises(InvalidInput, match=found) as caught:
        load(name)
    assert isinstance(caught.value, DataFileError) == (name in ("river", "lake") if isinstance(name, str) else False)


def test_without_a_directory_only_the_bundled_set_is_there(nowhere):
    assert available() == ("breast_cancer",)
    assert load("breast_cancer").X.shape == (569, 30)
    with pytest.raises(InvalidInput, match="set CVXENS_DATA"):
        load("town")


def test_the_directory_beside_a_checkout(nowhere):
    beside = nowhere / "shared" / "data"
    beside.mkdir(parents=True)
    (beside / "MANIFEST.tsv").write_text("name\tfile\nvillage\tv.csv\n")
    (beside / "v.csv").write_bytes(TRAIN)
    (nowhere / "a" / "b").mkdir(parents=True)
    assert load("village").X.shape == (2, 3)


def test_a_variable_that_names_no_data_directory(directory, monkeypatch):
    monkeypatch.setenv("CVXENS_DATA", str(directory / "elsewhere"))
    with pytest.raises(DataFileError, match=r"CVXENS_DATA: found no MANIFEST.tsv"):
        available()
    assert load("breast_cancer").name == "breast_cancer"


@pytest.mark.parametrize("text", ["nom\tfichier\na\tb\n", "name\tfile\nonly\n", "name,file\na,b\n"])
def test_a_malformed_manifest(directory, text):
    (directory / "MANIFEST.tsv").write_text(text)
    with pytest.raises(DataFileError, match="without a name or a file"):
        load("town")


def test_the_bundled_set_is_what_its_notes_say():
    data = breast_cancer()
    signs = data.as_signs().y
    assert np.isfinite(data.X).all()
    assert ((signs > 0).sum(), (signs < 0).sum()) == (357, 212)
    assert len(data.feature_names) == 30
    assert data.notes == ("y: 0 = malignant, 1 = benign",)
    assert load("breast_cancer", sparse=True).X.toarray().tolist() == data.X.tolist()


def test_importing_the_package_is_light():
    code = "import sys, cvxens.datasets; print({'sklearn', 'scipy', 'pandas', 'cvxpy'} & {*sys.modules})"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "set()\n"
