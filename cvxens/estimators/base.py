"""Estimators as scikit-learn knows them: parameters, progress, several classes, a fit done whole or not at all.

A base class declares the parameters that its estimators share as keyword-only fields, and the fitted attributes as
fields that the constructor does not take, and documents both in its own docstring. `estimator` makes the class that
users see: scikit-learn finds the parameters in the signature of the constructor that `dataclass` writes, and readers
find all of them in the docstring.

A fit is a task, its rounds and sub-problems are subtasks, for a line on the standard error and for scikit-learn's
callbacks from 1.9 on. Whoever fits enters `follow_fit`; whatever iterates inside finds the task by `rounds_of`, and no
argument is handed down to it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar, copy_context
from copy import copy, deepcopy
from dataclasses import dataclass, field, fields, is_dataclass, replace
from inspect import signature
from itertools import chain
from math import inf
from typing import Any, ClassVar, Self, TypeAlias, TypeVar, dataclass_transform
from warnings import catch_warnings, filterwarnings, simplefilter, warn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, _safe_indexing
from sklearn.utils.metaestimators import available_if
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from cvxens import validation
from cvxens.certificates import Certificate
from cvxens.colgen import Run
from cvxens.docstrings import compose, read_entries
from cvxens.errors import InvalidInput, SolverFailed
from cvxens.estimators.explanations import Terms, find_effects, refuse_terms, write_report
from cvxens.estimators.samples import Accepts, Sample, TargetSample
from cvxens.estimators.saving import Place, Trusted, load_as, save_model
from cvxens.limits import Ending, Pace, TimeUp, find_reason, heed_interrupts, interrupt, limit_time
from cvxens.proofs import Layout, Proof
from cvxens.types import Array, Attempt, Data, Given, Labels, Matrix

T = TypeVar("T")

Attributes: TypeAlias = dict[str, Any]
"""The attributes of a fit, by name."""

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

    estimator: BaseEstimator
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
                    self.ending = find_reason()
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
            self.ending = find_reason()
        except KeyboardInterrupt:
            if not done:
                raise
            self.ending = Ending.INTERRUPTED


def warn_of_gap(estimator: BaseEstimator, certificate: Certificate, tol: float, reason: str, remedy: str) -> None:
    """Warn of a fit whose certificate does not hold at the tolerance that was asked for: why, and what to do."""
    if not certificate.holds(tol):
        if reason == Ending.OPTIMAL.value:
            # of the gap that the solver saw, which is without the rounding error
            reason = "rounding errors are more than tol leaves room for"
        if certificate.condition:
            reason = f"the bound holds {certificate.condition}"
        reached = f"{reason}; the relative gap is {certificate.relative_gap:.3g}, tol is {tol:g}"
        warn_of(estimator, reached, remedy)


def warn_of_run(estimator: BaseEstimator, run: Run) -> None:
    """Warn of a run of column generation that ended short of the estimator's `tol`, whatever ended it.

    Without a bound there is no gap that could say when a run is done, and of an optimum of 0 a gap of rounding errors
    is any share: then only a limit is too early an end.
    """
    certificate = run.certificate
    open_gap = certificate.proven and certificate.gap > 2 * certificate.rounding
    # what whoever fits has asked for is no shortfall, whatever the gap
    asked_for = {Ending.STOPPED, Ending.SMALL_EDGES}
    if run.ending in REMEDIES or (open_gap and run.ending not in asked_for):
        remedy = REMEDIES.get(run.ending, "raise tol, or lower C")
        warn_of_gap(estimator, certificate, estimator.tol, run.ending.value, remedy)


def warn_of(estimator: BaseEstimator, reached: str, remedy: str) -> None:
    """Warn of a fit that falls short of what was asked for: how far it came, and what to do."""
    warn(f"{type(estimator).__name__}: {reached}: {remedy}", ConvergenceWarning, stacklevel=3)


def time_limit(estimator: BaseEstimator) -> float:
    """Return the `max_time` of an estimator, in seconds; inf where it has none."""
    max_time = vars(estimator).get("max_time")
    return inf if max_time is None else validation.positive("max_time", max_time)


@contextmanager
def rounds_of(estimator: BaseEstimator) -> Iterator[Rounds]:
    """Yield the rounds of an estimator's fit, shown as a line on the standard error if it is `verbose`."""
    title, verbose = type(estimator).__name__, vars(estimator).get("verbose", 0)
    if not isinstance(verbose, bool):
        validation.whole("verbose", verbose, least=0)
    rounds = Rounds(_TASK.get(FitTask(None, None, {}, {})), lambda _: None)
    with ExitStack() as shown:
        if verbose:
            columns = (SpinnerColumn(), TextColumn("{task.description}"), TimeElapsedColumn())
            console = Console(stderr=True)
            if console.is_jupyter:
                # as a terminal, whose lines are overwritten without any widget
                console = Console(stderr=True, force_jupyter=False, force_terminal=True)
            line = shown.enter_context(Progress(*columns, console=console))
            place = line.add_task(title, total=None)
            rounds.tell = lambda told: line.update(place, description=f"{title}: {told}")
        try:
            yield rounds
        finally:
            rounds.close()


