"""`cvxens export`: a saved model as ONNX that says what `cvxens predict` says, and what it refuses."""

import json
import sys

import numpy as np
import onnx
import pytest
from command_line import run, small, write_csv, write_npz
from onnxruntime import InferenceSession

from cvxens import load_model


@pytest.fixture
def data(tmp_path):
    X, _ = small(30)
    return write_npz(tmp_path / "three.npz", X, np.digitize(X[:, 0], [-0.5, 0.5]))


def fitted(capsys, data, *parameters, model="LPBoostClassifier"):
    out = data.with_name("model")
    given = [part for parameter in parameters for part in ("--param", parameter)]
    assert run(capsys, "fit", data, "--model", model, *given, "--out", out)[0] == 0
    return out


def refused(capsys, *arguments):
    """Standard error of an export that is refused, one line of it, without the "error: "."""
    status, out, err = run(capsys, "export", *arguments)
    assert (status, out) == (2, "")
    assert err.count("\n") == 1
    return err.removeprefix("error: ").rstrip("\n")


@pytest.mark.parametrize("model", ["LPBoostClassifier", "InfiniteEnsembleSVC", "AdaBoostMHClassifier"])
def test_the_graph_predicts_as_the_model_does(capsys, tmp_path, data, model):
    saved = fitted(capsys, data, model=model)
    status, told, err = run(capsys, "export", saved, "--out", tmp_path / "model.onnx")
    assert (status, err) == (0, "")
    assert told == f"{model} of 2 features and 3 classes; exported to {tmp_path / 'model.onnx'}\n"
    X, _ = small(30)
    label, scores = InferenceSession(tmp_path / "model.onnx").run(["label", "scores"], {"X": X})
    assert run(capsys, "predict", saved, data)[1].split()[1:] == [str(value) for value in label]
    np.testing.assert_array_equal(scores, load_model(saved).decision_function(X))


def test_what_became_of_text_is_told(capsys, tmp_path):
    (tmp_path / "towns.csv").write_text("age,town,class\n31,Ulm,yes\n38,Bonn,no\n45,Ulm,yes\n52,Bonn,no\n")
    saved = fitted(capsys, tmp_path / "towns.csv")
    assert run(capsys, "export", saved, "--out", tmp_path / "towns.onnx")[0] == 0
    properties = {entry.key: entry.value for entry in onnx.load(tmp_path / "towns.onnx").metadata_props}
    # stumps take a missing age as missing, so there is no median to tell
    assert json.loads(properties["columns"]) == {"age": None, "town": ["Bonn", "Ulm"]}
    assert properties["input"].startswith(
        "numbers, or the codes 0, 1, ... of levels in the order that columns has them"
    )
    assert properties["estimator"] == "LPBoostClassifier"
    # Ulm is yes; of a town that is not known, NaN, nothing is said, and a score of 0 is the first class
    label, scores = InferenceSession(tmp_path / "towns.onnx").run(
        None, {"X": np.array([[40.0, 1.0], [np.nan, np.nan]])}
    )
    assert (label.tolist(), scores.tolist()) == (["yes", "no"], [1.0, 0.0])


def test_indicators_and_medians_are_told(capsys, tmp_path):
    (tmp_path / "towns.csv").write_text("age,town,class\n31,Ulm,yes\n38,Bonn,no\n45,Ulm,yes\n52,Bonn,no\n")
    saved = fitted(capsys, tmp_path / "towns.csv", model="InfiniteEnsembleSVC")
    assert run(capsys, "export", saved, "--out", tmp_path / "towns.onnx")[0] == 0
    properties = {entry.key: entry.value for entry in onnx.load(tmp_path / "towns.onnx").metadata_props}
    assert json.loads(properties["columns"]) == {"age": 41.5, "town": ["Bonn", "Ulm"]}
    assert json.loads(properties["feature_names"]) == ["age", "town=Bonn", "town=Ulm"]
    assert properties["input"] == "numbers, those in columns where missing; 0/1 for each level in the lists of columns"


@pytest.mark.parametrize(
    ("model", "parameters", "found"),
    [
        ("LPBoostClassifier", ["oracle=trees"], "found a SignedTree as a weak learner, which is no stump"),
        ("InfiniteEnsembleSVC", ["kernel=gaussian"], "found that the kernel 'gaussian' is not additive"),
        ("RhoSVC", ["kernel=laplacian"], "found that shape_functions_: the kernel Laplacian"),
        ("SupervisedKernelRLSClassifier", ["n_experts=2"], "found a SupervisedKernelRLSClassifier, which is not made"),
    ],
)
def test_models_that_cannot_be_exported(capsys, data, model, parameters, found):
    out = data.with_name("model.onnx")
    told = refused(capsys, fitted(capsys, data, *parameters, model=model), "--out", out)
    assert told.startswith(f"model: {found}")
    assert told.endswith(
        "; give an ensemble of stumps, or a machine whose kernel is a sum over features, such as 'stump'"
    )
    assert not out.exists()


def test_files_that_are_no_models(capsys, tmp_path):
    csv, out = write_csv(tmp_path / "small.csv", *small()), tmp_path / "model.onnx"
    assert refused(capsys, csv, "--out", out) == f"model: found no model in {csv}; name another file"
    assert "cannot be read" in refused(capsys, tmp_path / "gone", "--out", out)
    assert not out.exists()


@pytest.mark.parametrize(
    ("target", "found"),
    [
        ("nowhere/model.onnx", "found no folder for it"),
        (".", "found a folder"),
        ("x" * 300, "cannot be written (File name too long)"),
    ],
)
def test_places_that_cannot_be_written(capsys, data, monkeypatch, target, found):
    saved = fitted(capsys, data)
    monkeypatch.chdir(data.parent)
    told = refused(capsys, saved, "--out", target)
    assert told.startswith("--out: found ")
    assert found in told


def test_without_onnx(capsys, tmp_path, data, monkeypatch):
    saved = fitted(capsys, data)
    monkeypatch.setitem(sys.modules, "onnx", None)
    told = refused(capsys, saved, "--out", tmp_path / "model.onnx")
    assert told == "onnx: found no such package; install it: pip install 'cvxens[onnx]'"


def test_usage(capsys, tmp_path):
    status, out, err = run(capsys, "export", tmp_path / "model")
    assert (status, out) == (2, "")
    assert "Missing option '--out'" in err
