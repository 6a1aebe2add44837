"""Linear maps from weights to scores, as a problem sees its hypotheses.

A problem asks two things of its hypotheses: the scores of weights, ``f = H w``, and the adjoint, the edges ``H's`` of
signed multipliers s. Two kinds of map answer:

- `ColumnMap`: one weight per column. H is `Columns`: an array, every stump without its array, or a set with its
  negations; offsets of columns are left to the intercept.
- `KernelMap`: the weights are a function ``sum_i c_i phi(x_i)``, known by its coefficients c. Scores are ``K c``, the
  edges of s the scores of the function with coefficients s, and ``|w|^2 = c'K c``. K is an array, or anything that can
  be multiplied: an additive kernel by prefix sums, rows that are evaluated when they are asked for.

Each product comes plain, as BLAS or prefix sums evaluate it, or measured: in twice the precision where that can be
had, with a bound on the rounding error of every entry.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.linalg import eigh

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.limits import map_slices, threads_for
from cvxens.problems.duality import Edges, as_rows, centres
from cvxens.problems.modelling import cp
from cvxens.problems.penalties import Penalty
from cvxens.rounding import EPSILON, dot, product, sum_error
from cvxens.types import Array

Indices: TypeAlias = NDArray[np.intp]

Modelled: TypeAlias = "tuple[cp.Variable, cp.Expression, cp.Expression, list[cp.Constraint]]"
"""The variable to penalise, the weights, their scores, and the constraints that tie them, in cvxpy."""

Expressed: TypeAlias = "Array | cp.Expression"
"""Numbers, or what stands for them in cvxpy."""

GRAM_BLOCK = 128
"""Samples whose columns of H H' are evaluated at a time."""

NEGATIVE = 1e-9
"""Eigenvalues below minus this, relative to the largest, make a kernel indefinite."""


class Columns(Protocol):
    """H (n_samples, n_columns) as a linear map, to numpy and to cvxpy.

    Those that can bound the rounding of their products themselves have `measure_scores` and `measure_edges`, as
    `DenseColumns` has.
    """

    @property
    def shape(self) -> tuple[int, int]:
        """The shape (n_samples, n_columns) of H."""

    @property
    def largest(self) -> float:
        """The largest |H_ij|, which bounds the rounding of products."""

    def scores(self, w: Array) -> Array:
        """H w, for w (n_columns,) or (n_columns, n_outputs)."""

    def edges(self, s: Array) -> Array:
        """H's, for s (n_samples,) or (n_samples, n_outputs)."""

    def link(self, w: cp.Expression) -> tuple[cp.Expression, list[cp.Constraint]]:
        """H w for a cvxpy expression `w`: an affine expression and the constraints that define it."""


@dataclass(frozen=True, eq=False)
class DenseColumns:
    """An array H (n_samples, n_columns) with H[i, j] = h_j(x_i)."""

    H: Array

    @property
    def shape(self) -> tuple[int, int]:
        return self.H.shape[0], self.H.shape[1]

    @cached_property
    def largest(self) -> float:
        return max(float(self.H.max(initial=0.0)), -float(self.H.min(initial=0.0)))

    def scores(self, w: Array) -> Array:
        return self.H @ w

    def edges(self, s: Array) -> Array:
        return self.H.T @ s

    def measure_scores(self, w: Array) -> tuple[Array, Array]:
        """Evaluate H w as precisely as possible, and bound the error of every entry."""
        return product(self.H, w)

    def measure_edges(self, s: Array) -> tuple[Array, Array]:
        """Evaluate H's as precisely as possible, and bound the error of every entry."""
        return product(self.H.T, s)

    def link(self, w: cp.Expression) -> tuple[cp.Expression, list[cp.Constraint]]:
        return self.H @ w, []


