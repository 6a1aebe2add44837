"""The price of a loss chosen from the sample, by cross-validation along the path of prices.

Price after price, from the one at which the first weak learner would enter, an ensemble is fitted to the whole sample
and to the training part of every fold. The runs of the folds start from the weak learners of the whole sample's and
from their own at the price before. That saves rounds and decides nothing: every run is solved over all hypotheses of
the oracle, to a certified gap, whatever it started from. So nothing of a fold's test part gets into its ensemble but
what the gap leaves open. All runs are over the same set of hypotheses, as thresholds are those of the whole sample's
features, which no label has a part in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import KW_ONLY, dataclass, field
from inspect import signature
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
from cvxens.estimators.ensembles import Choice, Ensemble, Member
from cvxens.estimators.progress import rounds_of
from cvxens.estimators.samples import label
from cvxens.limits import Ending, time_is_up
from cvxens.types import Array

AUTO = "auto"
"""The price that is chosen from the sample."""

N_FOLDS = 5
"""The default number of folds."""

FOLD_TOL = 1e-2
"""The relative gap of the fits to folds: far below what the scores of folds differ by."""

BEYOND = 1.3
"""The first price, in units of the one at which weak learners with an l1 penalty begin to enter."""

SMALL_MARGIN = 0.1
"""The mean margin of the first ensemble with a squared penalty, where all multipliers are at their bounds."""

GROWTH = {True: 1.6, False: 3.0}
"""The ratio of neighbouring prices: with an l1 penalty, under which ensembles change faster, and with another."""

MOST_PRICES = 16
"""The most prices that are tried."""

SCORINGS: Mapping[str, str] = {"absolute": "neg_mean_absolute_error", "huber": "neg_mean_absolute_error"}
"""The scores that choose the price of a regression, by its loss, where that is not of squares."""

PATIENCE = 3
"""Prices with worse scores than the best one's, after which higher ones are not tried: they take longest."""


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
        predictions of a regressor; by default the log loss where there are probabilities, else the accuracy; of a
        regressor the mean absolute error where its loss is one of deviations, else the mean squared error.
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
        n_weak_learners of that to all samples. None where C was given.
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
        folds, score, trials = self._split(sample), _make_scorer(self), Trials()
        with rounds_of(self) as rounds:
            for alternative in self._alternatives():
                at = copy(self)
                at.__dict__ = {**vars(at), **alternative}
                path = _Path(at, sample, folds, score, lambda told: rounds.tell(f"choosing C, {told}"))
                trials.extend(path.search(), {name.rstrip("_"): value for name, value in alternative.items()})
        best = trials.best(one_standard_error=bool(self.one_standard_error))
        near = trials.find_near(best) if self._averages() else [best]
        members = [trials.trials[k].member for k in near]
        # the hypotheses of an alternative are some of those of later ones
        params = {**trials.params[max(near)], "C": trials.params[best]["C"]}
        chosen = {f"{name}_": value for name, value in params.items()}
        start = dict.fromkeys(hypothesis for member in members for hypothesis in member.learners)
        return Choice({**chosen, "cv_results_": trials.tabulate()}, tuple(start), members if len(members) > 1 else ())

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

    price: float
    scores: list[float]  # of the folds
    gap: float  # the largest certified one
    member: Member  # that of the whole sample, with the weak learners that have a weight

    @property
    def learners(self) -> Sequence[Hypothesis]:
        """The weak learners of the whole sample."""
        return self.member.learners

    @property
    def score(self) -> float:
        """The mean over the folds."""
        return float(np.mean(self.scores))

    @property
    def standard_error(self) -> float:
        """The standard error of the mean; 0 of one fold."""
        return float(np.std(self.scores, ddof=1) / len(self.scores) ** 0.5) if len(self.scores) > 1 else 0.0


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

    def best(self, *, one_standard_error: bool) -> int:
        """Return the number of the first of the best trials, or of those within a standard error of that."""
        means = np.array([trial.score for trial in self.trials])
        first = int(means.argmax())
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


