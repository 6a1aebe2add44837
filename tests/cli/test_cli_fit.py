"""`cvxens fit`, `predict` and `certify`, from a file to a model and back, and what they refuse."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from command_line import fit, python, run, small, write_csv, write_npz
from sklearn.base import is_classifier

from cvxens import LPBoostClassifier, estimators, load_model


@pytest.fixture
def csv(tmp_path):
    return write_csv(tmp_path / "small.csv", *small())


@pytest.fixture
def model(capsys, csv):
    return fit(capsys, csv)


@pytest.mark.parametrize("write", [write_csv, write_npz])
def test_files_with_and_without_a_table_give_the_same_model(capsys, tmp_path, write):
    X, y = small()
    file, out = write(tmp_path / "data.npz", X, y), tmp_path / "model"
    status, told, err = run(capsys, "fit", file, "--model", "lpboostclassifier", "--param", "C=0.5", "--out", out)
    assert (status, err) == (0, "")
    assert "LPBoostClassifier on data: 24 samples, 2 features" in told
    assert "proven                   yes" in told
    assert f"saved to {out}" in told
    fitted = load_model(out)
    np.testing.assert_array_equal(fitted.decision_function(X), LPBoostClassifier(C=0.5).fit(X, y).decision_function(X))
    status, predicted, err = run(capsys, "predict", out, file)
    assert status == 0
    assert predicted.split() == ["prediction", *map(str, fitted.predict(X).tolist())]
    assert err.strip() == f"score {fitted.score(X, np.where(y > 0, *fitted.classes_[::-1])):.4f}"


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("LPBoostClassifier", ["oracle=quantile_stumps", "tol=1e-2", "nu=0.5"]),
        ("LPBoostClassifier", ["C=0.5", "constraints=[Monotone(signs={0: 1})]"]),
        ("CGEnsClassifier", ["C=0.1", "class_weight={'good': 2, 'bad': 1}"]),
        ("CGEnsSLSClassifier", ["max_time=None"]),
        ("InfiniteEnsembleSVC", ["kernel=stump", "C=0.5"]),
        ("RhoSVC", []),
        ("SupervisedKernelRLSClassifier", ["kernel=leaf"]),
    ],
)
def test_estimators_and_their_parameters(capsys, tmp_path, csv, name, parameters):
    given = [part for parameter in parameters for part in ("--param", parameter)]
    out = tmp_path / "model"
    assert run(capsys, "fit", csv, "--model", name, *given, "--out", out)[0] == 0
    fitted = load_model(out)
    assert type(fitted).__name__ == name
    for parameter in parameters:
        key, _, value = parameter.partition("=")
        assert str(fitted.get_params()[key]) == str(float(value) if value[0].isdigit() else value)
    status, predicted, _ = run(capsys, "predict", out, csv)
    assert status == 0
    assert set(predicted.split()) <= {"prediction", "good", "bad"}


def test_the_report_of_a_fit(capsys, tmp_path, csv):
    report = tmp_path / "report.json"
    arguments = ["--model", "LPBoostClassifier", "--param", "tol=0.01", "--out", tmp_path / "model", "--json", report]
    assert run(capsys, "fit", csv, *arguments)[0] == 0
    document = json.loads(report.read_text())
    fitted = load_model(tmp_path / "model")
    assert document["model"] == "LPBoostClassifier"
    assert document["parameters"]["tol"] == "0.01"
    assert document["data"] == {"name": "small", "n_samples": 24, "n_features": 2, "notes": []}
    assert document["certificates"] == [fitted.certificate_.to_dict()]
    assert document["training_score"] == fitted.score(*small_words())
    assert document["seconds"] > 0
    assert document["warnings"] == []


def small_words():
    X, y = small()
    return X, np.where(y > 0, "good", "bad")


def test_a_limit_reached_is_told_on_standard_error(capsys, tmp_path, csv):
    arguments = ["--param", "max_columns=2", "--param", "columns_per_round=1", "--out", tmp_path / "model"]
    status, _, err = run(capsys, "fit", csv, "--model", "LPBoostClassifier", *arguments)
    assert status == 0
    assert err.startswith("warning: LPBoostClassifier: max_columns reached")
    assert err.count("\n") == 1
    assert run(capsys, "certify", tmp_path / "model", "--tol", "1e-3")[0] == 1
    assert run(capsys, "certify", tmp_path / "model", "--tol", "10")[0] == 0


def test_predictions_in_files(capsys, tmp_path, csv, model):
    out, report = tmp_path / "predictions.csv", tmp_path / "report.json"
    status, printed, _ = run(capsys, "predict", model, csv, "--out", out, "--json", report)
    assert (status, printed) == (0, "")
    document = json.loads(report.read_text())
    assert out.read_text().split() == ["prediction", *document["predictions"]]
    assert document["score"] == load_model(model).score(*small_words())
    np.savez(tmp_path / "new.npz", X=small()[0][:3])
    assert run(capsys, "predict", model, tmp_path / "new.npz")[1].count("\n") == 4
    targets = write_npz(tmp_path / "targets.npz", small()[0], np.arange(24))
    quantiles = fit(capsys, targets, "loss=quantile", "quantile=[0.1, 0.9]", model="LPBoostRegressor")
    header, *lines = run(capsys, "predict", quantiles, targets)[1].split()
    assert (header, len(lines)) == ("prediction_0,prediction_1", 24)


def test_certify_shows_the_fit_or_another_sample(capsys, tmp_path, csv, model):
    report = tmp_path / "report.json"
    status, out, _ = run(capsys, "certify", model, "--json", report)
    assert status == 0
    fitted = load_model(model)
    told, figures = out.split("\n", 1)
    assert told.startswith("Proven: the objective is the best possible over all hypotheses")
    assert figures == f"{fitted.certificate_}\n"
    assert json.loads(report.read_text())["certificates"] == [fitted.certificate_.to_dict()]
    status, _, _ = run(capsys, "certify", model, csv, "--json", report)
    assert status == 0
    document = json.loads(report.read_text())
    assert document["on"] == str(csv)
    assert document["certificates"] == [fitted.certify(*small_words()).to_dict()]


def test_certify_fails_above_the_tolerance(capsys, tmp_path, model):
    X, y = small(60)
    other = write_csv(tmp_path / "other.csv", X + 1, -y)
    # the tolerance of the model is asked for where none is given
    for asked in (["--tol", "1e-6"], []):
        status, out, _ = run(capsys, "certify", model, other, *asked)
        assert status == 1
        assert out.startswith("Not within the tolerance asked, ")
    assert run(capsys, "certify", model, other, "--tol", "0.999")[0] == 0


def test_certify_fails_where_nothing_is_proven(capsys, csv):
    status, told, _ = run(capsys, "certify", fit(capsys, csv, "oracle=perceptrons"))
    assert status == 1
    assert told.startswith("Not proven (")


def test_the_model_to_begin_with_suits_the_target(capsys, tmp_path):
    X, y = small(40)
    for values, name, why in ((y, "AdditiveClassifier", "2 classes"), (X[:, 1], "AdditiveRegressor", "different numb")):
        data = tmp_path / f"{name}.csv"
        data.write_text("a,b\n" + "".join(f"{x},{v}\n" for x, v in zip(X[:, 0].tolist(), values.tolist(), strict=True)))
        status, told, err = run(capsys, "fit", data, "--out", tmp_path / "model")
        assert status == 0
        assert told.startswith(f"{name} on ")
        assert why in err
        assert f"so the model is {name}; --model names another\n" in err


def test_the_chain_of_the_page_takes_a_table_with_text_and_gaps(capsys, tmp_path, monkeypatch):
    page = (Path(__file__).parents[2] / "docs/do/command_line.md").read_text()
    chain = [line.split("#")[0].split()[2:] for line in page.splitlines() if line.startswith("$ cvxens ")]
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    lines = []
    for i in range(60):
        age, town = random.integers(20, 60), random.choice(["Ulm", "Bonn", "Rome"])
        lines.append(f"{age if i % 9 else ''},{town},{'yes' if age + 9 * (town == 'Ulm') > 42 + i % 5 else 'no'}")
    Path("DATA.csv").write_text("\n".join(["age,town,class", *lines]) + "\n")
    done = []
    for command, *arguments in chain:
        if command in {"info", "fit", "predict", "report", "certify", "prove", "check"}:
            given = ["DATA.csv" if argument == "DATA" else argument for argument in arguments]
            status, _, err = run(capsys, command, *given)
            assert status == 0, err
            done.append(command)
    assert done == ["info", "fit", "predict", "report", "certify", "prove", "check"]


KINDS = {name: getattr(estimators, name) for name in estimators.__all__ if hasattr(getattr(estimators, name), "fit")}
QUICK = {"PriceSearchCV", "SupervisedKernelRLSClassifier", "LPBoostRanker", "InfiniteEnsembleSVR"}


@pytest.mark.thinned(where=lambda name: name not in QUICK)
@pytest.mark.parametrize("name", KINDS)
def test_every_estimator_goes_through_every_command(capsys, tmp_path, name):
    X, y = small()
    y = y if is_classifier(KINDS[name]()) else 1 + np.digitize(X[:, 0], [-1, 0, 1])
    data, made = write_npz(tmp_path / "data.npz", X, y), ["--out", tmp_path / "made"]
    out = fit(capsys, data, model=name)
    asked = ["predict", data], ["predict", data, "--proba"], ["report", data, *made], ["export", *made]
    for command, *more in (*asked, ["prove", data, *made]):
        status, _, err = run(capsys, command, out, *more)
        assert status == 0 or (err.startswith("error: ") and (command in {"export", "prove"} or "--proba" in more)), err
    for given in ([], [data]):
        status, told, _ = run(capsys, "certify", out, *given)
        # ensembles of updates are no optimum, nor are experts of parts of a sample on the whole
        assert status == int(name.startswith("PartialSVM") or (bool(given) and name.startswith("Supervised")))
        assert "proven" in told


def test_ctrl_c_keeps_what_there_is(capsys, tmp_path, csv, monkeypatch):
    from cvxens.colgen.oracles import Stumps

    original, calls = Stumps.price, []

    def impatient(self, s, exclude=()):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return original(self, s, exclude)

    monkeypatch.setattr(Stumps, "price", impatient)
    arguments = ["--param", "columns_per_round=1", "--out", tmp_path / "model"]
    status, _, err = run(capsys, "fit", csv, "--model", "LPBoostClassifier", *arguments)
    assert status == 130
    assert "interrupted" in err
    assert len(load_model(tmp_path / "model").history_) == 2


def test_ctrl_c_outside_of_a_fit(capsys, tmp_path, csv, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("cvxens.datasets.load_file", interrupted)
    status, out, err = run(capsys, "fit", csv, "--model", "RhoSVC", "--out", tmp_path / "model")
    assert (status, out, err.strip()) == (130, "", "interrupted")


def test_a_process_of_its_own_hands_a_model_to_another(capsys, tmp_path, csv):
    command = ["-c", "from cvxens.cli import main; main()"]
    environment = {**os.environ, "COLUMNS": "200"}
    fitted = python(*command, "fit", csv, "--model", "LPBoostClassifier", "--out", tmp_path / "m", env=environment)
    assert (fitted.returncode, fitted.stderr) == (0, "")
    status, out, _ = run(capsys, "predict", tmp_path / "m", csv)
    assert status == 0
    assert out.split()[1:] == load_model(tmp_path / "m").predict(small()[0]).tolist()
