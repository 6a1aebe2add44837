"""A report on a fitted model: what it says, as JSON has it, and the page that shows it.

What there is to say are numbers to draw, words to read, and why something is not there. The page is a template, a style
and a script, which are files beside this one, with the content in between.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from datetime import date
from functools import cached_property
from hashlib import sha256
from html import escape
from inspect import signature
from math import inf, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.metrics import confusion_matrix, roc_auc_score, roc_curve
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted

from cvxens import storage, validation
from cvxens.certificates import Certificate
from cvxens.effects import Effects, Interaction, MainEffect, find_span
from cvxens.errors import InvalidInput
from cvxens.features import column
from cvxens.plotting.display import find_fitted, name_problems
from cvxens.plotting.runs import read_traces
from cvxens.types import Array, Data, Given, Indices, Labels, Mask

if TYPE_CHECKING:
    from cvxens.plotting.effects import GivenBands

__all__ = ["Report"]

Content: TypeAlias = dict[str, Any]

MOST_CUTS = 300
"""The most cuts of a function that are drawn, evenly spaced in rank."""


HYPOTHESES = {
    "stumps": "thresholds of single features",
    "quantile_stumps": "thresholds of single features at their quantiles",
    "ramps": "hinge functions of single features",
    "additive": "steps and lines of single features",
    "depth_two_trees": "trees of two features",
    "depth_three_trees": "trees of three features",
    "pair_rules": "rules of two conditions",
    "boxes": "rules of some conditions",
    "trees": "decision trees",
    "perceptrons": "half-spaces",
    "fourier": "waves",
}
"""What the hypotheses of the oracles are, in the plural."""

MEAN = "a mean of"
"""What the note of a certificate says of an average of ensembles."""


@dataclass(frozen=True, eq=False)
class Subject:
    """The samples that a report is about: as they were given, as the model reads them, their names and targets."""

    raw: Any
    X: Any  # (n_samples, n_features), dense or sparse
    y: Labels | None
    weights: Array | None
    rows: Sequence[str]

    @classmethod
    def from_sample(cls, model: BaseEstimator, X: Given, y: Given, sample_weight: Given) -> Subject | None:
        """Read samples; None without any."""
        if X is None:
            for argument, value in (("y", y), ("sample_weight", sample_weight)):
                if value is not None:
                    raise InvalidInput(argument, "found it without X", "give the samples too")
            return None
        read = model._accepts().read(model, X)
        n = read.shape[0]
        y = None if y is None else validation.labels("y", y, n)
        weights = None if sample_weight is None else validation.weights("sample_weight", sample_weight, n)
        rows = None if isinstance(X, Sequence) else getattr(X, "index", None)
        return cls(X, read, y, weights, list(map(str, range(n) if rows is None else rows)))


@dataclass(eq=False)
class Report:
    """A report on a fitted model, on samples where there are any; `report` of the estimators writes it to a file.

    It says what the model is, what its certificate proves, how good it is (the confusion of classes, the ROC curve
    and the calibration of probabilities, or predictions beside targets), which effects matter, what every feature
    adds to the score and every pair of features, why a sample has its score, which rules there are, and how the
    fit went. A model that is no sum of effects has a report without these.

    The page stands alone: it loads nothing, and its policy lets the browser run its own script and no other. What comes
    of the model, such as the names of features, is data, never markup.

    Parameters
    ----------
    model : estimator
        Fitted.
    X : array-like of shape (n_samples, n_features), optional
        Samples over which effects have the mean 0, and whose density is drawn, such as those of the fit.
    y : array-like of shape (n_samples,), optional
        Their targets, for the score on these samples and the support and precision of rules; a name that it has, as
        that of a column of pandas, is told.
    sample_weight : array-like of shape (n_samples,), optional
        How often each counts; by default once.
    explain : sequence of int, optional
        Rows of X whose scores are explained; by default up to 50, from the lowest score to the highest. The
        features of these samples are in the file: mind who reads it.
    bands : cvxens.colgen.Bands, optional
        What `bands` of an ensemble has found, to be drawn around its functions.
    held_out : tuple of X and y, optional
        Samples that the fit has not seen, on which the report says how good the model is; X and y are then taken
        for those of the fit.
    title, data : str, optional
        The headline, and what the data are called.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cvxens import LPBoostClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> page = Report(LPBoostClassifier().fit(X, y), X, y).to_html()
    >>> page.count("<script"), "src=" in page
    (2, False)
    """

    model: BaseEstimator
    X: Given = None
    y: Given = None
    _: KW_ONLY
    sample_weight: Given = None
    explain: Sequence[int] | None = None
    bands: GivenBands = None
    held_out: tuple[Data, ArrayLike] | None = None
    title: str | None = None
    data: str | None = None

    def __post_init__(self) -> None:
        check_is_fitted(self.model)
        self.model = find_fitted(self.model, "best_estimator_", self.model)
        self.given = Subject.from_sample(self.model, self.X, self.y, self.sample_weight)
        self.unseen = None if self.held_out is None else Subject.from_sample(self.model, *self.held_out, None)

    def write(self, file: object) -> None:
        """Write the page to a file, in UTF-8; `InvalidInput` if it cannot be written."""
        storage.check_place("file", file).write_text(self.to_html(), encoding="utf-8", newline="\n")

    def to_html(self) -> str:
        """Return the page."""
        packed = json.dumps(self.content, allow_nan=False, separators=(",", ":"))
        # what could end the data or begin a tag, as JSON writes it
        packed = packed.translate({ord(character): f"\\u{ord(character):04x}" for character in "<>&"})
        folder = Path(__file__).parent
        style, script = (f"\n{(folder / name).read_text(encoding='utf-8')}" for name in ("page.css", "page.js"))
        policy = f"default-src 'none'; style-src {_allow(style)}; script-src {_allow(script)}"
        parts = {"TITLE": escape(self.content["title"]), "KIND": escape(self.content["kind"])}
        parts |= {"POLICY": policy, "STYLE": style, "SCRIPT": script, "DATA": packed}
        template = (folder / "page.html").read_text(encoding="utf-8")
        return re.sub(f"@({'|'.join(parts)})@", lambda place: parts[place[1]], template)

    @cached_property
    def content(self) -> Content:
        """What the report says."""
        model, given, name, target = self.model, self.given, type(self.model).__name__, self._target
        content: Content = {
            "title": self.title or (f"{target}, by {name}" if target else name),
            "kind": f"Report of a fitted model, {date.today().isoformat()}{f', on {self.data}' * bool(self.data)}",
            "overview": self._describe_overview(),
            "quality": self._describe_quality(),
            "parameters": [[name, repr(value)[:200]] for name, value in model.get_params(deep=False).items()],
            "certificates": _describe_certificates(model),
            "histories": _describe_histories(model),
            "rules": _describe_rules(model, given),
        }
        try:
            effects = model.effects(None if given is None else given.raw, self.sample_weight)
        except InvalidInput as error:
            return content | {"effects": {"lacking": f"This model has no effects to draw: {error.found}."}}
        content["effects"] = _describe_effects(model, effects, given)
        if self.bands is not None:
            _add_bands(content["effects"], effects, self.bands)
        return content | {"explained": _explain(model, effects, given, self.explain)}

    @property
    def _target(self) -> str:
        """The name of what is predicted, where y or the table of the fit has one."""
        encoder = vars(self.model).get("encoder_")
        return str(getattr(self.y, "name", None) or (encoder.target if encoder else ""))

    def _describe_overview(self) -> list[list[str]]:
        """Return lines of a name and a text."""
        model, given, unseen = self.model, self.given, self.unseen
        lines = [["What it is", describe_kind(model)], ["Target", self._target], ["Data", self.data or ""]]
        lines = [line for line in [*lines, ["Features", str(model.n_features_in_)]] if line[1]]
        if is_classifier(model):
            lines.append(["Classes", ", ".join(map(str, model.classes_))])
        parts = model._parts()
        if "weak_learners_" in vars(parts[0]):
            used = sum(int(np.any(w)) for part in parts for w in part.weights_)
            lines.append(["Weak learners in use", str(used)])
        elif "support_" in vars(parts[0]):
            lines.append(["Support vectors", str(len(np.unique(np.concatenate([part.support_ for part in parts]))))])
        prices = [price for part in parts if (price := vars(part).get("price_of_constraints_")) is not None]
        if prices:
            least, most = (sum(ends) for ends in zip(*prices, strict=True))
            lines.append(["What its constraints cost", f"between {least:.4g} and {most:.4g} in the objective"])
        if given is None:
            return [*lines, ["Samples of this report", "none were given: shapes are over all thresholds alike"]]
        lines.append(["Samples of this report", str(len(given.rows))])
        if given.y is not None:
            found = _describe_score(model, given)
            asked = "; a training score, if the model was fitted to them"
            lines.append(["Score on these samples", found + asked] if unseen is None else ["Training score", found])
        if unseen is not None:
            lines.append([f"Score on {len(unseen.rows)} others, not seen by the fit", _describe_score(model, unseen)])
        return lines

    def _describe_quality(self) -> Content:
        """Return what the model gets right and wrong: confusion, ROC and calibration, or predictions beside targets."""
        model, of = self.model, self.given if self.unseen is None else self.unseen
        if of is None or of.y is None:
            return {"lacking": "The report was made without samples whose targets are known."}
        on = f"On {len(of.rows)} samples that the fit has not seen."
        if self.unseen is None:
            on = "On the samples of this report: if the model was fitted to them, it does worse on others."
        predicted = np.asarray(model.predict(of.raw))
        if is_classifier(model):
            names = np.union1d(model.classes_, of.y)
            table = confusion_matrix(of.y, predicted, labels=names, sample_weight=of.weights)
            counts = [_numbers(row) for row in table]
            found: Content = {"on": on, "classes": [str(name) for name in names], "confusion": counts}
            positive = of.y == model.classes_[-1]
            if len(names) == 2 and positive.any() and not positive.all():
                scores = np.asarray(model.decision_function(of.raw)).reshape(len(positive), -1)[:, -1]
                wrong, right, _ = roc_curve(positive, scores, sample_weight=of.weights)
                thin = _thin(len(wrong), MOST_CUTS)
                area = _number(roc_auc_score(positive, scores, sample_weight=of.weights))
                found["roc"] = {"x": _numbers(wrong[thin]), "y": _numbers(right[thin]), "area": area}
            if len(names) == 2 and (predict := find_fitted(model, "predict_proba")):
                found["calibration"] = _describe_calibration(predict(of.raw)[:, 1], positive, of.weights)
            return found
        if not is_regressor(model) or predicted.ndim > 1:
            return {"lacking": "What there is to say is the score above."}
        thin, errors = _thin(len(predicted), 1000), np.abs(predicted - of.y)
        return {
            "on": on,
            "errors": [_number(np.average(errors, weights=of.weights)), _number(np.quantile(errors, 0.9))],
            "points": {"x": _numbers(predicted[thin]), "y": _numbers(np.asarray(of.y)[thin])},
        }


def _allow(text: str) -> str:
    """Return the word of a policy that allows one text in the page: its hash."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def _describe_calibration(probabilities: Array, positive: Mask, weights: Array | None) -> Content:
    """Return the mean probability, the share of the class and the number of samples of each tenth of probabilities."""
    masses = np.ones(len(positive)) if weights is None else weights
    places = np.minimum((10 * probabilities).astype(np.intp), 9)
    totals = np.bincount(places, masses, 10)
    used = np.flatnonzero(totals)
    means, shares = (np.bincount(places, masses * of, 10)[used] / totals[used] for of in (probabilities, positive))
    return {"x": _numbers(means), "y": _numbers(shares), "counts": _numbers(totals[used])}