AUTO = "auto"
"""The value of a parameter that is chosen from the sample."""


def is_open(name: str, value: object) -> bool:
    """Return True of a price that is chosen from the sample; `InvalidInput` for other words."""
    return isinstance(value, str) and validation.one_of(name, value, [AUTO]) == AUTO


class Shared:
    """What parameters mean that several bases declare.

    Parameters
    ----------
    oracle : str or callable
        The weak learners: "stumps" (all middle stumps), "quantile_stumps" (at most 32 per feature), "depth_two_trees"
        (all trees of depth 2 over at most 64 bins per feature), "depth_three_trees" (those of depth 3 over 16 bins),
        "pair_rules" (all rules of at most two conditions over 64 bins), "boxes" (all conjunctions of at most three
        intervals over 16 bins), "ramps" (straight lines that begin or end anywhere), "perceptrons", "fourier", "trees"
        (as C4.5 grows them), or a function from X to an oracle, such as ``oracles.Stumps`` or
        ``functools.partial(oracles.Boxes, max_length=2)``; boosting takes values within
        [-1, 1]. The first six take sparse X, and as "trees" does NaN: a missing value counts as above in some weak
        learners, as below in others, and there are tests for it. The first two and "trees" take data frames with
        columns of categories, strings or booleans, whose values `features_` then lists: of a nominal feature there are
        the tests of one level against the rest, or of any levels with
        ``functools.partial(oracles.Stumps, levels="subsets")``. Classifiers of scikit-learn, as in
        ``functools.partial(oracles.SklearnLearner, DecisionTreeClassifier(max_depth=2))``, take what they take by
        themselves, and oracles of your own are handed sparse X as it is (CSR or CSC). Those that are sampled or
        learned, such as perceptrons, Fourier features, "trees" and these classifiers, are heuristic: nothing is proven
        over all of them.
    random_state : int, RandomState instance or None
        Seed of an oracle that samples.
    max_time : float, optional
        Stop, with a ConvergenceWarning, after so many seconds; of each sub-problem where there are several. Ctrl-C
        does the same: what is done is kept. What is compiled at the first fit of all counts: up to some ten seconds.
    verbose : int
        1 shows progress on the standard error. From scikit-learn 1.9 on, its callbacks can follow: `set_callbacks`.
    class_weight : dict, "balanced" or None
        Factors on the price of a class's slack; "balanced" gives all classes the same sum. However light a class is, it
        decides among ensembles that are equal on the others: AdaBoost, LPBoost and MultiBoost, whose optima are of few
        stumps, put a threshold at the last sample of a class of 1e7 times the weight, and new ones beyond it go to the
        other class. So they fail scikit-learn's check_class_weight_classifiers (0.82 of new samples in place of 0.87;
        AdaBoostClassifier of scikit-learn has the same 0.82), which declares it as expected.
    n_jobs : int, optional
        Sub-problems fitted at a time, as joblib counts.
    """


@dataclass_transform(eq_default=False)
def estimator(kind: type[T]) -> type[T]:
    """Make a dataclass of an estimator, and complete its docstring by the parameters and attributes that it inherits.

    Positional parameters come first, then those of the class itself, then those of its bases; last those that
    `Shared` documents, or the class variable `local`, where an estimator stands for one of that class on more than one
    machine.
    The class variable `fitted` gets the names of the fields that are no parameters.
    """
    kind = dataclass(eq=False, repr=False)(kind)
    positional = [name for name, found in signature(kind).parameters.items() if found.kind is not found.KEYWORD_ONLY]
    bases = [base for base in kind.__mro__ if is_dataclass(base)]
    fitted = [f.name for f in fields(kind) if not f.init and not f.name.startswith("_")]  # type: ignore[arg-type]
    like: type = vars(kind).get("local", object)
    rest = [*signature(kind).parameters], fitted if like is not object else []
    parameters, attributes = (
        dict.fromkeys([*first, *(name for base in bases for name in read_entries(base, title)), *last])
        for title, first, last in zip(("Parameters", "Attributes"), (positional, []), rest, strict=True)
    )
    compose(kind, Shared, like, Parameters=parameters, Attributes=attributes)
    kind.fitted = tuple(fitted)  # type: ignore[attr-defined]
    return kind


