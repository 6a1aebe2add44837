"""Newton's method, in proximal steps where a penalty or a bound has kinks: the one that all solvers here share.

    minimise  loss(y (H w + b)) + penalty(w)

A step minimises a *model*, the second-order one of what is smooth plus the penalty itself, then searches along the way
there. Of a squared l2 norm alone the model is a linear system (`SmoothProblem`), in the weights, or in the samples
where fewer of these are curved (Woodbury's identity). Under an l1 penalty, norms of rows or w >= 0, descent by numbers
or by rows finds the support of its optimum, and a Cholesky factor the optimum on it (`QuadraticModel`; Lee, Sun &
Saunders 2014; Qin, Scheinberg & Goldfarb 2013; skglm's `ProxNewton` and glmnet are of this kind). The exponential loss,
logistic regression and the l2-SVM are smooth as they stand; the hinge becomes a sequence of smooth losses by proximal
steps (`proximal_hinge`). `find_root` searches where slopes are continuous, `search_step` where they jump.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

import numpy as np
from numba import njit
from scipy.linalg import cho_factor, cho_solve, solve
from scipy.optimize import nnls

from cvxens.limits import Pace, time_is_up
from cvxens.rounding import EPSILON
from cvxens.solvers.byte_rows import GrowingRows, ListedRows, combine_each, map_parts
from cvxens.types import Array, Indices, Mask

MAX_STEPS = 100
"""Newton steps; a handful is usual from a warm start."""

LITTLE = 0.1
"""The share of what a model has gained that another solution on a support has to gain, to be followed by one more.

On 450 samples, 10 features and 8 prices with five folds each: 0.1 takes 3/4 of the time that solutions to the end take.
"""


class SmoothLoss(Protocol):
    """A convex loss of margins z with u = -phi'(z), of which D = phi''(z) >= 0 is a function."""

    def multipliers(self, z: Array) -> Array: ...

    def curvature(self, u: Array) -> Array: ...


@dataclass(frozen=True)
class Iterate:
    """A point of the problem over n_columns columns and n_samples samples."""

    w: Array
    b: float
    f: Array  # H w
    solved: bool = False  # True if it is within the tolerance


