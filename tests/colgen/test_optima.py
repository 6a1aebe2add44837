"""Every loss with every penalty over all stumps: proven, and the optimum over all of them at once."""

from dataclasses import dataclass, replace
from itertools import product

import cvxpy as cp
import numpy as np
import pytest
from brute_force import all_stumps, assert_optimum, assert_over_all, noisy, solve_all

from cvxens.colgen import Formulation, column_generation
from cvxens.colgen.masters import (
    CvxpyMaster,
    HighsMaster,
    InteriorPointMaster,
    LeastSquaresMaster,
    NewtonMaster,
    fastest_master,
)
from cvxens.colgen.oracles import Stumps
from cvxens.problems import Problem
from cvxens.problems.duality import clip_box
from cvxens.problems.losses import CVaR, Exponential, Hinge, HuberizedHinge, Logistic, Loss, SquaredError, SquaredHinge
from cvxens.problems.modelling import Term
from cvxens.problems.penalties import L1, ElasticNet, SquaredL2
from cvxens.problems.target_losses import AbsoluteError, Deviance, EpsilonInsensitive, HuberError, Pinball

pytestmark = pytest.mark.filterwarnings("ignore::cvxens.errors.SolverFallbackWarning")

X, y = noisy(24, 2, seed=5)
N = len(y)
RNG = np.random.default_rng(8)
T = np.sin(X[:, 0]) + 0.3 * X[:, 1] + 0.4 * RNG.standard_t(3, size=N)
COUNTS = RNG.poisson(np.exp(T)).astype(float)
PRICES = RNG.uniform(0.2, 1.5, N)


@dataclass(frozen=True, eq=False)
class SmoothedHinge(Loss):
    """A loss of one's own, C sum_i phi(z_i): the hinge rounded off over a width d, (1 - z)^2 / (2 d) in 1 - d < z < 1.

    Its conjugate is that of the hinge and a square: the dual value is ``sum u - d/(2 C) |u|^2`` on 0 <= u <= C.
    """

    C: float
    d: float = 0.5

    def model(self, z):
        xi = cp.Variable(z.shape)
        return Term(self.C * cp.sum(cp.square(1 - z - xi) / (2 * self.d) + cp.pos(xi)))

    def terms(self, z):
        short = np.maximum(1 - z, 0)
        return self.C * np.where(short < self.d, short**2 / (2 * self.d), short - self.d / 2)

    def multipliers(self, z):
        return self.C * np.clip((1 - z) / self.d, 0, 1)

    def curvature(self, u):
        return np.where((u > 0) & (u < self.C), self.C / self.d, 0.0)

    def dual_terms(self, u):
        return u - self.d / (2 * self.C) * u**2

    def repair(self, u, y):
        return clip_box(u, self.C, y)

    def violation(self, u):
        return max(0.0, float(-u.min()), float(u.max()) - self.C) / self.C

    def slackness(self, z, u):
        return float(np.abs(u - self.multipliers(z)).max()) / self.C


LOSSES = {
    "absolute": lambda C: AbsoluteError(T, C),
    "pinball": lambda C: Pinball(T, 0.8, C),
    "insensitive": lambda C: EpsilonInsensitive(T, 0.2, C),
    "huber": lambda C: HuberError(T, 0.5, C),
    "squared": lambda C: SquaredError(C, T),
    "poisson": lambda C: Deviance(COUNTS, C=C),
    "gamma": lambda C: Deviance(COUNTS + 0.5, 2, C),
    "tweedie": lambda C: Deviance(COUNTS, 1.5, C),
    "huberized": lambda C: HuberizedHinge(C, 0.5),
    "cvar": lambda C: CVaR(C / 6, 3.0),
    "hinge": Hinge,
    "logistic": Logistic,
    "squared hinge": SquaredHinge,
    "exponential": Exponential,
    "one's own": lambda C: SmoothedHinge(0.3),
}
PENALTIES = {
    "l1": L1(0.9),
    "l2": SquaredL2(1.3),
    "elastic": ElasticNet(1.0, 0.1),
    "elastic, nearly l1": ElasticNet(1.0, 1e-3),
    "elastic, mostly l2": ElasticNet(1.0, 5.0),
}
ON_MARGINS = ("hinge", "logistic", "squared hinge", "exponential")
PIECEWISE_LINEAR = {"absolute", "pinball", "insensitive", "cvar", "hinge"}


def find_master(name, penalty, intercept):
    """The fastest master of a loss with a penalty."""
    if penalty == "l2":
        of_losses = {"squared": LeastSquaresMaster if intercept else NewtonMaster, "cvar": CvxpyMaster}
        return of_losses.get(name, NewtonMaster)
    if name in PIECEWISE_LINEAR:
        return HighsMaster if penalty == "l1" else CvxpyMaster
    return NewtonMaster


def labels_of(name):
    return None if LOSSES[name](0.7).on_scores else y