LEARNT_OF_X = ("n_features_in_", "feature_names_in_", "features_", "encoder_")
"""The attributes that reading a sample sets."""


@dataclass(eq=False, repr=False)
class Learner(CallbackSupport, BaseEstimator, ABC):  # type: ignore[misc, valid-type]
    """An estimator as scikit-learn knows it, on top of a method that solves one problem.

    A subclass says what X may be, reads and solves a sample, and scores new samples. Its class variable `fitted` names
    the attributes that `_solve` returns.

    Attributes
    ----------
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Their names, where X had names that are all strings.
    """

    certificate_: Certificate = field(init=False)
    fitted: ClassVar[tuple[str, ...]]
    _counts_beside: ClassVar[Mapping[str, tuple[str, Sequence[str | bool]]]] = {}
    """The parameters that count beside some values of another one alone, each with that and these."""
    _kind_of_sample: ClassVar[type[Any]]
    """What reads X and y, and what goes with them."""
    _solve_parts: ClassVar[Callable[..., Attributes]]
    """Solves the problems of a sample that makes several, from that and the task."""

    save = save_model
    effects = find_effects
    report = write_report

    @classmethod
    def load(cls, path: Place, *, trusted: Trusted = ()) -> Self:
        """Read an estimator of this class that `save` wrote; `cvxens.load_model` says more."""
        return load_as(cls, path, trusted=trusted)

    def _accepts(self) -> Accepts:
        """Say what X may be beyond dense finite numbers; it must not raise."""
        return Accepts()

    def _read(self, X: Data, y: ArrayLike, *, sensitive_features: Given = None, **given: Any) -> Any:
        """Check and encode a sample and what goes with it; unless `reset`, its features have to be those of the fit."""
        if self._counts_beside:
            refuse_idle(self)
        sample: Any = self._kind_of_sample.read(self, X, y, self._accepts(), **given)
        return sample if sensitive_features is None else sample.tell_apart(sensitive_features)

    @abstractmethod
    def _solve(self, sample: Any) -> Attributes:
        """Solve the problem of a sample; returns the fitted attributes, while those of an earlier fit are still set."""

    @abstractmethod
    def _scores(self, X: Matrix) -> Array:
        """Score checked samples by the one problem: (n_samples,), or (n_samples, n_outputs)."""

    def _check(self, sample: Any) -> None:
        """Check what does not depend on a sub-problem."""

    def _list_alternatives(self) -> list[dict[str, Any]]:
        """Return what is open beside the price: parameters that are tried, those of the fewest hypotheses first."""
        return [{}]

    def _adapt(self, choice: Any, sample: Any) -> Any:
        """Return the choice of a price C of a problem as one of what is the parameter, where that is another."""
        return choice

    def _open_path(self, search: Any, others: Mapping[str, Any]) -> Any:
        """Return the path of prices of a search, with other parameters than its own; of methods that have one."""
        found = f"found a {type(self).__name__}, which has no path of prices"
        raise InvalidInput("estimator", found, "use scikit-learn's GridSearchCV")

    def _merges(self) -> bool:
        """Return True if the price of a sample follows its weight, so that samples that are alike can be merged."""
        return True

    def _list_terms(self) -> Terms:
        """Return what the scores are sums of."""
        return refuse_terms(self)

    def _say_score(self) -> str:
        """Say in a few words what the one score is, where it is not what is predicted."""
        return ""

    def _most_rounds(self, sample: Any) -> int | None:
        """Return the largest number of rounds of a fit; None if that is not known, 0 for a method without rounds."""
        return 0

    @with_callbacks
    def fit(self, X: Data, y: ArrayLike, sample_weight: Given = None) -> Self:
        """Fit the estimator.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features; the class says whether sparse matrices or missing values are taken.
        y : array-like of shape (n_samples,)
            Two or more classes of a classifier, numbers of a regressor.
        sample_weight : array-like of shape (n_samples,), optional
            Factors on the price of each sample's slack, 0 or above; a sample of weight 0 plays no part.

        Returns
        -------
        self
            Fitted; an estimator whose fit fails stays as it was.

        Raises
        ------
        InvalidInput
            Arguments, or parameters of the constructor, that cannot be worked with; it is a ValueError.
        """
        return self._fit_given(X, y, sample_weight=sample_weight)

    def _fit_given(self, X: Data, y: ArrayLike, **given: Any) -> Self:
        """Fit to a sample and what `fit` was given of it beside X and y."""
        # a copy learns the features of X, so that a fit that fails leaves the estimator as it was
        reader = copy(self)
        with translate_overflow(self), limit_time(time_limit(self)), heed_interrupts():
            sample = reader._read(X, y, reset=True, **given)
            self._check(sample)
            validation.n_jobs(vars(self).get("n_jobs"))
            n_parts = self._n_problems(sample)
            sample = sample.merge() if self._merges() and n_parts == 1 else sample
            found = {name: value for name, value in vars(reader).items() if name in LEARNT_OF_X} | sample.known
            told = {name: value for name, value in given.items() if value is not None}
            context = None
            if "_skl_callbacks" in vars(self):
                n_tasks = n_parts if n_parts > 1 else self._most_rounds(sample)
                context = self._init_callback_context(max_subtasks=n_tasks, sequential_subtasks=n_parts == 1)
            task = FitTask(self, context, {"X": X, "y": y, **({"metadata": told} if told else {})}, dict(found))
            with follow_fit(task, found):
                found |= self._solve(sample) if n_parts == 1 else self._solve_parts(sample, task)
        self._adopt(found)
        return self

    def _adopt(self: Any, found: Mapping[str, Any]) -> None:
        """Set the attributes of a fit, in place of those of an earlier one."""
        for name in ("estimators_", *LEARNT_OF_X):
            self.__dict__.pop(name, None)
        # what could prove a certificate exactly holds the sample: `prove` is given it again
        kept = {k: replace(v, prover=None) if isinstance(v, Certificate) else v for k, v in found.items()}
        self.__dict__.update(kept)

    def _n_problems(self, sample: Any) -> int:
        """Return the number of problems that a sample makes."""
        return 1

    def _problems(self, sample: Any) -> Iterator[Any]:
        """Yield the samples of the problems that a sample makes."""
        n_parts = self._n_problems(sample)
        yield from [sample] if n_parts == 1 else map(sample.against_rest, range(n_parts))

    def _parts(self: Any) -> Sequence[Any]:
        """Return the fitted classifiers of the sub-problems; the estimator itself where there is one problem."""
        return vars(self).get("estimators_") or [self]

    def _show(self: Any, values: list[Any]) -> Any:
        """Return a list over the sub-problems as users see it: its only entry where there is one problem."""
        return values if vars(self).get("estimators_") else values[0]

    def _map_problems(self, function: Callable[..., T], sample: Any, **given: Any) -> T | list[T]:
        """Apply a function to every fitted classifier and its problem on a sample; arguments are lists if parts are."""
        parts = self._parts()
        for name, values in given.items():
            if values is None or parts == [self]:
                given[name] = [values] * len(parts)
            elif len(values) != len(parts):
                found = f"found {len(values)} for {len(parts)} sub-problems"
                raise InvalidInput(name, found, "give one for each, in a list")
        answers = []
        for k, (part, problem) in enumerate(zip(parts, self._problems(sample), strict=True)):
            of_part = {name: values[k] for name, values in given.items()}
            answers.append(function(part, problem, **of_part))
        return self._show(answers)

    def _read_again(self, X: Data, y: ArrayLike, **given: Any) -> Any:
        """Read a sample to hold the fitted estimator against."""
        check_is_fitted(self)
        # rankers take no weights
        told = {name: value for name, value in given.items() if value is not None}
        sample = self._read(X, y, reset=False, **told)
        known: Any = vars(self).get("classes_")
        if isinstance(sample, Sample) and not np.array_equal(sample.classes, known):
            raise InvalidInput("y", f"found the classes {sample.classes}", f"give samples of all of {known}")
        return sample

    def certify(
        self,
        X: Data,
        y: ArrayLike,
        *,
        sample_weight: Given = None,
        weights: Given = None,
        intercept: Given = None,
        **more: Given,
    ) -> Certificate | list[Certificate]:
        """Say how far the fitted estimator, or one of other weights, is from the optimum on a sample.

        The problem is solved anew on that sample, within the limits of the estimator, for the bound. A kernel is as it
        was fitted, and so are weak learners; what the estimator leaves to be chosen by default follows from the sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features of any sample.
        y : array-like of shape (n_samples,)
            Its targets; of a classifier, the classes of the fitted sample, all of them.
        sample_weight : array-like of shape (n_samples,), optional
            As in `fit`.
        weights : array-like, shaped as `weights_` or, of kernels, as `dual_coef_`, optional
            Weights from anywhere; by default the fitted ones.
        intercept : float or array-like, shaped as `intercept_`, optional
            By default the fitted one, with `weights` the best one; only of problems that have an intercept.
        **more
            What else `fit` takes of a sample, such as `sensitive_features`, or the `qid` of a ranker.

        Returns
        -------
        Certificate or list of Certificate
            Of the problem on that sample, over all hypotheses of the kernel, or of the oracle on that sample and those
            of the ensemble, which need not be among these: bins and scales are of the sample. A list over the
            sub-problems where there are several, for which weights and intercept are lists as well.

        Raises
        ------
        InvalidInput
            Arguments that do not fit the model; a precomputed kernel, whose values between the samples are not known.
        """
        sample = self._read_again(X, y, sample_weight=sample_weight, **more)
        if weights is None:
            # of ensembles, and of kernels
            weights = vars(self).get("weights_", vars(self).get("dual_coef_"))
            intercept = vars(self).get("intercept_") if intercept is None else intercept
        point = {"weights": weights, "intercept": intercept}
        found: Certificate | list[Certificate] = self._map_problems(type(self)._certify, sample, **point)
        return found

    @abstractmethod
    def _certify(self, sample: Any, weights: ArrayLike, intercept: ArrayLike) -> Certificate:
        """Certify weights of the one problem on a sample, with the best intercept where none is given."""

    def _raw_scores(self, X: Data) -> Array:
        """Score checked samples by the one problem, or by every sub-problem, (n_samples, n_parts)."""
        parts = self._parts()
        return self._scores(X) if parts == [self] else np.stack([part._scores(X) for part in parts], axis=1)

    def _to_scores(self, F: Array) -> Array:
        """Turn raw scores into those that users see."""
        return F

    def __sklearn_is_fitted__(self) -> bool:
        return "certificate_" in vars(self)

    def __sklearn_tags__(self) -> Tags:
        tags, accepts = super().__sklearn_tags__(), self._accepts()
        tags.input_tags.sparse, tags.input_tags.allow_nan = bool(accepts.sparse), accepts.missing
        tags.input_tags.categorical = accepts.nominal
        return tags


