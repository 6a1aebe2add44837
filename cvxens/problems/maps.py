"""Linear maps from weights to scores: columns of hypotheses, and kernels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.linalg import eigh

from cvxens import validation
from cvxens.errors import InvalidInput
from cvxens.problems.duality import centres
from cvxens.problems.modelling import cp
from cvxens.rounding import EPSILON, dot, product, sum_error
from cvxens.types import Array

Indices: TypeAlias = NDArray[np.intp]


class Columns(Protocol):
    """H (n_samples, n_columns) as a linear map, to numpy and to cvxpy."""

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_columns)."""

    @property
    def largest(self) -> float:
        """The largest |H_ij|."""

    def scores(self, w: Array) -> Array:
        """H w, for w (n_columns,) or (n_columns, n_outputs)."""

    def edges(self, s: Array) -> Array:
        """H's, for s (n_samples,) or (n_samples, n_outputs)."""

    def link(self, w: Any) -> tuple[Any, list[Any]]:
        """H w for a cvxpy expression `w`: an affine expression and the constraints that define it."""


@dataclass(frozen=True, eq=False)
class DenseColumns:
    """An array H.

    Parameters
    ----------
    H : ndarray of shape (n_samples, n_columns)
        H[i, j] = h_j(x_i).
    """

    H: Array

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_columns)."""
        return self.H.shape[0], self.H.shape[1]

    @property
    def largest(self) -> float:
        """The largest |H_ij|."""
        return float(np.abs(self.H).max(initial=0.0))

    def scores(self, w: Array) -> Array:
        """H w."""
        return self.H @ w

    def edges(self, s: Array) -> Array:
        """H's."""
        return self.H.T @ s

    def link(self, w: Any) -> tuple[Any, list[Any]]:
        """H @ w."""
        return self.H @ w, []


@dataclass(frozen=True, eq=False)
class StumpColumns:
    """Every stump on X that differs from the others on X: scores and edges in O(n_samples n_features).

    The column of feature d and gap k is ``scale * sign(x_d - t)`` with t in the k-th gap between consecutive
    distinct values of feature d. Columns are ordered by feature, then by threshold; the constant comes last.

    As a function of feature d, H w is a staircase g_d with jumps of 2 w_k at the gaps, and
    ``g_d(first) + g_d(last) = 2 (w_below - w_above)``. So the link between w and the scores has
    O(n_samples n_features) non-zeros, where H itself would have that times n_samples.

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

    X: Array
    constant: bool = True
    ends: Array | None = None
    gap_scale: Any = None

    @cached_property
    def _steps(self) -> _Steps:
        return _Steps.of(validation.samples(self.X), self.ends)

    @cached_property
    def scale(self) -> Array:
        """Scale of each column but the constant, shape (n_gaps,)."""
        width = self._steps.width
        return np.ones(len(width)) if self.gap_scale is None else self.gap_scale(width)

    @property
    def thresholds(self) -> Array:
        """The middle of each gap, shape (n_gaps,)."""
        return self._steps.middle

    @property
    def features(self) -> Indices:
        """The feature of each gap, shape (n_gaps,)."""
        return self._steps.feature

    @property
    def widths(self) -> Array:
        """The width of each gap, shape (n_gaps,)."""
        return self._steps.width

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_columns)."""
        return len(self.X), len(self._steps.width) + self.constant

    @property
    def largest(self) -> float:
        """The largest |H_ij|: the largest scale, or the constant's 1."""
        return max(float(self.scale.max()), float(self.constant))

    def scores(self, w: Array) -> Array:
        """H w by prefix sums."""
        steps = self._steps
        gaps = w[:-1] if self.constant else w
        jumps = np.zeros((steps.n_slots, *w.shape[1:]))
        jumps[steps.slot] = (gaps.T * self.scale).T
        below = np.add.reduceat(jumps, steps.first_slot, axis=0)
        staircase = 2 * steps.within(jumps)[steps.slot_of_value] - below[steps.feature_of_value]
        return steps.place @ staircase + (w[-1] if self.constant else 0)

    def edges(self, s: Array) -> Array:
        """H's by prefix sums."""
        steps = self._steps
        mass = np.zeros((steps.n_slots, *s.shape[1:]))
        mass[steps.slot_of_value + 1] = steps.place.T @ s
        gaps = (s.sum(axis=0) - 2 * steps.within(mass)[steps.slot]).T * self.scale
        return np.concatenate([gaps.T, s.sum(axis=0)[None]]) if self.constant else gaps.T

    def link(self, w: Any) -> tuple[Any, list[Any]]:
        """Scores through the staircases g, tied to w by sparse equalities."""
        steps = self._steps
        n_gaps = len(steps.width)
        g = cp.Variable((steps.place.shape[1], *w.shape[1:]))
        scaled = sparse.csr_matrix(sparse.diags_array(self.scale))
        jump_of_gap = steps.pick_inner @ scaled
        tied = [steps.rises @ g == 2 * (jump_of_gap @ w[:n_gaps])]
        tied += [steps.first_plus_last @ g == 2 * ((steps.pick_ends @ scaled) @ w[:n_gaps])]
        f = steps.place @ g
        return (f + np.ones((len(self.X), 1)) @ w[n_gaps:] if self.constant else f), tied


