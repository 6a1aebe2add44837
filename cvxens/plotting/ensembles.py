"""Hypotheses and weights, of a run or of a fitted estimator alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from cvxens.effects import MainEffect
from cvxens.effects.pieces import take_apart
from cvxens.errors import InvalidInput
from cvxens.hypotheses import with_names
from cvxens.plotting.display import Names, name_problems, read_fitted
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

    @classmethod
    def list_scores(cls, estimator: Any) -> list[tuple[str, Self]]:
        """List the ensembles of the scores of a fitted estimator by name: one without a name where there is one.

        Of several classes they are those of the classes, of sub-problems those of what these tell apart. Outputs that
        are coordinates of codes become scores by ``codes_``; two scores are one, of the second class.
        """
        learners, weights = read_fitted(estimator, "weak_learners_"), read_fitted(estimator, "weights_")
        names = _names_of(estimator)
        if hasattr(estimator, "estimators_"):
            parts = zip(name_problems(estimator), learners, weights, strict=True)
            return [(name, cls(found, w, names)) for name, found, w in parts]
        W = np.asarray(weights)
        if W.ndim == 1:
            return [("", cls(learners, W, names))]
        classes = read_fitted(estimator, "classes_")
        if hasattr(estimator, "codes_"):
            # the score of class k is the inner product of its code with the coordinates
            W = W @ estimator.codes_.T
            W = W[:, 1:] if len(classes) == 2 else W
        elif len(classes) == 2:
            # the sign of F_1 - F_0 decides; half of it is what `decision_function` returns
            W = (W[:, 1:] - W[:, :1]) / 2
        if W.shape[1] == 1:
            return [("", cls(learners, W[:, 0], names))]
        return [(str(label), cls(learners, w, names)) for label, w in zip(classes, W.T, strict=True)]

    @property
    def total_weight(self) -> float:
        """Sum of |w|, above 0."""
        size = float(np.abs(self.weights).sum())
        if not size > 0:
            raise InvalidInput("weights", "found all of them 0", "give a model with a hypothesis in use")
        return size

    def mains(self) -> list[MainEffect]:
        """Return the functions of one feature that the weak learners in use add, one by one; constants are left out."""
        used = np.flatnonzero(np.abs(self.weights) > NEGLIGIBLE * np.abs(self.weights).max(initial=0.0))
        found = []
        for j in used.tolist():
            for factor, part in take_apart(self.hypotheses[j]):
                if isinstance(part, MainEffect):
                    found.append(MainEffect.from_sum([(part, np.array([factor * self.weights[j]]))]))
                elif not isinstance(part, float):
                    odd = f"found {self.hypotheses[j]}, which is a function of several features"
                    raise InvalidInput("hypotheses", odd, "give an ensemble of stumps")
        return found

    def describe(self, hypothesis: Any) -> str:
        """Return the text of a hypothesis in one line, with the names of features and of the class that it is for."""
        first, *others = str(hypothesis).splitlines() or [""]
        test, arrow, sign = with_names(first, self.names).rpartition(" -> ")
        if len(self.classes) == 2 and sign in SIGNS:
            sign = self.classes[SIGNS.index(sign)]
        return test + arrow + sign + (" ..." if others else "")


def _names_of(estimator: Any) -> Mapping[int, str]:
    return dict(enumerate(map(str, getattr(estimator, "feature_names_in_", ()))))
