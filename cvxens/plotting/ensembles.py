"""Hypotheses and weights, of a run or of a fitted estimator alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from cvxens.errors import InvalidInput
from cvxens.plotting.display import fitted
from cvxens.types import Array

if TYPE_CHECKING:
    from cvxens.colgen import Run

NEGLIGIBLE = 1e-6
"""A weight of at most this share of the largest one counts as 0: masters that stop inside leave such weights."""


@dataclass(frozen=True)
class WeightedStump:
    """A stump of an ensemble: weight * (sign if x[feature] >= threshold else -sign)."""

    feature: int
    threshold: float
    sign: float
    weight: float


@dataclass(frozen=True, eq=False)
class Ensemble:
    """Hypotheses and their weights, where there is one output.

    Parameters
    ----------
    hypotheses : sequence of Hypothesis
        h_j.
    weights : ndarray of shape (n_hypotheses,)
        w.
    """

    hypotheses: Sequence[Any]
    weights: Array

    def __post_init__(self) -> None:
        if any(np.ndim(w) for w in self.weights):
            raise InvalidInput(
                "weights",
                "found those of several outputs or sub-problems",
                "give a run of one output, or a binary classifier such as those in decomposition_.estimators_",
            )

    @classmethod
    def of_run(cls, run: Run) -> Self:
        """What column generation found."""
        return cls([column.hypothesis for column in run.columns], run.weights)

    @classmethod
    def of_estimator(cls, estimator: Any) -> Self:
        """What a fitted estimator holds in ``weak_learners_`` and ``weights_``."""
        return cls(fitted(estimator, "weak_learners_"), fitted(estimator, "weights_"))

    def stumps(self) -> list[WeightedStump]:
        """Return the stumps whose weight is not negligible; constants are left out."""
        used = np.flatnonzero(np.abs(self.weights) > NEGLIGIBLE * np.abs(self.weights).max(initial=0.0))
        return [stump for j in used.tolist() for stump in _as_stump(self.hypotheses[j], float(self.weights[j]))]


def _as_stump(hypothesis: Any, weight: float) -> Iterator[WeightedStump]:
    match hypothesis:
        case object(feature=int(feature), threshold=threshold, sign=sign):
            yield WeightedStump(feature, float(threshold), float(sign), weight)
        case object(__match_args__=("sign",)):
            return
        case _:
            found = f"found {hypothesis}, which is neither a stump nor a constant"
            raise InvalidInput("hypotheses", found, "give an ensemble of stumps")
