"""Oracles over infinite sets, perceptrons and waves: drawn at random, block by block, and the best of them refined.

A block is an exact oracle over as many sampled hypotheses as fit into memory. Blocks that are drawn once make an exact
oracle over a fixed finite set; drawn anew in every call they are a heuristic over the infinite one, and prove nothing.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import inf, pi
from typing import Any, ClassVar

import numpy as np
from numba import njit
from numpy.typing import ArrayLike
from scipy.spatial.distance import pdist

from cvxens.colgen.oracles.pool import Pool, Votes, evaluate, rank, unite
from cvxens.colgen.oracles.stumps import Stumps
from cvxens.colgen.protocols import Column, Priced
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Constant, Hypothesis, Perceptron, Stump, Wave, negate, project
from cvxens.limits import in_time
from cvxens.types import Array
from cvxens.validation import finite_array, generator, one_of, positive, sample_prices, samples, signed_weights, whole

CHUNK_SIZE = 2**20
"""Values of hypotheses that are held at a time: 8 MiB, which a cache nearly holds."""

FourierFeature = Wave
"""The earlier name of the class, by which it stays importable."""


class SampledOracle(Votes, ABC):
    """An oracle over sampled hypotheses, anew in every call if `resample`.

    `refinement` is the value of the parameter `refinement_name`: above 0, hypotheses are refined, the `n_refined` best.
    """

    refinement_name: ClassVar[str]

    def __init__(self, X: Any, resample: bool, columns_per_round: int, random_state: Any, refinement: int) -> None:
        self.sample = samples(X)
        self.resample = resample
        self.columns_per_round = whole("columns_per_round", columns_per_round)
        if whole(self.refinement_name, refinement, least=0) and not resample:
            found = f"{self.refinement_name}={refinement} needs resample=True"
            raise InvalidInput(self.refinement_name, found, "a fixed set cannot be refined")
        self._random = generator(random_state)
        self._fixed: list[Any] = []
        self.n_refined = 0

    def price(self, s: ArrayLike, exclude: Collection[Hypothesis] = (), row_norm: float = inf) -> Priced:
        """Return the best hypotheses, as `Oracle.price` says; the bounds over sampled ones are infinite."""
        s = signed_weights(s, len(self.sample))
        blocks: Iterable[Any] = self._fixed or self._draw_blocks()
        found = unite((block.price(s, exclude, row_norm) for block in in_time(blocks)), self._n_kept)
        if not self.resample:
            return found
        best, others = found.columns[: self.n_refined], found.columns[self.n_refined :]
        refined = [self._refine(column, s, exclude, row_norm) for column in in_time(best)]
        return Priced(rank([*refined, *others], self.columns_per_round), distinct=True)

    @property
    def _n_kept(self) -> int:
        return max(self.columns_per_round, self.n_refined)

    @abstractmethod
    def _draw_blocks(self) -> Iterator[Any]:
        """Sample hypotheses, and yield them as exact oracles."""

    def _cut(
        self, make: Callable[..., Hypothesis], evaluate_all: Callable[[Array, Array], Array], *drawn: Array
    ) -> Iterator[Pool]:
        """Yield the hypotheses `make(theta, shift)` of what was drawn of both, by blocks, as exact oracles."""
        for chunk in chunks(len(drawn[0]), len(self.sample)):
            own = drawn[0][chunk], drawn[1][chunk]
            embody = partial(_embody, make, own)
            yield Pool(evaluate_all(*own), embody=embody, sample=self.sample, columns_per_round=self._n_kept)

    @abstractmethod
    def _refine(self, column: Column, s: Array, exclude: Collection[Hypothesis], row_norm: float) -> Column:
        """Return a column of an edge at least as large."""


def _embody(make: Callable[..., Hypothesis], drawn: Sequence[Array], index: int, sign: int) -> Hypothesis:
    theta, shift = (each[index].tolist() for each in drawn)
    hypothesis = make(tuple(theta), shift)
    return hypothesis if sign > 0 else negate(hypothesis)


def unit_directions(random: np.random.Generator, n_directions: int, n_features: int) -> Array:
    """Draw directions uniformly on the unit sphere, shape (n_directions, n_features).

    On a line, where the sphere is {-1, +1} and h covers -h, the one direction +1 is returned.
    """
    if n_features == 1:
        return np.ones((1, 1))
    directions = random.standard_normal((n_directions, n_features))
    return directions / np.linalg.norm(directions, axis=1, keepdims=True)


def chunks(n_directions: int, n_samples: int) -> Iterator[slice]:
    """Cut the directions so that the projections of a chunk are about a million numbers.

    Examples
    --------
    >>> list(chunks(1000, 2000))
    [slice(0, 524, None), slice(524, 1048, None)]
    """
    size = max(1, CHUNK_SIZE // n_samples)
    return (slice(start, start + size) for start in range(0, n_directions, size))


class ParallelPerceptrons(Votes):
    """All perceptrons with one of some given directions: the exact oracle over this finite set.

    They are the middle stumps of the projections ``X @ directions.T``: every threshold halfway between two
    neighbouring distinct values, both signs, without the constants.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Finite.
    directions : array-like of shape (n_directions, n_features)
        At least one, and at least one along which the samples differ; equal ones count once.
    columns_per_round : int
        The largest number of columns that are returned: the best perceptrons of as many directions.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> oracle = ParallelPerceptrons(X, [[0.6, 0.8]], columns_per_round=1)
    >>> column, = oracle.price(np.array([-1.0, -1.0, -1.0, 1.0])).columns
    >>> print(column.hypothesis, column.edge)
    0.6 x[0] + 0.8 x[1] >= 1.1 -> +1 4.0
    """

    source = "LL08 section 5, the set P"

    def __init__(self, X: Any, directions: Any, *, columns_per_round: int = 20) -> None:
        self.sample = samples(X)
        distinct = dict.fromkeys(map(tuple, finite_array("directions", directions, ndim=2).tolist()))
        self.directions = np.array(list(distinct))
        self._projection_of = {theta: j for j, theta in enumerate(distinct)}
        limit = whole("columns_per_round", columns_per_round)
        self.stumps = Stumps(project(self.sample, self.directions), constant=False, columns_per_round=limit)

    def price(self, s: ArrayLike, exclude: Collection[Hypothesis] = (), row_norm: float = inf) -> Priced:
        """Return the best perceptron of each direction, as `Oracle.price` says; the bounds are exact."""
        # the stumps of the projections that some of the hypotheses are
        perceptrons = [h for h in exclude if isinstance(h, Perceptron) and h.theta in self._projection_of]
        stumps = [Stump(self._projection_of[h.theta], h.alpha, h.sign) for h in perceptrons]
        priced = self.stumps.price(s, stumps, row_norm)
        return replace(priced, columns=[self._embody(column) for column in priced.columns])

    def _embody(self, column: Column) -> Column:
        stump: Any = column.hypothesis
        theta = tuple(self.directions[stump.feature].tolist())
        return Column(Perceptron(theta, stump.threshold, stump.sign), self.sample, column.edge)


class Perceptrons(SampledOracle):
    """Perceptrons sign(theta'x - alpha): sampled directions with all thresholds, and trained ones.

    Directions are uniform on the sphere; of each, sorting the projections gives the exact best threshold and
    sign, so 2000 directions are many more perceptrons than the 2000 pairs (theta, kappa) of SL VI-A. The best few can
    be trained further by random coordinate descent on the weighted 0/1 loss, which raises their edge. Either is a
    heuristic over all perceptrons and says so, ``edge_bound = inf``; over directions sampled once, ``resample=False``,
    the oracle is exact.

    ``Perceptrons(X, thresholds="sampled")`` has the 2000 pairs of SL in every call, and
    ``Perceptrons(X, n_directions=1, refined=1)`` is the learner of LL08 section 7: one random start, trained by
    RCD-bias for 200 epochs. The constants always belong to the set. Scale the features alike first.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Finite, not all rows alike.
    n_directions : int
        Number of directions sampled. If they are fixed, their sorted projections are kept, 21 bytes for each
        sample and direction; else a million of them at a time.
    thresholds : {"all", "sampled"}
        The thresholds of a direction: each that makes a difference, or one, uniform on [-R, R] with the samples inside
        of the ball of radius R, as the kernel of `cvxens.kernels.Perceptron` weighs them.
    refined : int
        So many of the best are trained, at most `n_directions`.
    epochs : int
        Line searches in training one perceptron.
    resample : bool
        True if every call samples new directions.
    columns_per_round : int
        The largest number of columns that are returned, of as many directions.
    random_state : int, Generator or None
        Seed; the same seed gives the same columns, call after call.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range, or `refined` is asked of fixed directions.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> oracle = Perceptrons(X, n_directions=100, resample=False, columns_per_round=1, random_state=0)
    >>> priced = oracle.price(np.array([1.0, -1.0, -1.0, 1.0]))
    >>> priced.columns[0].edge, round(priced.edge_bound, 12)
    (2.0, 2.0)
    """

    source = "LL08 sections 5 and 7; Li & Lin, IJCNN 2007; SL VI-A"
    refinement_name = "refined"

    def __init__(
        self,
        X: Any,
        *,
        n_directions: int = 2000,
        thresholds: str = "all",
        refined: int = 0,
        epochs: int = 200,
        resample: bool = True,
        columns_per_round: int = 20,
        random_state: Any = None,
    ) -> None:
        super().__init__(X, resample, columns_per_round, random_state, refined)
        self.n_directions = whole("n_directions", n_directions)
        self.thresholds = one_of("thresholds", thresholds, ["all", "sampled"])
        self.refined = self.n_refined = refined
        self.epochs = whole("epochs", epochs)
        if refined > n_directions:
            raise InvalidInput("refined", f"refined={refined} exceeds n_directions={n_directions}", "refine fewer")
        self._constant = Pool.of([Constant(1)], self.sample)
        self._fixed = [] if resample else list(self._draw_blocks())

    def price(self, s: ArrayLike, exclude: Collection[Hypothesis] = (), row_norm: float = inf) -> Priced:
        """Return the best of the directions, the trained ones and the constant, as `Oracle.price` says.

        The bounds over fixed directions are exact; those over sampled ones are infinite.
        """
        parts = super().price(s, exclude, row_norm), self._constant.price(s, exclude, row_norm)
        return unite(parts, self.columns_per_round)

    def _draw_blocks(self) -> Iterator[ParallelPerceptrons | Pool]:
        if self.thresholds == "sampled":
            yield from self._draw_pairs()
            return
        directions = unit_directions(self._random, self.n_directions, self.sample.shape[1])
        for chunk in chunks(len(directions), len(self.sample)):
            yield ParallelPerceptrons(self.sample, directions[chunk], columns_per_round=self._n_kept)

    def _draw_pairs(self) -> Iterator[Pool]:
        """Draw pairs of a direction and a threshold, and yield them by blocks."""
        X, n = self.sample, self.n_directions
        theta = self._random.standard_normal((n, X.shape[1]))
        theta /= np.linalg.norm(theta, axis=1, keepdims=True)
        radius = float(np.linalg.norm(X, axis=1).max())
        alpha = self._random.uniform(-radius, radius, n)
        make = partial(Perceptron, sign=1)
        yield from self._cut(make, lambda own, t: np.where(project(X, own) >= t, 1.0, -1.0), theta, alpha)

    def _refine(self, column: Column, s: Array, exclude: Collection[Hypothesis], row_norm: float) -> Column:
        start: Any = column.hypothesis
        output = s[:, np.abs(s.T @ column.values).argmax()]
        w = descend(self.sample, output, start.sign * np.append(start.theta, -start.alpha), self.epochs, self._random)
        direction = w[:-1] / max(np.linalg.norm(w[:-1]), np.finfo(float).tiny)
        if np.ptp(project(self.sample, [direction])) == 0:
            return column
        trained = ParallelPerceptrons(self.sample, [direction], columns_per_round=1).price(s, exclude, row_norm)
        return rank([column, *trained.columns], 1)[0]


def descend(X: Array, s: Array, w: Array, epochs: int, random: np.random.Generator) -> Array:
    """Raise the edge of ``sign(X theta + w_0)``, w = (theta, w_0), by random coordinate descent (RCD-bias).

    Every epoch searches one line exactly: the intercept first and then again after every n_features random
    directions, which are uniform on the cube and leave the intercept alone (Li and Lin, Optimizing 0/1 loss
    for perceptrons by random coordinate descent, IJCNN 2007).
    """
    lines = np.zeros((epochs, len(w)))
    lines[:: len(w), -1] = 1.0
    moved = lines[:, -1] == 0
    lines[moved, :-1] = random.uniform(-1.0, 1.0, (np.count_nonzero(moved), len(w) - 1))
    return search_lines(np.ascontiguousarray(X, np.float64), s, w, lines)


@njit(cache=True)
def search_lines(X: Array, s: Array, w: Array, lines: Array) -> Array:
    """Go along one line after the other to where the edge is largest, each time with w brought back to norm 1."""
    for k in range(len(lines)):
        w = w + step(X @ w[:-1] + w[-1], X @ lines[k, :-1] + lines[k, -1], s) * lines[k]
        w = w / max(np.linalg.norm(w), np.finfo(np.float64).tiny)
    return w


@njit(cache=True)
def step(a: Array, g: Array, s: Array) -> float:
    """Return the t of the largest ``sum_i s_i sign(a_i + t g_i)``, halfway between two sign changes."""
    # the sign of a_i + t g_i changes at t = -a_i / g_i, and the sum rises there by 2 s_i sign(g_i)
    moving = np.flatnonzero(g)
    changes = -a[moving] / g[moving]
    order = np.argsort(changes)
    t, rise = changes[order], 2 * (s[moving] * np.sign(g[moving]))[order]
    if len(t) == 0 or not np.isfinite(t).all():
        return 0.0
    # beyond the first and the last change the sum stays: any distance will do, here that between them
    reach = max(t[-1] - t[0], abs(t[0]))
    if reach == 0.0:
        reach = 1.0
    best, best_t, edge = 0.0, t[0] - reach, 0.0
    for k in range(len(t)):
        edge += rise[k]
        if edge > best and (k + 1 == len(t) or t[k + 1] > t[k]):
            best = edge
            best_t = t[k] + reach if k + 1 == len(t) else (t[k] + t[k + 1]) / 2
    return best_t


def median_distance(X: Any, *, n_samples: int = 1000, random_state: Any = None, sample_weight: Any = None) -> float:
    """Return the median Euclidean distance between distinct rows of X: the usual guess at a bandwidth.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Finite, not all rows alike.
    n_samples : int
        Of more rows than these a random subsample is taken.
    random_state : int, Generator or None
        Seed of the subsample.
    sample_weight : array-like of shape (n_samples,), optional
        How much of the sample each row is, above 0; a distance counts by the product of two. By default 1.

    Examples
    --------
    >>> median_distance([[0.0], [1.0], [3.0]])
    2.0
    """
    X = samples(X)
    masses = sample_prices("sample_weight", 1.0 if sample_weight is None else sample_weight, len(X))
    if len(X) > n_samples:
        drawn = generator(random_state).choice(len(X), n_samples, replace=False)
        X, masses = X[drawn], masses[drawn]
    distances = pdist(X)
    if not distances.any():
        raise InvalidInput("sigma", f"found {len(X)} equal rows in a subsample", "give sigma as a number")
    distinct, first, second = distances > 0, *np.triu_indices(len(X), 1)
    return _median(distances[distinct], (masses[first] * masses[second])[distinct])


def _median(values: Array, masses: Array) -> float:
    """Return the middle of the values, by mass; halfway between two that have half of the mass on either side."""
    order = values.argsort()
    shares = masses[order].cumsum()
    half = shares[-1] / 2
    first, last = np.searchsorted(shares, half), np.searchsorted(shares, half, side="right")
    return float(values[order[first]] + values[order[min(last, len(values) - 1)]]) / 2


class Fourier(SampledOracle):
    """Fourier features cos(theta'x - kappa), theta ~ N(0, I / sigma**2), kappa uniform on [0, 2 pi).

    Over this law h(x) h(x') averages to half the Gaussian kernel ``exp(-|x - x'|**2 / (2 sigma**2))`` (Rahimi & Recht).
    The best of a sampled pool are returned, as in SL VI-A, with a new pool in every call. That is a
    heuristic and says so, ``edge_bound = inf``; over one fixed pool, ``resample=False``, the oracle is exact.

    SL takes the bandwidth that cross-validation chooses for the SVM with that kernel: after
    ``search = PriceSearchCV(InfiniteEnsembleSVC("gaussian"), {"gamma": gammas}).fit(X, y)`` it is
    ``sigma = (2 * search.best_params_["gamma"]) ** -0.5``. The median distance is ours.

    Parameters
    ----------
    pool : int
        Number of features sampled. A fixed pool keeps its (n_samples, pool) values.
    sigma : float or None
        Bandwidth, in the units of X, above 0; None for the median distance between the samples.
    refine : int
        Number of gradient steps on theta and kappa that each returned feature gets; its edge never falls.
    resample : bool
        True if every call samples a new pool.
    sample_weight : array-like of shape (n_samples,), optional
        How much of the sample each row is, above 0, for the median distance; by default 1.
    X, columns_per_round, random_state
        As of `Perceptrons`.

    Raises
    ------
    InvalidInput
        If a parameter is out of its range, or `refine` is asked of a fixed pool.

    Examples
    --------
    >>> X = np.linspace(0.0, 6.0, 50)[:, None]
    >>> s = np.cos(2.0 * X[:, 0] - 1.0) / 50
    >>> best, = Fourier(X, sigma=0.5, refine=20, columns_per_round=1, random_state=0).price(s).columns
    >>> print(best.hypothesis)
    cos(1.938 x[0] - 0.8351)
    """

    source = "SL VI-A; Rahimi & Recht 2007"
    refinement_name = "refine"

    def __init__(
        self,
        X: Any,
        *,
        pool: int = 2000,
        sigma: float | None = None,
        refine: int = 0,
        resample: bool = True,
        columns_per_round: int = 20,
        sample_weight: Any = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(X, resample, columns_per_round, random_state, refine)
        self.pool = whole("pool", pool)
        self.refine = refine
        self.n_refined = self.columns_per_round if refine else 0
        if sigma is None:
            sigma = median_distance(self.sample, random_state=self._random, sample_weight=sample_weight)
        self.sigma = positive("sigma", sigma)
        self._fixed = [] if resample else list(self._draw_blocks())

    def _draw_blocks(self) -> Iterator[Pool]:
        X = self.sample
        theta = self._random.standard_normal((self.pool, X.shape[1])) / self.sigma
        kappa = self._random.uniform(0.0, 2 * pi, self.pool)
        yield from self._cut(Wave, lambda own, phases: np.cos(X @ own.T - phases), theta, kappa)

    def _refine(self, column: Column, s: Array, exclude: Collection[Hypothesis], row_norm: float) -> Column:
        wave: Any = column.hypothesis
        output = s[:, np.abs(s.T @ column.values).argmax()]
        centre = self.sample.mean(axis=0)
        # in the coordinates (x - centre) / sigma and theta sigma all directions have one scale
        start = np.array([*(np.array(wave.theta) * self.sigma), wave.kappa - centre @ wave.theta])
        theta_kappa = ascend((self.sample - centre) / self.sigma, output, start, self.refine)
        theta = theta_kappa[:-1] / self.sigma
        refined = Wave(tuple(theta.tolist()), float((theta_kappa[-1] + centre @ theta) % (2 * pi)))
        return rank([column, evaluate(refined, self.sample, s, row_norm)], 1)[0]


def edge_and_gradient(X: Array, s: Array, theta_kappa: Array) -> tuple[float, Array]:
    """Return ``sum_i s_i cos(theta'x_i - kappa)`` and its gradient in (theta, kappa)."""
    phase = X @ theta_kappa[:-1] - theta_kappa[-1]
    slope = s * np.sin(phase)
    return float(s @ np.cos(phase)), np.array([*(-(X.T @ slope)), slope.sum()])


def ascend(X: Array, s: Array, theta_kappa: Array, steps: int, halvings: int = 20) -> Array:
    """Return (theta, kappa) after gradient steps on the edge, each halved until the edge rises.

    A step that rises is doubled for the next one, so the first length matters little: it is half the scale of theta.
    After `halvings` halvings it is 5e-7 of it, and the edge as good as at a maximum.
    """
    edge, gradient = edge_and_gradient(X, s, theta_kappa)
    length = 0.5
    for _ in range(steps):
        norm = float(np.linalg.norm(gradient))
        if norm == 0:
            break
        for _ in range(halvings):
            candidate = theta_kappa + length / norm * gradient
            risen, new_gradient = edge_and_gradient(X, s, candidate)
            if risen > edge:
                theta_kappa, edge, gradient = candidate, risen, new_gradient
                length *= 2
                break
            length /= 2
        else:
            break
    return theta_kappa
