"""Kernels of distances in single precision: half the memory and a third of the time, with a bound on what is lost.

A solver that is far from the optimum has no use for more digits. What it does with these is to be evaluated anew, or to
count the bound against itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cvxens.kernels.tiles import SQUARE, Tile, measure
from cvxens.types import Array

Singles: TypeAlias = NDArray[np.float32]


class Profile(NamedTuple):
    """A function phi of the distances in a sample, in units of its radius.

    `values` takes sums of terms to them, by at most four roundings and what `factor`, which it multiplies by, does;
    `slope`, `reach` and `largest` are the suprema of ``|phi'(d)|``, ``|d phi'(d)|`` and ``|phi(d)|``.
    """

    values: Callable[[Singles], Singles]
    factor: float
    slope: float
    reach: float
    largest: float


@dataclass(frozen=True, eq=False)
class SingleKernel:
    """A kernel ``phi(|x - z|)`` within one sample, in float32.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The sample less its middle, in units of its radius, the largest distance from the middle in the norm of `term`.
    term : int
        `DIFFERENCE` or `SQUARE`: whose sums over features are distances, or their squares.
    profile : Profile
        The function.
    error : float
        A bound on how far values are from the kernel.
    """

    X: Singles
    term: int
    profile: Profile
    error: float

    @classmethod
    def of(cls, X: Array, term: int, describe: Callable[[float], Profile]) -> SingleKernel | None:
        """Round a sample, of whose radius the profile is; None where float32 has no room for it, or too few digits."""
        centred = X - (X.min(axis=0) / 2 + X.max(axis=0) / 2)
        # an infinite radius has no kernel
        with np.errstate(over="ignore"):
            radius = float(np.linalg.norm(centred, 2 if term == SQUARE else 1, axis=1).max(initial=0.0))
            profile = describe(radius)
        # float32 takes factors up to these, with room for products
        if not (1e-30 < profile.factor < 1e30 and radius < 1e30):
            return None
        # With twice the relative error of a rounding to float32, which covers products of such errors and what
        # underflows: either sample of a distance is off by half of that times the radius. The terms are sums of D
        # positive numbers, so their relative error is D + 2 roundings, of a sum of squares half as large in the
        # distance; three more are of the factor. The profile itself ends with an elementary function, off by four
        # roundings at most, and a product
        unit, (_, _, slope, reach, largest) = 2.0**-23, profile
        error = unit * (radius * slope + (X.shape[1] + 5) * reach + 5 * largest)
        rounded = (centred / (radius or 1.0)).astype(np.float32)
        return cls(rounded, term, profile, error) if error <= 1e-3 * largest else None

    @property
    def largest(self) -> float:
        """A bound on absolute values."""
        return self.profile.largest

    def tile(self, left: NDArray[np.intp], right: NDArray[np.intp]) -> Tile:
        """Return what computes parts of the matrix between the samples of some indices and those of others."""
        terms = measure(self.term, self.X[left], self.X[right])
        return lambda rows, columns: self.profile.values(terms(rows, columns))
