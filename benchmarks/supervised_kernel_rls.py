"""Experts with the kernel of a forest (TT06) beside that forest, and kernel ridge regression with a Gaussian kernel.

Five-fold cross-validation on the same folds, stratified for classes: accuracy, or R^2 of a regression; seconds of a fit
and of a prediction, means over the folds, one thread each; ratios are to the forest. The Gaussian kernel gets
standardised features, and the width and penalty that are best on all data, a search that is not in its time; ours has
its defaults. "gap" is the largest relative gap of an expert over all folds, "residual" that of its linear system
relative to the targets, "+-" the standard error of the mean over the folds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from cvxens import SupervisedKernelRLSClassifier, SupervisedKernelRLSRegressor
from cvxens.datasets import load

NAMES = ("sonar", "vehicle", "german")
GRID = {"gamma": [0.003, 0.01, 0.03, 0.1, 0.3], "alpha": [0.01, 0.1, 1.0]}


class KernelRidgeClassifier(ClassifierMixin, BaseEstimator):
    """Kernel ridge regression of 0/1 targets, one per class, with a Gaussian kernel."""

    def __init__(self, gamma: float = 0.1, alpha: float = 1.0) -> None:
        self.gamma = gamma
        self.alpha = alpha

    def fit(self, X: NDArray, y: NDArray) -> KernelRidgeClassifier:
        """Solve for all classes."""
        self.classes_ = np.unique(y)
        targets = (y[:, None] == self.classes_).astype(float)
        self.ridge_ = KernelRidge(kernel="rbf", gamma=self.gamma, alpha=self.alpha).fit(X, targets)
        return self

    def predict(self, X: NDArray) -> NDArray:
        """Return the class of the largest value."""
        return self.classes_[self.ridge_.predict(X).argmax(axis=1)]


def compare(name: str, X: NDArray, y: NDArray, folds: Any, ways: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a row for every way; the first is what times are compared with."""
    base = None
    for way, estimator in ways.items():
        found = cross_validate(estimator, X, y, cv=folds, return_estimator=True)
        base = base or found["fit_time"].mean()
        proofs = [model.certificate_ for model in found["estimator"] if hasattr(model, "certificate_")]
        yield {
            "data": f"{name}, {X.shape[0]} x {X.shape[1]}",
            "way": way,
            "score": float(found["test_score"].mean()),
            "+-": float(found["test_score"].std(ddof=1) / np.sqrt(len(found["test_score"]))),
            "fit s": float(found["fit_time"].mean()),
            "ratio": float(found["fit_time"].mean() / base),
            "predict s": float(found["score_time"].mean()),
            "gap": max((proof.relative_gap for proof in proofs), default=""),
            "residual": max((proof.kkt_residual for proof in proofs), default=""),
        }


def tune(estimator: Any, X: NDArray, y: NDArray) -> Any:
    """Return a pipeline with the width and the penalty that are best on all data."""
    pipeline = make_pipeline(StandardScaler(), estimator)
    prefix = type(estimator).__name__.lower()
    grid = {f"{prefix}__{name}": values for name, values in GRID.items()}
    return clone(GridSearchCV(pipeline, grid, cv=3).fit(X, y).best_estimator_)


def compare_classifiers(name: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a set of classes."""
    data = load(name)
    X, y = np.asarray(data.X, float), data.y
    ours = SupervisedKernelRLSClassifier(random_state=0)
    ways = {
        "random forest": RandomForestClassifier(random_state=0),
        "experts, depth": ours,
        "experts, leaf": clone(ours).set_params(kernel="leaf"),
        "kernel ridge, Gaussian": tune(KernelRidgeClassifier(), X, y),
    }
    return compare(name, X, y, StratifiedKFold(5, shuffle=True, random_state=0), ways)


def compare_regressors() -> Iterator[dict[str, Any]]:
    """Yield the rows of Friedman's first function with noise."""
    X, y = make_friedman1(500, noise=1.0, random_state=0)
    ours = SupervisedKernelRLSRegressor(random_state=0)
    ways = {
        "random forest": RandomForestRegressor(random_state=0),
        "experts, depth": ours,
        "experts, leaf": clone(ours).set_params(kernel="leaf"),
        "kernel ridge, Gaussian": tune(KernelRidge(kernel="rbf"), X, y),
    }
    return compare("friedman1 (R^2)", X, y, KFold(5, shuffle=True, random_state=0), ways)


def run() -> Iterator[dict[str, Any]]:
    """Yield a row for every data set and way."""
    with threadpool_limits(1, "blas"):
        for name in NAMES:
            yield from compare_classifiers(name)
        yield from compare_regressors()
