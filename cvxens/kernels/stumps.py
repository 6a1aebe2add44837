"""Kernels of decision stumps: sums over features of functions of two numbers, so machines with them are additive.

All are ``-sum_d scale_d |x_d - x'_d|`` up to what y'u = 0 cancels in P2 (`AdditiveKernels`), but for `MiddleStump`,
which counts thresholds between two values. The ranges within which thresholds lie are given, or those of a sample
(`Ranged`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Self, cast, final

import numpy as np
from numpy.typing import ArrayLike

from cvxens import hypotheses, validation
from cvxens.docstrings import documented
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Hypothesis
from cvxens.kernels.kernel import OPEN, Kernel, Shape, Simplified, check_inside, check_ranges_known, normalise_masses
from cvxens.kernels.tiles import DIFFERENCE, MINIMUM, Tile, check_features, check_pair, join_samples, measure
from cvxens.problems import StumpColumns
from cvxens.rounding import TINY
from cvxens.types import Array, Data, Given, Indices
from cvxens.validation import RandomState


class Ranged(Kernel):
    """A kernel whose ranges, `low` and `high`, are given or those of the sample that it is evaluated on.

    Parameters
    ----------
    low, high : array-like of shape (n_features,), optional
        The range of each feature; without them the kernel is evaluated within one sample only, by its range.
    """

    margin: ClassVar[float] = 0.0
    """The share of a sample's range by which an end that is not given is beyond it."""

    low: ArrayLike | None
    high: ArrayLike | None

    @property
    def ends(self) -> Mapping[str, Given]:
        """The parameters that are ends of ranges, low or high, and what is given for them."""
        return {"low": self.low, "high": self.high}

    def __post_init__(self) -> None:
        for end, given in self.ends.items():
            object.__setattr__(self, end, as_tuple(given))

    @property
    def is_data_independent(self) -> bool:
        return self.low is not None and self.high is not None

    def domain(self, n_features: int) -> Array:
        box = super().domain(n_features)
        for end, given in self.ends.items():
            if given is not None:
                values = validation.finite_array(end, given, ndim=1)
                validation.one_each(end, values, n_features, "feature")
                box[int(end == "high")] = values
        return box

    def box(self) -> Array:
        """Return (low, high) as given, shape (2, n_features)."""
        first, *_ = self.ends
        if any(given is None for given in self.ends.values()):
            remedy = f"give {' and '.join(self.ends)}, or take kernel.with_ranges_of(X)"
            raise InvalidInput(first, "found no ranges", remedy)
        low, high = box = self.domain(np.asarray(self.ends[first]).size)
        if (low > high).any():
            feature = int(np.argmax(low > high))
            found = f"found {low[feature]:g} for feature {feature}, above its high of {high[feature]:g}"
            raise InvalidInput("low", found, "give low <= high")
        return box

    def box_of(self, X: Array) -> Array:
        """Return (low, high) for a sample that must be within, its own where none are given; shape (2, n_features)."""
        box, ends = self.domain(X.shape[1]), np.stack([X.min(axis=0), X.max(axis=0)]).astype(np.float64)
        beyond = self.margin * (ends[1] - ends[0])
        box = np.where(np.isinf(box), ends + np.stack([-beyond, beyond]), box)
        check_inside(box, X)
        return box

    def with_ranges_of(self, X: Data) -> Self:
        box = self.box_of(validation.finite_array("X", X, ndim=2))
        return replace(cast("Any", self), **{end: box[int(end == "high")] for end in self.ends})


class AdditiveKernels(Kernel):
    """A kernel that is ``-sum_d scale_d |x_d - x'_d|`` up to what y'u = 0 cancels."""

    homogeneity: float | None = 1.0

    @abstractmethod
    def additive_scales(self, X: Data) -> Array:
        """Return the scale of each feature on `X`, shape (n_features,)."""

    def tile(self, X: Data, Z: Data) -> Tile:
        # what two samples agree on is the mass of all less twice that of the thresholds in between
        X, Z = check_pair(X, Z)
        return measure(DIFFERENCE, X, Z, self.additive_scales(X), partial(np.subtract, self.total_mass(X, Z)))

    def range_free_equivalent(self, X: Data) -> Kernel:
        return SimplifiedStump.from_scales(self.additive_scales(X))


