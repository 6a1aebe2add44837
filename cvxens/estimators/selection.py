"""The price of a loss chosen from the sample, by cross-validation along the path of prices.

An ensemble is fitted to the whole sample and to the training part of every fold, at a price that serves: the default
one of the estimator, or the one at which weak learners by chance are just out. From there the path goes up while
higher prices score clearly better, and down until lower ones score clearly worse. Every run starts from the weak
learners of its own part of the sample at the price next to it, and is solved over all hypotheses of the oracle to a
certified gap: nothing of a fold's test part gets into its ensemble. All runs are over the same set of hypotheses, as
thresholds are those of the whole sample's features, which no label has a part in. So there is an ensemble from the
first fit on, and whatever ends the search, the best one so far is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property, partial
from inspect import signature
from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.metrics import check_scoring
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.utils.metaestimators import available_if

from cvxens import validation
from cvxens.colgen import Column, Formulation, Hypothesis, Oracle, Run, column_generation
from cvxens.colgen.oracles import Rows
from cvxens.colgen.pricing import with_negations
from cvxens.colgen.restricted import Restricted
from cvxens.errors import InvalidInput
from cvxens.estimators.ensembles import Choice, Ensemble, Member, choose_better
from cvxens.estimators.progress import REMEDIES, rounds_of, warn_of
from cvxens.estimators.samples import label
from cvxens.limits import Ending, TimeUp, interruptible, limit_time, time_is_up, time_left
from cvxens.types import Array

AUTO = "auto"
"""The price that is chosen from the sample."""

N_FOLDS = 3
"""The default number of folds."""

FOLD_TOL = 0.1
"""The relative gap of fits that are scored. On 10,000 x 10 with pairs, log losses are within 0.003 of those at 0.01, in
a quarter of the time."""

CHANCE = 0.5
"""The first price where there is no default: the standard deviation that the edge of the best weak learner would have
by chance, in units of its threshold. The best price is some times that: 3 on 10,000 x 10 with pairs."""

BEYOND = 1.3
"""The least first price, in units of the one at which weak learners with an l1 penalty begin to enter."""

GROWTH = {True: 2.0, False: 3.0}
"""The ratio of neighbouring prices: with an l1 penalty, under which ensembles change faster, and with another."""

MOST_PRICES = 16
"""The most prices that are tried."""

MISSES = 2
"""Prices in a row that are no clear gain, after which higher ones are not tried: they take longest."""

MOST_FITS = 8.0
"""What a choice may take, with the last fit, in fits at the default price: ten, and room for what is not foreseen."""

TO_THE_END = 1.3
"""What a fit to the end takes, in fits at `FOLD_TOL`: measured for LPBoost on four sets."""

MORE_WORK = 0.7
"""The power of the price with which the work of a fit grows: LPBoost's takes 1.6 times as long at twice the price."""

ROUND = 50
"""What a round takes beside its columns, in columns."""

SEARCH_SHARE = 0.7
"""The share of the time that is left which a search may have; the last fit has the rest."""

SCORINGS: Mapping[str, str] = {"absolute": "neg_mean_absolute_error", "huber": "neg_mean_absolute_error"}
"""The scores that choose the price of a regression, by its loss, where that is not of squares."""


