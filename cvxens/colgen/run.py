"""Column generation from a formulation and an oracle to a certified ensemble."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from cvxens.certificates import Certificate
from cvxens.colgen.driver import Step, iterate
from cvxens.colgen.formulation import Formulation
from cvxens.colgen.masters import fastest_master
from cvxens.colgen.protocols import Column, Master, Oracle
from cvxens.colgen.restricted import Restricted
from cvxens.colgen.stopping import Ending, Limits
from cvxens.errors import NotSeparable
from cvxens.types import Array


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
    """

    objective: float
    dual_bound: float
    best_edge: float
    n_columns: int
    pricing_seconds: float
    master_seconds: float


@dataclass(frozen=True)
class Run:
    """What column generation returns: an ensemble and the proof of how good it is.

    Parameters
    ----------
    certificate : Certificate
        Over every hypothesis of the oracle's set, where the oracle can bound their edges.
    columns : sequence of Column
        The weak hypotheses.
    weights : ndarray of shape (n_columns,) or (n_columns, n_outputs)
        Their weights w.
    intercept : ndarray of shape () or (n_outputs,)
        b; 0 where the formulation has none.
    u : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        The dual point that the bound is from.
    history : sequence of Round
        One row per round.
    ending : Ending
        Why the run ended.
    """

    certificate: Certificate
    columns: Sequence[Column]
    weights: Array
    intercept: Array
    u: Array
    history: Sequence[Round]
    ending: Ending

    def decision_function(self, X: Any) -> Array:
        """Evaluate H w + b on new samples; returns (n_samples,) or (n_samples, n_outputs)."""
        used = np.flatnonzero(self.weights.any(axis=tuple(range(1, self.weights.ndim))))
        if not used.size:
            return np.zeros((np.shape(X)[0], *self.intercept.shape)) + self.intercept
        H = np.stack([self.columns[j].hypothesis(X) for j in used.tolist()], axis=1)
        return H @ self.weights[used] + self.intercept


def column_generation(
    formulation: Formulation,
    oracle: Oracle,
    y: Any = None,
    *,
    tol: float = 1e-6,
    max_columns: int | None = None,
    max_time: float = inf,
    master: Callable[[Formulation, Array], Master] = fastest_master,
) -> Run:
    """Solve a formulation over all hypotheses of an oracle.

    Parameters
    ----------
    formulation : Formulation
        Loss and penalty; `cvxens.colgen.formulations` has those of the literature.
    oracle : Oracle
        Prices hypotheses on the training sample, such as ``oracles.Stumps(X)``.
    y : array-like of shape (n_samples,), optional
        Labels -1 and +1; none where the loss is on scores and holds its targets itself.
    tol : float
        Relative gap at which to stop, above 0.
    max_columns : int, optional
        Stop when the master has so many columns.
    max_time : float
        Stop after so many seconds.
    master : callable
        Makes the master from formulation and signs: a class of `cvxens.colgen.masters`, by default the fastest
        that supports the formulation.

    Returns
    -------
    Run
        The best state reached, also when a limit or Ctrl-C ended the run.

    Raises
    ------
    NotSeparable
        Margins of at least 1 are asked for and the oracle has no hypothesis to reach them.

    Examples
    --------
    >>> from cvxens.colgen import formulations, oracles
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), [1.0, -1.0, 1.0]
    >>> run = column_generation(formulations.soft_margin(C=1.0), oracles.Stumps(X), y)
    >>> run.certificate.primal, run.certificate.proven, run.ending.name
    (3.0, True, 'OPTIMAL')
    """
    limits = Limits(tol, max_columns, max_time)
    signs = formulation.signs(y)
    search = _Search(master(formulation, signs), oracle, formulation.sense)
    ending = search.run(limits)
    if ending is Ending.EXHAUSTED and search.best_primal.solution.objective == inf:
        last = search.best_primal
        size = float(last.solution.u.sum())
        raise NotSeparable(last.solution.u / size, last.priced.best_edge / size)
    return search.result(formulation, signs, ending)


class _Search:
    """The incumbents of a run: the step with the lowest objective, and that with the highest bound."""

    def __init__(self, master: Master, oracle: Oracle, sense: float) -> None:
        self.master = master
        self.oracle = oracle
        self.sense = sense
        self.best_primal: Step
        self.best_dual: Step
        self.history: list[Round] = []

    def run(self, limits: Limits) -> Ending:
        """Iterate until a limit is reached; an interrupt ends the run once there is a state to return."""
        start = time.perf_counter()
        try:
            for step in iterate(self.master, self.oracle):
                self._take(step)
                objective, bound = self.best_primal.solution.objective, self.best_dual.bound
                ending = limits.reached(objective, bound, len(step.columns), time.perf_counter() - start)
                if ending is not None:
                    return ending
        except KeyboardInterrupt:
            if not self.history:
                raise
            return Ending.INTERRUPTED
        return Ending.EXHAUSTED

    def _take(self, step: Step) -> None:
        if not self.history or step.solution.objective <= self.best_primal.solution.objective:
            self.best_primal = step
        if not self.history or step.bound > self.best_dual.bound:
            self.best_dual = step
        self.history.append(
            Round(
                self.sense * step.solution.objective,
                self.sense * self.best_dual.bound,
                step.priced.best_edge,
                len(step.columns),
                step.pricing_seconds,
                step.master_seconds,
            )
        )

    def result(self, formulation: Formulation, signs: Array, ending: Ending) -> Run:
        """Certify the incumbents over the columns of the primal one."""
        primal, dual = self.best_primal, self.best_dual
        restricted = Restricted(formulation, signs)
        restricted.add(primal.columns)
        certificate = Certificate.between(
            self.sense * primal.solution.objective,
            self.sense * dual.bound,
            maximise=formulation.maximise,
            residuals=restricted.residuals(primal.solution, dual.solution.u, dual.priced) if primal.columns else {},
            repair={},
            proven=formulation.certified and dual.priced.edge_bound < inf,
            note=_basis(formulation, dual),
        )
        solution = primal.solution
        return Run(certificate, primal.columns, solution.w, solution.b, dual.solution.u, tuple(self.history), ending)


def _basis(formulation: Formulation, dual: Step) -> str:
    if not formulation.certified:
        return "bound taken from the solver"
    bounded = dual.priced.edge_bound < inf and dual.bound > -inf
    return "over every hypothesis of the oracle" if bounded else "the oracle cannot bound the edges"
