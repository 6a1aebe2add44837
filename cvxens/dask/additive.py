"""The stump SVM over shards: an additive model of piecewise linear functions, by Newton's method and certified.

LL08 P1 with the stump kernel is ``min 1/4 sum_d int g_d'^2 + C sum_i max(0, 1 - y_i (b + sum_d g_d(x_id)))``. Functions
are linear between *knots*: all values of a feature that has up to 256, else the least value of every bin, `N_PARTS`
even steps inside of it, and the largest of all. So every point is one of P1, and the optimum is among them where all
values are knots.

The bound is P2's, over all functions: for ``s = y u`` with the sum 0 the form of the kernel is ``s'K s = 2 sum_d int
B_d(t)^2 dt``, with B_d(t) the sum of s over the samples below t. Between bins B is known; inside one, which is cut into
`N_PARTS`, it is bounded by the sums of the weights of either sign and by their first moments, all whole numbers.

The hinge is followed by `InteriorHinge`, nearer and nearer. Newton's equations are solved by conjugate gradients, one
question to the shards each, preconditioned by the equations of single features, which are tridiagonal.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field, replace
from time import perf_counter
from typing import Any, ClassVar, NamedTuple, final

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.linalg import solveh_banded
from sklearn.utils.validation import check_is_fitted

from cvxens import validation
from cvxens.certificates import ROUNDING, Certificate, relative
from cvxens.dask.estimators import DaskClassifier
from cvxens.dask.masters import SHARPER, STEPS, WIDEST
from cvxens.dask.shards import Shard, ShardedSample
from cvxens.dask.sums import Ints, sum_exactly, to_float
from cvxens.dask.tallies import N_BINS, Codes
from cvxens.dask.votes import InteriorHinge, exponent_of, of_shard
from cvxens.estimators.infinite_ensembles import InfiniteEnsembleSVC
from cvxens.estimators.machines import PRICE, TrainingKernel
from cvxens.estimators.parameters import estimator
from cvxens.estimators.progress import time_limit, warn_of_gap
from cvxens.limits import Pace, limit_time
from cvxens.problems.losses import Hinge
from cvxens.rounding import EPSILON, TINY
from cvxens.solvers.additive import AdditiveModel
from cvxens.types import Array

N_PARTS = 16
"""Parts that a bin is cut into, by knots and for the bound."""

MOMENT_BITS = 16
"""First moments are whole numbers of ``2**-16`` of a part's width."""

MAX_STEPS = 200
"""Newton steps."""

MAX_PRODUCTS = 60
"""Products with the Hessian for one step."""

FORCING = 0.03
"""The share of the gradient that is left of the Newton equations' residual."""

AIM = 0.3
"""The share of the tolerance that the distance of the hinge's neighbour may take."""


class Knots(NamedTuple):
    """Knots of every feature, padded by the last one, and how to find those beside a value from its bin."""

    values: Array  # (n_features, n_knots)
    counts: Ints  # (n_features,)
    before: Ints  # (n_features, N_BINS), the first knot of a bin
    low: Array  # (n_features, N_BINS), the least value of a bin
    per_unit: Array  # (n_features, N_BINS), knots of a bin in a unit of length; 0 where it has one value

    @classmethod
    def from_sample(cls, sample: ShardedSample) -> Knots:
        """Return the least values of all bins that hold samples, more inside of these, and the largest values."""
        lists, before = [], np.zeros(sample.low.shape, np.int64)
        for j, (low, high) in enumerate(zip(sample.low, sample.high, strict=True)):
            held = low <= high
            shares = np.arange(N_PARTS) / N_PARTS
            inner = low[held, np.newaxis] + (high - low)[held, np.newaxis] * shares
            lists.append(np.unique(np.append(inner, high.max())))
            before[j, held] = np.searchsorted(lists[j], low[held])
        counts = np.array([len(own) for own in lists])
        values = np.stack([np.append(own, np.full(counts.max() - len(own), own[-1])) for own in lists])
        width = np.where(sample.low < sample.high, sample.high - sample.low, np.inf)
        return cls(values, counts.astype(np.int64), before, sample.low, N_PARTS / width)

    @property
    def widths(self) -> Array:
        """The distances between neighbouring knots, inf where there is no further one, (n_features, n_knots - 1)."""
        h = np.diff(self.values, axis=1)
        return np.where(h > 0, h, np.inf)