@dataclass(frozen=True, eq=False)
class _Steps:
    """The gaps of every feature, laid out one feature after another.

    A feature with m distinct values has m + 1 slots: below its first value, its m - 1 inner gaps, above
    its last value. Slot 0 and slot m are gaps only where the range has ends.
    """

    n_slots: int
    first_slot: Indices
    slot: Indices
    width: Array
    middle: Array
    feature: Indices
    slot_of_value: Indices
    feature_of_value: Indices
    place: sparse.csr_matrix
    rises: sparse.csr_matrix
    first_plus_last: sparse.csr_matrix
    pick_inner: sparse.csr_matrix
    pick_ends: sparse.csr_matrix

    @classmethod
    def of(cls, X: Array, ends: Array | None) -> _Steps:
        n, d = X.shape
        uniques = [np.unique(X[:, j], return_inverse=True) for j in range(d)]
        counts = np.array([len(values) for values, _ in uniques])
        first_value = np.concatenate([[0], np.cumsum(counts)[:-1]])
        first_slot = first_value + np.arange(d)
        low, high = (np.full(d, np.nan), np.full(d, np.nan)) if ends is None else ends
        edges = np.concatenate([np.r_[low[j], values, high[j]] for j, (values, _) in enumerate(uniques)])
        upper_of_slot = np.arange(counts.sum() + d) + np.repeat(np.arange(d), counts + 1) + 1
        lower, upper = edges[upper_of_slot - 1], edges[upper_of_slot]
        slot = np.flatnonzero(upper > lower)
        value_of = first_value + np.stack([inverse.ravel() for _, inverse in uniques], axis=1)
        place = sparse.csr_matrix((np.ones(n * d), value_of.ravel(), np.arange(n + 1) * d), shape=(n, counts.sum()))
        feature_of_value = np.repeat(np.arange(d), counts)
        last_value = first_value + counts - 1
        inner_value = np.delete(np.arange(counts.sum()), last_value)
        gap_at = np.full(len(upper_of_slot), -1)
        gap_at[slot] = np.arange(len(slot))
        slot_of_value = np.arange(counts.sum()) + feature_of_value
        below, above = gap_at[first_slot], gap_at[slot_of_value[last_value] + 1]
        return cls(
            n_slots=len(upper_of_slot),
            first_slot=first_slot,
            slot=slot,
            width=upper[slot] - lower[slot],
            middle=_between(lower[slot], upper[slot]),
            feature=np.repeat(np.arange(d), counts + 1)[slot],
            slot_of_value=slot_of_value,
            feature_of_value=feature_of_value,
            place=place,
            rises=_incidence(inner_value + 1, counts.sum()) - _incidence(inner_value, counts.sum()),
            first_plus_last=_incidence(first_value, counts.sum()) + _incidence(last_value, counts.sum()),
            pick_inner=_incidence(gap_at[slot_of_value[inner_value] + 1], len(slot)),
            pick_ends=_incidence(below, len(slot)) - _incidence(above, len(slot)),
        )

    def within(self, values: Array) -> Array:
        """Running sums that start anew at every feature, inclusive, by slot."""
        total = np.cumsum(values, axis=0)
        before = np.concatenate([np.zeros_like(total[:1]), total])[self.first_slot]
        return total - np.repeat(before, np.diff(np.r_[self.first_slot, self.n_slots]), axis=0)