@dataclass(eq=False, repr=False)
class Predictor(Learner):
    """An estimator whose scores are its predictions: a regressor, a ranker, or a survival model."""

    def _rate(self) -> object:
        """Return what chooses a price, if nothing else is asked for, as scikit-learn's `check_scoring` takes it."""
        return "neg_mean_absolute_error"

    def predict(self, X: Data) -> Array:
        """Predict the targets of a regression, the order of a ranking, or the risks of a survival model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predictions, of a regression of counts or amounts their means. Those of a ranker are scores: within a query,
            samples of higher grades are to have higher ones. Those of a survival model are scores f too: the hazard is
            that of f = 0 times exp(f), so that events are the earlier the higher they are.
        """
        check_is_fitted(self)
        return self._to_scores(self._raw_scores(self._accepts().read(self, X)))


@dataclass(eq=False, repr=False)
class Regressor(RegressorMixin, Predictor):
    """A regressor."""

    _kind_of_sample: ClassVar[type[Any]] = TargetSample
    _counts_beside: ClassVar = {
        "delta": ("loss", ["huber"]),
        "epsilon": ("loss", ["epsilon_insensitive"]),
        "quantile": ("loss", ["quantile"]),
        "power": ("loss", ["tweedie"]),
    }


def _has_link(classifier: Any) -> bool:
    """Return True if there are probabilities, which is up to the class and its parameters: of the loss itself."""
    if classifier._link is not None and vars(classifier).get("nu") is not None:
        raise AttributeError(f"predict_proba: found nu={classifier.nu!r}, which aims at a margin; give nu=None")
    return classifier._link is not None