@njit(cache=True, nogil=True, inline="always")
def find_knot(x: float, code: int, feature: int, knots: Knots) -> int:
    """Return the knot before a value, of a feature that has at least two."""
    inside = np.int64((x - knots.low[feature, code]) * knots.per_unit[feature, code])
    return min(knots.before[feature, code] + min(inside, N_PARTS - 1), knots.counts[feature] - 2)


@njit(cache=True, nogil=True)
def interpolate(values: NDArray[Any], codes: Codes, knots: Knots, G: Array, b: float) -> Array:
    """Evaluate ``b + sum_d g_d(x_d)`` of all rows, feature by feature in this order."""
    scores = np.full(values.shape[1], b)
    for j in range(values.shape[0]):
        if knots.counts[j] < 2:
            continue
        own, g = knots.values[j], G[j]
        for i in range(values.shape[1]):
            k = find_knot(values[j, i], codes[j, i], j, knots)
            share = (values[j, i] - own[k]) / (own[k + 1] - own[k])
            scores[i] += (1.0 - share) * g[k] + share * g[k + 1]
    return scores


@njit(cache=True, nogil=True)
def sum_by_knots(values: NDArray[Any], codes: Codes, knots: Knots, weights: Ints) -> Ints:
    """Return the sums of weights by knots, each shared between the two beside its value, (n_features, n_knots)."""
    sums = np.zeros(knots.values.shape, np.int64)
    for j in range(values.shape[0]):
        if knots.counts[j] < 2:
            continue
        own, table = knots.values[j], sums[j]
        for i in range(values.shape[1]):
            k = find_knot(values[j, i], codes[j, i], j, knots)
            above = np.int64(np.rint((values[j, i] - own[k]) / (own[k + 1] - own[k]) * weights[i]))
            table[k] += weights[i] - above
            table[k + 1] += above
    return sums


@njit(cache=True, nogil=True)
def sum_bends(values: NDArray[Any], codes: Codes, knots: Knots, weights: Ints) -> Ints:
    """Return diagonal and upper diagonal of every feature's block of ``Z' diag(weights) Z``, (2, ...)."""
    sums = np.zeros((2, *knots.values.shape), np.int64)
    for j in range(values.shape[0]):
        if knots.counts[j] < 2:
            continue
        own = knots.values[j]
        for i in range(values.shape[1]):
            k = find_knot(values[j, i], codes[j, i], j, knots)
            share = (values[j, i] - own[k]) / (own[k + 1] - own[k])
            sums[0, j, k] += np.int64(np.rint((1.0 - share) * (1.0 - share) * weights[i]))
            sums[0, j, k + 1] += np.int64(np.rint(share * share * weights[i]))
            sums[1, j, k] += np.int64(np.rint(share * (1.0 - share) * weights[i]))
    return sums


@njit(cache=True, nogil=True)
def sum_moments(values: NDArray[Any], codes: Codes, ends: Array, weights: Ints) -> Ints:
    """Return by feature, bin and part sums of weights and first moments about the part's end, of either sign.

    Shape (4, n_features, N_BINS, N_PARTS): sums above 0 and below, moments above 0, rounded up, and below. `ends` are
    the least and the largest values of bins.
    """
    sums = np.zeros((4, values.shape[0], N_BINS, N_PARTS), np.int64)
    unit = float(1 << MOMENT_BITS)
    for j in range(values.shape[0]):
        for i in range(values.shape[1]):
            code, weight = codes[j, i], weights[i]
            width = ends[1, j, code] - ends[0, j, code]
            place = (values[j, i] - ends[0, j, code]) / width * N_PARTS if width > 0 else 0.0
            part: Any = min(np.int64(place), N_PARTS - 1)
            # how far the value is from the end of its part, rounded up
            rest = np.int64(np.ceil((part + 1 - place) * unit)) if width > 0 else 0
            side = 0 if weight >= 0 else 1
            sums[side, j, code, part] += weight
            sums[2 + side, j, code, part] += (weight >> MOMENT_BITS) * rest
    return sums


