"""LIBSVM on the Gram matrix of the stump kernel."""

import numpy as np
from benchopt import BaseSolver
from benchopt.stopping_criterion import SufficientProgressCriterion


class Solver(BaseSolver):
    """scikit-learn's SVC; the time of the matrix is not counted."""

    name = "libsvm"
    # some tolerances change nothing
    stopping_criterion = SufficientProgressCriterion(patience=16, strategy="tolerance")
    requirements = ["scikit-learn", "pip::cvxens"]

    def skip(self, problem, **_):
        """Leave out the problem that it does not solve."""
        return problem != "svm", "for svm"

    def set_objective(self, X, y, C, problem):
        """Evaluate the kernel, with the ranges that ours takes from the sample."""
        from cvxens.kernels import Stump

        self.K, self.y, self.C = Stump().with_ranges_of(X)(X), y, C

    def run(self, tolerance):
        """Solve until the conditions are met to the tolerance."""
        from sklearn.svm import SVC

        self.done = SVC(C=self.C, kernel="precomputed", tol=max(tolerance, 1e-9)).fit(self.K, self.y)

    def get_result(self):
        """Return scores and half of the squared norm."""
        c = np.zeros(len(self.y))
        c[self.done.support_] = self.done.dual_coef_[0]
        f = self.K @ c
        return {"scores": f + self.done.intercept_[0], "size": 0.5 * float(c @ f)}
