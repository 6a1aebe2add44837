"""Models of other libraries: how far they are from the optimum of a formulation, and better weights for their parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.validation import check_is_fitted

from cvxens.certificates import Certificate, certify
from cvxens.colgen import Column, Formulation, Run, column_generation
from cvxens.colgen.oracles import Pool, Stumps
from cvxens.colgen.restricted import Restricted
from cvxens.errors import InvalidInput
from cvxens.estimators.fitting.audit import Task, audit
from cvxens.estimators.voting.foreign_votes import VOTES, ForeignVote
from cvxens.problems import SVMDual
from cvxens.types import Array
from cvxens.validation import finite_array


def certify_model(
    model: Any, X: Any, y: Any, formulation: Formulation | None = None, *, tol: float = 1e-3, max_time: float = inf
) -> Certificate:
    """Say how far a fitted model of another library is from the optimum of a formulation on a sample.

    - AdaBoost and gradient boosting of stumps (scikit-learn, LightGBM), for two classes: of `formulation`, over all
      stumps. The vote counts at its best scale, as these methods do not choose the formulation's; the bound is from
      column generation.
    - A support vector machine for two classes (scikit-learn's `SVC`): of its own problem, LL08 P2.

    Parameters
    ----------
    model : AdaBoostClassifier, GradientBoostingClassifier, LGBMClassifier, lightgbm.Booster or SVC
        Fitted.
    X : array-like of shape (n_samples, n_features)
        Any sample; of an SVC its training sample.
    y : array-like of shape (n_samples,)
        Its classes.
    formulation : Formulation
        What the model is held against; of `cvxens.colgen.formulations`, or your own. None for an SVC.
    tol, max_time : float
        The relative gap and the seconds at which to stop improving the bound.

    Returns
    -------
    Certificate
        `primal` is the model's objective, `dual` a bound on the optimum.

    Raises
    ------
    InvalidInput
        A model that cannot be taken apart, or one of more than two classes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import AdaBoostClassifier
    >>> from cvxens.colgen import formulations
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoostClassifier(n_estimators=20, random_state=0).fit(X, y)
    >>> certificate = certify_model(model, X, y, formulations.soft_margin(0.1))
    >>> certificate.proven, certificate.relative_gap > 0.01
    (True, True)
    """
    if _kind(model, MACHINES) is not None:
        if formulation is not None:
            raise InvalidInput("formulation", "found one for an SVC, which has its own problem", "leave it out")
        return _certify_svc(model, finite_array("X", X, ndim=2), y)
    if formulation is None:
        raise InvalidInput("formulation", "found none", "give one of cvxens.colgen.formulations")
    X, signs, vote = _taken(model, X, y, formulation)
    oracle = Stumps(X)
    run = column_generation(formulation, oracle, signs, tol=tol, max_time=max_time)
    restricted = Restricted(formulation, formulation.signs(signs))
    restricted.add([Column(hypothesis, X, 0.0) for hypothesis in vote.hypotheses])

    def objective(logarithm: float) -> float:
        return restricted.evaluate({"w": np.exp(logarithm) * vote.weights, "u": run.u}).objective

    # it is convex in the scale, so it has one valley in its logarithm
    middle = -np.log(vote.weights.sum())
    best = minimize_scalar(objective, bounds=(middle - 12, middle + 12), method="bounded")
    weights = np.exp(best.x) * vote.weights
    return audit(Task(formulation, oracle, X, signs), vote.hypotheses, run.u, weights=weights)


def reweight(model: Any, X: Any, y: Any, formulation: Formulation, *, tol: float = 1e-6, max_time: float = inf) -> Run:
    """Return the optimal weights for the stumps of a fitted model of another library.

    Parameters
    ----------
    model, X, y, formulation
        As for `certify_model`; no SVC.
    tol, max_time : float
        The relative gap and the seconds at which to stop.

    Returns
    -------
    Run
        Over the stumps of the model and their negations; its certificate is of that set. `columns` and `weights`
        have those that entered, `decision_function` scores new samples.

    Raises
    ------
    InvalidInput
        A model that cannot be taken apart, or one of more than two classes.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import AdaBoostClassifier
    >>> from cvxens.colgen import formulations
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = AdaBoostClassifier(n_estimators=20, random_state=0).fit(X, y)
    >>> run = reweight(model, X, y, formulations.soft_margin(0.1))
    >>> run.certificate.holds(1e-6), run.certificate.primal < certify_model(
    ...     model, X, y, formulations.soft_margin(0.1)
    ... ).primal
    (True, True)
    """
    X, signs, vote = _taken(model, X, y, formulation)
    return column_generation(formulation, Pool.of(vote.hypotheses, X), signs, tol=tol, max_time=max_time)


def _taken(model: Any, X: Any, y: Any, formulation: Formulation) -> tuple[Array, Array, ForeignVote]:
    """The sample with signs, and the vote, without its constant where the formulation has an intercept."""
    parts_of = _kind(model, VOTES)
    if parts_of is None:
        known = ", ".join(name.rpartition(".")[2] for name in {**VOTES, **MACHINES})
        raise InvalidInput("model", f"found a {type(model).__name__}", f"give a fitted one of {known}")
    X = finite_array("X", X, ndim=2)
    vote = ForeignVote.of(parts_of(model), constant=not formulation.intercept)
    if not vote.hypotheses:
        raise InvalidInput("model", "found one without a stump", "fit it to a sample that it can learn from")
    return X, _signs(getattr(model, "classes_", np.unique(y)), y), vote


def _kind(model: Any, known: Mapping[str, Callable]) -> Callable | None:
    """What is known of a model's class, or of a class that it is derived from; no library is imported."""
    names = (f"{kind.__module__.partition('.')[0]}.{kind.__name__}" for kind in type(model).__mro__)
    return next((known[name] for name in names if name in known), None)


def _signs(classes: Any, y: Any) -> Array:
    y = np.asarray(y)
    if len(classes) != 2 or not np.isin(y, classes).all():
        raise InvalidInput("y", f"found the classes {np.unique(y)} for a model of {classes}", "give those two classes")
    return np.where(y == classes[1], 1.0, -1.0)


def _certify_svc(model: Any, X: Array, y: Any) -> Certificate:
    check_is_fitted(model)
    signs = _signs(model.classes_, y)
    if model.class_weight is not None:
        raise InvalidInput("model", "found an SVC with weights of classes", "fit it with class_weight=None")
    given = model.kernel == "precomputed" or callable(model.kernel)
    if model.support_.max() >= len(X) or not (given or np.array_equal(X[model.support_], model.support_vectors_)):
        raise InvalidInput("X", "found another sample than that of the fit", "give the training sample")
    u = np.zeros(len(X))
    u[model.support_] = np.abs(model.dual_coef_[0])
    return certify(SVMDual(_svc_kernel(model, X), signs, model.C), u=u, b=model.intercept_)


def _svc_kernel(model: Any, X: Array) -> Array:
    if callable(model.kernel):
        return model.kernel(X, X)
    constants = {"gamma": model._gamma, "degree": model.degree, "coef0": model.coef0}
    return pairwise_kernels(X, metric=model.kernel, filter_params=True, **constants)


MACHINES: Mapping[str, Callable[..., Certificate]] = {"sklearn.SVC": _certify_svc}
"""Support vector machines."""
