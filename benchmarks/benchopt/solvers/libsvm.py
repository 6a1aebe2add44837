"""LIBSVM: the support vector machine on the Gram matrix of the stump kernel."""

import numpy as np
from benchmark_utils.frames import OneProblem, end_at_tolerance


class Solver(OneProblem):
    """scikit-learn's `SVC` with a precomputed kernel; the time of evaluating the matrix is not counted."""

    name = "libsvm"
    solves = "svm"
    stopping_criterion = end_at_tolerance()
    requirements = ["scikit-learn", "pip::cvxens"]

    def set_objective(self, X, y, C, problem):
        """Evaluate the Gram matrix, untimed, with the ranges of features that ours takes from the sample."""
        from cvxens.kernels import Stump

        super().set_objective(X, y, C, problem)
        self.K = Stump().with_ranges_of(X)(X)

    def run(self, tolerance):
        """Fit from nothing until the optimality conditions are violated by less than a tolerance, by LIBSVM's word."""
        from sklearn.svm import SVC

        self.done = SVC(C=self.C, kernel="precomputed", tol=max(tolerance, 1e-9)).fit(self.K, self.y)

    def get_result(self):
        """Return the scores on the sample, and half of the squared norm, 1/2 c'Kc."""
        c = np.zeros(len(self.y))
        c[self.done.support_] = self.done.dual_coef_[0]
        f = self.K @ c
        return {"scores": f + self.done.intercept_[0], "size": 0.5 * float(c @ f)}