@dataclass(eq=False, repr=False)
class PricedBySample(Ensemble):
    """An ensemble whose price of a sample's loss is given, or chosen from the sample.

    Parameters
    ----------
    cv : int, splitter or iterable
        The folds that choose the price with C="auto", as scikit-learn has them; a number means folds of samples in an
        order of chance, which is the same in every fit, of a classifier with classes in proportion.
    scoring : str or callable, optional
        What chooses it, as scikit-learn has it, of the classes, the decision function or the probabilities, or of the
        predictions of a regressor; by default the loss that is minimised, on samples held out: the log loss where there
        are probabilities, else the hinge loss, which move where the accuracy stands still; of a regressor the mean
        absolute error where its loss is one of deviations, else the mean squared error.
    one_standard_error : bool
        True for the lowest price whose score is at most one standard error of the mean over folds below the best: a
        smaller ensemble that is about as good.

    Attributes
    ----------
    C_ : float or None
        The price of a unit of a sample's loss, given or chosen; None where the formulation has none.
    cv_results_ : dict of str to sequence, or None
        A row per price that was tried, increasing, as GridSearchCV has them: param_C, params, split0_test_score, ...,
        mean_test_score, std_test_score, rank_test_score; max_relative_gap, the largest certified gap of its fits; and
        n_weak_learners of that to all samples. The estimator's default price is one of them, and stays unless another
        one scores better by more than a standard error of the difference. Empty where time was up before the first was
        scored, None where C was given.
    """

    _: KW_ONLY
    cv: Any = N_FOLDS
    scoring: Any = None
    one_standard_error: bool = False
    C_: float | None = field(init=False)
    cv_results_: dict[str, Any] | None = field(init=False)

    def _choose(self, sample: Any) -> Choice:
        """Return the attributes that say what the price is, and weak learners to start from at that price."""
        if not isinstance(self.C, str):
            return Choice({"C_": self._given_price(sample), "cv_results_": None})
        validation.one_of("C", self.C, [AUTO])
        folds, score, usual = self._split(sample), _make_scorer(self), self._usual_price(sample)
        with rounds_of(self) as rounds:
            search = PriceSearch(self, sample, folds, score, lambda told: rounds.tell(f"choosing C, {told}"))
            trials = search.run(usual)
            if search.ending is not None:
                reached = f"{search.ending.value}; C is the best of {len(trials.trials)} prices"
                warn_of(self, reached, REMEDIES[search.ending])
            if not trials.trials:
                return search.explain_first(usual)
            best = trials.best(one_standard_error=bool(self.one_standard_error), usual=usual)
            near = trials.find_near(best) if self._averages() else [best]
            runs = [trials.trials[best].run] if len(near) == 1 else [search.refine(trials.trials[k]) for k in near]
        # the hypotheses of an alternative are some of those of later ones
        params = {**trials.params[max(near)], "C": trials.params[best]["C"]}
        chosen = {f"{name}_": value for name, value in params.items()}
        start = dict.fromkeys(hypothesis for run in runs for hypothesis in _list_learners(run))
        members = [_as_member(run) for run in runs] if len(runs) > 1 else ()
        return Choice({**chosen, "cv_results_": trials.tabulate()}, tuple(start), members, trials.trials[best].run)

    def _averages(self) -> bool:
        """Return True if the mean over all prices that score about as well as the best is taken."""
        return False

    def _alternatives(self) -> list[dict[str, Any]]:
        """Return what else is chosen with the price, as the values of fitted attributes.

        The simplest comes first: the hypotheses of each are some of those of the next.
        """
        return [{}]

    def _given_price(self, sample: Any) -> float | None:
        """Return the price of a unit of a sample's loss that is not chosen; None where there is none."""
        raise NotImplementedError

    def _usual_price(self, sample: Any) -> float | None:
        """Return the price that is taken by default; None where that is chosen."""
        return None

    def _price(self, sample: Any) -> Any:
        """Return the price of a unit of a sample's loss; the chosen one is known once there is a choice."""
        return self.C_ if isinstance(self.C, str) else self._given_price(sample)

    def _merges(self) -> bool:
        # of samples that are alike but for their classes, a fold has to have as many of each as there are
        return not isinstance(self.C, str) and super()._merges()

    def _check(self, sample: Any) -> None:
        super()._check(sample)
        validation.instance("one_standard_error", self.one_standard_error, bool, np.bool_)
        _make_scorer(self)
        if not _is_number(self.cv):
            self._split(sample)
        elif validation.whole("cv", self.cv, least=2) > max(len(sample.places), N_FOLDS):
            found = f"found {self.cv} for {len(sample.places)} samples"
            raise InvalidInput("cv", found, "give at most as many folds as there are samples")

    def _split(self, sample: Any) -> list[tuple[NDArray[np.bool_], NDArray[np.bool_]]]:
        """Return masks of the samples that every fold trains on and tests."""
        given, strata, n_samples = np.flatnonzero(sample.shares), sample.strata, len(sample.weights)
        if _is_number(self.cv):
            # of few samples of a class there are fewer folds
            least = n_samples if strata is None else int(np.bincount(strata).min())
            kind = StratifiedKFold if strata is not None and least > 1 else KFold
            folds = kind(max(2, min(self.cv, least)), shuffle=True, random_state=0)
            found = list(folds.split(np.zeros((n_samples, 1)), strata))
        else:
            known = (sample.given if strata is None else strata)[sample.places]
            try:
                splitter = check_cv(self.cv, known, classifier=strata is not None)
                found = [
                    tuple(sample.places[np.intersect1d(rows, given)] for rows in (train, test))
                    for train, test in splitter.split(np.zeros((len(known), 1)), known)
                ]
            except (TypeError, ValueError, IndexError) as error:
                remedy = "give a number of folds from 2 on, or a splitter"
                raise InvalidInput("cv", f"found {self.cv!r:.100}: {error}", remedy) from error
        masks = [tuple(np.isin(np.arange(n_samples), rows) for rows in both) for both in found]
        least = 1 if strata is None else 2
        kept = [(train, test) for train, test in masks if len(np.unique(sample.given[train])) >= least and test.any()]
        if not kept:
            remedy = "give folds that train on several classes, or a number for C"
            raise InvalidInput("cv", f"found {self.cv!r:.100}, of which no fold trains on two classes", remedy)
        return kept


