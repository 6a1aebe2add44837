"""Limits: how long fits take that were given 4 seconds, and what is there 1 second into a fit that Ctrl-C ends then.

Every estimator that has a `max_time`, and six formulations written as cvxpy expressions, on 50,000 samples of 20
features. What is compiled is compiled before the clock starts, by a fit of a few samples; a fit that ends by itself is
one. A limit is kept where it is overrun by a tenth or a second at most.
"""

from __future__ import annotations

import threading
import warnings
from _thread import interrupt_main
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from time import perf_counter
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

import cvxens
from cvxens import estimators
from cvxens.colgen import Formulation, column_generation
from cvxens.colgen.oracles import Stumps
from cvxens.problems.penalties import L1

ASKED = 4.0
"""Seconds."""

INTERRUPTED = 1.0
"""Seconds after which Ctrl-C comes in the other fit; 0 for none."""

ONLY = ""
"""A part of the names of the fits to try."""

N_SAMPLES, N_FEATURES = 50_000, 20

WARM = 300
"""Samples of the fit that compiles."""

OVERRUN, SHARE = 1.0, 0.1
"""Seconds, or the share of what was asked for, by which a limit may be overrun."""

Fit = Callable[[NDArray, NDArray, NDArray, float], Any]
"""From features, labels, a real target and a limit of seconds to something with a `certificate` or `certificate_`."""


