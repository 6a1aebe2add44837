"""Hypotheses and weights, of a run or of a fitted estimator alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from cvxens.effects.pieces import take_apart
from cvxens.errors import InvalidInput
from cvxens.hypotheses import with_names
from cvxens.plotting.display import Names, read_fitted
from cvxens.types import Array

if TYPE_CHECKING:
    from cvxens.colgen import Run

NEGLIGIBLE = 1e-6
"""A weight of at most this share of the largest one counts as 0: masters that stop inside leave such weights."""

SIGNS = ("-1", "+1")
"""The ends of the text of a hypothesis that says one or the other."""


@dataclass(frozen=True, eq=False)
class Ensemble:
    """The hypotheses h_j of one output and their weights w, with names of features and of both classes if known."""

    hypotheses: Sequence[Any]
    weights: Array
    names: Mapping[int, str] = field(default_factory=dict)
    classes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if any(np.ndim(w) for w in self.weights):
            remedy = "give a run of one output, or a binary classifier such as those in estimators_"
            raise InvalidInput("weights", "found those of several outputs or sub-problems", remedy)

    @classmethod
    def from_run(cls, run: Run, feature_names: Names = None) -> Self:
        """Take what column generation found."""
        names = {} if feature_names is None else dict(enumerate(map(str, feature_names)))
        return cls([column.hypothesis for column in run.columns], run.weights, names)

    @classmethod
    def from_estimator(cls, estimator: Any) -> Self:
        """Take what a fitted estimator of one output holds in ``weak_learners_`` and ``weights_``."""
        learners, weights = read_fitted(estimator, "weak_learners_"), read_fitted(estimator, "weights_")
        return cls(learners, weights, _names_of(estimator), tuple(map(str, getattr(estimator, "classes_", ()))))

    @property
    def total_weight(self) -> float:
        """Sum of |w|, above 0."""
        size = float(np.abs(self.weights).sum())
        if not size > 0:
            raise InvalidInput("weights", "found all of them 0", "give a model with a hypothesis in use")
        return size

    def find_features(self) -> list[set[int]]:
        """Return what each weak learner in use is a function of; nothing of constants."""
        used = np.flatnonzero(np.abs(self.weights) > NEGLIGIBLE * np.abs(self.weights).max(initial=0.0))
        parts = ([part for _, part in take_apart(self.hypotheses[j])] for j in used.tolist())
        return [{f for part in each if not isinstance(part, float) for f in part.features} for each in parts]

    def describe(self, hypothesis: Any) -> str:
        """Return the text of a hypothesis in one line, with the names of features and of the class that it is for."""
        first, *others = str(hypothesis).splitlines() or [""]
        test, arrow, sign = with_names(first, self.names).rpartition(" -> ")
        if len(self.classes) == 2 and sign in SIGNS:
            sign = self.classes[SIGNS.index(sign)]
        return test + arrow + sign + (" ..." if others else "")


def _names_of(estimator: Any) -> Mapping[int, str]:
    return dict(enumerate(map(str, getattr(estimator, "feature_names_in_", ()))))