@dataclass(frozen=True, eq=False)
class Trial:
    """Fits at one price to the whole sample and to folds."""

    path: PricePath
    price: float
    scores: list[float]  # of the folds
    gap: float  # the largest certified one
    run: Run  # that to the whole sample
    of_folds: Sequence[Sequence[Hypothesis]]  # the weak learners of the fits to the folds
    work: float

    @cached_property
    def learners(self) -> Sequence[Hypothesis]:
        """The weak learners of the whole sample that have a weight."""
        return _list_learners(self.run)

    @property
    def score(self) -> float:
        """The mean over the folds."""
        return float(np.mean(self.scores))

    @property
    def standard_error(self) -> float:
        """The standard error of the mean; 0 of one fold."""
        return find_standard_error(np.array(self.scores))

    def exceeds(self, other: Trial) -> bool:
        """Return True if its scores are better by more than a standard error of the mean difference over folds."""
        gain = np.array(self.scores) - other.scores
        return float(gain.mean()) > find_standard_error(gain)


def find_standard_error(values: Array) -> float:
    """Return the standard error of the mean over folds; 0 of one fold."""
    return float(np.std(values, ddof=1) / len(values) ** 0.5) if len(values) > 1 else 0.0


@dataclass(eq=False)
class Trials:
    """All that was tried, the simplest first, and with which parameters."""

    trials: list[Trial] = field(default_factory=list)
    params: list[dict[str, Any]] = field(default_factory=list)

    def extend(self, trials: Sequence[Trial], others: Mapping[str, Any]) -> None:
        """Add trials of ascending prices, with what else is chosen."""
        self.trials += trials
        self.params += [{"C": trial.price, **others} for trial in trials]

    @property
    def learners(self) -> list[Sequence[Hypothesis]]:
        """The weak learners of every trial."""
        return [trial.learners for trial in self.trials]

    def best(self, *, one_standard_error: bool, usual: float | None = None) -> int:
        """Return the number of the first of the best trials, or of those within a standard error of that.

        Where there is a `usual` price, which has been tried, that stays unless the best one is clearly better.
        """
        means = np.array([trial.score for trial in self.trials])
        first = int(means.argmax())
        if usual is not None and not one_standard_error:
            stays = next(k for k, trial in enumerate(self.trials) if trial.price == usual)
            return first if self.trials[first].exceeds(self.trials[stays]) else stays
        within = self.trials[first].standard_error if one_standard_error else 0.0
        return int((means >= means[first] - within).argmax())

    def find_near(self, best: int) -> list[int]:
        """Return the numbers of those whose scores are below the best one's by a standard error at most, and its own.

        That of the mean over folds of the difference: much of what scores vary by, from fold to fold, they share.
        """
        scores = np.array([trial.scores for trial in self.trials])
        fallen = scores[best] - scores
        n_folds = scores.shape[1]
        errors = fallen.std(axis=1, ddof=1) / n_folds**0.5 if n_folds > 1 else np.zeros(len(scores))
        found: list[int] = np.flatnonzero(fallen.mean(axis=1) <= errors).tolist()
        # an ensemble without weak learners adds no term, and what it lacks of an intercept is chance
        return [k for k in found if k == best or self.learners[k]]

    def tabulate(self) -> dict[str, Any]:
        """Lay out what was found, a row per trial."""
        scores = np.array([trial.scores for trial in self.trials])
        table = tabulate(self.params, scores.T, np.array([[trial.gap for trial in self.trials]]))
        return {**table, "n_weak_learners": np.array([len(own) for own in self.learners])}