@dataclass(eq=False, repr=False)
class Classifier(ClassifierMixin, Learner):
    """A classifier, for as many classes as its sample has.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The classes.
    estimators_ : list of estimators
        Of more than two classes, where each makes a problem against the rest: the classifiers of the sub-problems, in
        the order of the classes, for the classes 0 and 1. Each attribute that a sub-problem has is then a list over
        them.
    """

    _kind_of_sample: ClassVar[type[Any]] = Sample
    one_by_one: ClassVar[bool] = True
    """True if each of more than two classes makes a problem against the rest; False if they are learnt at once."""
    _link: ClassVar[Any] = None
    """From raw scores to the probabilities (n_samples, n_classes) at which the mean loss is least, if there are any."""
    _prove: ClassVar[Any] = None
    """From a sample, its multipliers or None, a tolerance, seconds and a layout to a proof, if there is any."""

    def _say_score(self) -> str:
        return f"above 0: {self.classes_[1]}"

    def decision_function(self, X: Data) -> Array:
        """Score samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Of two classes, positive for the second one; else one score per class.
        """
        check_is_fitted(self)
        return self._to_scores(self._raw_scores(self._accepts().read(self, X)))

    def predict(self, X: Data) -> Labels:
        """Return the class of the largest score for each sample of X (n_samples, n_features)."""
        return self._classes(self.decision_function(X))

    def _classes(self, scores: Array) -> Labels:
        """Return the class of the largest score, (n_samples,)."""
        return self.classes_[scores.argmax(axis=1) if scores.ndim > 1 else (scores > 0).astype(np.intp)]

    @available_if(_has_link)
    def predict_proba(self, X: Data) -> Array:
        """Return the probability of each class that the loss estimates: its mean is least at the scores under these.

        Of two classes it is ``1 / (1 + exp(-2 f(x)))`` for the second one with the exponential loss, and
        ``1 / (1 + exp(-f(x)))`` with the logistic one. Of one-vs-rest, and of AdaBoost.MH, these divided by their sum.
        Of AdaBoost.ECC and MultiBoost, where the loss has differences of scores, the softmax of F and of 2 F.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            As in `fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            In the order of `classes_`; rows sum to 1.
        """
        check_is_fitted(self)
        return self._link(self._raw_scores(self._accepts().read(self, X)))

    @available_if(lambda self: self._prove is not None)
    def prove(
        self,
        X: Data,
        y: ArrayLike,
        *,
        sample_weight: Given = None,
        as_fitted: bool = False,
        tol: float | None = None,
        max_time: float = inf,
        layout: Layout | None = None,
    ) -> Proof:
        """Prove in rational numbers how far a classifier is from the optimum on a sample of two classes.

        Of an ensemble over all stumps, of a machine over all functions of its kernel.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Features, as in `fit`: of a column with gaps the proof of an ensemble has two features, by which missing
            values are below all thresholds or above, and of one of categories an indicator for each.
        y : array-like of shape (n_samples,)
            The two classes.
        sample_weight : array-like of shape (n_samples,), optional
            As in `fit`, where that takes them; above 0.
        as_fitted : bool
            True for a proof of how far the model is from the optimum as it was fitted, by its ``dual_weights_``, of the
            sample of the fit; False for one of the best model, which is found over the rationals where the formulation
            is a linear program.
        tol : float, optional
            The relative gap at which the run in floats stops that the proof starts from: 1e-9, and of an ensemble of
            more than 10,000 samples 1e-8.
        max_time : float
            The seconds at which it stops.
        layout : cvxens.proofs.Layout, optional
            Where the numbers stand in the data file that the proof is checked against.

        Returns
        -------
        cvxens.proofs.Proof
            `save` writes it, and the data, for `cvxens check`. But for the kernel of stumps that of a machine goes
            through all pairs of samples.

        Raises
        ------
        InvalidInput
            Weak learners that no exact proof can name, a kernel but that of stumps, of perceptrons, the Laplacian and
            the Gaussian one; more than two classes; a weight of 0.

        Examples
        --------
        >>> from sklearn.datasets import load_breast_cancer
        >>> from cvxens import InfiniteEnsembleSVC, LPBoostClassifier
        >>> X, y = load_breast_cancer(return_X_y=True)
        >>> proof = LPBoostClassifier(C=0.05).fit(X, y).prove(X, y)
        >>> float(proof.objective), proof.gap
        (4.458134490238612, Fraction(0, 1))
        >>> proof = InfiniteEnsembleSVC(C=0.01).fit(X[:100], y[:100]).prove(X[:100], y[:100])
        >>> 0 <= proof.relative_gap < 1e-8
        True
        """
        sample = self._read_again(X, y, sample_weight=sample_weight)
        if len(sample.classes) != 2:
            found = f"found {len(sample.classes)} classes"
            raise InvalidInput("y", found, "give two: prove the parts of `estimators_` one by one, each on its classes")
        if not sample.shares.all():
            raise InvalidInput("sample_weight", "found a weight of 0", "leave those samples out of X and y")
        negative, positive = map(str, sample.classes.tolist())

        def lay_out(width: int) -> Layout:
            return layout or Layout.of_width(width, (negative, positive))

        u = multipliers_of_fit(self, len(sample.X)) if as_fitted else None
        return self._prove(sample, u, tol, max_time, lay_out)

    def __sklearn_is_fitted__(self) -> bool:
        return "classes_" in vars(self)

    def _n_problems(self, sample: Sample) -> int:
        return len(sample.classes) if self.one_by_one and len(sample.classes) > 2 else 1

    def _for_parts(self, sample: Sample) -> dict[str, Any]:
        """Return the parameters of the sub-problems that follow from the whole sample."""
        return {}

    def _solve_parts(self: Any, sample: Sample, task: FitTask) -> Attributes:
        """Solve the problems of the classes of a sample; returns the fitted attributes, lists over these."""
        parameters = {**self.get_params(deep=False), **self._for_parts(sample)}
        # random states and the like are copied, so that the order in which parts are fitted does not matter
        parts, here = self._make_parts(sample.classes, lambda _: deepcopy(parameters)), copy_context()

        def tasks() -> Iterator[Any]:
            for k, (part, problem) in enumerate(zip(parts, self._problems(sample), strict=True)):
                # Ctrl-C ends those that have not begun, too, whichever thread hands them out
                yield delayed(_fit_part)(part, problem, part._part_of(task, k, problem), here.run(find_reason))

        fitted, told = zip(*Parallel(self.n_jobs, pre_dispatch="n_jobs")(tasks()), strict=True)
        # those of other processes would be nobody's
        for warning in chain.from_iterable(told):
            warn(warning, stacklevel=2)
        if find_reason() is Ending.INTERRUPTED:
            reached = f"{Ending.INTERRUPTED.value}, which all {len(sample.classes)} sub-problems were from then on"
            warn_of(self, reached, REMEDIES[Ending.INTERRUPTED])
        return join_parts(fitted, self.fitted)

    def _make_parts(self: Any, classes: NDArray[Any], parameters: Callable[[int], Mapping[str, Any]]) -> Iterator[Any]:
        """Yield an estimator for each class against the rest, told what that of the same sub-problem had before."""
        before = vars(self).get("estimators_") or ()
        warm = len(before) == len(classes) and np.array_equal(self.classes_, classes)
        for k in range(len(classes)):
            part = type(self)(**parameters(k))
            if warm:
                # the fit may start from it
                part.__dict__ = {**vars(before[k]), **vars(part)}
            yield part

    def _part_of(self, task: FitTask, k: int, sample: Sample) -> FitTask:
        """Return the task of a sub-problem, with the rows of the given sample that it has."""
        known = {name: value for name, value in task.known.items() if name in LEARNT_OF_X} | sample.known
        if task.context is None:
            return FitTask(self, None, {}, known)
        context = task.context.subcontext("sub-problem", task_id=k, max_subtasks=self._most_rounds(sample))
        rows = np.flatnonzero(sample.shares)
        places = sample.places[rows]
        given = {"X": _safe_indexing(task.given["X"], rows), "y": sample.labels[places]}
        given["metadata"] = {"sample_weight": sample.weights[places]}
        # callbacks know the estimator that they were set up with: what they score is a copy of it, of one problem
        return FitTask(task.estimator, context, given, known)


