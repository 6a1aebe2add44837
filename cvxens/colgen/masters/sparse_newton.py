"""Proximal Newton steps for a smooth loss with an l1 penalty, on the weights that move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from cvxens.colgen.masters.l1_model import QuadraticModel
from cvxens.types import Array

SUFFICIENT = 1e-4
"""The share of the decrease that its slope promises, with which a step is taken."""

FLAT = 1e-12
"""A promised decrease that rounding hides, relative to the objective."""

MAX_HALVINGS = 60

Hessian: TypeAlias = Callable[[Array, Array, NDArray[np.intp]], Array]
"""From U, the columns X (n_active, n_samples) of weights and their outputs to the second derivatives in these."""


@dataclass(frozen=True)
class SparsePoint:
    """A point of the problem.

    Parameters
    ----------
    W : ndarray of shape (n_columns, n_outputs)
        Weights.
    b : float
        Intercept.
    F : ndarray of shape (n_samples, n_outputs)
        H W + b.
    """

    W: Array
    b: float
    F: Array


@dataclass(frozen=True)
class SparseProblem:
    """min loss(y (H W + b)) + weight sum |W|, over free or over nonnegative W.

    Parameters
    ----------
    rows : ndarray of shape (n_columns, n_samples)
        H'.
    y : ndarray of shape (n_samples, 1)
        Signs.
    weight : float
        Of the penalty, above 0.
    nonnegative, intercept : bool
        Whether W >= 0; whether there is a b, for one output alone.
    loss : callable
        Its value from margins (n_samples, n_outputs).
    hessian : callable
        Its second derivatives.
    """

    rows: Array
    y: Array
    weight: float
    nonnegative: bool
    intercept: bool
    loss: Callable[[Array], float]
    hessian: Hessian

    def value(self, at: SparsePoint) -> float:
        """The objective."""
        return self.loss(self.y * at.F) + self.weight * float(np.abs(at.W).sum())

    def step(self, at: SparsePoint, U: Array, edges: Array) -> SparsePoint:
        """Minimise the quadratic model over the active weights, and search on the way there.

        Active are the weights that are not 0, and those whose edge exceeds the weight of the penalty.

        Parameters
        ----------
        at : SparsePoint
            Where to start from.
        U, edges : ndarray of shape (n_samples, n_outputs) and (n_columns, n_outputs)
            -loss'(z) there, and H'(y U).

        Returns
        -------
        SparsePoint
            The next point.
        """
        j, k = np.nonzero((at.W != 0) | ((edges if self.nonnegative else np.abs(edges)) > self.weight))
        X, w, r, price = self.rows[j], at.W[j, k], -edges[j, k], np.full(len(j), self.weight)
        low = np.full(len(j), 0.0 if self.nonnegative else -np.inf)
        if self.intercept:
            X, w, k = np.vstack([X, np.ones(len(self.y))]), np.r_[w, at.b], np.r_[k, 0]
            r, price, low = np.r_[r, -(self.y * U).sum()], np.r_[price, 0.0], np.r_[low, -np.inf]
        if not len(w):
            return at
        v = QuadraticModel(self.hessian(U, X, k), price, low).minimise(w, r)
        slope = float(r @ (v - w)) + float(price @ (np.abs(v) - np.abs(w)))
        dF = np.stack([(v - w)[k == output] @ X[k == output] for output in range(at.F.shape[1])], axis=1)

        def moved(t: float) -> SparsePoint:
            ahead = v if t == 1.0 else w + t * (v - w)
            W = at.W.copy()
            W[j, k[: len(j)]] = ahead[: len(j)]
            return SparsePoint(W, float(ahead[-1]) if self.intercept else at.b, at.F + t * dF)

        return self._searched(at, moved, slope)

    def _searched(self, at: SparsePoint, moved: Callable[[float], SparsePoint], slope: float) -> SparsePoint:
        """Halve the step until it decreases the objective by a share of what the slope promises.

        Where floats do not resolve that decrease, the whole step is taken: there Newton's method converges by itself.
        """
        start, t = self.value(at), 1.0
        if -slope <= FLAT * start:
            return moved(1.0)
        for _ in range(MAX_HALVINGS):
            ahead = moved(t)
            if self.value(ahead) <= start + SUFFICIENT * t * slope:
                return ahead
            t /= 2
        return at
