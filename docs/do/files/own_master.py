"""A master of one's own: it hands the restricted problem to a solver of scipy, and need not be trusted."""

import numpy as np
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer

from cvxens.colgen import Formulation, column_generation
from cvxens.colgen.oracles import Stumps
from cvxens.colgen.restricted import FastMaster, Needs
from cvxens.problems.losses import Logistic
from cvxens.problems.penalties import SquaredL2


class LbfgsMaster(FastMaster):
    """Smooth losses with ridge/2 |w|^2, by L-BFGS from the last weights."""

    needs = (Needs("curvature", "ridge", nonnegative=False, intercept=True, several=False),)
    last = np.zeros(1)

    def solve(self):
        part = self.restricted  # the columns so far; it turns points into certified ones
        if part.n_columns == 0:
            return part.start()
        H, y = part.H, part.y

        def objective(v):
            z = y * (H @ v[:-1] + v[-1])
            s = y * self.loss.multipliers(z)
            slope = np.append(self.penalty.ridge * v[:-1] - H.T @ s, -s.sum())
            return self.loss.value(z) + self.penalty.value(v[:-1]), slope

        start = np.concatenate([self.last[:-1], np.zeros(part.n_columns + 1 - len(self.last)), self.last[-1:]])
        options = {"maxiter": 2000, "ftol": 1e-15, "gtol": 1e-10}
        self.last = minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x
        w, b = self.last[:-1], np.asarray(self.last[-1])
        return part.evaluate({"w": w, "b": b, "u": self.loss.multipliers(y * (H @ w + b))})


X, labels = load_breast_cancer(return_X_y=True)
X, y = X[:150, :5], 2.0 * labels[:150] - 1
formulation = Formulation(Logistic(1.0), SquaredL2(5.0), intercept=True)
run = column_generation(formulation, Stumps(X), y, tol=1e-5, master=LbfgsMaster)
ours = column_generation(formulation, Stumps(X), y, tol=1e-5)
print(run.certificate)
assert run.certificate.proven  # the bound is computed from its multipliers, whatever the solver says of them
assert abs(run.certificate.primal - ours.certificate.primal) <= 2e-5 * ours.certificate.primal
