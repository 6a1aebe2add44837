"""The price of a loss chosen from the sample, by cross-validation along the path of prices.

An ensemble is fitted to the whole sample and to the training part of every fold, at a price that serves: the default
one of the estimator, or the one at which weak learners by chance are just out. From there the path goes up while
higher prices score clearly better, and down until lower ones score clearly worse. Every run starts from the weak
learners of its own part of the sample at the price next to it, and is solved over all hypotheses of the oracle to a
certified gap: nothing of a fold's test part gets into its ensemble. All runs are over the same set of hypotheses, as
thresholds are those of the whole sample's features, which no label has a part in; but for levels in pairs, whose order
is by the labels of each part. So there is an ensemble from the first fit on, and whatever ends the search, the best one
so far is known.

Given prices are all tried, as those of support vector machines are, whose folds share one kernel (`machines`).
`PriceSearchCV` is the search as an estimator; C="auto" has its defaults, for two classes or a regression.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from contextvars import copy_context
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain
from math import inf
from time import perf_counter
from typing import Any, TypeVar

import numpy as np
from joblib import Parallel, delayed
from scipy.sparse import csr_array
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, StratifiedKFold, check_cv

from cvxens import validation
from cvxens.colgen import Column, Formulation, Hypothesis, Oracle, Run, column_generation
from cvxens.colgen.oracles import Rows
from cvxens.colgen.protocols import list_parameters, with_signs
from cvxens.colgen.restricted import Restricted
from cvxens.errors import InvalidInput, refusing
from cvxens.estimators.base import REMEDIES, is_open, rounds_of, warn_of
from cvxens.estimators.samples import Accepts, Weighted, label, offers
from cvxens.limits import Ending, TimeUp, interruptible, limit_time, time_is_up, time_left
from cvxens.types import Array, Data, Indices, Mask

Item = TypeVar("Item")
Found = TypeVar("Found")

FOLD_TOL = 0.1
"""The relative gap of ensembles that are scored. On 10,000 x 10 with pairs, log losses are within 0.003 of those at
0.01, in a quarter of the time."""

MANY = 30_000
"""Samples among which C="auto" searches at most: the time of the fit alone grows on."""


@dataclass(frozen=True, eq=False)
class Choice:
    """What is chosen for a problem before the fit."""

    params: Mapping[str, Any] = field(default_factory=dict)
    """The parameters that are chosen."""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    """What a fit says of the choice, in place of what it says of parameters that are given."""
    learners: Sequence[Hypothesis] = ()
    """Weak learners found on the way, to start from."""
    members: Sequence[Run] = ()
    """The ensembles whose mean is taken in place of that of the fit, whose bound holds for it; none for the latter."""
    run: Run | None = None
    """What is known of the answer already: it is kept where the fit comes to nothing better in time."""


@dataclass(frozen=True, eq=False)
class Trial:
    """Fits at one price to folds, and of ensembles to the whole sample."""

    path: Any
    price: float
    scores: Sequence[float]  # of the folds
    gap: float  # the largest certified one
    runs: Sequence[Run] = ()  # those to the whole sample, of every problem that it makes; none beside a single fold
    of_folds: Sequence[Sequence[Sequence[Hypothesis]]] = ()  # the weak learners of the fits to the folds
    work: float = 0.0

    @cached_property
    def learners(self) -> list[list[Hypothesis]]:
        """The weak learners that have a weight, of every problem: of the whole sample, or of one fold alone."""
        return [list_learners(run) for run in self.runs] or [list(own) for fold in self.of_folds[:1] for own in fold]

    @property
    def is_constant(self) -> bool:
        """True of an ensemble without weak learners: all of these are one, and what their intercepts lack is chance."""
        return not any(self.learners)

    @property
    def score(self) -> float:
        """The mean over the folds."""
        return float(np.mean(self.scores))

    @property
    def params(self) -> dict[str, Any]:
        """The parameters that were tried."""
        return {self.path.name: self.price, **self.path.others}

    def exceeds(self, other: Trial) -> bool:
        """Return True if its scores are better by more than a standard error of the mean difference over folds."""
        gain = np.array(self.scores) - other.scores
        return float(gain.mean()) > find_standard_error(gain)


def find_standard_error(values: Array) -> float:
    """Return the standard error of the mean over folds; 0 of one fold."""
    return float(np.std(values, ddof=1) / len(values) ** 0.5) if len(values) > 1 else 0.0


def find_best(trials: Sequence[Trial], *, one_standard_error: bool, usual: float | None = None) -> int:
    """Return the number of the first of the best trials, or of the simplest within a standard error of that.

    Where there is a `usual` price, which has been tried, that stays unless the best one is clearly better.
    """
    means = np.array([trial.score for trial in trials])
    first = int(means.argmax())
    if one_standard_error:
        within = means[first] - find_standard_error(np.array(trials[first].scores))
        # paths come the simplest first, and each by ascending prices
        paths = list(dict.fromkeys(trial.path for trial in trials))
        near = np.flatnonzero(means >= within).tolist()
        return min(near, key=lambda k: (paths.index(trials[k].path), trials[k].path.sense * trials[k].price))
    if usual is None:
        return first
    stays = next(k for k, trial in enumerate(trials) if trial.price == usual)
    return first if trials[first].exceeds(trials[stays]) else stays


def tabulate(trials: Sequence[Trial]) -> dict[str, Any]:
    """Lay out what was found as GridSearchCV does, a row per trial."""
    if not trials:
        return {}
    scores, params = np.array([trial.scores for trial in trials]), [trial.params for trial in trials]
    means = scores.mean(axis=1)
    table = {
        **{f"param_{name}": np.array([each[name] for each in params]) for name in params[0]},
        "params": params,
        **{f"split{k}_test_score": column for k, column in enumerate(scores.T)},
        "mean_test_score": means,
        "std_test_score": scores.std(axis=1),
        "rank_test_score": rankdata(-means, method="min").astype(np.int32),
        "max_relative_gap": np.array([trial.gap for trial in trials]),
    }
    if trials[0].of_folds:
        table["n_weak_learners"] = np.array([sum(map(len, trial.learners)) for trial in trials])
    return table


@dataclass(eq=False)
class PriceSearch:
    """A search for the price at which an estimator scores best on folds of a sample.

    Without `prices`, the path of each alternative says which are tried.
    """

    estimator: BaseEstimator
    sample: Any
    folds: Sequence[tuple[Mask, Mask]]
    score: Callable[[Mask, Array], float]
    tell: Callable[[str], None]
    alternatives: Sequence[Mapping[str, Any]] = ({},)
    """Other parameters that are tried, the simplest first."""
    prices: Sequence[float] | None = None
    n_jobs: int | None = None
    paths: list[Any] = field(default_factory=list)
    first: Trial | None = None
    """The first fit to the whole sample, which may have no scores."""
    work: float = 0.0
    """What all fits have taken, see `measure_work`."""
    ending: Ending | None = None
    """What ended the search before it had found the best price."""

    def run(self) -> Sequence[Trial]:
        """Try prices while there is time."""
        # the last fit has the rest
        with limit_time(0.7 * time_left()) as clock:
            with suppress(TimeUp), interruptible():
                self._try_all()
            self.ending = clock.ending if clock.cut or clock.interrupted else None
        trials = [trial for path in self.paths for trial in path.ordered]
        if self.ending is not None:
            reached = f"{self.ending.value}; prices that were scored: {len(trials)}"
            warn_of(self.estimator, reached, REMEDIES[self.ending])
        if self.prices is not None:
            places = {price: k for k, price in reversed([*enumerate(self.prices)])}
            trials.sort(key=lambda trial: places[trial.price])
        # of an interrupted one, prices that were scored on as many folds as any
        n_folds = max((len(trial.scores) for trial in trials), default=0)
        # and that have ensembles, as no fit follows
        is_over = self.ending is Ending.INTERRUPTED and any(trial.runs for trial in trials)
        return [trial for trial in trials if len(trial.scores) == n_folds and (trial.runs or not is_over)]

    def _try_all(self) -> None:
        usual: float | None = None
        for k, others in enumerate(self.alternatives):
            if self.first is not None and time_is_up():
                return
            path = self.estimator._open_path(self, others)
            self.paths.append(path)
            prices = path.prices if self.prices is None else self.prices
            if prices is not None:
                with limit_time(time_left() / (len(self.alternatives) - k)):
                    path.sweep(sorted(set(prices)))
            else:
                usual = path.find_first() if usual is None else usual
                path.sweep([usual])
        walks = [path for path in self.paths if path.trials and self.prices is None and path.prices is None]
        for path in sorted(walks, key=lambda path: -path.best.score):
            path.walk()

    def map_folds(self, function: Callable[[int], Found]) -> Iterator[Found]:
        """Apply a function to the number of every fold, in threads, within the limits of time."""
        each = [delayed(copy_context().run)(function, k) for k in range(len(self.folds))]
        return Parallel(self.n_jobs, prefer="threads", return_as="generator")(each)

    def choose(
        self, trials: Sequence[Trial], *, one_standard_error: bool = False, average: bool = False
    ) -> tuple[int, list[Choice]]:
        """Return the number of the best trial, and what is chosen for every problem; -1 where none was scored."""
        if not trials and self.first is None:
            if not self.paths:
                raise KeyboardInterrupt
            return -1, [Choice({"C": self.paths[0].usual or 1.0, **self.paths[0].others})]
        best, near = -1, list[Any]([self.first])
        if trials:
            usual = self.paths[0].usual if self.prices is None and self.paths[0].prices is None else None
            best = find_best(trials, one_standard_error=one_standard_error, usual=usual)
            near = [trials[best]]
            if average and not one_standard_error:
                # those whose scores are below by a standard error of the mean difference over folds, at most: much of
                # what scores vary by, from fold to fold, they share
                near = [each for each in trials if each is near[0] or not (each.is_constant or near[0].exceeds(each))]
        chosen = trials[best] if trials else near[0]
        # the hypotheses of an alternative are some of those of later ones, for which its bounds are too low
        runs = chosen.runs if near[-1].path is chosen.path else ()
        params = {**near[-1].params, chosen.path.name: chosen.price}
        choices = []
        for k, learners in enumerate(chosen.learners):
            members = [trial.path.refine(trial, k) for trial in near] if len(near) > 1 else []
            start = tuple(dict.fromkeys(chain(learners, *map(list_learners, members))))
            choices.append(Choice(params, learners=start, members=members, run=runs[k] if runs else None))
        return best, choices or [Choice(params)]


@dataclass(eq=False)
class PricePath:
    """The prices that are tried with one alternative of what else is chosen.

    Its `usual` price is that of the estimator, its `prices` are tried by default where they are not found by `walk`,
    and `sweep` tries ascending ones while there is time.
    """

    search: PriceSearch
    others: Mapping[str, Any]  # by the names of parameters
    estimator: BaseEstimator = field(init=False)  # with these
    name: str = "C"
    sense: float = 1.0  # 1 where low prices make the simplest models, else -1
    trials: dict[float, Trial] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.estimator = copy(self.search.estimator)
        vars(self.estimator).update(self.others)

    @property
    def ordered(self) -> list[Trial]:
        """The trials, by ascending prices."""
        return [self.trials[price] for price in sorted(self.trials)]

    @property
    def best(self) -> Trial:
        """The trial of the best score, of the lowest price among equals."""
        return max(self.ordered, key=lambda trial: trial.score)


class EnsemblePath(PricePath):
    """Ensembles by column generation, of all problems that a sample makes."""

    def __post_init__(self) -> None:
        super().__post_init__()
        search, sample, parameters = self.search, self.search.sample, self.estimator.get_params(deep=False)
        if "C" not in parameters:
            found = f"found {type(search.estimator).__name__}, whose prices are those of its formulation"
            raise InvalidInput("estimator", found, "use scikit-learn's GridSearchCV, over the parameter formulation")
        if parameters.get("nu") is not None:
            # prices that are given are of nu, which is the lower the more a sample costs
            self.name, self.sense = ("C", 1.0) if search.prices is None else ("nu", -1.0)
        vars(self.estimator).update(dict.fromkeys({"C", "nu"} & parameters.keys() - {self.name}))
        self.problems: list[tuple[Oracle, Any]] = []
        self.parts: list[list[tuple[Oracle, Any]]] = [[] for _ in search.folds]
        rows = np.arange(len(sample.weights))
        everything = csr_array((np.ones(len(rows)), (rows, rows)))
        for problem in self.estimator._problems(sample):
            formulation = self._formulate(problem, 1.0)
            oracle = self.estimator._oracle(problem, formulation)
            self.problems.append((oracle, problem))
            for parts, (train, _) in zip(self.parts, search.folds, strict=True):
                part, own, D = problem.part(train), oracle, everything[np.flatnonzero(train)]
                if problem.features is not None and offers(self.estimator.oracle, "outcomes"):
                    # what the part knows of others is its mean
                    t = problem.outcomes[1]
                    t = np.where(train, t, np.average(t, weights=train * problem.weights))
                    own = self.estimator._oracle(problem, formulation, outcomes=t)
                combined = part.combinations
                parts.append((Rows(own, D) if combined is None else Rows(own.oracle, combined @ D), part))

    @property
    def usual(self) -> float | None:
        """The estimator's own price; None where that is "auto"."""
        if is_open("C", self.estimator.C):
            return None
        return self.estimator._price(self.search.sample)

    @property
    def prices(self) -> None:
        """None: they are found on the way."""

    def find_first(self) -> float:
        """Return the usual price, or one that serves, by the multipliers s without columns at the price 1.

        They are in proportion to the price. A hypothesis h enters where its edge is at the limit, and one that has
        nothing to do with the classes has the standard deviation ``sqrt(sum_i s_i^2 h(x_i)^2)``.
        """
        if self.usual is not None:
            return self.usual
        found = []
        for oracle, problem in self.problems:
            formulation = self._formulate(problem, 1.0)
            signs = formulation.signs(label(formulation, problem), validation.count_rows(oracle.sample))
            s = Restricted(formulation, signs).start().s
            priced = with_signs(oracle, free=not formulation.nonnegative).price(s)
            limit = formulation.terms[1].edge_limit or 1.0
            if priced.columns and priced.best_edge > 0:
                chance = float(np.linalg.norm(s.T * priced.columns[0].values))
                # half of the standard deviation that the edge of the best would have by chance, in units of the limit
                # (the best price is some times that: 3 on 10,000 x 10 with pairs), and not below where it enters
                found.append(max(0.5 * limit / chance, 1.3 * limit / priced.best_edge))
        return max(found, default=1.0)

    def sweep(self, prices: Sequence[float]) -> None:
        """Try prices while there is time."""
        for price in prices:
            if self._try(price) is None:
                return

    def walk(self) -> None:
        """Try higher prices while they are a clear gain, then lower ones until they are a loss.

        Prices grow by 2 with an l1 penalty, under which ensembles change faster, and by 3 with another. Of higher ones,
        which take longest, no more are tried after two in a row that are no clear gain; nor where 1,000 samples or more
        are held out and the last gain is a third of the one before, or less, and a hundredth of the score.
        """
        growth = 3.0 if self._formulate(self.problems[0][1], 1.0).terms[1].edge_limit is None else 2.0
        misses, start = 0, self.best
        while len(self.trials) < 16 and misses < 2:
            last, best = self.ordered[-1], self.best
            # the work of a fit grows with the price to the power 0.7 (LPBoost's is 1.6 times as long at twice the
            # price), also that of the fit to the end if it is chosen
            if not self._has_time(growth**0.7 * (last.work + self._finish(last)), start):
                break
            # a constant second difference, which foresees scores of 10,000 x 10 to 0.002, makes a loss of that gain; of
            # large gains none is foreseen: on diamonds squared errors fell by 355, 99, 24, 180 and 137 thousand
            gains = np.diff([trial.score for trial in self.ordered[-3:]])
            many = np.count_nonzero(self.search.folds[0][1]) >= 1000
            if many and len(gains) == 2 and last is best and gains[1] <= min(gains[0] / 3, 0.01 * abs(last.score)):
                break
            new = self._try(last.price * growth)
            if new is None or (best.exceeds(new) and not new.is_constant):
                break
            misses = 0 if new.exceeds(best) or new.is_constant else misses + 1
        misses, first = 0, self.search.first
        start = self.best if first is None else self.trials.get(first.price, self.best)
        while len(self.trials) < 16 and misses < 2:
            if not self._has_time(self.ordered[0].work + self._finish(self.best), start):
                return
            new = self._try(self.ordered[0].price / growth)
            if new is None or new.is_constant or self.best.exceeds(new):
                return
            misses = 0 if self.best is new else misses + 1

    def _finish(self, trial: Trial) -> float:
        """Return the work of a fit to the end, 1.3 fits at `FOLD_TOL`: measured for LPBoost on four sets."""
        train, _ = self.search.folds[0]
        return 1.3 * (sum(map(measure_work, trial.runs)) or trial.work * len(train) / np.count_nonzero(train))

    def _has_time(self, ahead: float, start: Trial) -> bool:
        """Return True if all fits, with what is ahead, take no more than eight at the usual price.

        With the last fit, and with room for what is not foreseen, that makes ten.
        """
        return self.usual is None or self.search.work + ahead <= 8.0 * self._finish(start)

    def refine(self, trial: Trial, k: int) -> Run:
        """Return the fit of a trial to a problem of the whole sample, to `tol` or as far as there is time."""
        oracle, problem = self.problems[k]
        further = self._generate(problem, trial.price, oracle, trial.learners[k], self.estimator.tol)
        sense = self._formulate(problem, trial.price).sense
        return choose_better(further, trial.runs[k], sense) if trial.runs else further

    def _try(self, price: float) -> Trial | None:
        """Fit ensembles at a price to the whole sample and to the folds; None where there is no time for all."""
        search = self.search
        if search.first is not None and time_is_up():
            return None
        before = min(self.trials.values(), key=lambda trial: abs(np.log(trial.price / price)), default=None)
        began, runs = search.work, list[Run]()
        # beside a single fold, fits to the whole sample would take most of the time; one is there from the first on
        is_whole = len(search.folds) > 1 or search.first is None
        for k, (oracle, problem) in enumerate(self.problems if is_whole else ()):
            runs.append(self._generate(problem, price, oracle, before.learners[k] if before else ()))
            if runs[-1].ending is Ending.INTERRUPTED or k + 1 == len(self.problems):
                search.first = search.first or Trial(self, price, (), _largest_gap(runs), runs)
            check_interrupt(runs[-1])

        def fit_fold(k: int) -> tuple[float, list[Run]] | None:
            _, test = search.folds[k]
            fits = []
            for j, (rows, part) in enumerate(self.parts[k]):
                own, start = float(part.weights.sum()), before.of_folds[k][j] if before else ()
                # nu has no unit
                unit = scale_price(float(self.problems[j][1].weights.sum()), own) if self.name == "C" else 1.0
                fits.append(self._generate(part, unit * price, rows, start))
                check_interrupt(fits[-1])
            if time_is_up():
                # an ensemble that was cut says nothing of its price
                return None
            X = search.sample.X[np.flatnonzero(test)]
            return search.score(test, stack_scores([run.decision_function(X) for run in fits])), fits

        found = []
        for fold in search.map_folds(fit_fold):
            if fold is None:
                return None
            found.append(fold)
        of_folds = [[list_learners(run) for run in fits] for _, fits in found]
        gap = _largest_gap([*runs, *(run for _, fits in found for run in fits)])
        trial = Trial(self, price, [score for score, _ in found], gap, runs, of_folds, search.work - began)
        self.trials[price] = trial
        n_learners = sum(map(len, trial.learners))
        search.tell(f"{self.name}={price:.3g}, {n_learners} weak learners, score {trial.score:.4g}")
        return trial

    def _formulate(self, problem: object, price: float) -> Formulation:
        """Return the formulation of a problem at a price."""
        at = copy(self.estimator)
        vars(at)[self.name] = price
        return at._formulation(problem)

    def _generate(
        self, problem: Any, price: float, oracle: Oracle, start: Sequence[Hypothesis], tol: float = FOLD_TOL
    ) -> Run:
        """Fit an ensemble at a price."""
        formulation = self._formulate(problem, price)
        run = column_generation(formulation, oracle, label(formulation, problem), tol=tol, start=start)
        self.search.work += measure_work(run)
        return run


