"""Newton steps for the proximal subproblem, on the samples between the bounds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from cvxens.deadline import time_is_up
from cvxens.solvers.additive.kernel import AdditiveKernel
from cvxens.solvers.additive.proximal import Line, Proximal
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

    At the minimum ``c = y u``. With u linearised where it is between its bounds, F, and constant elsewhere, the new c
    is y u elsewhere, and on F solves ``(K_FF + 1/tau) c_F + b = (1 + p/tau) y - K_FN c_N`` with 1'c = 0.
    """
    b = proximal.intercept(state.f, state.b)
    u = proximal.multipliers(state.f + b)
    change = proximal.y * u - state.c
    free = (u > 0) & (u < proximal.C)
    moving = np.flatnonzero(free | (change != 0))
    delta, intercept = change[moving], b
    if free.any():
        c, f = (array[moving] for array in (state.c, state.f))
        near = Proximal(*(array[moving] for array in proximal))
        delta, intercept = _direction(kernel.among(moving), near, State(c, f, b), delta, np.flatnonzero(free[moving]))
    whole = np.zeros(len(u))
    whole[moving] = delta
    df, f = kernel.product(whole), state.f[moving]
    rounding = len(moving) * np.finfo(float).eps * float(np.abs(delta) @ (np.abs(f) + np.abs(df[moving])))
    line = Line(state.f + b, df + (intercept - b), float(delta @ f), float(delta @ df[moving]))
    t = proximal.step(line, rounding)
    f = state.f + t * df
    return State(state.c + t * whole, f, proximal.intercept(f, b + t * (intercept - b)))


def _direction(
    kernel: AdditiveKernel, proximal: Proximal, state: State, change: Array, free: Indices
) -> tuple[Array, float]:
    """Solve for the change of c on the samples that move, all others left out, and the new intercept.

    `change` is ``y u - c``, which stays where u is at a bound; on `free` its mean is taken first.
    """
    delta = change.copy()
    delta[free] = 0.0
    delta[free] = -delta.sum() / len(free)
    stiffness = 1 / proximal.tau[free]
    wanted = proximal.y[free] * (1 + proximal.p[free] * stiffness) - (state.f + kernel.product(delta))[free]
    wanted -= stiffness * (state.c + delta)[free]
    moved, b = _solve(kernel.among(free), stiffness, wanted)
    delta[free] += moved
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
        if square <= enough or time_is_up():
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