class RangedStumps(Ranged, AdditiveKernels):
    """The inner product over stumps whose thresholds are within ranges."""

    def cells(self, X: Data) -> StumpColumns:
        """Return the cells of LL08 Theorem 8: one column per gap between the values of a feature, ends included.

        Stumps of both signs share a gap. With features scaled by `additive_scales`, a gap of width v has the column
        ``sqrt(v / 2) sign(x_d - t)``; the columns' inner products are the kernel on `X`.
        """
        X = validation.samples(X)
        box, scale = self.box_of(X), self.additive_scales(X)
        return StumpColumns(X * scale, constant=False, ends=box * scale, gap_scale=lambda width: np.sqrt(width / 2))


@final
@documented
@dataclass(frozen=True)
class Stump(RangedStumps):
    """K(x, x') = Delta - |x - x'|_1, with Delta = 1/2 sum_d (high_d - low_d).

    LL08 Definition 3 and Appendix A: the inner product over all stumps whose thresholds are within the ranges, with
    r = 1/2. Scaling the samples by c scales it by c, which for an SVM is a change of C.

    Parameters
    ----------
    low, high : array-like of shape (n_features,), optional
        The range of each feature. Where they are not given, the range of the samples that the kernel is evaluated on,
        and at either end 2^-10 of it more, so that there are constant stumps (LL08 section 4.1) and the matrix of
        samples that differ in one feature from each other is PD (Theorem 5).

    Examples
    --------
    >>> Stump(low=(0.0,), high=(2.0,))([[0.0], [2.0]])
    array([[ 1., -1.],
           [-1.,  1.]])
    >>> Stump()([[0.0], [1024.0]])
    array([[ 513., -511.],
           [-511.,  513.]])
    """

    low: ArrayLike | None = None
    high: ArrayLike | None = None
    equation = "Delta - |x - x'|_1"
    source = "LL08 Definition 3, Appendix A"
    neutral = True
    margin = OPEN

    def total_mass(self, X: Given = None, Z: Given = None) -> float:
        if X is None:
            return float(np.diff(self.box(), axis=0).sum()) / 2
        X = join_samples(*check_pair(X, Z))
        widths = np.diff(self.box_of(X), axis=0)[0]
        # a box of the sample's own keeps the digits that an offset takes from its ends
        own = (1 + 2 * self.margin) * (X.max(axis=0) - X.min(axis=0))
        return float(np.where(np.isinf(self.domain(X.shape[1])).all(axis=0), own, widths).sum()) / 2

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Hypothesis, ...]:
        box, random = self.box(), validation.generator(random_state)
        return draw_signs(*draw_places(box, box[1] - box[0], n, random), random)

    def additive_scales(self, X: Data) -> Array:
        return np.ones(np.shape(X)[1])


@final
@documented
@dataclass(frozen=True)
class DecisionStump(RangedStumps):
    """K_ds(x, x') = 1/D sum_d (1 - 2 |x_d - x'_d| / (high_d - low_d)), over the D features whose range is not 0.

    KIE06 (11)-(13): the limit of `WeakLearner` over stumps of uniformly drawn features, with thresholds uniform in
    their ranges. Total mass 1. Scaling samples and ranges, feature by feature even, leaves it.

    Examples
    --------
    >>> DecisionStump(low=(0.0, 0.0), high=(1.0, 10.0))([[0.0, 0.0], [0.5, 10.0]])
    array([[ 1. , -0.5],
           [-0.5,  1. ]])
    """

    low: ArrayLike | None = None
    high: ArrayLike | None = None
    equation = "1/D sum_d (1 - 2 |x_d - x'_d| / (high_d - low_d))"
    source = "KIE06 (12), (13)"
    neutral = True
    homogeneity = 0.0

    def tile(self, X: Data, Z: Data) -> Tile:
        check_ranges_known(self, X, Z)
        left, right = check_pair(X, Z)
        _check_varies("X", self.additive_scales(left))
        self.box_of(right)
        return super().tile(left, right)

    def total_mass(self, X: Given = None, Z: Given = None) -> float:
        return 1.0

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Hypothesis, ...]:
        box, random = self.box(), validation.generator(random_state)
        masses = np.sign(_check_varies("low", _uniform_scales(box)))
        return draw_signs(*draw_places(box, masses, n, random), random)

    def additive_scales(self, X: Data) -> Array:
        return _uniform_scales(self.box_of(np.asarray(X, np.float64)))


