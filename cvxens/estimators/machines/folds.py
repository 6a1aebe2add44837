"""Cross-validation of support vector machines along C, on one kernel for all folds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.model_selection import ParameterGrid

from cvxens.errors import InvalidInput
from cvxens.estimators.machines.choice import Choice
from cvxens.estimators.machines.kernels import TrainingKernel
from cvxens.estimators.machines.training import Limits, Trainer
from cvxens.estimators.multiclass import SCHEMES, combine_scores
from cvxens.estimators.samples import class_factors
from cvxens.types import Array

Indices: TypeAlias = NDArray[np.intp]

Score: TypeAlias = Callable[..., float]
"""A scorer as scikit-learn has it: takes a fitted classifier, samples, their classes, and maybe `sample_weight`."""


def accuracy(answers: Answers, X: Any, y: NDArray, sample_weight: Array | None = None) -> float:
    """The share of right answers, by weight."""
    return float(np.average(answers.predict(X) == y, weights=sample_weight))


def takes_weights(score: Score) -> bool:
    """Whether a scorer, or the metric that it is made of, takes `sample_weight`."""
    return "sample_weight" in signature(getattr(score, "_score_func", score)).parameters


class Answers(ClassifierMixin, BaseEstimator):
    """A classifier for one sample only, whose scores are known."""

    def __init__(self, classes_: NDArray, scores: Array) -> None:
        self.classes_ = classes_
        self.scores = scores

    def decision_function(self, _X: Any) -> Array:
        """Return the scores."""
        return self.scores

    def predict(self, _X: Any) -> NDArray:
        """Return the classes of the largest scores."""
        binary = self.scores.ndim == 1
        return self.classes_[(self.scores > 0).astype(np.intp) if binary else self.scores.argmax(axis=1)]


@dataclass(frozen=True, eq=False)
class Folds:
    """A sample whose parts are trained on and scored.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Features, or a kernel matrix.
    y : ndarray of shape (n_samples,)
        Classes.
    weights : ndarray of shape (n_samples,)
        Of the samples, 0 or above.
    class_weight : dict, "balanced" or None
        As scikit-learn has it, on the samples that are trained on.
    multi_class : str
        "ovr" or "ovo".
    score : callable
        The scorer.
    weighted : bool
        Whether scores are weighted.
    """

    X: NDArray
    y: NDArray
    weights: Array
    class_weight: Any
    multi_class: str
    score: Score
    weighted: bool

    def along(
        self, kernel: SharedKernel, Cs: Sequence[float], limits: Limits, split: tuple[Indices, Indices]
    ) -> tuple[Array, Array]:
        """Train at every C, ascending, and score; returns the scores and the largest certified gaps, both (n_Cs,)."""
        test = split[1]
        train, weights, classes, labels = self._training(split[0])
        several = len(classes) > 2
        parts_of = SCHEMES[self.multi_class]
        scores, gaps = [], []
        for rows, part in parts_of(labels, len(classes)) if several else [(np.full(len(labels), True), labels)]:
            trainer, evaluate = kernel.on(train[rows], test)
            solutions = trainer.path(np.where(part > 0, 1.0, -1.0), weights[rows], Cs, limits)
            if len(solutions) < len(Cs):
                raise KeyboardInterrupt
            scores.append(evaluate(solutions))
            gaps.append([solution.relative_gap for solution in solutions])
        found = scores[0]
        if several:
            found = np.stack([combine_scores(self.multi_class, s, len(classes)) for s in np.stack(scores, axis=-1)])
        return self._scored(test, [Answers(classes, each) for each in found]), np.max(gaps, axis=0)

    def _training(self, train: Indices) -> tuple[Indices, Array, NDArray, NDArray[np.intp]]:
        """The samples of positive weight, ascending, with their weights; the classes, and which one each has."""
        train = np.sort(train)
        weights = self.weights[train] * class_factors(self.class_weight, self.y[train], self.weights[train])
        train, weights = train[weights > 0], weights[weights > 0]
        classes, labels = np.unique(self.y[train], return_inverse=True)
        if len(classes) < 2:
            raise InvalidInput("cv", f"found a fold of {len(classes)} class", "give folds that train on two or more")
        return train, weights, classes, labels

    def _scored(self, test: Indices, answers: Sequence[Answers]) -> Array:
        by_weight = {"sample_weight": self.weights[test]} if self.weighted else {}
        return np.array([self.score(each, self.X[test], self.y[test], **by_weight) for each in answers])


class SharedKernel:
    """One kernel for all parts of a sample, unless it is another one on a part.

    Parameters
    ----------
    choice : Choice
        Kernel and solver.
    X : ndarray of shape (n_samples, n_features)
        The whole sample.
    """

    def __init__(self, choice: Choice, X: NDArray) -> None:
        self.choice, self.X = choice, X
        self.whole = choice.learner(X)

    def on(self, members: Indices, test: Indices) -> tuple[Trainer, Callable[[Sequence[Any]], Array]]:
        """What trains on some samples, and what scores others by solutions, (n_solutions, n_test)."""
        kernel, whole = self.whole.kernel, self.whole.trainer
        if kernel.given or TrainingKernel.of(self.choice.kernel, self.choice.gamma, self.X[members]).is_that_of(kernel):
            return whole.among(members), lambda solutions: whole.scores(test, members, solutions)
        own = self.choice.learner(self.X[members])
        return own.trainer, lambda solutions: np.stack([own.predictor(each)(self.X[test]) for each in solutions])


def tabulate(grid: Mapping[str, Sequence[Any]], scores: Array, gaps: Array) -> dict[str, Any]:
    """Lay out scores and gaps (n_splits, n_candidates) as GridSearchCV does."""
    params = list(ParameterGrid(grid))
    columns: dict[str, Any] = {f"param_{name}": np.array([each[name] for each in params]) for name in grid}
    means = scores.mean(axis=0)
    return {
        **columns,
        "params": params,
        **{f"split{k}_test_score": row for k, row in enumerate(scores)},
        "mean_test_score": means,
        "std_test_score": scores.std(axis=0),
        "rank_test_score": rankdata(-means, method="min").astype(np.int32),
        "max_relative_gap": gaps.max(axis=0),
    }
