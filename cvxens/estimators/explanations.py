"""What fitted estimators say of themselves to people: the effects that they are the sum of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from cvxens import validation
from cvxens.effects import Effects, MainEffect
from cvxens.errors import InvalidInput
from cvxens.types import Array


class Terms(NamedTuple):
    """The hypotheses and main effects that scores are sums of, each with its weights (n_outputs,)."""

    terms: Sequence[tuple[Any, Array]]
    intercept: Array  # (n_outputs,)
    outputs: Sequence[str]  # the names of several scores


def find_effects(model: BaseEstimator, X: Any = None, sample_weight: Any = None) -> Effects:
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
    found, read = model._list_terms(), partial(model._accepts().new, model)
    if X is not None:
        X = read(X)
        if sample_weight is not None:
            sample_weight = validation.weights("sample_weight", sample_weight, X.shape[0])
    names = vars(model).get("feature_names_in_", [f"x[{j}]" for j in range(model.n_features_in_)])
    kinds = enumerate(vars(model).get("features_", ()))
    levels = {j: kind.categories for j, kind in kinds if kind.categories is not None}
    given: Any = {"X": X, "sample_weight": sample_weight, "read": read, "levels": levels}
    return Effects.from_terms(found.terms, found.intercept, names, found.outputs, **given)


def write_report(model: BaseEstimator, file: Any, X: Any = None, y: Any = None, **more: Any) -> None:
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

    Report(model, X, y, **more).write(file)


def refuse_terms(model: BaseEstimator) -> Terms:
    """Raise, as a model is no sum of functions of few features."""
    found = f"found a {type(model).__name__}, which is no sum of functions of few features"
    raise InvalidInput("effects", found, "take an ensemble, or a machine with a kernel of stumps")


def list_machine_terms(machine: BaseEstimator) -> Terms:
    """Return the functions of single features that a kernel machine is the sum of."""
    parts = machine._parts()
    try:
        shapes = machine.shape_functions_
    except AttributeError as error:
        raise InvalidInput("effects", f"found that {error}", "take a kernel of stumps") from None
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
    if parts != [ensemble]:
        units = np.eye(len(parts))
        terms = [(h, w * units[k]) for k, h, w in list_votes(ensemble)]
        intercept = np.array([float(part.intercept_) for part in parts])
    else:
        weights, intercept = np.asarray(ensemble.weights_), np.asarray(ensemble.intercept_)
        # of scores that are linear in these outputs; those of quantiles are sorted, which no sum is
        if intercept.ndim and "classes_" in vars(ensemble):
            weights, intercept = ensemble._to_scores(weights), ensemble._to_scores(intercept[None])[0]
        W = weights.reshape(len(weights), -1)
        intercept = np.atleast_1d(intercept)
        terms = list(zip(ensemble.weak_learners_, W, strict=True))
    used = [(h, w) for h, w in terms if np.any(w)]
    return Terms(used, intercept, name_outputs(ensemble, len(intercept)))


def name_outputs(estimator: BaseEstimator, n_outputs: int) -> list[str]:
    """Name several scores: by classes, or what sub-problems tell apart, or quantiles; none where there is one."""
    if n_outputs == 1:
        return []
    classes = vars(estimator).get("classes_")
    return [f"output {k}" for k in range(n_outputs)] if classes is None else list(map(str, classes))
