"""Weighted votes of weak learners: their scores, and what they tell of themselves as tables, text and importances."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from textwrap import indent
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils._optional_dependencies import check_pandas_support
from sklearn.utils.validation import check_is_fitted

from cvxens.estimators.explanations import list_votes
from cvxens.estimators.rules import average, weigh_rules
from cvxens.hypotheses import Constant, Hypothesis, Rule, Scaled, SignedTree, find_step, with_names
from cvxens.types import Array

Indices: TypeAlias = NDArray[np.intp]

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
    totals = sums.sum(axis=1, keepdims=True)
    return (sums / np.where(totals > 0, totals, 1.0)).mean(axis=0)


def to_frame(ensemble: BaseEstimator) -> Any:
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


def get_rules(ensemble: BaseEstimator, X: Any, y: Any, sample_weight: Any = None) -> Any:
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
    rows = list(_list_rules(ensemble, sample))
    columns = ["rule", "weight", "support", "length"]
    return pd.DataFrame(rows, columns=None if rows else columns)


def _list_rules(ensemble: BaseEstimator, sample: Any) -> Iterator[dict[str, Any]]:
    """Yield the rows of `get_rules`, on the samples of the sub-problems."""
    names, classifies = _names(ensemble), "classes_" in vars(ensemble)
    problems = _list_problems(ensemble) if classifies else [("", (), ensemble.weak_learners_, ensemble.weights_)]
    parts = enumerate(zip(problems, ensemble._problems(sample), strict=True))
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
    have no vote elsewhere. Of a model without classes, a line has what is added to the prediction where the test
    holds, and taken off where it does not; the last one is the intercept. Trees that are grown take several lines.
    Features have the names that `fit` was given, else x[0], x[1], ... (x0, x1, ... in trees).

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
        sizes = np.abs(votes).reshape(len(votes), -1).max(axis=1, initial=0.0)
        ranked = np.argsort(-sizes, kind="stable")[: np.count_nonzero(sizes)].tolist()
        line = _describe_sides if votes.ndim == 1 else _describe_classes
        found += [(head, line, learners[j], votes[j], sides) for j in ranked]
    lines = [head + line(hypothesis, vote, sides, names) for head, line, hypothesis, vote, sides in found[:most]]
    return "\n".join([*lines, *([f"and {len(found) - len(lines)} more"] if len(found) > len(lines) else [])])


def sum_votes(X: Any, hypotheses: Sequence[Hypothesis], weights: Array, intercept: Array) -> Array:
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
        found: tuple[Indices, Array] = hypothesis.feature_shares
        return found
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

    Votes are (n_weak_learners,) for the second of two sides, or (n_weak_learners, n_classes).
    """
    parts = ensemble._parts()
    if parts == [ensemble]:
        classes = tuple(str(label) for label in ensemble.classes_)
        yield "", classes, ensemble.weak_learners_, ensemble._to_scores(ensemble.weights_)
        return
    for name, part in zip(map(str, ensemble.classes_), parts, strict=True):
        yield f"[{name} vs rest] ", ("rest", name), part.weak_learners_, part.weights_


def _describe_sides(hypothesis: Hypothesis, vote: float, sides: Sides, names: Mapping[int, str]) -> str:
    """Return the line of a vote for one side where a test holds, and for the other where it does not."""
    if isinstance(hypothesis, SignedTree):
        negative, positive = sides if vote * hypothesis.sign > 0 else sides[::-1]
        classes = tuple(positive if label > 0 else negative for label in hypothesis.tree.classes)
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
