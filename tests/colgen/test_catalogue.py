"""Formulations by their names in the field: each proven over all stumps, and equal to an enumeration in cvxpy."""

import cvxpy as cp
import numpy as np
import pytest
from brute_force import all_stumps, assert_optimum, noisy, solve_all

from cvxens.colgen import column_generation, formulations
from cvxens.colgen.oracles import Stumps

pytestmark = pytest.mark.filterwarnings("ignore::cvxens.errors.SolverFallbackWarning")

X, y = noisy(20, 2, seed=7)
H = all_stumps(X)
N = len(y)
RNG = np.random.default_rng(2)
T = X[:, 0] + 0.5 * RNG.normal(size=N)
COUNTS = RNG.poisson(np.exp(0.5 * T)).astype(float)
TIMES, EVENTS = RNG.permutation(N) // 2 + 1.0, RNG.uniform(size=N) < 0.7


def cox(f):
    terms = [cp.log_sum_exp(f[np.flatnonzero(TIMES[i] <= TIMES)]) - f[i] for i in range(N) if EVENTS[i]]
    return sum(terms[1:], terms[0])


CASES = {
    "least absolute deviations": (formulations.least_absolute_deviations(T), lambda f: cp.norm1(T - f)),
    "quantile": (formulations.quantile(T, 0.7), lambda f: cp.sum(cp.maximum(0.7 * (T - f), 0.3 * (f - T)))),
    "insensitive": (formulations.epsilon_insensitive(T, 0.3), lambda f: cp.sum(cp.pos(cp.abs(T - f) - 0.3))),
    "huber": (formulations.huber(T, 0.4), lambda f: cp.sum(cp.huber(T - f, 0.4)) / 2),
    "poisson": (
        formulations.poisson(COUNTS, 2.0),
        lambda f: 2 * cp.sum(cp.exp(f) - cp.multiply(COUNTS, f) + cp.rel_entr(COUNTS, 1) - COUNTS),
    ),
    "huberized": (formulations.huberized_hinge(0.6), lambda f: 0.3 * cp.sum(cp.huber(cp.pos(1 - cp.multiply(y, f))))),
    "worst": (
        formulations.worst_share(0.3, N, 40.0),
        lambda f: 40 * cp.sum_largest(cp.pos(1 - cp.multiply(y, f)), 6) / 6,
    ),
    "cox": (formulations.cox(TIMES, EVENTS), cox),
}
LABELLED = {"huberized", "worst"}


@pytest.mark.parametrize("name", CASES)
def test_each_is_proven_and_equal_to_an_enumeration(name):
    formulation, loss = CASES[name]
    optimum = solve_all(H, 1.0, loss, cp.norm1, intercept=formulation.intercept, tol=1e-10)
    run = assert_optimum(column_generation(formulation, Stumps(X), y if name in LABELLED else None, tol=1e-6), optimum)
    assert bool(run.weights.any())


@pytest.mark.parametrize("nu", [0.2, 0.5])
def test_one_class_is_the_largest_soft_minimum_of_scores(nu):
    signed = np.hstack([H, -H])
    inside = signed[:, np.ptp(signed, axis=0) > 0]
    a, rho = cp.Variable(inside.shape[1], nonneg=True), cp.Variable()
    slack = cp.sum(cp.pos(rho - inside @ a)) / (nu * N)
    optimum = cp.Problem(cp.Maximize(rho - slack), [cp.sum(a) == 1]).solve(solver="CLARABEL")
    assert_optimum(column_generation(formulations.one_class(1 / (nu * N)), Stumps(X, constant=False)), optimum)