@pytest.mark.thinned(2)
@pytest.mark.parametrize(
    ("name", "penalty", "nonnegative", "intercept"),
    [
        (name, penalty, nonnegative, intercept)
        for name, penalty in product(LOSSES, PENALTIES)
        if "," not in penalty or name in ON_MARGINS[:3]
        for nonnegative, intercept in product((False, True)[: 1 + (name in ON_MARGINS)], (False, True))
    ],
)
def test_the_optimum_over_all_stumps_is_proven(name, penalty, nonnegative, intercept):
    loss = LOSSES[name](0.7 if intercept == nonnegative else PRICES)
    formulation = Formulation(loss, PENALTIES[penalty], intercept=intercept, nonnegative=nonnegative)
    labels = labels_of(name)
    elastic = "elastic" in penalty
    digits = {"tol": 1e-6, "rel": 2e-6, "gap": 1e-5} if elastic else {"tol": 1e-7}
    run = assert_over_all(formulation, Stumps(X, square_sum=not elastic), labels, **digits)
    # residuals are of the size of the root of the gap
    assert elastic or nonnegative or run.certificate.kkt_residual < 1e-3
    assert type(fastest_master(formulation, formulation.signs(labels, N))) is find_master(name, penalty, intercept)


INTERIOR = {
    "absolute": (AbsoluteError(T, PRICES), AbsoluteError(T, PRICES), 1.0),
    "pinball": (Pinball(T, 0.8, PRICES), Pinball(T, 0.8, PRICES), 1.0),
    **{
        name: (EpsilonInsensitive(unit * T, 0.2 * unit, PRICES), EpsilonInsensitive(T, 0.2, PRICES), unit)
        for name, unit in (("tiny", 1e-5), ("huge", 1e6))
    },
    **{f"worst {k}": (CVaR(1 / k, 30.0), CVaR(1 / k, 30.0), 1.0) for k in (4, 12, 24)},
}
"""Losses, the same in units of their own, and the unit."""


@pytest.mark.thinned(2, nonnegative=[False, True], intercept=[False, True], name=INTERIOR)
def test_the_interior_point_master_takes_them_too(name, intercept, nonnegative):
    """Whatever the unit of the targets; where rho is above 0 the sum of u has reached its limit."""
    (loss, plain, unit), labels = INTERIOR[name], y if name.startswith("worst") else None
    formulation = Formulation(loss, L1(0.9), intercept=intercept, nonnegative=nonnegative)
    run = column_generation(formulation, Stumps(X), labels, tol=1e-8, master=InteriorPointMaster)
    signs = np.ones(N) if labels is None else y
    assert_optimum(run, unit * solve_all(all_stumps(X), signs, plain, L1(0.9), intercept=intercept), gap=1e-8)
    assert not name.startswith("worst") or run.u.sum() <= 30.0 * (1 + 1e-12)


@pytest.mark.parametrize("name", ["absolute", "insensitive", "huber", "squared"])
def test_targets_far_from_zero_cost_no_digits_where_there_is_an_intercept(name):
    near = LOSSES[name](PRICES)
    field = "L" if name == "squared" else "t"
    far = replace(near, **{field: getattr(near, field) + 1e7})
    for penalty in (PENALTIES["l1"], PENALTIES["l2"]):
        found, run = (
            column_generation(Formulation(loss, penalty, intercept=True), Stumps(X), tol=tol)
            for loss, tol in ((near, 1e-7), (far, 1e-6))
        )
        assert_optimum(run, found.certificate.primal)


@pytest.mark.thinned(1, intercept=[False, True], name=[name for name in LOSSES if name != "one's own"])
def test_weights_that_come_without_multipliers_are_certified(name, intercept):
    """What a run found, its multipliers left out: those of kinks are fitted to the weights."""
    formulation = Formulation(LOSSES[name](PRICES), L1(0.9), intercept=intercept)
    run = column_generation(formulation, Stumps(X), labels_of(name), tol=1e-9)
    problem = Problem(formulation, np.stack([column.values for column in run.columns], axis=1), labels_of(name))
    found = problem.certify(w=run.weights, b=run.intercept) if intercept else problem.certify(w=run.weights)
    assert found.holds(1e-5)


@pytest.mark.product(nonnegative=[False, True], intercept=[False, True])
def test_squares_of_several_outputs_with_an_l1_norm_go_to_newtons_master(intercept, nonnegative):
    targets = np.stack([T, np.cos(X[:, 1]) + 3.0, 0.2 * COUNTS], axis=1)
    loss = SquaredError(PRICES, targets)
    formulation = Formulation(loss, L1(0.4), intercept=intercept, nonnegative=nonnegative, outputs=3)
    assert type(fastest_master(formulation, formulation.signs(None, N))) is NewtonMaster
    assert assert_over_all(formulation, Stumps(X), tol=1e-7).intercept.shape == (3,)
