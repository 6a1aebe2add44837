"""Models of hazards: against all stumps at once in cvxpy, and by the conventions of survival analysis."""

import cvxpy as cp
import numpy as np
import pytest
from brute_force import all_stumps
from estimator_samples import assert_optimal
from numpy.testing import assert_allclose, assert_array_equal

from cvxens import ColumnGenerationSurvival, Monotone
from cvxens.colgen import Formulation, column_generation, oracles
from cvxens.errors import InvalidInput
from cvxens.estimators.survival import find_concordance
from cvxens.problems.penalties import SquaredL2
from cvxens.problems.survival_losses import CoxPartialLikelihood

RANDOM = np.random.default_rng(0)
X = RANDOM.integers(0, 6, (30, 2)).astype(float)
TIMES = np.ceil(8 * RANDOM.exponential(np.exp(1 - X[:, 0] / 2))) / 4
EVENTS = RANDOM.random(30) < 0.7
NEW = RANDOM.uniform(-1, 7, (50, 2))


def records(events, times):
    """Events and times as scikit-survival has them."""
    y = np.empty(len(times), dtype=[("event", bool), ("time", float)])
    y["event"], y["time"] = events, times
    return y


Y = records(EVENTS, TIMES)


def cox(f, weights):
    """The partial likelihood by its definition, one event after the other."""
    risks = [cp.log_sum_exp(f[TIMES[i] <= TIMES] + np.log(weights[TIMES[i] <= TIMES])) for i in np.flatnonzero(EVENTS)]
    return weights[EVENTS] @ (cp.hstack(risks) - f[EVENTS])


@pytest.mark.parametrize("penalty", ["l1", "l2"])
def test_the_optimum_is_that_over_all_stumps(penalty):
    model = ColumnGenerationSurvival(C=0.4, penalty=penalty, tol=1e-7).fit(X, Y)
    H = all_stumps(X)[:, :-1]
    w = cp.Variable(H.shape[1])
    paid = cp.norm1(w) if penalty == "l1" else cp.sum_squares(w) / 2
    optimum = cp.Problem(cp.Minimize(0.4 * cox(H @ w, np.ones(30)) + paid)).solve(solver="CLARABEL")
    assert_optimal(model.certificate_, optimum, tol=1e-7, rel=1e-6)
    assert_allclose(np.ptp(model.predict(X) - H @ w.value), 0, atol=1e-3)


def test_weights_are_repetitions_and_the_order_of_samples_does_not_matter():
    weights = np.arange(30) % 3
    weighted = ColumnGenerationSurvival(tol=1e-8).fit(X, Y, weights)
    repeated = ColumnGenerationSurvival(tol=1e-8).fit(np.repeat(X, weights, axis=0)[::-1], np.repeat(Y, weights)[::-1])
    assert_allclose(weighted.predict(NEW), repeated.predict(NEW), rtol=1e-9)
    assert_allclose(weighted.cumulative_hazard_, repeated.cumulative_hazard_, rtol=1e-9)
    assert not weighted.dual_weights_[weights == 0].any()


def test_a_linear_model_is_that_of_maximum_likelihood():
    pool = oracles.Pool(X / 5)
    loss = CoxPartialLikelihood(TIMES, EVENTS)
    run = column_generation(Formulation(loss, SquaredL2(0.1)), pool, tol=1e-9)
    w = cp.Variable(2)
    optimum = cp.Problem(cp.Minimize(cox(X / 5 @ w, np.ones(30)) + 0.05 * cp.sum_squares(w))).solve(solver="CLARABEL")
    assert run.certificate.proven
    assert run.certificate.primal == pytest.approx(optimum, rel=1e-8)
    assert_allclose(run.decision_function(X / 5), X / 5 @ w.value, atol=1e-3)


def test_hazards_and_survival_are_those_of_breslow():
    model = ColumnGenerationSurvival(tol=1e-6).fit(X, Y)
    f = model.predict(X)
    expected = [
        sum(1 / np.exp(f[TIMES[i] <= TIMES]).sum() for i in np.flatnonzero(EVENTS) if TIMES[i] <= t)
        for t in np.unique(TIMES)
    ]
    assert_array_equal(model.unique_times_, np.unique(TIMES))
    assert_allclose(model.cumulative_hazard_, expected, rtol=1e-12)
    # as many events as the samples expect, and residuals that add up to 0
    places = np.searchsorted(model.unique_times_, TIMES)
    assert (np.exp(f) * model.cumulative_hazard_[places]).sum() == pytest.approx(EVENTS.sum())
    assert abs(model.dual_weights_.sum()) < 1e-15
    hazard, survival = model.predict_cumulative_hazard_function(X[:1]), model.predict_survival_function(X[:1])
    for t in (0.0, 0.1, model.unique_times_[3], model.unique_times_[-1]):
        assert float(survival[0](t)) == pytest.approx(np.exp(-float(hazard[0](t))))
    assert_array_equal(survival[0](model.unique_times_), model.predict_survival_function(X[:1], return_array=True)[0])
    for t in (-1.0, 1e3):
        with pytest.raises(InvalidInput, match=r"^t: "):
            survival[0](t)


def test_the_concordance_index_counts_comparable_pairs():
    scores = RANDOM.integers(0, 5, 30).astype(float)
    won, pairs = 0.0, 0
    for i in np.flatnonzero(EVENTS):
        for j in range(30):
            if TIMES[i] < TIMES[j] or (TIMES[i] == TIMES[j] and not EVENTS[j]):
                won += (scores[i] > scores[j]) + (scores[i] == scores[j]) / 2
                pairs += 1
    assert find_concordance(EVENTS, TIMES, scores) == pytest.approx(won / pairs)
    model = ColumnGenerationSurvival().fit(X, TIMES)
    assert model.score(X, TIMES) == pytest.approx(find_concordance(np.ones(30, bool), TIMES, model.predict(X)))


def test_monotone_risks_rise_and_are_certified():
    model = ColumnGenerationSurvival(constraints=[Monotone({0: 1})]).fit(X, Y)
    assert (np.diff(model.predict(np.column_stack([np.linspace(-1, 7, 50), np.ones(50)]))) >= 0).all()
    assert model.price_of_constraints_[0] >= 0
    assert model.certify(X, Y).holds(1e-3)
    assert model.certify(X, records(EVENTS, TIMES[::-1])).relative_gap > 1e-3


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (records(np.zeros(30, bool), TIMES), "^y: .*no event"),
        (records(EVENTS, TIMES)[["time", "event"]], "^y: .*first a bool"),
        *((y, "^y: .*give times of 0 or above") for y in (records(EVENTS, -TIMES), -TIMES)),
        (np.column_stack([EVENTS, TIMES]), "^y: found shape .*first a bool"),
    ],
)
def test_times_that_are_none_are_refused(y, words):
    with pytest.raises(InvalidInput, match=words):
        ColumnGenerationSurvival().fit(X, y)
