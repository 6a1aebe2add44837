"""Formulations along an interval of prices: bounds that hold in between, and polygons with all their corners."""

from itertools import pairwise

import cvxpy as cp
import numpy as np
import pytest
from brute_force import all_stumps, linear_program, noisy, soft_minimum_program

from cvxens.colgen import Ending, Formulation, column_generation, formulations, masters, solve_path
from cvxens.colgen.oracles import Pool, Stumps
from cvxens.problems import Problem
from cvxens.problems.losses import Hinge, Logistic
from cvxens.problems.penalties import L1, SquaredL2


@pytest.mark.parametrize("seed", range(3))
def test_a_polygon_is_found_with_all_its_corners(seed):
    X, y = noisy(12, seed=seed)
    H, ends = all_stumps(X), (0.02, 4.0)
    path = solve_path(formulations.soft_margin, Stumps(X), y, prices=ends, tol=1e-9)
    assert path.ending is Ending.OPTIMAL
    assert path.relative_gap <= 1e-9
    corners = path.breakpoints
    prices = np.r_[ends[0], corners, ends[1]]
    # linear between corners, by an independent road
    for low, high in pairwise(prices):
        at = [linear_program(H, y, slack=C) for C in (low, (low + high) / 2, high)]
        assert at[1] == pytest.approx((at[0] + at[2]) / 2, rel=1e-8)
    # and each corner is one
    for k, corner in enumerate(corners, start=1):
        step = min(corner - prices[k - 1], prices[k + 1] - corner) / 2
        below, here, above = (linear_program(H, y, slack=C) for C in (corner - step, corner, corner + step))
        assert here > (below + above) / 2 + 1e-10


FAMILIES = {
    "P4": formulations.soft_margin,
    "P1": formulations.svm,
    "l1 hinge with an intercept": lambda C: Formulation(Hinge(C), L1(), intercept=True),
    "l1 logistic": lambda C: Formulation(Logistic(C), L1(), intercept=True),
    "price of the penalty": lambda t: Formulation(Logistic(1.0), SquaredL2(t), intercept=True),
    "an expression": lambda C: Formulation(lambda z: C * cp.sum(cp.pos(1 - z)), L1(), intercept=True),
}


@pytest.mark.parametrize("name", FAMILIES)
def test_bounds_hold_between_the_points(name):
    X, y = noisy(12, seed=5)
    oracle = Pool(all_stumps(X)[:, :-1])
    path = solve_path(FAMILIES[name], oracle, y, prices=(0.05, 2.0), tol=0.01)
    assert path.ending is Ending.OPTIMAL
    assert path.relative_gap <= 0.01
    assert not set(path.prices) & {0.1, 0.3, 1.1}
    for price in (0.1, 0.3, 1.1):
        lower, upper = path.bounds(price)
        run = column_generation(FAMILIES[name](price), oracle, y, tol=1e-7)
        assert lower <= run.certificate.primal * (1 + 1e-12)
        assert run.certificate.dual * (1 - 1e-12) <= upper
        assert (upper - lower) <= 0.01 * upper
        # what is handed out has the objective that was said, and multipliers of the bound
        chosen = path.at(price)
        scores = chosen.decision_function(oracle.sample)
        problem = FAMILIES[name](price)
        value = problem.terms[0].value(y * scores) + problem.terms[1].value(chosen.weights)
        assert value == pytest.approx(chosen.certificate.primal, rel=1e-10)
        assert chosen.certificate.primal + chosen.certificate.rounding == pytest.approx(upper, rel=1e-10)
        assert chosen.certificate.dual == pytest.approx(lower, rel=1e-12)
        assert chosen.certificate.holds(0.01)
        # an expression's multipliers are repaired anew
        again = Problem(problem, oracle.sample, y).certify(u=chosen.u)
        assert again.dual >= lower * (1 - 1e-6)


def test_the_optimum_of_lpboost_follows():
    """With U the optimum of P4 at C, that of LPBoost at D = C / U is 1 / U (DESIGN, DBS02): one path serves both."""
    X, y = noisy(12, seed=1)
    path = solve_path(formulations.soft_margin, Stumps(X), y, prices=(0.15, 1.0), tol=1e-9)
    for C in (0.2, 0.7):
        U = float(path.bounds(C)[1])
        run = column_generation(formulations.lpboost(C / U), Stumps(X), y, tol=1e-9)
        assert run.certificate.primal == pytest.approx(1 / U, rel=1e-8)


