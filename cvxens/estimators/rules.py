"""Ensembles as lists of rules: every weak learner that is constant on boxes is a sum of rules, each with a vote."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cvxens.errors import InvalidInput
from cvxens.estimators.multiclass import SCHEMES
from cvxens.estimators.samples import Sample
from cvxens.hypotheses import Among, Branch, Interval, LevelStump, Negated, Rule, Scaled
from cvxens.types import Array


class WeightedRule(NamedTuple):
    """A rule of an ensemble: what its conditions add to the score where they hold, and how it fares on a sample."""

    problem: int  # the sub-problem
    rule: Rule
    side: int  # the class that it votes for, as an index into the sides of the sub-problem
    votes: Array  # (n_outputs,)
    support: float  # the share of the samples that it holds for
    precision: float  # of these the share that are of its class; NaN where there are none


Conditions: TypeAlias = tuple[Interval | Among, ...]


def list_rules(hypothesis: Any) -> Iterator[tuple[Conditions, float]]:
    """Yield rules, by their conditions in the order of the features, and values; h(x) is the sum of those that hold.

    Examples
    --------
    >>> from cvxens.hypotheses import Stump
    >>> for (condition,), value in list_rules(Stump(1, 0.5, -1, missing=1)):
    ...     print(condition, value)
    (x[1] >= 0.5 or missing) -1
    x[1] < 0.5 1
    """
    match hypothesis:
        case Rule():
            yield tuple(sorted(hypothesis.intervals, key=lambda condition: condition.feature)), hypothesis.sign
        case Branch():
            for leaf in hypothesis.rules:
                yield from list_rules(leaf)
        case Negated() | Scaled():
            for intervals, value in list_rules(hypothesis.hypothesis):
                yield intervals, hypothesis.factor * value
        case _ if hasattr(hypothesis, "step"):
            feature, threshold, above, below, missing = hypothesis.step
            if above == below == missing:
                yield (), above
                return
            yield (Interval(feature, threshold, inf, missing == above),), above
            yield (Interval(feature, -inf, threshold, missing == below),), below
        case LevelStump(feature, levels, sign, missing, names):
            yield (Among(feature, levels, names, True, missing > 0),), sign
            yield (Among(feature, levels, names, False, missing < 0),), -sign
        case _:
            found = f"found a {type(hypothesis).__name__} as a weak learner, which is no sum of rules"
            raise InvalidInput("get_rules", found, "fit with stumps, trees of depth 2 or 3, rules or boxes")


def weigh_rules(
    sample: Sample, problems: Sequence[tuple[Sequence[Any], Array]], multi_class: str | None
) -> list[WeightedRule]:
    """Return the rules of an ensemble, those of equal conditions as one, the largest votes of each sub-problem first.

    Of each sub-problem there are its weak learners and their votes, for the second of two sides (n_weak_learners,), or
    for all classes (n_weak_learners, n_classes). Where there is one problem, `multi_class` is None.
    """
    n_classes = len(sample.classes)
    everyone = [(np.full(len(sample.labels), True), sample.labels)]
    parts = everyone if multi_class is None else list(SCHEMES[multi_class](sample.labels, n_classes))
    found = []
    for problem, ((learners, weights), (rows, labels)) in enumerate(zip(problems, parts, strict=True)):
        votes: dict[Conditions, Array] = {}
        for learner, w in zip(learners, weights, strict=True):
            if np.any(w):
                for intervals, value in list_rules(learner):
                    votes[intervals] = votes.get(intervals, np.zeros(np.shape(np.atleast_1d(w)))) + value * w
        X, masses = sample.X[np.flatnonzero(rows)], sample.masses[rows]
        own = [
            _measure(problem, intervals, vote, (X, masses, labels)) for intervals, vote in votes.items() if vote.any()
        ]
        found += sorted(own, key=lambda rule: -np.abs(rule.votes).max())
    return found


def _measure(
    problem: int, intervals: Conditions, votes: Array, data: tuple[Any, Array, NDArray[np.intp]]
) -> WeightedRule:
    X, masses, labels = data
    side = int(votes[0] > 0) if len(votes) == 1 else int(votes.argmax())
    rule = Rule(intervals, 1)
    held = masses * rule.holds(X)
    covered = float(held.sum())
    precision = float(held[labels == side].sum()) / covered if covered else np.nan
    return WeightedRule(problem, rule, side, votes, covered / float(masses.sum()), precision)
