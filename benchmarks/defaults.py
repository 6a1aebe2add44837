"""Defaults that are never silly: every estimator as it comes, on every table, beside a constant and a linear model.

All classification tables of the directory CVXENS_DATA and those of scikit-learn's generators, and regressions of
scikit-learn; at most `MOST` samples for the fit, as many to test on. A fit is silly where it takes more than `LIMIT`
processor seconds (Ctrl-C ends it there), where its mean loss on the test part (wrong or not, for regressions the
absolute error) is worse than that of the better of a constant and a linear model by more than two standard errors of
their difference, or where its certificate is wider than its `tol` and no warning says so, but for partial SVMs, whose
`tol` is another one.

Each fit is kept in benchmarks/kept/defaults.jsonl and not repeated: delete lines for what is to be measured anew.
"""

from __future__ import annotations

import json
import signal
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from math import inf, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.datasets import (
    load_diabetes,
    make_circles,
    make_classification,
    make_friedman1,
    make_friedman2,
    make_friedman3,
    make_moons,
    make_regression,
    make_sparse_uncorrelated,
)
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks._record import KEPT, read_commit
from cvxens import PartialSVMEnsembleClassifier, datasets, estimators
from cvxens.limits import limit_threads

MOST = 1000
LIMIT = 60.0

ONLY: tuple[str, ...] = ()
"""The estimators to try, such as ``--set "ONLY=('LPBoostClassifier',)"``; by default all."""

WITHOUT = {"arcene", "dexter", "dorothea", "gisette_valid"}
"""Tables that are left out: 5,000 features and more."""

FILE = KEPT / "defaults.jsonl"

Table = Callable[[], tuple[NDArray, NDArray]]


def load(name: str) -> tuple[NDArray, NDArray]:
    """Return all samples of a table of the directory."""
    data = datasets.load(name)
    X, y = np.asarray(data.X, np.float64), data.y
    if data.X_test is not None:
        X, y = np.concatenate([X, data.X_test]), np.concatenate([y, data.y_test])
    return X, y


def noisy_signs(n: int, d: int, flips: float, rare: float, n_classes: int = 2) -> tuple[NDArray, NDArray]:
    """Return samples of clusters with some labels drawn at random, the last class rare."""
    weights = [(1 - rare) / (n_classes - 1)] * (n_classes - 1) + [rare]
    return make_classification(
        n, d, n_informative=d // 2, n_classes=n_classes, flip_y=flips, weights=weights, random_state=0
    )