@dataclass(eq=False)
class PricePath:
    """The prices that were tried with one alternative of what else is chosen."""

    estimator: Any
    others: Mapping[str, Any]  # what else is chosen, by the names of parameters
    oracle: Oracle
    parts: Sequence[tuple[Oracle, Any]]  # of every fold
    growth: float
    trials: dict[float, Trial] = field(default_factory=dict)

    @property
    def ordered(self) -> list[Trial]:
        """What was tried, by ascending prices."""
        return [self.trials[price] for price in sorted(self.trials)]

    @property
    def best(self) -> Trial:
        """The trial of the best score, of the lowest price among equals."""
        return max(self.ordered, key=lambda trial: trial.score)

    def find_nearest(self, price: float) -> Trial | None:
        """Return the trial at the price that is nearest."""
        return min(self.trials.values(), key=lambda trial: abs(np.log(trial.price / price)), default=None)


@dataclass(eq=False)
class PriceSearch:
    """A search for the price at which ensembles score best on folds."""

    estimator: Any
    sample: Any
    folds: Sequence[tuple[NDArray[np.bool_], NDArray[np.bool_]]]
    score: Callable[[Any, NDArray[np.bool_], Array], float]
    tell: Callable[[str], None]
    paths: list[PricePath] = field(default_factory=list)
    first: tuple[PricePath, float, Run] | None = None
    """The first fit to the whole sample, with its price."""
    work: float = 0.0
    """What all fits have taken, see `measure_work`."""
    ending: Ending | None = None
    """What ended the search before it had found the best price."""

    def run(self, usual: float | None) -> Trials:
        """Try prices from the usual one, or one that serves, while scores rise and there is time."""
        with limit_time(SEARCH_SHARE * time_left()) as clock:
            with suppress(TimeUp), interruptible():
                self._walk(usual)
            self.ending = clock.ending if clock.cut or clock.interrupted else None
        trials = Trials()
        for path in self.paths:
            trials.extend(path.ordered, path.others)
        return trials

    def _walk(self, usual: float | None) -> None:
        """Try all alternatives at the first price, then walk the path of the best one, and those of the others."""
        price, most_fits = usual, inf if usual is None else MOST_FITS
        for alternative in self.estimator._alternatives():
            if self.first is not None and time_is_up():
                return
            path = self._open(alternative)
            price = self._find_first(path) if price is None else price
            self._try(path, price)
        for path in sorted((path for path in self.paths if path.trials), key=lambda path: -path.best.score):
            self._go_up(path, most_fits)
            self._go_down(path, most_fits)

    def explain_first(self, usual: float | None) -> Choice:
        """Return the first fit as the choice where no price has been scored; without one the usual price, or 1."""
        if not self.paths:
            raise KeyboardInterrupt
        path, price, run = self.first or (self.paths[0], usual or 1.0, None)
        chosen = {f"{name}_": value for name, value in {**path.others, "C": price}.items()}
        return Choice({**chosen, "cv_results_": {}}, tuple(_list_learners(run)) if run else (), (), run)

    def refine(self, trial: Trial) -> Run:
        """Return the fit of a trial to the whole sample, to the estimator's `tol` or as far as there is time."""
        path = trial.path
        further = self._generate(
            path.estimator, self.sample, trial.price, path.oracle, trial.learners, path.estimator.tol
        )
        return choose_better(further, trial.run, _formulate(path.estimator, self.sample, trial.price).sense)

    def _open(self, alternative: Mapping[str, Any]) -> PricePath:
        """Return a new path of prices."""
        at, n_samples = copy(self.estimator), len(self.sample.weights)
        at.__dict__ = {**vars(at), **alternative}
        formulation = _formulate(at, self.sample, 1.0)
        oracle = at._oracle(self.sample, formulation)
        everything = csr_array((np.ones(n_samples), (np.arange(n_samples),) * 2))
        parts = [(Rows(oracle, everything[np.flatnonzero(train)]), self.sample.part(train)) for train, _ in self.folds]
        growth = GROWTH[formulation.terms[1].edge_limit is not None]
        others = {name.rstrip("_"): value for name, value in alternative.items()}
        self.paths.append(PricePath(at, others, oracle, parts, growth))
        return self.paths[-1]

    def _find_first(self, path: PricePath) -> float:
        """Return the price to begin with, for the formulation at the price 1, whose multipliers without columns are s.

        They are in proportion to the price. A hypothesis h enters where its edge is at the limit, and one that has
        nothing to do with the classes has the standard deviation ``sqrt(sum_i s_i^2 h(x_i)^2)``.
        """
        formulation = _formulate(path.estimator, self.sample, 1.0)
        signs = formulation.signs(label(formulation, self.sample), len(self.sample.weights))
        s = Restricted(formulation, signs).start().s
        priced = (path.oracle if formulation.nonnegative else with_negations(path.oracle)).price(s)
        limit = formulation.terms[1].edge_limit or 1.0
        if not priced.columns or priced.best_edge <= 0:
            return 1.0
        chance = float(np.linalg.norm(s.T * priced.columns[0].values))
        return max(CHANCE * limit / chance, BEYOND * limit / priced.best_edge)

    def _go_up(self, path: PricePath, most_fits: float) -> None:
        """Try higher prices while they are a clear gain."""
        misses, start = 0, path.best
        while len(path.trials) < MOST_PRICES and misses < MISSES:
            last, best = path.ordered[-1], path.best
            # fits at the next price take the more, and so does that to the end if it is chosen
            ahead = path.growth**MORE_WORK * (last.work + TO_THE_END * measure_work(last.run))
            if self.work + ahead > most_fits * TO_THE_END * measure_work(start.run):
                return
            new = self._try(path, last.price * path.growth)
            # ensembles without weak learners are all one
            if new is None or (best.exceeds(new) and new.learners):
                return
            misses = 0 if new.exceeds(best) or not new.learners else misses + 1

    def _go_down(self, path: PricePath, most_fits: float) -> None:
        """Try lower prices, which take less and less, until they are a loss."""
        misses, start = 0, path.trials[self.first[1]] if self.first else path.best
        while len(path.trials) < MOST_PRICES and misses < MISSES:
            ahead = path.ordered[0].work + TO_THE_END * measure_work(path.best.run)
            if self.work + ahead > most_fits * TO_THE_END * measure_work(start.run):
                return
            new = self._try(path, path.ordered[0].price / path.growth)
            if new is None or not new.learners or path.best.exceeds(new):
                return
            misses = 0 if path.best is new else misses + 1

    def _try(self, path: PricePath, price: float) -> Trial | None:
        """Fit ensembles at a price to the whole sample and to the folds; None where there is no time for all."""
        if self.first is not None and time_is_up():
            return None
        before, began = path.find_nearest(price), self.work
        whole = self._generate(path.estimator, self.sample, price, path.oracle, before.learners if before else ())
        self.first = self.first or (path, price, whole)
        found, gaps, scores = [], [whole.certificate.relative_gap], []
        for k, ((rows, part), (_, test)) in enumerate(zip(path.parts, self.folds, strict=True)):
            # the losses of a fold have the sum of prices that those of the whole sample have
            share = float(self.sample.weights.sum() / part.weights.sum())
            start = before.of_folds[k] if before else ()
            run = self._generate(path.estimator, part, share * price, rows, start)
            if time_is_up():
                # an ensemble that was cut says nothing of its price
                return None
            found.append(_list_learners(run))
            gaps.append(run.certificate.relative_gap)
            scores.append(self.score(self.sample, test, run.decision_function(self.sample.X[np.flatnonzero(test)])))
        trial = path.trials[price] = Trial(path, price, scores, max(gaps), whole, found, self.work - began)
        self.tell(f"C={price:.3g}, {len(trial.learners)} weak learners, score {trial.score:.4g}")
        return trial

    def _generate(
        self, at: Any, sample: Any, price: float, oracle: Oracle, start: Sequence[Hypothesis], tol: float = 0.0
    ) -> Run:
        """Fit an ensemble at a price, to `FOLD_TOL` unless another gap is given."""
        formulation, tol = _formulate(at, sample, price), tol or FOLD_TOL
        run = column_generation(formulation, oracle, label(formulation, sample), tol=tol, start=start)
        self.work += measure_work(run)
        if run.ending is Ending.INTERRUPTED:
            self.first = self.first or (self.paths[-1], price, run)
            raise KeyboardInterrupt
        return run