@final
@dataclass(frozen=True)
class HistogramIntersection(Ranged, AdditiveKernels):
    """K(x, x') = sum_d min(x_d, x'_d), for x, x' >= 0.

    LL08 after Theorem 4: it is ``1/2 (|x|_1 + |x'|_1 - |x - x'|_1)``, so as y'u = 0 it gives `SVMDual` the solutions of
    half the stump kernel, whatever the sizes of the histograms, with the intercept moved by ``-1/2 sum_i u_i y_i
    |x_i|_1``. It embodies the 0/1-valued stumps [x_d >= a], 0 < a <= high_d, with r = 1. Scaling the samples by c
    scales it by c, which for an SVM is a change of C.

    Parameters
    ----------
    high : array-like of shape (n_features,), optional
        The largest value of each feature, which only the total mass and the sampler need to know.

    Examples
    --------
    >>> HistogramIntersection()([[3.0, 1.0], [2.0, 2.0]])
    array([[4., 3.],
           [3., 4.]])
    """

    high: ArrayLike | None = None
    equation = "sum_d min(x_d, x'_d)"
    source = "LL08 section 4.1"
    is_data_independent = True

    @property
    def ends(self) -> Mapping[str, Given]:
        return {"high": self.high}

    def tile(self, X: Data, Z: Data) -> Tile:
        X, Z = check_pair(X, Z)
        self.box_of(join_samples(X, Z))
        return measure(MINIMUM, X, Z)

    def diag(self, X: Data) -> Array:
        X, _ = check_pair(X)
        self.box_of(X)
        return X.sum(axis=1)

    def total_mass(self, X: Given = None, Z: Given = None) -> float:
        _, high = self.box() if X is None else self.box_of(join_samples(*check_pair(X, Z)))
        return float(high.sum())

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Hypothesis, ...]:
        box, random = self.box(), validation.generator(random_state)
        features, thresholds = draw_places(box, box[1], n, random)
        drawn = zip(features.tolist(), thresholds.tolist(), strict=True)
        return tuple(hypotheses.Indicator(d, t) for d, t in drawn)

    def additive_scales(self, X: Data) -> Array:
        return np.full(np.shape(X)[1], 0.5)

    def domain(self, n_features: int) -> Array:
        box = super().domain(n_features)
        box[0] = 0.0
        return box

    def shape_functions(self, vectors: Array, coefficients: Array, box: Array | None = None) -> list[Shape]:
        # g_d(t) = sum_j c_j min(t, x_jd) from t = 0 needs no range
        knots = [np.unique(np.append(0.0, x)) for x in vectors.T]
        return [(k, np.minimum.outer(k, x) @ coefficients) for k, x in zip(knots, vectors.T, strict=True)]


