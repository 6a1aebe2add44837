"""TT06's ensemble of regularised-least-squares experts, each on a sample of the rows of one kernel matrix.

An expert is a linear system ``(m gamma I + K_e) c = y_e``. Where K fits into memory each is factored by Cholesky; else
conjugate gradients solve a few at a time, so that they share products with K, *preconditioned* by what a Nystroem
factor L L' ~ K knows of the matrix.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import ArrayLike
from scipy.linalg import cho_solve
from threadpoolctl import threadpool_limits

from cvxens import validation
from cvxens.certificates import Certificate, name_residuals
from cvxens.errors import InvalidInput, SolverFailed
from cvxens.limits import map_in_threads
from cvxens.problems.maps import NEGATIVE
from cvxens.rounding import TINY, sum_error
from cvxens.solvers.conjugate_gradients import (
    GAP,
    RANK,
    SupportsMatmul,
    Systems,
    factor_by_nystroem,
    make_psd_error,
    solve_systems,
)
from cvxens.solvers.least_squares import factor_with_ridge
from cvxens.types import Array, Mask
from cvxens.validation import RandomState


@dataclass(frozen=True, eq=False)
class LeastSquaresExperts:
    """Expert e scores a new sample x by sum_i c_ie k(x, x_i), over the samples i that it is fitted to.

    Parameters
    ----------
    coefficients : ndarray of shape (n_samples, n_experts, n_outputs)
        c, with 0 for a sample that an expert is not fitted to.
    members : ndarray of bool, shape (n_samples, n_experts)
        Which samples each expert is fitted to.
    certificates : tuple of Certificate
        How far each expert is at most from the optimum of its problem, all outputs together.
    """

    coefficients: Array
    members: Mask
    certificates: tuple[Certificate, ...]

    def __len__(self) -> int:
        return len(self.certificates)

    @cached_property
    def certificate(self) -> Certificate:
        """The certificate of the expert with the largest relative gap: no expert is further from its optimum."""
        gaps = [(it.relative_gap, it.kkt_residual) for it in self.certificates]
        worst = max(range(len(self)), key=gaps.__getitem__)
        size = int(self.members[:, worst].sum())
        note = f"the largest gap of {len(self)} experts, that of expert {worst} on {size} samples"
        return replace(self.certificates[worst], note=note)

    def scores(self, rows: Array) -> Array:
        """Score new samples from `rows` (n_new, n_samples) of k(x, x_i); returns (n_new, n_experts, n_outputs)."""
        n, n_experts, n_outputs = self.coefficients.shape
        return (rows @ self.coefficients.reshape(n, -1)).reshape(-1, n_experts, n_outputs)


def draw_members(n_samples: int, n_experts: int, sample_share: object, random_state: RandomState = None) -> Mask:
    """Draw a sample without replacement for every expert.

    Parameters
    ----------
    n_samples, n_experts : int
        At least 1 of each.
    sample_share : float or pair of floats
        Size of every sample in proportion to n_samples, above 0 and at most 1; of two numbers, the least and the
        largest, between which sizes are uniform.
    random_state : int, Generator, RandomState or None
        Seed.

    Returns
    -------
    ndarray of bool, shape (n_samples, n_experts)
        At least one sample for each.

    Examples
    --------
    >>> draw_members(10, 3, 0.5, random_state=0).sum(axis=0)
    array([5, 5, 5])
    """
    n_samples = validation.whole("n_samples", n_samples)
    least, largest = _range(sample_share)
    rng = validation.generator(random_state)
    shares = rng.uniform(least, largest, size=validation.whole("n_experts", n_experts))
    members = np.zeros((n_samples, n_experts), bool)
    for e, size in enumerate(np.maximum(1, np.rint(shares * n_samples)).astype(int)):
        members[rng.choice(n_samples, size, replace=False), e] = True
    return members


def _range(share: Any) -> tuple[float, float]:
    try:
        bounds = np.broadcast_to(validation.finite_array("sample_share", share), 2)
    except ValueError:
        bounds = np.array([np.inf, -np.inf])
    if isinstance(share, bool) or not 0 < bounds[0] <= bounds[1] <= 1:
        raise InvalidInput(
            "sample_share", f"found {share!r}", "give a number above 0 and at most 1, or the least and largest of them"
        )
    return float(bounds[0]), float(bounds[1])


def least_squares_experts(
    K: ArrayLike, Y: ArrayLike, gamma: float, members: ArrayLike, *, n_jobs: int | None = None
) -> LeastSquaresExperts:
    """Solve TT06 (5), ``(m gamma I + K_e) c_e = y_e``, on the m samples of every expert.

    K_e has the rows and columns of K that belong to the expert. Its Cholesky factor serves all outputs; while it
    is at work an expert takes memory for m^2 numbers. With ``R = m gamma c + K_e c - y_e`` and ``s = 2 gamma c`` the
    gap between `RegularizedLeastSquares` and its dual is ``|R|^2 / m``, so that a certificate costs no more than K c.

    Parameters
    ----------
    K : array-like of shape (n_samples, n_samples)
        Kernel matrix, PSD.
    Y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Targets: codes of classes, or real numbers.
    gamma : float
        Weight of the penalty, above 0.
    members : array-like of bool, shape (n_samples, n_experts)
        Which samples each expert is fitted to: see `draw_members`.
    n_jobs : int, optional
        Experts fitted at a time, as joblib counts, on threads. It does not change the result.

    Returns
    -------
    LeastSquaresExperts

    Raises
    ------
    InvalidInput
        Arrays whose shapes do not fit, a kernel matrix that is not PSD, or an expert without samples.
    SolverFailed
        K is singular and m gamma I is lost against it in rounding.

    Examples
    --------
    >>> from cvxens.kernels import Gaussian
    >>> X = np.arange(6.0)[:, None]
    >>> K, y = Gaussian(0.5)(X), np.array([1, 1, 1, -1, -1, -1])
    >>> experts = least_squares_experts(K, y, 0.01, draw_members(6, 20, (0.5, 0.9), random_state=0))
    >>> experts.certificate.holds(1e-12), np.sign(experts.scores(K)).mean(axis=1).ravel().round(1)
    (True, array([ 1. ,  1. ,  0.6, -0.8, -1. , -1. ]))
    """
    K = validation.finite_array("K", K, ndim=2)
    Y, members = check_shapes(K.shape, Y, members)
    K = K if np.array_equal(K, K.T) else validation.symmetric(K)
    gamma, n_jobs = validation.positive("gamma", gamma), validation.n_jobs(n_jobs)
    coefficients = np.zeros((len(K), members.shape[1], Y.shape[1]))

    def fit(e: int) -> None:
        rows = np.flatnonzero(members[:, e])
        factor = factor_with_ridge(K[np.ix_(rows, rows)], len(rows) * gamma)
        coefficients[rows, e] = cho_solve(factor, Y[rows], check_finite=False)

    with threadpool_limits(1, "blas"):
        check_psd(K)
        map_in_threads(fit, range(members.shape[1]), effective_n_jobs(n_jobs))
        F = (K @ coefficients.reshape(len(K), -1)).reshape(coefficients.shape)
    largest = float(np.abs(K.diagonal()).max())  # no entry of a PSD matrix is larger
    certificates = tuple(
        certify_expert(coefficients[rows, e], F[rows, e], Y[rows], gamma, largest) for e, rows in enumerate(members.T)
    )
    return LeastSquaresExperts(coefficients, members, certificates)


def check_shapes(shape: tuple[int, int], Y: ArrayLike, members: ArrayLike) -> tuple[Array, Mask]:
    """Return targets (n_samples, n_outputs) and members that fit to a kernel matrix of that shape, or raise."""
    Y, members = validation.finite_array("Y", Y), np.asarray(members)
    if shape[0] != shape[1]:
        raise InvalidInput("K", f"found shape {shape}", "give a square kernel matrix, (n_samples, n_samples)")
    if Y.ndim not in {1, 2}:
        raise InvalidInput("Y", f"found shape {Y.shape}", "give (n_samples,) or (n_samples, n_outputs)")
    validation.same_length("Y", Y, shape[0])
    if members.dtype != bool or members.ndim != 2:
        found = f"found {members.dtype} of shape {members.shape}"
        raise InvalidInput("members", found, "give booleans, (n_samples, n_experts)")
    validation.same_length("members", members, shape[0])
    if not members.size or not members.any(axis=0).all():
        raise InvalidInput("members", "found an expert without samples", "give every expert at least one")
    return Y.reshape(len(Y), -1), members


def check_psd(K: Array) -> None:
    """Raise unless a symmetric matrix has a Cholesky factor once it is lifted by its rounding."""
    rounding = NEGATIVE * len(K) * max(float(np.abs(K.diagonal()).max()), TINY)
    try:
        factor_with_ridge(K.copy(), rounding)
    except SolverFailed:
        raise make_psd_error() from None


def certify_expert(c: Array, f: Array, y: Array, gamma: float, largest: float) -> Certificate:
    """Return how far the coefficients c (m, n_outputs) of an expert with scores f = K_e c are from the optimum.

    `largest` is at least every |K_ij|: it bounds the rounding errors of f.
    """
    # 1/m |f - y|^2 + gamma c'f, and the dual at s = 2 gamma c is less by |R|^2 / m
    m = len(y)
    residual = m * gamma * c + f - y
    squares, penalty = float(((f - y) ** 2).sum() / m), gamma * float((c * f).sum())
    primal, errors = squares + penalty, sum_error(m, largest) * np.abs(c).sum(axis=0)
    # what the errors of f do to the squares, to c'f and to the squared residual
    # |(a + e)^2 - a^2| <= (2 |a| + |e|) |e|, for a = f - y and for a = R
    of_scores = float(((2 * np.abs(f - y) + 2 * np.abs(residual) + 2 * errors) * errors).sum()) / m
    of_scores += gamma * float((np.abs(c) * errors).sum())
    total = squares + gamma * float((np.abs(c) * np.abs(f)).sum()) + float((residual**2).sum() / m)
    of_sums = sum_error(c.size + 4, total)
    size = max(float(np.abs(y).max()), TINY)
    return Certificate.between(
        primal,
        primal - float((residual**2).sum() / m),
        residuals=name_residuals(slackness=float(np.abs(residual).max()) / size),
        repair={"c": 0.0, "s": np.inf},
        rounding=of_scores + of_sums,
    )


WIDTH = 16
"""Systems that are solved together."""


def iterated_least_squares_experts(
    K: SupportsMatmul, Y: ArrayLike, gamma: float, members: ArrayLike, *, tol: float = GAP, n_jobs: int | None = None
) -> LeastSquaresExperts:
    """Solve TT06 (5), ``(m gamma I + K_e) c_e = y_e``, by products with K alone, to a relative duality gap.

    As `least_squares_experts`, without its n_samples^2 numbers and its n_experts n_samples^3 time: conjugate gradients,
    a few experts at once, so that they share the products. With K ~ L L' of rank 200, from as many of its columns
    (C. Williams & M. Seeger, *Using the Nystroem method to speed up kernel machines*, NIPS 2000), the preconditioner
    of an expert is m gamma I + L_e L_e'. Few steps are needed unless m gamma is far below the eigenvalues that
    L leaves out.

    Parameters
    ----------
    K : array or TreeMatrix, shape (n_samples, n_samples)
        Kernel matrix, PSD: whatever has a shape, and multiplies an array (n_samples, n_columns) by `@`.
    Y, gamma, members, n_jobs
        As of `least_squares_experts`; `n_jobs` groups of experts are solved at a time.
    tol : float
        Gap of an output of an expert, relative to its value, above 0.

    Returns
    -------
    LeastSquaresExperts

    Raises
    ------
    InvalidInput
        Arrays whose shapes do not fit, a kernel matrix that is not PSD, or an expert without samples.
    SolverFailed
        2000 steps were not enough: gamma is too small.

    Examples
    --------
    >>> from sklearn.datasets import make_friedman1
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from cvxens.kernels import TreeEnsemble
    >>> from cvxens.solvers import draw_members
    >>> X, y = make_friedman1(500, random_state=0)
    >>> K = TreeEnsemble(RandomForestRegressor(10, random_state=0).fit(X, y), "depth").unwritten(X)
    >>> experts = iterated_least_squares_experts(K, y, 0.01, draw_members(500, 20, (0.5, 0.9), random_state=0))
    >>> experts.certificate.holds(1e-11), (K @ experts.coefficients[:, :, 0]).shape
    (True, (500, 20))
    """
    Y, members = check_shapes(K.shape, Y, members)
    gamma, n_jobs = validation.positive("gamma", gamma), validation.n_jobs(n_jobs)
    tol = validation.positive("tol", tol)
    coefficients = np.zeros((*members.shape, Y.shape[1]))
    n_together = max(1, WIDTH // Y.shape[1])
    groups = [slice(first, first + n_together) for first in range(0, members.shape[1], n_together)]

    def fit(group: slice) -> list[Certificate]:
        inside = members[:, group]
        systems = Systems.from_members(L, gamma, inside, Y.shape[1])
        C = solve_systems(K, systems, np.tile(Y, inside.shape[1]) * systems.inside, tol)
        split = (len(Y), inside.shape[1], Y.shape[1])
        F, coefficients[:, group] = (K @ C).reshape(split), C.reshape(split)
        c = coefficients[:, group]
        return [certify_expert(c[rows, e], F[rows, e], Y[rows], gamma, 1.0) for e, rows in enumerate(inside.T)]

    with threadpool_limits(1, "blas"):
        L = factor_by_nystroem(K, RANK)
        found = map_in_threads(fit, groups, effective_n_jobs(n_jobs))
    return LeastSquaresExperts(coefficients, members, tuple(it for group in found for it in group))