@dataclass(frozen=True, eq=False)
class Curve:
    """Functions and an intercept, with the neighbour of the hinge whose multipliers are meant."""

    knots: Knots
    G: Array
    b: float
    loss: InteriorHinge
    factors: tuple[float, float] = (1.0, 1.0)  # of the multipliers of y = -1 and of y = +1
    exponent: int = 0

    def margins(self, shard: Shard) -> Array:
        """Evaluate the margins of a shard's rows."""
        return shard.y * interpolate(shard.values, shard.codes, self.knots, self.G, self.b)

    def signed(self, shard: Shard, z: Array) -> Ints:
        """Return the signed weights at margins, rounded towards 0 to whole units."""
        u = of_shard(self.loss, shard).multipliers(z) * np.where(shard.y > 0, self.factors[1], self.factors[0])
        units = np.floor(np.ldexp(u, -self.exponent)).astype(np.int64)
        return np.where(shard.y > 0, units, -units)


def look(shard: Shard, at: Curve, hinge: Any, exponent: int) -> tuple[Ints, ...]:
    """Return exact sums of hinge and neighbour, the multipliers by knots and by class, and the curvature by knots."""
    z = at.margins(shard)
    near, signed = of_shard(at.loss, shard), at.signed(shard, z)
    bends = np.rint(np.ldexp(near.curvature(near.multipliers(z)), -exponent)).astype(np.int64)
    return (
        sum_exactly(of_shard(hinge, shard).values(z)),
        sum_exactly(near.values(z)),
        sum_by_knots(shard.values, shard.codes, at.knots, signed),
        np.array([-np.minimum(signed, 0).sum(), np.maximum(signed, 0).sum()]),
        sum_bends(shard.values, shard.codes, at.knots, bends),
        np.array(bends.sum()),
    )


def multiply(shard: Shard, at: Curve, V: Array, v: float, exponent: int) -> tuple[Ints, Ints]:
    """Return ``Z' D Z`` times a direction, by knots, and its product with the ones."""
    near, z = of_shard(at.loss, shard), at.margins(shard)
    change = interpolate(shard.values, shard.codes, at.knots, V, v)
    bent = np.rint(np.ldexp(near.curvature(near.multipliers(z)) * change, -exponent)).astype(np.int64)
    return sum_by_knots(shard.values, shard.codes, at.knots, bent), np.array(bent.sum())


def try_lengths(shard: Shard, at: Curve, V: Array, v: float, steps: Array) -> Ints:
    """Return exact sums of the neighbour at several steps along a direction."""
    z = at.margins(shard)
    dz = shard.y * interpolate(shard.values, shard.codes, at.knots, V, v)
    near = of_shard(at.loss, shard)
    return np.stack([sum_exactly(near.values(z + step * dz)) for step in steps])


def find_moments(shard: Shard, at: Curve, ends: Array) -> tuple[Ints, Ints]:
    """Return the sums of the multipliers of either class, and what bounds the form of the kernel."""
    signed = at.signed(shard, at.margins(shard))
    totals = np.array([-np.minimum(signed, 0).sum(), np.maximum(signed, 0).sum()])
    return totals, sum_moments(shard.values, shard.codes, ends, signed)


def bound_form(sums: Ints, low: Array, high: Array) -> Array:
    """Bound ``2 int B^2`` of every feature from above, in squared units, (n_features,).

    Inside of a part B = B_0 + c with c the sum of weights so far, and ``int c`` is the sum of their first moments; c^2
    is at most the larger of the squares of what its positive and its negative weights add up to, so ``int c^2 <= P M_P
    + N M_N`` with P, N the sums of these and M their moments. Each weight loses at most ``2**MOMENT_BITS`` units in its
    moment, for which `n` of them are counted where they can be that many.
    """
    positive, negative, of_positive, of_negative = (each.astype(np.float64) for each in sums)
    n_features = len(low)
    forms = np.zeros(n_features)
    for j in range(n_features):
        held = np.flatnonzero(low[j] <= high[j])
        widths = (high[j] - low[j])[held]
        changes = (positive + negative)[j][held]
        before = np.concatenate([[0.0], np.cumsum(changes.ravel())])
        start = before[:-1].reshape(changes.shape)
        part = (widths / N_PARTS)[:, np.newaxis]
        # moments in units times lengths; (weight >> bits) * rest has lost less than one 2^bits of each weight
        above, below = part * of_positive[j][held], part * of_negative[j][held]
        P, N = positive[j][held], -negative[j][held]
        inside = start**2 * part + 2 * start * (above + below) + P * np.abs(above) + N * np.abs(below)
        between = before[N_PARTS::N_PARTS][:-1] ** 2 * (low[j][held][1:] - high[j][held][:-1])
        forms[j] = 2 * (inside.sum() + between.sum())
    return forms


