"""cvxens: the optima at all prices from C / 16 to C, of which the last one is compared."""

from benchmark_utils.frames import Compiled, read_run


class Solver(Compiled):
    """A path of prices by `solve_path`, each run begun where the last one ended: what a cross-validation of C costs."""

    name = "cvxens-path"
    sampling_strategy = "run_once"
    requirements = ["pip::cvxens"]

    def run(self, _):
        """Solve until at every price from C / 16 to C the certified gap is at most the default, a thousandth."""
        from cvxens.colgen import formulations, oracles, solve_path

        prices = self.C / 16, self.C
        self.done = solve_path(formulations.soft_margin, oracles.Stumps(self.X), self.y, prices=prices)

    def get_result(self):
        """Return the scores of the ensemble at C on the sample and the sum of its weights."""
        return read_run(self.done.at(self.C), self.X)
