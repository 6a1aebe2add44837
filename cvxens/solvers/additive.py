"""Support vector machines with additive kernels: no Gram matrix, memory for the sample alone.

`AdditiveKernel` multiplies by prefix sums over sorted features; `AdditiveSVM` is LL08 P2 with it, and certifies any
answer; `AdditiveModel` evaluates a solution as a piecewise linear function of every feature, and names the stumps that
it is made of; `solve_additive_svm` finds it by proximal Newton steps on the samples between the bounds.

Two loops are nested there. The outer one is the proximal point algorithm on the dual, that is, the method of
multipliers (Rockafellar 1976): each *proximal problem* keeps u near a *centre*, the last u, by ``|u - p|^2 / (2 tau)``,
and the *step* tau grows. The inner one is a semismooth Newton method on the smooth problem that this is in f and b
(`SmoothedHinge`): a Newton step is a linear system over the *free* samples, 0 < u < C, by Cholesky or by conjugate
gradients whose products are prefix sums. Only what the outer loop reaches is certified. Smooth losses need no outer
loop: `ConditionedMatrix` has the systems of their steps (`newton.minimise_expansion`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import cho_factor, cho_solve
from threadpoolctl import threadpool_limits

from cvxens import validation
from cvxens.compensated import two_sum
from cvxens.errors import InvalidInput
from cvxens.features import BinnedFeatures
from cvxens.kernels.kernel import Kernel
from cvxens.kernels.stumps import SimplifiedStump
from cvxens.limits import (
    Deadline,
    Ending,
    available_threads,
    find_ending,
    limit_time,
    map_slices,
    shares_for,
    time_is_up,
)
from cvxens.problems import SVMDual
from cvxens.problems.maps import KernelMap, StepColumns
from cvxens.rounding import EPSILON, TINY, sum_error
from cvxens.solvers.conjugate_gradients import conjugate_gradients
from cvxens.solvers.incomplete_cholesky import LowRankKernel
from cvxens.solvers.proximal_hinge import SmoothedHinge
from cvxens.solvers.steps import multiply_steps
from cvxens.solvers.svm_solution import BestPoint, SVMSolution
from cvxens.types import Array, Data, FieldsOnly, Indices, Numbers

__all__ = ["AdditiveKernel", "AdditiveModel", "AdditiveSVM", "Cells", "solve_additive_svm"]

Order: TypeAlias = NDArray[np.int32]
"""Samples by ascending value of each feature, (n_features, n_samples)."""

WORTH_A_THREAD = 100_000
"""Sorted entries below which a product is faster in one thread; each share of a product has so many."""


@dataclass(frozen=True, eq=False)
class AdditiveKernel(KernelMap):
    """K(x, x') = a(x) + a(x') - sum_d scale_d |x_d - x'_d| on a sample, in memory for the sample.

    Where coefficients sum to 0, as y'u = 0 makes them in P2, a constant in the kernel does not matter, nor does a term
    in x alone or x' alone. So this is LL08's stump kernel and its simplified form (scale 1), histogram intersection
    ``sum_d min(x_d, x'_d)`` (scale 1/2), KIE06's K_ds, and any sum of those over features with weights of their own.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        The sample.
    rows : ndarray of int32, shape (n_features, n_samples)
        The samples by ascending value of each feature.
    values : ndarray of shape (n_features, n_samples)
        ``values[d, k] = X[rows[d, k], d]``, in the type of X.
    scale : ndarray of shape (n_features,)
        At least 0.
    offsets : ndarray of shape (n_samples,) or 0
        a, the parts in one sample, which do not matter where coefficients sum to 0.

    Examples
    --------
    >>> kernel = AdditiveKernel.of([[0.0, 1.0], [2.0, 1.0], [3.0, 0.0]])
    >>> kernel @ np.array([1.0, 0.0, 0.0])
    array([ 0., -2., -4.])
    """

    X: Numbers
    rows: Order
    values: Numbers
    scale: Array
    offsets: Array | float = 0.0

    @classmethod
    def of(cls, X: Data | BinnedFeatures, scale: ArrayLike | None = None) -> AdditiveKernel:
        """Sort a sample, or take one that is sorted, `BinnedFeatures`; `scale` is 1 or shaped (n_features,)."""
        features = X if isinstance(X, BinnedFeatures) else BinnedFeatures(X)
        scales = validation.weights("scale", scale, features.n_features, "feature")
        return cls(features.X, features.order, features.values, scales)

    @classmethod
    def sort(cls, X: Numbers, scale: Array, offsets: Array | float = 0.0) -> AdditiveKernel:
        """Sort a sample that was checked before."""
        rows = np.ascontiguousarray(X.argsort(axis=0).T.astype(np.int32))
        return cls(X, rows, np.take_along_axis(X.T, rows, axis=1), scale, offsets)

    @classmethod
    def from_kernel(cls, kernel: object, X: Array) -> AdditiveKernel | None:
        """Sort a sample for a kernel of `cvxens.kernels`; None for one that is not additive."""
        if not isinstance(kernel, Kernel) or (scale := kernel.additive_scales(X)) is None:
            return None
        return replace(cls.of(X, scale), offsets=kernel.diag(X) / 2)

    @property
    def n_samples(self) -> int:
        return self.rows.shape[1]

    @property
    def spread(self) -> float:
        """The range of the entries of K without offsets: the ranges of the features, times their scales."""
        return 2 * self.total_mass

    def matrix(self) -> Array:
        return self.dense() + np.add.outer(*2 * (np.broadcast_to(self.offsets, self.n_samples),))

    def dense(self) -> Array:
        """Return K without offsets, (n_samples, n_samples): for small samples."""
        return SimplifiedStump(self.scale)(self.X.astype(np.float64))

    def scores(self, c: Array) -> Array:
        return self.product(c) + self._add_offsets(c)

    __matmul__ = scores

    def _add_offsets(self, c: Array) -> Array | float:
        """Return ``(a 1' + 1 a') c``."""
        return self.offsets * c.sum() + float((self.offsets * c).sum())

    def measure_scores(self, c: Array) -> tuple[Array, Array]:
        """Evaluate K c with running sums in twice the precision, and errors."""
        # a 1'c + 1 a'c, of n terms each, and a itself is a sum over features
        n_terms, largest = len(c) + len(self.scale) + 4, float(np.max(np.abs(self.offsets)))
        error = self.product_error(c) + sum_error(n_terms, 2 * largest * float(np.abs(c).sum()))
        return self.product(c, compensated=True) + self._add_offsets(c), np.full(len(c), error)

    @cached_property
    def total_mass(self) -> float:
        """LL08's Delta for the ranges of the sample: with it added, the kernel is PSD."""
        ranges = self.values[:, -1].astype(np.float64) - self.values[:, 0]
        return float(self.scale @ ranges) / 2

    @cached_property
    def mean_distance(self) -> float:
        """The mean of -K over all pairs of samples."""
        # -1'K 1 / n^2
        ones = np.ones(self.n_samples)
        return -float(ones @ self.product(ones)) / self.n_samples**2

    def product(self, v: Array, *, compensated: bool = False) -> Array:
        """Return K v (n_samples,) less offsets in O(n_samples n_features), summed in twice the precision if asked."""
        in_twice = True if compensated else None

        def add(features: slice) -> tuple[Numbers, float]:
            # v_i beside (K v)_i: samples come in the order of a feature, and one cache line has both
            pairs = np.zeros((self.n_samples, 2))
            pairs[:, 0] = v
            own = self.rows[features], self.values[features], self.scale[features]
            return pairs[:, 1], _add_products(*own, pairs, in_twice)

        parts = self._by_features(add)
        product = parts[0][0] + sum(offset for _, offset in parts)
        for part, _ in parts[1:]:
            product += part
        return product

    def product_error(self, v: Array) -> float:
        """Bound the error of any entry of a compensated product.

        The running sums of a feature are exact but for one rounding of every term, whose sizes add up to at most twice
        scale range sum |v|; then n_features of them and their constants are summed.
        """
        size = 4 * self.total_mass * float(np.abs(v).sum())
        return sum_error(len(self.scale) + 8, size)

    def among(self, chosen: Indices) -> AdditiveKernel:
        """Return the kernel on some of the samples, given in ascending order; what is sorted stays sorted."""
        offsets = self.offsets[chosen] if isinstance(self.offsets, np.ndarray) else self.offsets
        # sorting m values costs m log m, picking them out of n sorted ones costs n
        if len(chosen) * 16 < self.n_samples:
            return AdditiveKernel.sort(self.X[chosen], self.scale, offsets)
        positions = np.full(self.n_samples, -1, np.int32)
        positions[chosen] = np.arange(len(chosen), dtype=np.int32)
        shape = len(self.scale), len(chosen)
        rows, values = np.empty(shape, np.int32), np.empty(shape, self.values.dtype)
        self._by_features(lambda d: _keep(self.rows[d], self.values[d], positions, rows[d], values[d]))
        return AdditiveKernel(self.X[chosen], rows, values, self.scale, offsets)

    def _by_features(self, task: Callable[[slice], Any]) -> list[Any]:
        """Return the results of a task for shares of the features, the same with any number of threads."""
        n_features = len(self.scale)
        return map_slices(task, n_features, shares_for(n_features, self.rows.size, WORTH_A_THREAD))


@njit(cache=True, nogil=True)
def _add_products(rows: Order, values: Numbers, scale: Array, pairs: Array, in_twice: bool | None) -> float:
    """Add K v to pairs[:, 1], where v is pairs[:, 0], up to a constant, which is returned.

    Between two values of a feature the slope is the weight above minus the weight below. The sum of the products at
    both ends of a feature is minus its range times the sum of all weights, which gives the constant. Unless `in_twice`
    is None, which is decided when it is compiled, every running sum is in two floats (Knuth's sum without rounding).
    """
    # each sum is high + low: what two_sum loses is gathered in low, whose own rounding is of second order
    total, total_low = 0.0, 0.0
    for i in range(len(pairs)):
        if in_twice is None:
            total += pairs[i, 0]
        else:
            total, low = two_sum(total, pairs[i, 0])
            total_low += low
    constant = 0.0
    for d in range(len(rows)):
        first = np.float64(values[d, 0])
        last, here, here_low = first, 0.0, 0.0
        slope, slope_low, twice = scale[d] * total, scale[d] * total_low, 2 * scale[d]
        for k in range(rows.shape[1]):
            row, x = np.uint32(rows[d, k]), np.float64(values[d, k])
            # K v is linear between two values of the feature; its slope falls by 2 scale v_i at each, from
            # scale sum v below the first to -scale sum v above the last
            if in_twice is None:
                here += slope * (x - last)
                slope -= twice * pairs[row, 0]
                pairs[row, 1] += here
            else:
                here, low = two_sum(here, slope * (x - last))
                here_low += low + slope_low * (x - last)
                slope, low = two_sum(slope, -twice * pairs[row, 0])
                slope_low += low
                pairs[row, 1] += here + here_low
            last = x
        # with g(t) = -scale sum_i v_i |t - x_i|: g(first) + g(last) = -scale (last - first) sum v, and here is
        # g(last) - g(first), so g(first) is minus half the sum of the two
        constant -= (scale[d] * (last - first) * (total + total_low) + (here + here_low)) / 2
    return constant


@njit(cache=True, nogil=True)
def _keep(rows: Order, values: Numbers, positions: NDArray[np.int32], kept_rows: Order, kept_values: Numbers) -> None:
    """Copy the sorted entries of the samples that have a position of 0 or more."""
    for d in range(len(rows)):
        kept = 0
        for k in range(rows.shape[1]):
            position = positions[rows[d, k]]
            if position >= 0:
                kept_rows[d, kept] = position
                kept_values[d, kept] = values[d, k]
                kept += 1


class Others(NamedTuple):
    """What a problem knows of samples that are not in it, whose multipliers stay as they are."""

    f: Array | float = 0.0
    """What they add to the scores of those that are."""
    balance: float = 0.0
    """The sum of their y u."""


class AdditiveSVM(SVMDual):
    """min 1/2 u'(K o yy')u - sum u subject to 0 <= u <= C, y'u = 0, with K = const - sum_d scale_d |x_d - x'_d|.

    LL08 P2, as `cvxens.problems.SVMDual`, for kernels that need no Gram matrix. The scores are ``f + b`` with
    ``f = K (y u)``. The bound from any b is minus the primal objective,
    ``-(1/2 u'(K o yy')u + sum_i C_i max(0, 1 - y_i (f_i + b)))``, or that at f and b scaled to spare all slack.

    Parameters
    ----------
    kernel : AdditiveKernel
        On the training sample.
    y, C : ndarray of shape (n_samples,)
        As of `SVMDual`.

    Examples
    --------
    >>> problem = AdditiveSVM.of([[0.0], [2.0]], [1.0, -1.0], C=1.0)
    >>> problem.certify(u=[0.5, 0.5], b=0.0).holds(1e-12)
    True
    """

    others: ClassVar[Others] = Others()

    def __init__(self, kernel: AdditiveKernel, y: Array, C: Array) -> None:
        self.kernel = self.linear_map = kernel
        self.y, self.C = y, C

    @classmethod
    def of(
        cls, X: Data | BinnedFeatures | AdditiveKernel, y: ArrayLike, C: ArrayLike, scale: ArrayLike | None = None
    ) -> AdditiveSVM:
        """Check and sort.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), BinnedFeatures or AdditiveKernel
            The sample; a dense one of any type of number is kept in that type.
        y : array-like of shape (n_samples,)
            Labels -1 and +1.
        C : float or array-like of shape (n_samples,)
            Above 0; an array where samples have weights of their own.
        scale : array-like of shape (n_features,), optional
            At least 0; 1 for the stump kernel, 1/2 for histogram intersection. None for 1, or for what an
            AdditiveKernel says.

        Raises
        ------
        InvalidInput
            One of them cannot be worked with, `X` is sparse, or a kernel and a scale are both given.
        """
        if isinstance(X, AdditiveKernel) and scale is not None:
            raise InvalidInput("scale", "found a kernel, which has one", "give the scale to AdditiveKernel.of")
        kernel = X if isinstance(X, AdditiveKernel) else AdditiveKernel.of(X, scale)
        labels = validation.signs(y, kernel.n_samples)
        return cls(kernel, labels, validation.sample_prices("C", C, kernel.n_samples))

    def priced(self, C: float | Array) -> AdditiveSVM:
        """Return the problem with other prices, one or one per sample."""
        return AdditiveSVM(self.kernel, self.y, validation.sample_prices("C", C, len(self.y)))

    def among(self, chosen: Indices) -> AdditiveSVM:
        """Return the problem on some of the samples, given in ascending order: a fold, or a start."""
        return AdditiveSVM(self.kernel.among(chosen), self.y[chosen], self.C[chosen])

    def solution_at(self, u: Array) -> SVMSolution[AdditiveSVM]:
        """Make multipliers feasible, and evaluate both problems at them, by one product with the kernel."""
        u = self.loss.repair(spare_bounds(np.clip(u, 0.0, self.C), self), self.y)
        return SVMSolution.from_scores(self, u, self.kernel.product(self.y * u))


def spare_bounds(u: Array, problem: Any) -> Array:
    """Restore y'u + balance = 0 by scaling the multipliers between bounds of the heavier class, where they suffice."""
    # those of the class whose sum is too large lose |y'u + balance| between them, each in proportion
    excess = float(problem.y @ u) + problem.others.balance
    movable = (u > 0) & (u < problem.C) & (problem.y * excess > 0)
    room = float(u[movable].sum())
    return np.where(movable, u * (1 - abs(excess) / room), u) if room > abs(excess) else u


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
        The gap between two knots; of one without a width there is one stump, and its threshold counts as above it.
    weights : ndarray of shape (n_cells,)
        Of either sign.
    intercept : float
        b.

    Examples
    --------
    >>> cells = Cells(np.array([0]), np.array([0.0]), np.array([2.0]), np.array([-1.0]), 0.5)
    >>> cells([[-1.0], [1.0], [3.0]])
    array([ 1.5,  0.5, -0.5])
    >>> cells.sample(3, random_state=0)([[-1.0], [3.0]])
    array([ 1.5, -0.5])
    """

    features: Indices
    low: Array
    high: Array
    weights: Array
    intercept: float

    def __call__(self, X: Data) -> Array:
        """Evaluate on `X` (n, n_features), in O(n n_cells); returns (n,)."""
        X = validation.finite_array("X", X, ndim=2)
        scores = np.full(len(X), self.intercept)
        for d, low, high, weight in zip(self.features, self.low, self.high, self.weights, strict=True):
            # the mean of sign(x - t) over t in [low, high]
            below, above = X[:, d] - low, X[:, d] - high
            sign = np.clip((below + above) / (high - low), -1.0, 1.0) if high > low else np.copysign(1.0, above)
            scores += weight * sign
        return scores

    def sample(self, k: int, random_state: validation.RandomState = None) -> Cells:
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
        weights = np.sign(self.weights[drawn]) * (total / k)
        return Cells(self.features[drawn], thresholds, thresholds, weights, self.intercept)


Starts: TypeAlias = NDArray[np.int64]

CELLS = 8
"""Cells of the table to a knot: where knots are uniform, seven lookups of eight need no search among them."""

BLOCK = 4096
"""Samples that are evaluated together, feature by feature: a feature's table and their scores stay in the cache."""


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
        return cls._build(solution.problem.kernel.among, solution.v, solution.b)

    @classmethod
    def from_expansion(cls, X: Numbers, scale: Array, v: Array, b: float) -> AdditiveModel:
        """Build the functions of ``- sum_i v_i sum_d scale_d |x_d - x_id| + b`` over a sample, of v with the sum 0."""
        return cls._build(lambda support: AdditiveKernel.sort(X[support], scale), v, b)

    @classmethod
    def _build(cls, restrict: Callable[[Indices], AdditiveKernel], v: Array, b: float) -> AdditiveModel:
        support = np.flatnonzero(v) if v.any() else np.arange(1)
        kernel, weights = restrict(support), v[support]
        # the sum of v is 0 but for rounding, which must not tilt the functions beyond the last knot
        parts = [_build_function(kernel, weights - weights.mean(), d) for d in range(len(kernel.scale))]
        starts = np.cumsum([0, *(len(knots) for knots, _ in parts)])
        knots, values = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
        return cls(starts, knots, values, b)

    def check(self) -> None:
        """Raise a ValueError unless the knots of the features ascend, one feature after the other."""
        starts, knots, values = self.starts, self.knots, self.values
        if not (
            (starts.ndim, starts.dtype.kind, knots.dtype, values.dtype) == (1, "i", np.dtype(float), np.dtype(float))
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
        # a stump of weight w in the gap lifts g_d by 2 w from its low end to its high one
        inner = np.delete(np.arange(len(self.knots)), self.starts[1:] - 1)
        features = np.repeat(np.arange(self.n_features), np.diff(self.starts) - 1)
        weights = (self.values[inner + 1] - self.values[inner]) / 2
        return Cells(features, self.knots[inner], self.knots[inner + 1], weights, self.intercept)

    def __call__(self, X: Data) -> Array:
        """Evaluate f + b on `X` (n, n_features); returns (n,)."""
        X = validation.finite_array("X", X, ndim=2)
        if X.shape[1] != self.n_features:
            raise InvalidInput("X", f"found shape {X.shape}", f"give samples of {self.n_features} features")
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
        # a feature of one knot, or of a range that overflows, has one cell: there the whole search is by bisection
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            per_unit = (CELLS * counts - 1) / widths
        per_unit = np.where(np.isfinite(per_unit), per_unit, 0.0)
        features = np.repeat(np.arange(self.n_features), counts)
        cells = ((self.knots - self.knots[self.starts[:-1]][features]) * per_unit[features]).astype(np.intp)
        # a histogram of the knots over the cells of all features, and its running sums
        at = cells + CELLS * self.starts[features] + features + 1
        before = np.bincount(at, minlength=CELLS * len(self.knots) + self.n_features).cumsum().astype(np.int32)
        return _Table(self.starts, before, per_unit)


def _build_function(kernel: AdditiveKernel, weights: Array, d: int) -> tuple[Array, Array]:
    """Return knots and values of one feature; the weights sum to 0."""
    x = kernel.values[d].astype(np.float64)
    # g(t) = -scale sum_i v_i |t - x_i| has the slope -2 scale sum {v_i : x_i <= t}, as sum v = 0; and as its ends are
    # opposite, g(first) = -g(last), half of its rise centres it
    firsts = np.flatnonzero(np.concatenate([[True], x[1:] != x[:-1]]))
    knots = x[firsts]
    below = np.cumsum(np.add.reduceat(weights[kernel.rows[d]], firsts))[:-1]
    rises = -2 * kernel.scale[d] * below * np.diff(knots)
    values = np.concatenate([[0.0], np.cumsum(rises)])
    return knots, values - values[-1] / 2


class _Table(NamedTuple):
    """A table of equal cells that says where to look for a value among the knots."""

    starts: Starts
    before: NDArray[np.int32]  # how many of all knots come before each of the equal cells of a feature, and its end
    per_unit: Array  # cells per unit of a feature


@njit(cache=True, nogil=True)
def _add_functions(X: Numbers, table: _Table, lines: Array, scores: Array) -> None:
    """Add the functions, by blocks of samples; `lines` are knots, values, and slopes after them."""
    starts, before, per_unit = table
    for block in range(0, len(X), BLOCK):
        for d in range(len(starts) - 1):
            own = before[CELLS * starts[d] + d : CELLS * starts[d + 1] + d + 1]
            low, high, last = lines[starts[d], 0], lines[starts[d + 1] - 1, 0], len(own) - 2
            for i in range(block, min(block + BLOCK, len(X))):
                x = min(max(X[i, d], low), high)
                cell = min(max(int((x - low) * per_unit[d]), 0), last)
                # the last knot at or below x is among those of its cell, or the last before
                below, above = own[cell] - 1, own[cell + 1]
                while above - below > 1:
                    middle = (below + above) // 2
                    if lines[middle, 0] <= x:
                        below = middle
                    else:
                        above = middle
                scores[i] += lines[below, 1] + lines[below, 2] * (x - lines[below, 0])


DENSE = 1500
"""Samples between the bounds up to which the system is solved by Cholesky, beyond by conjugate gradients."""

LINEAR_ACCURACY = 1e-4
"""The relative residual at which conjugate gradients stop: at 1e-3 some directions of 100,000 samples lead uphill."""

RANK = 320
"""The steps that the coarse model of a system has, over all features: its factor costs a few products."""


@dataclass(frozen=True)
class AdditivePoint:
    """An iterate: f = K c on the sample, 1'c = 0, and the intercept; f has what others add, 1'c = -balance."""

    c: Array
    f: Array
    b: float

    @property
    def scores(self) -> Array:
        return self.f + self.b


def newton_step(kernel: AdditiveKernel, smoothed: SmoothedHinge, state: AdditivePoint, others: Others) -> AdditivePoint:
    """Take one Newton step, as long as it pays, then the best intercept.

    The multipliers of others stay, which are known by what they add to f.

    At the minimum ``c = y u``. With u linearised where it is between its bounds, F, and constant elsewhere, the new c
    is y u elsewhere, and on F solves ``(K_FF + 1/tau) c_F + b = (1 + p/tau) y - K_FN c_N`` with 1'c = 0.
    """
    b = smoothed.find_intercept(state.f, state.b, others.balance)
    u = smoothed.multipliers(smoothed.y * (state.f + b))
    change = smoothed.y * u - state.c
    free = (u > 0) & (u < smoothed.C)
    # all others are at a bound, up to rounding, and stay: most of a large sample, which enters as a product alone
    moving = np.flatnonzero(free | (np.abs(change) > 4 * EPSILON * smoothed.C))
    delta, intercept = change[moving], b
    if free.any():
        near, at = smoothed.restrict(moving), AdditivePoint(state.c[moving], state.f[moving], b)
        delta, intercept = _find_direction(kernel.among(moving), near, at, delta, np.flatnonzero(free[moving]))
    whole = np.zeros(len(u))
    whole[moving] = delta
    df, f, own = kernel.product(whole), state.f[moving], (state.f - others.f)[moving]
    # a slope below this is a sum of products that cancel
    rounding = len(moving) * EPSILON * float(np.abs(delta) @ (np.abs(f) + np.abs(df[moving])))
    # slope and curvature of 1/2 c'K c along the step, and of the losses of others, linear in f and b
    norm = float(delta @ own) - others.balance * (intercept - b), float(delta @ df[moving])
    t = smoothed.find_step(state.f + b, df + (intercept - b), norm, rounding)
    f = state.f + t * df
    return AdditivePoint(state.c + t * whole, f, smoothed.find_intercept(f, b + t * (intercept - b), others.balance))


def _find_direction(
    kernel: AdditiveKernel, smoothed: SmoothedHinge, state: AdditivePoint, change: Array, free: Indices
) -> tuple[Array, float]:
    """Return the change of c on the samples that move, all others left out, and the new intercept.

    `change` is ``y u - c``, which stays where u is at a bound; on `free` its mean is taken first.
    """
    # a change that keeps 1'c = 0 as it is; what is left to find on F has the sum 0
    delta = change.copy()
    delta[free] = 0.0
    delta[free] = -delta.sum() / len(free)
    # on F, c = y u = y (p + tau (1 - y (f + b))) reads f + c / tau + b = (1 + p / tau) y
    stiffness = 1 / smoothed.tau[free]
    right = smoothed.y[free] * (1 + smoothed.p[free] * stiffness) - (state.f + kernel.product(delta))[free]
    right -= stiffness * (state.c + delta)[free]
    solve = solve_by_cholesky if len(free) <= DENSE else solve_by_conjugate_gradients
    further, b = solve(kernel.among(free), stiffness, right)
    delta[free] += further
    return delta, b


def solve_by_cholesky(kernel: AdditiveKernel, stiffness: Array, right: Array) -> tuple[Array, float]:
    """Solve ``(K + diag(stiffness)) x + b = right``, 1'x = 0; returns x and b."""
    # with a constant added to K it is positive definite, and x does not change
    K = kernel.dense()
    K += kernel.total_mass
    K[np.diag_indices_from(K)] += stiffness
    # transposed it is the same, in the order of LAPACK, which copies others
    both = cho_solve(cho_factor(K.T, lower=True, overwrite_a=True), np.stack([right, np.ones_like(right)], axis=1))
    # x = A^-1 right - b A^-1 1 with the b for which 1'x = 0
    x, from_ones = both.T
    b = float(x.sum() / from_ones.sum())
    return x - b * from_ones, b


def solve_by_conjugate_gradients(kernel: AdditiveKernel, stiffness: Array, right: Array) -> tuple[Array, float]:
    """Solve ``(K + diag(stiffness)) x + b = right`` within the space of 1'x = 0, or go as far as there is time.

    The residuals keep their mean, which is b: a solver that is handed a projected system would lose it.
    """
    # taken out twice: beside a large mean the first difference is not 0 to the last digits of what is left
    model: Any = CoarseModel(kernel, stiffness) if 2 * len(kernel.scale) <= RANK else _leave_mean_out
    enough = LINEAR_ACCURACY**2 * float((_leave_mean_out(right) ** 2).sum())
    x, residual, _ = conjugate_gradients(
        lambda x: kernel.product(x) + stiffness * x,
        right,
        lambda r: model(_leave_mean_out(r)),
        lambda _, r, __: float((_leave_mean_out(r) ** 2).sum()) <= enough,
        500,
    )
    return x, float(residual.mean())


def _leave_mean_out(residual: Array) -> Array:
    return residual - residual.mean()


class CoarseModel:
    """An approximate inverse of ``K + diag(stiffness)`` on the space of 1'x = 0, by a few steps of each feature.

    There ``x'K x = sum_d scale_d / 2 int (sum_i x_i sign(x_id - t))^2 dt``, of which the sum over a few thresholds t,
    between equal shares of the samples, is the part with large eigenvalues, ``P P'``. What is left of K, functions
    within these shares, is taken to be a multiple of the identity. With the diagonal D that this makes, by Woodbury,
    ``(P P' + D)^-1 = D^-1 - D^-1 P (I + P' D^-1 P)^-1 P' D^-1``.
    """

    def __init__(self, kernel: AdditiveKernel, stiffness: Array) -> None:
        n_features, n_samples = kernel.rows.shape
        # a byte names 256 shares
        n_bins = min(RANK // n_features, 256, n_samples)
        shares = (np.arange(n_samples) * n_bins // n_samples).astype(np.uint8)
        codes = np.empty((n_features, n_samples), np.uint8)
        for own, rows in zip(codes, kernel.rows, strict=True):
            own[rows] = shares
        firsts = -(-np.arange(n_bins) * n_samples // n_bins)
        widths = np.diff(kernel.values[:, np.append(firsts, n_samples - 1)].astype(np.float64), axis=1)
        # a threshold stands for half the ranges on both its sides, those at the ends for all that is beyond
        around = (widths[:, 1:] + widths[:, :-1]) / 2
        around[:, 0] += widths[:, 0] / 2
        around[:, -1] += widths[:, -1] / 2
        features, places = np.divmod(np.arange(around.size), n_bins - 1)
        self.steps = StepColumns(
            codes,
            np.full(n_features, n_bins - 1),
            features,
            places + 1,
            constant=False,
            scale=np.sqrt(kernel.scale[:, np.newaxis] / 2 * around).ravel(),
        )
        # the mean of 2 scale int ([x >= t] - share below t)^2 dt within a range is a third of its width
        left_out = float((kernel.scale * widths.mean(axis=1)).sum()) / 3
        # nearer to the largest eigenvalues of what is left out: with 4 to 10, systems at C = 1 and 8 take a quarter to
        # a third of the products that they take with 1, and a tenth of those without a model
        self.inverse = 1 / (stiffness + 10.0 * left_out)
        matrix = multiply_steps(self.steps, self.inverse)
        matrix[np.diag_indices_from(matrix)] += 1
        self.factor = cho_factor(matrix, lower=True, overwrite_a=True)
        self.of_ones = self._apply(np.ones(n_samples))

    def __call__(self, residual: Array) -> Array:
        """Return the x with 1'x = 0 for which the model leaves nothing of the residual but a constant."""
        x = self._apply(residual)
        return x - x.sum() / self.of_ones.sum() * self.of_ones

    def _apply(self, r: Array) -> Array:
        x, H = self.inverse * r, self.steps
        return x - self.inverse * H.scores(cho_solve(self.factor, H.edges(x)))


COLUMNS = 200
"""Columns of the low-rank factor that condition a system: with all 500, steps took half the products, and twice the
time."""


@dataclass(frozen=True, eq=False)
class ConditionedMatrix:
    """An additive matrix K for `minimise_expansion`, and what is near it: P P' + diag(residual).

    A step is a linear system with K and a diagonal, solved by conjugate gradients; the kernel of low rank, whose
    optimum they start at, conditions it.
    """

    K: AdditiveKernel
    P: Array
    residual: Array

    @classmethod
    def from_factor(cls, K: AdditiveKernel, low: LowRankKernel) -> ConditionedMatrix:
        """Take the first columns of a low-rank kernel such that the residual ``K - G G'`` is PSD."""
        # the first k columns of an incomplete Cholesky factor are that of rank k
        further = low.G[:, COLUMNS:]
        return cls(K, low.G[:, :COLUMNS], low.residual + np.einsum("ij,ij->i", further, further))

    def __matmul__(self, v: Array) -> Array:
        return self.K @ v

    def solve(self, D: Array, right: Array, weight: float) -> Array:
        """Solve ``(weight I + diag(D) K) d = right``, or go as far as there is time.

        Where D is 0, d is the right side over the weight, and on the others, F, ``(K_FF + weight / D_F) d_F`` is what
        is left over D_F.
        """
        # curvatures that rounding loses against the largest leave the system as it is
        is_free = EPSILON * D.max() < D
        d = np.where(is_free, 0.0, right / weight)
        if not (free := np.flatnonzero(is_free)).size:
            return d
        among, stiffness = self.K.among(free), weight / D[free]
        left, invert = right[free] / D[free] - (self.K @ d)[free], self._invert(free, stiffness)
        # r'M^-1 r with the conditioner M: in |r| the samples with the largest stiffness would count alone
        enough = 1e-6**2 * float(left @ invert(left))
        d[free], *_ = conjugate_gradients(
            lambda x: among @ x + stiffness * x, left, invert, lambda _, __, size: size <= enough, 500
        )
        return d

    def _invert(self, free: Indices, stiffness: Array) -> Callable[[Array], Array]:
        """Return the product with ``(P P' + diag(residual + stiffness))^-1`` on some samples."""
        # Woodbury: D^-1 - D^-1 P (I + P' D^-1 P)^-1 P' D^-1
        P, inverse = self.P[free], 1 / (stiffness + self.residual[free])
        inner = P.T @ (P * inverse[:, np.newaxis])
        inner[np.diag_indices_from(inner)] += 1
        factor = cho_factor(inner, lower=True, overwrite_a=True)

        def apply(r: Array) -> Array:
            x = inverse * r
            return x - inverse * (P @ cho_solve(factor, P.T @ x))

        return apply


STIFFEST = 1e9
"""The largest step, in units of one over the kernel's total mass: beyond, 1/tau is lost beside K in the systems."""


def solve_additive_svm(
    problem: AdditiveSVM,
    tol: float = 1e-6,
    *,
    start: SVMSolution[AdditiveSVM] | ArrayLike | None = None,
    sample_size: int | None = None,
    random_state: validation.RandomState = 0,
    max_steps: float = inf,
    max_time: float = inf,
) -> SVMSolution[AdditiveSVM]:
    """Solve LL08 P2 with an additive kernel, in O(n_samples n_features) memory.

    Proximal points: each subproblem keeps u near the last one, and by how little grows from one to the next. A
    subproblem is smooth and is solved by Newton steps (semismooth, with exact line search), each a linear system over
    the samples between the bounds and one product with the kernel. A point counts once its duality gap is
    evaluated.

    Parameters
    ----------
    problem : AdditiveSVM
        Kernel, labels and C.
    tol : float
        Certified relative gap at which to stop, above 0.
    start : SVMSolution or array-like of shape (n_samples,), optional
        Multipliers to start from, or a solution for the same samples, whatever its C.
    sample_size : int, optional
        Without a start, solve a random sample of this size first (its C scaled up) and start from its function; 0 for
        no such sample, None for a twentieth of 200,000 samples or more.
    random_state : int, Generator, RandomState or None
        Draws the sample.
    max_steps, max_time : float
        Stop after so many Newton steps (those on the sample are not counted), or seconds.

    Returns
    -------
    SVMSolution
        The point with the smallest certified gap, also when a limit or Ctrl-C ended the run.

    Raises
    ------
    InvalidInput
        An argument that cannot be worked with.

    Examples
    --------
    >>> problem = AdditiveSVM.of([[0.0], [1.0], [2.0]], [1.0, -1.0, 1.0], C=0.5)
    >>> solution = solve_additive_svm(problem)
    >>> solution.u, solution.relative_gap <= 1e-6, solution.ending.name
    (array([0.25, 0.5 , 0.25]), True, 'OPTIMAL')
    """
    tol, max_steps = validation.positive("tol", tol), validation.limit("max_steps", max_steps)
    max_time = validation.limit("max_time", max_time)
    with threadpool_limits(1, "blas"), limit_time(max_time) as clock:
        search = ProximalSearch(problem, tol, max_steps, clock)
        search.take(np.zeros(len(problem.y)))
        ending = find_ending(lambda: _begin(search, start, sample_size, random_state) or search.run())
    return search.incumbent.end(ending)


class ProximalSearch:
    """The incumbent, and the state and centre that the next proximal problem starts from.

    The problem may also be one over some samples of many, while all others stay as they are.
    """

    def __init__(self, problem: Any, tol: float, max_steps: float, clock: Deadline) -> None:
        self.problem, self.tol, self.max_steps = problem, tol, max_steps
        self.incumbent: BestPoint[Any] = BestPoint(clock)
        self.state = AdditivePoint(np.zeros(len(problem.y)), np.zeros(len(problem.y)), 0.0)
        self.centre = np.zeros(len(problem.y))
        # no u moves by more than half its range where margins miss by 1, nor by more than a score of that size takes
        self.step = np.minimum(problem.C / 2, 1 / max(problem.kernel.mean_distance, TINY))
        # the residual, relative to u, at which a proximal problem is solved; it falls as the step grows
        self.accuracy = 0.05
        self.n_steps = 0

    def take(self, u: Array) -> Any:
        """Certify `u`, and keep it if it is the best so far."""
        return self.incumbent.take(self.problem.solution_at(u), self.n_steps)

    def start_at(self, c: Array, b: float) -> None:
        """Start from the function K c + b: multipliers follow from its margins."""
        problem = self.problem
        self.state = AdditivePoint(c, problem.kernel.product(c) + problem.others.f, b)
        # one proximal step from u = C/2: 0 far above the margin, C far below, between the two near it
        smoothed = problem.C / 2 + self.step * (1 - problem.y * self.state.scores)
        self.centre = np.clip(smoothed, 0.0, problem.C)

    def start_near(self, solution: Any) -> None:
        """Start from a solution, whose C may be another; multipliers at their bound stay there."""
        C, before = self.problem.C, solution.problem.C
        self.state = AdditivePoint(self.problem.y * solution.u, solution.f, solution.b)
        self.centre = np.where(solution.u >= before, C, np.minimum(solution.u, C))

    def run(self) -> Ending:
        """Solve one proximal problem after the other until a limit is reached."""
        while (ending := self._find_ending()) is None:
            step = np.minimum(self.step, STIFFEST / max(self.problem.kernel.total_mass, TINY))
            smoothed = SmoothedHinge(self.problem.y, self.problem.C, self.centre, step)
            solved = self._solve(smoothed)
            # c itself, at the bounds where it is beyond: what u = clip(p + tau (1 - z)) is for the same scores has
            # their errors times tau
            new = self.take(self.problem.y * self.state.c)
            # while the step still grows, a gap that has not fallen yet is no sign of rounding
            self.incumbent.waited += not solved or self._stiffest()
            self.state, self.centre = AdditivePoint(self.problem.y * new.u, new.f, new.b), new.u
            if not solved:
                # six proximal problems back: 64 = 2^6
                self.step = self.step / 64
            elif not self._stiffest():
                # a larger step leaves fewer problems, each with a Newton method that starts further from its solution
                self.step = 2.0 * self.step
                self.accuracy = max(self.accuracy / 2.0, 1e-10)
        return ending

    def _solve(self, smoothed: SmoothedHinge) -> bool:
        """Take Newton steps; return True once c = y u is reached with the accuracy asked for."""
        # a proximal problem is certified after so many steps, solved or not
        for _ in range(30):
            self.state = newton_step(self.problem.kernel, smoothed, self.state, self.problem.others)
            self.n_steps += 1
            # at the solution c = y u: the residual of the optimality condition, relative to u
            u = smoothed.multipliers(smoothed.y * self.state.scores)
            if np.abs(smoothed.y * u - self.state.c).sum() <= self.accuracy * u.sum():
                return True
            if self.n_steps >= self.max_steps or time_is_up():
                break
        return False

    def _stiffest(self) -> bool:
        return float(self.step.min()) * self.problem.kernel.total_mass >= STIFFEST

    def _find_ending(self) -> Ending | None:
        if self.incumbent.best.relative_gap <= self.tol:
            return Ending.OPTIMAL
        if self.n_steps >= self.max_steps:
            return Ending.MAX_STEPS
        if time_is_up():
            return Ending.MAX_TIME
        # after so many points without progress rounding is to blame, and where the last hundred have closed less than a
        # hundredth of the gap: that is how far steps get which rounding keeps short
        gaps = [row.relative_gap for row in self.incumbent.history]
        is_slow = self.incumbent.best.relative_gap > 0.99 * min(gaps[:-100], default=inf)
        return Ending.ROUNDING if self.incumbent.waited >= 12 or is_slow else None


def _begin(search: ProximalSearch, start: Any, sample_size: int | None, random_state: Any) -> Ending | None:
    """Prepare the start; returns an ending if that was interrupted."""
    if start is None:
        return _begin_with_sample(search, sample_size, random_state)
    u = start.u if isinstance(start, SVMSolution) else validation.finite_array("start", start, ndim=1)
    validation.same_length("start", u, len(search.problem.y))
    here = search.take(u)
    search.start_near(start if isinstance(start, SVMSolution) else here)
    return None


def _begin_with_sample(search: ProximalSearch, sample_size: int | None, random_state: Any) -> Ending | None:
    """Solve on a sample, with C scaled up by what it leaves out."""
    problem, n = search.problem, len(search.problem.y)
    # a twentieth, of many samples
    automatic = n // 20 if n >= 200_000 else 0
    size = min(automatic if sample_size is None else validation.whole("sample_size", sample_size, least=0), n)
    chosen = np.sort(validation.generator(random_state).permutation(n)[:size])
    if len(np.unique(problem.y[chosen])) < 2:
        return None
    # the loss of the sample is to weigh as much beside |w|^2 as that of all
    part = problem.among(chosen)
    part = part.priced(part.C * (n / size))
    # a relative gap of a hundredth will do for a start
    solution = solve_additive_svm(part, 1e-2, random_state=0, max_steps=search.max_steps)
    c = np.zeros(n)
    c[chosen] = part.y * solution.u
    search.start_at(c, solution.b)
    return Ending.INTERRUPTED if solution.ending is Ending.INTERRUPTED else None
