"""TK07 Figure 1: updates are counted as a plain loop counts them."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from cvxens.datasets import make_twonorm
from cvxens.experiments import Generated, experiment_of
from cvxens.experiments.catalogue import MOST_UPDATES
from cvxens.problems import RhoSVM

TABLE = experiment_of("tk07", "figure1")
SPLITS = [Generated(make_twonorm, 30, 2).open()(np.random.default_rng(seed)) for seed in range(3)]


def plain(split, eta):
    """Updates u_i exp(-eta (K~u)_i), normalised, until u'K~u is near the optimum that cvxpy finds."""
    D = cdist(split.X, split.X) ** 2
    K = np.exp(-D / D.mean())
    optimum = RhoSVM(K, split.y).solve().objective
    signed, u = K * np.outer(split.y, split.y), np.full(len(split.y), 1 / len(split.y))
    for count in range(MOST_UPDATES):
        if u @ signed @ u <= 1.01 * optimum:
            return count
        u = u * np.exp(-eta * (signed @ u))
        u /= u.sum()
    return MOST_UPDATES


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("eta", [0.1, 1.0, 10.0, 100.0])
def test_updates_of_fixed_eta_are_counted(split, eta):
    assert TABLE.methods[f"eta = {eta:g}"](split) == plain(split, eta)


@pytest.mark.parametrize("split", SPLITS)
def test_adaptive_updates_are_the_fewest(split):
    counts = {method: count(split) for method, count in TABLE.methods.items()}
    assert 0 < counts["adaptive"] == min(counts.values()) < 100


def test_labels_of_any_kind():
    split = SPLITS[0]
    words = type(split)(split.X, np.where(split.y > 0, "yes", "no"), split.X_test, split.y_test, 0)
    assert TABLE.methods["adaptive"](words) == TABLE.methods["adaptive"](split)
