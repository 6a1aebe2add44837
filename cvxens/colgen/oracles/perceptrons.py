"""Perceptrons sign(theta'x - alpha): sampled directions with exact thresholds, and trained ones."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from functools import partial
from math import inf
from typing import Any

import numpy as np
from numba import njit

from cvxens.colgen.oracles.pool import Pool, rank, unite
from cvxens.colgen.oracles.sampling import SampledOracle, chunks, unit_directions
from cvxens.colgen.oracles.stumps import Stumps
from cvxens.colgen.protocols import Column, Priced
from cvxens.errors import InvalidInput
from cvxens.hypotheses import Constant, Hypothesis, Perceptron, Stump, project
from cvxens.types import Array
from cvxens.validation import finite_array, one_of, samples, whole


class ParallelPerceptrons:
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
    negations = True
    largest = 1.0
    votes = True

    def __init__(self, X: Any, directions: Any, *, columns_per_round: int = 20) -> None:
        self.sample = samples(X)
        distinct = dict.fromkeys(map(tuple, finite_array("directions", directions, ndim=2).tolist()))
        self.directions = np.array(list(distinct))
        self._projection_of = {theta: j for j, theta in enumerate(distinct)}
        limit = whole("columns_per_round", columns_per_round)
        self.stumps = Stumps(project(self.sample, self.directions), constant=False, columns_per_round=limit)

    def price(self, s: Any, exclude: Collection[Hypothesis] = (), row_norm: float = inf) -> Priced:
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
        self._constant = Pool(np.ones((len(self.sample), 1)), embody=_make_constant, sample=self.sample)
        self._fixed = [] if resample else list(self._draw_blocks())

    def price(self, s: Any, exclude: Collection[Hypothesis] = (), row_norm: float = inf) -> Priced:
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
        for chunk in chunks(n, len(X)):
            yield Pool(
                np.where(project(X, theta[chunk]) >= alpha[chunk], 1.0, -1.0),
                embody=partial(_make_perceptron, theta[chunk], alpha[chunk]),
                sample=X,
                columns_per_round=self._n_kept,
            )

    def _refine(self, column: Column, s: Array, exclude: Collection[Hypothesis], row_norm: float) -> Column:
        start: Any = column.hypothesis
        output = s[:, np.abs(s.T @ column.values).argmax()]
        w = start.sign * np.append(start.theta, -start.alpha)
        w = descend(self.sample, output, w, self.epochs, self._random)
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
    n_features = X.shape[1]
    intercept = np.eye(n_features + 1)[-1]
    for epoch in range(epochs):
        direction = intercept
        if epoch % (n_features + 1):
            direction = np.append(random.uniform(-1.0, 1.0, n_features), 0.0)
        w = w + step(X @ w[:-1] + w[-1], X @ direction[:-1] + direction[-1], s) * direction
        w = w / max(np.linalg.norm(w), np.finfo(float).tiny)
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


def _make_perceptron(theta: Array, alpha: Array, index: int, sign: int) -> Perceptron:
    return Perceptron(tuple(theta[index].tolist()), float(alpha[index]), sign)


def _make_constant(_index: int, sign: int) -> Constant:
    return Constant(sign)
