"""Ensembles as lists of rules: every weak learner that is constant on boxes is a sum of rules, each with a vote.

A line of a feature, or a ramp, is listed beside them: its vote is per unit of its value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import inf
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from cvxens.errors import InvalidInput
from cvxens.hypotheses import Among, Branch, Hypothesis, Interval, LevelStump, Ramp, Rule, Scaled, find_step
from cvxens.types import Array


class WeightedRule(NamedTuple):
    """A rule of an ensemble: what its conditions add to the score where they hold, and for which samples they do."""

    rule: Rule | Ramp
    votes: Array  # (n_outputs,); of a ramp, for each unit of its value
    held: Array  # (n_samples,), the masses of those that it holds for, or is not 0; 0 for others

    @property
    def text(self) -> str:
        """The conditions, or the formula of a ramp."""
        return str(self.rule) if isinstance(self.rule, Ramp) else self.rule.test

    @property
    def length(self) -> int:
        """The number of conditions, 1 for a ramp."""
        return 1 if isinstance(self.rule, Ramp) else len(self.rule.intervals)


Conditions: TypeAlias = tuple[Interval | Among, ...]


def list_rules(hypothesis: Hypothesis) -> Iterator[tuple[Conditions | Ramp, float]]:
    """Yield rules, by their conditions in the order of the features, and values; h(x) is the sum of those that hold.

    Ramps are yielded as they are, with a slope above 0, and the factor that makes h of them.

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
        case Scaled():
            for intervals, value in list_rules(hypothesis.hypothesis):
                yield intervals, hypothesis.factor * value
        case Ramp():
            yield replace(hypothesis, slope=abs(hypothesis.slope)), np.sign(hypothesis.slope)
        case _ if (step := find_step(hypothesis)) is not None:
            feature, threshold, above, below, missing = step
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
            raise InvalidInput("get_rules", found, "fit with stumps, ramps, trees of depth 2 or 3, rules or boxes")


def weigh_rules(learners: Sequence[Any], weights: Array, X: Any, masses: Array) -> list[WeightedRule]:
    """Return the rules of weak learners of weights (n_weak_learners, ...), the largest first, on samples with masses.

    Rules of equal conditions are one. Of two that part the samples, as the sides of a stump do, one is listed, with
    what it adds to the other, which goes to the rule without conditions.
    """
    votes: dict[Conditions | Ramp, Array] = {}
    for learner, w in zip(learners, weights, strict=True):
        if np.any(w):
            for conditions, value in list_rules(learner):
                votes[conditions] = votes.get(conditions, np.zeros(np.shape(np.atleast_1d(w)))) + value * w
    rules = {each: each if isinstance(each, Ramp) else Rule(each, 1) for each in ((), *votes)}
    holds = {each: rule(X) != 0 for each, rule in rules.items()}
    # the one condition of a rule, by its feature and what it is about
    sides: dict[Any, list[Any]] = {}
    for each in list(votes):
        if not isinstance(each, Ramp) and len(each) == 1 and (about := _about(each[0])) is not None:
            other = next((side for side in sides.get(about, ()) if (holds[side] ^ holds[each]).all()), None)
            if other is None:
                sides.setdefault(about, []).append(each)
            else:
                moved = votes.pop(each)
                votes[other] = votes[other] - moved
                votes[()] = votes.get((), 0.0) + moved
    found = [WeightedRule(rules[each], vote, masses * holds[each]) for each, vote in votes.items() if vote.any()]
    return sorted(found, key=lambda each: -np.abs(each.votes).max())


def _about(condition: Interval | Among) -> tuple | None:
    """Return the feature and the threshold or the levels that a condition is about; None for those of two ends."""
    if isinstance(condition, Among):
        return condition.feature, condition.levels
    ends = [end for end in (condition.low, condition.high) if abs(end) < inf]
    return (condition.feature, *ends) if len(ends) == 1 else None


def average(values: Any, held: Array) -> float:
    """Return the mean of values over the samples that a rule holds for; NaN where there are none."""
    covered = float(held.sum())
    return float(held @ np.asarray(values, np.float64)) / covered if covered else np.nan