def _describe_score(model: BaseEstimator, given: Subject) -> str:
    """Say what the score of a model on samples is, and of what."""
    # rankers count no weights
    weights = {"sample_weight": given.weights} if "sample_weight" in signature(model.score).parameters else {}
    score = float(model.score(given.raw, given.y, **weights))
    if is_classifier(model):
        return f"{100 * score:.1f} % are classified correctly"
    in_order = f"{100 * score:.1f} % of pairs are in order"
    return f"R\N{SUPERSCRIPT TWO} = {score:.4f}" if is_regressor(model) else in_order


def _describe_certificates(model: BaseEstimator) -> list[Content]:
    """Return a sentence on each certificate, and its lines."""
    certificates = list_certificates(model.certificate_)
    told = describe_proofs(certificates, model, f"all {name_hypotheses(model)}")
    return [
        {"name": name, "sentence": sentence, "proven": bool(each.proven), "rows": [list(row) for row in each._rows()]}
        for (name, sentence), each in zip(told, certificates, strict=True)
    ]


def _describe_histories(model: BaseEstimator) -> list[Content]:
    """Return the objective, the bound and the gap of every round; nothing of models without rounds."""
    try:
        traces = read_traces(model)
    except InvalidInput:
        # there are no rounds, or they have no objective and no bound
        return []
    described = []
    for trace in traces:
        chosen = _thin(len(trace.objective), 400)
        columns = {"objective": trace.objective, "bound": trace.bound, "gap": trace.relative_gap, "round": trace.rounds}
        numbers = {key: _numbers(values[chosen]) for key, values in columns.items()}
        described.append({"name": trace.name, "quantity": trace.quantity, **numbers})
    return described


