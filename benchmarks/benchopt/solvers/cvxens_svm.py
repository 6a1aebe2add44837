"""The support vector machine over all stumps, without a Gram matrix."""

import numpy as np
from benchopt import BaseSolver
from benchopt.stopping_criterion import SufficientProgressCriterion


class Solver(BaseSolver):
    """The additive solver of `InfiniteEnsembleSVC`."""

    name = "cvxens-svm"
    # some tolerances change nothing
    stopping_criterion = SufficientProgressCriterion(patience=16, strategy="tolerance")
    requirements = ["pip::cvxens"]

    def skip(self, problem, **_):
        """Leave out the problem that it does not solve."""
        return problem != "svm", "for svm"

    def set_objective(self, X, y, C, problem):
        """Keep the sample, and compile what is to be compiled."""
        self.X, self.y, self.C = X, y, C
        self.run(1e-1)

    def run(self, tolerance):
        """Solve to a relative gap."""
        from cvxens import InfiniteEnsembleSVC

        self.done = InfiniteEnsembleSVC(kernel="stump", C=self.C, tol=max(tolerance, 1e-9)).fit(self.X, self.y)

    def get_result(self):
        """Return scores and half of the squared norm."""
        scores = self.done.decision_function(self.X)
        c = np.zeros(len(self.y))
        c[self.done.support_] = np.ravel(self.done.dual_coef_)
        return {"scores": scores, "size": 0.5 * float(c @ (scores - np.ravel(self.done.intercept_)[0]))}