def stack_scores(parts: Sequence[Array]) -> Array:
    """Return raw scores as an estimator has them: of one problem as they are, else (n_samples, n_problems)."""
    return parts[0] if len(parts) == 1 else np.stack(parts, axis=1)


def check_interrupt(run: Run) -> None:
    """Raise KeyboardInterrupt if Ctrl-C has ended a run."""
    if run.ending is Ending.INTERRUPTED:
        raise KeyboardInterrupt


def _largest_gap(runs: Sequence[Run]) -> float:
    return max(run.certificate.relative_gap for run in runs)


def measure_work(run: Run) -> float:
    """Measure what a run has taken, the same on any machine: the entries of its columns, summed over rounds.

    A round takes as long as 50 columns by itself.
    """
    return float(len(run.u) * sum(50 + row.size for row in run.history))


def list_learners(run: Run) -> list[Hypothesis]:
    """Return the weak learners that have a weight."""
    columns: Sequence[Column] = run.columns
    return [column.hypothesis for column, w in zip(columns, run.weights, strict=True) if np.any(w)]


def choose_better(run: Run, known: Run, sense: float) -> Run:
    """Return a run, or one that was known before where that is nearer to the optimum; it ends as the new one did."""

    def distance(run: Run) -> tuple[float, float]:
        return run.certificate.relative_gap, sense * run.certificate.primal

    return run if distance(run) <= distance(known) else replace(known, ending=run.ending)


