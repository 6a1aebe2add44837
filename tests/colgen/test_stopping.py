"""Runs that stop where a loss of samples held out no longer falls: what is kept, and what its certificate says."""

from itertools import count
from math import inf

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from cvxens.colgen import Ending, Formulation, StopEarly, column_generation, formulations, oracles
from cvxens.problems.losses import Logistic
from cvxens.problems.penalties import L1

FORMULATIONS = {
    "soft margin": formulations.soft_margin(C=3.0),
    "lpboost": formulations.lpboost(D=0.05),
    "logistic": Formulation(Logistic(5.0), L1(), intercept=True),
    "several scores": formulations.multiboost(0.5, np.random.default_rng(1).integers(0, 3, 40)),
}


def draw(seed, n_samples=40):
    """Labels that a part of the features says something of, and samples to hold out."""
    random = np.random.default_rng(seed)
    X = random.normal(size=(2 * n_samples, 4)).round(1)
    y = np.sign(X[:, 0] + random.normal(size=2 * n_samples) + 1e-9)
    return X[:n_samples], y[:n_samples], X[n_samples:], y[n_samples:]


def stop_early(X, y, **given):
    return StopEarly(X, lambda f: np.logaddexp(0, -y * (f if f.ndim == 1 else f[:, 0])).mean(), **given)


@pytest.mark.thinned(1, seed=range(3), name=FORMULATIONS)
def test_the_ensemble_of_the_least_loss_is_kept_with_its_certificate(name, seed):
    X, y, X_out, y_out = draw(seed)
    formulation = FORMULATIONS[name]
    y = None if formulation.on_scores else y
    told, early = [], stop_early(X_out, y_out, n_iter_no_change=2)
    # whoever wants to see the steps too calls one callback from another
    run = column_generation(formulation, oracles.Stumps(X), y, tol=1e-6, callback=lambda s: told.append(s) or early(s))
    kept = int(np.argmin(early.losses))
    assert len(told) == len(run.history) == len(early.losses)
    assert len(told) == kept + 3 if run.ending is Ending.STOPPED else len(told) < kept + 3
    assert_array_equal(run.weights, told[kept].incumbent.solution.w)
    assert_allclose(early.loss(run.decision_function(X_out)), min(early.losses))
    # its value is its own, its bound the best of the run, and the optimum is between
    certificate = run.certificate
    assert_allclose(certificate.primal, formulation.sense * told[kept].incumbent.solution.objective, rtol=1e-9)
    assert_allclose(certificate.dual, run.history[-1].bound, rtol=1e-9)
    optimum = column_generation(formulation, oracles.Stumps(X), y, tol=1e-8).certificate
    ends = sorted([formulation.sense * certificate.primal, formulation.sense * certificate.dual])
    assert certificate.proven
    assert ends[0] - 1e-6 <= formulation.sense * optimum.primal <= ends[1] + 1e-6
    # the same again, of the same object
    losses = list(early.losses)
    assert_array_equal(column_generation(formulation, oracles.Stumps(X), y, tol=1e-6, callback=early).u, run.u)
    assert early.losses == losses


def test_a_run_to_the_optimum_returns_what_is_kept():
    X, y, _, _ = draw(0)
    keep_second = column_generation(
        FORMULATIONS["soft margin"],
        oracles.Stumps(X),
        y,
        tol=1e-6,
        callback=lambda step: step if step.number == 2 else None,
    )
    assert keep_second.ending is Ending.OPTIMAL
    assert keep_second.history[-1].relative_gap <= 1e-6 < keep_second.certificate.relative_gap
    assert len(keep_second.weights) == keep_second.history[1].size


def test_where_the_loss_falls_to_the_end_the_optimum_is_kept():
    X, y, _, _ = draw(0)
    falling = count(0, -1)
    early = StopEarly(X, lambda _: next(falling), n_iter_no_change=1)
    run = column_generation(formulations.soft_margin(C=3.0), oracles.Stumps(X), y, tol=1e-6, callback=early)
    assert run.certificate.holds(1e-5)


def test_a_step_of_another_run_is_no_step_of_this_one():
    X, y, _, _ = draw(0)
    steps = []
    column_generation(FORMULATIONS["soft margin"], oracles.Stumps(X), y, callback=steps.append)
    run = column_generation(FORMULATIONS["soft margin"], oracles.Stumps(X + 1), y, callback=lambda _: steps[1])
    assert (run.ending, len(run.history)) == (Ending.STOPPED, 1)


def test_a_checkpoint_keeps_the_ensemble_of_the_least_loss(tmp_path):
    X, y, X_out, y_out = draw(1)
    score = stop_early(X_out, y_out).loss

    def run(callback, **limits):
        return column_generation(FORMULATIONS["logistic"], oracles.Stumps(X), y, callback=callback, tol=1e-6, **limits)

    whole = run(early := stop_early(X_out, y_out, n_iter_no_change=2))
    assert np.argmin(early.losses) < len(early.losses) - 1
    least = inf
    for n_rounds in (1, 2, 3, 1000, 1000):
        found = run(stop_early(X_out, y_out, n_iter_no_change=2), max_rounds=n_rounds, checkpoint=tmp_path / "run")
        loss = score(found.decision_function(X_out)) if found.columns else inf
        assert loss <= least * (1 + 1e-12)
        least = loss
    assert abs(least - min(early.losses)) <= 1e-2 * min(early.losses)
    assert found.certificate.dual <= whole.certificate.primal
