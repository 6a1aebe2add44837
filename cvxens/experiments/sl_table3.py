"""SL Table III: simplex least squares over stumps against boosting of several classes."""

from __future__ import annotations

from functools import partial
from typing import Any

from sklearn.model_selection import GridSearchCV

from cvxens.estimators import AdaBoostECCClassifier, AdaBoostMHClassifier, CGEnsSLSClassifier, MultiBoostClassifier
from cvxens.experiments.experiment import Experiment, error_of
from cvxens.experiments.sources import Partitioned

PROTOCOL = """\
The paper's protocol and figures are not known; this is ours. 75 % of the samples to train on, at random, the others \
to test on; features are mapped to [-1, 1] on the training part. AdaBoost: 500 rounds, all stumps. MultiBoost: all \
stumps, prices of 300 in sum, to a relative gap of 1 %. CGEns-SLS: at most 32 stumps per feature, C of the best \
accuracy in 5-fold cross-validation on the training part among 10^-4, 10^-3, ..., 1, the first of equals."""

NAMES = ("iris", "wine", "glass", "vehicle", "vowel", "segment", "dna")
ROUNDS = 500
TOL = 1e-2
WEIGHTS = tuple(10.0**k for k in range(-4, 1))


def boosted(kind: Any, random_state: int) -> Any:
    """A boosting method of several classes, over all stumps."""
    return kind(n_rounds=ROUNDS, random_state=random_state)


def multiboost(random_state: int) -> MultiBoostClassifier:
    """MultiBoost with its default price."""
    return MultiBoostClassifier(tol=TOL, random_state=random_state)


def simplex_least_squares(random_state: int) -> Any:
    """CGEns-SLS, C by cross-validation."""
    return GridSearchCV(CGEnsSLSClassifier(random_state=random_state), {"C": WEIGHTS}, cv=5)


SL_TABLE3 = Experiment(
    paper="sl",
    table="table3",
    title="simplex least squares over stumps against boosting, of several classes",
    measure="test error, %",
    protocol=PROTOCOL,
    data={name: Partitioned(name, share=0.75) for name in NAMES},
    methods={
        "AdaBoost.ECC": error_of(partial(boosted, AdaBoostECCClassifier)),
        "AdaBoost.MH": error_of(partial(boosted, AdaBoostMHClassifier)),
        "MultiBoost": error_of(multiboost),
        "CGEns-SLS": error_of(simplex_least_squares),
    },
)
