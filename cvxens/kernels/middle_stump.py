"""The kernel of the finite set of middle stumps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.kernels.pair import pair
from cvxens.problems import StumpColumns
from cvxens.types import Array


@dataclass(frozen=True)
class MiddleStump:
    """K(x, x') = sum over the middle stumps h of a sample of h(x) h(x').

    LL08 section 6: one stump for each gap between consecutive distinct values of a feature, with its threshold in
    the middle. With J stumps it is J less twice the number of thresholds between x and x'.

    Parameters
    ----------
    sample : array-like of shape (n_samples, n_features)
        The sample whose middle stumps they are.

    Examples
    --------
    >>> MiddleStump([[0.0], [1.0], [2.0]])([[0.0], [2.0]])
    array([[ 2., -2.],
           [-2.,  2.]])
    """

    sample: Any
    source = "LL08 section 6"

    def columns(self) -> StumpColumns:
        """The stumps on their own sample, without the constant."""
        return StumpColumns(validation.samples(self.sample, "sample"), constant=False)

    def __call__(self, X: Any, Z: Any = None) -> Array:
        """Evaluate between the rows of `X` and `Z` (by default `X`); returns (len(X), len(Z))."""
        X, Z = pair(X, Z)
        columns = self.columns()
        if X.shape[1] != columns.X.shape[1]:
            found = f"found {X.shape[1]} features for {columns.X.shape[1]} of the sample"
            raise InvalidInput("X", found, "give samples of the same features")
        ranks_x, ranks_z = _ranks(columns, X), _ranks(columns, Z)
        return columns.shape[1] - 2 * cdist(ranks_x, ranks_z, "cityblock")


def _ranks(columns: StumpColumns, X: Array) -> Array:
    """How many thresholds of each feature are at or below the value."""
    per_feature = [columns.thresholds[columns.features == d] for d in range(X.shape[1])]
    return np.stack([np.searchsorted(t, X[:, d], side="right") for d, t in enumerate(per_feature)], axis=1).astype(
        float
    )
