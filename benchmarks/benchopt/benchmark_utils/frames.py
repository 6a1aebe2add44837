"""What the solvers share: the problem each is for, what it keeps before the clock starts, and how a run is read."""

from benchopt import BaseSolver
from benchopt.stopping_criterion import SufficientProgressCriterion


class OneProblem(BaseSolver):
    """A solver of one of the two problems, which keeps the sample and the price of a unit of slack."""

    solves = "lpboost"

    def skip(self, problem, **_):
        """Tell benchopt whether to leave this solver out, as it is for the other problem, and why."""
        return problem != self.solves, f"it solves {self.solves}"

    def set_objective(self, X, y, C, problem):
        """Keep the sample and C, untimed."""
        self.X, self.y, self.C = X, y, C


class Compiled(OneProblem):
    """A solver of cvxens, whose code is compiled by a rough first run that is not timed."""

    rough = 1e-1
    """What `run` is called with for that: a relative gap."""

    def set_objective(self, X, y, C, problem):
        """Keep the sample and C, and compile, untimed."""
        super().set_objective(X, y, C, problem)
        self.run(self.rough)


def end_at_tolerance():
    """Return a rule that gives a solver smaller and smaller tolerances until 16 in turn have changed nothing."""
    return SufficientProgressCriterion(patience=16, strategy="tolerance")


def read_run(run, X):
    """Return the scores of the ensemble that a run of column generation found, and the sum of its weights."""
    return {"scores": run.decision_function(X), "size": float(abs(run.weights).sum())}
