"""The test errors of P4, CGEns and SLS with stumps, perceptrons and Fourier features on the data of the papers.

LL08 and SL report test errors on sonar, ionosphere and ringnorm, by other protocols than this one:
`python -m reproduction` has those. Beside ours stand two peers on the same splits: scikit-learn's AdaBoost of as
many stumps, and its SVC with the Gaussian kernel of Fourier's bandwidth.

REPEATS splits: those published for ringnorm (400 samples to train on, 7000 to test), random ones of 75 % and 25 % for
the others. A quarter of the training samples is held out; C is the one of three with the fewest errors on those of the
first split. Features are scaled to mean 0 and variance 1 on the samples trained on. At most MAX_COLUMNS
hypotheses: the l1 and l2 problems are then not solved to the end, least of all P4 over perceptrons.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import AdaBoostClassifier
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from cvxens.colgen import column_generation, formulations, oracles
from cvxens.colgen.oracles.sampled import median_distance
from cvxens.datasets import Dataset, load

NAMES = ("sonar", "ionosphere", "raetsch_ringnorm")
REPEATS = 5
MAX_COLUMNS = 100
PER_ROUND = 25

Score = Callable[[NDArray], NDArray]


class Part(NamedTuple):
    """Samples and their labels -1 and +1."""

    X: NDArray
    y: NDArray


class Split(NamedTuple):
    """What is trained on, what chooses C, and what is tested on."""

    train: Part
    validation: Part
    test: Part


def splits(data: Dataset) -> Iterator[Split]:
    """Yield the published splits, or random ones, scaled."""
    for seed in range(REPEATS):
        if data.splits:
            inside, test = data.splits[seed]
        else:
            inside, test = train_test_split(np.arange(len(data.y)), stratify=data.y, random_state=seed)
        train, validation = train_test_split(inside, stratify=data.y[inside], random_state=seed)
        scaler = StandardScaler().fit(data.X[train])
        yield Split(*(Part(scaler.transform(data.X[rows]), data.y[rows]) for rows in (train, validation, test)))


def p4(oracle: Any, y: NDArray, C: float) -> Score:
    """LL08 P4, C per sample."""
    return column_generation(formulations.soft_margin(C / len(y)), oracle, y, max_columns=MAX_COLUMNS).decision_function


def cgens(oracle: Any, y: NDArray, C: float) -> Score:
    """SL's CGEns, LL08 P1."""
    run = column_generation(formulations.svm(C), oracle, y, max_columns=MAX_COLUMNS, tol=1e-4)
    return run.decision_function


def sls(oracle: Any, y: NDArray, C: float) -> Score:
    """SL's CGEns-SLS, of two classes."""
    formulation = formulations.simplex_least_squares(y[:, None], C)
    run = column_generation(formulation, oracle, max_columns=MAX_COLUMNS, tol=1e-4)
    return lambda X: run.decision_function(X)[:, 0]


ORACLES: Mapping[str, Callable[[NDArray], Any]] = {
    "stumps": partial(oracles.Stumps, columns_per_round=PER_ROUND),
    "perceptrons": partial(oracles.Perceptrons, columns_per_round=PER_ROUND, random_state=0),
    "Fourier": partial(oracles.Fourier, columns_per_round=PER_ROUND, random_state=0),
}
METHODS: Mapping[str, tuple[Callable[[Any, NDArray, float], Score], tuple[float, ...]]] = {
    "P4": (p4, (16.0, 64.0, 200.0)),
    "CGEns": (cgens, (0.01, 0.1, 1.0)),
    "SLS": (sls, (0.01, 0.1, 1.0)),
}


def ours(oracle: str, method: str, train: Part, C: float) -> Score:
    """Fit one method with one oracle."""
    fit, _ = METHODS[method]
    return fit(ORACLES[oracle](train.X), train.y, C)


def adaboost(train: Part, _: float) -> Score:
    """As many stumps by AdaBoost."""
    stumps = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=MAX_COLUMNS, random_state=0)
    return stumps.fit(train.X, train.y).predict


def svc(train: Part, C: float) -> Score:
    """The Gaussian kernel that Fourier features average to."""
    gamma = 1 / (2 * median_distance(train.X, random_state=0) ** 2)
    return SVC(C=C, gamma=gamma).fit(train.X, train.y).decision_function


def error(score: Score, part: Part) -> float:
    """Return the error in percent."""
    return 100.0 * float((np.where(score(part.X) >= 0, 1, -1) != part.y).mean())


def measure(fit: Callable[[Part, float], Score], grid: tuple[float, ...], parts: list[Split]) -> dict[str, Any]:
    """Return the C of the fewest errors in validation (the smallest such), its test errors, and seconds per fit."""
    first, start = parts[0], time.perf_counter()
    C = min(grid, key=lambda C: error(fit(first.train, C), first.validation))
    errors = [error(fit(split.train, C), split.test) for split in parts]
    seconds = (time.perf_counter() - start) / (len(grid) + len(parts))
    mean, deviation = round(float(np.mean(errors)), 1), round(float(np.std(errors)), 1)
    return {"C": C, "test error %": mean, "+-": deviation, "s": seconds}


def run() -> Iterator[dict[str, Any]]:
    """Yield a row per data set, hypotheses and method: C, mean test error, its standard deviation, seconds per fit."""
    fits = {(o, m): (partial(ours, o, m), METHODS[m][1]) for o in ORACLES for m in METHODS}
    fits |= {("stumps", "AdaBoost"): (adaboost, (1.0,)), ("Gaussian kernel", "SVC"): (svc, (0.1, 1.0, 10.0))}
    for name in NAMES:
        parts = list(splits(load(name).as_signs()))
        for (learner, method), (fit, grid) in fits.items():
            yield {"data": name, "hypotheses": learner, "method": method, **measure(fit, grid, parts)}