@dataclass(frozen=True)
class SmoothProblem:
    """min weight/2 |w|^2 - fixed_edges'w - fixed_balance b + sum_i phi_i(z_i), z = y (H w + b), w free or w >= 0.

    With u = -phi'(z) and D = phi''(z), eliminating b leaves the Newton system of size n_columns
    ``weight I + sum_i D_i (H_i - m)(H_i - m)'``, m the mean of the rows weighted by D, so no regularisation of b is
    needed, and where D has fewer than n_columns entries it is solved in the samples instead (Woodbury). Where w >= 0,
    weights at 0 that would fall stay there, the others take the step (Bertsekas 1982).
    """

    rows: Array  # H'
    y: Array
    weight: float  # above 0
    intercept: bool  # else b stays at its start
    loss: SmoothLoss
    fixed_edges: Array | float = 0.0  # the edges H'(y u) of further samples whose u is fixed
    fixed_balance: float = 0.0  # and their y'u
    nonnegative: bool = False  # True for w >= 0, which the start has to satisfy

    def minimise(self, start: Iterate, tolerance: Callable[[Array, Array, Array], float]) -> Iterate:
        """Take Newton steps until the duality gap of w and its edges is within the tolerance at (w, z, u).

        The answer has the best intercept to its w, also where rounding, `MAX_STEPS` or the clock ended the search.
        """
        at, pace = start, Pace()
        for _ in range(MAX_STEPS):
            if not pace.allows_step():
                break
            z = self.y * (at.f + at.b)
            u = self.loss.multipliers(z)
            # the slopes of the objective in w and in b
            gradient = self.weight * at.w - self.fixed_edges - self.rows @ (self.y * u)
            imbalance = -float(self.y @ u) - self.fixed_balance if self.intercept else 0.0
            D = self.loss.curvature(u)
            is_balanced = abs(imbalance) <= self._rounding(at, u, D)
            # Fenchel's gap: what the multipliers, were they balanced, leave of primal less dual
            is_small = self._measure_gap(at.w, gradient) <= tolerance(at.w, z, u)
            if is_small and is_balanced:
                return replace(at, solved=True)
            if not is_balanced and (is_small or not D.any()):
                ahead = self.balance(at)
            else:
                ahead = self._step(at, z, D, gradient, imbalance)
            if ahead.b == at.b and np.array_equal(ahead.w, at.w):
                break
            at = ahead
        return at

    def _measure_gap(self, w: Array, gradient: Array) -> float:
        """Return ``weight/2 |w|^2 + |e|^2 / (2 weight) - e'w`` for the edges e, their positive parts where w >= 0."""
        if not self.nonnegative:
            return float(gradient @ gradient) / (2 * self.weight)
        edges = self.weight * w - gradient
        off = self.weight * w - np.maximum(edges, 0.0)
        return float(off @ off) / (2 * self.weight) + float(w @ np.maximum(-edges, 0.0))

    def balance(self, at: Iterate) -> Iterate:
        """Move b to where y'u = 0."""

        def slope(b: float) -> tuple[float, float]:
            u = self.loss.multipliers(self.y * (at.f + b))
            return -float(self.y @ u) - self.fixed_balance, float(self.loss.curvature(u).sum())

        u = self.loss.multipliers(self.y * (at.f + at.b))
        return replace(at, b=find_root(slope, at.b, tolerance=self._rounding(at, u, self.loss.curvature(u)) / 2))

    def _rounding(self, at: Iterate, u: Array, D: Array) -> float:
        """Bound what rounding may do to y'u: that of the sum, and through u = -phi'(z) that of z."""
        # a few roundings of every term; 8 is above what is ever seen, and 1e-15 of the sum is nobody's concern
        of_scores = float(D @ (1 + abs(at.b) + np.abs(at.f)))
        return 8 * EPSILON * (abs(self.fixed_balance) + float(np.abs(u).sum()) + of_scores)

    def _step(self, at: Iterate, z: Array, D: Array, gradient: Array, imbalance: float) -> Iterate:
        """Search along Newton's direction, where w >= 0 no further than its end."""
        d, db = self._find_direction(at.w, D, gradient, imbalance)
        df = d @ self.rows
        dz = self.y * (df + db)
        # the slope along d of all but the loss is rise + t bend
        rise = float(self.weight * (at.w @ d) - np.sum(self.fixed_edges * d)) - self.fixed_balance * db
        bend = self.weight * float(d @ d)
        t = find_length(self.loss, z, dz, (rise, bend), float(gradient @ d) + imbalance * db)
        t = min(t, 1.0) if self.nonnegative else t
        return Iterate(at.w + t * d, at.b + t * db, at.f + t * df)

    def _find_direction(self, w: Array, D: Array, gradient: Array, imbalance: float) -> tuple[Array, float]:
        """Return Newton's direction in the weights and in b, where w >= 0 to the minimum of the model there."""
        # curvatures that rounding loses against the largest leave the system as it is
        curved = np.flatnonzero(EPSILON * D.max(initial=0.0) < D)
        # weights at 0 that would rather fall stay there
        moving = np.flatnonzero((w > 0) | (gradient < 0)) if self.nonnegative else np.arange(len(w))
        d, g, D = np.zeros(len(w)), gradient[moving], D[curved]
        A = self.rows[np.ix_(moving, curved)] if len(moving) < len(w) else self.rows[:, curved]
        total = float(D.sum()) if curved.size else np.inf
        # without b: weight I + sum_i D_i (H_i - mean)(H_i - mean)'
        mean = A @ D / total if self.intercept else np.zeros(len(A))
        reduced = g - mean * imbalance
        A -= mean[:, None]
        A *= np.sqrt(D)
        if self.nonnegative:
            B = A @ A.T + self.weight * np.eye(len(A))
            nothing = np.zeros(len(A))
            v = QuadraticModel(B[np.newaxis], nothing, nothing).minimise(w[moving, np.newaxis], reduced[:, np.newaxis])
            d[moving] = v[:, 0] - w[moving]
        elif len(curved) < len(A):
            # (weight I + A A')^-1 g = (g - A (weight I + A'A)^-1 A'g) / weight
            d = (A @ solve_definite(A.T @ A, self.weight, A.T @ reduced) - reduced) / self.weight
        else:
            d = -solve_definite(A @ A.T, self.weight, reduced)
        return d, -imbalance / total - float(mean @ d[moving])


class SampleMap(Protocol):
    """A PSD matrix K over the samples, by products and by the systems of Newton's method for f = K c."""

    def __matmul__(self, v: Array) -> Array: ...

    def solve(self, D: Array, right: Array, weight: float) -> Array:
        """Solve ``(weight I + diag(D) K) d = right``, or go as far as there is time."""


