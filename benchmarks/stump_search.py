"""The exact search for the best stumps beside the approximate one of a boosting library, and a tree.

Peers: one round of LightGBM with two leaves (its binning excluded) and scikit-learn's tree of depth 1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from statistics import median
from typing import Any

import lightgbm
import numpy as np
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier

from benchmarks import THREADS, take_times
from cvxens import datasets
from cvxens.colgen.oracles.stumps import Stumps
from cvxens.errors import DataFileError

REPETITIONS = 21
N_SAMPLES = 100_000

SHORT = {"REPETITIONS": 7}
"""For a run of a minute."""


def numbers() -> tuple[NDArray, NDArray]:
    """Return N_SAMPLES x 50 normal features and noisy labels."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_SAMPLES, 50))
    return X, np.sign(X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=len(X)))


def images() -> tuple[NDArray, NDArray]:
    """Return the 60,000 x 784 bytes of MNIST, even against odd; where there are no data, sparse random bytes."""
    try:
        data = datasets.load("mnist")
        return np.asarray(data.X), np.where(np.asarray(data.y) % 2, 1.0, -1.0)
    except DataFileError:
        pass
    rng = np.random.default_rng(0)
    X = rng.integers(0, 256, (60_000, 784), np.uint8) * (rng.random((60_000, 784)) < 0.2)
    return X.astype(np.uint8), np.sign(X[:, 300] - 25.0 + rng.normal(size=len(X)))


def lightgbm_round(X: NDArray, y: NDArray) -> lightgbm.Booster:
    """Return a booster that is ready for a round of two leaves."""
    options = {"objective": "binary", "num_leaves": 2, "num_threads": THREADS, "verbose": -1, "max_bin": 255}
    return lightgbm.Booster(options, lightgbm.Dataset(X, y > 0, params=options))


def timings(name: str, X: NDArray, y: NDArray) -> list[dict[str, Any]]:
    """Time all peers on one data set; ratios are to the exact search for the best stump."""
    u = np.random.default_rng(1).exponential(size=len(y))
    s = y * u / u.sum()
    oracles = {
        "best stump": Stumps(X, columns_per_round=1),
        "best stump, and one of 19 other features": Stumps(X, columns_per_round=20),
        "default: best stump, and some of all features": Stumps(X),
        "best stumps of all features": Stumps(X, columns_per_round=X.shape[1] + 1),
    }
    every = Stumps(X)
    tree = DecisionTreeClassifier(max_depth=1)
    # as runs ask whose penalty does not need the sum of squared edges
    tasks = {task: partial(oracle.price, s, square_sum=False) for task, oracle in oracles.items()}
    tasks["default, and the sum of squares"] = lambda: every.price(s).edge_square_sum
    times = measure(tasks | {"LightGBM round, 2 leaves": lightgbm_round(X, y).update}, REPETITIONS)
    times |= measure({"scikit-learn tree, depth 1": partial(tree.fit, X, y, sample_weight=u)}, 1)
    base = next(iter(times.values()))
    return [{"data": name, "search": task, "ms": ms, "ratio": ms / base} for task, ms in times.items()]


def measure(tasks: Mapping[str, Callable[[], Any]], repetitions: int) -> dict[str, float]:
    """Return the median milliseconds of every task, after one call each to warm up."""
    take_times(tasks, 1)
    return {name: 1e3 * median(seconds) for name, (seconds, _) in take_times(tasks, repetitions).items()}


def run() -> Iterator[dict[str, Any]]:
    """Yield a row for every data set and search."""
    yield from timings(f"{N_SAMPLES:,} x 50 float64", *numbers())
    yield from timings("60,000 x 784 uint8", *images())
