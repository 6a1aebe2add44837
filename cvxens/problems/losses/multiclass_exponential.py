"""The exponential loss of boosting for several classes at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import xlogy

from cvxens.errors import InvalidInput
from cvxens.problems.losses.protocol import excess
from cvxens.problems.modelling import Scalar, Term, cp
from cvxens.types import Array, Point


@dataclass(frozen=True, eq=False)
class MulticlassExponential:
    """sum_i C_i sum_{k != y_i} exp(-(F_{y_i}(x_i) - F_k(x_i))) for scores F = H W: the loss of MultiBoost.

    Its multiplier U (n_samples, n_classes) has a number v_ik >= 0 for every sample and every other class k: U_ik is
    -v_ik, and of the sample's own class sum_k v_ik. At the optimum v_ik = C_i exp(F_k - F_{y_i}), the weight of that
    pair. The dual value is the entropy -sum(v ln(v/C) - v).

    Scores take no intercept: oracles have the constant, at the price of other hypotheses.

    Parameters
    ----------
    C : float or ndarray of shape (n_samples,)
        Weight of the loss, above 0; of every sample its own in an array.
    labels : ndarray of int, shape (n_samples,)
        The class of every sample, from 0.
    n_classes : int
        Their number.

    Examples
    --------
    >>> loss = MulticlassExponential(C=0.5, labels=np.array([0, 2]), n_classes=3)
    >>> loss.value(np.zeros((2, 3)))
    2.0
    >>> loss.multipliers(np.zeros((2, 3)))
    array([[ 1. , -0.5, -0.5],
           [-0.5, -0.5,  1. ]])
    """

    C: Scalar
    labels: NDArray[np.intp]
    n_classes: int

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the scores."""
        return len(self.labels), self.n_classes

    def term(self, z: Any) -> Term:
        """Model the loss."""
        own_scores = cp.reshape(cp.sum(cp.multiply(self._own, z), axis=1), (len(self.labels), 1), order="C")
        losses = cp.multiply(~self._own, cp.exp(z - own_scores @ np.ones((1, self.n_classes))))
        return Term(cp.sum(cp.multiply(self.C, cp.sum(losses, axis=1))))

    def value(self, z: Array) -> float:
        """Evaluate the loss; inf where it overflows."""
        with np.errstate(over="ignore"):
            return float(self._weights(z).sum())

    def dual_value(self, u: Array) -> float:
        """-sum(v ln(v/C) - v)."""
        v = self.pairs(u)
        return float((v - xlogy(v, v / self._prices)).sum())

    def dual_magnitude(self, u: Array) -> float:
        """Sum v + |v ln(v/C)|."""
        v = self.pairs(u)
        return float((v + np.abs(xlogy(v, v / self._prices))).sum())

    def multipliers(self, z: Array) -> Array:
        """-v_ik = -C_i exp(F_k - F_{y_i}), and of the own class their sum."""
        with np.errstate(over="ignore"):
            return self._gathered(self._weights(z))

    def pairs(self, u: Array) -> Array:
        """The weights v >= 0 of the pairs of a sample and another class, (n_samples, n_classes), 0 for its own."""
        return np.where(self._own, 0.0, np.maximum(-u, 0.0))

    def repair(self, u: Array, y: Array | None) -> Array:
        """Clip v at 0 and sum it up for the own classes."""
        self._without_intercept(y)
        return self._gathered(self.pairs(u))

    def scale(self, z: Array) -> float:
        """Every score is feasible."""
        return 1.0

    def best_intercept(self, f: Array, y: Array) -> Array:
        """There is none; raises InvalidInput."""
        self._without_intercept(y)
        return np.zeros(self.n_classes)

    def primal_violation(self, z: Array, auxiliary: Point) -> float:
        """Every score is feasible."""
        return 0.0

    def dual_violation(self, u: Array) -> float:
        """The largest -v_ik, or sum of a row of U, in units of C."""
        return max(excess(np.where(self._own, 0.0, u) / self._prices), excess(np.abs(u.sum(axis=1)) / self.C))

    def slackness(self, z: Array, u: Array) -> float:
        """Max |U + loss'(F)| in units of C, relative to the largest slope."""
        slopes = self.multipliers(z) / self._prices
        missed = float(np.abs(u / self._prices - slopes).max())
        return missed / max(float(slopes.max()), float(np.finfo(float).tiny))

    @cached_property
    def _own(self) -> NDArray[np.bool_]:
        return np.equal.outer(self.labels, np.arange(self.n_classes))

    @property
    def _prices(self) -> Array:
        """C as a column, or as the one number in it."""
        return np.reshape(self.C, (-1, 1))

    def _weights(self, z: Array) -> Array:
        own_scores = np.take_along_axis(z, self.labels[:, None], axis=1)
        return np.where(self._own, 0.0, self._prices * np.exp(z - own_scores))

    def _gathered(self, v: Array) -> Array:
        return np.where(self._own, v.sum(axis=1, keepdims=True), -v)

    @staticmethod
    def _without_intercept(y: Array | None) -> None:
        if y is not None:
            raise InvalidInput("intercept", "found True with MulticlassExponential", "give intercept=False")
