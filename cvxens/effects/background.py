"""The distribution that effects are held against: weighted samples, or all cells alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from cvxens.effects.functions import find_cells, make_points
from cvxens.features import column
from cvxens.types import Array


class Background(Protocol):
    """A distribution over the features."""

    def points(self, feature: int) -> tuple[Array, Array]:
        """Return values of a feature and their masses, of the sum 1; (n_points,) both."""

    def masses(self, features: Sequence[int], cuts: Sequence[Array]) -> Array:
        """Return the masses of the cells between cuts of several features, (n_cuts + 2, n_cuts + 2, ...)."""


@dataclass(frozen=True, eq=False)
class SampleBackground:
    """Samples X (n_samples, n_features), dense or sparse, with masses (n_samples,) of the sum 1."""

    X: Any
    p: Array

    def points(self, feature: int) -> tuple[Array, Array]:
        """Return the feature of all samples."""
        return np.asarray(column(self.X, feature), np.float64), self.p

    def masses(self, features: Sequence[int], cuts: Sequence[Array]) -> Array:
        """Count the samples in each cell."""
        shape = tuple(len(c) + 2 for c in cuts)
        cells = tuple(find_cells(column(self.X, f), c) for f, c in zip(features, cuts, strict=True))
        joint = np.bincount(np.ravel_multi_index(cells, shape), self.p, int(np.prod(shape)))
        return np.asarray(joint, np.float64).reshape(shape)


@dataclass(frozen=True, eq=False)
class CellBackground:
    """Independent features, each of which is in any of the cells between its cuts as often, and never missing."""

    cuts: Mapping[int, Array]

    def points(self, feature: int) -> tuple[Array, Array]:
        """Return the middle of each cell, and the cuts at its ends for the outer ones."""
        points = make_points(self.cuts[feature])[:-1]
        points[1:-1] += np.diff(points[1:]) / 2
        return points, np.full(len(points), 1 / len(points))

    def masses(self, features: Sequence[int], cuts: Sequence[Array]) -> Array:
        """Multiply the masses of the features."""
        joint = np.ones(())
        for feature, c in zip(features, cuts, strict=True):
            points, p = self.points(feature)
            joint = np.multiply.outer(joint, np.bincount(find_cells(points, c), p, len(c) + 2))
        return joint