@final
@dataclass(frozen=True, repr=False)
class SimplifiedStump(Simplified, AdditiveKernels):
    """K(x, x') = -|x - x'|_1, or -sum_d scale_d |x_d - x'_d|.

    LL08 Theorem 4: conditionally PSD, and as y'u = 0 it gives `SVMDual` the solutions of the stump kernel; with the
    scales 1/2 those of histogram intersection.

    Parameters
    ----------
    scale : array-like of shape (n_features,), optional
        At least 0; 1 for every feature where it is not given.

    Examples
    --------
    >>> SimplifiedStump()([[0.0], [2.0]])
    array([[-0., -2.],
           [-2., -0.]])
    >>> SimplifiedStump([0.5])([[1e16], [1e16 + 2]])
    array([[-0., -1.],
           [-1., -0.]])
    """

    scale: Given = None
    equation = "-|x - x'|_1"
    source = "LL08 Theorem 4"

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", as_tuple(self.scale))

    @classmethod
    def from_scales(cls, scales: Array) -> SimplifiedStump:
        """Make one of the scales of all features, which are left out if all are 1."""
        return cls() if (scales == 1).all() else cls(scales)

    def tile(self, X: Data, Z: Data) -> Tile:
        X, Z = check_pair(X, Z)
        return measure(DIFFERENCE, X, Z, self._check_scales(X.shape[1]), np.negative)

    def additive_scales(self, X: Data) -> Array:
        return np.ones(np.shape(X)[1]) if self.scale is None else np.asarray(self.scale, np.float64)

    def _check_scales(self, n_features: int) -> Array | None:
        if self.scale is None:
            return None
        scale = validation.finite_array("scale", self.scale, ndim=1)
        validation.one_each("scale", scale, n_features, "feature")
        if scale.min() < 0:
            raise InvalidInput("scale", f"found {scale.min():g}", "give numbers of at least 0")
        return scale

    def __repr__(self) -> str:
        return "SimplifiedStump()" if self.scale is None else f"SimplifiedStump(scale={self.scale})"


@final
@dataclass(frozen=True, eq=False)
class MiddleStump(Kernel):
    """K(x, x') = sum over the middle stumps h of a sample of h(x) h(x').

    One stump for each gap between consecutive distinct values of a feature, with its threshold in the middle: the
    m_qda of LL08 section 4.2. With J stumps it is J less twice the number of thresholds between x and x'. Either sign
    of a stump counts for half, so the set is neutral; its total mass is J. Scaling the samples and the set's own
    leaves it. The K_M of LL08 section 7, where either sign has r = 1/2, is ``0.5 * MiddleStump(X)``: SVM-Mid with the C
    of the print is `SVMDual` with this kernel and C / 2. The weak-learner kernel of KIE06 section 3.1 is 1/J of it.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        The sample whose middle stumps they are.

    Examples
    --------
    >>> MiddleStump([[0.0], [1.0], [2.0]])([[0.0], [2.0]])
    array([[ 2., -2.],
           [-2.,  2.]])
    """

    X: Data = field(repr=False)
    equation = "sum over middle stumps of h(x) h(x')"
    source = "LL08 sections 4.2 and 7; KIE06 section 3.1"
    neutral = True
    homogeneity = 0.0

    @cached_property
    def _columns(self) -> StumpColumns:
        return StumpColumns(validation.samples(self.X), constant=False)

    @cached_property
    def _thresholds(self) -> list[Array]:
        """The ascending thresholds of each feature, found once: kernels are evaluated for a few samples at a time."""
        columns = self._columns
        return [columns.thresholds[columns.features == d] for d in range(columns.X.shape[1])]

    def columns(self) -> StumpColumns:
        """Return the stumps on their own sample, without the constant."""
        return self._columns

    def tile(self, X: Data, Z: Data) -> Tile:
        X, Z = check_pair(X, Z)
        kernel, ranks = self.prepare(X)
        return kernel.tile(ranks, ranks if Z is X else self._ranks(Z))

    def prepare(self, X: Data) -> tuple[Kernel, Array]:
        return RankDifference(self._columns.shape[1]), self._ranks(validation.finite_array("X", X, ndim=2))

    def total_mass(self, X: Given = None, Z: Given = None) -> float:
        return float(self._columns.shape[1])

    def sample(self, n: int, random_state: RandomState = None) -> tuple[Hypothesis, ...]:
        random, stumps = validation.generator(random_state), self._columns
        drawn = random.integers(stumps.shape[1], size=validation.whole("n", n))
        return draw_signs(stumps.features[drawn], stumps.thresholds[drawn], random)

    def cells(self, X: Data) -> StumpColumns:
        """Return one column per group of stumps that are alike on `X`, scaled by the root of their number.

        The columns are stumps on the number of thresholds at or below each value; their inner products are the kernel.
        """
        ranks = self._ranks(validation.samples(X))
        # k stumps with their thresholds between two neighbouring values: one column sqrt(k) sign(rank - t)
        counts = np.bincount(self._columns.features, minlength=ranks.shape[1]).astype(float)
        return StumpColumns(ranks, constant=False, ends=np.stack([np.zeros_like(counts), counts]), gap_scale=np.sqrt)

    def shape_functions(self, vectors: Array, coefficients: Array, box: Array | None = None) -> list[Shape]:
        each = zip(self._thresholds, vectors.T, strict=True)
        return [_build_staircase(thresholds, x, coefficients) for thresholds, x in each]

    def _ranks(self, X: Array) -> Array:
        """Count the thresholds of each feature at or below the value."""
        check_features("X", X, self._columns.X.shape[1], "the sample")
        ranks = [np.searchsorted(t, X[:, d], side="right") for d, t in enumerate(self._thresholds)]
        return np.stack(ranks, axis=1).astype(float)

    def __repr__(self) -> str:
        return f"MiddleStump(sample of shape {np.shape(self.X)})"


