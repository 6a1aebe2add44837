"""Soft margins over all steps of all features at once, by a first-order method on sums of functions of one feature.

The score of a combination of stumps is ``f(x) = b + sum_j f_j(x_j)``, where ``f_j`` is piecewise constant with a mean
of 0 over the sample, and the sum of the weights is half of its *total variation*. A constant is a hypothesis too, so

    sum w = sum_j TV(f_j) / 2 + |b + sum_j m_j|,    m_j half of the first and last value of f_j together,

and soft margins over all stumps are a saddle point, with q in [-1, 1], or free where the constant is no hypothesis:

    max over 0 <= u <= C, q of min over f of sum_i u_i (1 - y_i f(x_i)) + sum_j TV(f_j) / 2 + q (b + sum_j m_j)

The primal-dual hybrid gradient method (Chambolle & Pock 2011) takes steps in f and in (u, q) in turn. The proximal map
of a total variation is exact and costs a pass over the values of the feature (Johnson, *A dynamic programming algorithm
for the fused lasso and L0-segmentation*, 2013). So an iteration costs a few passes over the sample, whatever the number
of stumps in the optimum: a linear program over them has a matrix of that number squared to factor. Halpern's iteration
of the reflected step, with restarts and a primal weight from the distances travelled, is as Lu & Yang (*Restarted
Halpern PDHG for linear programming*, 2024) have it.

Functions are constant over *bins* of values, some at first. Bounds are over all stumps: where those between the bins
spoil them, bins are cut at the stump of the largest edge in each. A function over bins is one over finer bins too, with
the same scores and norm, so that the iteration goes on as if nothing had happened. Bins stay far fewer than values
(12,000 of 200,000 at 20,000 x 10 and nu = 0.3), and an iteration costs a quarter or less.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import inf, sqrt
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from cvxens.features import BinnedFeatures, Listed
from cvxens.limits import interruptible, map_in_threads, time_left
from cvxens.problems.duality import capped_simplex
from cvxens.problems.losses import Hinge, SoftMinimumMargin
from cvxens.types import Array, Indices

CHECK = 20
"""Iterations between two looks at the gap, which costs about as much as one of them."""

BINS = 64
"""Bins of every feature to begin with; 16 to 256 take about as long (threenorm, 20,000 x 10 at nu = 0.3)."""

PATIENCE = 1500
"""Iterations within which the gap is to fall by a third, or the method is left."""


@dataclass(frozen=True, eq=False)
class StepSums:
    """Sums of functions of one feature over a sample: the values of every feature, and how many samples have each.

    Of a feature of which most samples have one value, the *rest*, the others alone are listed.

    Parameters
    ----------
    features : BinnedFeatures
        Without missing values.
    """

    varying: Indices  # the features, among all
    n_samples: int
    counts: Array  # of every value
    starts: Indices  # where the values of every feature start, and the last end
    listed: Listed

    @classmethod
    def from_features(cls, features: BinnedFeatures) -> StepSums:
        """Count the samples of every value of the features that vary, none of which is missing."""
        distinct, n = features.n_distinct, features.n_samples
        varying = np.flatnonzero(distinct > 1)
        distinct = distinct[varying]
        kind = _choose_kind(distinct)

        def encode(row: int) -> tuple[Array, tuple[NDArray[Any], NDArray[np.int32], int]]:
            codes = features.rank(int(varying[row])).astype(kind)
            counts = np.bincount(codes, minlength=distinct[row]).astype(np.float64)
            # rows to be looked up cost about as much as the values themselves
            rest = int(counts.argmax()) if counts.max() >= 0.6 * n else -1
            listed = np.flatnonzero(codes != rest).astype(np.int32)
            return counts, (codes[listed], listed, rest)

        counts, listed = zip(*map_in_threads(encode, range(len(distinct))), strict=True)
        starts = np.append(0, np.cumsum(distinct))
        return cls(varying, n, np.concatenate(counts), starts, Listed.join(zip(*listed, strict=True), n, kind))

    @cached_property
    def slices(self) -> list[tuple[int, int]]:
        """The features that a thread takes at a time."""
        n = len(self.varying)
        # scores are summed slice by slice, so that their number, which is not that of the threads, decides the last
        # bits
        ends = np.linspace(0, n, min(8, n) + 1).astype(int)
        return list(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True))

    def cut(self, n_bins: int) -> Indices:
        """Return where about so many bins of every feature begin, of about as many samples each.

        The rest of a feature is a bin of its own.
        """
        below = np.cumsum(self.counts) - self.counts
        below -= np.repeat(below[self.starts[:-1]], np.diff(self.starts))
        bins = np.floor(below * (n_bins / self.n_samples))
        begins = np.diff(bins, prepend=-1.0) != 0
        begins[self.starts[:-1]] = True
        has_rest = self.listed.rests >= 0
        rests = (self.starts[:-1] + self.listed.rests)[has_rest]
        begins[rests] = True
        begins[np.minimum(rests + 1, len(begins) - 1)] = True
        return np.flatnonzero(begins)

    def merge(self, firsts: Indices) -> StepSums:
        """Return the sums of functions that are the same over bins, which begin with these values, ascending."""
        starts = np.searchsorted(firsts, self.starts)
        kind = _choose_kind(np.diff(starts))
        # which bin of its feature every value is in
        own = (np.arange(len(firsts)) - np.repeat(starts[:-1], np.diff(starts))).astype(kind)
        bins = np.repeat(own, np.diff(firsts, append=len(self.counts)))
        old, codes = self.listed, np.empty(len(self.listed.codes), kind)

        def recode(j: int) -> None:
            own = slice(old.ends[j], old.ends[j + 1])
            np.take(bins[self.starts[j] : self.starts[j + 1]], old.codes[own], out=codes[own])

        map_in_threads(recode, range(len(self.varying)))
        rests = np.where(old.rests >= 0, bins[self.starts[:-1] + old.rests].astype(np.intp), -1)
        listed = old._replace(codes=codes, rests=rests)
        return StepSums(self.varying, self.n_samples, np.add.reduceat(self.counts, firsts), starts, listed)

    def find_peaks(self, s: Array, firsts: Indices) -> tuple[Indices, Array]:
        """Return the value, in every bin, at which a stump of the largest edge in it rises, and that size.

        It is -1 where all are 0. Under signed weights; the edge of the constant is not among them.
        """
        ends = np.searchsorted(firsts, self.starts)
        peaks, sizes = np.full(len(firsts), -1), np.zeros(len(firsts))

        def work(features: tuple[int, int]) -> None:
            _find_peaks(*features, self.listed, self.starts, s, firsts, ends, peaks, sizes)

        map_in_threads(work, self.slices)
        return peaks, sizes

    def largest_edge(self, s: Array) -> float:
        """Return the largest edge of all stumps: with every feature a bin."""
        return float(self.find_peaks(s, self.starts[:-1])[1].max())

    def sweep(self, at: StepFunctions, s: Array, pull: float, length: float, share: float) -> Swept:
        """Take a step in all functions: ``f + length s``, then the proximal map of ``length / 2`` total variations.

        Before, they move to Halpern's mean: ``share`` of the reflection of the last step, and the rest of the anchor.
        `pull` is half of q, which the first and the last values of every feature feel.
        """
        scores, after = np.empty((len(self.slices), self.n_samples)), at.after

        def work(k: int) -> None:
            _sweep(*self.slices[k], self.listed, self.starts, self.counts, at, s, (pull, length, share), scores[k])

        map_in_threads(work, range(len(self.slices)))
        rises = np.abs(np.diff(after))
        # not those from one feature to the next
        variation = float(rises.sum() - rises[self.starts[1:-1] - 1].sum()) / 2
        ends = float(after[self.starts[:-1]].sum() + after[self.starts[1:] - 1].sum()) / 2
        return Swept(scores.sum(axis=0), ends, variation, float(self.counts @ (after - at.before) ** 2))


def _choose_kind(distinct: Indices) -> type[np.uint16 | np.int32]:
    return np.uint16 if distinct.max() <= 2**16 else np.int32


class StepFunctions(NamedTuple):
    """Values of functions of one feature each, one after the other: before a step, after it, and of the anchor."""

    before: Array
    after: Array
    anchor: Array


class Swept(NamedTuple):
    """What a step has led to."""

    scores: Array  # sum_j f_j of the samples
    ends: float  # sum_j m_j
    variation: float  # sum_j TV(f_j) / 2
    moved: float  # the squares of the change, over the sample, of all functions


class SplitPoint(NamedTuple):
    """All but the functions themselves."""

    u: Array
    q: float
    b: float
    scores: Array  # of the samples, without b
    ends: float  # sum_j m_j

    def reflect(self, old: SplitPoint, anchor: SplitPoint, share: float) -> SplitPoint:
        """Return Halpern's mean of the reflection of an old point in this one, and of the anchor."""
        ahead, rest = 2 * share, 1 - share
        parts: Any = zip(self, old, anchor, strict=True)
        return SplitPoint(*(ahead * own - share * before + rest * first for own, before, first in parts))


