"""Small samples for the estimators' tests."""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy.sparse import issparse

from cvxens import (
    AdaBoostClassifier,
    AdaBoostECCClassifier,
    AdaBoostMHClassifier,
    CGEnsClassifier,
    CGEnsSLSClassifier,
    ColumnGenerationClassifier,
    LPBoostClassifier,
    MultiBoostClassifier,
    PartialSVMEnsembleClassifier,
    RegAdaBoostClassifier,
)
from cvxens.colgen import Column, Priced, oracles
from cvxens.kernels import Laplacian

EVERY = [
    LPBoostClassifier(),
    CGEnsClassifier(),
    CGEnsSLSClassifier(),
    ColumnGenerationClassifier(),
    MultiBoostClassifier(),
]
BOOSTING = [AdaBoostClassifier(n_rounds=9), AdaBoostMHClassifier(n_rounds=9), AdaBoostECCClassifier(n_rounds=9)]
FEW = pytest.mark.filterwarnings(
    "ignore:.*(updates have ended|low-rank kernel leaves out):sklearn.exceptions.ConvergenceWarning"
)
"""Marks tests that want no more than a few updates or pivots."""

IN_ROUNDS = [
    *BOOSTING,
    PartialSVMEnsembleClassifier(max_updates=6),
    RegAdaBoostClassifier(Laplacian(0.5), lam=0.05, tol=1e-2, solver="boosting"),
]
"""The boosting and kernel peers that count rounds."""

VOTES = [*BOOSTING, *EVERY]
"""Every estimator that is a weighted vote."""

BY_MARGINS = [estimator for estimator in EVERY if estimator.one_by_one]


def called(estimator):
    return type(estimator).__name__


def assert_optimal(certificate, optimum, *, tol, rel):
    """It holds, is proven, and its objective is the optimum that was found another way."""
    assert certificate.holds(tol)
    assert certificate.proven
    assert certificate.primal == pytest.approx(optimum, rel=rel)


@dataclass(frozen=True)
class Coordinate:
    """A user's hypothesis: a feature as it is."""

    feature: int
    sign: float

    def __call__(self, X, /):
        column = X[:, [self.feature]]
        return self.sign * (column.toarray() if issparse(column) else column)[:, 0]


class Coordinates:
    """A user's oracle, which never makes sparse samples dense."""

    seen = ()

    def __init__(self, X):
        self.X = self.sample = X
        self.largest = float(abs(X).max())  # of any |h(x)|, which rankings ask for
        Coordinates.seen = (*Coordinates.seen, getattr(X, "format", "dense"))

    def price(self, s, exclude=()):
        edges = self.X.T @ s.reshape(self.X.shape[0], -1)
        best = edges[np.arange(len(edges)), np.abs(edges).argmax(axis=1)]
        order = np.argsort(-np.abs(best)).tolist()
        columns = [Column(Coordinate(j, np.sign(best[j])), self.X, abs(best[j])) for j in order]
        return Priced(columns, np.abs(best).max(), (edges**2).sum())


class Interrupting(oracles.Stumps):
    """Stumps whose user loses patience in the third round."""

    rounds = 0

    def price(self, s, exclude=()):
        self.rounds += 1
        if self.rounds == 3:
            raise KeyboardInterrupt
        return super().price(s, exclude)


def two_classes(n_samples=40, random_state=0):
    """Three features, the first two of which tell the classes apart but for some noise."""
    rng = np.random.default_rng(random_state)
    X = rng.normal(size=(n_samples, 3)).round(1)
    y = np.where(X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=n_samples) > 0, "yes", "no")
    return X, y


def three_classes(n_samples=45, random_state=1):
    """Three classes along the first feature, with some noise."""
    rng = np.random.default_rng(random_state)
    X = rng.normal(size=(n_samples, 2)).round(1)
    y = np.digitize(X[:, 0] + 0.3 * rng.normal(size=n_samples), [-0.5, 0.5])
    return X, y
