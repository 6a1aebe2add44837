"""Runs that stop before their optimum, where a loss of samples that were held out of them no longer falls."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf, isnan

import numpy as np

from cvxens import validation
from cvxens.colgen.loop import Step
from cvxens.colgen.protocols import evaluate
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Hypothesis
from cvxens.types import Array, Data


@dataclass(eq=False)
class StopEarly:
    """A callback of `column_generation` that keeps the ensemble of the least loss on samples held out of the run.

    The ensembles of a run grow towards the optimum; one on the way is a regularisation as in boosting, and the run's
    certificate says how far from the optimum it is.

    Parameters
    ----------
    X : array-like of shape (n_held_out, n_features)
        The samples held out, of the features of the oracle's sample.
    loss : callable
        What scores of theirs cost: a function from H w + b, (n_held_out,) or (n_held_out, n_outputs), to a number.
        Scores grow as a run goes on, so those of a loss with margins of 1 fall first.
    n_iter_no_change : int
        The run ends after so many rounds without a lower loss.

    Attributes
    ----------
    losses : list of float
        The loss of the best ensemble so far, round by round of the last run; inf while it has no weak learners.

    Examples
    --------
    >>> from cvxens.colgen import column_generation, formulations, oracles
    >>> random = np.random.default_rng(0)
    >>> X = random.normal(size=(200, 3))
    >>> y = np.sign(X[:, 0] + random.normal(size=200))
    >>> early = StopEarly(X[100:], lambda f: np.maximum(1 - y[100:] * f, 0).mean(), n_iter_no_change=3)
    >>> run = column_generation(formulations.soft_margin(C=1.0), oracles.Stumps(X[:100]), y[:100], callback=early)
    >>> run.ending.name, len(early.losses) - early.losses.index(min(early.losses)) - 1
    ('STOPPED', 3)
    """

    X: Data
    loss: Callable[[Array], float]
    n_iter_no_change: int = 10
    losses: list[float] = field(init=False, default_factory=list)
    _values: dict[Hypothesis, Array] = field(init=False, default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        validation.whole("n_iter_no_change", self.n_iter_no_change)
        if not callable(self.loss):
            raise InvalidInput("loss", f"found {self.loss!r:.100}", "give a function from scores to a number")

    def __call__(self, step: Step) -> Step | bool:
        """Take down a round's loss; returns the step if that is the least so far, else True if it is time to end."""
        if step.number == 1:
            self.losses.clear()
            self._values.clear()
        best = step.incumbent
        f = np.zeros((validation.count_rows(self.X), *np.shape(best.solution.b))) + best.solution.b
        for column, w in zip(best.columns, best.solution.w, strict=True):
            if np.any(w):
                if column.hypothesis not in self._values:
                    self._values[column.hypothesis] = evaluate(column.hypothesis, self.X)
                f += np.multiply.outer(self._values[column.hypothesis], w)
        # an ensemble without weak learners is none to keep
        loss = float(self.loss(f)) if best.columns else inf
        if isnan(loss):
            raise InvalidInput("loss", f"found nan in round {step.number}", "give a function from scores to a number")
        self.losses.append(loss)
        if loss < min(self.losses[:-1], default=inf):
            return step
        return len(self.losses) - self.losses.index(min(self.losses)) > self.n_iter_no_change