def scale_price(whole: float, part: float) -> float:
    """Return how many times the price of a sample serves for part of it, both given by their sizes.

    The best price is as the inverse root of the size, as what edges come to by chance is as the root.
    """
    return (whole / part) ** 0.5


def find_peak(trials: Sequence[Trial], best: int) -> float:
    """Return the price of a trial, up to half of the way to one next to it: to the peak of a parabola through scores.

    That is through three, in logarithms of prices, with the best one in the middle or, where a path has its end, last.
    On 24 sets of `make_classification` log losses of 0.3 to 0.5 are less by 0.002.
    """
    chosen = trials[best]
    near = [trial for trial in trials if trial.path is chosen.path]
    k = min(max(near.index(chosen), 1), len(near) - 2)
    if len(near) < 3 or chosen.score < max(trial.score for trial in near):
        return chosen.price
    x, scores = np.array([(np.log(trial.price / chosen.price), trial.score) for trial in near[k - 1 : k + 2]]).T
    bend, slope, _ = np.polyfit(x, scores, 2)
    if bend >= 0:
        return chosen.price
    # in eighths of the way to the next price, so that digits of scores play no part
    eighth = np.diff(x).min() / 8
    return float(chosen.price * np.exp(eighth * np.clip(np.rint(-slope / (2 * bend) / eighth), -4, 4)))


