"""The kernel of the finite set of middle stumps."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, final

import numpy as np

from cvxens import validation
from cvxens.hypotheses import Hypothesis
from cvxens.kernels.distances import between, cityblock
from cvxens.kernels.kernel import Kernel
from cvxens.kernels.pair import pair, same_features
from cvxens.kernels.ranges import signed_stumps
from cvxens.kernels.tiles import Tile
from cvxens.problems import StumpColumns
from cvxens.types import Array
from cvxens.validation import RandomState


@final
@dataclass(frozen=True, eq=False)
class MiddleStump(Kernel):
    """K(x, x') = sum over the middle stumps h of a sample of h(x) h(x').

    LL08 section 6: one stump for each gap between consecutive distinct values of a feature, with its threshold in
    the middle. With J stumps it is J less twice the number of thresholds between x and x'. Either sign of a stump
    counts for half, so the set is neutral; its total mass is J. Scaling the samples and the set's own leaves it.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The sample whose middle stumps they are.

    Examples
    --------
    >>> MiddleStump([[0.0], [1.0], [2.0]])([[0.0], [2.0]])
    array([[ 2., -2.],
           [-2.,  2.]])
    """

    X: Any = field(repr=False)
    equation = "sum over middle stumps of h(x) h(x')"
    source = "LL08 section 6"
    neutral = True
    degree = 0.0

    @cached_property
    def _columns(self) -> StumpColumns:
        return StumpColumns(validation.samples(self.X), constant=False)

    @cached_property
    def _thresholds(self) -> list[Array]:
        """Those of each feature, found once: kernels are evaluated for a few samples at a time."""
        columns = self._columns
        return [columns.thresholds[columns.features == d] for d in range(columns.X.shape[1])]

    def columns(self) -> StumpColumns:
        """The stumps on their own sample, without the constant."""
        return self._columns

    def tile(self, X: Any, Z: Any) -> Tile:
        """J less twice the number of thresholds in between."""
        X, Z = pair(X, Z)
        ranks = self._ranks(X)
        distance = between(cityblock, ranks, ranks if Z is X else self._ranks(Z))
        n_stumps = self._columns.shape[1]
        return lambda rows, columns: n_stumps - 2 * distance(rows, columns)

    def total_mass(self, X: Any = None, Z: Any = None) -> float:
        """The number J of stumps."""
        return float(self._columns.shape[1])

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Hypothesis, ...]:
        """Draw middle stumps of both signs."""
        random, stumps = validation.generator(random_state), self._columns
        drawn = random.integers(stumps.shape[1], size=validation.whole("n", n))
        return signed_stumps(stumps.features[drawn], stumps.thresholds[drawn], random)

    def cells(self, X: Any) -> StumpColumns:
        """One column per group of stumps that are alike on `X`, scaled by the root of their number.

        The columns are stumps on the number of thresholds at or below each value; their inner products are the kernel.
        """
        ranks = self._ranks(validation.samples(X))
        counts = np.bincount(self._columns.features, minlength=ranks.shape[1]).astype(float)
        return StumpColumns(ranks, constant=False, ends=np.stack([np.zeros_like(counts), counts]), gap_scale=np.sqrt)

    def _ranks(self, X: Array) -> Array:
        """How many thresholds of each feature are at or below the value."""
        columns = self._columns
        same_features("X", X, columns.X.shape[1], "the sample")
        ranks = [np.searchsorted(t, X[:, d], side="right") for d, t in enumerate(self._thresholds)]
        return np.stack(ranks, axis=1).astype(float)

    def __repr__(self) -> str:
        return f"MiddleStump(sample of shape {np.shape(self.X)})"
