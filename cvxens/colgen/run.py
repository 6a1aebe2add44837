"""Column generation from a formulation and an oracle to a certified ensemble."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np

from cvxens import validation
from cvxens.certificates import Certificate
from cvxens.colgen.checkpoint import Checkpoint
from cvxens.colgen.driver import Incumbent, Step, iterate
from cvxens.colgen.journal import Journal, Task, Unwritten, Written
from cvxens.colgen.masters import fastest_master
from cvxens.colgen.progress import Progress, Round
from cvxens.colgen.protocols import Column, Hypothesis, Master, Oracle, Priced
from cvxens.colgen.restricted import Restricted
from cvxens.colgen.stopping import PATIENCE, Ending, Limits, relative_gap
from cvxens.deadline import Deadline, TimeUp, limit_time
from cvxens.errors import InvalidInput, NotSeparable
from cvxens.problems.duality import edge_rounding
from cvxens.problems.formulation import Formulation
from cvxens.types import Array


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
    max_rounds: int | None = None,
    patience: int = PATIENCE,
    master: Callable[[Formulation, Array], Master] = fastest_master,
    start: Iterable[Hypothesis] = (),
    checkpoint: Checkpoint | None = None,
    callback: Callable[[Step], bool | None] | None = None,
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
        Stop after so many seconds, with the state after the last round that was over by then.
    max_rounds : int, optional
        Stop after so many rounds; by default after 100 where the oracle cannot bound the edges of its hypotheses
        (`SklearnLearner`, `Trees`, `Perceptrons` and `Fourier` with new ones in every call), as no gap ends such a run
        and new hypotheses may be found for ever, and never where it can.
    patience : int
        Where the oracle cannot bound the edges, stop when so many rounds together have improved the objective by no
        more than `tol`, relative.
    master : callable
        Makes the master from formulation and signs: a class of `cvxens.colgen.masters`, by default the fastest
        that supports the formulation.
    start : iterable of Hypothesis
        Hypotheses to start with, such as ``[c.hypothesis for c in run.columns]`` of an earlier run or the weak
        learners of a model; of those with the same values on the sample one is taken. They enter before the first
        round, evaluated on the oracle's `sample`, or after it where the oracle says by its answer only what that is.
        Every bound is one over every hypothesis of the oracle and these; before they have entered there is none.
    checkpoint : Checkpoint, optional
        Where the state is written down. If the file is there, the run resumes from it, and `max_time` starts from then.
    callback : callable, optional
        Called with the `Step` of every round, also of those that a checkpoint plays again; returns True to end the run
        after it, as `Ending.STOPPED`. A step's objectives and bounds are of a minimum: times `formulation.sense`,
        they are the formulation's.

    Returns
    -------
    Run
        The best state reached, also when a limit or Ctrl-C ended the run. A bound that is beyond the objective by more
        than rounding ends the run as `Ending.VIOLATED`, unproven.

    Raises
    ------
    InvalidInput
        The formulation, the labels or the limits cannot be worked with, `start` has a hypothesis that cannot be
        evaluated on the oracle's sample, or the oracle's hypotheses contradict its bounds.
    NotSeparable
        Margins of at least 1 are asked for, and sample weights prove that the oracle has no hypotheses to reach them:
        no edge under them is above 0 by more than rounding. Without that proof the run returns without weights.
    DataFileError
        The checkpoint is there and is damaged, or of another run.

    Examples
    --------
    >>> from cvxens.colgen import formulations, oracles
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), [1.0, -1.0, 1.0]
    >>> run = column_generation(formulations.soft_margin(C=2.0), oracles.Stumps(X), y)
    >>> run.certificate.primal, run.certificate.proven, run.ending.name
    (3.0, True, 'OPTIMAL')

    Again, from what it has found:

    >>> again = column_generation(
    ...     formulations.soft_margin(C=2.0), oracles.Stumps(X), y, start=[c.hypothesis for c in run.columns]
    ... )
    >>> len(run.history), len(again.history), again.certificate.primal
    (3, 1, 3.0)

    Told of every round:

    >>> def stop_at_two_columns(step):
    ...     print(step.number, step.incumbent.solution.objective, round(step.relative_gap, 3))
    ...     return len(step.columns) >= 2
    >>> column_generation(
    ...     formulations.soft_margin(C=2.0), oracles.Stumps(X), y, callback=stop_at_two_columns
    ... ).ending.name
    1 6.0 0.5
    2 5.0 0.4
    'STOPPED'
    """
    limits = Limits(tol, max_columns, max_time, max_rounds, patience)
    validation.instance("formulation", formulation, Formulation)
    validation.offers("oracle", oracle, "price", "sample")
    signs = formulation.signs(y)
    task = Task(formulation, signs, master(formulation, signs), oracle, _distinct(start))
    journal: Journal = Unwritten(oracle) if checkpoint is None else Written(checkpoint, task)
    progress, ending = _Search(task, journal, lambda: master(formulation, signs), callback).run(limits)
    if ending is Ending.EXHAUSTED and (proof := _inseparable(task, progress.primal)) is not None:
        raise proof
    try:
        return _certified(task, progress, ending)
    except KeyboardInterrupt:
        return _certified(task, progress, Ending.INTERRUPTED)


