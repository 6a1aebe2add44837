"""Column generation over all stumps."""

from benchopt import BaseSolver
from benchopt.stopping_criterion import SufficientProgressCriterion


class Solver(BaseSolver):
    """One run to a certified gap; the curve is over the gap that is asked for."""

    name = "cvxens"
    # some tolerances change nothing
    stopping_criterion = SufficientProgressCriterion(patience=16, strategy="tolerance")
    requirements = ["pip::cvxens"]

    def skip(self, problem, **_):
        """Leave out the problem that it does not solve."""
        return problem != "lpboost", "for lpboost"

    def set_objective(self, X, y, C, problem):
        """Keep the sample, and compile what is to be compiled."""
        self.X, self.y, self.C = X, y, C
        self.run(1e-1)

    def run(self, tolerance):
        """Solve to a relative gap."""
        from cvxens.colgen import column_generation, formulations, oracles

        self.done = column_generation(
            formulations.soft_margin(C=self.C), oracles.Stumps(self.X), self.y, tol=max(tolerance, 1e-9)
        )

    def get_result(self):
        """Return scores and the sum of weights."""
        done = self.done
        scores = sum((w * column.hypothesis(self.X) for w, column in zip(done.weights, done.columns)), 0.0 * self.y)
        return {"scores": scores + done.intercept, "size": float(abs(done.weights).sum())}
