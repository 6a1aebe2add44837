"""Coupled, kinked and row-wise penalties over all stumps: proven, and equal to all columns solved at once by cvxpy."""

import cvxpy as cp
import numpy as np
import pytest
from brute_force import all_stumps, assert_optimum, assert_over_all, noisy, solve_all

from cvxens.colgen import Ending, Formulation, column_generation
from cvxens.colgen.oracles import Pool, Stumps
from cvxens.errors import InvalidInput
from cvxens.problems.losses import Logistic, SquaredError
from cvxens.problems.penalties import RowNorms

pytestmark = pytest.mark.filterwarnings("ignore::cvxens.errors.SolverFallbackWarning")

X, y = noisy(30, 3, seed=1)
H = all_stumps(X)


def test_the_price_at_a_kink_of_a_coupled_penalty_is_its_multiplier():
    X = np.array([[3.0, 1], [0, 1], [1, 3], [1, 0], [1, 2], [3, 2], [3, 0], [3, 0]])
    y = np.array([-1.0, 1] * 4)
    run = column_generation(Formulation(Logistic(1.0), PENALTIES["kinked"]), Stumps(X), y)
    assert_optimum(run, 5.293130, rel=2e-7)


PENALTIES = {
    "kinked": lambda w: 0.1 * cp.norm1(w) + 10 * cp.pos(cp.norm1(w) - 0.3),
    "squared norm": lambda w: cp.square(cp.norm1(w)) / 2,
    "elastic net in a budget": lambda w: (
        0.2 * cp.norm1(w) + 0.1 * cp.sum_squares(w) + cp.transforms.indicator([cp.norm1(w) <= 1])
    ),
    "box": lambda w: 0.4 * cp.norm1(w) + cp.transforms.indicator([cp.abs(w) <= 0.3]),
    "huber": lambda w: cp.sum(cp.huber(w, 0.1)),
    "norm 2": lambda w: 2 * cp.norm2(w),
    "ball": lambda w: [0.2 * cp.sum_squares(w), cp.norm2(w) <= 0.3],
}
SUMS = {
    "soft equality": lambda w: 4 * cp.square(cp.sum(w) - 0.5),
    "budget": lambda w: [0.5 * cp.sum_squares(w), cp.sum(w) <= 0.4],
}


@pytest.mark.thinned(1)
@pytest.mark.parametrize(
    ("name", "nonnegative", "intercept"),
    [*((name, side, True) for name in PENALTIES for side in (False, True)), *((name, True, False) for name in SUMS)],
)
def test_an_expression_is_proven_over_all_stumps(name, nonnegative, intercept):
    """Weights of one sign may have a sum that is wanted, too."""
    penalty = (PENALTIES | SUMS)[name]
    formulation = Formulation(Logistic(1.0), penalty, intercept=intercept, nonnegative=nonnegative)
    run = assert_over_all(formulation, Stumps(X), y)
    assert run.ending is Ending.OPTIMAL
    assert run.certificate.residuals["stationarity"] < 1e-4


def perspective(w):
    level = cp.Variable(nonneg=True)
    return 0.5 * cp.norm1(w) + cp.quad_over_lin(w, level + 0.1) + level


PRICED = {
    "norm 2": lambda w: cp.norm1(w) / 2 + cp.norm2(w),
    "norm 3": lambda w: cp.norm1(w) / 2 + cp.pnorm(w, 3),
    "ball": lambda w: [cp.norm1(w) / 2, cp.norm2(w) <= 0.3],
    "largest": lambda w: cp.norm1(w) / 2 + cp.sum_largest(cp.abs(w), 2) + cp.norm2(w),
    "own variable": perspective,
}


@pytest.mark.thinned(1)
@pytest.mark.parametrize(("name", "nonnegative"), [(name, side) for name in PRICED for side in (False, True)])
def test_what_a_norm_of_weights_stands_beside_is_proven(name, nonnegative):
    formulation = Formulation(Logistic(1.0), PRICED[name], intercept=True, nonnegative=nonnegative)
    if name == "own variable" and nonnegative:
        assert not formulation.has_conjugate
        return
    assert assert_over_all(formulation, Stumps(X), y, rel=2e-6).ending is Ending.OPTIMAL