def sample(n_samples: int, n_features: int) -> tuple[NDArray, NDArray, NDArray]:
    """Return normal features, the last one of two groups, labels, and the noisy scores that they are the signs of."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, n_features))
    X[:, -1] = X[:, -1] > 0
    scores = X[:, 0] * X[:, 1] + X[:, 2:6].sum(axis=1) + rng.normal(size=n_samples)
    return X, np.where(scores > 0, 1.0, -1.0), scores


def fit_estimator(estimator: Any, X: NDArray, y: NDArray, scores: NDArray, max_time: float) -> Any:
    """Fit an estimator to the target that it is for."""
    target = np.exp(scores) if "Survival" in type(estimator).__name__ else y if is_classifier(estimator) else scores
    return clone(estimator).set_params(max_time=max_time).fit(X, target)


HARD = {
    "LPBoostClassifier, tol=1e-9": cvxens.LPBoostClassifier(tol=1e-9),
    "LPBoostClassifier, nu=0.2": cvxens.LPBoostClassifier(nu=0.2),
    "LPBoostClassifier, perceptrons": cvxens.LPBoostClassifier(oracle="perceptrons"),
    "LPBoostClassifier, Fourier": cvxens.LPBoostClassifier(oracle="fourier"),
    "LPBoostClassifier, trees": cvxens.LPBoostClassifier(oracle="trees"),
    "LPBoostClassifier, pair rules": cvxens.LPBoostClassifier(oracle="pair_rules"),
    'LPBoostClassifier, C="auto"': cvxens.LPBoostClassifier(C="auto"),
    "LPBoostClassifier, equal means": cvxens.LPBoostClassifier(constraints=[cvxens.EqualMeanScores(N_FEATURES - 1)]),
    "CGEnsClassifier, depth-two trees": cvxens.CGEnsClassifier(oracle="depth_two_trees"),
    "InfiniteEnsembleSVC, perceptrons": cvxens.InfiniteEnsembleSVC("perceptron"),
    "InfiniteEnsembleSVC, decision trees": cvxens.InfiniteEnsembleSVC("decision-tree"),
    "InfiniteEnsembleSVR, perceptrons": cvxens.InfiniteEnsembleSVR("perceptron"),
}
"""Fits that have overrun their limits before, and others with oracles and kernels that take long."""


def name_estimators() -> dict[str, Fit]:
    """Return the fits of every public estimator that can be limited, as it comes, and of the hard ones."""
    given = {name: made for name in estimators.__all__ if hasattr(made := getattr(estimators, name), "fit")}
    made = {name: kind() for name, kind in given.items()} | HARD
    return {
        name: partial(fit_estimator, estimator)
        for name, estimator in made.items()
        if "max_time" in estimator.get_params()
    }


def pinball(_y: NDArray, scores: NDArray, _X: NDArray) -> Formulation:
    """One kink."""
    loss = lambda f: cp.sum(cp.maximum(0.7 * (scores - f), -0.3 * (scores - f)))  # noqa: E731
    return Formulation(loss, L1(0.01 * len(scores)), scores=True, intercept=True)


def two_kinks(y: NDArray, _scores: NDArray, _X: NDArray) -> Formulation:
    """A hinge that becomes steeper."""
    return Formulation(lambda z: cp.sum(cp.maximum(0, 1 - z, 1 - 3 * z)), L1(0.01 * len(y)), intercept=True)


def equal_means(y: NDArray, _scores: NDArray, X: NDArray) -> Formulation:
    """Two groups whose mean scores are to be near each other."""
    group = X[:, 0] + np.random.default_rng(1).normal(size=len(y)) > 0
    difference = (group / group.sum() - ~group / (~group).sum()) * y
    loss = lambda z: cp.sum(cp.logistic(-z))  # noqa: E731
    held = lambda z: [cp.abs(difference @ z) <= 0.02]  # noqa: E731
    return Formulation(loss, L1(0.01 * len(y)), intercept=True, constraints=held)


def neyman_pearson(y: NDArray, _scores: NDArray, _X: NDArray) -> Formulation:
    """The hinges of one class, while those of the other are limited."""
    loss = lambda z: cp.sum(cp.pos(1 - z[y > 0]))  # noqa: E731
    held = lambda z: [cp.sum(cp.pos(1 - z[y < 0])) / np.sum(y < 0) <= 0.3]  # noqa: E731
    return Formulation(loss, L1(0.01 * len(y)), intercept=True, constraints=held)


def worst_quarter(price: float, y: NDArray, _scores: NDArray, _X: NDArray) -> Formulation:
    """The mean of the largest quarter of the hinges (CVaR)."""
    loss = lambda z: cp.sum_largest(cp.pos(1 - z), len(y) // 4) / len(y)  # noqa: E731
    return Formulation(loss, L1(price), intercept=True)


EXPRESSIONS: dict[str, Callable[[NDArray, NDArray, NDArray], Formulation]] = {
    "expression: pinball": pinball,
    "expression: two kinks": two_kinks,
    "expression: logistic, equal means": equal_means,
    "expression: hinges, Neyman-Pearson": neyman_pearson,
    "expression: CVaR at 0.005": partial(worst_quarter, 0.005),
    "expression: CVaR at 0.002": partial(worst_quarter, 0.002),
}


def run_expression(
    formulate: Callable[[NDArray, NDArray, NDArray], Formulation],
    X: NDArray,
    y: NDArray,
    scores: NDArray,
    max_time: float,
) -> Any:
    """Run column generation over all stumps."""
    formulation = formulate(y, scores, X)
    return column_generation(formulation, Stumps(X), None if formulation.scores else y, tol=1e-3, max_time=max_time)


def take_time(fit: Callable[[], Any], interrupt: float = 0.0) -> tuple[float, Any]:
    """Return the seconds of a fit, and what it returned: None where Ctrl-C, after some seconds, left nothing."""
    timer = threading.Timer(interrupt, interrupt_main)
    found, began = None, perf_counter()
    with warnings.catch_warnings(), suppress(KeyboardInterrupt):
        warnings.simplefilter("ignore")
        if interrupt:
            timer.start()
        found = fit()
    timer.cancel()
    return perf_counter() - began, found


def run() -> Iterator[dict[str, Any]]:
    """Yield a row per fit whose name has ONLY in it."""
    X, y, scores = sample(N_SAMPLES, N_FEATURES)
    fits = {**name_estimators(), **{name: partial(run_expression, made) for name, made in EXPRESSIONS.items()}}
    for name, fit in fits.items():
        if ONLY not in name:
            continue
        take_time(partial(fit, X[:WARM], y[:WARM], scores[:WARM], ASKED))
        seconds, found = take_time(partial(fit, X, y, scores, ASKED))
        row = {"fit": name, "asked s": ASKED, "taken s": seconds, "overrun s": seconds - ASKED, **_describe(found)}
        row["within"] = seconds - ASKED <= max(OVERRUN, SHARE * ASKED)
        if INTERRUPTED:
            seconds, found = take_time(partial(fit, X, y, scores, np.finfo(float).max), INTERRUPTED)
            row |= {"Ctrl-C, s after": seconds - INTERRUPTED, "Ctrl-C": "nothing" if found is None else "fitted"}
        yield row


def _describe(found: Any) -> dict[str, Any]:
    certificate = getattr(found, "certificate", None) or found.certificate_
    return {"relative gap": certificate.relative_gap, "proven": certificate.proven}