def minimise_expansion(
    K: SampleMap, y: Array, loss: SmoothLoss, weight: float, c: Array, max_steps: int = MAX_STEPS
) -> Iterator[Array]:
    """Take Newton's steps for min loss(y f) + weight/2 c'K c over f = K c, from a multiple of c.

    At the minimum ``weight c = y u``; with ``D = loss''`` the step solves ``weight d + D K d = y u - weight c``. Yields
    coefficients until there were so many steps or rounding hides a descent.
    """
    d, df, c, f = c, K @ c, np.zeros(len(y)), np.zeros(len(y))
    u = loss.multipliers(y * f)
    for _ in range(max_steps):
        # slope and curvature of weight/2 c'K c along d
        rise, bend = weight * float(d @ f), weight * float(d @ df)
        here = rise - float((y * u) @ df)
        if here >= 0 or (t := find_length(loss, y * f, y * df, (rise, bend), here)) == 0:
            return
        c, f = c + t * d, f + t * df
        yield c
        u = loss.multipliers(y * f)
        d = K.solve(loss.curvature(u), y * u - weight * c, weight)
        df = K @ d


def find_length(loss: SmoothLoss, z: Array, dz: Array, rest: tuple[float, float], here: float) -> float:
    """Return how far to go from margins z along dz, to where the slope is flat beside the one `here`, at z.

    Of all but the loss the slope is ``rise + t bend``, which `rest` are. Far out an exponential loss overflows.
    """
    rise, bend = rest

    def slope(t: float) -> tuple[float, float]:
        with np.errstate(over="ignore", invalid="ignore"):
            u = loss.multipliers(z + t * dz)
            return rise + t * bend - float(u @ dz), bend + float(loss.curvature(u) @ dz**2)

    # the next step leaves the point anyway
    return find_root(slope, 1.0, tolerance=1e-3 * abs(here), low=0.0)


def solve_definite(gram: Array, ridge: float, right: Array) -> Array:
    """Solve (gram + ridge I) x = right, scaled to a unit diagonal and there kept definite against rounding."""
    if not gram.size:
        return right
    # S (gram + ridge I) S with S = diag(.)^-1/2, in place: the diagonal is a view
    diagonal = gram.ravel()[:: len(gram) + 1]
    diagonal += ridge
    scale = 1 / np.sqrt(diagonal)
    gram *= scale[:, None]
    gram *= scale
    # Cholesky's backward error is below (n + 1) eps of the diagonal (Higham 2002, theorem 10.3)
    diagonal += 8 * len(gram) * EPSILON
    return scale * cho_solve(cho_factor(gram, overwrite_a=True, check_finite=False), scale * right, check_finite=False)


def find_root(
    slope: Callable[[float], tuple[float, float]],
    start: float,
    *,
    tolerance: float,
    low: float = -np.inf,
    reach: float = np.inf,
) -> float:
    """Find where a nondecreasing function is 0, by Newton steps kept inside a bracket; or the last float before that.

    `slope` returns its value and derivative, and the search ends where |value| is within `tolerance`. `low` is a point
    below the root, if one is known; `reach` the longest first step, doubled from one to the next: for functions that
    are flat, or overflow, far out.

    Examples
    --------
    >>> find_root(lambda t: (t**3 - 8.0, 3 * t**2), 1.0, tolerance=1e-12)
    2.0
    """
    t, high, stride = start, np.inf, reach if reach < np.inf else 2.0
    # bisection alone goes through all 64 bits of an interval of floats in fewer
    for _ in range(200):
        value, derivative = slope(t)
        if abs(value) <= tolerance:
            return t
        low, high = (t, high) if value < 0 else (low, t)
        # Newton's step, where it is shorter than the reach
        ahead = t - value / derivative if abs(value) < reach * derivative else np.nan
        if not low < ahead < high:
            # halve the bracket; while it is open, widen it
            middle = low / 2 + high / 2
            ahead = middle if np.isfinite(middle) else t + (stride if value < 0 else -stride)
        # no float is left in between
        if ahead in (low, high):
            return t
        t, reach, stride = ahead, 2 * reach, 2 * stride
    return t


