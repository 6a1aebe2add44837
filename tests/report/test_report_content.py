"""What is in a report, without a browser: that it stands alone, is harmless, and says what the model says."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

from cvxens import (
    AdaBoostClassifier,
    AdditiveClassifier,
    ColumnGenerationSurvival,
    InfiniteEnsembleSVC,
    LPBoostClassifier,
    LPBoostRanker,
    LPBoostRegressor,
    Monotone,
    PriceSearchCV,
)
from cvxens.errors import InvalidInput
from cvxens.report import Report

HARMFUL = "</script><script>document.title='owned'</script>"
SECTIONS = ["overview", "quality", "importance", "shapes", "pairs", "explained", "rules", "history"]


class Page(HTMLParser):
    """The elements of a page with their attributes, and the texts of its scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.texts, self.inside = [], {"script": [], "style": [], "title": []}, None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag in self.texts:
            self.inside = tag
            self.texts[tag].append("")

    def handle_endtag(self, tag):
        self.inside = None

    def handle_data(self, text):
        if self.inside:
            self.texts[self.inside][-1] += text

    @property
    def content(self):
        return json.loads(self.texts["script"][0])


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(7)
    X = pd.DataFrame(rng.normal(size=(50, 3)), columns=["age", "dose", HARMFUL])
    X["two"] = rng.integers(0, 2, size=50).astype(float)
    t = (X["age"] > 0) * (X["dose"] > 0) + 0.5 * X["two"] + 0.4 * X[HARMFUL]
    return X, t


@pytest.fixture(scope="module")
def model(frame):
    X, t = frame
    return LPBoostClassifier(C=1.0, oracle="depth_two_trees").fit(X, np.where(t > 0.5, "<b>high", "low"))


@pytest.fixture(scope="module")
def page(model, frame):
    X, _ = frame
    return Page(Report(model, X, model.predict(X)).to_html())


