"""Decision stumps as an exact oracle: every threshold of every feature is priced in one pass."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, ldexp, nextafter
from typing import Any

import numpy as np
from numba import njit, prange
from numpy.typing import NDArray

from cvxens.colgen.protocols import Column, Hypothesis, Priced
from cvxens.errors import InvalidInput
from cvxens.features import SortedFeatures
from cvxens.types import Array
from cvxens.validation import finite_array, same_length

FIXED_POINT_BITS = 61


@dataclass(frozen=True)
class Stump:
    """The hypothesis h(x) = sign if x[feature] >= threshold else -sign.

    Parameters
    ----------
    feature : int
        Column of X.
    threshold : float
        Where the sign changes; a sample on the threshold counts as above it.
    sign : int
        +1 or -1.

    Examples
    --------
    >>> stump = Stump(1, 0.5, -1)
    >>> print(stump)
    x[1] >= 0.5 -> -1
    >>> stump(np.array([[0.0, 0.2], [0.0, 0.7]]))
    array([ 1., -1.])
    """

    feature: int
    threshold: float
    sign: int

    def __call__(self, X: Any, /) -> Array:
        """Evaluate on `X` (n_samples, n_features); returns (n_samples,)."""
        return np.where(
            np.asarray(X)[:, self.feature] >= np.float64(self.threshold), float(self.sign), -float(self.sign)
        )

    def __str__(self) -> str:
        return f"x[{self.feature}] >= {self.threshold:.6g} -> {self.sign:+d}"


@dataclass(frozen=True)
class Constant:
    """The hypothesis h(x) = sign.

    Parameters
    ----------
    sign : int
        +1 or -1.

    Examples
    --------
    >>> print(Constant(1), Constant(-1)([[0.0], [0.0]]))
    always -> +1 [-1. -1.]
    """

    sign: int

    def __call__(self, X: Any, /) -> Array:
        """Evaluate on `X` (n_samples, n_features); returns (n_samples,)."""
        return np.full(np.shape(X)[0], float(self.sign))

    def __str__(self) -> str:
        return f"always -> {self.sign:+d}"


@dataclass(frozen=True, eq=False)
class FixedPoint:
    """Signed weights as integers: s = integers * 2**exponent up to an error that is known.

    Sums of integers are exact in every order, so ties are ties and all searches agree to the last bit.

    Parameters
    ----------
    integers : ndarray of int64, shape (n_outputs, n_samples)
        The weights rounded, ``sum |integers| <= 2**61 + n_samples`` for every output.
    exponent : int
        The power of two that is one unit.
    error : int
        A bound, in units, on ``|sum_i s_i h_i - sum_i integers_i h_i|`` for every h in {-1, +1}.
    """

    integers: NDArray[np.int64]
    exponent: int
    error: int

    @classmethod
    def of(cls, s: Any, n_samples: int) -> FixedPoint:
        """Round signed weights of shape (n_samples,) or (n_samples, n_outputs)."""
        weights = finite_array("s", s)
        if weights.ndim > 2:
            raise InvalidInput(
                "s", f"found shape {weights.shape}", "give (n_samples,) or (n_samples, n_outputs)"
            )
        same_length("s", np.atleast_1d(weights), n_samples)
        weights = np.ascontiguousarray(weights.reshape(n_samples, -1).T)
        with np.errstate(over="ignore"):
            mass = float(np.abs(weights).sum(axis=1).max())
        if mass == inf:
            raise InvalidInput("s", "found weights whose sum overflows", "scale them down")
        exponent = int(np.frexp(mass)[1]) - FIXED_POINT_BITS
        scaled = np.ldexp(weights, -exponent)
        rounded = np.rint(scaled)
        lost = np.abs(scaled - rounded).sum(axis=1).max()
        return cls(rounded.astype(np.int64), exponent, int(np.ceil(lost)) + int(lost > 0))

    def real(self, units: int) -> float:
        """Return an integer number of units as a float."""
        return ldexp(float(units), self.exponent)

    def bound(self, units: int) -> float:
        """Return a float that the exact edges cannot exceed if none of the rounded ones exceeds `units`."""
        return nextafter(self.real(units + self.error), inf) if units + self.error else 0.0


class Stumps:
    """All middle stumps of a sample, and the constant: the exact oracle over this finite set.

    A middle stump separates two neighbouring distinct values of one feature halfway (LL08). Its edge is
    ``sum_i s_i - 2 sum_{i: x_i < threshold} s_i``, so one pass over each sorted feature prices them all.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Finite, at least one feature that varies.
    constant : bool
        Whether h(x) = 1 and h(x) = -1 belong to the set.
    columns_per_round : int or None
        At most so many columns are returned; None for the best stump of every feature.

    Examples
    --------
    >>> X = [[0.0, 5.0], [1.0, 3.0], [2.0, 4.0]]
    >>> priced = Stumps(X).price(np.array([-0.2, 0.3, 0.5]))
    >>> for column in priced.columns:
    ...     print(column.hypothesis, column.edge)
    x[0] >= 0.5 -> +1 1.0
    x[1] >= 4.5 -> -1 1.0
    always -> +1 0.6
    """

    def __init__(self, X: Any, *, constant: bool = True, columns_per_round: int | None = None) -> None:
        self.features = SortedFeatures(X)
        self.constant = constant
        self.columns_per_round = columns_per_round

    def price(self, s: Any, /) -> Priced:
        """Price every stump under signed weights s = y u.

        Parameters
        ----------
        s : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Finite; all zeros is allowed.

        Returns
        -------
        Priced
            The best stump of each feature that varies (and the constant), best first; of equal edges the
            lowest feature and threshold, the constant last. `edge_bound` exceeds the largest edge by the
            rounding of `s` only, at most ``n_samples * 2**-60 * sum |s|``.
        """
        weights = FixedPoint.of(s, self.features.n_samples)
        totals = weights.integers.sum(axis=1)
        edges, places, squares = _search(weights.integers, totals, self.features.order, self.features.changes)
        found = [
            (int(edges[j]), self._stump(j, places[j], edges[j])) for j in np.flatnonzero(places).tolist()
        ]
        square_sum = float(squares.sum())
        if self.constant:
            total = int(totals[np.abs(totals).argmax()])
            found.append((total, Constant(1 if total >= 0 else -1)))
            square_sum += float((totals.astype(np.float64) ** 2).sum())
        found.sort(key=lambda pair: -abs(pair[0]))
        columns = [
            Column(hypothesis, self.features.X, weights.real(abs(edge)))
            for edge, hypothesis in found[: self.columns_per_round]
        ]
        with np.errstate(over="ignore"):
            edge_square_sum = float(np.ldexp(square_sum, 2 * weights.exponent))
        return Priced(columns, weights.bound(abs(found[0][0])), edge_square_sum)

    def _stump(self, feature: int, place: int, edge: int) -> Hypothesis:
        return Stump(feature, self.features.threshold(feature, place), 1 if edge >= 0 else -1)


@njit(parallel=True, cache=True)
def _search(
    weights: NDArray[np.int64],
    totals: NDArray[np.int64],
    order: NDArray[np.int32],
    changes: NDArray[np.bool_],
) -> tuple[NDArray[np.int64], NDArray[np.int64], Array]:
    """Return per feature the edge largest by magnitude, its place (0 if constant), the sum of squares."""
    n_features, n_samples = order.shape
    edges = np.zeros(n_features, np.int64)
    places = np.zeros(n_features, np.int64)
    squares = np.zeros(n_features)
    for j in prange(n_features):
        best = -1
        for o in range(len(totals)):
            below = 0
            for k in range(1, n_samples):
                below += weights[o, order[j, k - 1]]
                if changes[j, k]:
                    edge = totals[o] - 2 * below
                    squares[j] += float(edge) * float(edge)
                    if abs(edge) > best:
                        best = abs(edge)
                        edges[j] = edge
                        places[j] = k
    return edges, places, squares