@dataclass(frozen=True)
class QuadraticModel:
    """min over V of R'(V - W) + 1/2 sum_t (V - W)_t'B_t (V - W)_t + sum_j size_j |V_j|, V_j >= low_j.

    Descent by rows finds those that are not 0. There the penalty is smooth, and Newton's method goes on; what would
    pass 0 on its way becomes 0. Both only go downhill. Of one output rows are numbers: their signs are found, and the
    optimum for given signs is exact.
    """

    B: Array  # (n_outputs, n_rows, n_rows), or (1, n_rows, n_rows) where that of all is the same; PSD, made definite
    size: Array  # 0 for an intercept
    low: Array  # -inf where a row is free, 0 for a number that is not to be negative
    little: float = LITTLE

    def __post_init__(self) -> None:
        for B in self.B:
            diagonal = B.ravel()[:: len(B) + 1]
            largest = float(diagonal.max(initial=0.0))
            # rounding of a sum of squares costs definiteness a few units of its size at most
            diagonal += 8 * len(B) * EPSILON * largest if largest > 0 else 1.0
            if (diagonal <= 0).any():
                raise np.linalg.LinAlgError("the model is not convex")

    def minimise(self, W: Array, R: Array) -> Array:
        """Return V (n_rows, n_outputs), given the gradient R at W; zero rows of V are exact."""
        V, at_W, R, gained = W.copy(), R, R.copy(), 0.0
        before = float(self.size @ measure_rows(W))
        # each finds another support, or ends the search
        for _ in range(60):
            if time_is_up():
                break
            signs = np.sign(V)
            descend(self.B, R, V, self.size, self.low)
            if V.shape[1] == 1:
                # steps along the way multiply what is rounded off
                R = at_W + self._times(V - W, slice(None))
            support = np.flatnonzero(V.any(axis=1) | ((self.size == 0) & (self.low < 0)))
            # of many rows a solution takes as long as 100 sweeps, and while signs change few steps there are whole
            is_worth = len(support) <= 100 or V.shape[1] > 1 or np.array_equal(signs, np.sign(V))
            if not support.size or (is_worth and self._solve_support(support, V, R) and self._is_solved(V, R)):
                break
            # the model's gradients at both ends have the mean whose product with the way is what a quadratic changes by
            gain = before - float(self.size @ measure_rows(V)) - float(((at_W + R) * (V - W)).sum()) / 2
            if gain - gained <= self.little * gain:
                break
            gained = gain
        return V

    def _solve_support(self, support: Indices, V: Array, R: Array) -> bool:
        """Take a Newton step on the rows of a support, or part of it; True if it was whole and none became 0."""
        inside, size = V[support], self.size[support]
        norms = measure_rows(inside)
        units = inside / np.where(norms > 0, norms, 1.0)[:, np.newaxis]
        step = -self._solve_inside(support, R[support] + size[:, np.newaxis] * units, units, norms)
        # rows that pass 0, or turn away from where they were, and when: |v|^2 + t v'step = 0
        turned = np.einsum("jt,jt->j", inside, step)
        passing = ((size > 0) | (self.low[support] == 0)) & (norms**2 + turned <= 0)
        until = np.divide(norms**2, -turned, out=np.full(len(norms), np.inf), where=passing)
        ahead = np.where(passing[:, np.newaxis], -inside, step)
        share = float(until.min()) if passing.any() else 0.5
        # after so many halvings descent goes on by itself
        for tries in range(20):
            pull = self._times(ahead, support)
            after = float(self.size[support] @ (measure_rows(inside + ahead) - norms))
            # the change of the model; zeroing what passes 0 is usually downhill, and saves half-way supports
            if float((ahead * (R[support] + pull[support] / 2)).sum()) + after <= 0:
                V[support] += ahead
                R += pull
                return not (tries or passing.any())
            ahead = np.where((until <= share)[:, np.newaxis], -inside, share * step)
            share /= 2
        return False

    def _solve_inside(self, support: Indices, slope: Array, units: Array, norms: Array) -> Array:
        """Solve with the second derivatives on the support: B, and ``size / |v| (I - v v' / |v|^2)`` of every row."""
        inside = np.ix_(support, support)
        k, n_outputs = slope.shape
        if n_outputs == 1:
            return solve_definite(self.B[0][inside].astype(np.float64), 0.0, slope[:, 0])[:, np.newaxis]
        second, each = np.zeros((n_outputs, k, n_outputs, k)), np.arange(k)
        for t in range(n_outputs):
            second[t, :, t] = self.B[t % len(self.B)][inside]
        bend = np.eye(n_outputs) - units[:, :, np.newaxis] * units[:, np.newaxis]
        second[:, each, :, each] += (self.size[support] / np.where(norms > 0, norms, 1.0))[:, None, None] * bend
        return solve_definite(second.reshape(n_outputs * k, -1), 0.0, slope.T.ravel()).reshape(n_outputs, k).T

    def _times(self, ahead: Array, support: Indices | slice) -> Array:
        """Return B_t d_t for every output, of a change d on the support."""
        if len(self.B) == 1:
            # a copy of the columns takes longer than their product
            d = np.zeros((len(self.B[0]), ahead.shape[1]), self.B.dtype)
            d[support] = ahead
            return np.asarray(self.B[0] @ d, np.float64)
        return np.stack([B[:, support] @ d for B, d in zip(self.B, ahead.T, strict=True)], axis=1)

    def _is_solved(self, V: Array, R: Array) -> bool:
        """Return True if no zero wants to move, and of several outputs no row wants to turn."""
        norms, slopes = measure_rows(V), measure_rows(R)
        # |R_j| <= size_j at a zero, or -R_j <= size_j where V_j >= 0; the last digits of R are rounding
        pull = np.where(self.low < 0, slopes, -R[:, 0])[norms == 0]
        if (pull > self.size[norms == 0] * (1 + 1e-12)).any():
            return False
        left = R + (self.size / np.where(norms > 0, norms, 1.0))[:, np.newaxis] * V
        # nobody needs a smaller violation, relative to the size of the penalty
        return V.shape[1] == 1 or bool((measure_rows(left)[norms > 0] <= 1e-11 * self.size.max()).all())


