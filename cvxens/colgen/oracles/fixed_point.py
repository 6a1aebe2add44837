"""Signed weights in fixed point, so that their sums are exact."""

from __future__ import annotations

from math import inf, ldexp, nextafter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cvxens.errors import InvalidInput
from cvxens.validation import finite_array, same_length

BITS = 61


class FixedPoint(NamedTuple):
    """Signed weights as integers: s = integers * 2**exponent up to an error that is known.

    Sums of integers are exact in every order, so ties are ties and all searches agree to the last bit.

    Parameters
    ----------
    integers : ndarray of int64, shape (n_outputs, n_samples)
        The weights rounded; their magnitudes add up to about 2**61 at most, for every output.
    totals : ndarray of int64, shape (n_outputs,)
        Their sums.
    positives : ndarray of int64, shape (n_outputs,)
        The sums of those that are positive.
    exponent : int
        The power of two that is one unit.
    error : int
        A bound, in units, on ``|sum_i s_i h_i - sum_i integers_i h_i|`` for every h in {-1, +1}.

    Examples
    --------
    >>> weights = FixedPoint.from_weights([0.5, -0.25], 2)
    >>> weights.real(weights.totals[0]), weights.error
    (0.25, 1)
    """

    integers: NDArray[np.int64]
    totals: NDArray[np.int64]
    positives: NDArray[np.int64]
    exponent: int
    error: int

    @classmethod
    def from_weights(cls, s: Any, n_samples: int) -> FixedPoint:
        """Round signed weights of shape (n_samples,) or (n_samples, n_outputs)."""
        weights = finite_array("s", s)
        if weights.ndim not in (1, 2):
            raise InvalidInput("s", f"found shape {weights.shape}", "give (n_samples,) or (n_samples, n_outputs)")
        same_length("s", weights, n_samples)
        weights = np.ascontiguousarray(weights.reshape(n_samples, -1).T)
        with np.errstate(over="ignore"):
            mass = float(np.abs(weights).sum(axis=1).max())
        if mass == inf:
            raise InvalidInput("s", "found weights whose sum overflows", "scale them down")
        exponent = int(np.frexp(mass)[1]) - BITS
        scaled = np.ldexp(weights, -exponent)
        rounded = np.rint(scaled)
        lost = np.abs(scaled - rounded).sum(axis=1).max()
        integers = rounded.astype(np.int64)
        positives = np.maximum(integers, 0).sum(axis=1)
        return cls(integers, integers.sum(axis=1), positives, exponent, int(np.ceil(lost)) + (mass > 0))

    def real(self, units: int) -> float:
        """Return a number of units as a float."""
        return ldexp(float(units), self.exponent)

    def real_square(self, square: float) -> float:
        """Return a number of squared units as a float, inf if it is too large for one."""
        with np.errstate(over="ignore"):
            return float(np.ldexp(square, 2 * self.exponent))

    def bound(self, units: int) -> float:
        """Return a float that no exact edge exceeds if no rounded edge exceeds `units`."""
        return nextafter(self.real(units + self.error), inf) if units + self.error else 0.0