def link_exponential(F: Array) -> Array:
    """Return the probabilities (n_samples, n_classes) at which raw scores have the least mean exponential loss."""
    return link_logistic(2 * F)


def link_logistic(F: Array) -> Array:
    """Return the probabilities (n_samples, n_classes) at which raw scores have the least mean logistic loss.

    Scores are log odds, (n_samples,) of the second of two classes, or (n_samples, n_classes) of each. Those of each
    class against the rest are divided by their sum, in logarithms: none is lost far from all classes.

    Examples
    --------
    >>> link_logistic(np.array([0.0, 100.0])).round(3)
    array([[0.5, 0.5],
           [0. , 1. ]])
    >>> link_logistic(np.array([[-2000.0, -2000.0, -2010.0]])).round(3)
    array([[0.5, 0.5, 0. ]])
    """
    if F.ndim == 1:
        return expit(np.stack([-F, F], axis=1))
    return softmax(-np.logaddexp(0.0, -F), axis=1)


def join_parts(parts: Sequence[Any], names: Iterable[str]) -> dict[str, Any]:
    """Return the attributes of a fit of several sub-problems: these, and lists over those of theirs that they have."""
    lists = {name: [vars(part)[name] for part in parts] for name in names if name in vars(parts[0])}
    return {"estimators_": parts, **lists}