class StepColumns:
    """Steps of single features between cells of their values, and perhaps the constant last, without their array.

    Column k is -scale below a place of its feature, scale from there on, and ``way scale`` where the value is missing.
    As a function of its feature j, H w is a staircase g_j of the cells, with jumps of 2 w_k at the places, and
    ``g_j(first) + g_j(last) = 2 (w_below - w_above)``. So products are sums over cells and of staircases,
    O(n_samples n_features) for each output, and the link between w and the scores has as many non-zeros.

    Parameters
    ----------
    codes : array-like of shape (n_features, n_samples)
        The cell of every sample; one more than there are: missing.
    counts : array-like of shape (n_features,)
        The places between cells, one less than there are cells.
    features, places : array-like of shape (n_steps,)
        The feature of every step, and the first cell above it.
    ways : array-like of shape (n_steps,), optional
        Its value where the feature's is missing; by default 0.
    scale : array-like of shape (n_steps,), optional
        By default 1.
    constant : bool
        True if the constant is the last column.
    usual : bool
        True, for few cells, if products pass over the most frequent one of every feature.

    Examples
    --------
    >>> H = StepColumns([[0, 1, 2]], [2], [0, 0], [1, 2])
    >>> H.scores(np.eye(3))
    array([[-1., -1.,  1.],
           [ 1., -1.,  1.],
           [ 1.,  1.,  1.]])
    """

    def __init__(
        self,
        codes: ArrayLike,
        counts: ArrayLike,
        features: ArrayLike,
        places: ArrayLike,
        ways: ArrayLike = 0,
        scale: ArrayLike = 1.0,
        *,
        constant: bool = True,
        usual: bool = False,
    ) -> None:
        self.codes, self.counts, self.features, self.places = map(np.asarray, (codes, counts, features, places))
        self.ways = np.broadcast_to(ways, self.features.shape)
        self.scale: Array = np.broadcast_to(np.asarray(scale, np.float64), self.features.shape)
        self.constant = constant
        # with one for missing values; where the most frequent ones are what others leave, features have as many
        cells = np.full(len(self.counts), self.counts.max(initial=0) + 2) if usual else self.counts + 2
        most = [np.bincount(own).argmax() for own in self.codes] if usual else np.full(len(self.counts), -1)
        self.starts, self.usual = np.append(0, np.cumsum(cells)), np.array(most, np.int64)
        self._at = self.starts[self.features] + self.places

    @property
    def shape(self) -> tuple[int, int]:
        """The shape (n_samples, n_columns) of H."""
        return self.codes.shape[1], len(self.features) + self.constant

    @property
    def largest(self) -> float:
        """The largest |H_ij|."""
        return max(float(self.scale.max(initial=0.0)), float(self.constant))

    def scores(self, w: Array) -> Array:
        """Evaluate H w, for w (n_columns,) or (n_columns, n_outputs)."""
        from cvxens.features import accumulate, add_cells

        w, shape = np.ascontiguousarray(w.reshape(len(w), -1).T, np.float64), (self.shape[0], *w.shape[1:])
        # g(cell) = 2 sum_(place <= cell) w - sum w; where the value is missing, sum way w
        steps, starts, n_features = w[:, : len(self.features)] * self.scale, self.starts, len(self.codes)
        jumps = np.stack([np.bincount(self._at, own, starts[-1]) for own in steps])
        total = np.stack([np.bincount(self.features, own, n_features) for own in steps])
        table = 2 * accumulate(jumps, starts) - np.repeat(total, np.diff(starts), axis=1)
        missing = [np.bincount(self.features, self.ways * own, n_features) for own in steps]
        table[:, starts[:-1] + self.counts + 1] = missing
        base = np.where(self.usual < 0, 0.0, table[:, starts[:-1] + self.usual])
        if base.any():
            table -= np.repeat(base, np.diff(starts), axis=1)

        def add(rows: slice) -> Array:
            return add_cells((rows.start, rows.stop), self.codes, starts, self.usual, table)

        parts = map_slices(add, shape[0], threads_for(self.codes.size * len(w)))
        constant = w[:, -1] if self.constant else 0.0
        return np.ascontiguousarray(np.concatenate(parts, axis=1).T + (base.sum(axis=1) + constant)).reshape(shape)

    def edges(self, s: Array) -> Array:
        """Evaluate H's, for s (n_samples,) or (n_samples, n_outputs)."""
        from cvxens.features import accumulate, sum_cells

        s, shape, starts = np.ascontiguousarray(s.reshape(len(s), -1).T, np.float64), s.shape[1:], self.starts
        sums = np.zeros((len(s), starts[-1]))

        def add(features: slice) -> None:
            sum_cells((features.start, features.stop), self.codes, starts, self.usual, s, sums)

        map_slices(add, len(self.codes), threads_for(self.codes.size * len(s)))
        total = s.sum(axis=1, keepdims=True)
        if (self.usual >= 0).any():
            sums[:, starts[:-1] + self.usual] = total - sums.reshape(len(s), len(self.codes), -1).sum(axis=2)
        gone = sums[:, starts[:-1] + self.counts + 1][:, self.features]
        # nothing is below the first cell
        below = np.where(self.places > 0, accumulate(sums, starts)[:, self._at - 1], 0.0)
        # missing values count as below, as above, or not at all
        edges = (total - (1 - self.ways) * gone - 2 * below) * self.scale
        edges = np.hstack([edges, total]) if self.constant else edges
        return np.ascontiguousarray(edges.T).reshape(-1, *shape)

    def link(self, w: cp.Expression) -> tuple[cp.Expression, list[cp.Constraint]]:
        """Model scores through the staircases g, tied to w by sparse equalities."""
        n, n_steps, n_cells = len(self.codes[0]), len(self.features), self.starts[-1]
        first, each = self.starts[:-1], np.arange(n_steps)
        last, gone = first + self.counts, first + self.counts + 1
        inner = np.concatenate([np.arange(a + 1, b + 1) for a, b in zip(first, last, strict=True)])
        at, size = self.starts[self.features] + self.places, (n_cells, n_steps)
        jumps = sparse.csr_matrix((self.scale, (at, each)), shape=size) @ w[:n_steps]
        missing = sparse.csr_matrix((self.ways * self.scale, (gone[self.features], each)), shape=size) @ w[:n_steps]
        rest = np.setdiff1d(np.arange(n_cells), np.concatenate([first, inner]))
        g = cp.Variable((n_cells, *w.shape[1:]))
        # g(next cell) - g(cell) = 2 w of the places between, and g(first) + g(last) = 2 (w_below - w_above)
        tied = [
            g[inner] - g[inner - 1] == 2 * jumps[inner],
            g[first] + g[last] == 2 * (jumps[first] - jumps[gone]),
            g[rest] == missing[rest],
        ]
        cells = (self.codes + first[:, np.newaxis]).T
        f = sparse.csr_matrix((np.ones(cells.size), cells.ravel(), np.arange(n + 1) * len(first)), (n, n_cells)) @ g
        return (f + np.ones((n, 1)) @ w[n_steps:] if self.constant else f), tied