def _formulate(estimator: Any, sample: Any, price: float) -> Formulation:
    """Return the formulation of an estimator at a price."""
    at = copy(estimator)
    at.C_ = price
    formulation: Formulation = at._formulation(sample)
    return formulation


def measure_work(run: Run) -> float:
    """Measure what a run has taken, the same on any machine: the entries of its columns, summed over rounds.

    A round takes as long as `ROUND` columns by itself.
    """
    return float(len(run.u) * sum(ROUND + row.size for row in run.history))


def _as_member(run: Run) -> Member:
    """Return the weak learners of a run that have a weight."""
    return Member(_list_learners(run), np.array([w for w in run.weights if np.any(w)]), run.intercept)


def _list_learners(run: Run) -> list[Hypothesis]:
    """Return the weak learners that have a weight."""
    columns: Sequence[Column] = run.columns
    return [column.hypothesis for column, w in zip(columns, run.weights, strict=True) if np.any(w)]


def _is_number(cv: Any) -> bool:
    return isinstance(cv, int | np.integer) and not isinstance(cv, bool)


def _make_scorer(estimator: Any) -> Callable[[Any, NDArray[np.bool_], Array], float]:
    """Return what scores the scores f of the test part of a sample; the larger, the better."""
    odds = getattr(estimator, "log_odds", None)
    scoring = estimator.scoring
    if scoring is None and is_classifier(estimator):
        return partial(_score_loss, odds)
    if scoring is None:
        scoring = SCORINGS.get(estimator.loss, "neg_mean_squared_error")
    if isinstance(scoring, list | tuple | dict | set):
        raise InvalidInput("scoring", f"found several, {scoring!r:.100}", "give one to choose by")
    try:
        score = check_scoring(estimator, scoring)
    except ValueError as error:
        remedy = "name a scorer of scikit-learn, or give one"
        raise InvalidInput("scoring", f"found {scoring!r:.100}: {error!s:.200}", remedy) from error
    by_weight = takes_weights(score)

    def score_part(sample: Any, test: NDArray[np.bool_], f: Array) -> float:
        given = {"sample_weight": sample.weights[test]} if by_weight else {}
        answers = Answers(sample.classes, f, odds) if is_classifier(estimator) else Predictions(f)
        return float(score(answers, sample.X[np.flatnonzero(test)], sample.given[test], **given))

    return score_part