def _describe_rules(model: BaseEstimator, given: Subject | None) -> Content:
    """Return the rules of an ensemble, or else its weak learners, as a table."""
    if find_fitted(model, "to_frame") is None:
        return {"lacking": "This model is no list of rules."}
    frame, kind = None, "rules"
    if given is not None and given.y is not None:
        try:
            frame = model.get_rules(given.raw, given.y, given.weights)
        except InvalidInput:
            # weak learners that are no sums of rules are listed as they are
            frame = None
    if frame is None:
        frame, kind = model.to_frame(), "weak learners"
    if "problem" in frame and frame["problem"].nunique() > 1:
        names = name_problems(model)
        frame["problem"] = [names[k] for k in frame["problem"]]
    else:
        frame = frame.drop(columns="problem", errors="ignore")
    # the most rules, functions, pairs and samples in a report are the most important ones
    rows = [[_cell(value) for value in row] for row in frame.head(500).itertuples(index=False)]
    return {"kind": kind, "columns": list(map(str, frame.columns)), "rows": rows, "total": len(frame)}


def _describe_effects(model: BaseEstimator, effects: Effects, given: Subject | None) -> Content:
    """Return what each effect is, how important, and how it is drawn."""
    ranked = [int(k) for k in np.argsort(-effects.importances, kind="stable") if effects.importances[k] > 0]
    # smaller effects are rounding
    ranked = [k for k in ranked if effects.importances[k] > 1e-9 * effects.importances[ranked[0]]]
    terms = [
        {
            "name": effects.names[k],
            "order": len(effects.terms[k].features),
            "importance": _numbers(effects.sizes[k]),
            "mean": _number(effects.importances[k]),
            "share": _number(effects.shares[k]),
        }
        for k in ranked
    ]
    mains: list[Content] = []
    pairs: list[Content] = []
    for place, k in enumerate(ranked):
        term = effects.terms[k]
        if isinstance(term, MainEffect) and len(mains) < 60:
            mains.append({"term": place, **_draw_main(term, effects, given)})
        elif isinstance(term, Interaction) and len(term.features) == 2 and len(pairs) < 24:
            pairs.append({"term": place, **_draw_pair(term, effects, given)})
    score = f"score ({effects.note})" if effects.note else "prediction" if is_regressor(model) else "score"
    orders = [len(term.features) for term in effects.terms]
    return {
        "outputs": list(effects.outputs),
        "score": score,
        "intercept": _numbers(effects.intercept),
        "terms": terms,
        "mains": mains,
        "pairs": pairs,
        "counts": [orders.count(1), orders.count(2)],
    }


