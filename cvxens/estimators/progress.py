"""Progress of a fit, for those who follow it: a line on the standard error, and scikit-learn's callbacks from 1.9 on.

A fit is a task, its rounds and sub-problems are subtasks. Whoever fits enters `follow_fit`; whatever iterates inside
finds the task by `rounds_of`, and no argument is handed down to it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from math import inf
from typing import Any, TypeAlias, TypeVar

from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from sklearn.exceptions import ConvergenceWarning

from cvxens import validation
from cvxens.certificates import Certificate
from cvxens.limits import Ending, Pace, TimeUp

T = TypeVar("T")

Fitted: TypeAlias = Callable[[], Mapping[str, Any]]
"""Makes the fitted attributes as of now; called only where a callback asks for them."""


REMEDIES: Mapping[Ending, str] = {
    Ending.ROUNDING: "raise tol, or lower C",
    Ending.MAX_COLUMNS: "raise max_columns or tol",
    Ending.MAX_ROUNDS: "the oracle proves no bound that could end it; raise tol, or give an oracle that does",
    Ending.MAX_TIME: "raise max_time or tol",
    Ending.INTERRUPTED: "fit again to go further",
    Ending.VIOLATED: "scale the features, or mend the oracle's bounds",
}
"""Endings short of `tol`, and what to do about them."""

ASKED_FOR = {Ending.STOPPED, Ending.SMALL_EDGES}
"""Endings that whoever fits has asked for, whatever the gap."""


class WithoutCallbacks:
    """An estimator where scikit-learn has no callbacks: it has no `set_callbacks`."""


def _find_support() -> tuple[Any, Callable[[Any], Any]]:
    try:
        from sklearn.callback import CallbackSupportMixin, with_callbacks
    except ImportError:
        return WithoutCallbacks, lambda method: method
    return CallbackSupportMixin, with_callbacks


CallbackSupport, with_callbacks = _find_support()
"""The base class of estimators that take callbacks, and the decorator of the method that tells them."""


@dataclass(frozen=True)
class FitTask:
    """A fit, or that of a sub-problem, as scikit-learn's callbacks see it."""

    estimator: Any
    context: Any  # None where there are no callbacks
    given: Mapping[str, Any]  # X, y and metadata
    known: Mapping[str, Any]  # the fitted attributes that are known from the start

    def end(self, context: Any, fitted: Fitted | None = None) -> bool:
        """End a task or subtask, with fitted attributes or none; returns True if a callback says to stop."""
        if context is None:
            return False
        # what callbacks score is a copy of the estimator, which may be one of several classes from an earlier fit
        attributes = None if fitted is None else lambda: {"estimators_": None, **self.known, **fitted()}
        told = {"estimator": self.estimator, "reconstruction_attributes": attributes, **self.given}
        return bool(context.call_on_fit_task_end(**told))


_TASK: ContextVar[FitTask] = ContextVar("fit task")


@contextmanager
def follow_fit(task: FitTask, found: Mapping[str, Any]) -> Iterator[None]:
    """Tell callbacks of a fit, and let `rounds_of` find it; `found` has the fitted attributes once it ends."""
    if task.context is not None:
        task.context.call_on_fit_task_begin(estimator=task.estimator, **task.given)
    token = _TASK.set(task)
    try:
        yield
    finally:
        _TASK.reset(token)
    task.end(task.context, lambda: found)


