"""The decision-stump kernel K_ds, in which features count alike whatever their ranges."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, final

import numpy as np

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Hypothesis
from cvxens.kernels.distances import between, weighted_cityblock
from cvxens.kernels.kernel import check_fixed
from cvxens.kernels.pair import pair
from cvxens.kernels.ranges import Ranged, draw_places, signed_stumps
from cvxens.kernels.tiles import Tile
from cvxens.problems import StumpColumns
from cvxens.types import Array
from cvxens.validation import RandomState


@final
@dataclass(frozen=True)
class DecisionStump(Ranged):
    """K_ds(x, x') = 1/D sum_d (1 - 2 |x_d - x'_d| / (high_d - low_d)), over the D features whose range is not 0.

    KIE06 (13): the limit of `WeakLearner` over stumps of uniformly drawn features, with thresholds uniform in their
    ranges. Total mass 1. Scaling samples and ranges, feature by feature even, leaves it.

    Parameters
    ----------
    low, high : array-like of shape (n_features,), optional
        The range of each feature; without them the kernel is evaluated within one sample only, by its range.

    Examples
    --------
    >>> DecisionStump(low=(0.0, 0.0), high=(1.0, 10.0))([[0.0, 0.0], [0.5, 10.0]])
    array([[ 1. , -0.5],
           [-0.5,  1. ]])
    """

    low: Any = None
    high: Any = None
    equation = "1/D sum_d (1 - 2 |x_d - x'_d| / (high_d - low_d))"
    source = "KIE06 (13)"
    neutral = True
    degree = 0.0

    def tile(self, X: Any, Z: Any) -> Tile:
        """1 less a city-block distance."""
        check_fixed(self, X, Z)
        left, right = pair(X, Z)
        scale = _scale(self.ranges(left), "X")
        self.ranges(right)
        distance = between(partial(weighted_cityblock, scale=scale), left, right)
        return lambda rows, columns: 1 - distance(rows, columns)

    def total_mass(self, X: Any = None, Z: Any = None) -> float:
        """1."""
        return 1.0

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Hypothesis, ...]:
        """Draw stumps, every feature alike."""
        box, random = self.box(), validation.generator(random_state)
        return signed_stumps(*draw_places(box, np.sign(_scale(box, "low")), n, random), random)

    def cells(self, X: Any) -> StumpColumns:
        """One column per gap between the values of a feature, ends included, as LL08 Theorem 8 has them.

        They are the gaps of samples whose features are scaled to ranges of 2 / D; a gap of width v has the scale
        sqrt(v / 2), and the columns' inner products are the kernel on `X`.
        """
        X = validation.samples(X)
        ends = self.ranges(X)
        scale = _scale(ends, "X")
        return StumpColumns(X * scale, constant=False, ends=ends * scale, gap_scale=lambda width: np.sqrt(width / 2))


def _scale(box: Array, argument: str) -> Array:
    """2 / (D (high_d - low_d)), and 0 for ranges of 0; shape (n_features,)."""
    width = box[1] - box[0]
    if not width.any():
        raise InvalidInput(argument, "found no feature with a range", "give low < high for at least one feature")
    varies = width > 0
    return np.divide(2 / varies.sum(), width, out=np.zeros_like(width), where=varies)