def _add_bands(described: Content, effects: Effects, bands: Any) -> None:
    """Add the bands of features to the functions that are drawn, and what they say in words."""
    by_feature = {band.feature: band for band in bands.bands}
    drawn = {effects.feature_names[feature]: band for feature, band in by_feature.items()}
    for main in described["mains"]:
        if (band := drawn.get(main["name"])) is not None:
            ends = band.points, band.shape.least, band.shape.most
            main["band"] = dict(zip(("x", "least", "most"), map(_numbers, ends), strict=True))
    needed = [effects.feature_names[feature] for feature in bands.needed]
    described["bands"] = (
        f"Shades and bars: what the function can be in any ensemble whose objective is within {bands.within:.3g} of "
        f"the best, relative; proven at the bars. "
        + (
            f"No such ensemble does without {', '.join(needed)}."
            if needed
            else "None of these features is in all such ensembles."
        )
    )


def _draw_main(main: MainEffect, effects: Effects, given: Subject | None) -> Content:
    """Return a function as lines through points, and the density of its feature; of few values, as bars."""
    drawn: Content = {"name": effects.feature_names[main.feature]}
    x = None if given is None else np.asarray(column(given.X, main.feature), np.float64)
    low, high = find_span(main.cuts, x)
    if given is not None and x is not None:
        weights = np.ones(len(x)) if given.weights is None else given.weights
        known = ~np.isnan(x)
        if not known.all():
            drawn["missing"] = {"values": _numbers(main.at([np.nan])), "count": _number(weights[~known].sum())}
        levels, places = np.unique(x[known], return_inverse=True)
        nominal = main.feature in effects.levels
        # few values are drawn as bars
        if len(levels) <= 8 or nominal:
            drawn["levels"] = _numbers(levels)
            drawn["names"] = [effects.tell_value(main.feature, level) for level in levels] if nominal else None
            drawn["counts"] = _numbers(np.bincount(places, weights[known], len(levels)))
            drawn["bars"] = [_numbers(values) for values in main.at(levels).T]
            return drawn
        # numpy's histogram refuses numbers whose range has fewer than so many digits to be told apart
        places = np.clip((x[known] - low) / ((high - low) or 1.0) * 32, 0, 31).astype(np.intp)
        drawn["density"] = _numbers(np.bincount(places, weights[known], 32))
    points, lines = main.outline(low, high, MOST_CUTS)
    drawn["x"], drawn["lines"] = _numbers(points), [_numbers(values) for values in lines.T]
    drawn["thinned"] = len(main.cuts) if len(main.cuts) > MOST_CUTS else 0
    return drawn


