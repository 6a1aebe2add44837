"""The additive model of a solution: a piecewise linear function of every feature, and the stumps that it is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.solvers.additive.kernel import AdditiveKernel
from cvxens.solvers.additive.problem import AdditiveSVM
from cvxens.solvers.svm_solution import SVMSolution
from cvxens.threads import available_threads, map_slices
from cvxens.types import Array, FieldsOnly


@dataclass(frozen=True, eq=False)
class Cells:
    """The averaged stumps of LL08 Theorem 8: ``f(x) + b = b + sum_k weights_k mean sign(x_d - t)``, t over the gap k.

    An averaged stump rises from -1 at the low end of its gap to 1 at the high end, in a line. By Theorem 7 the weight
    is half the gap's width, times the feature's scale, times the edge ``sum_i u_i y_i sign(x_id - t)``.

    Parameters
    ----------
    features : ndarray of int, shape (n_cells,)
        The feature d of each.
    low, high : ndarray of shape (n_cells,)
        The gap between two knots.
    weights : ndarray of shape (n_cells,)
        Of either sign.
    intercept : float
        b.

    Examples
    --------
    >>> cells = Cells(np.array([0]), np.array([0.0]), np.array([2.0]), np.array([-1.0]), 0.5)
    >>> cells([[-1.0], [1.0], [3.0]])
    array([ 1.5,  0.5, -0.5])
    >>> cells.sample(3, random_state=0).signs
    array([-1., -1., -1.])
    """

    features: NDArray[np.intp]
    low: Array
    high: Array
    weights: Array
    intercept: float

    def __call__(self, X: Any) -> Array:
        """Evaluate on `X` (n, n_features), in O(n n_cells); returns (n,)."""
        X = validation.finite_array("X", X, ndim=2)
        scores = np.full(len(X), self.intercept)
        for d, low, high, weight in zip(self.features, self.low, self.high, self.weights, strict=True):
            scores += weight * np.clip((2 * X[:, d] - low - high) / (high - low), -1.0, 1.0)
        return scores

    def sample(self, k: int, random_state: validation.RandomState = None) -> StumpEnsemble:
        """Draw k stumps, each cell as often as its weight is large, thresholds uniformly within.

        Their average tends to the classifier as k grows; every mean is exact.
        """
        k = validation.whole("k", k)
        total = float(np.abs(self.weights).sum())
        if total == 0:
            raise InvalidInput("cells", "found a constant function", "there is no stump to draw; use the intercept")
        rng = validation.generator(random_state)
        drawn = rng.choice(len(self.weights), size=k, p=np.abs(self.weights) / total)
        thresholds = rng.uniform(self.low[drawn], self.high[drawn])
        return StumpEnsemble(self.features[drawn], thresholds, np.sign(self.weights[drawn]), total / k, self.intercept)


@dataclass(frozen=True, eq=False)
class StumpEnsemble:
    """b + weight sum_j signs_j sign(x_d - thresholds_j): stumps that all weigh the same.

    Parameters
    ----------
    features, thresholds, signs : ndarray of shape (n_stumps,)
        A sample on its threshold counts as above it.
    weight, intercept : float
        Of each stump, and b.

    Examples
    --------
    >>> stumps = StumpEnsemble(np.array([0, 0]), np.array([0.0, 1.0]), np.array([1.0, -1.0]), 0.5, 0.25)
    >>> stumps([[-1.0], [0.5], [1.0]])
    array([0.25, 1.25, 0.25])
    """

    features: NDArray[np.intp]
    thresholds: Array
    signs: Array
    weight: float
    intercept: float

    def __call__(self, X: Any) -> Array:
        """Evaluate on `X` (n, n_features), sorting the thresholds; returns (n,)."""
        X = validation.finite_array("X", X, ndim=2)
        total = np.zeros(len(X))
        for d in np.unique(self.features):
            own = np.flatnonzero(self.features == d)
            own = own[np.argsort(self.thresholds[own])]
            sums = np.concatenate([[0.0], np.cumsum(self.signs[own])])
            total += 2 * sums[np.searchsorted(self.thresholds[own], X[:, d], side="right")] - sums[-1]
        return self.intercept + self.weight * total


Starts: TypeAlias = NDArray[np.int64]

CELLS = 8
"""Cells of the table to a knot."""

BLOCK = 4096
"""Samples that are evaluated together, feature by feature."""


@dataclass(frozen=True, eq=False)
class AdditiveModel(FieldsOnly):
    """f(x) + b = b + sum_d g_d(x_d), each g_d continuous and piecewise linear between the support vectors' values.

    ``g_d(t) = - scale_d sum_i u_i y_i |t - x_id|``, and as y'u = 0 it is constant below the first and above the last
    knot. Evaluation finds a value's place through a table of equal cells, so its cost depends on the number of features
    and hardly on that of support vectors.

    Parameters
    ----------
    starts : ndarray of int64, shape (n_features + 1,)
        Where the knots of each feature start.
    knots, values : ndarray of shape (n_knots,)
        Feature by feature, ascending and distinct; the functions there.
    intercept : float
        b.

    Examples
    --------
    >>> from cvxens.solvers.additive import AdditiveSVM, solve_additive_svm
    >>> solution = solve_additive_svm(AdditiveSVM.of([[0.0], [2.0]], [1.0, -1.0], C=1.0))
    >>> model = AdditiveModel.of(solution)
    >>> [knots.tolist() for knots, values in model.shape_functions]
    [[0.0, 2.0]]
    >>> model([[-5.0], [0.5]]).round(4)
    array([1. , 0.5])
    """

    starts: Starts
    knots: Array
    values: Array
    intercept: float

    @classmethod
    def of(cls, solution: SVMSolution[AdditiveSVM]) -> AdditiveModel:
        """Build the functions from u."""
        problem, support = solution.problem, np.flatnonzero(solution.u)
        if not len(support):
            support = np.arange(1)
        kernel = problem.kernel.among(support)
        weights = (problem.y * solution.u)[support]
        parts = [_build_function(kernel, weights - weights.mean(), d) for d in range(len(kernel.scale))]
        starts = np.cumsum([0, *(len(knots) for knots, _ in parts)])
        knots, values = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return cls(starts, knots, values, solution.b)

    def check(self) -> None:
        """Raise a ValueError unless the knots of the features ascend, one feature after the other."""
        starts, knots, values = self.starts, self.knots, self.values
        if not (
            (starts.ndim, starts.dtype.kind, knots.dtype, values.dtype) == (1, "i", float, float)
            and values.shape == knots.shape == (knots.size,)
            and starts[0] == 0
            and starts[-1] == knots.size
            and (np.diff(starts) > 0).all()
        ):
            raise ValueError("an additive model whose features do not have the knots one after the other")
        rises = np.delete(np.diff(knots), starts[1:-1] - 1)
        if not (np.isfinite(knots).all() and (rises > 0).all()):
            raise ValueError("an additive model whose knots do not ascend")

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.starts) - 1

    @property
    def shape_functions(self) -> Sequence[tuple[Array, Array]]:
        """(knots, values) of every feature."""
        return tuple(
            (self.knots[first:end], self.values[first:end])
            for first, end in zip(self.starts[:-1], self.starts[1:], strict=True)
        )

    @cached_property
    def cells(self) -> Cells:
        """The averaged stumps of LL08 Theorem 8 with their weights: one for each gap between two knots."""
        inner = np.delete(np.arange(len(self.knots)), self.starts[1:] - 1)
        features = np.repeat(np.arange(self.n_features), np.diff(self.starts) - 1)
        weights = (self.values[inner + 1] - self.values[inner]) / 2
        return Cells(features, self.knots[inner], self.knots[inner + 1], weights, self.intercept)

    def __call__(self, X: Any) -> Array:
        """Evaluate f + b on `X` (n, n_features); returns (n,)."""
        X = _check_sample(X, self.n_features)
        scores, table, lines = np.full(len(X), self.intercept), self._table, self._lines

        def add(rows: slice) -> None:
            _add_functions(X[rows], table, lines, scores[rows])

        map_slices(add, len(X), min(available_threads(), len(X) // BLOCK))
        return scores

    @cached_property
    def _lines(self) -> Array:
        """Knots, values, and the slopes after them, 0 after the last of a feature; shape (n_knots, 3)."""
        slopes = np.zeros_like(self.knots)
        inner = np.delete(np.arange(len(self.knots)), self.starts[1:] - 1)
        slopes[inner] = (self.values[inner + 1] - self.values[inner]) / (self.knots[inner + 1] - self.knots[inner])
        return np.stack([self.knots, self.values, slopes], axis=1)

    @cached_property
    def _table(self) -> _Table:
        counts = np.diff(self.starts)
        widths = self.knots[self.starts[1:] - 1] - self.knots[self.starts[:-1]]
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            per_unit = (CELLS * counts - 1) / widths
        per_unit = np.where(np.isfinite(per_unit), per_unit, 0.0)
        before = np.zeros(CELLS * len(self.knots) + self.n_features, np.int32)
        table = _Table(self.starts, self.knots, before, per_unit)
        _count_knots(table)
        return table


def _build_function(kernel: AdditiveKernel, weights: Array, d: int) -> tuple[Array, Array]:
    """Return knots and values of one feature; the weights sum to 0."""
    x = kernel.values[d].astype(np.float64)
    firsts = np.flatnonzero(np.concatenate([[True], x[1:] != x[:-1]]))
    knots = x[firsts]
    below = np.cumsum(np.add.reduceat(weights[kernel.rows[d]], firsts))[:-1]
    rises = -2 * kernel.scale[d] * below * np.diff(knots)
    values = np.concatenate([[0.0], np.cumsum(rises)])
    return knots, values - values[-1] / 2


def _check_sample(X: Any, n_features: int) -> NDArray:
    X = validation.finite_array("X", X, ndim=2)
    if X.shape[1] != n_features:
        raise InvalidInput("X", f"found shape {X.shape}", f"give samples of {n_features} features")
    return X


class _Table(NamedTuple):
    """A table of equal cells that says where to look for a value among the knots.

    Parameters
    ----------
    starts, knots : ndarray
        As in `AdditiveModel`.
    before : ndarray of int32, shape (CELLS n_knots + n_features,)
        How many knots come before each of the equal cells of a feature's range, and at its end.
    per_unit : ndarray of shape (n_features,)
        Cells per unit.
    """

    starts: Starts
    knots: Array
    before: NDArray[np.int32]
    per_unit: Array


@njit(cache=True, nogil=True)
def _count_knots(table: _Table) -> None:
    """Fill in `before`."""
    starts, knots, before, per_unit = table
    for d in range(len(starts) - 1):
        first, end = starts[d], starts[d + 1]
        own = before[CELLS * first + d : CELLS * end + d + 1]
        for k in range(first, end):
            own[int((knots[k] - knots[first]) * per_unit[d]) + 1] += 1
        for cell in range(1, len(own)):
            own[cell] += own[cell - 1]


@njit(cache=True, nogil=True)
def _add_functions(X: NDArray, table: _Table, lines: Array, scores: Array) -> None:
    """Add the functions, by blocks of samples; `lines` are knots, values, and slopes after them."""
    starts, _, before, per_unit = table
    for block in range(0, len(X), BLOCK):
        for d in range(len(starts) - 1):
            own = before[CELLS * starts[d] + d : CELLS * starts[d + 1] + d + 1]
            line = lines[starts[d] : starts[d + 1]]
            low, high, last = line[0, 0], line[-1, 0], len(own) - 2
            for i in range(block, min(block + BLOCK, len(X))):
                x = min(max(X[i, d], low), high)
                cell = min(max(int((x - low) * per_unit[d]), 0), last)
                # the last knot at or below x is among those of its cell, or the last before
                below, above = own[cell] - 1, own[cell + 1]
                while above - below > 1:
                    middle = (below + above) // 2
                    if line[middle, 0] <= x:
                        below = middle
                    else:
                        above = middle
                scores[i] += line[below, 1] + line[below, 2] * (x - line[below, 0])