@njit(cache=True, nogil=True)
def _sum_up(j: int, listed: Listed, s: Array, total: float, sums: Array) -> None:
    """Add s up by the values of feature j."""
    for k in range(len(sums)):
        sums[k] = 0.0
    start, first, rest = listed.ends[j], listed.row_starts[j], listed.rests[j]
    n_listed = listed.ends[j + 1] - start
    codes, rows = listed.codes[start : start + n_listed], listed.rows[first : first + n_listed]
    if rest < 0:
        for i in range(n_listed):
            sums[codes[i]] += s[i]
        return
    for i in range(n_listed):
        sums[codes[i]] += s[rows[i]]
    sums[rest] = total - sums.sum()


@njit(cache=True, nogil=True)
def _find_peaks(
    first: int,
    last: int,
    listed: Listed,
    starts: NDArray[Any],
    s: Array,
    firsts: NDArray[Any],
    ends: NDArray[Any],
    peaks: NDArray[Any],
    sizes: Array,
) -> None:
    total = s.sum()
    for j in range(first, last):
        sums = np.empty(starts[j + 1] - starts[j])
        _sum_up(j, listed, s, total, sums)
        below, k = 0.0, starts[j]
        for place in range(ends[j], ends[j + 1]):
            end = firsts[place + 1] if place + 1 < ends[j + 1] else starts[j + 1]
            below += sums[k - starts[j]]
            k += 1
            while k < end:
                # the edge of a stump that rises at value k
                edge = abs(total - 2 * below)
                if edge > sizes[place]:
                    sizes[place], peaks[place] = edge, k
                below += sums[k - starts[j]]
                k += 1