class StumpColumns(StepColumns):
    """Every stump on X that differs from the others on X: scores and edges in O(n_samples n_features).

    The column of feature d and gap k is ``scale * sign(x_d - t)`` with t in the k-th gap between consecutive
    distinct values of feature d. Columns are ordered by feature, then by threshold; the constant comes last.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
        Sample.
    constant : bool
        Whether the constant hypothesis is a column.
    ends : ndarray of shape (2, n_features) or None
        Finite ends of each feature's range: adds the gaps below the first and above the last value.
    gap_scale : callable or None
        Maps the widths of gaps (n,) to column scales (n,); None for 1.

    Examples
    --------
    >>> H = StumpColumns(np.array([[0.0], [1.0], [3.0]]))
    >>> H.thresholds
    array([0.5, 2. ])
    >>> H.edges(np.eye(3))
    array([[-1.,  1.,  1.],
           [-1., -1.,  1.],
           [ 1.,  1.,  1.]])
    """

    def __init__(
        self,
        X: Array,
        constant: bool = True,
        ends: Array | None = None,
        gap_scale: Callable[[Array], Array] | None = None,
    ) -> None:
        self.X, self.ends, self.gap_scale = validation.samples(X), ends, gap_scale
        low, high = np.full((2, self.X.shape[1]), np.nan) if ends is None else ends
        codes, gaps = [], []
        for j, x in enumerate(self.X.T):
            values, own = np.unique(x, return_inverse=True)
            bounds = np.r_[low[j], values, high[j]]
            # beside an end that is NaN there is no gap
            places = np.flatnonzero(bounds[1:] > bounds[:-1])
            codes.append(own.astype(np.int32))
            gaps.append((np.full(len(places), j), places, bounds[places], bounds[places + 1]))
        features, places, lower, upper = (np.concatenate(own) for own in zip(*gaps, strict=True))
        middle = lower / 2 + upper / 2
        # above `lower` and at most `upper`, also where no float lies between them
        self.thresholds: Array = np.where(middle > lower, middle, upper)
        """The middle of each gap, shape (n_gaps,)."""
        self.widths: Array = upper - lower
        """The width of each gap, shape (n_gaps,)."""
        scale = 1.0 if gap_scale is None else gap_scale(self.widths)
        super().__init__(codes, [own.max() for own in codes], features, places, 0, scale, constant=constant)