@dataclass(frozen=True)
class HeldRows:
    """``A d <= room`` of a way d in the weights, of one output where there are rows, with the prices they had before.

    Under prices p >= 0 the least of a quadratic model and ``p'(A d - room)`` is concave in p, with the slope
    ``A d - room``. Newton's step on it is a least-squares problem on p >= 0: as far as the support of the weights
    stays, d moves by ``-inv(B) A'`` times the change of p.
    """

    A: Array  # (n_rows, n_columns)
    room: Array  # (n_rows,), 0 or above
    prices: Array  # (n_rows,)

    @classmethod
    def of_none(cls, n_columns: int) -> HeldRows:
        """Return no rows, which hold nothing."""
        return cls(np.zeros((0, n_columns)), np.zeros(0), np.zeros(0))

    def minimise(self, model: QuadraticModel, W: Array, R: Array) -> tuple[Array, Array]:
        """Return where a model has its least value in the rows, from W with the gradient R, and the rows' prices.

        LinAlgError where the model is so flat that no digits are left for that.
        """
        A, room, B = self.A, self.room, model.B[0]
        if not len(A):
            return model.minimise(W, R), self.prices

        def price(prices: Array, near: Array) -> tuple[float, float, Array, Array, Array]:
            slope = R + (prices @ A)[:, np.newaxis]
            V = model.minimise(near, slope + B @ (near - W))
            moved = V - W
            parts = np.hstack([moved * slope, moved * (B @ moved) / 2])
            value = float(parts.sum()) + float(model.size @ (measure_rows(V) - measure_rows(W)) - prices @ room)
            # rounding of the sums is less
            rounding = 1e-13 * float(np.abs(parts).sum() + model.size @ (measure_rows(V) + measure_rows(W)))
            return value, rounding, prices, V, A @ moved[:, 0] - room

        at = price(self.prices, W)
        # a handful of steps, each to another support, are usual
        for _ in range(40):
            value, rounding, prices, V, excess = at
            sizes = 1e-13 * (np.abs(A) @ (np.abs(V) + np.abs(W))[:, 0] + room)
            if (excess <= sizes).all() and prices @ np.abs(excess) <= rounding + prices @ sizes:
                break
            aim = self._solve(B, V, model, prices, excess)
            # halved until the dual value does not fall
            for halvings in range(20):
                ahead = price(prices + 2.0**-halvings * (aim - prices), V)
                if is_higher := ahead[0] >= value - rounding:
                    break
            if not is_higher or np.array_equal(ahead[2], prices):
                break
            at = ahead
        value, rounding, prices, V, excess = at
        # what a row and its price leave of a step to nowhere is rounding of the two
        steps = (np.abs(R[:, 0]) + prices @ np.abs(A)) / B.diagonal()
        if (np.abs(V - W)[:, 0] <= 1e-12 * steps).all():
            return W, prices
        # W is in the rows, at which the model is 0
        if (excess > 10 * sizes).any() or value - float(prices @ excess) > rounding:
            raise np.linalg.LinAlgError("the model is too flat for its least value in the rows to be found")
        return V, prices

    def _solve(self, B: Array, V: Array, model: QuadraticModel, prices: Array, excess: Array) -> Array:
        """Return the prices of Newton's step."""
        support = np.flatnonzero(V.any(axis=1) | ((model.size == 0) & (model.low < 0)))
        X = self.A[:, support]
        S = X @ solve(B[np.ix_(support, support)], X.T, assume_a="pos") if len(support) else np.zeros((len(X),) * 2)
        # rows that are opposite, as of equal means, or that no weight moves: a share that digits of S do not show
        diagonal = S.ravel()[:: len(S) + 1]
        diagonal += 1e-10 * (float(diagonal.max()) or float((self.A**2).max()) / float(B.max()) or 1.0)
        L = np.linalg.cholesky(S)
        return np.asarray(nnls(L.T, L.T @ prices + np.linalg.solve(L, excess))[0])


def measure_rows(V: Array) -> Array:
    """Return the 2-norms of rows; of one output they are sizes."""
    return np.abs(V[:, 0]) if V.shape[1] == 1 else np.linalg.norm(V, axis=1)


