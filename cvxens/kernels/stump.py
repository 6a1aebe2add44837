"""The stump kernel: all decision stumps at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from cvxens import validation
from cvxens.hypotheses import Hypothesis
from cvxens.kernels.distances import between, cityblock
from cvxens.kernels.pair import pair, union
from cvxens.kernels.ranges import Ranged, draw_places, signed_stumps
from cvxens.kernels.tiles import Tile
from cvxens.problems import StumpColumns
from cvxens.types import Array
from cvxens.validation import RandomState


@final
@dataclass(frozen=True)
class Stump(Ranged):
    """K(x, x') = Delta - |x - x'|_1, with Delta = 1/2 sum_d (high_d - low_d).

    LL08 Definition 3 and Theorem 4: the inner product over all stumps whose thresholds are within the ranges, with
    r = 1/2. Scaling the samples by c scales it by c, which for an SVM is a change of C.

    Parameters
    ----------
    low, high : array-like of shape (n_features,), optional
        The range of each feature; the range of the samples that the kernel is evaluated on where they are not given.

    Examples
    --------
    >>> Stump(low=(0.0,), high=(2.0,))([[0.0], [2.0]])
    array([[ 1., -1.],
           [-1.,  1.]])
    """

    low: Any = None
    high: Any = None
    equation = "Delta - |x - x'|_1"
    source = "LL08 Definition 3"
    neutral = True
    degree = 1.0

    def tile(self, X: Any, Z: Any) -> Tile:
        """Delta less the city-block distance."""
        X, Z = pair(X, Z)
        delta, distance = self.total_mass(X, Z), between(cityblock, X, Z)
        return lambda rows, columns: delta - distance(rows, columns)

    def total_mass(self, X: Any = None, Z: Any = None) -> float:
        """1/2 sum_d (high_d - low_d)."""
        low, high = self.box() if X is None else self.ranges(union(*pair(X, Z)))
        return float((high - low).sum()) / 2

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Hypothesis, ...]:
        """Draw stumps; wide features in proportion to their range."""
        box, random = self.box(), validation.generator(random_state)
        return signed_stumps(*draw_places(box, box[1] - box[0], n, random), random)

    def cells(self, X: Any) -> StumpColumns:
        """The cells of LL08 Theorem 8: one column per gap between the values of a feature, ends included.

        Stumps of both signs share a gap of width v, so its column is ``sqrt(v / 2) sign(x_d - t)``; the columns'
        inner products are the kernel on `X`.
        """
        X = validation.samples(X)
        return StumpColumns(X, constant=False, ends=self.ranges(X), gap_scale=_root_of_half)


def _root_of_half(width: Array) -> Array:
    return np.sqrt(width / 2)