def _fit_part(
    part: BaseEstimator, sample: Sample, task: FitTask, reason: Ending
) -> tuple[BaseEstimator, list[Warning | str]]:
    """Fit an estimator to a sub-problem; returns it, and what was warned of."""
    found = dict(task.known)
    limits = limit_time(time_limit(part), alone=True)
    with catch_warnings(record=True) as told, limits as clock, follow_fit(task, found):
        simplefilter("always")
        # Ctrl-C is told of once, of the whole fit
        filterwarnings("ignore", f".*: {Ending.INTERRUPTED.value}", ConvergenceWarning)
        clock.interrupted = reason is Ending.INTERRUPTED
        found |= part._solve(sample.merge() if part._merges() else sample)
    if clock.interrupted:
        # where Ctrl-C is handled by others, a part may be all that has seen it
        interrupt()
    part._adopt(found)
    return part, [warning.message for warning in told]


@contextmanager
def translate_overflow(estimator: BaseEstimator) -> Iterator[None]:
    """Raise `SolverFailed` where arithmetic failed, on numbers that are too large, too small or too far apart."""
    try:
        yield
    except (np.linalg.LinAlgError, FloatingPointError, OverflowError, ValueError) as error:
        # ZeroDivisionError is of callbacks and oracles of somebody's own: numpy divides by 0 without one.
        # Of ValueErrors it is scipy's words for a matrix that has overflowed on the way
        plain = isinstance(error, ValueError) and not isinstance(error, np.linalg.LinAlgError)
        if plain and not (type(error) is ValueError and "array must not contain infs or NaNs" in str(error)):
            raise
        raise SolverFailed([Attempt(type(estimator).__name__, "failed", 0.0, str(error))]) from error