@dataclass(frozen=True, eq=False)
class Signed:
    """[H, -H]: the negation-complete set of which `base`, the columns H, holds one of each pair."""

    base: Columns

    @property
    def shape(self) -> tuple[int, int]:
        n, half = self.base.shape
        return n, 2 * half

    @property
    def largest(self) -> float:
        return self.base.largest

    def scores(self, w: Array) -> Array:
        half = self.base.shape[1]
        return self.base.scores(w[:half] - w[half:])

    def edges(self, s: Array) -> Array:
        edges = self.base.edges(s)
        return np.concatenate([edges, -edges])

    def link(self, w: cp.Expression) -> tuple[cp.Expression, list[cp.Constraint]]:
        half = self.base.shape[1]
        return self.base.link(w[:half] - w[half:])


def gram(H: Columns) -> Array:
    """Return H H', shape (n_samples, n_samples), a block of samples at a time.

    Examples
    --------
    >>> gram(DenseColumns(np.array([[1.0, 2.0], [0.0, 1.0]])))
    array([[5., 2.],
           [2., 1.]])
    """
    n = H.shape[0]
    K = np.empty((n, n))
    for first in range(0, n, GRAM_BLOCK):
        block = slice(first, min(first + GRAM_BLOCK, n))
        # H H' e_i, for the samples i of a block
        K[:, block] = H.scores(H.edges(np.eye(n)[:, block]))
    return (K + K.T) / 2


ColumnsLike: TypeAlias = Array | Columns
"""An array H (n_samples, n_columns), or an object that stands for it."""


def as_columns(H: Any, n_samples: int) -> Columns:
    """Return `H` as `Columns`: itself if it is, else a checked array; of one row per label."""
    columns: Columns = H if hasattr(H, "link") else DenseColumns(validation.finite_array("H", H, ndim=2))
    if columns.shape[0] != n_samples:
        raise InvalidInput("H", f"found {columns.shape[0]} rows for {n_samples} labels", "give one row of H per label")
    return columns


