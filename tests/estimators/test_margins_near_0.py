"""LPBoost at a nu that data do not carry: a gap in units of margins, a model that predicts, and the nu that has one."""

import re
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from cvxens import CGEnsClassifier, LPBoostClassifier, certify
from cvxens.certificates import Certificate
from cvxens.colgen import Formulation, column_generation, formulations, oracles
from cvxens.colgen.loop import UNBOUNDED_ROUNDS
from cvxens.estimators.classifiers import _least_mean_hinge
from cvxens.problems import LPBoost, Problem
from cvxens.problems.losses import SoftMinimumMargin
from cvxens.problems.penalties import Simplex


def overlapping(n=300, seed=0):
    """Two classes on ten values of one feature, of which no ensemble of stumps gets more than two thirds right."""
    random = np.random.default_rng(seed)
    X = random.integers(0, 10, (n, 1)).astype(float)
    return X, np.where(random.random(n) < 0.3 + 0.04 * X[:, 0], 1, -1)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_nu_below_what_the_data_carry_is_named_and_the_model_predicts(seed):
    X, y = overlapping(seed=seed)
    with pytest.warns(ConvergenceWarning) as caught:
        model = LPBoostClassifier(nu=0.2).fit(X, y)
    message = " ".join(str(one.message) for one in caught)
    named = float(re.search(r"raise nu, as from ([0-9.]+) on there is one", message)[1])
    assert 0.2 < named < 1
    assert model.score(X, y) >= max((y == 1).mean(), (y == -1).mean())
    certificate = model.certificate_
    assert certificate.primal <= certificate.dual
    assert certificate.proven
    # there is a margin at the nu that was named
    carried = LPBoostClassifier(nu=min(1.0, named + 0.01)).fit(X, y).certificate_
    assert carried.primal > 0
    assert carried.holds(1e-3)


@pytest.mark.parametrize("columns", [1, 2, 5])
def test_under_limits_it_is_no_worse_than_a_constant(columns):
    random = np.random.default_rng(0)
    X = random.normal(size=(200, 4))
    y = np.where(X[:, 0] + 2 * random.normal(size=200) > 0.8, 1, -1)
    for nu in (0.05, 0.2):
        with pytest.warns(ConvergenceWarning):
            model = LPBoostClassifier(nu=nu, max_columns=columns).fit(X, y)
        assert model.score(X, y) >= max((y == 1).mean(), (y == -1).mean())
        used = [np.asarray(learner(X), float) for learner in model.weak_learners_]
        again = certify(LPBoost(np.column_stack(used), y, D=1 / (nu * 200)), a=model.weights_)
        assert_allclose(again.primal, model.certificate_.primal, rtol=1e-9, atol=1e-12)


def test_gaps_of_margins_near_0_are_in_units_of_margins():
    random = np.random.default_rng(1)
    H = np.where(random.random((40, 6)) < 0.5, 1.0, -1.0)
    y = np.where(random.random(40) < 0.5, 1.0, -1.0)
    for unit in (1e-3, 1.0, 50.0):
        certificate = certify(LPBoost(unit * H, y, D=1 / 8), a=np.ones(6))
        size = 0.1 * min(unit, 1.0)
        assert_allclose(certificate.size, size)
        larger = max(abs(certificate.primal), abs(certificate.dual), size)
        assert_allclose(certificate.relative_gap, certificate.gap / larger)
        run = column_generation(formulations.lpboost(1 / 8), oracles.Pool(unit * H), y)
        assert_allclose(run.certificate.size, size)
        assert_allclose(run.history[-1].relative_gap, run.certificate.relative_gap)
    assert Problem(formulations.soft_margin(1.0), H, y).size == 0
    assert Formulation(SoftMinimumMargin(1.0), Simplex(), nonnegative=True).find_size(3.0) == pytest.approx(0.1)


def test_what_a_gap_is_relative_to_is_printed_where_it_is_not_the_objective():
    options = {"maximise": True, "residuals": {}, "repair": {}, "rounding": 0.0}
    near_0 = Certificate.between(0.0, 0.0002, size=0.1, **options)
    assert "(relative to 0.1 0.002)" in str(near_0)
    assert "(relative 0.5)" in str(Certificate.between(0.2, 0.4, size=0.1, **options))


def test_the_least_mean_hinge_is_least():
    random = np.random.default_rng(0)
    for _ in range(50):
        z, weights = random.normal(0.3, 1.0, 12), random.dirichlet(np.ones(12))
        sizes = np.append(0.0, np.abs(1 / z))
        least = min(float(weights @ np.maximum(1 - t * z, 0)) for t in sizes)
        assert_allclose(_least_mean_hinge(z, weights), least, atol=1e-12)


RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(40, 3))
Y = np.where(X[:, 0] + 0.7 * RANDOM.normal(size=40) > 0, 1, -1)
WEIGHTS = RANDOM.uniform(0.5, 4.0, 40)


@pytest.mark.parametrize("scale", [1.0, 7.0, 0.01])
def test_prices_are_shares_of_the_sum_of_the_weights(scale):
    nu = 0.4
    fitted = LPBoostClassifier(nu=nu, tol=1e-6).fit(X, Y, sample_weight=scale * WEIGHTS)
    prices = WEIGHTS / (nu * WEIGHTS.sum())
    run = column_generation(formulations.lpboost(prices), oracles.Stumps(X), Y.astype(float), tol=1e-6)
    assert fitted.certificate_.primal == pytest.approx(run.certificate.primal, rel=1e-5)
    assert abs(WEIGHTS.mean() * scale - 1) > 0.1


def test_a_fit_over_an_oracle_without_a_bound_ends_and_says_so():
    oracle = partial(oracles.Perceptrons, n_directions=10, columns_per_round=1)
    with pytest.warns(ConvergenceWarning, match="max_rounds reached; .* the oracle proves no bound that could end it"):
        fitted = CGEnsClassifier(oracle=oracle, tol=1e-6, random_state=0).fit(X, Y)
    assert len(fitted.history_) == UNBOUNDED_ROUNDS
    assert not fitted.certificate_.proven
