"""A loss of one's own, with its conjugate: it gets a fast master and a proof, as those of the library do."""

from dataclasses import dataclass

import cvxpy as cp
import numpy as np
from sklearn.datasets import load_breast_cancer

from cvxens.colgen import Formulation, column_generation
from cvxens.colgen.masters import fastest_master
from cvxens.colgen.oracles import Stumps
from cvxens.problems import check_formulation
from cvxens.problems.duality import clip_box
from cvxens.problems.losses import Loss
from cvxens.problems.modelling import Term
from cvxens.problems.penalties import L1


@dataclass(frozen=True, eq=False)
class RoundedHinge(Loss):
    """C sum_i phi(z_i), phi the hinge rounded off over a width d: (1 - z)^2 / (2 d) where 1 - d < z < 1.

    The conjugate is that of the hinge and a square: from u in [0, C] it adds ``sum u - d/(2 C) |u|^2`` to the bound.
    """

    C: float
    d: float = 0.5

    def model(self, z):  # the model in cvxpy
        xi = cp.Variable(z.shape)
        return Term(self.C * cp.sum(cp.square(1 - z - xi) / (2 * self.d) + cp.pos(xi)))

    def terms(self, z):  # the summands of its value
        short = np.maximum(1 - z, 0)
        return self.C * np.where(short < self.d, short**2 / (2 * self.d), short - self.d / 2)

    def multipliers(self, z):  # u = -loss'(z)
        return self.C * np.clip((1 - z) / self.d, 0, 1)

    def curvature(self, u):  # loss''(z) at u: what fast masters ask for
        return np.where((u > 0) & (u < self.C), self.C / self.d, 0.0)

    def dual_terms(self, u):  # those of -loss*(-u)
        return u - self.d / (2 * self.C) * u**2

    def repair(self, u, y):  # into the conjugate's domain, and to y'u = 0 where there is an intercept
        return clip_box(u, self.C, y)

    def violation(self, u):  # how far u is from that domain
        return max(0.0, float(-u.min()), float(u.max()) - self.C) / self.C

    def slackness(self, z, u):  # how far u is from -loss'(z)
        return float(np.abs(u - self.multipliers(z)).max()) / self.C


X, labels = load_breast_cancer(return_X_y=True)
y = 2.0 * labels - 1
formulation = Formulation(RoundedHinge(0.05), L1(), intercept=True)
print(check_formulation(formulation))  # every claim above, at random points and against a solver
print(type(fastest_master(formulation, y)).__name__)
run = column_generation(formulation, Stumps(X), y, tol=1e-6)
print(run.certificate)
assert run.certificate.proven
assert run.certificate.relative_gap <= 1e-6