class LinearMap(ABC):
    """The map of a problem, from weights to scores; each product may be plain or measured."""

    symmetric: ClassVar[bool] = False
    """True for a kernel: scores and edges are the same product, and weights and multipliers give each other."""

    @property
    @abstractmethod
    def shape(self) -> tuple[int, int]:
        """The shape (n_samples, n_weights) of the map."""

    @property
    @abstractmethod
    def spread(self) -> float:
        """The largest change of an edge by a unit of one multiplier, which is moved to mend a balance."""

    @abstractmethod
    def scores(self, w: Array) -> Array:
        """Evaluate the scores f = H w."""

    @abstractmethod
    def edges(self, s: Array) -> Array:
        """Evaluate the edges of signed multipliers s."""

    @abstractmethod
    def measure_scores(self, w: Array) -> tuple[Array, Array]:
        """Evaluate H w as precisely as possible, and bound the error of every entry."""

    @abstractmethod
    def measure_edges(self, s: Array) -> tuple[Array, Array]:
        """Evaluate the edges of s as precisely as possible, and bound the error of every entry."""

    def score_errors(self, w: Array, f: Array) -> Array:
        """Bound how far `f`, whoever evaluated it, is from H w."""
        values, errors = self.measure_scores(w)
        return np.abs(f - values) + errors

    def edge_errors(self, s: Array, edges: Array) -> Array:
        """Bound how far `edges`, whoever evaluated them, are from those of s."""
        values, errors = self.measure_edges(s)
        return np.abs(edges - values) + errors

    # of weights that are penalised by themselves

    def penalise(self, penalty: Penalty, w: Array, f: Array) -> float:
        """Evaluate the penalty of weights with scores f."""
        return penalty.value(w)

    def penalty_error(self, penalty: Penalty, w: Array, f: Array, errors: Array, missed: float) -> float:
        """Bound the rounding error of `penalise`, and what mending a sum of coefficients that misses 0 can change."""
        return sum_error(w.size, abs(penalty.value(w)))

    def summarise(
        self, s: Array, edges: Array, one_sided: bool, errors: Array | None = None, missed: float = 0.0
    ) -> Edges:
        """Summarise edges for a dual bound, larger by their errors; s misses its balance by `missed`.

        Mending a balance moves an edge by at most ``missed max |H_ij|``.
        """
        counted, share, off = edges if one_sided else np.abs(edges), 1.0, np.zeros(edges.shape)
        if errors is not None:
            # sum_j edge_j^2, or a maximum; a sum over the columns is rounded too
            off = off + errors + missed * self.spread
            counted, share = counted + off, 1 + sum_error(len(edges), 1.0)
        squares = share * float((np.maximum(counted, 0) ** 2).sum())
        # of no column the largest is 0; of some they may be all below, which an `initial` would hide
        largest = float(counted.max()) if counted.size else 0.0
        return Edges(largest, squares, lambda: share * counted, -np.inf, lambda: (edges, off))

    @staticmethod
    def measure_stationarity(penalty: Penalty, w: Array, f: Array, edges: Array, one_sided: bool) -> float:
        """Measure how far weights are from the best for their edges; relative.

        Where w >= 0, weights that a solver leaves, at most 1e-6 of the largest, may have edges below the threshold.
        """
        if one_sided:
            counted = (w > 1e-6 * w.max(initial=0.0)) | (edges >= penalty.threshold(w, edges))
            rows = as_rows(counted).any(axis=1)
            w, edges = np.where(counted, w, 0.0)[rows], np.where(counted, edges, 0.0)[rows]
        return penalty.stationarity(w, edges) if w.size else 0.0

    def shift(self, w: Expressed, b: Expressed, sign: float = 1.0) -> Expressed:
        """Return ``b + sign c'w``: the intercept of columns less their centres c for that of the columns, or back."""
        return b

    @abstractmethod
    def model(self, outputs: tuple[int, ...], nonnegative: bool) -> Modelled:
        """Model weights in cvxpy."""


@dataclass(frozen=True, eq=False)
class ColumnMap(LinearMap):
    """Columns less a constant each, which an intercept makes good: ``H w + b = (H - 1 c') w + (b + c'w)``."""

    H: Columns  # H - 1 c', without rounding
    centre: Array | None = None  # c (n_columns,); None for 0

    @classmethod
    def from_columns(cls, H: Columns, intercept: bool) -> ColumnMap:
        """Shift the columns of an array that are far from 0 beside their range, if there is an intercept.

        As the largest entry is at most twice the smallest, the differences are floats (Sterbenz): no digit is lost.
        """
        if not (intercept and isinstance(H, DenseColumns) and H.H.size):
            return cls(H)
        centre = centres(H.H.T)
        return cls(DenseColumns(H.H - centre), centre) if centre.any() else cls(H)

    @property
    def shape(self) -> tuple[int, int]:
        return self.H.shape

    @property
    def spread(self) -> float:
        return self.H.largest

    def shift(self, w: Expressed, b: Expressed, sign: float = 1.0) -> Expressed:
        """Return ``b + sign c'w``, of arrays with one rounding for each output."""
        if self.centre is None:
            return b
        if not isinstance(w, np.ndarray):
            return b + (sign * self.centre) @ w
        factors = np.vstack([sign * w.reshape(len(w), -1), np.reshape(b, (1, -1))])
        return np.reshape([dot(np.append(self.centre, 1.0), column) for column in factors.T], np.shape(b))

    def scores(self, w: Array) -> Array:
        return self.H.scores(w)

    def edges(self, s: Array) -> Array:
        return self.H.edges(s)

    def measure_scores(self, w: Array) -> tuple[Array, Array]:
        own = getattr(self.H, "measure_scores", None)
        return self._measure_sums(self.scores(w), w) if own is None else own(w)

    def measure_edges(self, s: Array) -> tuple[Array, Array]:
        own = getattr(self.H, "measure_edges", None)
        return self._measure_sums(self.edges(s), s) if own is None else own(s)

    def _measure_sums(self, values: Array, x: Array) -> tuple[Array, Array]:
        """Bound the error of products by prefix sums over all columns, or in any other order.

        A running sum over n + m entries has an error of at most (n + m) eps times the sizes it adds up, and a score or
        an edge is made of at most four such sums (a jump is twice a weight, and a staircase has two ends).
        """
        size = self.H.largest * float(np.abs(x).sum(axis=0).max(initial=0.0))
        return values, np.full(values.shape, 8 * sum_error(sum(self.H.shape), size) if size > 0 else 0.0)

    def model(self, outputs: tuple[int, ...], nonnegative: bool) -> Modelled:
        w = cp.Variable((self.H.shape[1], *outputs), nonneg=nonnegative)
        f, tied = self.H.link(w)
        return w, w, f, tied