class Level(NamedTuple):
    """A row of the history: both objectives of P2 by then, and the time."""

    objective: float
    bound: float
    relative_gap: float
    steps: int
    seconds: float


class Search:
    """Newton's method on one problem, and the best points of either side."""

    def __init__(self, sample: ShardedSample, C: float) -> None:
        self.sample, self.C = sample, C
        self.knots, self.hinge = Knots.from_sample(sample), Hinge(C)
        self.total = C * sample.total_weight
        self.exponent = exponent_of(self.total)
        self.ends = np.stack([sample.low, sample.high])
        self.value, self.bound, self.rounding = np.inf, -np.inf, 0.0
        self.best: tuple[Array, float] = np.zeros(self.knots.values.shape), 0.0
        self.history: list[Level] = []
        self.began = perf_counter()

    def roughness(self, G: Array) -> float:
        """Evaluate ``1/4 sum_d int g_d'^2``."""
        return float((np.diff(G, axis=1) ** 2 / self.knots.widths).sum()) / 4

    def _pull(self, G: Array) -> Array:
        """Return the gradient of the roughness."""
        slopes = np.diff(G, axis=1) / self.knots.widths / 2
        return np.pad(slopes, ((0, 0), (1, 0))) - np.pad(slopes, ((0, 0), (0, 1)))

    def run(self, tol: float) -> None:
        """Step until the gap is at most `tol`, relative, or no step makes it better."""
        G, b = self.best
        distance, pace = WIDEST, Pace()
        for step in range(MAX_STEPS):
            at = Curve(self.knots, G, b, InteriorHinge(self.C, distance), exponent=self.exponent)
            bends_in = exponent_of(self.total / (8 * distance))
            value, near, by_knots, totals, bends, bend = self.sample.ask(look, at, self.hinge, bends_in)
            objective = to_float(value) + self.roughness(G)
            if objective < self.value:
                self.value, self.best = objective, (G, b)
            allowed = tol * abs(self.value)
            gradient = self._pull(G) - np.ldexp(by_knots.astype(np.float64), self.exponent)
            slope_of_b = -float(np.ldexp(float(totals[1] - totals[0]), self.exponent))
            V, v, promised = self._find_direction(at, (gradient, slope_of_b), (bends, int(bend)), bends_in)
            is_near = distance * self.total <= AIM * allowed
            settled = promised <= max(distance * self.total / len(self.sample), 0.1 * AIM * allowed if is_near else 0.0)
            if settled or step % 5 == 0:
                self._take_bound(at, totals, step)
                if self.gap <= tol:
                    return
            if not pace.allows_step() or (settled and is_near and promised <= 1e-6 * allowed):
                return
            if settled and not is_near:
                distance = max(SHARPER * distance, AIM / 2 * allowed / self.total)
                continue
            t = self._search(at, V, v, to_float(near) + self.roughness(G))
            if not t:
                if is_near:
                    return
                distance *= SHARPER
                continue
            G, b = G + t * V, b + t * v

    @property
    def gap(self) -> float:
        """The relative gap, with the rounding error."""
        return relative(self.value - self.bound + self.rounding, self.value, self.bound)

    def _find_direction(
        self, at: Curve, gradient: tuple[Array, float], bends: tuple[Ints, int], exponent: int
    ) -> tuple[Array, float, float]:
        """Solve Newton's equations by conjugate gradients; returns the direction and half of what it promises."""
        diagonal = np.ldexp(bends[0][0].astype(np.float64), exponent)
        beside = np.ldexp(bends[0][1].astype(np.float64), exponent)[:, :-1]
        total = max(float(np.ldexp(float(bends[1]), exponent)), TINY)
        inverse = self._precondition(diagonal, beside, total)
        V, v = np.zeros(gradient[0].shape), 0.0
        R, r = -gradient[0], -gradient[1]
        P, p = inverse(R, r)
        Q, q = P.copy(), p
        size = first = float((R * P).sum() + r * p)
        for _ in range(MAX_PRODUCTS):
            if size <= FORCING**2 * first or not size > 0:
                break
            by_knots, whole = self.sample.ask(multiply, at, Q, q, exponent)
            image = self._pull(Q) + np.ldexp(by_knots.astype(np.float64), exponent)
            image_of_b = float(np.ldexp(float(whole), exponent))
            bend = float((Q * image).sum() + q * image_of_b)
            if not bend > 0:
                break
            t = size / bend
            V, v, R, r = V + t * Q, v + t * q, R - t * image, r - t * image_of_b
            P, p = inverse(R, r)
            last, size = size, float((R * P).sum() + r * p)
            Q, q = P + size / last * Q, p + size / last * q
        return V, v, -float((gradient[0] * V).sum() + gradient[1] * v) / 2

    def _precondition(
        self, diagonal: Array, beside: Array, total: float
    ) -> Callable[[Array, float], tuple[Array, float]]:
        """Return the inverse of the tridiagonal equations of single features, and of that of the intercept."""
        stiff = 1 / (2 * self.knots.widths)
        banded = []
        for j, count in enumerate(self.knots.counts.tolist()):
            own = diagonal[j, :count] + np.append(stiff[j, : count - 1], 0.0) + np.append(0.0, stiff[j, : count - 1])
            # a constant is the intercept's as well; features without a sample in the kink have no curvature
            own = own + 1e-6 * total / count + 8 * EPSILON * own.max(initial=0.0)
            banded.append(np.stack([np.append(0.0, beside[j, : count - 1] - stiff[j, : count - 1]), own]))

        def inverse(R: Array, r: float) -> tuple[Array, float]:
            P = np.zeros(R.shape)
            for j, count in enumerate(self.knots.counts.tolist()):
                if count > 1:
                    P[j, :count] = solveh_banded(banded[j], R[j, :count])
            return P, r / total

        return inverse

    def _search(self, at: Curve, V: Array, v: float, start: float) -> float:
        """Return the step of some that decreases the smoothed objective most; 0 if none does."""
        sums = self.sample.ask(try_lengths, at, V, v, STEPS)
        objectives = [to_float(each) + self.roughness(at.G + step * V) for step, each in zip(STEPS, sums, strict=True)]
        best = int(np.argmin(objectives))
        return float(STEPS[best]) if objectives[best] < start else 0.0

    def _take_bound(self, at: Curve, totals: Ints, step: int) -> None:
        """Bound the optimum by balanced multipliers, at the best factor on them, and note the point."""
        light = int(totals.min())
        if light:
            balanced = replace(at, factors=(light / int(totals[0]), light / int(totals[1])))
            found, sums = self.sample.ask(find_moments, balanced, self.ends)
            unit = 2.0**self.exponent
            forms = bound_form(sums, self.sample.low, self.sample.high)
            missed = abs(int(found[1] - found[0])) * unit
            size, form = float(found.sum()) * unit, float(forms.sum()) * unit * unit
            # moments lose at most 2^bits units a weight, and 2 |B| is at most the sum of all
            ranges = float((self.sample.high.max(axis=1) - self.sample.low.min(axis=1)).sum())
            lost = (2.0**MOMENT_BITS * len(self.sample) * unit + missed) * 2 * size * ranges
            form += lost + form * 64 * EPSILON
            factor = min(1.0, size / form) if form > 0 else 1.0
            bound = factor * size - factor * factor * form / 2 - 2 * missed
            self.bound = max(self.bound, bound)
        off = (2 * self.sample.shape[1] + 8) * EPSILON * (float(np.abs(self.best[0]).sum(axis=0).max()) + 1)
        self.rounding = 2 * off * self.total * self.sample.shape[1] + ROUNDING * abs(self.value)
        seconds = perf_counter() - self.began
        self.history.append(Level(-self.bound, -self.value, max(self.gap, 0.0), step, seconds))

    def certificate(self) -> Certificate:
        """Return the gap between P2 at the best multipliers and minus P1 at the best functions."""
        return Certificate.between(
            -self.bound,
            -self.value,
            maximise=False,
            residuals={},
            repair={},
            rounding=self.rounding,
            proven=True,
            note="over all stumps of the kernel",
        )


