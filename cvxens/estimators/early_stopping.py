"""Ensembles that stop growing where the loss of samples that were held out no longer falls.

A run of column generation is a sequence of ensembles, each the optimum over its columns. Stopped before the last one,
it is a regularisation as in boosting, at the price that was given; and what it leaves open is certified.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from math import inf
from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split

from cvxens import validation
from cvxens.colgen import Formulation, Hypothesis, Run, Step
from cvxens.colgen.protocols import evaluate
from cvxens.errors import InvalidInput
from cvxens.estimators.ensembles import Ensemble, Member
from cvxens.estimators.samples import label
from cvxens.types import Array


@dataclass(eq=False)
class Watch:
    """What the ensembles of a run cost on samples that were held out of it."""

    rest: Any  # the sample of the run
    held_out: Any
    formulation: Formulation  # that of the samples held out
    patience: int
    losses: list[float] = field(default_factory=list)
    best: Member | None = None
    _values: dict[Hypothesis, Array] = field(default_factory=dict)

    def tell(self, step: Step) -> bool:
        """Take down the loss of a round, and return True if it has not fallen for long enough."""
        f = np.zeros((len(self.held_out.weights), *np.shape(step.solution.b))) + step.solution.b
        for column, w in zip(step.columns, step.solution.w, strict=True):
            if column.hypothesis not in self._values:
                self._values[column.hypothesis] = evaluate(column.hypothesis, self.held_out.X)
            f += np.multiply.outer(self._values[column.hypothesis], w)
        y = label(self.formulation, self.held_out)
        loss = self.formulation.terms[0].value(f if y is None else y * f) / float(self.held_out.weights.sum())
        if step.columns and loss < min(self.losses, default=inf):
            learners = [column.hypothesis for column in step.columns]
            self.best = Member(learners, step.solution.w.copy(), np.array(step.solution.b))
        # an ensemble without weak learners is none to keep
        self.losses.append(float(loss) if step.columns else inf)
        return len(self.losses) - int(np.argmin(self.losses)) > self.patience


@dataclass(eq=False, repr=False)
class StoppedEarly(Ensemble):
    """An ensemble that may stop growing before its optimum.

    Parameters
    ----------
    early_stopping : bool
        True to hold samples out, and to stop where their loss, that of the formulation, has not fallen for
        `n_iter_no_change` rounds. The ensemble of the round at which it was least is kept, and its certificate says how
        far it is from the optimum over the samples that were not held out. Not where the price is chosen.
    validation_fraction : float
        The share of the samples that is held out, of a classifier with classes in proportion; the same in every fit.
    n_iter_no_change : int
        The number of rounds.

    Attributes
    ----------
    validation_losses_ : tuple of float, or None
        The loss of the samples held out over their weight, round by round, inf without weak learners; None without
        `early_stopping`.
    """

    _: KW_ONLY
    early_stopping: bool = False
    validation_fraction: float = 0.1
    n_iter_no_change: int = 10
    validation_losses_: tuple[float, ...] | None = field(init=False)

    def _check(self, sample: Any) -> None:
        super()._check(sample)
        validation.instance("early_stopping", self.early_stopping, bool, np.bool_)
        share = validation.positive("validation_fraction", self.validation_fraction)
        if share >= 1:
            raise InvalidInput("validation_fraction", f"found {share:g}", "give less than 1")
        validation.whole("n_iter_no_change", self.n_iter_no_change)
        if not self.early_stopping:
            return
        for name in ("C", "nu"):
            if isinstance(getattr(self, name, None), str):
                found = f"found True beside {name}={getattr(self, name)!r}"
                raise InvalidInput("early_stopping", found, f"give a number for {name}")
        if getattr(self, "constraints", None):
            found = "found True beside constraints, which are on the scores of all samples"
            raise InvalidInput("early_stopping", found, "give False")

    def _merges(self) -> bool:
        # of samples that are alike, some are held out
        return not self.early_stopping and super()._merges()

    def _watch_over(self, sample: Any) -> Watch | None:
        """Return what follows a fit to a part of a sample; None for a fit to the whole."""
        if not self.early_stopping:
            return None
        n_samples, strata = len(sample.weights), sample.strata
        if strata is not None and min(np.bincount(strata)) < 2:
            strata = None
        try:
            _, rows = train_test_split(
                np.arange(n_samples), test_size=self.validation_fraction, stratify=strata, random_state=0
            )
        except ValueError as error:
            found = f"found {self.validation_fraction:g} for {n_samples} samples: {error}"
            raise InvalidInput("validation_fraction", found, "give another share, or early_stopping=False") from error
        out = np.isin(np.arange(n_samples), rows)
        if len(np.unique(sample.given[~out])) < len(np.unique(sample.given)) and sample.strata is not None:
            found = f"found {self.validation_fraction:g}, which leaves no sample of a class"
            raise InvalidInput("validation_fraction", found, "give less, or early_stopping=False")
        held_out = sample.part(out)
        return Watch(sample.part(~out), held_out, self._formulation(held_out), self.n_iter_no_change)

    def _appraise(self, sample: Any, formulation: Formulation, run: Run) -> dict[str, Any]:
        found = super()._appraise(sample, formulation, run)
        return {**found, "validation_losses_": None if self._watch is None else tuple(self._watch.losses)}
