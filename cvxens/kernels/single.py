"""Kernels of distances in single precision: half the memory and a third of the time, with a bound on what is lost.

A solver that is far from the optimum has no use for more digits. What it does with these is to be evaluated anew, or to
count the bound against itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cvxens.kernels.tiles import SQUARE, Tile, measure
from cvxens.types import Array

UNIT = 2.0**-23
"""Twice the relative error of a rounding to float32, which covers products of such errors and what underflows."""


@dataclass(frozen=True, eq=False)
class RoundedSample:
    """A sample less its middle, in units of its radius, rounded to float32.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        In float32.
    radius : float
        The largest distance of a sample from the middle, in the norm of the term.
    term : int
        `DIFFERENCE` or `SQUARE`: whose sums over features are distances, or their squares.
    """

    X: NDArray[np.float32]
    radius: float
    term: int

    @classmethod
    def of(cls, X: Array, term: int) -> RoundedSample:
        centred = X - (X.min(axis=0) / 2 + X.max(axis=0) / 2)
        # an infinite radius has no kernel
        with np.errstate(over="ignore"):
            radius = float(np.linalg.norm(centred, 2 if term == SQUARE else 1, axis=1).max(initial=0.0))
        return cls((centred / (radius or 1.0)).astype(np.float32), radius, term)

    def evaluate(
        self,
        profile: Callable[[NDArray[np.float32]], NDArray[np.float32]],
        factor: float,
        *,
        slope: float,
        reach: float,
        largest: float,
    ) -> SingleKernel | None:
        """Return the kernel ``phi(|x - z|)`` on the sample; None where float32 has no room for it, or too few digits.

        Parameters
        ----------
        profile : callable
            From sums of terms, in units of the radius, to values, by at most four roundings and what `factor` does.
        factor : float
            What the profile multiplies by.
        slope, reach, largest : float
            The suprema of ``|phi'(d)|``, ``|d phi'(d)|`` and ``|phi(d)|`` over the distances d in the sample.
        """
        # float32 takes factors up to these, with room for products
        if not (1e-30 < factor < 1e30 and self.radius < 1e30):
            return None
        # Either sample of a distance is off by UNIT / 2 times the radius. The terms are sums of D positive numbers, so
        # their relative error is D + 2 roundings, of a sum of squares half as large in the distance; three more are of
        # the factor. The profile itself ends with an elementary function, off by four roundings at most, and a product
        error = UNIT * (self.radius * slope + (self.X.shape[1] + 5) * reach + 5 * largest)
        return SingleKernel(self, profile, largest, error) if error <= 1e-3 * largest else None


@dataclass(frozen=True, eq=False)
class SingleKernel:
    """A kernel within one sample, in float32.

    Parameters
    ----------
    sample : RoundedSample
        Whose distances it takes.
    profile : callable
        From sums of terms to values.
    largest : float
        A bound on their absolute values.
    error : float
        A bound on how far they are from the kernel.
    """

    sample: RoundedSample
    profile: Callable[[NDArray[np.float32]], NDArray[np.float32]]
    largest: float
    error: float

    def tile(self, left: NDArray[np.intp], right: NDArray[np.intp]) -> Tile:
        """Return what computes parts of the matrix between the samples of some indices and those of others."""
        X = self.sample.X
        terms = measure(self.sample.term, X[left], X[right])
        return lambda rows, columns: self.profile(terms(rows, columns))