def _score_loss(odds: float | None, sample: Any, test: NDArray[np.bool_], f: Array) -> float:
    """Return minus the mean log loss of a test part, where scores have log odds, else minus its mean hinge loss."""
    z = sample.signs[test] * f
    losses = np.maximum(0.0, 1.0 - z) if odds is None else np.logaddexp(0.0, -odds * z)
    return -float(np.average(losses, weights=sample.weights[test]))


def takes_weights(score: Callable[..., float]) -> bool:
    """Return True if a scorer, or the metric that it is made of, takes `sample_weight`."""
    return "sample_weight" in signature(getattr(score, "_score_func", score)).parameters


class Answers(ClassifierMixin, BaseEstimator):
    """A classifier for one sample only, whose scores are known: what scorers of scikit-learn take.

    `log_odds`, where there are any, are those of the second of two classes per unit of score.
    """

    def __init__(self, classes_: NDArray, scores: Array, log_odds: float | None = None) -> None:
        self.classes_ = classes_
        self.scores = scores
        self.log_odds = log_odds

    def decision_function(self, _X: Any) -> Array:
        """Return the scores that were made before, whatever the samples."""
        return self.scores

    def predict(self, _X: Any) -> NDArray:
        """Return the classes of the largest scores."""
        binary = self.scores.ndim == 1
        return self.classes_[(self.scores > 0).astype(np.intp) if binary else self.scores.argmax(axis=1)]

    @available_if(lambda self: self.log_odds is not None)
    def predict_proba(self, _X: Any) -> Array:
        """Return the probabilities of two classes."""
        p = expit((self.log_odds or 0.0) * self.scores)
        return np.stack([1 - p, p], axis=1)


class Predictions(RegressorMixin, BaseEstimator):
    """A regressor for one sample only, whose predictions are known: what scorers of scikit-learn take."""

    def __init__(self, predictions: Array) -> None:
        self.predictions = predictions

    def predict(self, _X: Any) -> Array:
        """Return the predictions that were made before, whatever the samples."""
        return self.predictions


def tabulate(params: Sequence[Mapping[str, Any]], scores: Array, gaps: Array) -> dict[str, Any]:
    """Lay out scores and gaps (n_splits, n_candidates) as GridSearchCV does."""
    columns: dict[str, Any] = {f"param_{name}": np.array([each[name] for each in params]) for name in params[0]}
    means = scores.mean(axis=0)
    return {
        **columns,
        "params": list(params),
        **{f"split{k}_test_score": row for k, row in enumerate(scores)},
        "mean_test_score": means,
        "std_test_score": scores.std(axis=0),
        "rank_test_score": rankdata(-means, method="min").astype(np.int32),
        "max_relative_gap": gaps.max(axis=0),
    }