@dataclass(frozen=True, eq=False)
class _Path:
    """Fits to a whole sample and to folds, at one price after another."""

    estimator: Any
    sample: Any
    folds: Sequence[tuple[NDArray[np.bool_], NDArray[np.bool_]]]
    score: Callable[[Any, NDArray[np.bool_], Array], float]
    tell: Callable[[str], None]

    def search(self) -> list[Trial]:
        """Try prices, ascending, while scores rise and there is time."""
        n_samples, formulation = len(self.sample.weights), self._formulate(self.sample, 1.0)
        oracle = self.estimator._oracle(self.sample, formulation)
        everything = csr_array((np.ones(n_samples), (np.arange(n_samples),) * 2))
        parts = [
            (Rows(oracle, everything[np.flatnonzero(train)]), self.sample.part(train), test)
            for train, test in self.folds
        ]
        before: list[Sequence[Hypothesis]] = [()] * len(parts)
        price, growth = _find_first(formulation, oracle, self.sample), GROWTH[_is_sparse(formulation)]
        found: list[Trial] = []
        while len(found) < MOST_PRICES and not _is_past(found) and not (found and time_is_up()):
            whole = self._run(self.sample, price, oracle, found[-1].learners if found else ())
            own, gaps, scores = _list_learners(whole), [whole.certificate.relative_gap], []
            for k, (rows, part, test) in enumerate(parts):
                # the losses of a fold have the sum of prices that those of the whole sample have
                share = float(self.sample.weights.sum() / part.weights.sum())
                run = self._run(part, share * price, rows, [*dict.fromkeys((*before[k], *own))])
                before[k] = _list_learners(run)
                gaps.append(run.certificate.relative_gap)
                scores.append(self.score(self.sample, test, run.decision_function(self.sample.X[np.flatnonzero(test)])))
            weights = np.array([w for w in whole.weights if np.any(w)])
            found.append(Trial(price, scores, max(gaps), Member(own, weights, whole.intercept)))
            self.tell(f"C={price:.3g}, {len(own)} weak learners, score {found[-1].score:.4g}")
            price *= growth
        return found

    def _formulate(self, sample: Any, price: float) -> Formulation:
        """Return the formulation at a price."""
        at = copy(self.estimator)
        at.C_ = price
        formulation: Formulation = at._formulation(sample)
        return formulation

    def _run(self, sample: Any, price: float, oracle: Oracle, start: Sequence[Hypothesis]) -> Run:
        """Fit an ensemble at a price."""
        formulation = self._formulate(sample, price)
        run = column_generation(formulation, oracle, label(formulation, sample), tol=FOLD_TOL, start=start)
        if run.ending is Ending.INTERRUPTED:
            raise KeyboardInterrupt
        return run


def _is_past(trials: Sequence[Trial]) -> bool:
    """Return True if scores fall: by more than a standard error of the best, or for some prices in a row."""
    if not trials:
        return False
    best = max(range(len(trials)), key=lambda k: trials[k].score)
    fallen = trials[best].score - trials[-1].score
    later = [trial for trial in trials[best + 1 :] if trial.score < trials[best].score]
    return len(later) >= PATIENCE or fallen > trials[best].standard_error > 0


def _is_sparse(formulation: Formulation) -> bool:
    return hasattr(formulation.terms[1], "edge_limit")


def _find_first(formulation: Formulation, oracle: Oracle, sample: Any) -> float:
    """Return the price to begin with, for the formulation at the price 1, whose multipliers without columns are u.

    They are in proportion to the price. So with an l1 penalty the first hypothesis enters at its slope over the largest
    edge; with 1/2 |w|^2, the weights that u has are the edges, and their mean margin is ``sum edge^2 / sum u``.
    """
    signs = formulation.signs(label(formulation, sample), len(sample.weights))
    solution = Restricted(formulation, signs).start()
    priced = (oracle if formulation.nonnegative else with_negations(oracle)).price(solution.s)
    limit = getattr(formulation.terms[1], "edge_limit", None)
    if limit is not None:
        return BEYOND * limit / priced.best_edge if priced.best_edge > 0 else 1.0
    squares = priced.rising_square_sum if formulation.nonnegative else priced.edge_square_sum
    if not 0 < squares < np.inf:
        found = "found a set whose squared edges are not known, or all 0"
        raise InvalidInput("oracle", found, "give C as a number, or another oracle")
    return float(SMALL_MARGIN * solution.u.sum() / squares)


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
        scoring = "accuracy" if odds is None else "neg_log_loss"
    elif scoring is None:
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
