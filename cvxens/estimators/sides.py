"""Side constraints of estimators, as users write them: equal mean scores, bounded losses of groups and of classes.

Each states its rows, linear in scores and in slacks, on a sample. What a loss under such
rows is, and how it is proven, is said in `cvxens.problems.sides`.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.estimators.constraints import Constraint
from cvxens.estimators.samples import Sample, Sensitive, Weighted
from cvxens.features import column
from cvxens.problems.formulation import Formulation
from cvxens.problems.sides import SideLoss
from cvxens.rounding import TINY
from cvxens.tables import Feature
from cvxens.types import Array

MOST_GROUPS = 20
"""Groups beyond which they are taken for a mistake, such as a column of numbers: every two make two rows."""


class SideRow(NamedTuple):
    """One inequality: ``pulls'f + charges'max(0, 1 - z) <= limit`` for scores f and margins z."""

    name: str
    pulls: Array
    charges: Array
    limit: float


class SideConstraint(Constraint):
    """A convex constraint on the scores of a training sample."""

    @abstractmethod
    def state(self, sample: Weighted) -> list[SideRow]:
        """Return the rows of the constraint on a sample."""

    def constrain(self, formulation: Formulation, sample: Any) -> Formulation:
        """Return the formulation under the rows, and those that it has already."""
        rows = self.state(sample)
        signs = np.ones(1) if formulation.on_scores else sample.signs
        loss = formulation.terms[0]
        charges = np.stack([row.charges for row in rows])
        if charges.any() and (loss.is_margin or formulation.on_scores):
            found = "found a bound on losses for a formulation whose margins have no unit"
            raise InvalidInput("constraints", found, "give LPBoost C in place of nu, or EqualMeanScores")
        if formulation.outputs is not None:
            found = "found some for a formulation of several scores per sample"
            raise InvalidInput("constraints", found, "give one of one score, such as one quantile")
        pulls, limits = signs * np.stack([row.pulls for row in rows]), np.array([row.limit for row in rows])
        return replace(formulation, loss=SideLoss.from_rows(loss, pulls, charges, limits, [row.name for row in rows]))


@dataclass(frozen=True)
class EqualMeanScores(SideConstraint):
    """The mean scores of any two groups of the training sample differ by at most so much.

    Demographic parity in scores; with `given`, among the samples of one class alone: equal opportunity in scores. Means
    are weighted by the weights of samples. Bounds on shares of decisions, not on scores, are not convex.

    Parameters
    ----------
    groups : str, int or None
        A column of `sensitive_features`, or a feature of X by its name or index; None for all of `sensitive_features`,
        whose combinations are the groups.
    at_most : float
        The largest difference, 0 or above, in units of scores.
    given : label, optional
        A class of y, of classifiers.

    Examples
    --------
    >>> from cvxens import LPBoostClassifier
    >>> X, y = np.array([[0.0, 1], [1, 0], [2, 1], [3, 0], [4, 0], [5, 1]]), [0, 0, 1, 0, 1, 1]
    >>> model = LPBoostClassifier(C=1.0, constraints=[EqualMeanScores(1, at_most=0.2)]).fit(X, y)
    >>> f = model.decision_function(X)
    >>> bool(abs(f[X[:, 1] == 1].mean() - f[X[:, 1] == 0].mean()) <= 0.2), model.certificate_.proven
    (True, True)
    """

    groups: Any = None
    at_most: float = 0.0
    given: Any = None

    def state(self, sample: Weighted) -> list[SideRow]:
        """Return a row for every two groups, in either order."""
        limit = check_limit(self, least=0.0)
        counted = np.full(len(sample.masses), True) if self.given is None else _find_class(sample, self.given)
        words = "" if self.given is None else f" given {self.given}"
        means = []
        for label, members in find_groups(sample, self.groups):
            masses = np.where(members & counted, sample.masses, 0.0)
            if not masses.any():
                found = f"found EqualMeanScores for the group {label!r}, which has no sample{words}"
                raise InvalidInput("constraints", found, "give groups that have some")
            means.append((label, masses / masses.sum()))
        name = "" if self.groups is None else f"{self.groups} "
        return [
            SideRow(f"mean score{words} of {name}{one} above that of {other}", _balance(a - b), np.zeros(len(a)), limit)
            for (one, a), (other, b) in permutations(means, 2)
        ]


@dataclass(frozen=True)
class GroupLoss(SideConstraint):
    """The mean hinge loss, max(0, 1 - y f), of every group of the training sample is at most so much.

    Bounded group loss; it bounds the share of errors in every group, too, which is no larger. Of classifiers, whose
    margins have a unit: LPBoost with `C`, not with `nu`.

    Parameters
    ----------
    groups : str, int or None
        As of `EqualMeanScores`.
    at_most : float
        The largest mean loss, above 0.

    Examples
    --------
    >>> from cvxens import LPBoostClassifier
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]), np.array([0, 0, 1, 0, 1, 1])
    >>> model = LPBoostClassifier(C=0.2, constraints=[GroupLoss(at_most=0.4)])
    >>> f = model.fit(X, y, sensitive_features=["a", "b", "a", "a", "b", "b"]).decision_function(X)
    >>> bool(np.maximum(1 - (2 * y - 1) * f, 0)[[0, 2, 3]].mean() <= 0.4)
    True
    """

    groups: Any = None
    at_most: float = 1.0

    def state(self, sample: Weighted) -> list[SideRow]:
        """Return a row for every group."""
        limit = check_limit(self)
        _check_classes(sample, "GroupLoss")
        name = "" if self.groups is None else f"{self.groups} "
        groups = find_groups(sample, self.groups)
        return [_bound_loss(f"mean loss of {name}{label}", sample, members, limit) for label, members in groups]


@dataclass(frozen=True)
class ClassLoss(SideConstraint):
    """The mean hinge loss of one class of the training sample is at most so much (Neyman & Pearson).

    It bounds the share of errors in that class, too, which is no larger.

    Parameters
    ----------
    label : label
        A class of y.
    at_most : float
        The largest mean loss, above 0.

    Examples
    --------
    >>> from cvxens import LPBoostClassifier
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]]), ["bad", "bad", "good", "bad", "good", "good"]
    >>> model = LPBoostClassifier(C=0.2, constraints=[ClassLoss("bad", at_most=0.1)]).fit(X, y)
    >>> f = model.decision_function(X)
    >>> bool(np.maximum(1 + f, 0)[[0, 1, 3]].mean() <= 0.1), model.predict(X).tolist()
    (True, ['bad', 'bad', 'bad', 'bad', 'good', 'good'])
    """

    label: Any
    at_most: float

    def state(self, sample: Weighted) -> list[SideRow]:
        """Return the one row."""
        limit = check_limit(self)
        _check_classes(sample, "ClassLoss")
        return [_bound_loss(f"mean loss of class {self.label}", sample, _find_class(sample, self.label), limit)]


def _bound_loss(name: str, sample: Weighted, members: NDArray[np.bool_], limit: float) -> SideRow:
    """Return the row that bounds the mean loss of some samples."""
    masses = np.where(members, sample.masses, 0.0)
    return SideRow(name, np.zeros(len(masses)), masses / masses.sum(), limit)


def find_groups(sample: Weighted, name: Any) -> list[tuple[str, NDArray[np.bool_]]]:
    """Return the groups of a sample by a column of its sensitive features, by all of them, or by a feature of X.

    Each is what it is called, with True for the samples that are in it.
    """
    sensitive: Sensitive | None = sample.sensitive
    if sensitive is not None and (groups := sensitive.find_groups(name)) is not None:
        labels, of_sample = groups
    elif name is None:
        remedy = "give fit the groups as `sensitive_features`, or the constraint the name of a feature"
        raise InvalidInput("sensitive_features", "found none for a constraint that names no groups", remedy)
    else:
        feature = validation.feature_index("constraints", name, sample.names, sample.X.shape[1])
        # all missing values are one level
        levels, of_sample = np.unique(column(sample.X, feature), return_inverse=True)
        kind = sample.features[feature] if sample.features else Feature(str(name))
        labels = [kind.tell(level) for level in levels.tolist()]
    if not 2 <= len(labels) <= MOST_GROUPS:
        what = "all of `sensitive_features`" if name is None else f"{name!r:.100}"
        found = f"found {len(labels)} groups by {what}"
        raise InvalidInput("constraints", found, f"give what has 2 to {MOST_GROUPS} values")
    return [(label, of_sample == k) for k, label in enumerate(labels)]


def check_limit(constraint: Any, least: float = TINY) -> float:
    """Return the limit of a constraint, which is above 0, or 0 where that is the least."""
    limit = validation.number("constraints", constraint.at_most)
    if not limit >= least:
        found = f"found {type(constraint).__name__} with at_most={limit:g}"
        raise InvalidInput("constraints", found, f"give a number, {'above 0' if least else '0 or above'}")
    return float(limit)


def _check_classes(sample: Weighted, name: str) -> Sample:
    if not isinstance(sample, Sample):
        raise InvalidInput("constraints", f"found {name} for a regression", "give EqualMeanScores")
    return sample


def _find_class(sample: Weighted, name: Any) -> NDArray[np.bool_]:
    """Mark the samples of a class."""
    of_classes = _check_classes(sample, f"the class {name!r:.100}")
    known = of_classes.classes.tolist()
    if name not in known:
        raise InvalidInput("constraints", f"found the class {name!r:.100}", f"give one of {known}")
    return of_classes.labels == known.index(name)


def _balance(pulls: Array) -> Array:
    """Return pulls whose sum is 0 but for one rounding, so that no intercept changes what they add up to."""
    largest = int(np.abs(pulls).argmax())
    pulls[largest] -= float(pulls.sum())
    return pulls
