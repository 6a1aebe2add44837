"""Newton steps for the proximal subproblem, on the samples between the bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from cvxens.solvers.additive.kernel import AdditiveKernel
from cvxens.solvers.additive.proximal import Proximal
from cvxens.types import Array

Indices: TypeAlias = NDArray[np.intp]

DENSE = 1500
"""Samples between the bounds up to which the system is solved by Cholesky, beyond by conjugate gradients."""

ACCURACY = 1e-3
"""The relative residual at which conjugate gradients stop."""

MAX_PRODUCTS = 500


@dataclass(frozen=True)
class State:
    """An iterate: f = K c on the sample, 1'c = 0, and the intercept."""

    c: Array
    f: Array
    b: float

    @property
    def scores(self) -> Array:
        """F + b."""
        return self.f + self.b


def newton_step(kernel: AdditiveKernel, proximal: Proximal, state: State) -> State:
    """Take one Newton step, as long as it pays, then the best intercept.

    At the minimum ``c = y u``. With u linearised where it is between its bounds, F, and constant elsewhere, the new c is y u
    elsewhere, and on F solves ``(K_FF + 1/tau) c_F + b = (1 + p/tau) y - K_FN c_N`` with 1'c = 0.
    """
    b = proximal.intercept(state.f, state.b)
    u = proximal.multipliers(state.f + b)
    change = proximal.y * u - state.c
    free = (u > 0) & (u < proximal.C)
    moving = np.flatnonzero(free | (change != 0))
    delta, intercept = _direction(kernel.among(moving), proximal, state, change[moving], moving, free[moving])
    whole = np.zeros(len(u))
    whole[moving] = delta
    df = kernel.product(whole)
    f, df_moving = state.f[moving], df[moving]
    rounding = len(moving) * np.finfo(float).eps * float(np.abs(delta) @ (np.abs(f) + np.abs(df_moving)))
    shift = intercept - b if free.any() else 0.0
    t = proximal.step(state.f + b, df + shift, float(delta @ f), float(delta @ df_moving), rounding)
    f_new = state.f + t * df
    return State(state.c + t * whole, f_new, proximal.intercept(f_new, b + t * shift))


def _direction(
    part: AdditiveKernel, proximal: Proximal, state: State, delta: Array, moving: Indices, free: NDArray[np.bool_]
) -> tuple[Array, float]:
    """The change of c on the samples that move, and the intercept; `delta` is ``y u - c`` there."""
    inside = np.flatnonzero(free)
    if not len(inside):
        return delta, 0.0
    F = moving[inside]
    delta[inside] = 0.0
    delta[inside] = -delta.sum() / len(inside)
    stiffness = 1 / proximal.tau[F]
    wanted = proximal.y[F] * (1 + proximal.p[F] * stiffness) - state.f[F] - part.product(delta)[inside]
    wanted -= stiffness * (state.c[F] + delta[inside])
    moved, b = _solve(part.among(inside), stiffness, wanted)
    delta[inside] += moved
    return delta, b


def _solve(kernel: AdditiveKernel, stiffness: Array, wanted: Array) -> tuple[Array, float]:
    """Solve ``(K + diag(stiffness)) x + b = wanted``, 1'x = 0."""
    if kernel.n_samples <= DENSE:
        return _by_cholesky(kernel, stiffness, wanted)
    return _by_conjugate_gradients(kernel, stiffness, wanted)


def _by_cholesky(kernel: AdditiveKernel, stiffness: Array, wanted: Array) -> tuple[Array, float]:
    """With a constant added to K it is positive definite, and x does not change."""
    K = kernel.dense()
    K += kernel.total_mass
    K[np.diag_indices_from(K)] += stiffness
    both = cho_solve(cho_factor(K, lower=True, overwrite_a=True), np.stack([wanted, np.ones_like(wanted)], axis=1))
    x, from_ones = both.T
    b = float(x.sum() / from_ones.sum())
    return x - b * from_ones, b


def _by_conjugate_gradients(kernel: AdditiveKernel, stiffness: Array, wanted: Array) -> tuple[Array, float]:
    """Within the space of 1'x = 0."""
    x, b = np.zeros_like(wanted), float(wanted.mean())
    residual = wanted - b
    direction, square = residual, float(residual @ residual)
    enough = ACCURACY**2 * square
    for _ in range(MAX_PRODUCTS):
        if square <= enough:
            break
        product = kernel.product(direction) + stiffness * direction
        shift = float(product.mean())
        product -= shift
        length = square / float(direction @ product)
        x = x + length * direction
        residual = residual - length * product
        b -= length * shift
        last, square = square, float(residual @ residual)
        direction = residual + square / last * direction
    return x, b
