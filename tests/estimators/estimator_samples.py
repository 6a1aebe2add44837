"""Small samples for the estimators' tests."""

import numpy as np

from cvxens import (
    AdaBoostClassifier,
    AdaBoostECCClassifier,
    AdaBoostMHClassifier,
    CGEnsClassifier,
    CGEnsSLSClassifier,
    ColumnGenerationClassifier,
    LPBoostClassifier,
    MultiBoostClassifier,
)
from cvxens.colgen import oracles

EVERY = [
    LPBoostClassifier(),
    CGEnsClassifier(),
    CGEnsSLSClassifier(),
    ColumnGenerationClassifier(),
    MultiBoostClassifier(),
]
BOOSTING = [
    AdaBoostClassifier(n_rounds=9),
    AdaBoostMHClassifier(n_rounds=9),
    AdaBoostECCClassifier(n_rounds=9),
]
VOTES = [*BOOSTING, *EVERY]
"""Every estimator that is a weighted vote."""

BY_MARGINS = [estimator for estimator in EVERY if estimator.one_by_one]


def called(estimator):
    return type(estimator).__name__


class Interrupting(oracles.Stumps):
    """Stumps whose user loses patience in the third round."""

    rounds = 0

    def price(self, s, exclude=()):
        self.rounds += 1
        if self.rounds == 3:
            raise KeyboardInterrupt
        return super().price(s, exclude)


def every_stump(X):
    """Every middle stump of one sign, on the sample."""
    columns = []
    for x in X.T:
        values = np.unique(x)
        columns += [np.where(x > middle, 1.0, -1.0) for middle in (values[:-1] + values[1:]) / 2]
    return np.column_stack(columns)


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
