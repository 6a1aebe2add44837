"""Every public estimator, of few rounds where there are rounds, and a sample for it."""

from functools import cache

import numpy as np
from estimator_samples import two_classes
from sklearn.base import clone, is_classifier
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from cvxens import estimators

QUICK = {
    "AdditiveClassifier": {"C": 0.5},
    "AdditiveRanker": {"C": 0.5},
    "AdditiveRegressor": {"C": 0.5},
    "AdaBoostClassifier": {"n_rounds": 5},
    "AdaBoostECCClassifier": {"n_rounds": 5},
    "AdaBoostMHClassifier": {"n_rounds": 5},
    "PriceSearchCV": {"prices": [10.0]},
    "SupervisedKernelRLSClassifier": {"forest": RandomForestClassifier(5), "n_experts": 5, "random_state": 0},
    "SupervisedKernelRLSRegressor": {"forest": RandomForestRegressor(5), "n_experts": 5, "random_state": 0},
}

PUBLIC = {
    name: getattr(estimators, name)(**QUICK.get(name, {}))
    for name in estimators.__all__
    if hasattr(getattr(estimators, name), "fit")
}

CLASSIFIERS = [name for name in PUBLIC if is_classifier(PUBLIC[name])]

FAMILIES = [
    *("LPBoostClassifier", "CGEnsSLSClassifier", "AdaBoostMHClassifier", "LPBoostRegressor"),
    *("InfiniteEnsembleSVC", "RegAdaBoostClassifier", "PriceSearchCV"),
    *("SupervisedKernelRLSClassifier", "SupervisedKernelRLSRegressor"),
]
"""One estimator of each way to read a sample, to solve it and to say what it predicts."""


X, Y = two_classes()

TARGETS = {name: Y if name in CLASSIFIERS else X[:, 0] + X[:, 1] for name in PUBLIC}
TARGETS["ColumnGenerationSurvival"] = np.exp(-X[:, 0] - X[:, 1])


@cache
def fitted(name):
    """The estimator fitted to the sample; not to be changed."""
    return clone(PUBLIC[name]).fit(X, TARGETS[name])
