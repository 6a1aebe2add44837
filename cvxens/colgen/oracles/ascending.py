"""Several scores a sample that ascend everywhere: the first one is free, and the steps to the next are never below 0.

With hypotheses of values within [-1, 1], every ``1 + h(x)`` is 0 or above at every x, and so is a sum of these and of a
constant with weights of 0 or above. Rows are the scores of the samples, one after the other; a column of the step r
adds to the scores from r on.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from cvxens import validation
from cvxens.colgen.protocols import Column, Oracle, Priced, declared, evaluate
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Constant, negate
from cvxens.rounding import EPSILON
from cvxens.types import Array

DISTANCE = 100.0
"""The value of a constant step: a distance between scores that is everywhere the same costs a hundredth of others."""


@dataclass(frozen=True)
class AscendingStep:
    """A hypothesis as a part of the scores from `first` on: h(x) of the first score, and 1 + h(x) of a step to one."""

    hypothesis: Any
    first: int

    @property
    def is_constant(self) -> bool:
        """True if it is the same everywhere."""
        return isinstance(self.hypothesis, Constant)

    def __call__(self, X: Any, /) -> Array:
        """Return what is added to the scores of samples from the first one on."""
        return self.of_values(np.asarray(self.hypothesis(X), np.float64))

    def of_values(self, h: Array) -> Array:
        """Return what is added to the scores, of values h(x)."""
        return h if self.first == 0 else np.full(len(h), DISTANCE) if self.is_constant else 1 + h


@dataclass(frozen=True, eq=False)
class StackedSample:
    """Samples with several rows each, one for each score."""

    X: Any
    n_scores: int

    def __len__(self) -> int:
        return validation.count_rows(self.X) * self.n_scores

    def evaluate(self, step: AscendingStep) -> Array:
        """Return what a part adds to the scores of all samples, (n_samples n_scores,)."""
        h = np.asarray(evaluate(step.hypothesis, self.X), np.float64)
        scores = np.zeros((len(h), self.n_scores))
        scores[:, step.first :] = step.of_values(h)[:, np.newaxis]
        return scores.ravel()


class Ascending:
    """The parts of several scores that ascend everywhere, made of the hypotheses of an oracle; w >= 0.

    Parameters
    ----------
    oracle : Oracle
        Hypotheses of values within [-1, 1], with -h of every h where the first score is to be free.
    n_scores : int
        The number of scores of a sample.

    Raises
    ------
    InvalidInput
        A hypothesis may leave [-1, 1].

    Examples
    --------
    >>> from cvxens.colgen.oracles import Stumps
    >>> oracle = Ascending(Stumps([[0.0], [1.0]]), 2)
    >>> best = oracle.price(np.array([1.0, -1.0, -1.0, 1.0])).columns[0]
    >>> best.hypothesis.first, best.edge, best.values
    (1, 2.0, array([0., 0., 0., 2.]))
    """

    source = "Bondell, Reich & Wang 2010, at every x"

    def __init__(self, oracle: Oracle, n_scores: int) -> None:
        if not declared(oracle, "votes"):
            found = f"found {type(oracle).__name__}, whose hypotheses may leave [-1, 1]"
            raise InvalidInput("oracle", found, "take stumps, trees, rules or perceptrons, or declare `votes`")
        self.oracle, self.n_scores = oracle, n_scores
        self.sample = StackedSample(oracle.sample, n_scores)
        self.largest = DISTANCE

    def has_negation(self, step: Any) -> bool:
        """Return False: weights are 0 or above, and -h is a hypothesis of its own."""
        return False

    def price(self, s: Any, exclude: Collection[Any] = ()) -> Priced:
        """Return the best parts, as `Oracle.price` says; the bounds are as exact as the oracle's."""
        S = validation.signed_weights(s, len(self.sample)).reshape(-1, self.n_scores)
        # what a part of the step r is multiplied by: the weights of all scores from r on
        from_on = np.cumsum(S[:, ::-1], axis=1)[:, ::-1]
        lost = EPSILON * (self.n_scores + len(S) + 2) * float(np.abs(S).sum())
        columns, edge_bound, outside = [], 0.0, 0.0
        for first, weights in enumerate(from_on.T):
            answer = self.oracle.price(weights, [step.hypothesis for step in exclude if step.first == first])
            shift = float(weights.sum()) if first else 0.0
            columns += [
                Column(AscendingStep(column.hypothesis, first), self.sample, column.edge + shift)
                for column in answer.columns
                if not (first and isinstance(column.hypothesis, Constant))
            ]
            edge_bound = max(edge_bound, answer.edge_bound + shift + 2 * lost)
            outside = max(outside, answer.outside_bound + shift + 2 * lost)
            if first:
                constant = AscendingStep(Constant(1), first)
                edge_bound, outside = (max(bound, DISTANCE * (shift + lost)) for bound in (edge_bound, outside))
                if constant not in exclude:
                    columns.append(Column(constant, self.sample, DISTANCE * shift))
        columns.sort(key=lambda column: -column.edge)
        return Priced(columns, edge_bound, outside_bound=outside)


def add_up(steps: list[AscendingStep], w: Array, b: float, n_scores: int) -> tuple[tuple[Any, ...], Array, Array]:
    """Return hypotheses, their weights (n_hypotheses, n_scores) and intercepts (n_scores,) of weighted parts."""
    intercepts = np.full(n_scores, float(b))
    weights: dict[Any, Array] = {}
    for step, value in zip(steps, w.tolist(), strict=True):
        if step.first and step.is_constant:
            intercepts[step.first :] += DISTANCE * value
            continue
        weights.setdefault(step.hypothesis, np.zeros(n_scores))[step.first :] += value
        if step.first:
            intercepts[step.first :] += value
    return tuple(weights), np.array(list(weights.values())).reshape(len(weights), n_scores), intercepts


def take_apart(hypotheses: tuple[Any, ...], W: Array, b: Array) -> tuple[list[AscendingStep], Array, float]:
    """Return the parts, their weights and the intercept of scores by hypotheses, weights and intercepts.

    Raises
    ------
    InvalidInput
        The intercepts are not far enough apart for scores that ascend everywhere.
    """
    steps, w = [], []
    for first in range(W.shape[1]):
        own = W[:, first] - (W[:, first - 1] if first else 0.0)
        for hypothesis, value in zip(hypotheses, own.tolist(), strict=True):
            if value:
                steps.append(AscendingStep(hypothesis if value > 0 else negate(hypothesis), first))
                w.append(abs(value))
        if first:
            rest = float(b[first] - b[first - 1] - np.abs(own).sum())
            if rest < -1e-9 * (1 + float(np.abs(b).max())):
                found = f"found {b[first]:g} after {b[first - 1]:g}, with steps of {np.abs(own).sum():g}"
                raise InvalidInput("intercept", found, "give intercepts under which scores ascend everywhere")
            steps.append(AscendingStep(Constant(1), first))
            w.append(max(rest, 0.0) / DISTANCE)
    return steps, np.array(w), float(b[0])