def _distinct(start: Iterable[Hypothesis]) -> tuple[Hypothesis, ...]:
    try:
        hypotheses = tuple(dict.fromkeys(start))
    except TypeError as error:
        raise InvalidInput("start", f"found {start!r:.100} ({error})", "give hashable hypotheses") from None
    for hypothesis in hypotheses:
        if not callable(hypothesis):
            raise InvalidInput("start", f"found {hypothesis!r:.100}", "give hypotheses: functions of samples")
    return hypotheses


class _Search:
    """The loop of a run, and how far it has come."""

    def __init__(
        self,
        task: Task,
        journal: Journal,
        new_master: Callable[[], Master],
        callback: Callable[[Step], bool | None] | None = None,
    ) -> None:
        self.task = task
        self.journal = journal
        self.new_master = new_master
        self.callback = callback
        self.progress: Progress | None = None
        self.certifying = 0.0
        """Seconds that a column of the certificate takes."""
        self.pricing = 0.0
        """The most seconds that a pricing took."""

    def run(self, limits: Limits) -> tuple[Progress, Ending]:
        """Iterate until a limit is reached; an interrupt ends the run with what there is."""
        # with a checkpoint one new round is never cut, so that every call gets further
        with limit_time(limits.max_time if isinstance(self.journal, Unwritten) else inf) as clock:
            try:
                return self._iterate(limits, clock)
            except KeyboardInterrupt:
                return self._cut(Ending.INTERRUPTED)
            except TimeUp:
                return self._cut(Ending.MAX_TIME)

    def _cut(self, ending: Ending) -> tuple[Progress, Ending]:
        """The state after the last round that was over, as its incumbents are certified."""
        progress = self.journal.restored(self.progress)
        if progress is None:
            with limit_time(inf, alone=True):
                return self._beginning(), ending
        self.journal.keep(progress, ending)
        return progress, ending

    def _iterate(self, limits: Limits, clock: Deadline) -> tuple[Progress, Ending]:
        done = self.journal.done(limits)
        for step in iterate(self.task.master, self.journal, self.task.start):
            progress = self._after(step)
            if done is not None and (restored := self.journal.restored(progress)) is not None:
                return restored, done
            catching_up = len(progress.history) <= len(self.journal.rows)
            if catching_up:
                clock.restart()
            else:
                clock.max_time = limits.max_time
            self._reserve(step, clock)
            seconds = limits.max_time if clock.left <= 0 else 0.0
            best, bound = progress.primal.solution.objective, progress.dual.bound
            rows, sense = progress.history, progress.sense
            ending = limits.reached(
                best, bound, len(step.columns), seconds, rounding=self._rounding, rows=rows, sense=sense
            )
            # with the rounding error, if that was asked for
            progress = self.progress or progress
            if self.callback is not None and self._tell(self.callback, step, progress, clock):
                ending = ending or Ending.STOPPED
            self.journal.keep(progress, ending)
            if ending is not None:
                return progress, ending
        self.journal.keep(progress, Ending.EXHAUSTED)
        return progress, Ending.EXHAUSTED

    @staticmethod
    def _tell(callback: Callable[[Step], bool | None], step: Step, progress: Progress, clock: Deadline) -> bool:
        """Tell the callback of a step; returns whether to stop."""
        primal, bound = progress.primal, progress.dual.bound
        told = replace(
            step,
            number=len(progress.history),
            incumbent=Incumbent(primal.columns, primal.solution),
            best_bound=bound,
            relative_gap=relative_gap(primal.solution.objective, bound),
            seconds=clock.seconds,
        )
        return bool(callback(told))

    def _reserve(self, step: Step, clock: Deadline) -> None:
        """Leave time for what comes after the last master: pricing, and the certificate, in proportion to its columns.

        Both are measured. The next round's columns are those of this one, and as many more as were found now.
        """
        if self.progress is None or clock.left == inf:
            return
        n_columns = len(self.progress.primal.columns)
        if n_columns and self.certifying == 0.0:
            began = clock.seconds
            _certified(self.task, self.progress, Ending.MAX_TIME)
            self.certifying = (clock.seconds - began) / n_columns
        self.pricing = max(self.pricing, step.pricing_seconds)
        clock.reserve = self.certifying * (len(step.columns) + len(step.priced.columns)) + self.pricing

    def _after(self, step: Step) -> Progress:
        before = self.progress or Progress(self.task.formulation.sense, step, step)
        progress = before.after(step)
        progress = progress if self.task.formulation.has_conjugate else progress.claimed()
        self.progress = progress.timed(self.journal.rows)
        return self.progress

    def _rounding(self) -> float:
        """The rounding error of the incumbents, which is put down with the round."""
        assert self.progress is not None
        self.progress = self.progress.rounded(rounding_of(self.task, self.progress))
        return self.progress.history[-1].rounding or 0.0

    def _beginning(self) -> Progress:
        """The state before the first round is over: no columns, and no more than a master knows without an oracle."""
        master, nothing = self.new_master(), Priced(())
        solution = master.solve()
        step = Step(solution, nothing, master.bound(solution, nothing), (), 0.0, 0.0)
        return Progress(self.task.formulation.sense, step, step)


