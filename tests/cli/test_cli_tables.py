"""Tables as people have them, from the command line to a model that takes them as they are."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from command_line import run

from cvxens import AdaBoostClassifier, LPBoostClassifier, load_model
from cvxens.certificates import Certificate
from cvxens.cli.reports import proofs
from cvxens.datasets import make_twonorm
from cvxens.errors import DataFileError

N = 40
RNG = np.random.default_rng(0)
AGE = RNG.permutation(np.arange(20, 20 + N))
TOWN = RNG.choice(["Ulm", "Bonn", "Rome"], N)
LABEL = np.where(AGE + 8 * (TOWN == "Ulm") + RNG.normal(0, 3, N) > 42, "yes", "no")
PEOPLE = pd.DataFrame(
    {
        "customer_id": range(1000, 1000 + N),
        "signed": pd.date_range("2024-01-01", periods=N).strftime("%d.%m.%Y"),
        "age": AGE,
        "income": [f"{1000 + 37 * i:,}.50" for i in range(N)],
        "share": [f"{(i * 7) % 100}%" for i in range(N)],
        "town": TOWN,
        "bought": LABEL,
    }
)


def fit(capsys, file, *arguments, model="LPBoostClassifier"):
    out = file.with_name("model")
    status, told, err = run(capsys, "fit", file, "--model", model, "--out", out, *arguments)
    return status, told, err, out


def put(tmp_path, text, name="table.csv"):
    (tmp_path / name).write_text(text)
    return tmp_path / name


def fitted(capsys, file, *arguments, **options):
    status, told, err, out = fit(capsys, file, *arguments, **options)
    assert (status, err) == (0, "")
    return told, load_model(out)


def numbers(n_samples=30, n_features=3):
    X, y = make_twonorm(n_samples, n_features, random_state=0)
    return pd.DataFrame(X.round(2)), y.astype(int)


X, SIGNS = numbers()
YEARS = X.set_axis([2019, 2020, 2021], axis=1).assign(up=SIGNS).to_csv(index=False)
SHUFFLED = X.assign(target=SIGNS).sample(frac=1, random_state=0).to_csv()
LETTERS = X.set_axis(list("abc"), axis=1).assign(t=SIGNS)
CSV = PEOPLE.to_csv(index=False)
COMMENTED = '# who, "what"\n' + CSV.replace("\n", '\n# row "1", it\'s\n', 1)
UNKNOWN = PEOPLE.assign(age=[*AGE[:-2], "unknown", "-"]).to_csv(index=False)
KIND = np.where(X[0] > 0, "a", "b")
FIRST = pd.DataFrame({"kind": KIND, **{f"x{j}": X[j] for j in X}}).to_csv(index=False)
CLASS = pd.DataFrame({"Class": KIND, "x": X[0], "town": KIND}).to_csv(index=False)
QUARTERS = "a,t\n" + "".join(f'"{i},250",{i % 2}\n' for i in range(1, 9))
SEPARATORS = {" ": "space", "\t": "tab", "^": "^"}
USED = ["age", "income", "share", "town"]
COUNTED = "the first column, without a name: left out, it counts the rows"
KEPT = ["--keep", "signed", "--keep", "customer_id", "--drop", "town", "--drop", "share"]

READ = {
    "names that are whole numbers": (
        X.assign(target=SIGNS).to_csv(index=False),
        [],
        "30 samples, 3 f",
        ["0", "1", "2"],
    ),
    "years as names": (YEARS, ["--target", "up"], "", ["2019", "2020", "2021"]),
    "an index": (SHUFFLED, [], COUNTED, ["0", "1", "2"]),
    "an index as R writes it": (SHUFFLED[1:], [], COUNTED, ["0", "1", "2"]),
    "a decimal point": (QUARTERS, [], "thousands", ["a"]),
    "a decimal comma": (QUARTERS, ["--decimal", ","], "decimal commas", ["a"]),
    **{
        sep: (LETTERS.to_csv(index=False, sep=sep), ["--sep", said], "", list("abc"))
        for sep, said in SEPARATORS.items()
    },
    "texts for missing values": (UNKNOWN, ["--na", "unknown", "--na", "-"], "", USED),
    "comments": (COMMENTED, [], "  2 lines beginning with # left out as comments", USED),
    "a header of numpy's": (f"# {LETTERS.to_csv(index=False)}", [], "", list("abc")),
    "tags": ("tag,n,t\n" + "".join(f"#{i % 3},{i},{i % 2}\n" for i in range(9)), [], "", ["tag", "n"]),
    "a target in front": (FIRST, ["--target", "kind"], "target 'kind': 2 classes (a: ", ["x0", "x1", "x2"]),
    "the last of two": (CLASS, ["--target", "town"], "target 'town'", ["Class", "x"]),
    "kept and dropped": (CSV, KEPT, "  town: left out, as asked", ["customer_id", "signed", "age", "income"]),
}


@pytest.mark.parametrize("name", READ)
def test_tables_as_people_have_them_are_read_as_they_are(capsys, tmp_path, name):
    text, arguments, words, names = READ[name]
    file = put(tmp_path, text)
    told, model = fitted(capsys, file, *arguments)
    assert words in told
    assert model.feature_names_in_.tolist() == names
    status, predicted, err = run(capsys, "predict", file.with_name("model"), file)
    assert (status, predicted.split()[0]) == (0, "prediction")
    assert ("note: age: 2 values missing" in err) == ("missing" in name)
    if "--sep" in arguments:
        commas = put(tmp_path, LETTERS.to_csv(index=False), "new.csv")
        assert run(capsys, "predict", file.with_name("model"), commas)[:2] == (0, predicted)


TAKE = "which are no classes; take a regressor, such as --model AdditiveRegressor, or name the column of classes by"
REFUSED = [
    (YEARS, [], "name the target in it by --target"),
    *(
        (CSV, [option, "nothing"], f"found no column 'nothing' for {option}")
        for option in ("--keep", "--drop", "--target")
    ),
    (CSV, ["--sep", "two"], "error: sep: found 'two'; give one character, or 'tab' or 'space'\n"),
    (CSV, ["--sep", ";"], "found no ';' in the first line"),
    (UNKNOWN, [], "found 'unknown' in line 40, in the column of numbers 'age'"),
    (UNKNOWN, [], "--na"),
    (FIRST, [], f"in the column 'x2', {TAKE} --target, such as --target 'kind'"),
    (CLASS, [], "name the target: --target Class, or --target town"),
]


@pytest.mark.parametrize(("text", "arguments", "words"), REFUSED)
def test_what_is_doubtful_is_asked_for(capsys, tmp_path, text, arguments, words):
    status, _, err, _ = fit(capsys, put(tmp_path, text), *arguments)
    assert (status, words in err) == (2, True)


def bounds(primal, dual, *_, proven=True):
    note = "over every hypothesis"
    return Certificate.between(primal, dual, proven=proven, note=note)


@pytest.fixture
def people(tmp_path):
    return put(tmp_path, PEOPLE.to_csv(index=False), "people.csv")


def test_every_column_that_is_left_out_or_recoded_is_said(capsys, people):
    told, model = fitted(capsys, people)
    lines = told.splitlines()
    assert lines[0].startswith("LPBoostClassifier on people: 40 samples, 4 features")
    assert lines[1].startswith("target 'bought', the last column: 2 classes (no: ")
    assert lines[2:6] == [
        "  customer_id: left out: whole numbers, all different, under a name of identifiers; "
        "--keep 'customer_id' keeps it",
        "  signed: left out: dates; --keep 'signed' keeps it as days since 1970, read as %d.%m.%Y",
        "  income: read as numbers with thousands separators",
        "  share: percentages read as numbers, 12% as 0.12",
    ]
    assert model.feature_names_in_.tolist() == ["age", "income", "share", "town"]
    assert model.features_[-1].categories == ("Bonn", "Rome", "Ulm")
    # machines take numbers alone
    told, _ = fitted(capsys, people, model="RhoSVC")
    assert "  town: 3 levels, each a 0/1 feature" in told.splitlines()


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_decimal_commas(capsys, tmp_path, people, separator):
    _, plain = fitted(capsys, people)
    written = PEOPLE.assign(income=PEOPLE["income"].map(lambda v: v.translate(str.maketrans(",.", ".,"))))
    written["age"] = written["age"].map(lambda v: f"{v},0")
    told, model = fitted(capsys, put(tmp_path, written.to_csv(index=False, sep=separator)))
    assert "  income: read as numbers with decimal commas and thousands separators" in told
    assert "  age: read as numbers with decimal commas" in told
    np.testing.assert_array_equal(model.decision_function(written), plain.decision_function(PEOPLE))


def test_many_whole_numbers_as_the_target_are_warned_of(capsys, tmp_path):
    file = put(tmp_path, pd.DataFrame({"a": np.arange(44) / 3, "age": np.arange(44) % 22}).to_csv(index=False))
    status, _, err, _ = fit(capsys, file, "--param", "n_rounds=1", model="AdaBoostClassifier")
    assert status == 0
    assert err.startswith("warning: the target is the column 'age', the last one, with 22 classes: --target names")
    status, _, err, _ = fit(capsys, file, "--param", "n_rounds=1", "--target", "age", model="AdaBoostClassifier")
    assert (status, err) == (0, "")


@pytest.mark.parametrize(
    ("model", "parameters"),
    [
        ("LPBoostClassifier", []),
        ("AdaBoostClassifier", ["oracle=trees", "n_rounds=3"]),
        ("CGEnsClassifier", []),
        ("CGEnsSLSClassifier", []),
        ("MultiBoostClassifier", []),
        ("AdaBoostClassifier", ["n_rounds=5"]),
        ("AdaBoostMHClassifier", ["n_rounds=5"]),
        ("InfiniteEnsembleSVC", []),
        ("PriceSearchCV", ["prices=[1.0]", "cv=2"]),
        ("RhoSVC", []),
        ("SupervisedKernelRLSClassifier", ["n_experts=2"]),
    ],
)
def test_the_model_takes_the_data_frame_that_it_was_made_from(capsys, people, model, parameters):
    given = [part for parameter in parameters for part in ("--param", parameter)]
    _, _, _, out = fit(capsys, people, *given, model=model)
    frame, fitted_model = pd.read_csv(people), load_model(out)
    predicted = fitted_model.predict(frame)
    assert fitted_model.score(frame, frame["bought"]) > 0.7
    np.testing.assert_array_equal(fitted_model.predict(frame.drop(columns="bought")[frame.columns[-2::-1]]), predicted)
    np.testing.assert_array_equal(fitted_model.predict(frame.assign(signed=pd.to_datetime("today"), more=1)), predicted)
    assert run(capsys, "predict", out, people)[1].split()[1:] == predicted.tolist()
    if hasattr(fitted_model, "certify"):
        features = fitted_model.encoder_.transform(frame)
        again = fitted_model.certify(frame, frame["bought"])
        assert again.primal == pytest.approx(fitted_model.certify(features, frame["bought"]).primal, rel=1e-9)


def test_trees_get_the_table_as_it_is(capsys, tmp_path):
    table = PEOPLE.assign(town=np.where(np.arange(N) % 5, TOWN, None), age=np.where(np.arange(N) % 7, AGE, np.nan))
    file = put(tmp_path, table.to_csv(index=False))
    parameters = ["--param", "oracle=trees", "--param", "n_rounds=3"]
    told, model = fitted(capsys, file, *parameters, model="AdaBoostClassifier")
    assert "median" not in told
    assert "0/1" not in told
    assert "  income: read as numbers with thousands separators" in told
    features = {feature.name: feature.categories for feature in model.features_}
    assert features == {"age": None, "income": None, "share": None, "town": ("Bonn", "Rome", "Ulm")}
    X = pd.read_csv(file)[["age", "income", "share", "town"]]
    X["income"], X["share"] = X["income"].str.replace(",", "").astype(float), X["share"].str[:-1].astype(float) / 100
    direct = AdaBoostClassifier("trees", n_rounds=3).fit(X, LABEL)
    np.testing.assert_array_equal(direct.decision_function(X), model.decision_function(pd.read_csv(file)))


def test_predictions_for_a_table_with_other_columns_and_levels(capsys, people, tmp_path):
    _, model = fitted(capsys, people)
    new = PEOPLE[["town", "share", "age", "income"]].iloc[:4].assign(size=1)
    new.loc[0, "town"], new.loc[1, "age"] = "Paris", None
    file = put(tmp_path, new.to_csv(index=False, sep=";"), "new.csv")
    status, out, err = run(capsys, "predict", people.with_name("model"), file)
    assert status == 0
    assert out.split()[1:] == model.predict(new).tolist()
    assert err.splitlines() == [
        "note: size: not in the table of the fit, so not used",
        "note: age: 1 value missing",
        "note: town: 1 value of no level of the fit (Paris), taken as missing",
    ]


def test_a_target_with_gaps_gives_no_score(capsys, people, tmp_path):
    fitted(capsys, people)
    file = put(tmp_path, PEOPLE.assign(bought=["yes", None] * 20).to_csv(index=False), "gaps.csv")
    status, _, err = run(capsys, "predict", people.with_name("model"), file)
    assert status == 0
    assert err == "note: bought: 20 of 40 values of the target are missing, so there is no score\n"


def test_probabilities_and_scores(capsys, people, tmp_path):
    _, model = fitted(capsys, people, "--param", "n_rounds=9", model="AdaBoostClassifier")
    report = tmp_path / "report.json"
    arguments = [people.with_name("model"), people, "--proba", "--scores", "--json", report]
    status, out, _ = run(capsys, "predict", *arguments)
    assert status == 0
    table = pd.read_csv(pd.io.common.StringIO(out))
    assert table.columns.tolist() == ["prediction", "proba_no", "proba_yes", "score_yes"]
    np.testing.assert_array_equal(table[["proba_no", "proba_yes"]], model.predict_proba(PEOPLE))
    np.testing.assert_array_equal(table["score_yes"], model.decision_function(PEOPLE))
    document = json.loads(report.read_text())
    assert document["probabilities"]["yes"] == table["proba_yes"].tolist()
    assert document["scores"] == {"yes": table["score_yes"].tolist()}
    fitted(capsys, people)
    status, _, err = run(capsys, "predict", people.with_name("model"), people, "--proba")
    assert status == 2
    assert "--proba: found a LPBoostClassifier, which has no predict_proba" in err


def test_held_out_scores(capsys, people, tmp_path):
    report = tmp_path / "report.json"
    status, told, _, out = fit(capsys, people, "--test-share", "0.25", "--cv", "4", "--json", report)
    assert status == 0
    document = json.loads(report.read_text())
    assert document["data"]["n_samples"] == 30
    assert len(document["cross_validation_scores"]) == 4
    mean = np.mean(document["cross_validation_scores"])
    assert f"cross-validation score {mean:.4f} ± " in told
    assert f"test score {document['test_score']:.4f} on 10 samples that the fit has not seen" in told
    # what is learnt of columns is learnt of the part that is fitted to
    assert load_model(out).encoder_.learnt["age"] != np.median(AGE)
    test = put(tmp_path, PEOPLE[PEOPLE.columns[::-1]].iloc[:12].to_csv(index=False), "test.csv")
    told, model = fitted(capsys, people, "--test", test)
    assert f"test score {model.score(PEOPLE[:12], LABEL[:12]):.4f} on 12 samples" in told


def test_parts_of_an_archive(capsys, tmp_path):
    X, y = numbers(60)
    X = X.to_numpy()
    np.savez(tmp_path / "parts.npz", X_train=X[:40], y_train=y[:40], X_test=X[40:], y_test=y[40:])
    told, model = fitted(capsys, tmp_path / "parts.npz")
    score = model.score(X[40:], y[40:])
    assert f"test score {score:.4f} on 20 samples" in told
    status, out, err = run(capsys, "predict", tmp_path / "model", tmp_path / "parts.npz")
    assert (status, out.split()[1:]) == (0, list(map(str, model.predict(X[40:]))))
    assert err == f"note: of the archive's parts, X_test is taken\nscore {score:.4f}\n"


def test_what_is_proven_in_plain_words(capsys, people):
    told, _ = fitted(capsys, people)
    proven = r"^Proven: the objective is the best possible over all \d+ stumps, to rounding \(asked: 0.1 %\)\.$"
    assert re.search(proven, told, re.M)
    status, told, err, _ = fit(capsys, people, "--param", "max_columns=2", "--param", "columns_per_round=1")
    assert status == 0
    assert "warning: " in err
    assert "Not within the tolerance asked, 0.1 %: proven is only that the objective is within " in told
    _, told, _, _ = fit(capsys, people, "--param", "oracle=trees", "--param", "max_columns=3")
    assert "Not proven (the oracle cannot bound the edges): the bound that there is leaves a gap of " in told
    told, model = fitted(capsys, people, "--param", "n_rounds=9", model="AdaBoostClassifier")
    sides = f"{model.certificate_.primal:.4g}, and none is beyond {model.certificate_.dual:.4g}"
    assert f"Proven: the smallest margin of the vote is {sides} over all " in told


@pytest.mark.parametrize(
    ("certificate", "line"),
    [
        (
            bounds(100.0, 99.6),
            "Proven: the objective is within 0.4 % of the best possible over all stumps (asked: 1 %).",
        ),
        (bounds(1.0, 1.0), "Proven: the objective is the best possible over all stumps, to rounding (asked: 1 %)."),
        (bounds(26.1, 1.1), "Not within the tolerance asked, 1 %: proven is only that the objective is within 96 % of"),
        (
            bounds(26.1, -100.0),
            "Not within the tolerance asked, 1 %: proven is only that the objective is within 126 % of",
        ),
        (
            bounds(2.0, 1.0, proven=False),
            "Not proven (over every hypothesis): the bound that there is leaves a gap of 50 %",
        ),
        (bounds(np.inf, 1.0), "Nothing is proven: over every hypothesis."),
        (bounds(1.0, 2.0), "Nothing is proven: the bound is on the wrong side of the objective."),
    ],
)
def test_a_certificate_in_one_line(certificate, line):
    model = LPBoostClassifier(tol=0.01)
    (told,) = proofs([certificate], model, "all stumps")
    assert told.startswith(line)


def test_sub_problems_bear_the_names_of_classes(capsys, people):
    report = people.with_name("report.json")
    told, model = fitted(capsys, people, "--target", "town", "--param", "tol=0.01", "--json", report)
    assert [certificate["proven"] for certificate in json.loads(report.read_text())["certificates"]] == [True] * 3
    assert run(capsys, "certify", people.with_name("model"), people, "--tol", "0.1")[0] == 0
    heads = ["Bonn vs rest", "Rome vs rest", "Ulm vs rest"]
    assert [line for line in told.splitlines() if line.endswith("vs rest")] == heads
    assert all(f"{head}: Proven: " in told for head in heads)
    assert model.to_text(most=100).count("[Ulm vs rest] ") == len(model.weights_[2].nonzero()[0])


def test_a_model_from_python_takes_tables_by_the_names_of_its_features(capsys, tmp_path):
    X, y = numbers()
    X = X.rename(columns=str)
    model = LPBoostClassifier().fit(X, y)
    model.save(tmp_path / "model")
    file = put(tmp_path, X[X.columns[::-1]].to_csv(index=False))
    assert run(capsys, "predict", tmp_path / "model", file)[1].split()[1:] == list(map(str, model.predict(X)))


@pytest.mark.parametrize(
    "forge",
    [
        lambda encoder: 3,
        lambda encoder: {"age": 1.0},
        lambda encoder: type(encoder)(encoder.columns[:-1]),
        lambda encoder: type(encoder)(encoder.columns[::-1]),
    ],
)
def test_a_forged_encoder_is_refused(capsys, people, forge):
    _, model = fitted(capsys, people)
    model.encoder_ = forge(model.encoder_)
    model.save(people.with_name("forged"))
    with pytest.raises(DataFileError, match="truncated or damaged"):
        load_model(people.with_name("forged"))


def test_a_new_fit_forgets_the_table(capsys, people):
    _, model = fitted(capsys, people)
    X, y = numbers()
    model.fit(X.to_numpy(), y)
    assert not hasattr(model, "encoder_")
    assert model.predict(X.to_numpy()).shape == (30,)


def test_info(capsys, people, tmp_path):
    report = tmp_path / "report.json"
    status, out, err = run(capsys, "info", people, "--json", report)
    assert (status, err) == (0, "")
    assert "people: 40 samples, 6 features" in out
    assert re.search(r"town +nominal +3 +0 +Bonn, Rome, Ulm +3 levels, each a 0/1 feature", out)
    assert "target 'bought': 2 classes (no: " in out
    document = json.loads(report.read_text())
    kinds = {column["name"]: column["kind"] for column in document["columns"]}
    numeric = dict.fromkeys(["age", "income", "share"], "numeric")
    assert kinds == {"customer_id": "left out", "signed": "left out", **numeric, "town": "nominal"}
    assert document["classes"] == {"no": int((LABEL == "no").sum()), "yes": int((LABEL == "yes").sum())}
    assert document["warnings"] == []


def test_info_warns(capsys, tmp_path):
    table = pd.DataFrame({"kind": ["a", "b"] * 20, "row": range(40), "flat": 1, "size": RNG.normal(size=40)})
    out = run(capsys, "info", put(tmp_path, table.to_csv(index=False)))[1]
    told = "the target has 40 different numbers: is it one of classes, or for a regressor?"
    assert f"warning: {told}; --target 'kind' would name another" in out
    out = run(capsys, "info", put(tmp_path, table[["row", "flat", "kind"]].to_csv(index=False)))[1]
    assert "warning: constant features: flat" in out
    assert "warning: row counts the rows" in out
    rare = table.assign(kind=["a"] * 39 + ["b"])[["size", "kind"]]
    out = run(capsys, "info", put(tmp_path, rare.to_csv(index=False)))[1]
    assert "warning: a class has 1 sample only" in out
    assert "more than 20 times the smallest" in out
    X, y = numbers()
    np.savez(tmp_path / "x.npz", X_train=X.to_numpy(), y_train=y, X_test=X.to_numpy(), y_test=y, note="scaled")
    out = run(capsys, "info", tmp_path / "x.npz")[1]
    assert "x: 30 samples, 3 features; test part of 30" in out
    assert "  scaled" in out
    assert "target: 2 classes (-1: " in out
