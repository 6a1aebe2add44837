"""Fourier features cos(theta'x - kappa): a sampled pool, refined by gradient steps on the edge."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from functools import partial
from math import pi
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist

from cvxens.colgen.oracles.pool import Pool, evaluate, rank
from cvxens.colgen.oracles.sampling import SampledOracle, chunks
from cvxens.colgen.protocols import Column
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Hypothesis, Wave, negate
from cvxens.types import Array
from cvxens.validation import generator, positive, sample_prices, samples, whole

FourierFeature = Wave
"""The earlier name of the class, by which it stays importable."""


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
    X : array-like of shape (n_samples, n_features)
        Finite, not all rows alike.
    pool : int
        Number of features sampled. A fixed pool keeps its (n_samples, pool) values.
    sigma : float or None
        Bandwidth, in the units of X, above 0; None for the median distance between the samples.
    refine : int
        Number of gradient steps on theta and kappa that each returned feature gets; its edge never falls.
    resample : bool
        True if every call samples a new pool.
    columns_per_round : int
        The largest number of columns that are returned.
    sample_weight : array-like of shape (n_samples,), optional
        How much of the sample each row is, above 0, for the median distance; by default 1.
    random_state : int, Generator or None
        Seed; the same seed gives the same columns, call after call.

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
        for chunk in chunks(self.pool, len(X)):
            yield Pool(
                np.cos(X @ theta[chunk].T - kappa[chunk]),
                embody=partial(_make_wave, theta[chunk], kappa[chunk]),
                sample=X,
                columns_per_round=self.columns_per_round,
            )

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


def _make_wave(theta: Array, kappa: Array, index: int, sign: int) -> Hypothesis:
    wave = Wave(tuple(theta[index].tolist()), float(kappa[index]))
    return wave if sign > 0 else negate(wave)
