"""Support vector regression with any kernel, on the block-wise solver of support vector machines."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from cvxens.problems import Formulation, Problem
from cvxens.problems.penalties import SquaredL2
from cvxens.problems.problem import Products
from cvxens.problems.target_losses import EpsilonInsensitive
from cvxens.solvers.blockwise import KernelRows
from cvxens.solvers.svm_solution import SVMSolution
from cvxens.types import Array

__all__ = ["KernelSVR"]


class KernelSVR(Problem):
    """min 1/2 |f|^2 + C sum_i max(0, |t_i - f(x_i) - b| - epsilon) over the functions f of a kernel.

    Its dual is that of a support vector machine with two variables a sample, one that pulls up to t - epsilon and one
    that pulls down to t + epsilon (Vapnik 1995), ``max t'u - epsilon |u|_1 - 1/2 u'K u, -C <= u <= C, sum u = 0``.

    Parameters
    ----------
    rows : KernelRows
        The kernel on the sample, PSD at least on coefficients that sum to 0.
    loss : EpsilonInsensitive
        Targets, width and prices.

    Examples
    --------
    >>> from cvxens.solvers.blockwise import solve_blockwise
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> loss = EpsilonInsensitive([0.0, 1.0, 2.0, 3.0], epsilon=0.5, C=10.0)
    >>> solution = solve_blockwise(KernelSVR(KernelRows.of_matrix(X @ X.T), loss))
    >>> (solution.f + solution.b).round(2), solution.certificate.holds(1e-6)
    (array([0.5 , 1.17, 1.83, 2.5 ]), True)
    """

    def __init__(self, rows: KernelRows, loss: EpsilonInsensitive) -> None:
        super().__init__(Formulation(loss, SquaredL2(), intercept=True), rows, np.ones(rows.n_samples))
        self.rows = rows
        hinges, shape = loss.linear_dual.hinges, (rows.n_samples,)
        self.knots = np.concatenate([np.broadcast_to(hinge.knots, shape) for hinge in hinges])
        self.C = np.maximum(*(np.broadcast_to(hinge.prices, shape) for hinge in hinges))
        rises, none = np.broadcast_to(hinges[0].prices, shape), np.zeros(rows.n_samples)
        falls = np.broadcast_to(hinges[1].prices, shape)
        self.bounds = np.stack([np.concatenate([none, -falls]), np.concatenate([rises, none])])

    def priced(self, C: Array) -> KernelSVR:
        """Return the problem with other prices, one per sample."""
        loss: Any = self.formulation.terms[0]
        return KernelSVR(self.rows, replace(loss, C=C))

    def coefficients(self, u: Array) -> Array:
        """Return the coefficients of the kernel, which are the multipliers."""
        return u

    def join(self, v: Array) -> Array:
        """Return what the two variables of each sample add up to."""
        u: Array = v[: self.rows.n_samples] + v[self.rows.n_samples :]
        return u

    def split(self, u: Array) -> Array:
        """Return two variables that add up to u, one of them 0."""
        return np.concatenate([np.maximum(u, 0.0), np.minimum(u, 0.0)])

    def solution_at(self, u: Array, f: Array | None = None) -> SVMSolution[KernelSVR]:
        """Evaluate both problems at multipliers: made feasible, or feasible ones with f = K u."""
        loss = self.formulation.terms[0]
        if f is None:
            u = loss.repair(u, self.y)
            f = self.rows.scores(u)
        products = Products(self.linear_map, precise=False)
        products.add_scores(u, f)
        return SVMSolution(self.evaluate_at(u, np.asarray(loss.best_intercept(f, self.y)), u, products), f)
