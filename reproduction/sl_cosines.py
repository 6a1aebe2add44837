"""SL Table II: cosines and perceptrons."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.kernel_approximation import RBFSampler
from sklearn.metrics.pairwise import linear_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from cvxens.colgen.oracles import Fourier, Perceptrons
from cvxens.estimators import (
    AdaBoostClassifier,
    CGEnsClassifier,
    InfiniteEnsembleSVC,
    LPBoostClassifier,
)
from cvxens.types import Labels
from reproduction import ll08, sl
from reproduction.experiment import Experiment
from reproduction.methods import ErrorOf, StagedCV

MOST = 500
"""Weak learners of CGEns."""

PAIRS = partial(Perceptrons, thresholds="sampled", columns_per_round=1)
"""The best of 2,000 pairs of a direction and a threshold."""

MACHINE = ll08.search_machine(InfiniteEnsembleSVC("gaussian", tol=1e-5), ll08.LARGE_PRICES, ll08.WIDTHS)

EPSILON = 1e-3


class OfWidth(ClassifierMixin, BaseEstimator):
    """A classifier on cosines whose frequencies are drawn as the width of a machine says, which is chosen beforehand.

    Parameters
    ----------
    machine : PriceSearchCV
        Chooses gamma of the Gaussian kernel, 1/(2 sigma^2).
    make : callable
        Makes the classifier from gamma and a seed; what it chooses, it chooses by itself.
    random_state : int, optional
        Seed.
    """

    def __init__(self, machine: Any, make: Callable[[float, Any], Any], random_state: Any = None) -> None:
        self.machine = machine
        self.make = make
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Choose the width, then fit all samples (n_samples, n_features)."""
        gamma = clone(self.machine).fit(X, y).best_params_["gamma"]
        self.model_ = self.make(gamma, self.random_state).fit(X, y)
        search = getattr(self.model_, "steps", [("", self.model_)])[-1][1]
        self.best_params_ = {**search.best_params_, "gamma": gamma}
        self.cv_results_: dict[str, Any] = {}
        self.refit_time_, self.certificate_ = search.refit_time_, search.best_estimator_.certificate_
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X: Any) -> Labels:
        """Classify samples (n_samples, n_features), as the classifier does."""
        return self.model_.predict(X)


def make_cgens(gamma: float, random_state: Any) -> Any:
    """Make CGEns on cosines, each the best of 2,000 drawn ones, C by 5-fold cross-validation."""
    oracle = partial(Fourier, sigma=float(np.sqrt(1 / (2 * gamma))), columns_per_round=1)
    model = CGEnsClassifier(oracle=oracle, max_columns=MOST, min_edge=EPSILON, random_state=random_state)
    return GridSearchCV(model, {"C": sl.PRICES}, cv=5)


def make_machine_of_cosines(gamma: float, random_state: Any) -> Any:
    """Make the SVM on 2,000 cosines as they are drawn, C by 5-fold cross-validation (Rahimi & Recht 2007)."""
    cosines = RBFSampler(gamma=gamma, n_components=2000, random_state=random_state)
    machine = InfiniteEnsembleSVC(linear_kernel, tol=1e-5)
    return make_pipeline(cosines, ll08.search_machine(machine, ll08.LARGE_PRICES))


TABLES = (
    Experiment(
        paper="sl",
        table="table2",
        title="cosines and perceptrons: CGEns against machines and boosting",
        protocol="""
The data of Table I. CGEns by Algorithm 1 as printed, with at most 500 weak learners, each the best of 2,000 drawn ones;
sigma is that of the machine, chosen with its C. All parameters by 5-fold cross-validation on the training part, the
first of equals. Chosen here, as the paper does not say it: C of boosting and CGEns among 0.0001, 0.001, ..., 10, those
of machines and gamma as LL08 has them, an epsilon of 0.001, 250 columns of LPBoost. RFF is the linear SVM on 2,000
cosines with the sigma of the machine.
""",
        rows=sl.REALISED,
        columns={
            "SVM (Gaussian RBF kernel)": ErrorOf(MACHINE),
            "RFF (Fourier)": ErrorOf(OfWidth(MACHINE, make_machine_of_cosines)),
            "CGEns (Fourier)": ErrorOf(OfWidth(MACHINE, make_cgens)),
            "AdaBoost (perceptrons)": ErrorOf(StagedCV(AdaBoostClassifier(oracle=PAIRS), sl.ROUNDS)),
            "LPBoost (perceptrons)": ErrorOf(
                GridSearchCV(LPBoostClassifier(oracle=PAIRS, max_columns=250), {"C": sl.PRICES}, cv=5)
            ),
            "SVM (perceptron kernel)": ErrorOf(
                ll08.search_machine(InfiniteEnsembleSVC("perceptron", tol=1e-5), ll08.PRICES)
            ),
            "CGEns (perceptrons)": ErrorOf(
                GridSearchCV(CGEnsClassifier(oracle=PAIRS, max_columns=MOST, min_edge=EPSILON), {"C": sl.PRICES}, cv=5)
            ),
        },
        other_data=sl.OTHER_REALISATIONS,
    ),
)