def _between(lower: Array, upper: Array) -> Array:
    """The middle, above `lower` and at most `upper`, also where no float lies between them."""
    middle = lower / 2 + upper / 2
    return np.where(middle > lower, middle, upper)


def _incidence(columns: Indices, n_columns: int) -> sparse.csr_matrix:
    """One row per entry of `columns`, with a 1 there; a row of zeros where it is negative."""
    rows = np.flatnonzero(columns >= 0)
    shape = (len(columns), n_columns)
    return sparse.csr_matrix((np.ones(len(rows)), (rows, columns[rows])), shape=shape)


@dataclass(frozen=True, eq=False)
class Signed:
    """[H, -H]: the negation-complete set of which `base` holds one of each pair.

    Parameters
    ----------
    base : Columns
        H.
    """

    base: Columns

    @property
    def shape(self) -> tuple[int, int]:
        """(n_samples, n_columns)."""
        n, half = self.base.shape
        return n, 2 * half

    @property
    def largest(self) -> float:
        """The largest |H_ij|."""
        return self.base.largest

    def scores(self, w: Array) -> Array:
        """H (w_plus - w_minus)."""
        half = self.base.shape[1]
        return self.base.scores(w[:half] - w[half:])

    def edges(self, s: Array) -> Array:
        """(H's, -H's)."""
        edges = self.base.edges(s)
        return np.concatenate([edges, -edges])

    def link(self, w: Any) -> tuple[Any, list[Any]]:
        """The link of the base at w_plus - w_minus."""
        half = self.base.shape[1]
        return self.base.link(w[:half] - w[half:])


def scores_with_errors(H: Columns, w: Array) -> tuple[Array, Array]:
    """Evaluate H w and bound the rounding error of every score; an array H in twice the precision."""
    if isinstance(H, DenseColumns):
        return product(H.H, w)
    scores = H.scores(w)
    return scores, np.full(scores.shape, _error_of_sums(H, w))


def edges_with_errors(H: Columns, s: Array) -> tuple[Array, Array]:
    """Evaluate H's and bound the rounding error of every edge; an array H in twice the precision."""
    if isinstance(H, DenseColumns):
        return product(H.H.T, s)
    edges = H.edges(s)
    return edges, np.full(edges.shape, _error_of_sums(H, s))


def _error_of_sums(H: Columns, x: Array) -> float:
    """Bound the error of products by prefix sums over all columns, or in any other order.

    A running sum over n + m entries has an error of at most (n + m) eps times the sizes it adds up, and a score or an
    edge is made of at most four such sums (a jump is twice a weight, and a staircase has two ends).
    """
    size = H.largest * float(np.abs(x).sum(axis=0).max(initial=0.0))
    return 8 * sum_error(sum(H.shape), size) if size > 0 else 0.0


@dataclass(frozen=True, eq=False)
class Shifted:
    """Columns less a constant each, which an intercept makes good: ``H w + b = (H - 1 c') w + (b + c'w)``.

    Parameters
    ----------
    H : Columns
        H - 1 c', without rounding.
    centre : ndarray of shape (n_columns,) or None
        c; None for 0.
    """

    H: Columns
    centre: Array | None

    @classmethod
    def from_columns(cls, H: Columns) -> Shifted:
        """Shift the columns of an array that are far from 0 beside their range, by the middle of it.

        As the largest entry is at most twice the smallest, the differences are floats (Sterbenz): no digit is lost.
        """
        if not isinstance(H, DenseColumns) or not H.H.size:
            return cls(H, None)
        centre = centres(H.H.T)
        return cls(DenseColumns(H.H - centre), centre) if centre.any() else cls(H, None)


ColumnsLike: TypeAlias = Array | Columns
"""An array H (n_samples, n_columns), or an object that stands for it."""


