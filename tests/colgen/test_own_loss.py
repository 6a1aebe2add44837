"""A loss of one's own, defined here with its conjugate, gets fast masters and a proof; what it lacks is named."""

from dataclasses import dataclass

import cvxpy as cp
import numpy as np
import pytest
from brute_force import all_stumps, assert_optimum, noisy, solve_all

from cvxens.colgen import Formulation, column_generation
from cvxens.colgen.masters import HighsMaster, LeastSquaresMaster, NewtonMaster, fastest_master
from cvxens.colgen.oracles import Stumps
from cvxens.errors import InvalidInput
from cvxens.problems.duality import clip_box
from cvxens.problems.losses import Loss
from cvxens.problems.modelling import Term
from cvxens.problems.penalties import L1, SquaredL2


@dataclass(frozen=True, eq=False)
class SmoothedHinge(Loss):
    """C sum_i phi(z_i), the hinge rounded off over a width d: (1 - z)^2 / (2 d) where 1 - d < z < 1.

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


X, y = noisy(60, 3, seed=4)
H = all_stumps(X)
CASES = [
    (SquaredL2(0.7), lambda w: 0.35 * cp.sum_squares(w)),
    (L1(0.6), lambda w: 0.6 * cp.norm1(w)),
]


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("penalty", "model"), CASES, ids=["l2", "l1"])
def test_it_gets_a_fast_master_and_a_proof_of_the_optimum(penalty, model, intercept):
    formulation = Formulation(SmoothedHinge(0.3), penalty, intercept=intercept)
    assert type(fastest_master(formulation, y)) is NewtonMaster
    optimum = solve_all(H, y, SmoothedHinge(0.3), model, intercept=intercept, tol=1e-10)
    run = assert_optimum(column_generation(formulation, Stumps(X), y, tol=1e-7), optimum, gap=1e-7)
    assert run.certificate.dual == pytest.approx(optimum, rel=1e-6)


@pytest.mark.parametrize(
    ("master", "penalty", "missing"),
    [
        (HighsMaster, L1(), "but SmoothedHinge has no `linear_dual`; or"),
        (LeastSquaresMaster, SquaredL2(), "but SmoothedHinge has no `targets` and intercept is not True;"),
        (
            NewtonMaster,
            lambda w: [0, cp.abs(w) <= 1],
            "; or SmoothedHinge has no `hessian` and StructuredExpression has no",
        ),
    ],
)
def test_a_master_names_the_term_and_what_it_lacks(master, penalty, missing):
    formulation = Formulation(SmoothedHinge(1.0), penalty)
    assert not master.supports(formulation)
    with pytest.raises(InvalidInput) as refusal:
        master(formulation, y)
    assert missing in str(refusal.value)
