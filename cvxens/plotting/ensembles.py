"""Hypotheses and weights, of a run or of a fitted estimator alike."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from cvxens.errors import InvalidInput
from cvxens.hypotheses import with_names
from cvxens.plotting.display import fitted, problem_names
from cvxens.types import Array

if TYPE_CHECKING:
    from cvxens.colgen import Run

NEGLIGIBLE = 1e-6
"""A weight of at most this share of the largest one counts as 0: masters that stop inside leave such weights."""


SIGNS = ("-1", "+1")
"""How the text of a hypothesis ends that says one or the other."""


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
    names : mapping of int to str
        Of the features that have one.
    classes : tuple of str
        The names of the two classes -1 and +1, where they have any.
    """

    hypotheses: Sequence[Any]
    weights: Array
    names: Mapping[int, str] = field(default_factory=dict)
    classes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if any(np.ndim(w) for w in self.weights):
            raise InvalidInput(
                "weights",
                "found those of several outputs or sub-problems",
                "give a run of one output, or a binary classifier such as those in estimators_",
            )

    @classmethod
    def of_run(cls, run: Run, feature_names: Sequence[Any] | None = None) -> Self:
        """What column generation found."""
        names = {} if feature_names is None else dict(enumerate(map(str, feature_names)))
        return cls([column.hypothesis for column in run.columns], run.weights, names)

    @classmethod
    def of_estimator(cls, estimator: Any) -> Self:
        """What a fitted estimator of one output holds in ``weak_learners_`` and ``weights_``."""
        classes = tuple(str(label) for label in getattr(estimator, "classes_", ()))
        return cls(fitted(estimator, "weak_learners_"), fitted(estimator, "weights_"), names_of(estimator), classes)

    def stumps(self) -> list[WeightedStump]:
        """Return the stumps whose weight is not negligible; constants are left out."""
        used = np.flatnonzero(np.abs(self.weights) > NEGLIGIBLE * np.abs(self.weights).max(initial=0.0))
        return [stump for j in used.tolist() for stump in _as_stump(self.hypotheses[j], float(self.weights[j]))]

    def called(self, hypothesis: Any) -> str:
        """The text of a hypothesis in one line, with the names of features and of the class that it is for."""
        first, *others = str(hypothesis).splitlines() or [""]
        test, arrow, sign = with_names(first, self.names).rpartition(" -> ")
        if len(self.classes) == 2 and sign in SIGNS:
            sign = self.classes[SIGNS.index(sign)]
        return test + arrow + sign + (" ..." if others else "")


def names_of(estimator: Any) -> Mapping[int, str]:
    """The names of the features of a fitted estimator that was given any."""
    return dict(enumerate(map(str, getattr(estimator, "feature_names_in_", ()))))


def ensembles_of(estimator: Any) -> list[tuple[str, Ensemble]]:
    """The ensembles of the scores of a fitted estimator, with their names: one without a name where there is one.

    Of several classes they are those of the classes, of sub-problems those of what these tell apart. Outputs that are
    coordinates of codes become scores by ``codes_``; two scores are one, of the second class.
    """
    learners, weights, names = fitted(estimator, "weak_learners_"), fitted(estimator, "weights_"), names_of(estimator)
    if hasattr(estimator, "estimators_"):
        parts = zip(problem_names(estimator), learners, weights, strict=True)
        return [(name, Ensemble(found, w, names)) for name, found, w in parts]
    W = np.asarray(weights)
    if W.ndim == 1:
        return [("", Ensemble(learners, W, names))]
    classes = fitted(estimator, "classes_")
    if hasattr(estimator, "codes_"):
        W = W @ estimator.codes_.T
        W = W[:, 1:] if len(classes) == 2 else W
    elif len(classes) == 2:
        W = (W[:, 1:] - W[:, :1]) / 2
    if W.shape[1] == 1:
        return [("", Ensemble(learners, W[:, 0], names))]
    return [(str(label), Ensemble(learners, w, names)) for label, w in zip(classes, W.T, strict=True)]


def _as_stump(hypothesis: Any, weight: float) -> Iterator[WeightedStump]:
    """The stump +-1 with the rise of a step; the constant that is left belongs to no feature."""
    step = getattr(hypothesis, "step", None)
    if step is None:
        found = f"found {hypothesis}, which is neither a stump nor a constant"
        raise InvalidInput("hypotheses", found, "give an ensemble of stumps")
    if step.above != step.below:
        yield WeightedStump(step.feature, float(step.threshold), (step.above - step.below) / 2, weight)
