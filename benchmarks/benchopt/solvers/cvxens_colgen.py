"""cvxens: column generation over all stumps, to a certified gap."""

from benchmark_utils.frames import Compiled, end_at_tolerance, read_run


class Solver(Compiled):
    """LPBoost's soft margins by `column_generation`; each point of the curve is a run to a smaller certified gap."""

    name = "cvxens"
    stopping_criterion = end_at_tolerance()
    requirements = ["pip::cvxens"]

    def run(self, tolerance):
        """Solve from nothing until the certified gap, relative to the objective, is at most the tolerance."""
        from cvxens.colgen import column_generation, formulations, oracles

        formulation = formulations.soft_margin(C=self.C)
        self.done = column_generation(formulation, oracles.Stumps(self.X), self.y, tol=max(tolerance, 1e-9))

    def get_result(self):
        """Return the scores of the ensemble on the sample and the sum of its weights."""
        return read_run(self.done, self.X)
