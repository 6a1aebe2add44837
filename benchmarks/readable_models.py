"""Classifiers as they are, without a parameter set, on 27 data sets: what is read beside what is predicted well.

Ours beside explainable boosting machines (``pip install interpret-core``), LightGBM, and scikit-learn's histogram
boosting, SVC and L1-regularised logistic regression, the last two on standardised features. A peer that is not there is
left out, and the first row says so. Every split takes two thirds of a data set at random, the classes in proportion, at
most `MOST` samples, and tests on the rest, at most as many; seeds are the numbers of the splits. No parameter of ours
was chosen on these data: that the mean of ensembles is taken by default was decided on 19 other tables. Fits take one
thread; terms are what a reader looks at: main effects and pairs of additive models, coefficients, leaves of trees,
support vectors.

Each fit is kept in .benchmarks/readable_models.jsonl and not repeated: delete lines for what is to be measured anew.
`python docs/comparison.py` makes a page of it.
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from importlib.util import find_spec
from itertools import product
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

import cvxens
from benchmarks._record import HOME, describe_machine, read_commit
from cvxens import datasets
from cvxens.estimators.explanations import find_shares
from cvxens.hypotheses import Branch, Scaled, Stump
from cvxens.limits import limit_threads

DATA = (
    *("australian", "german", "heart", "ionosphere", "pima", "sonar", "spambase", "svmguide1", "votes84", "a1a"),
    *("raetsch_banana", "raetsch_breast-cancer", "raetsch_flare-solar", "raetsch_image", "raetsch_splice"),
    *("raetsch_thyroid", "raetsch_titanic", "raetsch_waveform", "raetsch_ringnorm", "raetsch_twonorm"),
    *("wdbc", "breast", "vehicle", "glass", "wine", "iris", "segment"),
)
"""Names in the directory CVXENS_DATA; all features are numbers, the last five have several classes."""

SPLITS = 5
MOST = 1000

FILE = HOME / "readable_models.jsonl"

Terms = Callable[[Any], int]


def count_ours(model: Any) -> int:
    """Count the main effects and pairs of an ensemble, the most of a class."""
    parts = getattr(model, "estimators_", None) or [model]
    learners = [[h for h, w in zip(p.weak_learners_, p.weights_, strict=True) if np.any(w)] for p in parts]
    return max(len(set().union(*map(list_terms, each))) for each in learners)


def count_leaves(model: Any) -> int:
    """Count the leaves of a histogram boosting."""
    return sum(tree.get_n_leaf_nodes() for trees in model._predictors for tree in trees)


def list_terms(hypothesis: Any) -> set[tuple[int, ...]]:
    """Return the main effects and pairs that a weak learner adds to: a tree of depth 2 has one for each half."""
    while isinstance(hypothesis, Scaled):
        hypothesis = hypothesis.hypothesis
    halves = [hypothesis.above, hypothesis.below] if isinstance(hypothesis, Branch) else []
    if halves:
        own = {hypothesis.feature}
        found = [own | {half.feature} for half in halves if isinstance(half, Stump)] or [own]
    else:
        found = [set(find_shares(hypothesis)[0].tolist())]
    return {tuple(sorted(features)) for features in found if features}


OURS: Mapping[str, Callable[[], Any]] = {
    "AdditiveClassifier": cvxens.AdditiveClassifier,
    "PriceSearchCV(AdditiveClassifier(), average=True)": partial(
        cvxens.PriceSearchCV, cvxens.AdditiveClassifier(), average=True
    ),
}
PEERS = ("EBM", "LightGBM", "HistGradientBoosting", "SVC (rbf)", "logistic, l1")

ONLY: tuple[str, ...] = ()
"""The methods to run, such as ``--set "ONLY=('EBM',)"``; by default ours and all peers that there are."""


def list_methods() -> dict[str, tuple[Callable[[], Any], Terms]]:
    """Return how each classifier is made, and how its terms are counted; peers that are not installed are left out."""
    methods: dict[str, tuple[Callable[[], Any], Terms]] = {name: (make, count_ours) for name, make in OURS.items()}
    if find_spec("interpret"):
        from interpret.glassbox import ExplainableBoostingClassifier

        methods["EBM"] = lambda: ExplainableBoostingClassifier(n_jobs=1), lambda model: len(model.term_features_)
    if find_spec("lightgbm"):
        from lightgbm import LGBMClassifier

        methods["LightGBM"] = (
            lambda: LGBMClassifier(n_jobs=1, verbose=-1),
            lambda model: sum(tree["num_leaves"] for tree in model.booster_.dump_model()["tree_info"]),
        )
    methods["HistGradientBoosting"] = HistGradientBoostingClassifier, count_leaves
    methods["SVC (rbf)"] = lambda: make_pipeline(StandardScaler(), SVC()), lambda model: int(model[-1].n_support_.sum())
    methods["logistic, l1"] = (
        lambda: make_pipeline(StandardScaler(), LogisticRegression(l1_ratio=1.0, solver="saga", max_iter=2000)),
        lambda model: int((model[-1].coef_ != 0).any(axis=0).sum()),
    )
    return methods


def draw(name: str, split: int) -> tuple[NDArray, NDArray, NDArray, NDArray]:
    """Return the training and the test part of a split: X, y, X_test, y_test."""
    data = datasets.load(name)
    X, y = data.X, data.y
    if data.X_test is not None:
        X, y = np.concatenate([X, data.X_test]), np.concatenate([y, data.y_test])
    X = np.asarray(X, np.float64)
    n_train = min(MOST, round(2 * len(y) / 3))
    n_test = min(MOST, len(y) - n_train)
    parts = StratifiedShuffleSplit(1, train_size=n_train, test_size=n_test, random_state=split)
    train, test = next(parts.split(X, y))
    return X[train], y[train], X[test], y[test]


def measure(make: Callable[[], Any], terms: Terms, name: str, split: int) -> dict[str, Any]:
    """Fit and test a classifier on one split."""
    X, y, X_test, y_test = draw(name, split)
    with limit_threads(1), threadpool_limits(1), warnings.catch_warnings():
        # peers warn of features without a variance, of versions, and of iterations
        warnings.simplefilter("ignore")
        start = time.process_time()
        model = make().fit(X, y)
        seconds = time.process_time() - start
        wrong = model.predict(X_test) != y_test
        p = model.predict_proba(X_test) if hasattr(model, "predict_proba") else None
        scores = p if p is not None else model.decision_function(X_test)
    binary = len(np.unique(y)) == 2
    scores = scores[:, 1] if binary and scores.ndim > 1 else scores
    if not binary:
        scores = scores if p is not None else expit(scores) / expit(scores).sum(axis=1, keepdims=True)
    certificates = np.atleast_1d(np.array(getattr(model, "certificate_", nan), dtype=object))
    gaps = [getattr(certificate, "relative_gap", nan) for certificate in certificates]
    return {
        "data": name,
        "split": split,
        "error": float(wrong.mean()),
        "log loss": nan if p is None else float(log_loss(y_test, p, labels=np.unique(y))),
        "AUC": float(roc_auc_score(y_test, scores, multi_class="ovr")),
        "terms": terms(model),
        "CPU s": seconds,
        "gap": float(max(gaps)),
        "samples": len(y),
        "features": X.shape[1],
    }


def keep(
    path: Path,
    methods: Mapping[str, tuple[Any, Terms]],
    names: Iterable[str],
    splits: int,
    measure: Callable[..., dict[str, Any]],
) -> Iterator[dict[str, Any]]:
    """Yield a row for every fit, split by split: those of a JSON-lines file as they are, others measured and kept."""
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    kept = {(row["method"], row["data"], row["split"]): row for row in rows}
    path.parent.mkdir(exist_ok=True)
    for split, name in product(range(splits), names):
        for method, (make, terms) in methods.items():
            row = kept.get((method, name, split))
            if row is None:
                row = {"method": method, **measure(make, terms, name, split)}
                row |= {"machine": describe_machine(), "commit": read_commit()}
                with path.open("a") as file:
                    file.write(json.dumps(row) + "\n")
            yield {key: value for key, value in row.items() if key not in {"machine", "commit"}}


def run() -> Iterator[dict[str, Any]]:
    """Yield a row for every fit, split by split, those of the file as they are."""
    methods = list_methods()
    if missing := [name for name in PEERS if name not in methods]:
        yield {"data": f"without {', '.join(missing)}: not installed"}
    chosen = {name: found for name, found in methods.items() if not ONLY or name in ONLY}
    yield from keep(FILE, chosen, DATA, SPLITS, measure)
