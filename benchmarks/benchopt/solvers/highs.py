"""All stumps in one linear program, by HiGHS."""

import numpy as np
from benchopt import BaseSolver


class Solver(BaseSolver):
    """scipy's `linprog` over a column for every threshold of every feature."""

    name = "highs"
    sampling_strategy = "run_once"
    requirements = ["scipy"]

    def skip(self, problem, **_):
        """Leave out the problem that it does not solve."""
        return problem != "lpboost", "for lpboost"

    def set_objective(self, X, y, C, problem):
        """List the stumps."""
        self.y, self.C = y, C
        cuts = [(j, t) for j in range(X.shape[1]) for t in np.unique(X[:, j])[1:]]
        # the constant is a stump, too, and costs as much
        self.H = np.column_stack([np.ones(len(y)), *(np.where(X[:, j] >= t, 1.0, -1.0) for j, t in cuts)])

    def run(self, _):
        """Minimise sum w+ + w- + C sum xi with y H w + xi >= 1."""
        from scipy.optimize import linprog
        from scipy.sparse import csr_array, eye_array, hstack

        n, J = self.H.shape
        M = self.y[:, np.newaxis] * self.H
        A = hstack([csr_array(-M), csr_array(M), -eye_array(n)], format="csr")
        cost = np.concatenate([np.ones(2 * J), np.full(n, self.C)])
        found = linprog(cost, A_ub=A, b_ub=-np.ones(n), method="highs")
        self.w = found.x[:J] - found.x[J : 2 * J]

    def get_result(self):
        """Return scores and the sum of weights."""
        return {"scores": self.H @ self.w, "size": float(abs(self.w).sum())}
