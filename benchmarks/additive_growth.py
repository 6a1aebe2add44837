"""What an additive model costs as tables grow: ours with its price chosen, beside EBM and LightGBM, all by default.

Samples of scikit-learn's `make_classification`: seven features of ten matter, two are redundant, a class has three
clusters and one label in 40 is wrong. 5,000 more samples are for the scores. EBM (``pip install interpret-core``) is
with one process, its bags of 14. Fits take one thread each; seconds are of processors. `warmup` has compiled what there
is to compile, and the gap is certified, over all steps, ramps and trees of depth 2.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from time import process_time
from typing import Any

from sklearn.datasets import make_classification
from sklearn.metrics import log_loss, roc_auc_score
from threadpoolctl import threadpool_limits

import cvxens
from cvxens.limits import limit_threads

SIZES = ((2_000, 10), (10_000, 10), (10_000, 20), (100_000, 10))
"""Samples and features."""

ONLY: tuple[str, ...] = ()
"""The methods to run, such as ``--set "ONLY=('EBM',)"``; by default ours and all peers that there are."""

SHORT = {"SIZES": ((500, 4),)}


def list_methods() -> dict[str, Callable[[], Any]]:
    """Return how each classifier is made; peers that are not installed are left out."""
    methods: dict[str, Callable[[], Any]] = {"AdditiveClassifier": cvxens.AdditiveClassifier}
    if find_spec("interpret"):
        from interpret.glassbox import ExplainableBoostingClassifier

        methods["EBM"] = lambda: ExplainableBoostingClassifier(n_jobs=1)
    if find_spec("lightgbm"):
        from lightgbm import LGBMClassifier

        methods["LightGBM"] = lambda: LGBMClassifier(n_jobs=1, verbose=-1)
    return {name: make for name, make in methods.items() if not ONLY or name in ONLY}


def run() -> Iterator[dict[str, Any]]:
    """Yield a row for every size and method."""
    cvxens.AdditiveClassifier().fit(*make_classification(400, 4, random_state=1))
    for n, d in SIZES:
        matter, redundant = {"n_informative": d * 7 // 10, "n_redundant": d // 5}, {"flip_y": 0.05, "random_state": 0}
        X, y = make_classification(n + 5000, d, n_clusters_per_class=3, **matter, **redundant)
        for name, make in list_methods().items():
            with limit_threads(1), threadpool_limits(1), warnings.catch_warnings():
                # of names of features and of versions
                warnings.simplefilter("ignore")
                start = process_time()
                model = make().fit(X[:n], y[:n])
                seconds, p = process_time() - start, model.predict_proba(X[n:])[:, 1]
            yield {
                "samples": n,
                "features": d,
                "method": name,
                "s of processors": round(seconds, 1),
                "AUC": round(float(roc_auc_score(y[n:], p)), 4),
                "log loss": round(float(log_loss(y[n:], p)), 4),
                "certified gap": model.certificate_.relative_gap if name == "AdditiveClassifier" else "",
            }
