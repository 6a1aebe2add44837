"""`cvxens prove` and `cvxens check`: a proof about a file, refused for any other, and what cannot be proven."""

import json

import numpy as np
import pytest
from command_line import python, run, small, write_csv, write_libsvm, write_npz

from cvxens.proofs import checker


def fitted(capsys, data, *parameters, model="LPBoostClassifier"):
    out = data.with_name("model")
    given = [part for parameter in parameters for part in ("--param", parameter)]
    assert run(capsys, "fit", data, "--model", model, *given, "--out", out)[0] == 0
    return out


@pytest.mark.parametrize(("name", "writer"), [("data.csv", write_csv), ("data.svm", write_libsvm)])
def test_a_proof_passes_with_its_data_and_with_the_file_alone(capsys, tmp_path, name, writer):
    data, proof = writer(tmp_path / name, *small()), tmp_path / "proof.json"
    status, told, err = run(capsys, "prove", fitted(capsys, data, "C=0.3"), data, "--out", proof)
    assert (status, err) == (0, "")
    assert told.endswith(f"exactly the least.\nrelative gap 0; saved to {proof}\n")
    status, told, _ = run(capsys, "check", proof, data)
    assert status == 0
    assert told == f"PASS: {json.loads(proof.read_text())['claim']}\n"
    assert python("-I", checker.__file__, proof, data).stdout == told


@pytest.mark.parametrize("separator", [";", "\t"])
def test_machines_are_proven_from_files_with_any_separator(capsys, tmp_path, separator):
    data, proof = write_csv(tmp_path / "data.csv", *small()), tmp_path / "proof.json"
    data.write_text(data.read_text().replace(",", separator))
    model = fitted(capsys, data, "C=0.3", model="InfiniteEnsembleSVC")
    status, told, _ = run(capsys, "prove", model, data, "--out", proof)
    assert status == 0
    assert "functions of the stump kernel" in told
    assert run(capsys, "check", proof, data)[0] == 0
    assert json.loads(proof.read_text())["data"]["separator"] == separator


def test_the_program_is_written_for_other_checkers(capsys, tmp_path):
    data = write_csv(tmp_path / "data.csv", *small())
    model = fitted(capsys, data, "C=0.3")
    others = ["--vipr", tmp_path / "proof.vipr", "--lean", tmp_path / "proof", "--restricted"]
    assert run(capsys, "prove", model, data, "--out", tmp_path / "proof.json", *others)[0] == 0
    objective = json.loads((tmp_path / "proof.json").read_text())["values"]["objective"]
    assert f"RTP range {objective} {objective}\n" in (tmp_path / "proof.vipr").read_text()
    assert json.loads((tmp_path / "proof.response.json").read_text())["status"] == "optimal"
    assert "problem" in json.loads((tmp_path / "proof.request.json").read_text())


def test_another_file_fails(capsys, tmp_path):
    X, y = small()
    data, proof = write_csv(tmp_path / "data.csv", X, y), tmp_path / "proof.json"
    model = fitted(capsys, data, "C=0.3")
    assert run(capsys, "prove", model, data, "--out", proof, "--as-fitted")[0] == 0
    X[0, 0] += 0.01
    status, told, _ = run(capsys, "check", proof, write_csv(tmp_path / "other.csv", X, y))
    assert (status, told) == (1, "FAIL: the features are others: their hash differs\n")
    status, told, _ = run(capsys, "check", data, data)
    assert status == 1
    assert told.startswith("FAIL: JSONDecodeError")


def test_what_no_proof_can_be_about_is_named(capsys, tmp_path):
    X, y = small()
    data = write_csv(tmp_path / "data.csv", X, y)
    towns = tmp_path / "towns.csv"
    towns.write_text("# of 1999\nage,town,class\n31,Ulm,yes\n38,Bonn,no\n45,Ulm,yes\n52,Bonn,no\n")
    three = write_npz(tmp_path / "three.npz", X, np.digitize(X[:, 0], [-0.5, 0.5]))
    for on, parameters, model, words in [
        (towns, [], "LPBoostClassifier", "a line of the data has too few or too many cells"),
        (three, [], "LPBoostClassifier", "no target of two classes"),
        (data, ["oracle=trees"], "LPBoostClassifier", "hypotheses an exact proof cannot name"),
        (data, ["kernel=middle-stump"], "InfiniteEnsembleSVC", "no exact proof is known for"),
        (data, [], "RhoSVC", "found a RhoSVC"),
    ]:
        saved = fitted(capsys, on, *parameters, model=model)
        status, told, err = run(capsys, "prove", saved, on, "--out", tmp_path / "proof.json")
        assert (status, told) == (2, "")
        assert words in err
        assert err.count("\n") == 1
    assert not (tmp_path / "proof.json").exists()