@njit(cache=True)
def descend(B: Array, R: Array, V: Array, size: Array, low: Array) -> None:
    """Sweeps of block descent on the model; V and its gradient R are changed in place."""
    n_matrices, n_outputs = len(B), V.shape[1]
    # sweeps between two solutions on the support
    for _ in range(20):
        still, V_before, R_before = True, V.copy(), R.copy()
        for a in range(len(V)):
            # the least of a model with the largest curvature of all outputs: exact where they have the same
            curvature = 0.0
            for t in range(n_matrices):
                curvature = max(curvature, B[t, a, a])
            length = 0.0
            for t in range(n_outputs):
                length += (curvature * V[a, t] - R[a, t]) ** 2
            length = np.sqrt(length)
            share = max(length - size[a], 0.0) / (length * curvature) if length > 0 else 0.0
            for t in range(n_outputs):
                change = max(share * (curvature * V[a, t] - R[a, t]), low[a]) - V[a, t]
                if change != 0.0:
                    V[a, t] += change
                    for i in range(len(V)):
                        R[i, t] += change * B[t % n_matrices, a, i]
                    still = False
        if still:
            return
        # of weights that are to be nonnegative, solutions on supports are what ends at the optimum
        if n_outputs == 1 and low[0] < 0.0:
            go_on(R[:, 0], V[:, 0], (V - V_before)[:, 0], (R - R_before)[:, 0], size)


@njit(cache=True)
def go_on(R: Array, V: Array, d: Array, Rd: Array, size: Array) -> None:
    """Go to the least of the model of one output, of free weights, on the way d from V; its gradient changes by Rd.

    Where columns depend on each other a model has directions without curvature, in which sweeps creep until a weight
    is 0: the least is mostly where one is, of which the slope jumps by ``2 size |d_j|``.
    """
    slope, bend = (R * d).sum() + (size * np.where(V != 0.0, np.sign(V) * d, np.abs(d))).sum(), (d * Rd).sum()
    passing = np.where((V * d < 0.0) & (size > 0.0), -V / d, np.inf)
    # Rd is a difference, whose rounding is multiplied
    t, stop = 100.0, -1
    for j in np.argsort(passing):
        if stop >= 0 or passing[j] >= t or slope + passing[j] * bend >= 0.0:
            break
        slope += 2 * size[j] * abs(d[j])
        if slope + passing[j] * bend >= 0.0:
            t, stop = passing[j], j
    if stop < 0:
        t = 0.0 if slope >= 0.0 else min(t, -slope / bend) if bend > 0.0 else t
    V[:], R[:] = V + t * d, R + t * Rd
    if stop >= 0:
        V[stop] = 0.0


@dataclass(frozen=True)
class SparsePoint:
    """A point, with its scores."""

    W: Array  # (n_columns, n_outputs)
    b: Array  # (n_outputs,)
    F: Array  # (n_samples, n_outputs): H W + b


SecondDerivatives: TypeAlias = Callable[[Indices, Indices], Array]
"""From columns and outputs of weights to second derivatives in these, (n, n), or (n_outputs, n, n) by rows, where those
of all outputs are the same (1, n, n)."""


