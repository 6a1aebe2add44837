"""A small sample of real data and independent means to judge the rows of its cross-check."""

from itertools import pairwise

import numpy as np
from sklearn.datasets import load_breast_cancer

from cvxens.crosscheck import Sample


def breast_cancer_sample(n_samples=120, n_features=6):
    data = load_breast_cancer()
    rows = np.random.default_rng(0).permutation(len(data.target))[:n_samples]
    return Sample.from_arrays(data.data[rows, :n_features], np.where(data.target[rows] == 1, 1.0, -1.0))


def every_cell(X):
    """One column sqrt(width / 2) sign per gap of a feature that varies, ends included: 2^-10 of the range at either."""
    beyond = np.ptp(X, axis=0) / 1024
    cuts = [np.r_[x.min() - beyond[d], np.unique(x), x.max() + beyond[d]] for d, x in enumerate(X.T) if beyond[d]]
    parts = zip(np.flatnonzero(beyond), cuts, strict=True)
    gaps = [(d, a, b) for d, of_feature in parts for a, b in pairwise(of_feature)]
    return np.stack([np.sqrt((b - a) / 2) * np.where(X[:, d] > (a + b) / 2, 1.0, -1.0) for d, a, b in gaps], axis=1)


def stump_kernel(X):
    return (1 + 2 / 1024) * np.ptp(X, axis=0).sum() / 2 - np.abs(X[:, None] - X).sum(axis=2)
