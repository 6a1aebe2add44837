"""How far a run has come: its history, and the two steps that its certificate is from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from cvxens.colgen.driver import Step
from cvxens.colgen.stopping import relative_gap

CLAIMED = 1e-6
"""What a solver's optimum of a formulation without a conjugate can be off by, relative to it."""


@dataclass(frozen=True)
class Round:
    """One row of a run's history.

    Parameters
    ----------
    objective : float
        Of the restricted optimum: it bounds the optimum from the primal side.
    dual_bound : float
        The best bound so far from the dual side.
    best_edge : float
        The largest edge found.
    n_columns : int
        Columns in the master.
    pricing_seconds, master_seconds : float
        Wall-clock time of the round.
    bounded : bool
        Whether the bound is a proof: the oracle bounds the edges of its hypotheses.
    rounding : float or None
        A bound on the rounding error of both; None where the gap was too large for it to matter.
    """

    objective: float
    dual_bound: float
    best_edge: float
    n_columns: int
    pricing_seconds: float
    master_seconds: float
    bounded: bool = True
    rounding: float | None = None


@dataclass(frozen=True)
class Progress:
    """The incumbents of a run and its history.

    Parameters
    ----------
    sense : float
        -1 for a maximum, 1 for a minimum; steps state a minimum, the history what the formulation states.
    primal, dual : Step
        That with the lowest objective, the latest of equal ones, and that with the highest bound, the first one.
    history : tuple of Round
        One row per round.
    """

    sense: float
    primal: Step
    dual: Step
    history: tuple[Round, ...] = ()

    def after(self, step: Step) -> Progress:
        """The progress after a further step."""
        primal = step if step.solution.objective <= self.primal.solution.objective else self.primal
        dual = step if step.bound > self.dual.bound else self.dual
        row = Round(
            self.sense * step.solution.objective,
            self.sense * dual.bound,
            step.priced.best_edge,
            len(step.columns),
            step.pricing_seconds,
            step.master_seconds,
            dual.bounded,
        )
        return Progress(self.sense, primal, dual, (*self.history, row))

    def claimed(self) -> Progress:
        """The same where bounds are a solver's claims: what they exceed the objective by is its error, up to 1e-6."""
        excess = relative_gap(self.primal.solution.objective, self.dual.bound)
        if not -CLAIMED <= excess < 0:
            return self
        *before, last = self.history
        bound = self.primal.solution.objective
        history = (*before, replace(last, dual_bound=self.sense * bound))
        return replace(self, dual=replace(self.dual, bound=bound), history=history)

    def rounded(self, rounding: float) -> Progress:
        """The same, with the rounding error of the last round's objective and bound."""
        *before, last = self.history
        return replace(self, history=(*before, replace(last, rounding=rounding)))

    def timed(self, rows: Sequence[Round]) -> Progress:
        """The same, its first rows as they were recorded, with the seconds they took then."""
        return replace(self, history=(*rows[: len(self.history)], *self.history[len(rows) :]))
