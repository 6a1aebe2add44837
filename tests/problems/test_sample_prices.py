"""Prices of their own for samples: a price of k is as good as the sample k times."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cvxens.colgen import Formulation, column_generation, formulations
from cvxens.colgen.masters import CvxpyMaster, HighsMaster, InteriorPointMaster, NewtonMaster
from cvxens.colgen.oracles import Stumps
from cvxens.errors import InvalidInput
from cvxens.problems.losses import EntropicMinimumMargin, Exponential, Hinge, Logistic, SoftMinimumMargin, SquaredHinge
from cvxens.problems.penalties import L1, SquaredL2

LOSSES = {
    **{kind.__name__: kind for kind in (Exponential, Hinge, Logistic, SoftMinimumMargin, SquaredHinge)},
    **{f"entropic, {eta}": partial(EntropicMinimumMargin, eta=eta) for eta in (0.1, 5.0, 500.0)},
}
SMOOTH = [Exponential, Logistic, SquaredHinge]
LABELS = np.array([1.0, -1, 1, -1, -1, 1, 1, -1])
counts = st.lists(st.integers(1, 4), min_size=8, max_size=8).map(np.array)
scores = st.lists(st.floats(-3, 3), min_size=8, max_size=8).map(np.array)


@pytest.mark.parametrize("loss", LOSSES.values(), ids=LOSSES)
@given(counts, scores)
def test_values_and_slopes_are_those_of_repeated_samples(loss, times, z):
    weighted, repeated = loss(0.3 * times), loss(0.3)
    again = np.repeat(z, times)
    assert weighted.value(z) == pytest.approx(repeated.value(again), rel=1e-12, abs=1e-12)
    u = weighted.repair(weighted.multipliers(z), LABELS)
    shared = np.repeat(u / times, times)
    assert weighted.dual_value(u) == pytest.approx(repeated.dual_value(shared), rel=1e-9, abs=1e-9)
    assert weighted.violation(u) == pytest.approx(repeated.violation(shared), abs=1e-12)
    assert weighted.slackness(z, u) == pytest.approx(repeated.slackness(again, shared), rel=1e-9)
    b, bs = weighted.best_intercept(z, LABELS), repeated.best_intercept(again, np.repeat(LABELS, times))
    assert weighted.value(LABELS * (z + b)) == pytest.approx(weighted.value(LABELS * (z + bs)), rel=1e-9, abs=1e-9)


X = np.random.default_rng(3).normal(size=(8, 3)).round(1)
FAST = [
    (HighsMaster, formulations.soft_margin),
    (HighsMaster, formulations.lpboost),
    (InteriorPointMaster, formulations.soft_margin),
    (InteriorPointMaster, lambda C: Formulation(Hinge(C), L1(0.7), intercept=True)),
    (NewtonMaster, formulations.svm),
    (NewtonMaster, lambda C: Formulation(Hinge(C), SquaredL2(0.7))),
    *((NewtonMaster, lambda C, loss=loss: Formulation(loss(C), SquaredL2(0.7), intercept=True)) for loss in SMOOTH),
]


@pytest.mark.thinned(1)
@pytest.mark.parametrize(("master", "formulation"), FAST)
@pytest.mark.parametrize("spread", [1.0, 100.0])
@pytest.mark.filterwarnings("ignore::cvxens.errors.SolverFallbackWarning")
def test_fast_masters_agree_with_the_reference(master, formulation, spread):
    rng = np.random.default_rng(5)
    X, prices = rng.normal(size=(40, 3)).round(1), 0.1 * spread ** rng.uniform(-0.5, 0.5, 40)
    y = np.where(X[:, 0] + rng.normal(size=40) > 0, 1.0, -1.0)
    fast, reference = (
        column_generation(formulation(prices), Stumps(X), y, tol=1e-6, master=master)
        for master in (master, CvxpyMaster)
    )
    assert fast.certificate.holds(1e-5)
    assert fast.certificate.primal == pytest.approx(reference.certificate.primal, rel=1e-5)


def test_prices_for_another_number_of_samples():
    with pytest.raises(InvalidInput, match="found one that holds 7 targets or prices, for 8 samples"):
        column_generation(formulations.soft_margin(np.ones(7)), Stumps(X), LABELS)