def measure_variance(sample: ShardedSample) -> float:
    """Return the mean of k(x, x) - k(x, x') over pairs of rows, by their weights, which default prices go by."""
    exponent = exponent_of(sample.total_weight)
    sums = sample.ask(_weigh_knots, Knots.from_sample(sample), exponent)
    knots = Knots.from_sample(sample)
    below = np.cumsum(np.ldexp(sums.astype(np.float64), exponent), axis=1)[:, :-1]
    h = np.where(np.isfinite(knots.widths), knots.widths, 0.0)
    # the mean of |x - x'| is 2 int F (1 - F)
    shares = below / sample.total_weight
    return float((2 * shares * (1 - shares) * h).sum())


def _weigh_knots(shard: Shard, knots: Knots, exponent: int) -> Ints:
    weights = np.rint(np.ldexp(shard.weights, -exponent)).astype(np.int64)
    return sum_by_knots(shard.values, shard.codes, knots, weights)


@final
@estimator
class DaskInfiniteEnsembleSVC(DaskClassifier):
    """The support vector machine over all stumps (LL08), over shards: an additive model of piecewise linear functions.

    Parameters
    ----------
    C : float or "scale"
        The price of a unit of slack of a sample of weight 1. "scale" is 4 over the variance of the sample in the space
        of the kernel, as on one machine; of features of more than 256 values it is measured between bins.

    Attributes
    ----------
    C_ : float
        C as a number.
    intercept_ : ndarray of shape ()
        b.

    Examples
    --------
    >>> import dask.array as da
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DaskInfiniteEnsembleSVC(C=0.1).fit(da.from_array(X, chunks=(60, 4)), da.from_array(y > 1, chunks=60))
    >>> model.certificate_.holds(1e-3), len(model.shape_functions_)
    (True, 4)
    """

    source: ClassVar[str] = "LL08 Algorithm 1"

    C: float | str = "scale"
    _: KW_ONLY
    C_: float = field(init=False)
    intercept_: Array = field(init=False)
    _predictor: AdditiveModel = field(init=False)

    def _solve(self, sample: ShardedSample, best: list[Any]) -> dict[str, Any]:
        tol = validation.positive("tol", self.tol)
        if isinstance(self.C, str):
            validation.one_of("C", self.C, ["scale"])
            C = PRICE / measure_variance(sample)
        else:
            C = validation.positive("C", self.C)
        search = Search(sample, C)
        with limit_time(time_limit(self), alone=True):
            search.run(tol)
        certificate = search.certificate()
        warn_of_gap(self, certificate, tol, "no step made the gap smaller", "raise tol or max_time")
        (G, b), knots = search.best, search.knots
        lists = [(knots.values[j, :count], G[j, :count]) for j, count in enumerate(knots.counts.tolist())]
        # as on one machine, both ends of a function are opposite
        centres = [float(g[0] + g[-1]) / 2 for _, g in lists]
        starts = np.append(0, np.cumsum(knots.counts)).astype(np.int64)
        values = np.concatenate([g - centre for (_, g), centre in zip(lists, centres, strict=True)])
        intercept = b + sum(centres)
        model = AdditiveModel(starts, np.concatenate([own for own, _ in lists]), values, intercept)
        found = {"certificate_": certificate, "history_": tuple(search.history), "C_": C}
        return {**found, "intercept_": np.asarray(intercept), "_predictor": model}

    @property
    def shape_functions_(self) -> Any:
        """(knots, values) of every feature: f(x) = b + sum_d g_d(x_d), linear between knots, constant beyond."""
        check_is_fitted(self)
        return self._predictor.shape_functions

    def _scorer(self) -> Callable[[Array], Array]:
        return self._predictor

    def to_local(self) -> InfiniteEnsembleSVC:
        """Return the estimator of one machine, which scores as this one does, and has its shape functions and cells.

        The support vectors stay with the shards.
        """
        check_is_fitted(self)
        local = InfiniteEnsembleSVC(C=self.C_, tol=self.tol, max_time=self.max_time)
        names = ("certificate_", "history_", "C_", "intercept_", "_predictor", "classes_", "n_features_in_")
        ends = np.array([knots[[0, -1]] for knots, _ in self.shape_functions_]).T
        kernel = TrainingKernel.from_sample("stump", None, ends)
        found = {name: getattr(self, name) for name in names}
        local.__dict__.update(found, _kernel=kernel, kernel_=kernel.kernel, solver_="additive")
        if hasattr(self, "feature_names_in_"):
            local.feature_names_in_ = self.feature_names_in_
        return local