@njit(cache=True, nogil=True)
def _sweep(
    first: int,
    last: int,
    listed: Listed,
    starts: NDArray[Any],
    counts: Array,
    at: StepFunctions,
    s: Array,
    settings: tuple[float, float, float],
    scores: Array,
) -> None:
    """Step in the features from `first` to below `last`; their scores are written."""
    pull, length, share = settings
    n, total, of_rests = len(s), s.sum(), 0.0
    for i in range(n):
        scores[i] = 0.0
    for j in range(first, last):
        start, n_values = starts[j], starts[j + 1] - starts[j]
        weights = counts[start : start + n_values]
        before, after = at.before[start : start + n_values], at.after[start : start + n_values]
        anchor = at.anchor[start : start + n_values]
        target = np.empty(n_values)
        _sum_up(j, listed, s, total, target)
        target[0] -= pull
        target[n_values - 1] -= pull
        for k in range(n_values):
            before[k] = share * (2 * after[k] - before[k]) + (1 - share) * anchor[k]
            target[k] = before[k] + length * target[k] / weights[k]
        smooth(weights, target, length / 2, after)
        mean = 0.0
        for k in range(n_values):
            mean += weights[k] * after[k]
        mean /= n
        for k in range(n_values):
            after[k] -= mean
        place, row, rest = listed.ends[j], listed.row_starts[j], listed.rests[j]
        n_listed = listed.ends[j + 1] - place
        codes, rows = listed.codes[place : place + n_listed], listed.rows[row : row + n_listed]
        if rest < 0:
            for i in range(n):
                scores[i] += after[codes[i]]
        else:
            of_rests += after[rest]
            for i in range(n_listed):
                scores[rows[i]] += after[codes[i]] - after[rest]
    for i in range(n):
        scores[i] += of_rests


