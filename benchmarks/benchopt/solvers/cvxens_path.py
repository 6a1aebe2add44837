"""Every price from a sixteenth to the one that is asked for."""

from benchopt import BaseSolver


class Solver(BaseSolver):
    """A path of prices, each begun where the last one ended: what cross-validation pays."""

    name = "cvxens-path"
    sampling_strategy = "run_once"
    requirements = ["pip::cvxens"]

    def skip(self, problem, **_):
        """Leave out the problem that it does not solve."""
        return problem != "lpboost", "for lpboost"

    def set_objective(self, X, y, C, problem):
        """Keep the sample, and compile what is to be compiled."""
        self.X, self.y, self.C = X, y, C
        self.run(None)

    def run(self, _):
        """Solve at every price from C / 16 to C, to the default gap."""
        from cvxens.colgen import formulations, oracles, solve_path

        prices = self.C / 16, self.C
        self.done = solve_path(formulations.soft_margin, oracles.Stumps(self.X), self.y, prices=prices)

    def get_result(self):
        """Return scores and the sum of weights at C."""
        point = max(self.done.points, key=lambda each: each.price).run
        scores = sum((w * column.hypothesis(self.X) for w, column in zip(point.weights, point.columns)), 0.0 * self.y)
        return {"scores": scores + point.intercept, "size": float(abs(point.weights).sum())}