def test_the_path_of_a_maximum_is_convex_with_all_its_corners():
    X, y = noisy(12, seed=2)
    H, ends = all_stumps(X), (0.09, 0.3)
    path = solve_path(formulations.lpboost, Stumps(X), y, prices=ends, tol=1e-9)
    assert (path.ending, path.maximise) == (Ending.OPTIMAL, True)
    prices = np.r_[ends[0], path.breakpoints, ends[1]]
    assert len(prices) > 2
    for low, high in pairwise(prices):
        middle = (low + high) / 2
        at = [soft_minimum_program(H, y, D) for D in (low, middle, high)]
        assert at[1] == pytest.approx((at[0] + at[2]) / 2, rel=1e-7, abs=1e-9)
        lower, upper = path.bounds(middle)
        assert lower - 1e-9 <= at[1] <= upper + 1e-9
        assert path.at(middle).certificate.primal == pytest.approx(at[1], rel=1e-7, abs=1e-9)
        assert path.at(middle).certificate.holds(1e-8)


def test_means_of_multipliers_prove_more_than_chords():
    X, y = noisy(12, seed=3)
    ends = (0.4, 0.45)
    path = solve_path(FAMILIES["l1 logistic"], Stumps(X), y, prices=ends, tol=1e-4, max_points=2)
    (segment,) = path.segments
    assert path.ending is Ending.OPTIMAL
    for mean in segment.means:
        # above the chord, and below the optimum
        assert mean.bound > np.interp(mean.price, path.prices, [point.bound for point in path.points]) * (1 + 1e-5)
        run = column_generation(FAMILIES["l1 logistic"](mean.price), Stumps(X), y, tol=1e-9)
        assert mean.bound <= run.certificate.primal * (1 + 1e-12)
        assert run.certificate.dual <= mean.line(mean.price) * (1 + 1e-12)


@pytest.mark.parametrize(
    "family", [formulations.soft_margin, FAMILIES["l1 hinge with an intercept"], formulations.lpboost]
)
def test_paths_by_interior_points_bound_the_optima_between(family):
    X = np.random.default_rng(4).normal(size=(60, 3))
    y = np.where(X.sum(axis=1) + np.sin(9 * X[:, 0]) > 0, 1.0, -1.0)
    D = family is formulations.lpboost
    ends = (0.04, 0.06) if D else (0.2, 1.0)
    path = solve_path(family, Stumps(X), y, prices=ends, tol=1e-3, master=masters.InteriorPointMaster)
    assert path.ending is Ending.OPTIMAL
    H = all_stumps(X)
    for price in np.linspace(*ends, 4)[1:-1]:
        lower, upper = path.bounds(price)
        if family is formulations.soft_margin or D:
            optimum = soft_minimum_program(H, y, price) if D else linear_program(H, y, slack=price)
            assert lower - 1e-9 <= optimum <= upper + 1e-9
        assert upper - lower <= 1e-3 * upper


def test_points_are_told_and_may_end_the_path():
    X, y = noisy(12)
    told = []
    path = solve_path(
        formulations.svm, Stumps(X), y, prices=(0.1, 1.0), tol=1e-6, callback=lambda p: told.append(p) or len(told) == 3
    )
    assert path.ending is Ending.STOPPED
    assert sorted(point.price for point in told) == path.prices.tolist()
    assert path.relative_gap > 1e-6


def test_limits_end_a_path_with_what_is_proven():
    X, y = noisy(12)
    few = solve_path(formulations.svm, Stumps(X), y, prices=(0.1, 1.0), tol=1e-6, max_points=3)
    assert (few.ending, len(few.points)) == (Ending.MAX_ROUNDS, 3)
    brief = solve_path(formulations.svm, Stumps(X), y, prices=(0.1, 1.0), max_time=1e-9)
    assert (brief.ending, len(brief.points)) == (Ending.MAX_TIME, 2)
    lower, upper = brief.bounds(np.linspace(0.1, 1.0, 5))
    assert (lower <= upper).all()
    assert list(brief.runs) == [0.1, 1.0]


@pytest.mark.parametrize("number", [1, 3])
def test_an_interrupted_path_has_both_ends(number):
    X, y = noisy(12)
    whole = len(solve_path(formulations.soft_margin, Stumps(X), y, prices=(0.1, 1.0), tol=1e-6).points)
    oracle = Stumps(X)
    price, asked = oracle.price, []

    def interrupted(s, exclude=()):
        asked.append(s)
        if len(asked) == number:
            raise KeyboardInterrupt
        return price(s, exclude)

    oracle.price = interrupted
    path = solve_path(formulations.soft_margin, oracle, y, prices=(0.1, 1.0), tol=1e-6)
    assert path.ending is Ending.INTERRUPTED
    assert 2 <= len(path.points) < whole
    lower, upper = path.bounds(0.5)
    assert lower <= upper