@dataclass
class Rounds:
    """The rounds of a fit, shown by `tell` and to callbacks; `ending` says why `follow` ended early."""

    task: FitTask
    tell: Callable[[str], None]
    ending: Ending | None = None
    stopped: bool = False
    _n_ended: int = 0
    _context: Any = None

    def begin(self) -> None:
        """Begin a round: open its task for callbacks; one that is still open came to nothing."""
        self.close()
        if self.task.context is not None:
            context = self.task.context.subcontext("round")
            self._context = context.call_on_fit_task_begin(estimator=self.task.estimator, **self.task.given)

    def end(self, told: str, fitted: Fitted) -> bool:
        """End the round; returns True if a callback says to stop."""
        self._n_ended += 1
        self.tell(f"round {self._n_ended}, {told}")
        self.stopped = self.close(fitted)
        return self.stopped

    def close(self, fitted: Fitted | None = None) -> bool:
        """End a round, without fitted attributes if it came to nothing; returns True if a callback says to stop."""
        context, self._context = self._context, None
        return self.task.end(context, fitted)

    def follow(self, steps: Iterable[T], n_steps: float, describe: Callable[[T], str], fitted: Fitted) -> Iterator[T]:
        """Hand on at most `n_steps` steps, a round each, while there is time; an interrupt keeps those that are done.

        What `fitted` makes is asked for once whoever takes the steps has taken the round's.
        """
        remaining, done, pace = iter(steps), 0, Pace()
        try:
            while done < n_steps and not self.stopped:
                if not pace.allows_step() and done:
                    self.ending = Ending.MAX_TIME
                    return
                # a step that there is not leaves its round open, and `rounds_of` closes it as nothing
                self.begin()
                step = next(remaining)
                yield step
                done += 1
                self.end(describe(step), fitted)
        except StopIteration:
            return
        except TimeUp:
            self.ending = Ending.MAX_TIME
        except KeyboardInterrupt:
            if not done:
                raise
            self.ending = Ending.INTERRUPTED


def warn_of_gap(estimator: Any, certificate: Certificate, tol: float, reason: str, remedy: str) -> None:
    """Warn of a fit whose certificate does not hold at the tolerance that was asked for: why, and what to do."""
    if not certificate.holds(tol):
        if reason == Ending.OPTIMAL.value:
            # of the gap that the solver saw, which is without the rounding error
            reason = "rounding errors are more than tol leaves room for"
        if certificate.condition:
            reason = f"the bound holds {certificate.condition}"
        reached = f"{reason}; the relative gap is {certificate.relative_gap:.3g}, tol is {tol:g}"
        warn_of(estimator, reached, remedy)


def warn_of_run(estimator: Any, run: Any) -> None:
    """Warn of a run of column generation that ended short of the estimator's `tol`, whatever ended it.

    Without a bound there is no gap that could say when a run is done, and of an optimum of 0 a gap of rounding errors
    is any share: then only a limit is too early an end.
    """
    certificate = run.certificate
    open_gap = certificate.proven and certificate.gap > 2 * certificate.rounding
    if run.ending in REMEDIES or (open_gap and run.ending not in ASKED_FOR):
        remedy = REMEDIES.get(run.ending, "raise tol, or lower C")
        warn_of_gap(estimator, certificate, estimator.tol, run.ending.value, remedy)


def warn_of(estimator: Any, reached: str, remedy: str) -> None:
    """Warn of a fit that falls short of what was asked for: how far it came, and what to do."""
    warnings.warn(f"{type(estimator).__name__}: {reached}: {remedy}", ConvergenceWarning, stacklevel=3)


def time_limit(estimator: Any) -> float:
    """Return the `max_time` of an estimator, in seconds; inf where it has none."""
    max_time = getattr(estimator, "max_time", None)
    return inf if max_time is None else validation.positive("max_time", max_time)


@contextmanager
def rounds_of(estimator: Any) -> Iterator[Rounds]:
    """Yield the rounds of an estimator's fit, shown as a line on the standard error if it is `verbose`."""
    with _line(type(estimator).__name__, getattr(estimator, "verbose", 0)) as tell:
        rounds = Rounds(_TASK.get(FitTask(None, None, {}, {})), tell)
        try:
            yield rounds
        finally:
            rounds.close()


@contextmanager
def _line(title: str, verbose: int) -> Iterator[Callable[[str], None]]:
    """Show a line on the standard error; nothing if `verbose` is 0."""
    if not isinstance(verbose, bool):
        validation.whole("verbose", verbose, least=0)
    if not verbose:
        yield lambda _: None
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
    console = Console(stderr=True)
    if console.is_jupyter:
        # as a terminal, whose lines are overwritten without any widget
        console = Console(stderr=True, force_jupyter=False, force_terminal=True)
    with Progress(*columns, console=console) as line:
        task = line.add_task(title, total=None)
        yield lambda told: line.update(task, description=f"{title}: {told}")