def as_columns(H: Any, n_samples: int | None = None) -> Columns:
    """Return `H` as `Columns`: itself if it is, else a checked array."""
    columns: Columns = H if hasattr(H, "link") else DenseColumns(validation.finite_array("H", H, ndim=2))
    if n_samples is not None and columns.shape[0] != n_samples:
        raise InvalidInput("H", f"found {columns.shape[0]} rows for {n_samples} labels", "give one row of H per label")
    return columns


NEGLIGIBLE = 1e-13
"""Eigenvalues below this, relative to the largest, are left out of a factor."""

NEGATIVE = 1e-9
"""Eigenvalues below minus this, relative to the largest, make a kernel indefinite."""


@dataclass(frozen=True, eq=False)
class Factor:
    """K = F F' with the coordinates of its expansions.

    Parameters
    ----------
    F : ndarray of shape (n_samples, rank)
        The factor.
    expand : ndarray of shape (n_samples, rank)
        Maps coordinates v of a function ``f = F v`` to coefficients c with ``f = K c`` and ``c'K c = |v|^2``.
    """

    F: Array
    expand: Array


def doubly_centred(K: Array) -> Array:
    """J K J with J = I - 11'/n: the same quadratic form wherever the coefficients sum to 0."""
    # a constant far from 0 beside the spread goes without rounding, before means lose digits to it
    K = K - K.flat[0]
    rows = K.mean(axis=0)
    return K - rows - rows[:, None] + rows.mean()


@dataclass(frozen=True, eq=False)
class Kernel:
    """A kernel matrix that is PSD but for rounding, or PSD on coefficients that sum to 0.

    Parameters
    ----------
    K : ndarray of shape (n_samples, n_samples)
        Symmetric.
    lift : float
        With lift I added, the matrix is PSD to the rounding of its eigenvalues; mostly 0.
    """

    K: Array
    lift: float

    def product(self, c: Array) -> tuple[Array, Array]:
        """Evaluate K c, and bound how far it is from the product with the PSD matrix."""
        f, errors = product(self.K, c)
        return f, errors + self.lift * np.abs(c)

    def form(self, c: Array) -> tuple[float, float]:
        """Evaluate c'K c and bound its error."""
        f, errors = self.product(c)
        value = dot(c, f)
        if not np.isfinite(value):  # overflow: the form of a PSD matrix is not below 0
            return np.inf, 0.0
        return value, float(np.abs(c) @ errors) + EPSILON * abs(value)


def check_kernel(K: Any, n_samples: int, *, conditionally: bool = False) -> Kernel:
    """Check a symmetric matrix to be PSD, or PSD on coefficients that sum to 0.

    Raises
    ------
    InvalidInput
        Names the most negative eigenvalue, and what to do.
    """
    K = validation.symmetric(K)
    validation.same_length("K", K, n_samples)
    seen = doubly_centred(K) if conditionally else K
    values = eigh(seen, eigvals_only=True)
    if values[0] < -NEGATIVE * max(float(np.abs(K).max()) * len(K), np.finfo(float).tiny):
        if conditionally:
            raise InvalidInput(
                "K",
                f"found the eigenvalue {values[0]:.3g} after centring, so it is not even conditionally PSD",
                "give a kernel that is PSD on coefficients with sum 0",
            )
        raise InvalidInput(
            "K",
            f"found the eigenvalue {values[0]:.3g}, so it is not PSD",
            "add the kernel's constant (a simplified stump or perceptron kernel lacks it) or another PSD kernel",
        )
    # eigenvalues are known to a few units of rounding of the largest one (LAPACK); 0 within that is taken for 0
    error = max(8.0, len(K) ** 0.5) * EPSILON * float(np.abs(values).max())
    return Kernel(K, max(-float(values[0]) - error, 0.0))


def factor(K: Array) -> Factor:
    """Factor a PSD matrix by its eigenvalues, negligible ones left out; a zero matrix by one column of zeros."""
    values, vectors = eigh(K)
    kept = values > NEGLIGIBLE * max(values[-1], np.finfo(float).tiny)
    if not kept.any():
        return Factor(np.zeros((len(K), 1)), np.zeros((len(K), 1)))
    roots = np.sqrt(values[kept])
    return Factor(vectors[:, kept] * roots, vectors[:, kept] / roots)