def test_the_page_loads_nothing(page):
    for tag, attributes in page.elements:
        assert tag not in {"link", "img", "iframe", "object", "embed", "base"}
        assert "src" not in attributes
        assert attributes.get("href", "#").startswith("#")
        assert not [name for name in attributes if name.startswith("on") or name == "style"]
    kinds = [attributes.get("type") for tag, attributes in page.elements if tag == "script"]
    assert kinds == ["application/json", None]
    [script], [style] = page.texts["script"][1:], page.texts["style"]
    assert set(re.findall(r"https?://[^\s\"']*", script + style)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|fetch\(|import\(", script)
    assert "url(" not in style
    assert "@import" not in style


def test_the_policy_allows_the_script_and_the_style_of_the_page_alone(page):
    [policy] = [a["content"] for tag, a in page.elements if a.get("http-equiv") == "Content-Security-Policy"]
    parts = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert parts["default-src"] == "'none'"
    for tag, text in (("script", page.texts["script"][1]), ("style", page.texts["style"][0])):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert parts[f"{tag}-src"] == f"'sha256-{digest}'"


def test_names_are_data_and_never_markup(page, model, frame):
    X, _ = frame
    text = Report(model, X, model.predict(X)).to_html()
    assert "owned" in text
    assert HARMFUL not in text
    assert "<b>" not in text
    assert HARMFUL in [main["name"] for main in page.content["effects"]["mains"]]
    assert "<b>high, low" in dict(page.content["overview"])["Classes"]


def test_every_section_has_a_title_and_a_link(page):
    ids = [attributes["id"] for tag, attributes in page.elements if tag == "section"]
    assert ids == SECTIONS
    links = [a["href"] for tag, a in page.elements if tag == "a" and a.get("class") != "skip"]
    assert links == [f"#{name}" for name in SECTIONS]
    labelled = [attributes["aria-labelledby"] for tag, attributes in page.elements if tag == "section"]
    assert set(labelled) <= {attributes.get("id") for _, attributes in page.elements}
    assert page.texts["title"] == ["LPBoostClassifier: a report"]


def test_what_is_told_of_samples_is_what_the_model_says(page, model, frame):
    X, _ = frame
    effects, told = page.content["effects"], page.content["explained"]
    assert len(told["samples"]) == 50
    scores = model.decision_function(X)
    assert [sample["scores"][0] for sample in told["samples"]] == pytest.approx(sorted(scores), rel=1e-5)
    for sample in told["samples"]:
        row = int(sample["name"])
        assert sample["predicted"] == model.predict(X)[row]
        for kind in ("by_effect", "by_feature"):
            assert effects["intercept"][0] + sum(sample[kind][0]) == pytest.approx(scores[row], abs=1e-4)


def test_shapes_and_pairs_are_those_of_the_effects(page, model, frame):
    X, _ = frame
    effects, told = model.effects(X), page.content["effects"]
    names = [term["name"] for term in told["terms"]]
    assert names == [name for name in effects.to_frame()["effect"] if name in names]
    assert "age x dose" in names
    for drawn in told["mains"]:
        main = effects.terms[effects.names.index(drawn["name"])]
        if drawn["name"] == "two":
            assert drawn["levels"] == [0.0, 1.0]
            assert drawn["bars"][0] == pytest.approx(main.at([0.0, 1.0])[:, 0], rel=1e-4, abs=1e-9)
            assert sum(drawn["counts"]) == 50
        else:
            assert drawn["x"][0] == pytest.approx(X[drawn["name"]].min(), rel=1e-4)
            assert drawn["lines"][0][-1] == pytest.approx(main.at([drawn["x"][-1]])[0, 0], rel=1e-4)
            assert sum(drawn["density"]) == 50
    for drawn in told["pairs"]:
        pair = effects.terms[effects.names.index(" x ".join(drawn["names"]))]
        middles = [(np.array(edges[:-1]) + edges[1:]) / 2 for edges in drawn["edges"]]
        points = np.stack([axis.ravel() for axis in np.meshgrid(*middles, indexing="ij")], axis=1)
        assert np.ravel(drawn["tables"][0]) == pytest.approx(pair.at(points)[:, 0], rel=1e-4, abs=1e-9)
        assert sum(map(sum, drawn["masses"])) == pytest.approx(1.0, abs=1e-4)


def test_the_certificate_is_told_in_plain_words(page, model):
    [told] = page.content["certificates"]
    assert told["proven"]
    assert told["sentence"].startswith("Proven: the objective is ")
    assert ["gap", f"{model.certificate_.gap:.3g}  (relative {model.certificate_.relative_gap:.3g})"] in told["rows"]
    [history] = page.content["histories"]
    assert history["objective"][-1] == pytest.approx(model.history_[-1].objective, rel=1e-5)
    assert len(history["gap"]) == len(model.history_)


def test_rules_have_support_and_precision_where_there_are_classes(page, model, frame):
    X, _ = frame
    assert page.content["rules"]["columns"] == ["rule", "class", "weight", "support", "precision", "length"]
    assert page.content["rules"]["total"] == len(model.get_rules(X, model.predict(X)))
    without = Page(Report(model).to_html()).content
    assert without["rules"]["columns"] == ["hypothesis", "weight"]
    assert without["explained"] is None
    assert dict(without["overview"])["Samples of this report"].startswith("none")


OTHERS = {
    "several classes": (LPBoostClassifier(C=1.0), lambda t: np.digitize(t, [0.2, 0.7])),
    "kernel": (InfiniteEnsembleSVC(), lambda t: t > 0.5),
    "search": (PriceSearchCV(prices=[0.1, 1.0], cv=2), lambda t: t > 0.5),
    "gaussian": (InfiniteEnsembleSVC(kernel="gaussian"), lambda t: t > 0.5),
    "adaboost": (AdaBoostClassifier(n_rounds=5), lambda t: t > 0.5),
    "shapes": (AdditiveClassifier(C=1.0, pairs=False), lambda t: t > 0.5),
    "ranking": (LPBoostRanker(), lambda t: np.digitize(t, [0.2, 0.7])),
    "survival": (
        ColumnGenerationSurvival(),
        lambda t: np.array(list(zip(t > 0, 1 + t - t.min(), strict=True)), dtype=[("event", bool), ("time", float)]),
    ),
    "regression": (LPBoostRegressor(oracle="boxes"), lambda t: t),
}


@pytest.mark.parametrize("name", OTHERS)
def test_every_model_has_a_report(name, frame, tmp_path):
    X, t = frame
    model, make = OTHERS[name]
    y = make(t.to_numpy())
    model.fit(X, y).report(tmp_path / "model.html", X, y, explain=[3, 1])
    content = Page((tmp_path / "model.html").read_text(encoding="utf-8")).content
    assert content["certificates"]
    assert content["certificates"] == json.loads(json.dumps(Report(model).content["certificates"]))
    assert name != "shapes" or "over all steps and lines of single features, to" in str(content["certificates"])
    assert name != "survival" or "'event True, time 1" in str(content["explained"])
    if name == "gaussian":
        assert "'gaussian' is not additive" in content["effects"]["lacking"]
        return
    outputs = content["effects"]["outputs"]
    assert len(outputs) == {"several classes": 3, "pairs of classes": 3}.get(name, 0)
    assert [sample["name"] for sample in content["explained"]["samples"]] == ["3", "1"]
    assert [len(sample["scores"]) for sample in content["explained"]["samples"]] == [max(len(outputs), 1)] * 2
    assert len(content["certificates"]) == (len(outputs) or 1)


def test_good_and_bad_are_told_of_samples_that_the_fit_has_not_seen(frame):
    X, t = frame
    y = pd.Series(np.where(t > 0.5, "high", "low"), name="risk")
    fitted = AdaBoostClassifier(n_rounds=5).fit(X[:30], y[:30])
    told = {"held_out": (X[30:], y[30:]), "data": "risks.csv"}
    content = Page(Report(fitted, X[:30], y[:30], **told).to_html()).content
    assert content["title"] == "risk, by AdaBoostClassifier"
    assert re.fullmatch(r"Report of a fitted model, \d{4}-\d\d-\d\d, on risks.csv", content["kind"])
    overview, quality = dict(content["overview"]), content["quality"]
    assert (overview["Target"], overview["Data"]) == ("risk", "risks.csv")
    assert overview["Training score"] == f"{100 * fitted.score(X[:30], y[:30]):.1f} % are classified correctly"
    assert overview["Score on 20 others, not seen by the fit"].startswith(f"{100 * fitted.score(X[30:], y[30:]):.1f}")
    assert overview["What it is"].endswith("a weighted sum of thresholds of single features.")
    assert quality["on"] == "On 20 samples that the fit has not seen."
    predicted = fitted.predict(X[30:])
    assert quality["confusion"][0] == [((y[30:] == "high") & (predicted == name)).sum() for name in ("high", "low")]
    scores, low = fitted.decision_function(X[30:]), y[30:].to_numpy() == "low"
    pairs = np.sign(scores[low][:, None] - scores[~low])
    assert quality["roc"]["area"] == pytest.approx((1 + pairs.mean()) / 2, abs=1e-5)
    of_tenths = quality["calibration"]
    assert np.dot(of_tenths["counts"], of_tenths["y"]) == pytest.approx(low.sum(), rel=1e-4)
    expected = fitted.predict_proba(X[30:])[:, 1].sum()
    assert np.dot(of_tenths["counts"], of_tenths["x"]) == pytest.approx(expected, rel=1e-4)
    for sample in content["explained"]["samples"]:
        p = fitted.predict_proba(X.iloc[[int(sample["name"])]]).max()
        assert sample["probability"] == pytest.approx(p, rel=1e-4)
    alone = Page(Report(fitted, X, y, title="Who is at risk?").to_html()).content
    assert alone["title"] == "Who is at risk?"
    told = dict(alone["overview"])["Score on these samples"]
    assert told.endswith("a training score, if the model was fitted to them")
    assert "does worse on others" in alone["quality"]["on"]
    regressor = LPBoostRegressor().fit(X, t)
    errors = np.abs(regressor.predict(X) - t)
    page = Page(Report(regressor, X, t).to_html())
    assert page.content["quality"]["errors"][0] == pytest.approx(errors.mean(), rel=1e-4)


def test_each_rule_is_told_once(frame):
    X, t = frame
    X = X.assign(dose=X["dose"].where(X["dose"] > -1))
    fitted = LPBoostClassifier(C=1.0).fit(X, t > 0.5)
    rules = Page(Report(fitted, X, t > 0.5).to_html()).content["rules"]
    tests = [row[0].removeprefix("(").partition(" or missing")[0] for row in rules["rows"]]
    assert len(tests) > 3
    assert sorted(re.sub(" (<|>=) ", " ", t) for t in tests) == sorted({re.sub(" (<|>=) ", " ", t) for t in tests})
    sums = sum(row[2] * row[3] for row in rules["rows"]) + fitted.intercept_
    assert sums == pytest.approx(fitted.decision_function(X).mean(), abs=1e-4)


def test_numbers_whose_digits_are_all_used_are_drawn():
    ids = 10.0**17 + 64 * np.arange(50)
    y = np.arange(50) > 20
    content = Page(Report(LPBoostClassifier().fit(ids[:, None], y), ids[:, None], y).to_html()).content
    assert sum(content["effects"]["mains"][0]["density"]) == 50


def test_constraints_have_a_price_and_sparse_samples_are_taken(frame):
    X, t = frame
    rising = [Monotone({0: 1})]
    model = LPBoostClassifier(C=1.0, oracle="pair_rules", constraints=rising).fit(csr_array(X.to_numpy()), t > 0.5)
    content = Page(Report(model, csr_array(X.to_numpy()), t > 0.5).to_html()).content
    least, most = model.price_of_constraints_
    assert dict(content["overview"])["What its constraints cost"].startswith(f"between {least:.4g} and {most:.4g} ")
    assert content["explained"]["samples"]
    dense = Page(Report(model, X.to_numpy(), t > 0.5).to_html()).content
    assert dense["effects"] == content["effects"]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"y": [1]}, "y: found it without X"),
        ({"X": "X", "explain": [50]}, "explain: found .50."),
        ({"X": "X", "explain": [0.5]}, "explain: found .0.5."),
    ],
)
def test_what_cannot_be_told_is_refused(given, found, model, frame, tmp_path):
    given = {key: frame[0] if value == "X" else value for key, value in given.items()}
    with pytest.raises(InvalidInput, match=found):
        model.report(tmp_path / "model.html", **given)
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(InvalidInput, match="file: found no folder"):
        model.report(tmp_path / "no" / "model.html")
