"""Regressors as they are, without a parameter set, on Friedman's three problems and the diabetes data.

Ours beside explainable boosting machines (``pip install interpret-core``) and scikit-learn's histogram boosting. Of
Friedman's problems a split is 400 samples, with his noise, and 2,000 to test on; of the diabetes data two thirds at
random, tested on the rest; seeds are the numbers of the splits. Fits take one thread; terms are main effects and pairs
of additive models, and leaves of trees.

Each fit is kept in .benchmarks/readable_regressors.jsonl and not repeated: delete lines for what is to be measured
anew. `python docs/comparison.py` has the table on its page.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from math import nan
from typing import Any

from numpy.typing import NDArray
from sklearn.datasets import load_diabetes, make_friedman1, make_friedman2, make_friedman3
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from benchmarks._record import HOME
from benchmarks.readable_models import Terms, count_leaves, count_ours, keep
from cvxens import AdditiveRegressor
from cvxens.limits import limit_threads

SPLITS = 2
N_TRAIN, N_TEST = 400, 2000

FRIEDMAN: Mapping[str, tuple[Callable[..., Any], float]] = {
    "Friedman 1": (make_friedman1, 1.0),
    "Friedman 2": (make_friedman2, 125.0),
    "Friedman 3": (make_friedman3, 0.1),
}
"""The problems with the standard deviations of their noise (Friedman 1991)."""

DATA = (*FRIEDMAN, "diabetes")

FILE = HOME / "readable_regressors.jsonl"

ONLY: tuple[str, ...] = ()
"""The methods to run; by default ours and all peers that there are."""


def list_methods() -> dict[str, tuple[Callable[[], Any], Terms]]:
    """Return how each regressor is made, and how its terms are counted; EBM is left out if it is not installed."""
    methods: dict[str, tuple[Callable[[], Any], Terms]] = {"AdditiveRegressor": (AdditiveRegressor, count_ours)}
    if find_spec("interpret"):
        from interpret.glassbox import ExplainableBoostingRegressor

        methods["EBM"] = lambda: ExplainableBoostingRegressor(n_jobs=1), lambda model: len(model.term_features_)
    methods["HistGradientBoosting"] = HistGradientBoostingRegressor, count_leaves
    return methods


def draw(name: str, split: int) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Return the training and the test part of a split: X, t, X_test, t_test."""
    if name in FRIEDMAN:
        make, noise = FRIEDMAN[name]
        X, t = make(N_TRAIN + N_TEST, noise=noise, random_state=split)
        return X[:N_TRAIN], t[:N_TRAIN], X[N_TRAIN:], t[N_TRAIN:]
    X, X_test, t, t_test = train_test_split(*load_diabetes(return_X_y=True), train_size=2 / 3, random_state=split)
    return X, t, X_test, t_test


def measure(make: Callable[[], Any], terms: Terms, name: str, split: int) -> dict[str, Any]:
    """Fit and test a regressor on one split."""
    X, t, X_test, t_test = draw(name, split)
    with limit_threads(1), threadpool_limits(1), warnings.catch_warnings():
        # peers warn of versions and iterations
        warnings.simplefilter("ignore")
        start = time.process_time()
        model = make().fit(X, t)
        seconds = time.process_time() - start
        score = float(model.score(X_test, t_test))
    gap = getattr(getattr(model, "certificate_", None), "relative_gap", nan)
    sizes = {"samples": len(t), "features": X.shape[1]}
    return {"data": name, "split": split, "R2": score, "terms": terms(model), "CPU s": seconds, "gap": gap, **sizes}


def run() -> Iterator[dict[str, Any]]:
    """Yield a row for every fit, split by split, those of the file as they are."""
    chosen = {name: found for name, found in list_methods().items() if not ONLY or name in ONLY}
    yield from keep(FILE, chosen, DATA, SPLITS, measure)