def heavy_tails(n: int) -> tuple[NDArray, NDArray]:
    """Return a linear target with noise of t(1.5) and features in units of 1e-6 to 1e6."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 8))
    y = X[:, 0] + np.abs(X[:, 1]) + rng.standard_t(1.5, size=n)
    return X * np.logspace(-6, 6, 8), y


GENERATED: dict[str, Table] = {
    "moons": partial(make_moons, 2000, noise=0.3, random_state=0),
    "circles": partial(make_circles, 2000, noise=0.2, factor=0.5, random_state=0),
    "clusters": partial(noisy_signs, 2000, 10, 0.0, 0.5),
    "clusters, noise": partial(noisy_signs, 2000, 10, 0.4, 0.5),
    "clusters, pure noise": partial(noisy_signs, 2000, 10, 1.0, 0.5),
    "clusters, rare": partial(noisy_signs, 2000, 10, 0.0, 0.03),
    "clusters, 100 features": partial(noisy_signs, 2000, 100, 0.05, 0.5),
    "clusters, four classes": partial(noisy_signs, 2000, 12, 0.05, 0.25, 4),
    "clusters, 30 samples": partial(noisy_signs, 60, 10, 0.05, 0.5),
    "threenorm": partial(datasets.make_threenorm, 2000, random_state=0),
}
TARGETS: dict[str, Table] = {
    "diabetes": partial(load_diabetes, return_X_y=True),
    "Friedman 1": partial(make_friedman1, 2000, noise=1.0, random_state=0),
    "Friedman 2": partial(make_friedman2, 2000, noise=125.0, random_state=0),
    "Friedman 3": partial(make_friedman3, 2000, noise=0.1, random_state=0),
    "linear": partial(make_regression, 2000, 20, noise=10.0, random_state=0),
    "linear, 200 features": partial(make_regression, 400, 200, noise=10.0, random_state=0),
    "sparse uncorrelated": partial(make_sparse_uncorrelated, 2000, random_state=0),
    "heavy tails": partial(heavy_tails, 2000),
}


def list_tables() -> dict[str, tuple[bool, Table]]:
    """Return whether each table is of classes, and how to get it, small ones first as they come."""
    found = {name: (True, partial(load, name)) for name in datasets.available() if name not in WITHOUT}
    return found | {n: (True, t) for n, t in GENERATED.items()} | {n: (False, t) for n, t in TARGETS.items()}


def list_estimators() -> dict[str, Any]:
    """Return every public classifier and regressor that needs no argument, but for survival and ranking."""
    made = {name: kind for name in estimators.__all__ if hasattr(kind := getattr(estimators, name), "predict")}
    left_out = ("Survival", "Ranker", "ColumnGeneration", "PriceSearch", "Dask")
    return {
        name: kind
        for name, kind in made.items()
        if not any(part in name for part in left_out) and (not ONLY or name in ONLY)
    }


def interrupt(_signal: int, _frame: Any) -> None:
    """End a fit as Ctrl-C does."""
    signal.raise_signal(signal.SIGINT)


def read_losses(model: Any, X: NDArray, y: NDArray) -> NDArray:
    """Return the loss of each sample: 1 where a class is wrong, or the absolute error."""
    found = model.predict(X)
    return (found != y).astype(float) if is_classifier(model) else np.abs(found - y)


def split(make: Table, classes: bool) -> list[NDArray]:
    """Return X, X_test, y, y_test; of classes all that have three samples, in proportion."""
    X, y = make()
    if classes:
        names, counts = np.unique(y, return_counts=True)
        kept = np.isin(y, names[counts >= 3])
        X, y = X[kept], y[kept]
    n_train = min(MOST, 2 * len(y) // 3)
    n_test = min(MOST, len(y) - n_train)
    try:
        return train_test_split(
            X, y, train_size=n_train, test_size=n_test, random_state=0, stratify=y if classes else None
        )
    except ValueError:  # more classes than samples to test on
        return train_test_split(X, y, train_size=n_train, test_size=n_test, random_state=0)


def measure(kind: Any, parts: list[NDArray], peers: dict[str, NDArray]) -> dict[str, Any]:
    """Fit one estimator, and say what is silly about it."""
    X, X_test, y, y_test = parts
    # what begins in the background ignores Ctrl-C
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGPROF, interrupt)
    with limit_threads(1), threadpool_limits(1), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        start = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, LIMIT)
        try:
            model = kind().fit(X, y)
        except (Exception, KeyboardInterrupt) as error:
            text = " ".join(f"{type(error).__name__}: {error}".split())
            return {"CPU s": time.process_time() - start, "silly": f"raised {text[:200]}"}
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        seconds = time.process_time() - start
        losses = read_losses(model, X_test, y_test)
    best = min(peers, key=lambda name: peers[name].mean())
    worse = losses - peers[best]
    error = worse.std() / np.sqrt(len(worse))
    certificates = np.atleast_1d(np.array(getattr(model, "certificate_", nan), dtype=object))
    gap = max((getattr(c, "relative_gap", -inf) for c in certificates), default=-inf)
    words = {f"{w.category.__name__}: {' '.join(str(w.message).split())}"[:200] for w in warned}
    silly = [f"takes {seconds:.0f} s"] if seconds >= LIMIT else []
    if worse.mean() > 2 * error + 1e-12:
        silly.append(f"worse than the {best} model by {worse.mean() / max(error, 1e-300):.1f} standard errors")
    if gap > getattr(model, "tol", inf) and not warned and not isinstance(model, PartialSVMEnsembleClassifier):
        silly.append(f"a gap of {gap:.2g} without a warning")
    return {
        "loss": losses.mean(),
        **{name: found.mean() for name, found in peers.items()},
        "CPU s": seconds,
        "gap": gap,
        "warnings": sorted(words),
        "silly": "; ".join(silly),
    }


def run() -> Iterator[dict[str, Any]]:
    """Yield a row for every fit, table by table, those of the file as they are."""
    lines = FILE.read_text().splitlines() if FILE.exists() else []
    kept = {(row["data"], row["estimator"]): row for row in map(json.loads, lines)}
    FILE.parent.mkdir(exist_ok=True)
    for name, (classes, make) in list_tables().items():
        kinds = {n: kind for n, kind in list_estimators().items() if is_classifier(kind()) == classes}
        if missing := [n for n in kinds if (name, n) not in kept]:
            parts = split(make, classes)
            fill = SimpleImputer(keep_empty_features=True)
            linear = make_pipeline(fill, StandardScaler(), LogisticRegression(max_iter=1000) if classes else RidgeCV())
            constant = DummyClassifier() if classes else DummyRegressor(strategy="median")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = {"constant": constant.fit(parts[0], parts[2]), "linear": linear.fit(parts[0], parts[2])}
            peers = {n: read_losses(model, parts[1], parts[3]) for n, model in made.items()}
            size = {"samples": len(parts[2]), "features": parts[0].shape[1]}
            for n in missing:
                row = {"data": name, "estimator": n, **size, **measure(kinds[n], parts, peers)}
                kept[name, n] = row | {"commit": read_commit()}
                with FILE.open("a") as file:
                    file.write(json.dumps(kept[name, n]) + "\n")
        for n in kinds:
            row = kept[name, n]
            yield {key: value for key, value in row.items() if key not in {"commit", "warnings"}}
