"""`cvxens prove` and `cvxens check`: a proof about a file, refused for any other, and what cannot be proven."""

import json
from fractions import Fraction

import numpy as np
import pytest
from command_line import fit, python, run, small, write_csv, write_libsvm

from cvxens import load_model
from cvxens.proofs import checker


@pytest.mark.parametrize(("name", "writer"), [("data.csv", write_csv), ("data.svm", write_libsvm)])
def test_a_proof_passes_with_its_data_and_with_the_file_alone(capsys, tmp_path, name, writer):
    data, proof = writer(tmp_path / name, *small()), tmp_path / "proof.json"
    status, told, err = run(capsys, "prove", fit(capsys, data, "C=0.3"), data, "--out", proof)
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
    model = fit(capsys, data, "C=0.3", model="InfiniteEnsembleSVC")
    status, told, _ = run(capsys, "prove", model, data, "--out", proof)
    assert status == 0
    assert "functions of the stump kernel" in told
    assert run(capsys, "check", proof, data)[0] == 0
    assert json.loads(proof.read_text())["data"]["separator"] == separator


def test_the_program_is_written_for_other_checkers(capsys, tmp_path):
    data = write_csv(tmp_path / "data.csv", *small())
    model = fit(capsys, data, "C=0.3")
    others = ["--vipr", tmp_path / "proof.vipr", "--lean", tmp_path / "proof", "--restricted"]
    assert run(capsys, "prove", model, data, "--out", tmp_path / "proof.json", *others)[0] == 0
    objective = json.loads((tmp_path / "proof.json").read_text())["values"]["objective"]
    assert f"RTP range {objective} {objective}\n" in (tmp_path / "proof.vipr").read_text()
    assert json.loads((tmp_path / "proof.response.json").read_text())["status"] == "optimal"
    assert "problem" in json.loads((tmp_path / "proof.request.json").read_text())


def write_people(path, n_samples=40):
    """A table as people have it: gaps, words, an index, and columns that no model uses."""
    random = np.random.default_rng(0)
    lines = []
    for i in range(n_samples):
        age, town, sex = random.integers(20, 60), random.choice(["Ulm", "Bonn", "Köln"]), random.choice(["f", "m"])
        answer = "yes" if age + 9 * (town == "Ulm") + random.normal(0, 6) > 42 else "no"
        gap = "?" if i % 7 == 3 else ""
        lines.append(f"p{i};{gap or age};{'' if i % 11 == 5 else town};{sex};{age / 8:.2f};{answer}".replace(".", ","))
    path.write_text("\n".join(["id;age;town;sex;size;class", *lines]) + "\n")
    return path


@pytest.mark.parametrize("model", ["LPBoostClassifier", "InfiniteEnsembleSVC"])
def test_tables_with_text_and_gaps_are_proven_as_they_stand(capsys, tmp_path, model):
    data, proof = write_people(tmp_path / "people.csv"), tmp_path / "proof.json"
    saved = fit(capsys, data, "C=0.2", "tol=1e-9", model=model)
    status, told, _ = run(capsys, "prove", saved, data, "--out", proof)
    assert status == 0
    for words in (
        "40 samples of 8 features (below a line of names; target 'class', 'no' as -1, 'yes' as 1",
        "columns not used: 'id'; coded: 'age' ('?' as ",
        "'town' ('Ulm' as 1, others as 0)",
        "hinge loss at 1/5 a sample",
    ):
        assert words in told
    assert run(capsys, "check", proof, data)[:2] == (0, f"PASS: {json.loads(proof.read_text())['claim']}\n")
    values = json.loads(proof.read_text())["values"]
    if model == "LPBoostClassifier":
        # the proof is of the optimum of the fit
        assert values["objective"] == values["bound"]
        assert float(Fraction(values["objective"])) == pytest.approx(load_model(saved).certificate_.primal, rel=1e-8)
    # the same features as numbers have the same optimum
    plain, other = tmp_path / "plain.csv", tmp_path / "other.json"
    assert run(capsys, "prove", saved, data, "--out", other, "--plain", plain)[0] == 0
    assert run(capsys, "check", other, plain)[0] == 0
    assert json.loads(other.read_text())["values"] == values
    # a gap that is read as another number is another sample
    document = json.loads(proof.read_text())
    next(feature for feature in document["data"]["features"] if isinstance(feature, dict))["codes"]["?"] = "21"
    del document["sha256"]
    proof.write_text(json.dumps({**document, "sha256": checker.digest([json.dumps(document, sort_keys=True)])}))
    status, told, _ = run(capsys, "check", proof, data)
    assert (status, told) == (1, "FAIL: the features are others: their hash differs\n")


def test_another_file_fails(capsys, tmp_path):
    X, y = small()
    data, proof = write_csv(tmp_path / "data.csv", X, y), tmp_path / "proof.json"
    model = fit(capsys, data, "C=0.3")
    assert run(capsys, "prove", model, data, "--out", proof, "--as-fitted")[0] == 0
    X[0, 0] += 0.01
    status, told, _ = run(capsys, "check", proof, write_csv(tmp_path / "other.csv", X, y))
    assert (status, told) == (1, "FAIL: the features are others: their hash differs\n")
    status, told, _ = run(capsys, "check", data, data)
    assert status == 1
    assert told.startswith("FAIL: JSONDecodeError")
    missing = tmp_path / "missing.json"
    assert run(capsys, "check", missing, missing)[:2] == (1, f"FAIL: {str(missing)!r} cannot be read\n")
