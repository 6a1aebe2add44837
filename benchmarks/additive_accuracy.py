"""What might make `AdditiveClassifier` more accurate: one change at a time, on sets that are in no other comparison.

Ten sets are samples of scikit-learn's generators with 4,000 more to test on, of other seeds and sizes than those of
`additive_growth`; the others are tables that `readable_models` has not, two thirds of each, at most `MOST` samples, to
fit. Seeds are the numbers of the splits. Sets and peers are in the order of the table; fits take one thread each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from time import process_time
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import (
    load_diabetes,
    make_classification,
    make_friedman1,
    make_gaussian_quantiles,
    make_hastie_10_2,
    make_moons,
)
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedShuffleSplit
from threadpoolctl import threadpool_limits

from cvxens import AdditiveClassifier, PriceSearchCV, datasets
from cvxens.colgen.oracles import AdditiveTerms
from cvxens.limits import limit_threads

SPLITS = 2
MOST = 1500
N_TEST = 4000

SAMPLES = (
    (500, 10, 3, 1.0),
    (1000, 10, 3, 1.0),
    (2000, 10, 3, 1.0),
    (2000, 20, 2, 1.0),
    (800, 6, 2, 1.0),
    (3000, 8, 4, 0.8),
)
"""Samples, features, clusters of a class and their distance, of `make_classification`, from seed 11 on."""

TABLES: Mapping[str, Callable[[Any], Any]] = {
    "hepatitis": lambda y: y == "LIVE",
    "heart_hungarian": lambda y: y != "<50",
    "horse_colic": lambda y: y == "yes",
    "vowel": lambda y: y % 2 == 0,
    "letter": lambda y: y < 13,
    "pendigits": lambda y: y % 2 == 0,
    "adult": lambda y: y != "<=50K",
    "primary_tumor": lambda y: y == "lung",
}
"""Of the directory CVXENS_DATA, with what is the second class."""


def vary(**given: Any) -> Callable[[], Any]:
    """Return what makes a classifier over terms that are given otherwise."""
    return partial(AdditiveClassifier, oracle=partial(AdditiveTerms, **given))


VARIANTS: Mapping[str, Callable[[], Any]] = {
    "as it is": AdditiveClassifier,
    "a tree costs 1": vary(pair_cost=1.0),
    "a tree costs 1.4": vary(pair_cost=2**0.5),
    "a tree costs 3": vary(pair_cost=3.0),
    "32 bins": vary(n_bins=32),
    "mean over prices": partial(PriceSearchCV, AdditiveClassifier(), average=True),
    "five folds": partial(PriceSearchCV, AdditiveClassifier(), cv=5),
}
ONLY: tuple[str, ...] = ()
"""The variants to run; by default all."""

Part = tuple[NDArray, NDArray]


def make_shells(n: int, seed: int) -> Part:
    """Return two classes around one centre, a tenth of the labels wrong."""
    X, y = make_gaussian_quantiles(n_samples=n, n_features=6, n_classes=2, random_state=seed)
    return X, np.where(np.random.default_rng(seed).random(n) < 0.1, 1 - y, y)


def draw(split: int) -> Iterator[tuple[str, Part, Part]]:
    """Yield names, training parts and test parts of all sets."""
    for seed, (n, d, clusters, distance) in enumerate(SAMPLES, 11):
        shape = {"n_informative": d * 7 // 10, "n_redundant": d // 5, "n_clusters_per_class": clusters}
        more = {"class_sep": distance, "flip_y": 0.05, "random_state": seed + 100 * split}
        X, y = make_classification(n + N_TEST, d, **shape, **more)
        yield f"{n} x {d}", (X[:n], y[:n]), (X[n:], y[n:])
    generators: Mapping[str, tuple[int, Callable[[int, int], Part]]] = {
        "Friedman 1": (800, lambda n, seed: make_friedman1(n, 8, noise=2.0, random_state=seed)),
        "Hastie": (1000, lambda n, seed: make_hastie_10_2(n, random_state=seed)),
        "shells": (800, make_shells),
        "moons": (500, lambda n, seed: make_moons(n, noise=0.35, random_state=seed)),
    }
    for name, (n, make) in generators.items():
        X, t = make(n + N_TEST, 17 + split)
        y = (t > np.median(t)) | (t == 1)
        yield name, (X[:n], y[:n]), (X[n:], y[n:])
    tables = {name: datasets.load(name) for name in TABLES}
    found = {name: (np.asarray(data.X, np.float64), TABLES[name](data.y)) for name, data in tables.items()}
    Z, t = load_diabetes(return_X_y=True)
    for name, (X, y) in {"diabetes": (Z, t > np.median(t)), **found}.items():
        n = min(MOST, round(2 * len(y) / 3))
        parts = StratifiedShuffleSplit(1, train_size=n, test_size=min(2000, len(y) - n), random_state=50 + split)
        train, test = next(parts.split(X, y))
        yield name, (X[train], y[train]), (X[test], y[test])


def run() -> Iterator[dict[str, Any]]:
    """Yield a row for every set, split and variant."""
    for split in range(SPLITS):
        for name, (X, y), (X_test, y_test) in draw(split):
            for variant, make in VARIANTS.items():
                if ONLY and variant not in ONLY:
                    continue
                with limit_threads(1), threadpool_limits(1):
                    start = process_time()
                    model = make().fit(X, y)
                    seconds, p = process_time() - start, model.predict_proba(X_test)[:, 1]
                yield {
                    "data": name,
                    "split": split,
                    "variant": variant,
                    "log loss": log_loss(y_test, p),
                    "AUC": roc_auc_score(y_test, p),
                    "error": float(((p > 0.5) != y_test).mean()),
                    "s of processors": seconds,
                    "terms": int(np.count_nonzero(model.weights_)),
                    "certified gap": model.certificate_.relative_gap,
                }
