"""Classifiers as they are, without a parameter set, on tables of numbers, categories and gaps.

Ours beside explainable boosting machines (``pip install interpret-core``), CatBoost, LightGBM, and scikit-learn's
histogram boosting, random forest and logistic regression, the last two on gaps filled by medians and an indicator for
each category. A peer that is not there is left out, and the first row says so. Every split takes two thirds of a table
at random, the classes in proportion, at most `MOST` samples, or more of the `LARGE` ones, and tests on the rest, at
most `MOST`; seeds are the numbers of the splits. Fits take one thread and at most `LIMIT` seconds; terms are what a
reader looks at: main effects and pairs of additive models, coefficients, leaves of trees.

Defaults of ours, such as where thresholds are in columns that are mostly zero and how many bins pairs have, were
changed after runs here had shown what they cost; the page that is made of this says which. Further changes were tried,
of which none was made: on seven tables of here, three of them with other classes, and later on those of
`additive_accuracy`, of which two are here, with others.

Each fit is kept in benchmarks/kept/readable_models.jsonl and not repeated: delete lines for what is to be measured
anew. `python docs/comparison.py` makes a page of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedShuffleSplit

import cvxens
from benchmarks._peers import Method, Part, Terms, count_ours, fit, keep, list_peers, read_columns
from benchmarks._record import KEPT
from cvxens import datasets

NUMBERS = (
    *("heart", "ionosphere", "pima", "sonar", "wdbc", "spambase", "svmguide1", "raetsch_banana"),
    *("raetsch_flare-solar", "raetsch_image", "raetsch_ringnorm", "raetsch_thyroid", "raetsch_titanic"),
    *("raetsch_twonorm", "raetsch_waveform", "glass", "vehicle", "wine", "vowel", "segment", "digits"),
    *("pendigits", "letter", "madelon", "w8a"),
)
"""Names in the directory CVXENS_DATA; all features are numbers."""

FRAMES: Mapping[str, tuple[str, ...]] = {
    **{name: (name,) for name in ("credit_approval", "credit_german", "heart_hungarian", "hepatitis", "horse_colic")},
    **{name: (name,) for name in ("house_votes_84", "breast_cancer_ljubljana", "breast_wisconsin_original")},
    **{name: (name,) for name in ("anneal", "soybean", "mushroom", "splice_nominal")},
    "adult": ("adult_train", "adult_test"),
}
"""Files there with categories and gaps, the class last; those of one table are joined."""

NAMES_OF_ROWS = ["sample_id", "Instance_name"]
"""Columns that only say which row it is."""

SPLITS = 9
MOST = 10_000

LARGE: Mapping[str, int] = {"adult": 30_000}
"""Tables of which a fit gets more samples."""

FILE = KEPT / "readable_models.jsonl"

OURS: Mapping[str, Callable[[], Any]] = {"AdditiveClassifier": cvxens.AdditiveClassifier}
PEERS = ("EBM", "CatBoost", "LightGBM", "HistGradientBoosting", "random forest", "logistic")

ONLY: tuple[str, ...] = ()
"""The methods to run, such as ``--set "ONLY=('EBM',)"``; by default ours and all peers that there are."""


def list_methods() -> dict[str, Method]:
    """Return how each classifier is made, and how its terms are counted."""
    return {name: (make, count_ours) for name, make in OURS.items()} | list_peers(classify=True)


@cache
def load(name: str) -> tuple[pd.DataFrame, Any]:
    """Return a table and its classes by their numbers."""
    if name in FRAMES:
        folder = Path(os.environ["CVXENS_DATA"])
        cells = pd.concat([pd.read_csv(folder / f"{file}.csv.gz", na_values="?") for file in FRAMES[name]])
        y = cells.iloc[:, -1].astype(str).str.strip()
        X = read_columns(cells.iloc[:, :-1].drop(columns=NAMES_OF_ROWS, errors="ignore").reset_index(drop=True))
    else:
        data = datasets.load(name)
        parts = [(data.X, data.y)] + ([(data.X_test, data.y_test)] if data.X_test is not None else [])
        X = pd.DataFrame(np.concatenate([np.asarray(part, np.float64) for part, _ in parts])).add_prefix("x")
        y = np.concatenate([classes for _, classes in parts])
    return X, np.unique(y, return_inverse=True)[1]


def draw(name: str, split: int) -> Part:
    """Return the training and the test part of a split: X, y, X_test, y_test."""
    X, y = load(name)
    n_train = min(LARGE.get(name, MOST), round(2 * len(y) / 3))
    n_test = min(MOST, len(y) - n_train)
    parts = StratifiedShuffleSplit(1, train_size=n_train, test_size=n_test, random_state=split)
    train, test = next(parts.split(X, y))
    return X.iloc[train], y[train], X.iloc[test], y[test]


def measure(make: Callable[[], Any], terms: Terms, name: str, split: int) -> dict[str, Any]:
    """Fit and test a classifier on one split."""
    part = draw(name, split)
    model, told = fit(make, terms, part)
    _, y, X_test, y_test = part
    p = np.asarray(model.predict_proba(X_test), float)
    p /= p.sum(axis=1, keepdims=True)
    wrong = np.asarray(model.predict(X_test)) != y_test
    return {
        "error": float(wrong.mean()),
        "log loss": float(log_loss(y_test, p, labels=np.unique(y))),
        "AUC": float(roc_auc_score(y_test, p[:, 1] if p.shape[1] == 2 else p, multi_class="ovr")),
        "constant": 1 - float(np.bincount(y_test).max() / len(y_test)),
        **told,
    }


def run() -> Iterator[dict[str, Any]]:
    """Yield a row for every fit, split by split, those of the file as they are."""
    methods = list_methods()
    if missing := [name for name in PEERS if name not in methods]:
        yield {"data": f"without {', '.join(missing)}: not installed"}
    chosen = {name: found for name, found in methods.items() if not ONLY or name in ONLY}
    # what is compiled at the first fit is no part of a later one's time
    for name in ("heart_hungarian", "wine") if OURS.keys() & chosen else ():
        X, y = load(name)
        cvxens.AdditiveClassifier(tol=0.1).fit(X[::3], y[::3])
    sizes = {}
    for name in (*NUMBERS, *FRAMES):
        X, y = load(name)
        n_classes = int(y.max()) + 1
        sizes[name] = min(LARGE.get(name, MOST), len(y)) * X.shape[1] * (n_classes if n_classes > 2 else 1)
    yield from keep(FILE, chosen, sizes, SPLITS, measure)