@njit(cache=True, nogil=True)
def smooth(weights: Array, y: Array, size: float, x: Array) -> None:
    """Minimise ``1/2 sum_k weights_k (x_k - y_k)^2 + size sum_k |x_k - x_(k-1)|`` into x, of at least two entries.

    The derivative of the best value as a function of x_k is piecewise linear; a pass from left to right keeps its
    knots, clipped to [-size, size], where x_k is cut off if x_(k+1) is beyond; a pass back reads x (Johnson 2013).
    """
    n = len(y)
    # the knots from `left` to `right`: where they are, and what slope and intercept of the derivative change by
    knots, slopes, rests = np.empty(2 * n), np.empty(2 * n), np.empty(2 * n)
    lows, highs = np.empty(n), np.empty(n)
    left, right = n - 1, n
    w = weights[0]
    knots[left], knots[right] = y[0] - size / w, y[0] + size / w
    lows[0], highs[0] = knots[left], knots[right]
    slopes[left], rests[left] = w, size - w * y[0]
    slopes[right], rests[right] = -w, size + w * y[0]
    for k in range(1, n):
        w = weights[k]
        # from the left, up to where the derivative exceeds -size, or 0 at the end
        least = -size if k < n - 1 else 0.0
        slope, rest, low = w, -size - w * y[k], left
        while low <= right and slope * knots[low] + rest <= least:
            slope += slopes[low]
            rest += rests[low]
            low += 1
        if k == n - 1:
            x[k] = -rest / slope
            break
        lows[k] = (-size - rest) / slope
        # from the right, down to where it is below size; slope and intercept with the other sign
        slope_down, rest_down, high = -w, w * y[k] - size, right
        while high >= low and -slope_down * knots[high] - rest_down >= size:
            slope_down += slopes[high]
            rest_down += rests[high]
            high -= 1
        highs[k] = (size + rest_down) / -slope_down
        left, right = low - 1, high + 1
        knots[left], slopes[left], rests[left] = lows[k], slope, rest + size
        knots[right], slopes[right], rests[right] = highs[k], slope_down, rest_down + size
    for k in range(n - 2, -1, -1):
        x[k] = min(max(x[k + 1], lows[k]), highs[k])


@dataclass(frozen=True)
class Lead:
    """What the method has found: weights of stumps, and multipliers."""

    weights: Array  # above 0
    features: Indices  # of every stump; -1 for the constant, which comes last
    places: Indices  # which of the places of its feature where the value changes
    signs: Indices
    u: Array
    gap: float