class KernelMap(LinearMap):
    """Functions in the space of a kernel, known by coefficients c on the sample; penalised by their squared norm.

    A subclass multiplies by the kernel matrix; it may be conditionally PSD where coefficients sum to 0.
    """

    symmetric = True

    @property
    @abstractmethod
    def n_samples(self) -> int:
        """The number of samples."""

    @abstractmethod
    def matrix(self) -> Array:
        """Return K as an array, for cvxpy."""

    @property
    def shape(self) -> tuple[int, int]:
        return self.n_samples, self.n_samples

    def edges(self, s: Array) -> Array:
        return self.scores(s)

    def measure_edges(self, s: Array) -> tuple[Array, Array]:
        return self.measure_scores(s)

    def penalise(self, penalty: Penalty, c: Array, f: Array) -> float:
        return self._ridge(penalty) / 2 * self.form(c, f)

    def penalty_error(self, penalty: Penalty, c: Array, f: Array, errors: Array, missed: float) -> float:
        return self._ridge(penalty) / 2 * self.form_error(c, f, errors, missed)

    @staticmethod
    def _ridge(penalty: Penalty) -> float:
        """Return the factor of half the squared norm, by which alone functions of a kernel are penalised."""
        assert penalty.ridge is not None
        return penalty.ridge

    def form(self, c: Array, f: Array) -> float:
        """Evaluate ``c'K c`` for f = K c; inf where it overflows, as the form of a PSD matrix is not below 0."""
        value = float((c * f).sum())
        return value if np.isfinite(value) else np.inf

    def form_error(self, c: Array, f: Array, errors: Array, missed: float) -> float:
        """Bound the error of `form`: of f, of the sum of products, and of mending a sum of c that misses 0.

        One coefficient is moved by `missed`, which changes the form by at most 2 |f_j| of it and K_jj of its square.
        """
        # |(c + d e_j)'K (c + d e_j) - c'K c| <= 2 |d| |f_j| + d^2 K_jj
        moved = 2 * missed * (abs(float(f[np.abs(c).argmax()])) + missed * self.spread) if missed else 0.0
        return float((np.abs(c) * errors).sum()) + self.sum_error(c, f) + moved

    def sum_error(self, c: Array, f: Array) -> float:
        """Bound the error of summing c'f."""
        return sum_error(c.size, float((np.abs(c) * np.abs(f)).sum()))

    def summarise(
        self, s: Array, edges: Array, one_sided: bool, errors: Array | None = None, missed: float = 0.0
    ) -> Edges:
        """Summarise edges by their sum of squares over all hypotheses, s'K s."""
        form = self.form(s, edges)
        return Edges(np.inf, form if errors is None else form + self.form_error(s, edges, errors, missed))

    @staticmethod
    def measure_stationarity(penalty: Penalty, c: Array, f: Array, edges: Array, one_sided: bool) -> float:
        """Return max |f - edges / ridge|, relative to the larger of 1 and max |f|."""
        return float(np.abs(f - edges / KernelMap._ridge(penalty)).max()) / max(1.0, float(np.abs(f).max()))

    @cached_property
    def factor(self) -> Factor:
        return factor(self.matrix())

    def model(self, outputs: tuple[int, ...], nonnegative: bool) -> Modelled:
        """Model the coordinates v of a function by the factored kernel, whose scores are F v."""
        v = cp.Variable((self.factor.F.shape[1], *outputs))
        return v, self.factor.expand @ v, self.factor.F @ v, []


