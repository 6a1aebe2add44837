"""TK07 Figure 1: objectives as a plain loop has them."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from cvxens.datasets import make_twonorm
from cvxens.problems import RhoSVM
from reproduction import Generated, experiment_of
from reproduction.tk07 import find_width

TABLE = experiment_of("tk07", "figure1")
SPLIT = Generated(make_twonorm, 30, 2).open()(0, np.random.default_rng(0))


def plain(split, eta, n_updates):
    """Objectives of the rule a_i exp(eta (1 - (K~a)_i)), over its sum."""
    K = np.exp(-(cdist(split.X, split.X) ** 2) / find_width(split.X))
    signed, u, found = K * np.outer(split.y, split.y), np.full(len(split.y), 1 / len(split.y)), []
    for _ in range(n_updates):
        found.append(u @ signed @ u / u.sum() ** 2)
        u = u * np.exp(eta * (1 - signed @ u))
    return np.array(found)


def test_the_width_is_half_the_mean_squared_distance_of_pairs():
    assert find_width(SPLIT.X) == pytest.approx((cdist(SPLIT.X, SPLIT.X) ** 2).mean() / 2)


@pytest.mark.parametrize("eta", [0.005, 0.04])
def test_objectives_of_fixed_eta(eta):
    outcome = TABLE.columns[f"eta = {eta:g}"](SPLIT)
    expected = plain(SPLIT, eta, len(outcome.more["objective"]))
    np.testing.assert_allclose(outcome.more["objective"], expected, rtol=1e-3)
    assert outcome.value == pytest.approx(expected[-1], rel=1e-9)
    K = np.exp(-(cdist(SPLIT.X, SPLIT.X) ** 2) / find_width(SPLIT.X))
    assert outcome.proofs[0].primal == pytest.approx(RhoSVM(K, SPLIT.y).solve().objective, rel=1e-5)
