"""The exact search for the best trees of depth 2, rules and boxes beside one round of boosting, and a tree.

Peers: one round of LightGBM with four leaves and depth 2 (its binning excluded), which chooses its root greedily, and
scikit-learn's tree of depth 2, greedy too. Weighted errors are of the tree that each finds, on the same bins or finer:
the exact one is the least over all trees over its bins.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import lightgbm
import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from benchmarks import THREADS, take_times
from cvxens.colgen.oracles import Boxes, DepthTwoTrees, PairRules

REPETITIONS = 7
N_SAMPLES = 100_000
N_FEATURES = 20


def numbers() -> tuple[NDArray, NDArray]:
    """Return normal features and labels that depend on the product of two of them, which no greedy root sees."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_SAMPLES, N_FEATURES))
    return X, np.sign(X[:, 0] * X[:, 1] + 0.2 * X[:, 2] + 0.5 * rng.normal(size=len(X)))


def lightgbm_round(X: NDArray, y: NDArray, u: NDArray) -> lightgbm.Booster:
    """Return a booster that is ready for a round of four leaves."""
    options = {"objective": "binary", "num_leaves": 4, "max_depth": 2, "num_threads": THREADS, "verbose": -1}
    return lightgbm.Booster(options, lightgbm.Dataset(X, y > 0, weight=u, params=options))


def run() -> list[dict[str, Any]]:
    """Return a row for every search; ratios are to the exact search for the best trees."""
    X, y = numbers()
    u = np.random.default_rng(1).exponential(size=len(y))
    s = y * u / u.sum()
    trees = DepthTwoTrees(X)
    tree, booster = DecisionTreeClassifier(max_depth=2), lightgbm_round(X, y, u)
    tasks: dict[str, Any] = {
        "all trees of depth 2, 64 bins": partial(trees.price, s),
        "all rules of 2 conditions, 64 bins": partial(PairRules(X).price, s),
        "all boxes of 3 intervals, 16 bins": partial(Boxes(X).price, s),
        "LightGBM round, 4 leaves": booster.update,
    }
    take_times(tasks, 1)
    measured = take_times(tasks, REPETITIONS)
    measured |= take_times({"scikit-learn tree, depth 2": partial(tree.fit, X, y, sample_weight=u)}, 1)
    base = min(measured["all trees of depth 2, 64 bins"][0])
    found = {
        "all trees of depth 2, 64 bins": trees.price(s).columns[0].values,
        "LightGBM round, 4 leaves": np.where(booster.predict(X, num_iteration=1, raw_score=True) > 0, 1.0, -1.0),
        "scikit-learn tree, depth 2": tree.predict(X),
    }
    return [
        {
            "search": name,
            "ms": 1e3 * min(seconds),
            "ratio": min(seconds) / base,
            "weighted error": float((1 - s @ found[name]) / 2) if name in found else "",
        }
        for name, (seconds, _) in measured.items()
    ]