@dataclass(frozen=True)
class RowPenalty:
    """sum size |W_j| + square |W_j|^2 over the entries, or the rows, of free or nonnegative W."""

    size: float
    square: float
    by_rows: bool
    nonnegative: bool

    def minimise_model(
        self,
        W: Array,
        b: Array,
        edges: Array,
        pull: Array | None,
        second: SecondDerivatives,
        damping: float = 0.0,
        held: HeldRows | None = None,
    ) -> tuple[Array, Array, float, Array]:
        """Minimise the penalty and the quadratic model of a loss; returns the way there from (W, b), and its slope.

        Behind these are the prices of rows that hold the weights; there are none in general.

        The loss has minus the edges as slopes in W (n_columns, n_outputs), and minus `pull` in b, None where b stays.
        Active are the weights that are not 0, and those whose edge exceeds the size; ``second(j, k)`` returns second
        derivatives in those of columns j and outputs k, and then in b, of which damping adds a share of the largest.
        """
        n_outputs = W.shape[1]
        width = n_outputs if self.by_rows else 1
        blocks, edges = W.reshape(-1, width), edges.reshape(-1, width)
        held = HeldRows.of_none(len(blocks)) if held is None else held
        n_free = 0 if pull is None else n_outputs // width
        # a zero with an edge within the size stays one
        is_active = blocks.any(axis=1) | self._exceeds(edges, held)
        d, db, slope = np.zeros_like(blocks), np.zeros_like(b), 0.0
        while is_active.any() or n_free:
            active = np.flatnonzero(is_active)
            m = len(active)
            V, R = blocks[active], 2 * self.square * blocks[active] - edges[active]
            if pull is not None:
                V, R = np.vstack([V, b.reshape(-1, width)]), np.vstack([R, -pull.reshape(-1, width)])
            size, low = np.repeat([self.size, 0.0], [m, n_free]), np.repeat([0.0, -np.inf], [m, n_free])
            low[:m] = 0.0 if self.nonnegative else -np.inf
            B = second(*np.divmod(active, n_outputs // width)).reshape(-1, len(V), len(V))
            for each in B:
                diagonal = each.ravel()[:: len(V) + 1]
                # second derivatives of square |W|^2, and of no intercept
                diagonal[:m] += 2 * self.square + damping * (float(np.abs(diagonal).max()) or 1.0)
            # prices of rows are found from exact solutions; nothing holds the intercept
            model = QuadraticModel(B, size, low, 0.0 if len(held.A) else LITTLE)
            rows = replace(held, A=np.hstack([held.A[:, active], np.zeros((len(held.A), n_free))]))
            least, prices = rows.minimise(model, V, R)
            held, ahead = replace(held, prices=prices), least - V
            # the decrease that Lee, Sun & Saunders (2014) measure: R'(V - W) + size (|V| - |W|), at most 0
            slope = float((R * ahead).sum()) + float(size @ (measure_rows(least) - measure_rows(V)))
            d[active], db = ahead[:m], ahead[m:].ravel() if n_free else db
            # at other prices others are active, too
            wanting = len(held.A) > 0 and self._exceeds(edges, held) & ~is_active
            if not np.any(wanting):
                break
            is_active |= wanting
        return d.reshape(W.shape), db, slope, held.prices

    def _exceeds(self, edges: Array, held: HeldRows) -> Mask:
        """Mark the edges above the size, less what holds the weights takes off them by its prices."""
        priced = edges - (held.prices @ held.A)[:, np.newaxis] if len(held.A) else edges
        return (priced[:, 0] if self.nonnegative else measure_rows(priced)) > self.size


class KeptCurvature:
    """Second derivatives ``X diag(D) X'`` of one output whose D is kept from point to point while it is near.

    A model with curvatures within a share of the true ones leaves about that share of the distance to the optimum, for
    products of new columns alone. Columns are rows of one array, which grows. Of more than `modelled` samples so many
    stand for all: each for the same share of sum D, in the order of the samples.
    """

    modelled = 2**15
    """On 100,000 x 20 with pairs a run takes three quarters of the time that it takes with all."""
    many = 2**18  # entries from which on models are in single precision, and what is near the limit is looked at alone

    def __init__(self) -> None:
        self.is_near = True
        """True where those that are kept are not why a step from the point that was followed last gains little."""
        self.D = self.roots = np.zeros(0)  # none: the next ones are taken
        self.drawn: slice | Indices = slice(None)  # the samples
        self.places = np.zeros(0, np.intp)  # of columns among those that are known, -1 for others
        self.scaled = GrowingRows(0)  # ``X sqrt(D)`` of those; a column of ones, for an intercept, comes first
        self.products = np.zeros((0, 0))

    def follow(self, D: Array, share: float = 0.1) -> None:
        """Take the curvatures of a point instead of those that are kept, where they are not within a share of these."""
        # on 10,000 x 10 with pairs runs take the least time at 0.1 on average; at 0.03 and at 0.4, 1.1 times that
        if not len(self.D) or float(np.abs(D - self.D).sum()) > share * float(self.D.sum()):
            self.D, self.places = D, np.zeros(0, np.intp)
        # on 10,000 x 20 runs take 0.8 of the time at 0.03 that they take at 0.003
        self.is_near = float(np.abs(D - self.D).sum()) <= min(share, 0.03) * float(self.D.sum())
        # a sample that was where its loss is linear is in the way of models that know nothing of its curvature
        self.is_near &= not np.any(D[self.D == 0])

    def find(self, rows: ListedRows, j: Indices, intercept: bool) -> Array:
        """Return the second derivatives in the weights of columns j, and in the intercept."""
        if not len(self.places):
            # a sample where the loss is linear adds nothing
            inside = np.flatnonzero(self.D)
            n, total = min(len(inside), self.modelled), np.cumsum(self.D)
            self.drawn = inside if 0 < n < len(self.D) else slice(None)
            self.roots = np.sqrt(self.D[self.drawn])
            if n < len(inside):
                self.drawn = np.searchsorted(total, total[-1] * (np.arange(n) + 0.5) / n)
                self.roots = np.full(n, np.sqrt(total[-1] / n))
            # models of many entries are not that exact, and single precision takes half of the time
            kind = np.float32 if rows.size > self.many else np.float64
            # the room of the last curvatures serves
            if self.products.dtype != kind or not self.products.size or self.scaled.values.shape[1] != len(self.roots):
                self.scaled = GrowingRows(len(self.roots), kind, 1 + len(j))
                self.products = np.zeros((0, 0), kind)
            self.scaled.n_rows = 0
        self.places = np.pad(self.places, (0, len(rows) - len(self.places)), constant_values=-1)
        new, first = j[self.places[j] < 0], self.scaled.n_rows
        if not first:
            self.scaled.add(self.roots[np.newaxis])
        self.places[new] = self.scaled.n_rows + np.arange(len(new))
        roots = self.roots.astype(self.products.dtype)
        for values, unit in map(rows.packed.__getitem__, new.tolist()):
            # a copy of all would take longer than their products
            self.scaled.add((values[self.drawn] * roots * unit)[np.newaxis])
        X = self.scaled.values
        # twice as many at least, so that it does not happen in every round
        if (more := len(X) - len(self.products)) > 0:
            self.products = np.pad(self.products, (0, max(more, len(self.products))))
        # of all it is symmetric, and takes half of a product
        found = np.sum(map_parts(X.shape, lambda part: X[first:, part] @ X[:, part].T), axis=0)
        self.products[first : len(X), : len(X)], self.products[: len(X), first : len(X)] = found, found.T
        of_j = np.append(self.places[j], 0) if intercept else self.places[j]
        B = self.products[of_j, : len(X)].take(of_j, axis=1)
        if X.dtype == np.float32:
            # rounding costs definiteness 3e-7 of the largest (1,000 columns of 10,000 x 20)
            B.ravel()[:: len(B) + 1] += 1e-5 * float(B.diagonal().max())
        return B


@dataclass(frozen=True)
class SparseProblem:
    """min loss(y (H W + b)) + penalty(W), where some rows may hold W."""

    rows: ListedRows  # H'
    y: Array  # (n_samples, 1)
    penalty: RowPenalty
    intercept: bool
    value: Callable[[SparsePoint], float]  # of loss and penalty
    hessian: Callable[[SparsePoint, Array, Array, Indices], Array]
    """From a point, its U, columns X (n_active, n_samples) and their outputs to second derivatives in these weights."""
    kept: KeptCurvature | None = None
    """Where second derivatives may be those of an earlier point."""

    def step(
        self, at: SparsePoint, U: Array, edges: Array, damping: float = 0.0, held: HeldRows | None = None
    ) -> tuple[SparsePoint, float, float, Array]:
        """Minimise the quadratic model, and search on the way there; returns the point, the step and what it promised.

        Behind these are the prices of rows that hold the weights. With damping short steps are given up.
        """

        def differentiate(j: Indices, k: Indices) -> Array:
            if self.kept is not None:
                return self.kept.find(self.rows, j, self.intercept)
            X = self.rows[j]
            if self.intercept:
                # b are the weights of a column of ones, one an output, without a price
                each = np.arange(1 if self.penalty.by_rows else U.shape[1])
                X, k = np.vstack([X, np.ones((len(each), len(self.y)))]), np.r_[k, each]
            return self.hessian(at, U, X, k)

        pull = (self.y * U).sum(axis=0) if self.intercept else None
        d, db, slope, prices = self.penalty.minimise_model(at.W, at.b, edges, pull, differentiate, damping, held)
        moved = np.flatnonzero(d.any(axis=1))
        dF = combine_each(self.rows, moved, d[moved]) + db

        def move(t: float) -> SparsePoint:
            return SparsePoint(at.W + t * d, at.b + t * db, at.F + t * dF)

        # 60 halvings leave no bit of a step; a damped one is damped more after a few
        few = damping > 0 and held is None
        return *search_step(self.value, at, move, slope, 6 if few else 60), -slope, prices


def search_step(
    value: Callable[[SparsePoint], float],
    at: SparsePoint,
    move: Callable[[float], SparsePoint],
    slope: float,
    halvings: int = 60,
) -> tuple[SparsePoint, float]:
    """Halve the step until it decreases the objective by a share of what the slope promises; returns it, 0 for none.

    Where floats do not resolve that decrease, the whole step is taken: there Newton's method converges by itself.
    """
    start, t = value(at), 1.0
    # rounding hides a decrease that is so small beside the objective
    if -slope <= 1e-12 * abs(start):
        return move(1.0), 1.0
    for _ in range(halvings):
        ahead = move(t)
        # Armijo's condition, with Nocedal & Wright's usual constant
        if value(ahead) <= start + 1e-4 * t * slope:
            return ahead, t
        t /= 2
    return at, 0.0