def choose_price(estimator: BaseEstimator, sample: Any) -> Choice:
    """Return the price of a problem that is "auto", and what else is open, by cross-validation among `MANY` samples."""
    at, whole = copy(estimator), sample
    at.C = type(estimator).C
    n_samples, began = len(whole.weights), perf_counter()
    if n_samples > MANY:
        random, units = np.random.default_rng(0), find_units(whole)
        strata = np.zeros(units.max() + 1) if whole.strata is None else whole.strata
        kept = np.zeros(len(strata), dtype=bool)
        for rows in (np.flatnonzero(strata == k) for k in np.unique(strata)):
            kept[random.permutation(rows)[: -(-len(rows) * MANY // n_samples)]] = True
        sample = whole.part(kept[units])
        unit = scale_price(float(whole.weights.sum()), float(sample.weights.sum()))
        sample = replace(sample, weights=sample.weights * unit)
    with rounds_of(estimator) as rounds:
        score = make_score(at, sample, None)
        folds = make_folds(None, sample)
        search = PriceSearch(at, sample, folds, score, lambda told: rounds.tell(f"choosing C, {told}"))
        search.alternatives = estimator._list_alternatives()
        trials = search.run()
        best, (choice,) = search.choose(trials)
        # where the last fit may not come to its end, an ensemble that is known is worth more than a better price
        has_time = search.ending is None and time_left() > perf_counter() - began
        peak = find_peak(trials, best) if best >= 0 and has_time else choice.params["C"]
    if sample is not whole or peak != choice.params["C"]:
        # an ensemble at another price is no answer, nor are weak learners of another sample a start
        choice = Choice({**choice.params, "C": peak}, learners=choice.learners if sample is whole else ())
    attributes = {"C_": choice.params["C"], "cv_results_": tabulate(trials)}
    return estimator._adapt(replace(choice, attributes=attributes), whole)


def find_units(sample: Weighted) -> Indices:
    """Return the numbers of what folds divide: of the samples, or of their queries where there are several."""
    names, found = np.unique(() if sample.queries is None else sample.queries, return_inverse=True)
    return found if len(names) > 1 else np.arange(len(sample.weights))


def make_folds(cv: Any, sample: Any, y: Any = None) -> list[tuple[Mask, Mask]]:
    """Return masks of the samples that every fold trains on and tests; those without all classes are left out.

    By default those that `PriceSearchCV` says, two of few samples of a class, of one of each all samples on both sides;
    others are of the samples as they were given, with targets y.
    """
    if sample.given is None:
        remedy = "give a number: scikit-learn's GridSearchCV knows how to split such samples"
        raise InvalidInput("C", "found a search over samples of survival", remedy)
    given, strata, n_samples = np.flatnonzero(sample.shares), sample.strata, len(sample.weights)
    if cv is None:
        units = find_units(sample)
        least = units.max() + 1 if strata is None else int(np.bincount(strata).min())
        kind = StratifiedKFold if strata is not None and least > 1 else KFold
        folds = kind(max(2, min(3, least)), shuffle=True, random_state=0)
        splits = folds.split(np.zeros((units.max() + 1, 1)), strata)
        found = [tuple(np.flatnonzero(np.isin(units, part)) for part in both) for both in splits]
        # of so many the scores of one vary less than those of neighbouring prices differ
        found = found[:1] if 6 * n_samples >= MANY else found
    else:
        remedy = "give a number of folds from 2 on, a splitter, or the splits that it makes of X, y, groups"
        with refusing("cv", f"found {cv!r:.100}", remedy, (TypeError, ValueError, IndexError)):
            splitter = check_cv(cv, y, classifier=strata is not None)
            splits = splitter.split(np.zeros((len(y), 1)), y)
            found = [tuple(sample.places[np.intersect1d(rows, given)] for rows in (a, b)) for a, b in splits]
    masks = [tuple(np.isin(np.arange(n_samples), rows) for rows in both) for both in found]
    # counts that are all 0 have no model, nor do others tell anything that are all alike
    classes = min(2, len(np.unique(sample.given))) if strata is None else len(np.unique(strata))
    # a single grade makes no pairs to score
    least = 1 if sample.combinations is None else 2

    def differ(part: Mask, n: int) -> bool:
        return len(np.unique(sample.given[part])) >= n

    kept = [(train, test) for train, test in masks if differ(train, classes) and differ(test, least)]
    if not kept and cv is not None:
        raise InvalidInput("cv", f"found folds of which none trains on {classes} classes", "give others, or the price")
    return kept or [(np.ones(n_samples, dtype=bool),) * 2]


class AsTheyAre(Accepts):
    """Samples that have been checked."""

    def read(self, estimator: object, X: Data, *y: Data, reset: bool = False, **more: object) -> Any:
        """Return the samples as they were given."""
        return X


def make_score(estimator: BaseEstimator, sample: Any, scoring: Any) -> Callable[[Mask, Array], float]:
    """Return what rates raw scores F (n_test,) or (n_test, n_parts) of a test part of a sample; larger is better.

    By default it is minus the loss that is minimised: the log loss where there are probabilities, else the hinge loss,
    of several classes that of the margin to the best of the others; of a regression its error or deviance.
    """
    if isinstance(scoring, list | tuple | dict | set):
        raise InvalidInput("scoring", f"found several, {scoring!r:.100}", "give one to choose by")
    if scoring is None and not is_classifier(estimator):
        scoring = estimator._rate()
    with refusing("scoring", f"found {scoring!r:.100}", "name a scorer of scikit-learn, or give one"):
        scorer = scoring and check_scoring(estimator, scoring)
    # an estimator that knows classes, and is asked for nothing but what it makes of raw scores
    parts, knowing = [estimator] * estimator._n_problems(sample), copy(estimator)
    vars(knowing).update(sample.known, certificate_=None, estimators_=parts if len(parts) > 1 else [])
    # a scorer, or the metric that it is made of
    takes = list_parameters(getattr(scorer, "_score_func", scorer))
    told = {"sample_weight": sample.masses, "qid": sample.queries}

    def score_part(test: Mask, F: Array) -> float:
        if scorer is None:
            return _score_loss(knowing, sample, test, F)
        shell = copy(knowing)
        vars(shell).update(_raw_scores=lambda _: F, _accepts=AsTheyAre)
        given = {name: values[test] for name, values in told.items() if name in takes}
        remedy = "give one that rates such predictions, called with (estimator, X, y), or `make_scorer` of a metric"
        with refusing("scoring", f"found {scoring!r:.100}", remedy, (AttributeError, TypeError, ValueError)):
            return float(scorer(shell, sample.X[np.flatnonzero(test)], sample.given[test], **given))

    return score_part


def _score_loss(classifier: BaseEstimator, sample: Any, test: Mask, F: Array) -> float:
    """Return minus the mean loss of a test part: the log loss where there are probabilities, else the hinge loss."""
    labels, rows = sample.labels[test], np.arange(np.count_nonzero(test))
    if classifier._link is not None:
        losses = -np.log(np.maximum(classifier._link(F)[rows, labels], np.finfo(float).tiny))
    else:
        f = classifier._to_scores(F)
        if f.ndim == 1:
            f = np.stack([-f, f], axis=1) / 2
        # the margin is that to the best of the other classes
        others = np.where(np.arange(f.shape[1]) == labels[:, None], -inf, f).max(axis=1)
        losses = np.maximum(0.0, 1.0 - (f[rows, labels] - others))
    return -float(np.average(losses, weights=sample.weights[test]))
