"""The kernel of a finite set of hypotheses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Hypothesis
from cvxens.kernels.kernel import Kernel
from cvxens.kernels.ranges import hashable
from cvxens.kernels.tiles import Tile
from cvxens.problems import DenseColumns
from cvxens.types import Array
from cvxens.validation import RandomState


@final
@dataclass(frozen=True)
class WeakLearner(Kernel):
    """K(x, x') = sum_j pi_j h_j(x) h_j(x').

    KIE06 (7): the hypotheses may be any functions, so samples may be whatever these take.

    Parameters
    ----------
    columns : sequence of Hypothesis
        The hypotheses: callables from n_samples samples to (n_samples,) numbers; hashable if the kernel is to be.
    weights : array-like of shape (n_columns,), optional
        pi, at least 0 and not all 0; by default 1 / n_columns.

    Examples
    --------
    >>> from cvxens.kernels import Stump
    >>> stumps = Stump(low=(0.0,), high=(2.0,)).sample(3, random_state=0)
    >>> WeakLearner(stumps, [0.5, 0.25, 0.25])([[0.0], [2.0]])
    array([[ 1., -1.],
           [-1.,  1.]])
    """

    columns: Any
    weights: Any = None
    equation = "sum_j pi_j h_j(x) h_j(x')"
    source = "KIE06 (7)"

    def __post_init__(self) -> None:
        columns = tuple(self.columns) if np.iterable(self.columns) else ()
        if not columns or not all(map(callable, columns)):
            raise InvalidInput("columns", f"found {len(columns)} columns", "give at least one, all of them callable")
        weights = np.full(len(columns), 1 / len(columns)) if self.weights is None else self.weights
        weights = validation.finite_array("weights", weights, ndim=1)
        if len(weights) != len(columns):
            found = f"found {len(weights)} weights for {len(columns)} columns"
            raise InvalidInput("weights", found, "give one per column")
        if weights.min() < 0 or weights.max() <= 0:
            found = f"found weights from {weights.min():g} to {weights.max():g}"
            raise InvalidInput("weights", found, "give weights >= 0, not all 0")
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "weights", hashable(weights))

    def cells(self, X: Any) -> DenseColumns:
        """One column sqrt(pi_j) h_j per hypothesis; their inner products are the kernel on `X`."""
        return DenseColumns(self._values(X) * np.sqrt(self.weights))

    def _values(self, X: Any) -> Array:
        """What the hypotheses say of X, shape (n_samples, n_columns)."""
        values = [np.asarray(h(X)) for h in self.columns]
        wrong = [column.shape for column in values if column.shape != (len(X),)]
        if wrong:
            found = f"found values of shape {wrong[0]} on {len(X)} samples"
            raise InvalidInput("columns", found, "give functions with one value per sample")
        return validation.finite_array("columns", np.stack(values, axis=1), ndim=2)

    def tile(self, X: Any, Z: Any) -> Tile:
        """Inner products of values."""
        left = self.cells(X).H
        right = left if Z is X else self.cells(Z).H
        return lambda rows, columns: left[rows] @ right[columns].T

    def differences(self, X: Any, origin: Any) -> Array:
        """sqrt(pi_j) (h_j(x) - h_j(origin)) for every row of `X`, shape (n_samples, n_columns)."""
        return (self._values(X) - self._values(np.asarray(origin)[None])) * np.sqrt(self.weights)

    def diag(self, X: Any) -> Array:
        """sum_j pi_j h_j(x)^2."""
        return (self.cells(X).H ** 2).sum(axis=1)

    def total_mass(self, X: Any = None, Z: Any = None) -> float:
        """Return sum_j pi_j."""
        return float(sum(self.weights))

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Hypothesis, ...]:
        """Draw hypotheses in proportion to pi."""
        random, weights = validation.generator(random_state), np.array(self.weights)
        drawn = random.choice(len(weights), size=validation.whole("n", n), p=weights / weights.sum())
        return tuple(self.columns[j] for j in drawn)

    def __repr__(self) -> str:
        return f"WeakLearner({len(self.columns)} columns)"
