"""What fitted estimators say of themselves to people: effects, tables, texts, importances, and lists of rules.

Every weak learner that is constant on boxes is a sum of rules, each with a vote. A line of a feature, or a ramp, is
listed beside them: its vote is per unit of its value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import inf
from textwrap import indent
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils._optional_dependencies import check_pandas_support
from sklearn.utils.validation import check_is_fitted

from cvxens import validation
from cvxens.effects import Effects, MainEffect
from cvxens.errors import InvalidInput, refusing
from cvxens.hypotheses import (
    Branch,
    Conditions,
    Constant,
    Hypothesis,
    Interval,
    LevelStump,
    Ramp,
    Rule,
    Scaled,
    SignedTree,
    find_sides,
    find_step,
    simplify,
    with_names,
)
from cvxens.types import Array, Data, Frame, Given, Indices, Matrix


class Terms(NamedTuple):
    """The hypotheses and main effects that scores are sums of, each with its weights (n_outputs,)."""

    terms: Sequence[tuple[Any, Array]]
    intercept: Array  # (n_outputs,)
    outputs: Sequence[str]  # the names of several scores


def find_effects(model: BaseEstimator, X: Given = None, sample_weight: Given = None) -> Effects:
    """Take the score apart into functions of single features, of pairs, and of more, exactly.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features), optional
        The samples over which effects have the mean 0, such as those of the fit; without them features count as
        independent, and all cells between the thresholds of a feature alike.
    sample_weight : array-like of shape (n_samples,), optional
        How often each counts; by default once.

    Returns
    -------
    cvxens.effects.Effects
        With the contributions to the score of any sample, importances, exact Shapley values and partial dependence.
        Of several classes there are the scores of each; of quantiles those before they are sorted.

    Raises
    ------
    InvalidInput
        A model that is no sum of functions of few features, such as one of perceptrons or of a Gaussian kernel.
    """
    check_is_fitted(model)
    found, read = model._list_terms(), partial(model._accepts().read, model)
    if X is not None:
        X = read(X)
        if sample_weight is not None:
            sample_weight = validation.weights("sample_weight", sample_weight, np.shape(X)[0])
    names = vars(model).get("feature_names_in_", [f"x[{j}]" for j in range(model.n_features_in_)])
    kinds = enumerate(vars(model).get("features_", ()))
    levels = {j: kind.categories for j, kind in kinds if kind.categories is not None}
    note = "" if found.outputs else model._say_score()
    given: Any = {"X": X, "sample_weight": sample_weight, "read": read, "levels": levels, "note": note}
    return Effects.from_terms(found.terms, found.intercept, names, found.outputs, **given)


def write_report(model: BaseEstimator, file: object, X: Given = None, y: Given = None, **more: object) -> None:
    """Write a report for people: one HTML file, to be opened in a browser, that loads nothing from elsewhere.

    Parameters
    ----------
    file : str or path
        Where it goes; a file of that name is replaced.
    X, y, **more
        As of `cvxens.report.Report`, which says what is in it: samples, such as those of the fit, with their targets,
        samples held out, rows that are explained, bands around functions, and titles.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from sklearn.datasets import load_breast_cancer
    >>> from cvxens import LPBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = LPBoostClassifier(C=0.01, oracle="depth_two_trees").fit(X, y)
    >>> with TemporaryDirectory() as folder:
    ...     model.report(Path(folder) / "model.html", X, y)
    """
    from cvxens.report import Report

    options: Any = more
    Report(model, X, y, **options).write(file)


def refuse_terms(model: BaseEstimator) -> Terms:
    """Raise, as a model is no sum of functions of few features."""
    found = f"found a {type(model).__name__}, which is no sum of functions of few features"
    raise InvalidInput("effects", found, "take an ensemble, or a machine with a kernel of stumps")


def list_machine_terms(machine: BaseEstimator) -> Terms:
    """Return the functions of single features that a kernel machine is the sum of."""
    parts = machine._parts()
    with refusing("effects", "found none", "take a kernel of stumps", (AttributeError,)):
        shapes = machine.shape_functions_
    listed = [shapes] if parts == [machine] else shapes
    terms = [
        (MainEffect.from_knots(feature, *shape), unit)
        for functions, unit in zip(listed, np.eye(len(parts)), strict=True)
        for feature, shape in enumerate(functions)
    ]
    return Terms(terms, np.array([float(part.intercept_) for part in parts]), name_outputs(machine, len(parts)))


def list_votes(ensemble: BaseEstimator) -> Iterator[tuple[int, Any, Array]]:
    """Yield the sub-problem, hypothesis and weights (n_outputs,) of every weak learner that has a weight."""
    for problem, part in enumerate(ensemble._parts()):
        for hypothesis, w in zip(part.weak_learners_, part.weights_, strict=True):
            if np.any(w):
                yield problem, hypothesis, np.atleast_1d(w)


def list_votes_of(ensemble: BaseEstimator) -> Terms:
    """Return the weak learners of an ensemble with what each adds to the scores."""
    parts = ensemble._parts()
    if any(vars(part).get("_decide") is not None for part in parts):
        remedy = "take one whose scores are sums of weak learners alone"
        raise InvalidInput("effects", "found a formulation whose variables of its own act by a function", remedy)
    problems = list(_list_problems(ensemble))
    if len(problems) > 1:
        listed = zip(problems, np.eye(len(problems)), strict=True)
        terms = [(h, w * unit) for (*_, learners, W), unit in listed for h, w in zip(learners, W, strict=True)]
        intercept = np.array([float(part.intercept_) for part in parts])
    else:
        # of scores that are linear in these outputs; those of quantiles are sorted, which no sum is
        ((*_, learners, W),), b = problems, np.asarray(ensemble.intercept_)
        intercept = np.atleast_1d(ensemble._to_scores(b[None])[0] if b.ndim and "classes_" in vars(ensemble) else b)
        terms = [(learner, np.ravel(w)) for learner, w in zip(learners, W, strict=True)]
    used = [(h, w) for h, w in terms if np.any(w)]
    return Terms(used, intercept, name_outputs(ensemble, len(intercept)))


def name_outputs(estimator: BaseEstimator, n_outputs: int) -> list[str]:
    """Name several scores: by classes, or what sub-problems tell apart, or quantiles; none where there is one."""
    if n_outputs == 1:
        return []
    classes = vars(estimator).get("classes_")
    return [f"output {k}" for k in range(n_outputs)] if classes is None else list(map(str, classes))


class WeightedRule(NamedTuple):
    """A rule of an ensemble: what its conditions add to the score where they hold, and for which samples they do."""

    rule: Rule | Ramp
    votes: Array  # (n_outputs,); of a ramp, for each unit of its value
    held: Array  # (n_samples,), the masses of those that it holds for, or is not 0; 0 for others

    @property
    def text(self) -> str:
        """The conditions, or the formula of a ramp."""
        return str(self.rule) if isinstance(self.rule, Ramp) else self.rule.test

    @property
    def length(self) -> int:
        """The number of conditions, 1 for a ramp."""
        return 1 if isinstance(self.rule, Ramp) else len(self.rule.intervals)


def list_rules(hypothesis: Hypothesis) -> Iterator[tuple[Conditions | Ramp, float]]:
    """Yield rules, by their conditions in the order of the features, and values; h(x) is the sum of those that hold.

    Ramps are yielded as they are, with a slope above 0, and the factor that makes h of them.

    Examples
    --------
    >>> from cvxens.hypotheses import Stump
    >>> for (condition,), value in list_rules(Stump(1, 0.5, -1, missing=1)):
    ...     print(condition, value)
    (x[1] >= 0.5 or missing) -1
    x[1] < 0.5 1
    """
    match hypothesis:
        case Rule():
            yield tuple(sorted(hypothesis.intervals, key=lambda condition: condition.feature)), hypothesis.sign
        case Branch():
            for leaf in hypothesis.rules:
                yield from list_rules(leaf)
        case Scaled():
            for intervals, value in list_rules(hypothesis.hypothesis):
                yield intervals, hypothesis.factor * value
        case Ramp():
            yield replace(hypothesis, slope=abs(hypothesis.slope)), np.sign(hypothesis.slope)
        case _ if (step := find_step(hypothesis)) is not None:
            feature, threshold, above, below, missing = step
            if above == below == missing:
                yield (), above
                return
            yield (Interval(feature, threshold, inf, missing == above),), above
            yield (Interval(feature, -inf, threshold, missing == below),), below
        case LevelStump():
            yield from (((simplify(side),), sign) for side, sign in zip(find_sides(hypothesis), (1, -1), strict=True))
        case _:
            found = f"found a {type(hypothesis).__name__} as a weak learner, which is no sum of rules"
            raise InvalidInput("get_rules", found, "fit with stumps, ramps, trees of depth 2 or 3, rules or boxes")


def weigh_rules(learners: Sequence[Any], weights: Array, X: Data, masses: Array) -> list[WeightedRule]:
    """Return the rules of weak learners of weights (n_weak_learners, ...), the largest first, on samples with masses.

    Rules of equal conditions are one. Of two that part the samples, as the sides of a stump do, one is listed, with
    what it adds to the other, which goes to the rule without conditions.
    """
    votes: dict[Conditions | Ramp, Array] = {}
    for learner, w in zip(learners, weights, strict=True):
        if np.any(w):
            for conditions, value in list_rules(learner):
                votes[conditions] = votes.get(conditions, np.zeros(np.shape(np.atleast_1d(w)))) + value * w
    rules = {each: each if isinstance(each, Ramp) else Rule(each, 1) for each in ((), *votes)}
    holds = {each: rule(X) != 0 for each, rule in rules.items()}
    # the one condition of a rule, by its feature and what it is about
    sides: dict[Any, list[Any]] = {}
    for each in list(votes):
        if not isinstance(each, Ramp) and len(each) == 1:
            about = each[0].feature, each[0].ends
            other = next((side for side in sides.get(about, ()) if (holds[side] ^ holds[each]).all()), None)
            if other is None:
                sides.setdefault(about, []).append(each)
            else:
                moved = votes.pop(each)
                votes[other] = votes[other] - moved
                votes[()] = votes.get((), 0.0) + moved
    found = [WeightedRule(rules[each], vote, masses * holds[each]) for each, vote in votes.items() if vote.any()]
    return sorted(found, key=lambda each: -np.abs(each.votes).max())


def average(values: ArrayLike, held: Array) -> float:
    """Return the mean of values over the samples that a rule holds for; NaN where there are none."""
    covered = float(held.sum())
    return float(held @ np.asarray(values, np.float64)) / covered if covered else np.nan


Sides: TypeAlias = tuple[str, ...]
"""The names of the classes; of two, those of negative and of positive scores."""


def find_importances(ensemble: BaseEstimator) -> Array:
    """The share of each feature in the sum of |weights| of the weak learners that look at it, (n_features,).

    A stump's weight is all its feature's. A tree's is divided among its tests, in proportion to the training weight
    that comes to each, or, where it is of depth 2, half as much to a test as to the one before it; a rule's equally
    among its conditions; that of a classifier of scikit-learn, or of another hypothesis, by its own
    `feature_importances_`, or by the sizes of its `coef_`. Of sub-problems, the mean. Ensembles of hypotheses that
    have neither, such as perceptrons, have no importances.
    """
    check_is_fitted(ensemble)
    sums = np.zeros((len(ensemble._parts()), ensemble.n_features_in_))
    for problem, hypothesis, w in list_votes(ensemble):
        features, shares = find_shares(hypothesis)
        if np.max(features, initial=0) >= sums.shape[1]:
            found = f"{hypothesis!s:.100} tells of {len(features)} features, where X has {sums.shape[1]}"
            raise AttributeError(f"feature_importances_: {found}")
        np.add.at(sums[problem], features, np.abs(w).sum() * shares)
    return share_out(sums)


def share_out(sizes: Array) -> Array:
    """Return the shares of features in what they have of each sub-problem, in the mean of those that have any.

    Examples
    --------
    >>> share_out(np.array([[1.0, 3.0], [0.0, 0.0]]))
    array([0.25, 0.75])
    """
    totals = sizes.sum(axis=1, keepdims=True)
    shares = sizes / np.where(totals > 0, totals, 1.0)
    return shares.sum(axis=0) / max(np.count_nonzero(totals), 1)


def to_frame(ensemble: BaseEstimator) -> Frame:
    """Return the ensemble as a pandas data frame, a row per weak learner, the largest weight first.

    Returns
    -------
    pandas.DataFrame
        `problem` (the sub-problem), `hypothesis`, the `weight` (one column per output where there are several),
        and where all weak learners are stumps `feature`, `threshold` and `sign`.

    Raises
    ------
    ImportError
        Without pandas.
    """
    check_is_fitted(ensemble)
    pd = check_pandas_support("to_frame")
    names = _names(ensemble)
    rows = [
        {"problem": problem, "hypothesis": _name(hypothesis, names), **_weights(w), **_stump(hypothesis, names)}
        for problem, hypothesis, w in sorted(list_votes(ensemble), key=lambda vote: (vote[0], -np.abs(vote[2]).max()))
    ]
    return pd.DataFrame(rows, columns=None if rows else ["problem", "hypothesis", "weight"])


def get_rules(ensemble: BaseEstimator, X: Data, y: ArrayLike, sample_weight: Given = None) -> Frame:
    """Return the ensemble as a pandas data frame of rules, a row each, the largest weight first.

    The score is the intercept and the sum of the weights of the rules that hold, so equal conditions of several
    weak learners make one rule. A stump is one rule, and adds to the rule "always", which holds for every sample; a
    tree of depth 2 is one for each leaf. A ramp is a row too, whose weight is per unit of its value; it holds where
    that is not 0.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples that the rules are counted on, such as those of the fit.
    y : array-like of shape (n_samples,)
        Their classes, targets, grades, or times and events, as in `fit`.
    sample_weight : array-like of shape (n_samples,), optional
        How often each counts; by default once. Rankers do without.

    Returns
    -------
    pandas.DataFrame
        `rule` (its conditions), `weight` (what it adds to the score; one column per score where there are several),
        `support` (the share of the samples that it holds for), `length` (its number of conditions). Of a classifier
        also `problem` (the sub-problem), `class` (what it votes for), and `precision` (the share of these samples
        that are of its class); of others the `mean` of these samples' targets or grades, or the share that had
        `events`.

    Raises
    ------
    InvalidInput
        A weak learner is no sum of rules.
    ImportError
        Without pandas.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from cvxens import LPBoostClassifier
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> model = LPBoostClassifier(C=0.01, oracle="pair_rules").fit(X, y)
    >>> rules = model.get_rules(X, y)
    >>> print(rules["length"].max(), rules["precision"].iloc[0] > 0.9)
    2 True
    """
    pd = check_pandas_support("get_rules")
    sample = ensemble._read_again(X, y, sample_weight=sample_weight)
    rows, columns = list(_list_rules(ensemble, sample)), ["rule", "weight", "support", "length"]
    return pd.DataFrame(rows, columns=None if rows else columns)


def _list_rules(ensemble: BaseEstimator, sample: object) -> Iterator[dict[str, Any]]:
    """Yield the rows of `get_rules`, on the samples of the sub-problems."""
    names, classifies = _names(ensemble), "classes_" in vars(ensemble)
    parts = enumerate(zip(_list_problems(ensemble), ensemble._problems(sample), strict=True))
    for problem, ((_, sides, learners, votes), part) in parts:
        for found in weigh_rules(learners, votes, part.X, part.masses):
            if classifies:
                side = int(found.votes[0] > 0) if len(found.votes) == 1 else int(found.votes.argmax())
                head, voted = {"problem": problem}, {"class": sides[side]}
                measure, values = "precision", part.labels == side
            else:
                head, voted, (measure, values) = {}, {}, part.outcomes
            yield {
                **head,
                "rule": with_names(found.text, names),
                **voted,
                **_weights(found.votes),
                "support": found.held.sum() / part.masses.sum(),
                measure: average(values, found.held),
                "length": found.length,
            }


def to_text(ensemble: BaseEstimator, most: int = 20) -> str:
    """Return the ensemble as lines "weight  hypothesis", the `most` largest weights first.

    Of two classes, and of sub-problems, which are named in front, a line says for which class the weight votes if
    the test holds; if it does not, it votes for the other one. Of several classes at once, a line has the votes
    for the classes where the test holds; where it does not, all of them change their signs. Rules say that they
    have no vote elsewhere. Of a model without classes, a line has what is added to the prediction, or to its
    logarithm where that is the score, where the test holds, and taken off where it does not; the last one is the
    intercept. Trees that are grown take several lines. Features have the names that `fit` was given, else x[0], x[1],
    ... (x0, x1, ... in trees).

    Parameters
    ----------
    most : int
        At most so many weak learners; a last line says how many there are beside.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from cvxens import AdaBoostMHClassifier, LPBoostClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> y = y.map(dict(enumerate(["setosa", "versicolor", "virginica"])))
    >>> two = y != "setosa"
    >>> print(LPBoostClassifier().fit(X[two], y[two]).to_text(most=2))
    +1  petal width (cm) >= 1.65 -> virginica
    +1  petal length (cm) >= 4.95 -> virginica
    and 1 more
    >>> print(AdaBoostMHClassifier(n_rounds=3).fit(X, y).to_text())
    -0.858178 setosa, -0.858178 versicolor, -0.858178 virginica  always
    -0.755758 setosa, -0.755758 versicolor, +0.755758 virginica  if petal length (cm) >= 4.75
    -0.626381 setosa, +0.626381 versicolor, +0.626381 virginica  if petal length (cm) >= 2.45
    """
    check_is_fitted(ensemble)
    names, found = _names(ensemble), []
    if "classes_" not in vars(ensemble):
        return _describe_sum(ensemble, names, most)
    for head, sides, learners, votes in _list_problems(ensemble):
        sizes = np.abs(votes).max(axis=tuple(range(1, votes.ndim)), initial=0.0)
        ranked = np.argsort(-sizes, kind="stable")[: np.count_nonzero(sizes)].tolist()
        line = _describe_sides if votes.ndim == 1 else _describe_classes
        found += [(head, line, learners[j], votes[j], sides) for j in ranked]
    lines = [head + line(hypothesis, vote, sides, names) for head, line, hypothesis, vote, sides in found[:most]]
    return "\n".join([*lines, *([f"and {len(found) - len(lines)} more"] if len(found) > len(lines) else [])])


def sum_votes(X: Matrix, hypotheses: Sequence[Hypothesis], weights: Array, intercept: Array) -> Array:
    """Return `H w + b` on checked samples, (n_samples,) or (n_samples, n_outputs)."""
    F = np.zeros((X.shape[0], *intercept.shape)) + intercept
    for j in np.flatnonzero(weights.any(axis=tuple(range(1, weights.ndim)))).tolist():
        F += np.multiply.outer(hypotheses[j](X), weights[j])
    return F


def find_shares(hypothesis: Any) -> tuple[Indices, Array]:
    """Return the features that a hypothesis looks at, and the share of each look; (n_looks,) both."""
    if (step := find_step(hypothesis)) is not None:
        looks = [step.feature] if step.above != step.below else []
        return np.array(looks, np.intp), np.ones(len(looks))
    if hasattr(hypothesis, "feature_shares"):
        return hypothesis.feature_shares
    try:
        shares = np.asarray(hypothesis.feature_importances_, np.float64)
    except AttributeError as error:
        raise AttributeError(
            f"feature_importances_: {type(hypothesis).__name__} is neither a stump nor a tree, and has none ({error}); "
            "ensembles of stumps, trees, and classifiers with feature_importances_ or coef_ have them"
        ) from None
    return np.arange(len(shares)), shares


def _describe_sum(ensemble: BaseEstimator, names: Mapping[int, str], most: int) -> str:
    """Return the lines of a regressor: what is added, largest first, and the intercept."""
    votes = sorted(list_votes(ensemble), key=lambda vote: -np.abs(vote[2]).max())

    def line(hypothesis: Hypothesis, w: Array) -> str:
        text, is_test, sign = _split_sign(hypothesis)
        word = "" if isinstance(hypothesis, Constant) else "if " if is_test else "times "
        return f"{', '.join(f'{sign * value:+.6g}' for value in w)}  {word}{with_names(text, names)}"

    lines = [line(hypothesis, w) for _, hypothesis, w in votes[:most]]
    more = [f"and {len(votes) - len(lines)} more"] if len(votes) > len(lines) else []
    intercept = ", ".join(f"{b:+.6g}" for b in np.ravel(ensemble.intercept_).tolist())
    return "\n".join([*lines, *more, f"{intercept}  always"])


def _list_problems(ensemble: BaseEstimator) -> Iterator[tuple[str, Sides, Sequence[Any], Array]]:
    """Yield the head of each sub-problem's lines, its sides, weak learners, and their votes as scores count them.

    Votes are (n_weak_learners,) for the second of two sides, or (n_weak_learners, n_classes); without classes weights.
    """
    parts = ensemble._parts()
    if parts == [ensemble]:
        classes, W = tuple(map(str, vars(ensemble).get("classes_", ()))), np.asarray(ensemble.weights_)
        yield "", classes, ensemble.weak_learners_, ensemble._to_scores(W) if classes else W
        return
    for name, part in zip(map(str, ensemble.classes_), parts, strict=True):
        yield f"[{name} vs rest] ", ("rest", name), part.weak_learners_, part.weights_


def _describe_sides(hypothesis: Hypothesis, vote: float, sides: Sides, names: Mapping[int, str]) -> str:
    """Return the line of a vote for one side where a test holds, and for the other where it does not."""
    if isinstance(hypothesis, SignedTree):
        negative, positive = sides if vote * hypothesis.sign > 0 else sides[::-1]
        classes = tuple(positive if label == 1 else negative for label in hypothesis.tree.classes)
        return f"{abs(vote):+.6g}\n{_indent_tree(hypothesis, names, classes)}"
    text, is_test, sign = _split_sign(hypothesis)
    side = sides[int(vote * sign > 0)]
    elsewhere = NO_VOTE if _is_rule(hypothesis) else ""
    return f"{abs(vote):+.6g}  {with_names(text if is_test else f'{text} > 0', names)} -> {side}{elsewhere}"


def _describe_classes(hypothesis: Hypothesis, votes: Array, sides: Sides, names: Mapping[int, str]) -> str:
    """Return the line of the votes for all classes, which change their signs where a test does not hold."""
    text, is_test, sign = _split_sign(hypothesis)
    head = ", ".join(f"{sign * vote:+.6g} {side}" for vote, side in zip(votes, sides, strict=True) if vote)
    if isinstance(hypothesis, SignedTree):
        return f"{head}  times\n{_indent_tree(hypothesis, names, hypothesis.tree.classes)}"
    word = "" if isinstance(hypothesis, Constant) else "if " if is_test else "times "
    return f"{head}  {word}{with_names(text, names)}{NO_VOTE if _is_rule(hypothesis) else ''}"


NO_VOTE = ", else none"
"""What a line says of a rule, which has a vote only where it holds."""


def _is_rule(hypothesis: Hypothesis) -> bool:
    inside = hypothesis.hypothesis if isinstance(hypothesis, Scaled) else hypothesis
    return isinstance(inside, Rule)


def _split_sign(hypothesis: Any) -> tuple[str, bool, float]:
    """Return the text of a hypothesis, True if it is a test, and its value where that holds, or else its factor."""
    if isinstance(hypothesis, Scaled):
        text, is_test, sign = _split_sign(hypothesis.hypothesis)
        return text, is_test, hypothesis.factor * sign
    if isinstance(hypothesis, SignedTree):
        return str(hypothesis.tree), False, hypothesis.sign
    if hasattr(hypothesis, "test"):
        return hypothesis.test, True, float(hypothesis.sign)
    return str(hypothesis), False, 1.0


def _indent_tree(hypothesis: SignedTree, names: Mapping[int, str], classes: tuple[Any, ...]) -> str:
    return indent(str(replace(_name_features(hypothesis, names).tree, classes=classes)), "    ")


def _names(ensemble: BaseEstimator) -> Mapping[int, str]:
    return dict(enumerate(vars(ensemble).get("feature_names_in_", ())))


def _name(hypothesis: Hypothesis, names: Mapping[int, str]) -> str:
    """Return the text of a hypothesis, with the names of the features that have one."""
    if isinstance(hypothesis, SignedTree):
        return str(_name_features(hypothesis, names))
    return with_names(str(hypothesis), names)


def _name_features(hypothesis: SignedTree, names: Mapping[int, str]) -> SignedTree:
    features = enumerate(hypothesis.tree.features)
    named = tuple(replace(feature, name=names.get(d, feature.name)) for d, feature in features)
    return replace(hypothesis, tree=replace(hypothesis.tree, features=named))


def _weights(w: Array) -> dict[str, float]:
    if len(w) == 1:
        return {"weight": float(w[0])}
    return {f"weight_{k}": float(value) for k, value in enumerate(w)}


def _stump(hypothesis: Hypothesis, names: Mapping[int, str]) -> dict[str, Any]:
    """Return the columns of a hypothesis that takes two values by one threshold; a sign where these are -1 and +1."""
    step = find_step(hypothesis)
    if step is None or step.above == step.below:
        return {}
    place = {"feature": names.get(step.feature, step.feature), "threshold": step.threshold}
    return place | (
        {"sign": step.above}
        if step.above == -step.below and abs(step.above) == 1
        else {"above": step.above, "below": step.below}
    )
