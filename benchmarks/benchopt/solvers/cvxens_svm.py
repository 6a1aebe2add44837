"""cvxens: the support vector machine with the stump kernel, without a Gram matrix."""

import numpy as np
from benchmark_utils.frames import Compiled, end_at_tolerance


class Solver(Compiled):
    """The additive solver behind `InfiniteEnsembleSVC`; each point of the curve is a fit to a smaller certified gap."""

    name = "cvxens-svm"
    solves = "svm"
    stopping_criterion = end_at_tolerance()
    requirements = ["pip::cvxens"]

    def run(self, tolerance):
        """Fit from nothing until the certified gap, relative to the objective, is at most the tolerance."""
        from cvxens import InfiniteEnsembleSVC

        self.done = InfiniteEnsembleSVC(kernel="stump", C=self.C, tol=max(tolerance, 1e-9)).fit(self.X, self.y)

    def get_result(self):
        """Return the scores on the sample, and half of the squared norm: 1/2 c'Kc, where Kc are scores less b."""
        scores = self.done.decision_function(self.X)
        c = np.zeros(len(self.y))
        c[self.done.support_] = np.ravel(self.done.dual_coef_)
        return {"scores": scores, "size": 0.5 * float(c @ (scores - np.ravel(self.done.intercept_)[0]))}