def _draw_pair(pair: Interaction, effects: Effects, given: Subject | None) -> Content:
    """Return a pair as a table between edges, with the share of the samples in each cell."""
    edges, table, masses = pair.crop(None if given is None else given.X, effects.levels)
    return {
        "levels": [effects.levels.get(feature) for feature in pair.features],
        "names": [effects.feature_names[feature] for feature in pair.features],
        "edges": [_numbers(ends) for ends in edges],
        "tables": [[_numbers(row) for row in values] for values in np.moveaxis(table, -1, 0)],
        "masses": [_numbers(row) for row in masses],
    }


def _explain(model: BaseEstimator, effects: Effects, given: Subject | None, explain: object) -> Content | None:
    """Return what each effect, and each feature by its Shapley value, adds to the scores of some samples."""
    if given is None:
        return None
    scores = effects(given.raw).reshape(len(given.rows), -1)
    rows = _choose(scores[:, 0], explain)
    samples = _safe_indexing(given.raw, rows) if hasattr(given.raw, "columns") else given.X[rows]
    n, n_outputs = len(rows), scores.shape[1]
    by_effect = effects.contributions(samples).reshape(n, -1, n_outputs)
    by_feature = effects.shapley_values(samples).reshape(n, -1, n_outputs)
    predicted = model.predict(samples)
    # of the class that is predicted
    predict = find_fitted(model, "predict_proba")
    sure = predict(samples).max(axis=1) if predict else None
    picked = given.X[rows]
    values = np.asarray(picked.toarray() if issparse(picked) else picked, np.float64)
    main_of = [term.features[0] if len(term.features) == 1 else -1 for term in effects.terms]
    shown_effects = np.argsort(-effects.importances, kind="stable")[:40]
    shown_features = np.argsort(-np.abs(by_feature).mean(axis=(0, 2)), kind="stable")[:40]
    return {
        "effects": [effects.names[k] for k in shown_effects],
        "features": [effects.feature_names[k] for k in shown_features],
        "values_of_effects": [
            [_value(effects, main_of[k], values[i, main_of[k]]) if main_of[k] >= 0 else None for k in shown_effects]
            for i in range(n)
        ],
        "values_of_features": [[_value(effects, j, values[i, j]) for j in shown_features.tolist()] for i in range(n)],
        "samples": [
            {
                "name": given.rows[row],
                "predicted": _cell(np.asarray(predicted)[i]),
                "probability": None if sure is None else _number(sure[i]),
                "target": None if given.y is None else _cell(given.y[row]),
                "scores": _numbers(scores[row]),
                "by_effect": _with_others(by_effect[i], shown_effects),
                "by_feature": _with_others(by_feature[i], shown_features),
            }
            for i, row in enumerate(rows.tolist())
        ],
    }


