"""Whatever cannot be used is one line on standard error that names it, and exit status 2."""

import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import python, run, small, write_csv

from cvxens import InfiniteEnsembleSVC, LPBoostClassifier, RhoSVC, SupervisedKernelRLSClassifier
from cvxens.cli import main
from cvxens.cli.options import printing_warnings
from cvxens.errors import InvalidInput
from cvxens.problems import FORMULATIONS

BINARY = bytes(range(256)) * 8
TOWNS = "age,town,class\n31,Ulm,yes\n38,Bonn,no\n45,Ulm,yes\n52,Bonn,no\n60,Ulm,yes\n33,Bonn,no\n"
X, Y = small()
CONTENTS = {
    "junk.bin": BINARY,
    "three.csv": b"a,class\n1,red\n2,green\n3,blue\n",
    "towns.csv": TOWNS.encode(),
    "commented.csv": b"# of 1999\n" + TOWNS.encode(),
    "missing.csv": b"age,class\n31,yes\n",
    "words.csv": b"age,town\nold,Ulm\n",
    "wide.svm": b"1 1:2 2:1 3:1 4:1\n-1 1:3\n",
    "unlabelled.csv": b"x0,x1\n1,2\n",
    "MANIFEST.tsv": b"name\tfile\nheart\theart.npz\ngone\tgone.npz\n",
}
ARRAYS = {
    "nan.npz": {"X": np.full_like(X, np.nan), "y": Y},
    "narrow.npz": {"X": X[:, :1]},
    "labels.npz": {"X": X, "y": [1, 2]},
    "other.npz": {"Z": X},
    "heart.npz": {"X": X, "y": Y},
    "third.npz": {"X": X, "y": np.digitize(X[:, 0], [-0.5, 0.5])},
}
MODELS = {
    "model": LPBoostClassifier(),
    "trees": LPBoostClassifier(oracle="trees"),
    "gaussian": InfiniteEnsembleSVC(kernel="gaussian"),
    "middle": InfiniteEnsembleSVC(kernel="middle-stump"),
    "rho": RhoSVC(kernel="laplacian"),
    "experts": SupervisedKernelRLSClassifier(n_experts=2),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder of files and models that are wrong in one way each, or not at all."""
    here = tmp_path_factory.mktemp("here")
    for name, content in CONTENTS.items():
        (here / name).write_bytes(content)
    for name, arrays in ARRAYS.items():
        np.savez(here / name, **arrays)
    csv = write_csv(here / "small.csv", X, Y)
    (here / "odd.csv").write_text(csv.read_text().replace("good", "odd"))
    write_csv(here / "alike.csv", np.full((30, 2), 7.0), np.where(np.arange(30) % 2, 1.0, -1.0))
    for name, model in MODELS.items():
        model.fit(X, Y.astype(int)).save(here / name)
    LPBoostClassifier().fit(ARRAYS["third.npz"]["X"], ARRAYS["third.npz"]["y"]).save(here / "three")
    (here / "damaged").write_bytes((here / "model").read_bytes()[:-5])
    for name, model in (("towns", "RhoSVC"), ("small", "LPBoostClassifier"), ("commented", "LPBoostClassifier")):
        with pytest.raises(SystemExit, match="0"):
            main(["fit", str(here / f"{name}.csv"), "--model", model, "--out", str(here / f"of_{name}.csv")])
    return here


FIT = ["fit", "small.csv", "--out", "made", "--model"]
ADDITIVE = "; give an ensemble of stumps, or a machine whose kernel is a sum over features, such as 'stump'"
CELLS = "a line of the data has too few or too many cells"
WITHOUT_DATA = "--test: found it without DATA; give the samples of the fit as DATA, and others with their target"
REFUSED = [
    # files
    (["crosscheck", "junk.bin"], "junk.bin: found neither text nor a format that is known"),
    (["crosscheck", "three.csv"], "y: found labels that are not two classes but 3: blue: 1, green: 1, red: 1"),
    (["crosscheck", "alike.csv"], "X: found all rows alike, so every feature is constant; give at least one feature"),
    *((["crosscheck", name], "found no such file; check the path") for name in ("no.csv", "no/no", "./no")),
    (["crosscheck", "."], "found a directory; name a file in it"),
    (["crosscheck", "x" * 5000], "found"),
    (["crosscheck", "x" * 5000 + ".csv"], "File name too long"),
    (["crosscheck", "haert"], "did you mean heart?"),
    (["crosscheck", "gone"], "gone.npz: found no such file"),
    (["crosscheck", "--formulation", "SVM"], "formulation: found 'SVM'; name one of "),
    (["info", "breast_cancer", "--target", "a"], "--target: found for the data set of the name 'breast_cancer'; name"),
    # parameters
    ([*FIT, "LPBoost"], "--model: found 'LPBoost'; did you mean LPBoostClassifier?"),
    ([*FIT, "zzz"], "name one of AdaBoostClassifier, "),
    ([*FIT, "LPBoostClassifier", "--param", "c=1"], "--param: found 'c=1'; give name=value for one of C, "),
    ([*FIT, "LPBoostClassifier", "--param", "C"], "--param: found 'C'"),
    ([*FIT, "LPBoostClassifier", "--param", "C=-1"], "C: found -1; give a finite number above 0"),
    ([*FIT, "LPBoostClassifier", "--param", "C=[1"], "C: found '[1'"),
    ([*FIT, "LPBoostClassifier", "--param", "oracle=stump"], "oracle: found 'stump'"),
    ([*FIT, "SupervisedKernelRLSRegressor"], "which are no numbers to predict; take a classifier"),
    ([*FIT, "RhoSVC", "--test-share", "1.5"], "--test-share: found 1.5; give a number between 0 and 1"),
    ([*FIT, "RhoSVC", "--test-share", "0.999"], "--test-share: found 0.999 ("),
    ([*FIT, "RhoSVC", "--cv", "1"], "--cv: found 1 ("),
    ([*FIT, "RhoSVC", "--test-share", "0.5", "--test", "x.csv"], "--test-share: found it beside --test"),
    (["fit", "heart.npz", "--model", "RhoSVC", "--out", "made", "--drop", "a"], "found no table, but --drop"),
    # models
    (["predict", "small.csv", "small.csv"], "model: found no model in"),
    (["certify", "no", "small.csv"], "cannot be read"),
    (["certify", "damaged", "small.csv"], "truncated or damaged"),
    (["export", "small.csv", "--out", "made"], "model: found no model in small.csv; name another file"),
    (["export", "no", "--out", "made"], "cannot be read"),
    (["warmup", "Stumps"], "names: found 'Stumps'; give one of 'LPBoostClassifier', 'AdditiveClassifier'"),
    (["export", "trees", "--out", "made"], "found a SignedTree as a weak learner, which is no stump, tree"),
    (["export", "gaussian", "--out", "made"], "the kernel 'gaussian' is not additive"),
    (["export", "rho", "--out", "made"], "shape_functions_: the kernel Laplacian"),
    (["export", "experts", "--out", "made"], "found a SupervisedKernelRLSClassifier, which is not made"),
    (["prove", "of_towns.csv", "towns.csv", "--out", "made"], "found a RhoSVC"),
    (["prove", "three", "third.npz", "--out", "made"], "MODEL: found one of 3 classes; give one of two"),
    (["prove", "trees", "heart.npz", "--out", "made"], "hypotheses an exact proof cannot name"),
    (["prove", "middle", "heart.npz", "--out", "made"], "no exact proof is known for"),
    (["prove", "of_commented.csv", "commented.csv", "--out", "made"], CELLS),
    # new samples
    (["predict", "of_towns.csv", "missing.csv"], "missing.csv: found no column 'town'"),
    (["predict", "of_towns.csv", "words.csv"], "words.csv: found 'old' in line 2"),
    (["predict", "of_towns.csv", "wide.svm"], "wide.svm: found X of shape (2, 4)"),
    (["predict", "of_towns.csv", "no.csv"], "no.csv: found no such file"),
    (["predict", "model", "narrow.npz"], "2 features per sample"),
    (["predict", "model", "nan.npz"], "finite numbers"),
    (["predict", "model", "labels.npz"], "found y of shape (2,)"),
    (["predict", "model", "other.npz"], "found no X, only Z"),
    (["predict", "model", "small.csv"], "fitted to none"),
    (["certify", "of_small.csv", "unlabelled.csv"], "found no target"),
    (["certify", "of_small.csv", "odd.csv"], "found the classes ['bad' 'odd']"),
    (["report", "of_small.csv", "small.csv", "--out", "made", "--explain", "99"], "explain: found [99]"),
    (["report", "no", "--out", "made"], "no"),
    (["report", "of_small.csv", "--test", "small.csv", "--out", "made"], WITHOUT_DATA),
]


@pytest.mark.parametrize(("arguments", "found"), REFUSED)
def test_what_cannot_be_used_is_named_in_one_line(capsys, folder, monkeypatch, arguments, found):
    monkeypatch.chdir(folder)
    monkeypatch.setenv("CVXENS_DATA", str(folder))
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert found in err
    assert err.count("\n") == 1
    if "SVM" in arguments:
        assert all(formulation.__name__ in err for formulation in FORMULATIONS)
    if arguments[0] == "export" and arguments[1] in MODELS:
        assert err.endswith(f"{ADDITIVE}\n")
    assert not Path("made").exists()


PLACES = {"nowhere/made": "found no folder for it", ".": "found a folder", "x" * 300: "File name too long"}
WRITERS = [
    ["fit", "small.csv", "--model", "RhoSVC", "--out"],
    ["export", "model", "--out"],
    ["report", "model", "--out"],
    ["prove", "of_small.csv", "small.csv", "--out"],
    ["crosscheck", "small.csv", "--json"],
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("arguments", WRITERS, ids=lambda arguments: arguments[0])
def test_a_place_that_cannot_be_written_is_told_before_the_work(capsys, folder, monkeypatch, arguments, place):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(RhoSVC, "fit", None)
    status, out, err = run(capsys, *arguments, place)
    assert (status, out) == (2, "")
    assert err.startswith(f"error: {arguments[-1]}: found ")
    assert PLACES[place] in err


def test_a_disk_that_is_full_in_the_end(capsys, tmp_path, monkeypatch):
    def full(path, text, encoding):
        return original(path, text, encoding) if not text else full_disk()

    def full_disk():
        raise OSError(28, "No space left on device")

    original = Path.write_text
    csv = write_csv(tmp_path / "small.csv", *small())
    monkeypatch.setattr(Path, "write_text", full)
    status, out, err = run(capsys, "crosscheck", csv, "--formulation", "SLSSVM", "--json", tmp_path / "report.json")
    assert status == 2
    assert "1 of 1 agree" in out
    assert "report.json', which cannot be written (No space left on device); make room, or name another" in err


def test_without_onnx(capsys, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    err = run(capsys, "export", folder / "model", "--out", folder / "made")[2]
    assert err == "error: onnx: found no such package; install it: pip install 'cvxens[onnx]'\n"


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        (["nonsense"], "No such command 'nonsense'"),
        (["crosscheck", "a", "b"], "unexpected extra argument"),
        (["crosscheck", "--nonsense"], "No such option"),
        (["crosscheck", "--json"], "requires an argument"),
        (["export", "model"], "Missing option '--out'"),
        (["fit", "a", "--out", "b", "--decimal", "x"], "is not one of"),
    ],
)
def test_usage(capsys, arguments, found):
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert found in err
    assert "Error: " in err


def test_no_traceback_from_a_process_either(folder):
    done = python("-c", "from cvxens.cli import main; main()", "crosscheck", folder / "junk.bin")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert done.stderr.count("\n") == 1


def test_what_scikit_learn_refuses_is_said_of_the_data():
    with (
        pytest.raises(InvalidInput, match=r"DATA: found what the model cannot use \(too few\); change it"),
        printing_warnings("DATA"),
    ):
        raise ValueError("too few")