class AdditiveHinge:
    """``min C sum xi + sum w`` over all stumps, or LPBoost's soft minimum margin over them.

    LPBoost at the prices D has the solutions of soft margins at C = D / rho, rho its optimum (DBS02): with weights w of
    a sum, ``r = (1 - D sum xi) / sum w`` is at most rho, and C = D / r Newton's step for ``C = D U(C)``, U the optimum
    of soft margins. So C moves to that with every restart.

    Parameters
    ----------
    sums : StepSums
        The sample.
    y : ndarray of shape (n_samples,)
        Labels -1 and +1.
    prices : ndarray of shape (n_samples,)
        C over what a unit of weight costs; D of LPBoost.
    constant : bool
        True if the constant is a hypothesis.
    game : bool
        True for LPBoost.
    size : float
        The size of values below which gaps are relative to it.
    """

    def __init__(
        self, sums: StepSums, y: Array, prices: Array, *, constant: bool, game: bool = False, size: float = 0.0
    ) -> None:
        self.sums, self.y, self.prices, self.game, self.size = sums, y, prices, game, size
        self.loss = SoftMinimumMargin(prices) if game else Hinge(prices)
        self.most = 1.0 if constant else inf
        self.firsts = sums.cut(BINS)
        self.binned = sums.merge(self.firsts)
        size = len(self.firsts)
        self.f = StepFunctions(np.zeros(size), np.zeros(size), np.zeros(size))
        self.scale = 1.0
        if game:
            even = capped_simplex(np.full(len(y), 1 / len(y)), prices)
            # rho is at most the largest edge under any multipliers, so C is at least this
            self.scale = 1 / max(sums.largest_edge(y * even), abs(float(y @ even)), 1 / len(y))
        self.at = SplitPoint(0.5 * self.scale * prices, 0.0, 0.0, np.zeros(len(y)), 0.0)
        self.swept, self.after = Swept(self.at.scores, 0.0, 0.0, 0.0), self.at
        # the norm of f -> sum_j f_j: its bound sqrt(d) is met by functions that are the same on the sample; differences
        # of iterates are far from that, of norm 1.0 to 1.3 on 10 to 100 features
        self.norm, self.least_norm = min(1.6, self.largest_norm), min(1.2, self.largest_norm)
        # 0.8 (threenorm, 20,000 x 10, C = 0.1) to 8 (60,000 x 100) units of C is where it ends
        self.weight = 3.0 * self.scale * float(prices.mean())
        self.n_iterations = self.since = 0
        self.best_u, self.bound = self.at.u, -inf
        self.gap = inf
        self._start()

    @property
    def largest_norm(self) -> float:
        """A bound on the norm of the map from functions to scores, with the row of q."""
        return sqrt(len(self.sums.varying) + 1.0)

    def solve(self, goal: float, least_time: float = -inf, most_norm: float = inf) -> Lead:
        """Iterate until the relative gap is at most `goal`, no progress is made, or less than this time is left.

        Norms above `most_norm` end it too: steps are as much shorter, where features are much alike.
        """
        with interruptible():
            self._iterate_until(goal, least_time, most_norm)
        return self._read()

    def _iterate_until(self, goal: float, least_time: float, most_norm: float) -> None:
        looked_at, patience_from = self.gap, self.n_iterations
        while self.gap > goal and time_left() > least_time:
            self._iterate()
            if self.n_iterations % CHECK == 0:
                self._look()
                if self.norm > most_norm:
                    break
                if self.gap < 2 / 3 * looked_at:
                    looked_at, patience_from = self.gap, self.n_iterations
                elif self.n_iterations - patience_from >= PATIENCE:
                    break

    def _start(self) -> None:
        """Begin anew from here: the anchor of Halpern's means."""
        self.f.anchor[:] = self.f.after
        self.f.before[:] = self.f.after
        self.anchor = self.at
        self.since, self.share = 0, 0.0
        self.first_residual = self.last_residual = inf

    def _iterate(self) -> None:
        """Take a step, and Halpern's mean of its reflection or a restart."""
        at, y, n, C = self.at, self.y, len(self.y), self.scale * self.prices
        length, ahead = 1 / (self.norm * self.weight), self.weight / self.norm
        swept = self.binned.sweep(self.f, y * at.u, at.q / 2, length, self.share)
        # b has the column of ones, whose squares sum to n
        b = at.b + length * (float(y @ at.u) - at.q) / n
        changed = swept.scores + b - at.scores - at.b
        u = np.clip(at.u + ahead * (1 - y * (2 * changed + at.scores + at.b)), 0.0, C)
        q = at.q + ahead * (2 * (swept.ends + b) - at.ends - at.b)
        q, moved = min(max(q, -self.most), self.most), swept.moved + n * (b - at.b) ** 2
        du, dq = u - at.u, q - at.q
        norm = sqrt(float(changed @ changed) / moved) if moved > 0 else 0.0
        # the squared length of the step in the metric in which it is a fixed-point iteration
        residual = self.weight * moved + (float(du @ du) + dq**2) / self.weight
        residual -= 2 * float(du @ (y * changed)) / self.norm
        residual = sqrt(max(residual, 0.0))
        self.n_iterations += 1
        self.swept, self.after = swept, SplitPoint(u, q, b, swept.scores, swept.ends)
        is_too_long = norm > self.norm and self.norm < self.largest_norm
        if self.since == 0:
            self.first_residual = residual
        # with the constants of Lu & Yang (2024)
        fell = residual <= 0.2 * self.first_residual
        turned = self.last_residual < residual <= 0.8 * self.first_residual
        late = self.since >= 0.36 * self.n_iterations
        self.last_residual = residual
        if is_too_long or (self.since >= 5 and (fell or turned or late)):
            self._restart(is_too_long, norm)
            return
        self.since += 1
        self.share = self.since / (self.since + 1)
        self.at = self.after.reflect(at, self.anchor, self.share)

    def _restart(self, is_too_long: bool, norm: float) -> None:
        """Begin anew after the last step, with other lengths of steps, and at another price."""
        after, anchor = self.after, self.anchor
        if is_too_long:
            self.norm = self.least_norm = min(self.largest_norm, 1.3 * max(norm, self.norm))
        else:
            in_f = float(self.binned.counts @ (self.f.after - self.f.anchor) ** 2)
            in_f += len(after.u) * (after.b - anchor.b) ** 2
            in_u = float((after.u - anchor.u) @ (after.u - anchor.u)) + (after.q - anchor.q) ** 2
            if in_f > 0 and in_u > 0:
                # the geometric mean of the last weight and the ratio of the distances
                self.weight = sqrt(self.weight * sqrt(in_u / in_f))
            # the first steps go the same way in all features, later ones do not
            self.least_norm = max(min(1.2, self.largest_norm), 0.95 * self.least_norm)
            self.norm = max(self.least_norm, 0.95 * self.norm)
        self.at = after
        if self.game:
            # C moves by a factor of 4 at most
            factor = 4.0
            z, size = self._measure()
            if (r := (1 - float(self.prices @ np.maximum(0.0, 1 - z))) / size if size > 0 else 0.0) > 0:
                factor = min(max(1 / (r * self.scale), 1 / 4.0), 4.0)
            # rho is below the inverse of the dearest price, in units of D, or 0, and another method is to find out
            factor = min(factor, 1e9 / self.scale)
            self.scale *= factor
            self.at, self.weight = after._replace(u=after.u * factor), self.weight * factor
        self._start()

    def _measure(self) -> tuple[Array, float]:
        """Return the margins after the last step, and the sum of the weights."""
        _, _, b, scores, ends = self.after
        size = self.swept.variation + (abs(b + ends) if self.most < inf else 0.0)
        return self.y * (scores - (ends if self.most == inf else -b)), size

    def _look(self) -> None:
        """Evaluate both sides after the last step, keep the best multipliers, and cut bins that are too wide."""
        z, size = self._measure()
        u = self.after.u
        if self.game:
            u = capped_simplex(u / max(float(u.sum()), 1e-300), self.prices)
            value = self.loss.value(z / size) if size > 0 else inf
        else:
            value = self.loss.value(z) + size
        bound, bound_of_bins = self._find_bound(u, self.sums), self._find_bound(u, self.binned)
        if bound > self.bound:
            self.bound, self.best_u = bound, u
        largest = max(abs(value), abs(self.bound), self.size)
        self.gap = (value - self.bound) / largest if 0 < largest < inf else inf
        # from 0.1 to 1 of what is left without them takes about as long
        if bound_of_bins - bound > 0.3 * (value - bound_of_bins):
            self._refine()

    def _find_bound(self, u: Array, sums: StepSums) -> float:
        """Bound the optimum over the stumps of these sums by multipliers within their bounds."""
        s = self.y * u
        edge = max(sums.largest_edge(s), abs(float(s.sum())) if self.most < inf else 0.0)
        return -edge if self.game else float(u.sum()) / max(1.0, edge)

    def _refine(self) -> None:
        """Cut bins where stumps inside them have edges above 1: functions stay what they are, and so does the rest."""
        peaks, sizes = self.sums.find_peaks(self.y * self.after.u, self.firsts)
        firsts = np.union1d(self.firsts, peaks[sizes > 1])
        old_bins = np.searchsorted(self.firsts, firsts, side="right") - 1
        self.f = StepFunctions(*(values[old_bins] for values in self.f))
        self.firsts, self.binned = firsts, self.sums.merge(firsts)

    def _read(self) -> Lead:
        """Read the weights of stumps off the functions after the last step."""
        jumps, starts = np.diff(self.f.after), self.sums.starts
        jumps[self.binned.starts[1:-1] - 1] = 0.0
        at = np.flatnonzero(jumps)
        # the last value before the jump
        before = self.firsts[at + 1] - 1
        features = np.searchsorted(starts, before, side="right") - 1
        places, weights, signs = before - starts[features], np.abs(jumps[at]) / 2, np.sign(jumps[at]).astype(np.intp)
        _, _, b, _, ends = self.after
        level = b + ends
        if self.most < inf and level != 0:
            features, places = np.append(self.sums.varying[features], -1), np.append(places, 0)
            weights, signs = np.append(weights, abs(level)), np.append(signs, 1 if level > 0 else -1)
        else:
            features = self.sums.varying[features]
        return Lead(weights, features, places, signs, self.best_u, self.gap)