def _value(effects: Effects, feature: int, value: float) -> Any:
    """Return a value of a feature, as text where it is a level or missing."""
    words = feature in effects.levels or np.isnan(value)
    return effects.tell_value(feature, value) if words else _number(value)


def _with_others(values: Array, shown: Indices) -> list[list[Any]]:
    """Return by score the values of those that are shown, and the sum of the others."""
    others = values.sum(axis=0) - values[shown].sum(axis=0) if len(shown) < len(values) else np.zeros(values.shape[1])
    return [[*_numbers(of_score[shown]), _number(other)] for of_score, other in zip(values.T, others, strict=True)]


def _choose(scores: Array, explain: object) -> Indices:
    """Return the rows that were asked for, or rows from the lowest to the highest score."""
    if explain is None:
        ranked = np.argsort(scores, kind="stable")
        return ranked[_thin(len(ranked), 50)]
    rows = np.atleast_1d(np.asarray(explain))
    if rows.ndim != 1 or rows.dtype.kind not in "iu" or not len(rows) or rows.min() < 0 or rows.max() >= len(scores):
        found = f"found {explain!r:.100}"
        raise InvalidInput("explain", found, f"give numbers of rows of X, from 0 to {len(scores) - 1}")
    return rows.astype(np.intp)


def _thin(n: int, most: int) -> Indices:
    """Return at most so many of n places, evenly spaced, the first and the last among them."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).round().astype(np.intp))


def _number(value: Any) -> float | None:
    """Return a number of few digits; None for one that is not finite, which JSON does not have."""
    number = float(value)
    return float(f"{number:.6g}") if isfinite(number) else None


def _numbers(values: ArrayLike) -> list[float | None]:
    return [_number(value) for value in np.ravel(values)]


def _cell(value: object) -> Any:
    """Return an entry of a table: a number, or text."""
    if isinstance(value, np.void):
        return ", ".join(f"{name} {_cell(value[name])}" for name in value.dtype.names or ())
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, float | np.floating):
        return _number(value)
    return str(value)


def describe_proof(certificate: Certificate, tol: float | None, what: str, over: str) -> str:
    """Say what a certificate proves of `what`, such as "the objective": the strongest of the sentences that holds.

    `over` names the set of hypotheses, where the certificate is about one.

    Examples
    --------
    >>> describe_proof(Certificate(1.0, 0.99, 0.01, 0.01, {}, {}, True), 0.05, "the objective", "")
    'Proven: the objective is within 1 % of the best possible (asked: 5 %).'

    A mean of ensembles, each of which is as good as was asked at its own price, is further from the best at one:

    >>> note = "over every hypothesis of the oracle, of a mean of 3 ensembles"
    >>> mean = Certificate(1.0, 0.98, 0.02, 0.02, {}, {}, True, note=note)
    >>> describe_proof(mean, 0.001, "the objective", "all stumps")
    'Proven: the objective of a mean of 3 ensembles is within 2 % of the best possible over all stumps.'
    """
    if certificate.about:
        sentence = describe_proof(replace(certificate, about=""), tol, what, over)
        return f"{certificate.about[0].upper()}{certificate.about[1:]}. {sentence}"
    among = f" over {over}" if "hypothes" in certificate.note else ""
    asked = "" if tol is None else f" (asked: {as_percent(tol)})"
    within = f"{what} is within {as_percent(certificate.relative_gap)} of the best possible{among}"
    if not isfinite(certificate.gap):
        return f"Nothing is proven: {certificate.note or 'one of the two objectives is not finite'}."
    if certificate.relative_gap < 0:
        return "Nothing is proven: the bound is on the wrong side of the objective."
    if certificate.condition:
        return f"Conditional, not proven: {certificate.condition}, {within}{asked}."
    if not certificate.proven:
        found = f"the bound that there is leaves a gap of {as_percent(certificate.relative_gap)}"
        return f"Not proven ({certificate.note or 'no bound over all hypotheses'}): {found}{asked}."
    if tol is None:
        sides = f"{certificate.primal:.4g}, and none is beyond {certificate.dual:.4g}"
        return f"Proven: {what} is {sides}{among}."
    if MEAN in certificate.note:
        mean = certificate.note[certificate.note.index(MEAN) :]
        return f"Proven: {what} of {mean} is within {as_percent(certificate.relative_gap)} of the best possible{among}."
    if not certificate.holds(tol):
        return f"Not within the tolerance asked, {as_percent(tol)}: proven is only that {within}."
    if certificate.relative_gap <= 1e-9:
        return f"Proven: {what} is the best possible{among}, to rounding{asked}."
    return f"Proven: {within}{asked}."


def list_certificates(found: Any) -> list[Certificate]:
    """Return the certificates of sub-problems, or the only one, as a list."""
    return list(found) if isinstance(found, list | tuple) else [found]


def describe_proofs(
    certificates: Sequence[Certificate], model: BaseEstimator, over: str, tol: float | None = None
) -> list[tuple[str, str]]:
    """Return what each sub-problem of a fitted model tells apart, "" where there is one, and what is proven of it.

    `over` names the set of hypotheses, where a certificate is about one; `tol` is that of the model by default.
    """
    tol = model.get_params().get("tol") if tol is None else tol
    what = getattr(type(model), "certified", "the objective")
    names = name_problems(model) if len(certificates) > 1 else [""]
    return [(name, describe_proof(each, tol, what, over)) for name, each in zip(names, certificates, strict=True)]


def keeps_promise(certificate: Certificate, tol: float | None) -> bool:
    """Return True if what was asked is proven; without a tolerance, and of a mean of ensembles, that is any bound."""
    if tol is None or MEAN in certificate.note:
        return certificate.proven and 0 <= certificate.relative_gap < inf
    return certificate.holds(tol)


def name_hypotheses(model: BaseEstimator) -> str:
    """Return what the weak learners of an ensemble are drawn from, in the plural.

    Examples
    --------
    >>> from cvxens import LPBoostClassifier
    >>> name_hypotheses(LPBoostClassifier())
    'thresholds of single features'
    """
    oracle = model.get_params(deep=False).get("oracle")
    if oracle == "additive" and np.any(find_fitted(model, "pairs_", True)):
        return "steps, lines and pairs of features"
    return HYPOTHESES.get(oracle, "hypotheses of its oracle") if isinstance(oracle, str) else "hypotheses of its oracle"


def describe_kind(model: BaseEstimator) -> str:
    """Say in a plain sentence what a fitted model does."""
    purpose = "It predicts a number" if is_regressor(model) else "It puts samples in order"
    if is_classifier(model):
        purpose = f"It tells {len(model.classes_)} classes apart"
    parts = model._parts()
    if "weak_learners_" in vars(parts[0]):
        return f"{purpose} by a score, which is a weighted sum of {name_hypotheses(model)}."
    if "support_" in vars(parts[0]):
        return f"{purpose} by a score, which is a weighted sum of how alike a sample is to some samples of the fit."
    return f"{purpose} by a score."


def as_percent(share: float) -> str:
    """Return a share of two digits, in percent."""
    return f"{100 * share:.2g} %" if share < 1 else f"{100 * share:.0f} %"