@dataclass(frozen=True, eq=False)
class KernelMatrix(KernelMap):
    """A kernel matrix that is PSD but for rounding, or PSD on coefficients that sum to 0."""

    K: Array
    lift: float = 0.0  # with lift I added, K is PSD to the rounding of its eigenvalues; mostly 0

    @property
    def n_samples(self) -> int:
        return len(self.K)

    @cached_property
    def spread(self) -> float:
        """The range of the entries of K."""
        return float(np.ptp(self.K))

    @cached_property
    def norms(self) -> Array:
        """The norms of the rows, which bound the sizes of what a product sums up."""
        return np.sqrt(np.einsum("ij,ij->i", self.K, self.K))

    def matrix(self) -> Array:
        return self.K

    def scores(self, c: Array) -> Array:
        return self.K @ c

    def measure_scores(self, c: Array) -> tuple[Array, Array]:
        """Evaluate K c, and bound how far it is from the product with the PSD matrix."""
        # stored by columns, as K' = K is, products in twice the precision are evaluated several entries at a time
        f, errors = product(self.K.T, c, self.norms)
        return f, errors + self.lift * np.abs(c)

    def form(self, c: Array, f: Array) -> float:
        """Evaluate ``c'K c`` with one rounding."""
        value = dot(c, f)
        return value if np.isfinite(value) else np.inf

    def sum_error(self, c: Array, f: Array) -> float:
        """Bound the error of one rounding, and of what a penalty and an objective make of the form."""
        return 4 * EPSILON * abs(self.form(c, f))


class Factor(NamedTuple):
    """``K = F F'``; `expand` maps coordinates v of a function ``f = F v`` to c with ``f = K c``, ``c'K c = |v|^2``."""

    F: Array  # (n_samples, rank)
    expand: Array  # (n_samples, rank)


def doubly_centred(K: Array) -> Array:
    """J K J with J = I - 11'/n: the same quadratic form wherever the coefficients sum to 0."""
    # a constant far from 0 beside the spread goes without rounding, before means lose digits to it
    K = K - K.flat[0]
    # K - 1 r' - r 1' + mean(r) with r the means of its rows
    rows = K.mean(axis=0)
    return K - rows - rows[:, None] + rows.mean()


def check_kernel(K: ArrayLike, n_samples: int, *, conditionally: bool = False) -> KernelMatrix:
    """Check a symmetric matrix to be PSD, or PSD on coefficients that sum to 0; the error names an eigenvalue."""
    K = validation.symmetric(K)
    validation.same_length("K", K, n_samples)
    seen = doubly_centred(K) if conditionally else K
    values = eigh(seen, eigvals_only=True)
    if values[0] < -NEGATIVE * max(float(np.abs(K).max()) * len(K), np.finfo(float).tiny):
        found = f"found the eigenvalue {values[0]:.3g}"
        if conditionally:
            found += " after centring, so it is not even conditionally PSD"
            raise InvalidInput("K", found, "give a kernel that is PSD on coefficients with sum 0")
        remedy = "add the kernel's constant (a simplified stump or perceptron kernel lacks it) or another PSD kernel"
        raise InvalidInput("K", f"{found}, so it is not PSD", remedy)
    # eigenvalues are known to a few units of rounding of the largest one (LAPACK); 0 within that is taken for 0
    error = max(8.0, len(K) ** 0.5) * EPSILON * float(np.abs(values).max())
    return KernelMatrix(K, max(-float(values[0]) - error, 0.0))


def factor(K: Array) -> Factor:
    """Factor a PSD matrix by its eigenvalues, negligible ones left out; a zero matrix by one column of zeros."""
    # K = V diag(l) V': F = V sqrt(l), and c = V / sqrt(l) v has K c = F v and c'K c = |v|^2
    values, vectors = eigh(K)
    # eigenvalues below this, relative to the largest, are left out of a factor
    kept = values > 1e-13 * max(values[-1], np.finfo(float).tiny)
    if not kept.any():
        return Factor(np.zeros((len(K), 1)), np.zeros((len(K), 1)))
    roots = np.sqrt(values[kept])
    return Factor(vectors[:, kept] * roots, vectors[:, kept] / roots)
