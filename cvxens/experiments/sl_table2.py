"""SL Table II."""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import GridSearchCV

from cvxens.colgen.oracles import Fourier, Perceptrons
from cvxens.estimators import (
    AdaBoostClassifier,
    CGEnsClassifier,
    InfiniteEnsembleSVC,
    InfiniteEnsembleSVCCV,
    LPBoostClassifier,
)
from cvxens.estimators.infinite_ensembles import PRICES, WIDTHS
from cvxens.experiments import ll08, sl
from cvxens.experiments.experiment import Experiment
from cvxens.experiments.methods import ErrorOf, StagedCV

MOST = 500
"""Weak learners of CGEns."""

PAIRS = partial(Perceptrons, thresholds="sampled", columns_per_round=1)
"""The best of 2,000 pairs of a direction and a threshold."""

MACHINE = InfiniteEnsembleSVCCV(InfiniteEnsembleSVC("gaussian", tol=1e-5), Cs=ll08.LARGE_PRICES, gammas=WIDTHS)

EPSILON = 1e-3


class FourierCGEns(ClassifierMixin, BaseEstimator):
    """CGEns with cosines whose frequencies are drawn as the width of a machine says that is chosen beforehand.

    Parameters
    ----------
    machine : InfiniteEnsembleSVCCV
        Chooses gamma of the Gaussian kernel, 1/(2 sigma^2).
    Cs : sequence of float
        Prices of CGEns, chosen by 5-fold cross-validation.
    random_state : int, optional
        Seed.
    """

    def __init__(self, machine: Any, Cs: Any, random_state: Any = None) -> None:
        self.machine = machine
        self.Cs = Cs
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Choose the width, then C, then fit all samples (n_samples, n_features)."""
        gamma = clone(self.machine).fit(X, y).best_params_["gamma"]
        oracle = partial(Fourier, sigma=float(np.sqrt(1 / (2 * gamma))), columns_per_round=1)
        model = CGEnsClassifier(oracle=oracle, max_columns=MOST, min_edge=EPSILON, random_state=self.random_state)
        search = GridSearchCV(model, {"C": self.Cs}, cv=5).fit(X, y)
        self.best_estimator_, self.best_params_ = search.best_estimator_, {**search.best_params_, "gamma": gamma}
        self.cv_results_, self.refit_time_ = search.cv_results_, search.refit_time_
        self.classes_ = search.classes_
        return self

    def predict(self, X: Any) -> NDArray:
        """Classify samples (n_samples, n_features), as the best estimator does."""
        return self.best_estimator_.predict(X)


TABLE = Experiment(
    paper="sl",
    table="table2",
    title="cosines and perceptrons: CGEns against machines and boosting",
    protocol="""
The data of Table I. CGEns by Algorithm 1 as printed, with at most 500 weak learners, each the best of 2,000 drawn ones;
sigma is that of the machine, chosen with its C. All parameters by 5-fold cross-validation on the training part, the
first of equals. Chosen here, as the paper does not say it: C of boosting and CGEns among 0.0001, 0.001, ..., 10, those
of machines and gamma as LL08 has them, an epsilon of 0.001, 250 rounds or columns of boosting. RFF is not measured.
""",
    rows=sl.REALISED,
    columns={
        "SVM (Gaussian RBF kernel)": ErrorOf(MACHINE),
        "CGEns (Fourier)": ErrorOf(FourierCGEns(MACHINE, sl.PRICES)),
        "AdaBoost (perceptrons)": ErrorOf(StagedCV(AdaBoostClassifier(oracle=PAIRS), sl.ROUNDS)),
        "LPBoost (perceptrons)": ErrorOf(
            GridSearchCV(LPBoostClassifier(oracle=PAIRS, max_columns=250), {"C": sl.PRICES}, cv=5)
        ),
        "SVM (perceptron kernel)": ErrorOf(
            InfiniteEnsembleSVCCV(InfiniteEnsembleSVC("perceptron", tol=1e-5), Cs=PRICES)
        ),
        "CGEns (perceptrons)": ErrorOf(
            GridSearchCV(CGEnsClassifier(oracle=PAIRS, max_columns=MOST, min_edge=EPSILON), {"C": sl.PRICES}, cv=5)
        ),
    },
    other_data=sl.OTHER_REALISATIONS,
)
