"""Every kernel, made for a sample within whose ranges it is."""

import numpy as np
from sklearn.ensemble import RandomForestRegressor

from cvxens import kernels
from reproduction.ll08_checks import print_regions


def box(X):
    """Ranges a bit wider than the sample's, and not by as much everywhere."""
    low, high = X.min(axis=0), X.max(axis=0)
    return low - 0.25 * (high - low), high + 0.5 * (high - low)


def stump(X):
    return kernels.Stump(*box(X))


def perceptron(X):
    return kernels.Perceptron(1.5 * float(np.sqrt((X**2).sum(axis=1)).max()), X.shape[1])


def trees(X, share):
    """With gamma the given share of 1 / Delta_S."""
    return kernels.DecisionTree(share / stump(X).total_mass(), *box(X))


def forest(X):
    y = np.sin(X @ np.arange(1.0, X.shape[1] + 1))
    return RandomForestRegressor(n_estimators=4, max_leaf_nodes=6, random_state=0).fit(X, y)


def covariance(X):
    d = X.shape[1]
    return np.eye(d) + 0.5 * np.ones((d, d))


EMBODYING = {
    "stump": stump,
    "perceptron": perceptron,
    "middle stump": kernels.MiddleStump,
    "decision stump": lambda X: kernels.DecisionStump(*box(X)),
    "histogram intersection": lambda X: kernels.HistogramIntersection(2 * X.max(axis=0) + 1),
    "regions of level 1": lambda X: kernels.StumpRegion(1, *box(X)),
    "regions of level 2": lambda X: kernels.StumpRegion(2, *box(X)),
    "regions of level 3": lambda X: kernels.StumpRegion(3, *box(X)),
    "regions of level 3, printed": lambda X: print_regions(3, stump(X)),
    "regions of level 3, of stumps": lambda X: kernels.and_(kernels.and_(stump(X), stump(X)), stump(X)),
    "decision trees": lambda X: trees(X, 0.5),
    "decision trees, large gamma": lambda X: trees(X, 0.99),
    "decision trees beyond Theorem 18": lambda X: trees(X, 1.7),
    "Laplacian": lambda X: kernels.Laplacian(0.7, X.shape[1]),
    "Gaussian": lambda X: kernels.Gaussian(0.4, X.shape[1]),
    "weak learners": lambda X: kernels.WeakLearner(stump(X).sample(9, 3), np.arange(9.0)),
    "linear": lambda X: kernels.Linear(covariance(X)),
    "same leaf": lambda X: kernels.TreeEnsemble(forest(X), "leaf"),
    "common depth": lambda X: kernels.TreeEnsemble(forest(X), "depth"),
    "common ancestors": lambda X: kernels.TreeEnsemble(forest(X), "ancestors"),
    "sum": lambda X: stump(X) + 3.0 * perceptron(X),
    "product": lambda X: stump(X) * kernels.MiddleStump(X),
    "product of a sum": lambda X: (stump(X) + perceptron(X)) * stump(X) * perceptron(X),
    "multiple": lambda X: 0.25 * stump(X),
    "and": lambda X: kernels.and_(stump(X), 2.0 * perceptron(X)),
    "or": lambda X: kernels.or_(kernels.and_(stump(X), stump(X)), perceptron(X) * stump(X)),
}

SIMPLIFIED = {
    "simplified stump": lambda X: kernels.SimplifiedStump(),
    "simplified stump with scales": lambda X: kernels.SimplifiedStump(np.arange(1.0, X.shape[1] + 1)),
    "simplified perceptron": lambda X: kernels.SimplifiedPerceptron(),
    "simplified Laplacian": lambda X: kernels.SimplifiedLaplacian(0.7),
    "simplified Gaussian": lambda X: kernels.SimplifiedGaussian(0.4),
}

EVERY = EMBODYING | SIMPLIFIED
