"""Limits of time: how long a fit takes that was given 8 seconds, preparation included, and how far it comes.

Every estimator that has a `max_time`, on 100,000 samples of 20 features, and the sizes at which limits were overrun
before. What is compiled is compiled before the clock starts; a fit that ends by itself is one.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

import cvxens

ASKED = 8.0
"""Seconds."""

ONLY = ""
"""A part of the names of the estimators to try."""

N_SAMPLES, N_FEATURES = 100_000, 20

WARM = 300
"""Samples of the fit that compiles."""

HARD: Mapping[str, tuple[Any, int, int]] = {
    "LPBoostClassifier": (cvxens.LPBoostClassifier(), N_SAMPLES, N_FEATURES),
    "LPBoostClassifier, nu=0.9, tol=1e-9": (cvxens.LPBoostClassifier(nu=0.9, tol=1e-9), N_SAMPLES, N_FEATURES),
    "LPBoostClassifier, perceptrons": (cvxens.LPBoostClassifier(oracle="perceptrons"), N_SAMPLES, N_FEATURES),
    "LPBoostClassifier, Fourier": (cvxens.LPBoostClassifier(oracle="fourier"), N_SAMPLES, N_FEATURES),
    "LPBoostClassifier, trees": (cvxens.LPBoostClassifier(oracle="trees"), N_SAMPLES, N_FEATURES),
    "LPBoostClassifier, 200,000 x 50": (cvxens.LPBoostClassifier(), 200_000, 50),
    "CGEnsClassifier": (cvxens.CGEnsClassifier(), N_SAMPLES, N_FEATURES),
    "CGEnsSLSClassifier": (cvxens.CGEnsSLSClassifier(), N_SAMPLES, N_FEATURES),
    "ColumnGenerationClassifier": (cvxens.ColumnGenerationClassifier(), N_SAMPLES, N_FEATURES),
    "MultiBoostClassifier": (cvxens.MultiBoostClassifier(), N_SAMPLES, N_FEATURES),
    "AdaBoostClassifier": (cvxens.AdaBoostClassifier(n_rounds=10_000), N_SAMPLES, N_FEATURES),
    "AdaBoostMHClassifier": (cvxens.AdaBoostMHClassifier(n_rounds=10_000), N_SAMPLES, N_FEATURES),
    "AdaBoostECCClassifier": (cvxens.AdaBoostECCClassifier(n_rounds=10_000), N_SAMPLES, N_FEATURES),
    "InfiniteEnsembleSVC, stumps": (cvxens.InfiniteEnsembleSVC(), N_SAMPLES, N_FEATURES),
    "InfiniteEnsembleSVC, perceptrons": (cvxens.InfiniteEnsembleSVC("perceptron"), N_SAMPLES, N_FEATURES),
    "InfiniteEnsembleSVC, perceptrons, 20,000 x 10": (cvxens.InfiniteEnsembleSVC("perceptron"), 20_000, 10),
    "InfiniteEnsembleSVC, decision trees": (cvxens.InfiniteEnsembleSVC("decision-tree"), N_SAMPLES, N_FEATURES),
    "RhoSVC": (cvxens.RhoSVC(), N_SAMPLES, N_FEATURES),
    "PartialSVMEnsembleClassifier": (cvxens.PartialSVMEnsembleClassifier(tol=1e-6), N_SAMPLES, N_FEATURES),
    "RegAdaBoostClassifier": (cvxens.RegAdaBoostClassifier(), N_SAMPLES, N_FEATURES),
}
"""Estimators with the numbers of samples and features."""


def sample(n_samples: int, n_features: int) -> tuple[NDArray, NDArray]:
    """Return normal features and noisy labels of their products, which no few stumps tell apart."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, n_features))
    scores = X[:, 0] * X[:, 1] + X[:, 2:6].sum(axis=1) + rng.normal(size=n_samples)
    return X, np.where(scores > 0, 1, -1)


def time_fit(estimator: Any, X: NDArray, y: NDArray) -> tuple[float, Any]:
    """Return the seconds of a fit, and the estimator."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = perf_counter()
        estimator.fit(X, y)
    return perf_counter() - start, estimator


def run() -> Iterator[dict[str, Any]]:
    """Yield a row per estimator whose name has ONLY in it."""
    for name, (estimator, n_samples, n_features) in HARD.items():
        if ONLY not in name:
            continue
        X, y = sample(n_samples, n_features)
        time_fit(clone(estimator), X[:WARM], y[:WARM])
        seconds, fitted = time_fit(clone(estimator).set_params(max_time=ASKED), X, y)
        yield {
            "estimator": name,
            "asked s": ASKED,
            "taken s": seconds,
            "within": seconds <= ASKED + max(1.0, 0.1 * ASKED),
            "relative gap": fitted.certificate_.relative_gap,
            "proven": fitted.certificate_.proven,
        }
