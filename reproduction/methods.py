"""Methods: what is trained on a split, how its parameters are chosen, and what is measured of it."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, Protocol, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.model_selection import ParameterGrid, StratifiedKFold

from cvxens.certificates import Certificate
from cvxens.types import Array, Labels
from reproduction.splits import Split


@dataclass(frozen=True)
class Proof:
    """What the certificate of a fit says: the optimum is between two values; None stands for one that is not finite."""

    primal: float | None
    dual: float | None
    relative_gap: float | None
    proven: bool  # True if the bound holds over every hypothesis

    @classmethod
    def from_certificate(cls, certificate: Certificate) -> Proof:
        """Keep the values of a certificate."""
        values = (certificate.primal, certificate.dual, certificate.relative_gap)
        primal, dual, gap = (float(value) if isfinite(value) else None for value in values)
        return cls(primal, dual, gap, bool(certificate.proven))


@dataclass(frozen=True)
class Outcome:
    """What a method measures on a split."""

    value: float  # in the unit of the experiment
    proofs: tuple[Proof, ...] = ()  # of the fits that the value is of; none of methods without certificates
    more: Mapping[str, Any] = field(default_factory=dict)  # what JSON can hold: parameters chosen, curves of a figure


class Method(Protocol):
    """Trains and tests on a split."""

    def __call__(self, split: Split, /) -> Outcome:
        """Return what is measured."""


@dataclass(frozen=True)
class ErrorOf:
    """The share of the test samples, in percent, that an estimator of scikit-learn's kind puts into a wrong class.

    Of an estimator that chooses its parameters, `more` has those, the seconds of the choice, and the largest certified
    gap of the fits that it rests on, where they have one.

    Examples
    --------
    >>> from cvxens import LPBoostClassifier
    >>> from cvxens.datasets import make_twonorm
    >>> from reproduction import Generated
    >>> split = Generated(make_twonorm, n_samples=50, n_new=100).open()(0, np.random.default_rng(0))
    >>> outcome = ErrorOf(LPBoostClassifier())(split)
    >>> outcome.value < 30, outcome.proofs[0].proven
    (True, True)
    """

    estimator: Any
    balanced: bool = False  # True for the mean of the errors within the classes

    def __call__(self, split: Split, /) -> Outcome:
        """Fit the estimator, seeded, and test it."""
        wall, processor = time.perf_counter(), time.process_time()
        model = seeded(self.estimator, split.random_state).fit(split.X, split.y)
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
        answers = model.predict(split.X_test)
        value = percent_wrong(answers, split.y_test, balanced=self.balanced)
        classes = by_class(answers, split.y_test) if self.balanced else {}
        return Outcome(value, proofs_of(model), choice_of(model, wall, processor) | classes)


@dataclass(frozen=True)
class BoundaryOf:
    """The test error of a classifier of two features, as `ErrorOf` has it, and its scores on a grid, to be drawn."""

    estimator: Any
    n_points: int = 80  # on a side of the grid

    def __call__(self, split: Split, /) -> Outcome:
        """Fit the estimator, seeded, and evaluate it on a grid around the samples to train on."""
        model = seeded(self.estimator, split.random_state).fit(split.X, split.y)
        low, high = split.X.min(axis=0), split.X.max(axis=0)
        low, high = low - 0.1 * (high - low), high + 0.1 * (high - low)
        sides = [np.linspace(low[d], high[d], self.n_points) for d in (0, 1)]
        across, up = np.meshgrid(*sides)
        scores = model.decision_function(np.column_stack([across.ravel(), up.ravel()])).reshape(across.shape)
        shown = {"scores": rounded(scores), "range": rounded([low, high]), "X": rounded(split.X), "y": rounded(split.y)}
        value = percent_wrong(model.predict(split.X_test), split.y_test)
        return Outcome(value, proofs_of(model), shown)


@dataclass(frozen=True)
class ErrorOrRms:
    """The test error in percent of a classifier; where the targets are numbers, the root mean square of a regressor's.

    Classes are -1 and +1 here.
    """

    classifier: Any
    regressor: Any

    def __call__(self, split: Split, /) -> Outcome:
        """Fit the one that the targets are for."""
        if set(np.unique(split.y)) <= {-1.0, 1.0}:
            return ErrorOf(self.classifier)(split)
        model = seeded(self.regressor, split.random_state).fit(split.X, split.y)
        errors = model.predict(split.X_test) - split.y_test
        return Outcome(float(np.sqrt(np.mean(errors**2))), proofs_of(model))


@dataclass(frozen=True)
class CurveOf:
    """The errors of an estimator for several values of a parameter, one fit each, and their seconds, to be drawn.

    The value is the test error of the last.
    """

    estimator: Any
    parameter: str
    values: tuple[int, ...]

    def __call__(self, split: Split, /) -> Outcome:
        """Fit for every value."""
        trained, tested, seconds, proofs = [], [], [], list[Proof]()
        for value in self.values:
            start = time.process_time()
            model = seeded(self.estimator, split.random_state).set_params(**{self.parameter: value})
            model.fit(split.X, split.y)
            seconds.append(time.process_time() - start)
            trained.append(percent_wrong(model.predict(split.X), split.y))
            tested.append(percent_wrong(model.predict(split.X_test), split.y_test))
            proofs += proofs_of(model)
        curves = {"at": list(self.values), "training": rounded(trained), "test": rounded(tested)}
        spent = {"seconds": rounded(seconds), "seconds of the last": seconds[-1]}
        return Outcome(tested[-1], tuple(proofs), curves | spent)


def rounded(values: Any, digits: int = 3) -> Any:
    """Return numbers as lists, to so many significant digits: what a figure needs.

    Examples
    --------
    >>> rounded([[0.123456, 12345.0]])
    [[0.123, 12300.0]]
    """
    array = np.asarray(values, np.float64)
    return np.vectorize(lambda value: float(f"{value:.{digits}g}"), otypes=[float])(array).tolist()


def seeded(estimator: Any, random_state: int) -> Any:
    """Return a clone of an estimator, all of whose parts that draw have the seed."""
    model = clone(estimator)
    names = [name for name in model.get_params() if name.rpartition("__")[2] == "random_state"]
    return model.set_params(**dict.fromkeys(names, random_state))


def percent_wrong(answers: Labels, y: Labels, *, balanced: bool = False) -> float:
    """Return the percentage of answers that are wrong, or the mean of the percentages within the classes.

    Examples
    --------
    >>> answers, y = np.array([1, 1, 1, 1]), np.array([1, 1, 1, 2])
    >>> percent_wrong(answers, y), percent_wrong(answers, y, balanced=True)
    (25.0, 50.0)
    """
    wrong = answers != y
    parts = [wrong[y == label] for label in np.unique(y)] if balanced else [wrong]
    return 100.0 * float(np.mean([part.mean() for part in parts]))


def by_class(answers: Labels, y: Labels) -> dict[str, Any]:
    """Return the percentage of wrong answers within every class, and its size: what a balanced error is the mean of.

    Examples
    --------
    >>> by_class(np.array([1, 1, 1, 1]), np.array([1, 1, 1, 2]))
    {'by class': [[0.0, 3], [100.0, 1]]}
    """
    return {
        "by class": [
            [percent_wrong(answers[y == label], y[y == label]), int(np.sum(y == label))] for label in np.unique(y)
        ]
    }


def proofs_of(model: Any) -> tuple[Proof, ...]:
    """Return what the certificates of a fitted model say, of a search those of its best estimator."""
    found = getattr(getattr(model, "best_estimator_", model), "certificate_", ())
    certificates = [found] if isinstance(found, Certificate) else found
    return tuple(Proof.from_certificate(certificate) for certificate in certificates)


def choice_of(model: Any, wall: float, processor: float) -> dict[str, Any]:
    """Return what a search chose, what that took of its processor time, and its largest gap; nothing of others."""
    if not hasattr(model, "best_params_"):
        return {}
    chosen = {
        name: value.item() if isinstance(value, np.generic) else value for name, value in model.best_params_.items()
    }
    # the last fit is known in wall-clock time, which other processes stretch
    choice = {"chosen": chosen, "seconds of the choice": processor * max(0.0, 1 - model.refit_time_ / wall)}
    gaps = model.cv_results_.get("max_relative_gap")
    return choice if gaps is None else choice | {"largest gap of the choice": float(np.max(gaps))}


class StagedCV(ClassifierMixin, BaseEstimator):
    """An ensemble whose size, and other parameters, are chosen by cross-validation, all sizes in one go.

    A boosted classifier is fitted with the largest number of rounds, and scored after every one; an ensemble by column
    generation grows from each size to the next by its `warm_start`. Either way the answer is that of GridSearchCV: the
    first of the best mean accuracy.

    Parameters
    ----------
    estimator : estimator
        All but what is chosen.
    n_rounds : sequence of int
        The sizes to choose from, ascending: `n_rounds` of a boosted classifier, `max_columns` by column generation.
    cv : int
        Stratified folds.
    grid : dict of str to sequence, optional
        Other parameters; the sizes change first.

    Examples
    --------
    >>> from cvxens import AdaBoostClassifier
    >>> from cvxens.datasets import make_twonorm
    >>> X, y = make_twonorm(100, 5, random_state=0)
    >>> StagedCV(AdaBoostClassifier(), range(10, 50, 10)).fit(X, y).best_params_
    {'n_rounds': 20}
    """

    def __init__(
        self, estimator: Any, n_rounds: Sequence[int], cv: int = 5, grid: Mapping[str, Sequence[Any]] | None = None
    ) -> None:
        self.estimator = estimator
        self.n_rounds = n_rounds
        self.cv = cv
        self.grid = grid

    def fit(self, X: Any, y: Any) -> Self:
        """Choose the parameters, then fit all samples (n_samples, n_features) with them."""
        staged = hasattr(self.estimator, "staged_predict")
        name, score = ("n_rounds", score_rounds) if staged else ("max_columns", score_sizes)
        folds = [(X[train], y[train], X[test], y[test]) for train, test in StratifiedKFold(self.cv).split(X, y)]
        grid = list(ParameterGrid(dict(self.grid or {})))
        models = [clone(self.estimator).set_params(**others) for others in grid]
        scores = [[score(model, self.n_rounds, *fold) for fold in folds] for model in models]
        means = np.round(np.mean(scores, axis=1), 12).ravel()
        candidates = [{**others, name: size} for others in grid for size in self.n_rounds]
        self.cv_results_ = {"params": candidates, "mean_test_score": means}
        self.best_params_ = candidates[int(means.argmax())]
        start = time.perf_counter()
        self.best_estimator_ = clone(self.estimator).set_params(**self.best_params_).fit(X, y)
        self.refit_time_ = time.perf_counter() - start
        self.classes_ = self.best_estimator_.classes_
        return self

    def predict(self, X: Any) -> Labels:
        """Classify samples (n_samples, n_features), as the best estimator does."""
        return self.best_estimator_.predict(X)

    def decision_function(self, X: Any) -> Array:
        """Score samples (n_samples, n_features), as the best estimator does."""
        return self.best_estimator_.decision_function(X)


def score_rounds(model: Any, sizes: Sequence[int], X: Any, y: Any, X_test: Any, y_test: Any) -> list[float]:
    """Return the accuracies on test samples of fits with so many rounds each, all from the longest."""
    model = clone(model).set_params(n_rounds=sizes[-1]).fit(X, y)
    staged = [float((classes == y_test).mean()) for classes in model.staged_predict(X_test)]
    # a fit that ended before is the one of all larger numbers
    staged += [staged[-1] if staged else model.score(X_test, y_test)] * (sizes[-1] - len(staged))
    return [staged[size - 1] for size in sizes]


def score_sizes(model: Any, sizes: Sequence[int], X: Any, y: Any, X_test: Any, y_test: Any) -> list[float]:
    """Return the accuracies on test samples of fits with so many columns each, every one grown from the last."""
    model, scores = clone(model).set_params(warm_start=True), list[float]()
    for size in sizes:
        if scores and len(model.weak_learners_) < model.max_columns:
            # it ended before
            scores.append(scores[-1])
        else:
            model.set_params(max_columns=size).fit(X, y)
            scores.append(float((model.predict(X_test) == y_test).mean()))
    return scores
