"""What column-generation estimators share: the run, its limits, and what the fitted ensemble tells."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from cvxens import validation
from cvxens.colgen import Ending, Formulation, Hypothesis, Master, Run, column_generation
from cvxens.colgen.masters import CvxpyMaster, fastest_master
from cvxens.estimators.fitting.audit import Task, audit
from cvxens.estimators.fitting.multiclass import certify_parts
from cvxens.estimators.fitting.progress import Watched, rounds_of
from cvxens.estimators.fitting.sample import Accepts, Sample
from cvxens.estimators.fitting.weak_learners import OracleFactory, accepts, make_oracle
from cvxens.estimators.voting.votes import Vote
from cvxens.estimators.voting.warm_start import WarmStart
from cvxens.problems.duality import Edges
from cvxens.types import Array

SOLVERS: Mapping[str, Callable[[Formulation, Array], Master]] = {"fast": fastest_master, "reference": CvxpyMaster}
"""What solves the restricted masters of a run."""

REMEDIES: Mapping[Ending, str] = {
    Ending.MAX_COLUMNS: "raise max_columns or tol",
    Ending.MAX_ROUNDS: "the oracle proves no bound that could end it; raise tol, or give an oracle that does",
    Ending.MAX_TIME: "raise max_time or tol",
    Ending.INTERRUPTED: "fit again to go further",
    Ending.VIOLATED: "scale the features, or mend the oracle's bounds",
}
"""Endings short of `tol`, and what to do about them."""


class Ensemble(Vote, WarmStart, ABC):
    """A weighted vote of weak learners found by column generation; for a `Classifier`.

    Parameters
    ----------
    oracle, columns_per_round, tol, max_columns, max_time, solver, warm_start, random_state, verbose
        As every column-generation estimator documents them.
    """

    def __init__(
        self,
        *,
        oracle: str | OracleFactory,
        columns_per_round: int | None,
        tol: float,
        max_columns: int | None,
        max_time: float | None,
        solver: str,
        warm_start: bool,
        random_state: Any,
        verbose: int,
    ) -> None:
        self.oracle = oracle
        self.columns_per_round = columns_per_round
        self.tol = tol
        self.max_columns = max_columns
        self.max_time = max_time
        self.solver = solver
        self.warm_start = warm_start
        self.random_state = random_state
        self.verbose = verbose

    @abstractmethod
    def _formulation(self, sample: Sample) -> Formulation:
        """The problem that the estimator solves on a sample."""

    def _accepts(self) -> Accepts:
        return accepts(self.oracle)

    def certify(
        self: Any, X: Any, y: Any, *, sample_weight: Any = None, weights: Any = None, intercept: Any = None
    ) -> Any:
        """Say how far the ensemble, or other weights of its weak learners, are from the optimum on a sample.

        The formulation is solved anew on that sample, within the limits of the estimator, for the bound.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features of any sample.
        y : array-like of shape (n_samples,)
            Its classes: those of the fitted sample, all of them.
        sample_weight : array-like of shape (n_samples,), optional
            As in `fit`, where that takes them.
        weights : array-like, shaped as `weights_`, optional
            Weights from anywhere; by default the ensemble's.
        intercept : float or array-like, shaped as `intercept_`, optional
            By default the ensemble's, with `weights` the best one.

        Returns
        -------
        Certificate or list of Certificate
            Of the formulation on that sample, over all hypotheses of the oracle on it; a list over the
            sub-problems where there are several, for which weights and intercept are lists as well.
        """
        sample = self._sample_again(X, y, sample_weight)
        if weights is None:
            weights, intercept = self.weights_, self.intercept_ if intercept is None else intercept
        if hasattr(self, "decomposition_"):
            return certify_parts(self, sample, weights=weights, intercept=intercept)
        task = self._problem(sample)
        run = self._run(task)
        return audit(task, self.weak_learners_, run.u, weights=weights, intercept=intercept)

    def _problem(self, sample: Sample) -> Task:
        """What is solved: where the penalty does not need the sum of squared edges, it need not be found."""
        formulation = self._formulation(sample)
        oracle = make_oracle(
            self.oracle,
            sample.X,
            columns_per_round=self.columns_per_round,
            random_state=self.random_state,
            square_sum=formulation.terms[1].conjugate(Edges(1.0, inf)) == inf,
            features=sample.features,
            sample_weight=sample.masses,
            n_cases=sample.n_given,
        )
        return Task(formulation, oracle, sample.X, sample.signs if formulation.outputs is None else None)

    def _run(self, task: Task, start: Sequence[Hypothesis] = ()) -> Run:
        make = SOLVERS[validation.one_of("solver", self.solver, SOLVERS)]
        with rounds_of(self) as rounds:
            run = column_generation(
                task.formulation,
                task.oracle,
                task.y,
                tol=self.tol,
                max_columns=self.max_columns,
                max_time=inf if self.max_time is None else self.max_time,
                master=lambda formulation, signs: Watched(make(formulation, signs), rounds),
                start=start,
            )
        if not rounds.stopped:
            self._warn(run)
        return run

    def _most_rounds(self, sample: Sample) -> None:
        """Nobody knows how many rounds there will be."""

    def _solve(self, sample: Sample) -> dict[str, Any]:
        run = self._run(self._problem(sample), self._start(sample))
        return {
            "certificate_": run.certificate,
            "history_": run.history,
            "weak_learners_": tuple(column.hypothesis for column in run.columns),
            "weights_": run.weights,
            "intercept_": run.intercept,
            "dual_weights_": sample.spread(run.u),
        }

    def _warn(self, run: Run) -> None:
        if run.ending in REMEDIES:
            reached = f"the relative gap is {run.certificate.relative_gap:.3g}, tol is {self.tol:g}"
            message = f"{type(self).__name__}: {run.ending.value}; {reached}: {REMEDIES[run.ending]}"
            warnings.warn(message, ConvergenceWarning, stacklevel=2)
