"""LPBoost's prices are shares of the sum of the sample weights; fits over oracles without a bound end and say so."""

from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from cvxens import CGEnsClassifier, LPBoostClassifier
from cvxens.colgen import column_generation, formulations
from cvxens.colgen.loop import UNBOUNDED_ROUNDS
from cvxens.colgen.oracles import Perceptrons, Stumps

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
y = np.where(X[:, 0] + 0.7 * RNG.normal(size=40) > 0, 1, -1)
WEIGHTS = RNG.uniform(0.5, 4.0, 40)


@pytest.mark.parametrize("scale", [1.0, 7.0, 0.01])
def test_prices_are_shares_of_the_sum_of_the_weights(scale):
    nu = 0.4
    fitted = LPBoostClassifier(nu=nu, tol=1e-6).fit(X, y, sample_weight=scale * WEIGHTS)
    prices = WEIGHTS / (nu * WEIGHTS.sum())
    run = column_generation(formulations.lpboost(prices), Stumps(X), y.astype(float), tol=1e-6)
    assert fitted.certificate_.primal == pytest.approx(run.certificate.primal, rel=1e-5)
    assert abs(WEIGHTS.mean() * scale - 1) > 0.1


def test_a_fit_over_an_oracle_without_a_bound_ends_and_says_so():
    oracle = partial(Perceptrons, n_directions=10, columns_per_round=1)
    with pytest.warns(ConvergenceWarning, match="max_rounds reached; .* the oracle proves no bound that could end it"):
        fitted = CGEnsClassifier(oracle=oracle, tol=1e-6, random_state=0).fit(X, y)
    assert len(fitted.history_) == UNBOUNDED_ROUNDS
    assert not fitted.certificate_.proven
