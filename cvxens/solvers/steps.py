"""Products with rows that are steps of single features, by sums over the bins between thresholds.

Stumps say of a sample on which side of a threshold one feature of it is. With K thresholds of a feature, sums over its
K + 1 bins give the products of all its stumps with a vector at once; and the normal equations of an interior-point
method, ``sum_i theta_i h_j(x_i) h_k(x_i)``, follow from a table of bins for every *pair of features*, whatever the
number of stumps. With n samples, J stumps and d features that is O(n d) in place of O(n J), and O(n d^2 + J^2) in place
of O(n J^2): at n = 20,000, J = 1,000 and d = 10 a hundredth.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from cvxens.features import sum_joint
from cvxens.hypotheses import find_step
from cvxens.limits import check_time, map_in_threads
from cvxens.problems.maps import StepColumns
from cvxens.types import Array, Mask

WORTH = 65
"""The ratio (rows / features)^2 above which tables of bins are faster than a product of matrices: as many terms of that
product cost as much as one of a table. Where both take as long, in seconds of one thread and single precision: 36 at
20,000 x 10, 64 at 60,000 x 100, 66 at 20,000 x 50, 95 at 5,000 x 50. Tables take the same time whatever their size as
long as they are in the cache, so what is measured is how fast BLAS is."""


class StepRow(NamedTuple):
    """The row ``y_i (above if x_i[feature] >= threshold else below)``."""

    feature: int
    threshold: float
    above: float
    below: float


class StepRows:
    """Rows of steps over one sample, of which products are taken bin by bin.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Finite where rows have a threshold.
    y : ndarray of shape (n_samples,)
        The signs of the rows, -1 and +1.
    """

    def __init__(self, X: Array, y: Array) -> None:
        self.X, self.y = X, y
        self.rows: list[StepRow] = []
        self._is_stale = True

    @classmethod
    def read(cls, hypothesis: object, sign: float) -> StepRow | None:
        """Return a hypothesis, times a sign, as a row; None where it is no step."""
        step = find_step(hypothesis)
        if step is None:
            return None
        return StepRow(int(step.feature), float(step.threshold), sign * step.above, sign * step.below)

    def add(self, rows: Sequence[StepRow]) -> None:
        self.rows.extend(rows)
        self._is_stale = True

    def keep(self, kept: Mask) -> None:
        self.rows = [row for row, stays in zip(self.rows, kept.tolist(), strict=True) if stays]
        self._is_stale = True

    def is_worth_it(self) -> bool:
        """Return True if tables of bins cost less than products of matrices."""
        n_features = len({row.feature for row in self.rows})
        return WORTH * n_features**2 < len(self.rows) ** 2

    def _refresh(self) -> None:
        """Find the cells of every sample between the thresholds that there are, feature by feature."""
        if not self._is_stale:
            return
        # a row is y (mean + half h) of a step h
        sides = np.array([(row.above, row.below) for row in self.rows])
        self.mean, self.half = sides.sum(axis=1) / 2, (sides[:, 0] - sides[:, 1]) / 2
        known, features = np.unique([row.feature for row in self.rows], return_inverse=True)
        thresholds, places = np.array([row.threshold for row in self.rows]), np.zeros(len(self.rows), np.intp)
        codes, counts = [], []
        for k, feature in enumerate(known.tolist()):
            cuts, place = np.unique(thresholds[features == k], return_inverse=True)
            places[features == k] = place + 1
            codes.append(np.searchsorted(cuts, self.X[:, feature], side="right").astype(np.int32))
            counts.append(len(cuts))
        self.steps = StepColumns(codes, counts, features, places, constant=False)
        self._is_stale = False

    def times(self, v: Array) -> Array:
        """Return A v, for v (n_samples,)."""
        self._refresh()
        s = self.y * v
        return self.mean * s.sum() + self.half * self.steps.edges(s)

    def combine(self, weights: Array) -> Array:
        """Return A' weights, for weights (n_rows,)."""
        self._refresh()
        return self.y * (float(self.mean @ weights) + self.steps.scores(self.half * weights))

    def gram(self, theta: Array) -> Array:
        """Return A diag(theta) A'; as rows have the signs y, these cancel."""
        self._refresh()
        # mean and half times the sums of theta under steps, of theta alone, and under pairs of steps
        mixed = np.multiply.outer(self.mean, self.half * self.steps.edges(theta))
        found = multiply_steps(self.steps, theta)
        found *= np.multiply.outer(self.half, self.half)
        found += mixed + mixed.T + float(theta.sum()) * np.multiply.outer(self.mean, self.mean)
        return found


def multiply_steps(H: StepColumns, theta: Array) -> Array:
    """Return ``H'diag(theta) H`` for steps without missing values, by a table of bins for every pair of features."""
    codes, counts = H.codes, H.counts
    offsets = np.append(0, np.cumsum(counts))
    joint = np.empty((offsets[-1], offsets[-1]))

    def fill(first: int) -> None:
        check_time()
        own, others = slice(offsets[first], offsets[first + 1]), slice(offsets[first], None)
        # the sums of theta below both thresholds
        both = sum_joint(first, np.arange(first, len(counts)), codes, counts + 1, theta)[:-1]
        both = np.delete(both, offsets[first + 1 :] - offsets[first] + np.arange(len(counts) - first), axis=1)
        joint[own, others], joint[others, own] = both, both.T

    map_in_threads(fill, range(len(counts)))
    # a step is scale (1 - 2 below), so that of two it is 1 - 2 below - 2 below' + 4 both
    below = 2 * joint.diagonal()
    joint *= 4
    joint += float(theta.sum()) - np.add.outer(below, below)
    place = offsets[H.features] + H.places - 1
    found: Array = joint[np.ix_(place, place)]
    found *= np.multiply.outer(H.scale, H.scale)
    return found