@dataclass(frozen=True)
class RankDifference(AdditiveKernels):
    """The kernel of J middle stumps on ranks r, of every feature the number of thresholds at or below its value."""

    n_stumps: int
    equation = "J - 2 |r - r'|_1"

    def additive_scales(self, X: Data) -> Array:
        return np.full(np.shape(X)[1], 2.0)

    def total_mass(self, X: Given = None, Z: Given = None) -> float:
        return float(self.n_stumps)


def as_tuple(values: Given) -> Given:
    """Return an array or a list of numbers as a tuple, which is hashable, and anything else as it is."""
    return tuple(np.asarray(values).tolist()) if np.asarray(values).ndim == 1 else values


def draw_places(box: Array, masses: Array, n: int, random: np.random.Generator) -> tuple[Indices, Array]:
    """Draw `n` features in proportion to their masses, and thresholds uniformly in their ranges."""
    features = random.choice(box.shape[1], size=validation.whole("n", n), p=normalise_masses(masses))
    low, high = box[:, features]
    return features, low + (high - low) * random.random(n)


def draw_signs(features: Indices, thresholds: Array, random: np.random.Generator) -> tuple[hypotheses.Stump, ...]:
    """Return stumps at these places, of either sign."""
    signs = random.choice([1, -1], size=len(features))
    drawn = zip(features.tolist(), thresholds.tolist(), signs.tolist(), strict=True)
    return tuple(hypotheses.Stump(d, t, sign) for d, t, sign in drawn)


def _uniform_scales(box: Array) -> Array:
    """Return 2 / (D (high_d - low_d)), and 0 for ranges of 0; shape (n_features,)."""
    # a feature without a range has the same value in all samples: no distance, and no threshold to count; one whose
    # scale would be no double counts as such, and halves of ends have a difference
    half = box[1] / 2 - box[0] / 2
    varies = half > TINY
    return np.divide(1 / max(varies.sum(), 1), half, out=np.zeros_like(half), where=varies)


def _check_varies(argument: str, scales: Array) -> Array:
    if not scales.any():
        raise InvalidInput(argument, "found no feature with a range", "give low < high for at least one feature")
    return scales


def _build_staircase(thresholds: Array, x: Array, coefficients: Array) -> Shape:
    """Sum the stumps of a feature, each weighted by sum_j c_j h(x_j)."""
    if not len(thresholds):
        return x[:1], np.zeros(1)
    # stump k is +1 at x_j if its threshold is at most x_j, so its weight is sum_j c_j less twice the c_j below it
    below = np.bincount(np.searchsorted(thresholds, x, side="right"), coefficients, len(thresholds) + 1)[:-1].cumsum()
    weights = coefficients.sum() - 2 * below
    # g starts at minus the sum of the weights, and jumps by twice the weight at each threshold
    levels = 2 * np.append(0.0, weights.cumsum()) - weights.sum()
    return np.repeat(thresholds, 2), np.repeat(levels, 2)[1:-1]