ROWS = {
    "trace norm": lambda W: cp.normNuc(W) + cp.sum(cp.norm(W, 2, axis=1)),
    "singular value": lambda W: 2 * cp.sigma_max(W) + cp.sum(cp.abs(W)) / 2,
    "sparse rows": lambda W: cp.sum(cp.norm(W, 2, axis=1)) + cp.sum(cp.abs(W)) / 2,
    "rows and maxima": lambda W: cp.sum(cp.norm(W, 2, axis=1)) + cp.sum(cp.norm(W, "inf", axis=1)),
}


@pytest.mark.parametrize("name", ROWS)
def test_what_norms_of_rows_stand_beside_is_proven(name):
    L = np.random.default_rng(0).normal(size=(len(y), 2)) + y[:, None]
    formulation = Formulation(lambda F: cp.sum_squares(L - F) / 4, ROWS[name], outputs=2, intercept=True)
    assert assert_over_all(formulation, Stumps(X[:, :1])).ending is Ending.OPTIMAL


def test_rows_of_weights_are_priced_by_the_dual_norm_of_their_edges():
    X, L = np.arange(4.0)[:, None], np.array([[1.0, 0], [0, 1], [-1, 0], [0, -1]])
    for penalty in (lambda W: 2.2 * cp.sum(cp.norm(W, 2, axis=1)), RowNorms(2.2)):
        run = column_generation(Formulation(SquaredError(1.0, L), penalty, outputs=2), Stumps(X))
        assert_optimum(run, 1.950635, rel=5e-7)


@pytest.mark.parametrize("oracle", [Stumps(X), Pool(H)], ids=["stumps", "pool"])
@pytest.mark.parametrize(("norm", "nonnegative"), [(1, False), (2, False), (np.inf, False), (1, True)])
def test_every_norm_of_rows_is_proven(norm, nonnegative, oracle):
    L = np.random.default_rng(0).normal(size=(len(y), 3)) + y[:, None]
    order = "inf" if norm == np.inf else norm

    def express(W):
        return 3.0 * cp.sum(cp.norm(W, order, axis=1))

    formulation = Formulation(SquaredError(0.5, L), RowNorms(3.0, norm), outputs=3, nonnegative=nonnegative)
    squares = lambda z: 0.25 * cp.sum_squares(L - z)  # noqa: E731
    optimum = solve_all(H, 1.0, squares, express, outputs=(3,), nonnegative=nonnegative, both=nonnegative)
    run = assert_optimum(column_generation(formulation, oracle), optimum)
    assert run.certificate.residuals["stationarity"] < 1e-4


@pytest.mark.parametrize(
    ("penalty", "found"),
    [
        (lambda w: cp.sum(cp.multiply(np.arange(1.0, w.shape[0] + 1), cp.abs(w))), "change places"),
        (lambda w: cp.sum(cp.pos(w)), "change their signs"),
        (lambda w: cp.norm1(w) / w.shape[0], "are joined by a weight of 0"),
        (lambda w: cp.norm1(cp.multiply(np.ones(7), w)), "cannot be evaluated|at every number of weights"),
    ],
)
def test_a_penalty_that_tells_hypotheses_apart_is_refused_by_name(penalty, found):
    with pytest.raises(InvalidInput, match=rf"^penalty: found .*{found}"):
        column_generation(Formulation(Logistic(1.0), penalty), Stumps(X), y)
    if found == "change their signs":
        column_generation(Formulation(Logistic(1.0), penalty, nonnegative=True), Stumps(X), y)


def test_what_is_not_recognised_is_priced_by_its_multiplier_and_not_proven():
    """The largest weight: within it further weights cost nothing, so that all of them enter."""

    def largest(w):
        return 3 * cp.norm_inf(w)

    run = column_generation(Formulation(Logistic(1.0), largest), Stumps(X), y)
    assert run.certificate.primal == pytest.approx(solve_all(H, y, Logistic(1.0), largest), rel=1e-5)
    assert not run.certificate.proven
    assert "a norm of order inf over all hypotheses" in run.certificate.note