def _restricted(task: Task, columns: Sequence[Column]) -> Restricted:
    restricted = Restricted(task.formulation, task.signs)
    restricted.add(columns)
    return restricted


def rounding_of(task: Task, progress: Progress) -> float:
    """Bound the rounding error of the best objective and of the best bound, which may be from another step."""
    restricted = _restricted(task, progress.primal.columns)
    return restricted.rounding(progress.primal.solution, progress.dual.solution.u)


def _inseparable(task: Task, last: Step) -> NotSeparable | None:
    """The proof that no margins of 1 can be reached, if the multipliers of the last step are one."""
    solution, size = last.solution, float(last.solution.u.sum())
    if solution.objective < inf or size == 0:
        return None
    # where nothing has an edge there may be no columns yet, but an answer shows the size of the hypotheses
    largest = _restricted(task, (*last.columns, *last.priced.columns)).problem.H.largest
    max_edge = last.priced.edge_bound / size
    proves = max_edge <= edge_rounding(len(solution.u), largest)
    return NotSeparable(solution.u / size, max_edge) if proves else None


def _certified(task: Task, progress: Progress, ending: Ending) -> Run:
    """Certify the incumbents over the columns of the primal one."""
    primal, dual, formulation = progress.primal, progress.dual, task.formulation
    restricted = _restricted(task, primal.columns)
    rounding = restricted.rounding(primal.solution, dual.solution.u)
    violated = relative_gap(primal.solution.objective, dual.bound, rounding) < 0
    certificate = Certificate.between(
        progress.sense * primal.solution.objective,
        progress.sense * dual.bound,
        maximise=formulation.maximise,
        residuals=restricted.residuals(primal.solution, dual.solution.u, dual.priced) if primal.columns else {},
        repair={},
        rounding=rounding,
        proven=formulation.has_conjugate and dual.priced.edge_bound < inf and not violated,
        note=Ending.VIOLATED.value if violated else _basis(formulation, dual, ending),
    )
    solution = primal.solution
    return Run(certificate, primal.columns, solution.w, solution.b, dual.solution.u, progress.history, ending)


def _basis(formulation: Formulation, dual: Step, ending: Ending) -> str:
    if dual.bounded:
        return "over every hypothesis of the oracle" if formulation.has_conjugate else "bound taken from the solver"
    unbounded = "the oracle cannot bound the edges"
    return f"{unbounded}, and the objective has stopped improving" if ending is Ending.STALLED else unbounded
