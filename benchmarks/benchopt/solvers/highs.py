"""HiGHS: every stump of the sample as a column of one linear program."""

import numpy as np
from benchmark_utils.frames import OneProblem


class Solver(OneProblem):
    """LPBoost's soft margins by scipy's `linprog`, with a column for each threshold of each feature; run once."""

    name = "highs"
    sampling_strategy = "run_once"
    requirements = ["scipy"]

    def set_objective(self, X, y, C, problem):
        """Evaluate each stump on the sample, untimed, as the columns of H."""
        super().set_objective(X, y, C, problem)
        cuts = [(j, t) for j in range(X.shape[1]) for t in np.unique(X[:, j])[1:]]
        # the constant is a stump, too, and costs as much
        self.H = np.column_stack([np.ones(len(y)), *(np.where(X[:, j] >= t, 1.0, -1.0) for j, t in cuts)])

    def run(self, _):
        """Minimise sum w+ + w- + C sum xi subject to y H (w+ - w-) + xi >= 1, to HiGHS's own tolerances."""
        from scipy.optimize import linprog
        from scipy.sparse import csr_array, eye_array, hstack

        n, J = self.H.shape
        M = self.y[:, np.newaxis] * self.H
        A = hstack([csr_array(-M), csr_array(M), -eye_array(n)], format="csr")
        cost = np.concatenate([np.ones(2 * J), np.full(n, self.C)])
        found = linprog(cost, A_ub=A, b_ub=-np.ones(n), method="highs")
        self.w = found.x[:J] - found.x[J : 2 * J]

    def get_result(self):
        """Return the scores H w on the sample and the sum of the weights' absolute values."""
        return {"scores": self.H @ self.w, "size": float(abs(self.w).sum())}
