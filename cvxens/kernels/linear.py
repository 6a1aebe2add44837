"""The linear kernel K_lin."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, final

import numpy as np

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Hypothesis, LinearForm
from cvxens.kernels.kernel import Kernel
from cvxens.kernels.pair import pair, same_features
from cvxens.kernels.tiles import Tile
from cvxens.types import Array
from cvxens.validation import RandomState

NEGATIVE = 1e-12
"""Eigenvalues below minus this, relative to the largest, make V indefinite."""


@final
@dataclass(frozen=True, eq=False)
class Linear(Kernel):
    """K_lin(x, x') = x'V x'.

    KIE06: the mean over the linear hypotheses h(x) = a'x of normally distributed a with mean 0 and covariance V.
    Scaling the samples by c scales it by c^2.

    Parameters
    ----------
    V : array-like of shape (n_features, n_features)
        Symmetric and PSD; ``numpy.eye(n_features)`` gives the plain inner product.

    Examples
    --------
    >>> Linear([[2.0, 0.0], [0.0, 1.0]])([[1.0, 1.0], [0.0, 3.0]])
    array([[3., 3.],
           [3., 9.]])
    """

    V: Any = field(repr=False)
    equation = "x'V x'"
    source = "KIE06"
    degree = 2.0

    @cached_property
    def _root(self) -> Array:
        """F with F F' = V."""
        values, vectors = np.linalg.eigh(validation.symmetric(self.V, "V"))
        if values[0] < -NEGATIVE * len(values) * max(values[-1], -values[0]):
            raise InvalidInput("V", f"found the eigenvalue {values[0]:.3g}", "give a PSD matrix")
        return vectors * np.sqrt(np.maximum(values, 0))

    def tile(self, X: Any, Z: Any) -> Tile:
        """Inner products of samples that F has mapped."""
        X, Z = pair(X, Z)
        left = self._mapped(X)
        right = left if Z is X else self._mapped(Z)
        return lambda rows, columns: left[rows] @ right[columns].T

    def differences(self, X: Any, origin: Any) -> Array:
        """F'(x - origin) for every row of `X`, shape (n_samples, n_features)."""
        return self._mapped(pair(X)[0] - np.asarray(origin, np.float64))

    def diag(self, X: Any) -> Array:
        """|F'x|^2."""
        return (self._mapped(pair(X)[0]) ** 2).sum(axis=1)

    def total_mass(self, X: Any = None, Z: Any = None) -> float:
        """1, as r^2 is the density of a."""
        return 1.0

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Hypothesis, ...]:
        """Draw linear forms."""
        random = validation.generator(random_state)
        drawn = random.standard_normal((validation.whole("n", n), len(self._root))) @ self._root.T
        features = tuple(range(len(self._root)))
        return tuple(LinearForm(features, tuple(weights)) for weights in drawn.tolist())

    def _mapped(self, X: Array) -> Array:
        same_features("X", X, len(self._root), "V")
        return X @ self._root

    def __repr__(self) -> str:
        return f"Linear(V of shape {np.shape(self.V)})"