def multipliers_of_fit(model: BaseEstimator, n_samples: int) -> Array:
    """Return the multipliers of a fit, one for each sample; `InvalidInput` where it had another number of samples."""
    u: Array = model.dual_weights_
    if u.shape != (n_samples,):
        found = f"found {n_samples} samples where the fit had {len(u)}"
        raise InvalidInput("X", found, "give the sample of the fit, or as_fitted=False")
    return u


def check_shape(argument: str, values: ArrayLike, shape: tuple[int, ...]) -> Array:
    """Return foreign values as an array of the shape of the fitted ones."""
    # a model may be its intercept alone
    is_empty = 0 in shape and np.shape(values) == shape
    array = np.zeros(shape) if is_empty else validation.finite_array(argument, values)
    if array.shape != shape:
        raise InvalidInput(argument, f"found shape {array.shape}", f"give shape {shape}, as the fitted ones have")
    return array


def refuse_idle(estimator: BaseEstimator) -> None:
    """Raise where a parameter is not at its default that counts for nothing beside the value of another one."""
    given, usual = estimator.get_params(deep=False), signature(type(estimator)).parameters
    for name, (other, values) in estimator._counts_beside.items():
        counts = not {name, other} <= given.keys() or any(np.array_equal(given[other], value) for value in values)
        if not counts and not np.array_equal(given[name], usual[name].default):
            found = f"found {given[name]!r:.100}, which counts for nothing beside {other}={given[other]!r:.100}"
            raise InvalidInput(name, found, f"leave it out, or give {other}={' or '.join(map(repr, values))}")


def refuse_intercept(intercept: ArrayLike) -> None:
    """Raise unless an intercept for a problem that has none is left out, or 0 as the fitted one is."""
    if intercept is not None and np.any(intercept):
        raise InvalidInput("intercept", f"found {intercept!r:.100} for a problem without one", "leave it out")
