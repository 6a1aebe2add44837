"""LL08 Table 2: support vector machines over all stumps, perceptrons and trees against boosted stumps."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV

from cvxens.datasets import make_ringnorm, make_threenorm, make_twonorm
from cvxens.estimators import AdaBoostClassifier, InfiniteEnsembleSVC, InfiniteEnsembleSVCCV, LPBoostClassifier
from cvxens.estimators.infinite_ensembles import PRICES, WIDTHS
from cvxens.experiments.experiment import Experiment, Source, error_of
from cvxens.experiments.record import Published
from cvxens.experiments.sources import Generated, Partitioned
from cvxens.types import Array
from cvxens.validation import RandomState

PROTOCOL = """\
Artificial sets: Breiman's generators, 300 samples to train on, 3,000 to test on; "-n": 10 % of the labels to train \
on are turned round. Real sets: 60 % of the samples to train on, at random, the others to test on. Features are mapped \
to [-1, 1] on the training part. Parameters have the best accuracy in 5-fold cross-validation on the training part, \
the first of equals: C = 2^-17, 2^-15, ..., 2^3, and for SVM-Dec (Laplacian kernel) gamma = 2^-15, 2^-13, ..., 2^3. \
The paper has 100 runs. Not known from the paper, and chosen here: the narrow class of ringnorm around 1/sqrt(20), as \
some packages have it, in place of Breiman's 2/sqrt(20), which makes every method better than the figures by four \
standard errors or more; the grids of SVM-Dec and of LPBoost-Stump (P4); breast without the column of sample numbers; \
votes84 with 0 for what is missing."""

CONFERENCE = "Lin & Li, ECML 2005, the conference version of LL08, 100 runs"

SOURCES = {"SVM-Stump": CONFERENCE, "SVM-Perc": "LL08, 100 runs", "AB-Stump(100)": CONFERENCE}

TOL = 1e-5


def near_ringnorm(n_samples: int, *, random_state: RandomState) -> tuple[Array, Array]:
    """Breiman's ringnorm with the narrow class around (a, ..., a), a = 1 / sqrt(20), half as far from the wide one."""
    X, y = make_ringnorm(n_samples, random_state=random_state)
    return X - (y[:, None] < 0) / np.sqrt(X.shape[1]), y


DATA: Mapping[str, Source] = {
    "twonorm": Generated(make_twonorm),
    "twonorm-n": Generated(make_twonorm, mislabelled=0.1),
    "threenorm": Generated(make_threenorm),
    "threenorm-n": Generated(make_threenorm, mislabelled=0.1),
    "ringnorm": Generated(near_ringnorm),
    "ringnorm-n": Generated(near_ringnorm, mislabelled=0.1),
    "australian": Partitioned("australian"),
    "breast": Partitioned("breast", without=(0,)),
    "german": Partitioned("german"),
    "heart": Partitioned("heart"),
    "ionosphere": Partitioned("ionosphere"),
    "pima": Partitioned("pima"),
    "sonar": Partitioned("sonar"),
    "votes84": Partitioned("votes84"),
}


def svm(kernel: str, _random_state: int) -> InfiniteEnsembleSVCCV:
    """LL08 Algorithm 1, C and gamma by cross-validation over the grids of the paper."""
    gammas = WIDTHS if kernel in {"laplacian", "gaussian"} else None
    return InfiniteEnsembleSVCCV(InfiniteEnsembleSVC(kernel, tol=TOL), Cs=PRICES, gammas=gammas)


def adaboost(n_rounds: int, random_state: int) -> AdaBoostClassifier:
    """AdaBoost of so many stumps."""
    return AdaBoostClassifier(n_rounds=n_rounds, random_state=random_state)


def lpboost(random_state: int) -> Any:
    """LL08 P4 over all stumps, C by cross-validation."""
    return GridSearchCV(LPBoostClassifier(random_state=random_state), {"C": PRICES}, cv=5)


METHODS = {
    "SVM-Stump": error_of(partial(svm, "stump")),
    "SVM-Perc": error_of(partial(svm, "perceptron")),
    "SVM-Dec": error_of(partial(svm, "laplacian")),
    "AB-Stump(100)": error_of(partial(adaboost, 100)),
    "AB-Stump(1000)": error_of(partial(adaboost, 1000)),
    "LPBoost-Stump": error_of(lpboost),
}

FIGURES = {
    "SVM-Stump": {
        "twonorm": (2.86, 0.04),
        "twonorm-n": (3.08, 0.06),
        "threenorm": (17.7, 0.10),
        "threenorm-n": (19.0, 0.14),
        "ringnorm": (3.97, 0.07),
        "ringnorm-n": (5.56, 0.11),
        "australian": (14.5, 0.21),
        "breast": (3.11, 0.08),
        "german": (24.7, 0.18),
        "heart": (16.4, 0.27),
        "ionosphere": (8.13, 0.17),
        "pima": (24.2, 0.23),
        "sonar": (16.6, 0.42),
        "votes84": (4.76, 0.14),
    },
    "SVM-Perc": {
        "twonorm": (2.55, 0.03),
        "twonorm-n": (2.75, 0.05),
        "threenorm": (14.6, 0.08),
        "threenorm-n": (16.3, 0.10),
        "ringnorm": (2.46, 0.04),
        "ringnorm-n": (3.50, 0.09),
        "australian": (14.5, 0.17),
        "breast": (3.23, 0.08),
        "german": (24.6, 0.20),
        "heart": (17.6, 0.31),
        "ionosphere": (6.40, 0.20),
        "pima": (23.5, 0.21),
        "sonar": (15.6, 0.40),
        "votes84": (4.43, 0.14),
    },
    "AB-Stump(100)": {
        "twonorm": (5.06, 0.06),
        "threenorm": (21.8, 0.09),
        "ringnorm": (12.2, 0.13),
        "australian": (14.7, 0.18),
        "breast": (4.27, 0.11),
        "german": (25.0, 0.18),
        "heart": (19.9, 0.36),
        "ionosphere": (11.0, 0.23),
        "pima": (24.8, 0.22),
        "sonar": (19.0, 0.37),
        "votes84": (4.07, 0.14),
    },
}
"""Mean and standard error, in percent."""

LL08_TABLE2 = Experiment(
    paper="ll08",
    table="table2",
    title="SVM over all stumps, perceptrons and trees against boosted stumps",
    measure="test error, %",
    protocol=PROTOCOL,
    data=DATA,
    methods=METHODS,
    published={
        (data, method): Published(*figure, SOURCES[method])
        for method, column in FIGURES.items()
        for data, figure in column.items()
    },
)
