"""Test errors and times of several classes at once: the peers of SL's Table III over the same weak learners.

AdaBoost.ECC, AdaBoost.MH, MultiBoost and CGEns-SLS over all middle stumps, with default parameters, so that nothing is
chosen on the way, and at most MOST weak learners each: as many rounds of AdaBoost, as many columns of the others,
PER_ROUND at a time. SPLITS random splits, three quarters to train on, of at most SAMPLES samples of a data set, the
classes in proportion; a test part, where there is one, joins them. Errors are means with their standard error. Seconds
are those of a fit, the median over the splits; `weak learners` is how many have a weight, on average. The paper's own
figures are of chosen parameters, and stand beside ours in docs/reproduction/sl.md.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

from cvxens import AdaBoostECCClassifier, AdaBoostMHClassifier, CGEnsSLSClassifier, MultiBoostClassifier
from cvxens.datasets import load

NAMES = ("iris", "wine", "glass", "vehicle", "vowel", "segment", "dna", "usps", "pendigits", "letter", "mnist")
SPLITS = 5
SAMPLES = 1200
MOST = 200
PER_ROUND = 20

PEERS: dict[str, Any] = {
    "AdaBoost.ECC": AdaBoostECCClassifier(n_rounds=MOST, random_state=0),
    "AdaBoost.MH": AdaBoostMHClassifier(n_rounds=MOST, random_state=0),
    "MultiBoost": MultiBoostClassifier(max_columns=MOST, columns_per_round=PER_ROUND),
    "CGEns-SLS": CGEnsSLSClassifier(oracle="stumps", max_columns=MOST, columns_per_round=PER_ROUND),
}


def splits(name: str) -> Iterator[list[NDArray]]:
    """Yield features and classes to train on and to test on."""
    data = load(name)
    X, y = np.asarray(data.X, dtype=float), data.y
    if data.X_test is not None:
        X, y = np.vstack([X, np.asarray(data.X_test, dtype=float)]), np.r_[y, data.y_test]
    for seed in range(SPLITS):
        rows = np.arange(len(y))
        if len(y) > SAMPLES:
            rows, _ = train_test_split(rows, train_size=SAMPLES, stratify=y, random_state=seed)
        X_train, X_test, y_train, y_test = train_test_split(X[rows], y[rows], stratify=y[rows], random_state=seed)
        yield [X_train, y_train, X_test, y_test]


def measure(estimator: Any, X: NDArray, y: NDArray, X_test: NDArray, y_test: NDArray) -> tuple[float, float, int]:
    """Return the test error in percent, the seconds of a fit, and the weak learners with a weight."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        start = time.perf_counter()
        model = clone(estimator).fit(X, y)
        seconds = time.perf_counter() - start
    error = 100 * (1 - model.score(X_test, y_test))
    return error, seconds, int(model.weights_.any(axis=1).sum())


def run() -> Iterator[dict[str, Any]]:
    """Yield a row per data set and peer."""
    measure(PEERS["MultiBoost"], *next(splits("iris")))
    for name in NAMES:
        parts = list(splits(name))
        for peer, estimator in PEERS.items():
            errors, seconds, learners = zip(*(measure(estimator, *part) for part in parts), strict=True)
            yield {
                "data": name,
                "trained on": len(parts[0][1]),
                "classes": len(np.unique(parts[0][1])),
                "peer": peer,
                "test error %": round(float(np.mean(errors)), 1),
                "standard error": round(float(np.std(errors, ddof=1)) / SPLITS**0.5, 1),
                "s": median(seconds),
                "weak learners": float(np.mean(learners)),
            }
