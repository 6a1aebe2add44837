"""`cvxens export`: a saved model as ONNX that says what `cvxens predict` says, and what it refuses."""

import json

import numpy as np
import onnx
import pytest
from command_line import fit, run, small, write_npz
from onnxruntime import InferenceSession

from cvxens import load_model


@pytest.fixture
def data(tmp_path):
    X, _ = small(30)
    return write_npz(tmp_path / "three.npz", X, np.digitize(X[:, 0], [-0.5, 0.5]))


@pytest.mark.parametrize("model", ["LPBoostClassifier", "InfiniteEnsembleSVC", "AdaBoostMHClassifier", "LPBoostRanker"])
def test_the_graph_predicts_as_the_model_does(capsys, tmp_path, data, model):
    saved = fit(capsys, data, model=model)
    status, told, err = run(capsys, "export", saved, "--out", tmp_path / "model.onnx")
    assert (status, err) == (0, "")
    names, of_classes = (["scores"], "") if model == "LPBoostRanker" else (["label", "scores"], " and 3 classes")
    assert told == f"{model} of 2 features{of_classes}; exported to {tmp_path / 'model.onnx'}\n"
    X, _ = small(30)
    *label, scores = InferenceSession(tmp_path / "model.onnx").run(names, {"X": X})
    assert run(capsys, "predict", saved, data)[1].split()[1:] == [str(value) for value in [*label, scores][0]]
    if label:
        np.testing.assert_array_equal(scores, load_model(saved).decision_function(X))


def test_what_became_of_text_is_told(capsys, tmp_path):
    (tmp_path / "towns.csv").write_text("age,town,class\n31,Ulm,yes\n38,Bonn,no\n45,Ulm,yes\n52,Bonn,no\n")
    saved = fit(capsys, tmp_path / "towns.csv")
    assert run(capsys, "export", saved, "--out", tmp_path / "towns.onnx")[0] == 0
    properties = {entry.key: entry.value for entry in onnx.load(tmp_path / "towns.onnx").metadata_props}
    # stumps take a missing age as missing, so there is no median to tell
    assert json.loads(properties["columns"]) == {"age": None, "town": ["Bonn", "Ulm"]}
    told = "numbers, or the codes 0, 1, ... of levels in the order that columns has them"
    assert properties["input"].startswith(told)
    assert properties["estimator"] == "LPBoostClassifier"
    # Ulm is yes; of a town that is not known, NaN, nothing is said, and a score of 0 is the first class
    asked = np.array([[40.0, 1.0], [np.nan, np.nan]])
    label, scores = InferenceSession(tmp_path / "towns.onnx").run(None, {"X": asked})
    assert (label.tolist(), scores.tolist()) == (["yes", "no"], [1.0, 0.0])

    # machines take indicators and medians
    saved = fit(capsys, tmp_path / "towns.csv", model="InfiniteEnsembleSVC")
    assert run(capsys, "export", saved, "--out", tmp_path / "towns.onnx")[0] == 0
    properties = {entry.key: entry.value for entry in onnx.load(tmp_path / "towns.onnx").metadata_props}
    assert json.loads(properties["columns"]) == {"age": 41.5, "town": ["Bonn", "Ulm"]}
    assert json.loads(properties["feature_names"]) == ["age", "town=Bonn", "town=Ulm"]
    assert properties["input"] == "numbers, those in columns where missing; 0/1 for each level in the lists of columns"
