"""Losses that are sums over samples of one function of a margin, read off an expression: hinges, and smooth functions.

A canonical form without curved cones is ``min c'x : A x <= b``. Variables of no cost are eliminated (Fourier and
Motzkin): pairs of rows that bound one from both sides remain. If then every row has one of the other variables t, on
the side that its cost pulls it to, and at most one margin, and no t has rows of two margins, the form is

    sum_i slope_i z_i + sum over t of |cost| max over rows of (slope z_i + intercept),

a sum over samples, whose kinks are where neighbours in the upper envelopes of these lines cross. Anything else is none.
A form without a cost is rows of constraints, linear where no other variables are left.

Proofs of a sum of one smooth function are a table. What ``-phi*(-u)`` is at a multiplier u, a conjugate in one
dimension tells (`problems.curves`), to the last digits. It is concave in u: between two u that have bounds, the chord
of these is one. So a table of them bounds ``sum_i phi(z_i) + u'z`` by interpolation, in the time of a search in it. Its
points are the slopes at a grid of z, which is finer where phi is curved: with steps d the chord misses at most
``phi'' d^2 / 8``. Tangents on both sides of the minimiser, which is interpolated, miss next to nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

import numpy as np
from scipy import sparse
from scipy.optimize import brentq

from cvxens.problems.conic import ConicForm, Stated
from cvxens.problems.curves import Curve
from cvxens.problems.duality import balance_classes, balance_exactly
from cvxens.problems.linear_dual import Hinges, LinearDual
from cvxens.problems.losses import CVaR, Loss
from cvxens.problems.modelling import Term, cp
from cvxens.problems.structure import SumOfCurves, read_sum, take_factor
from cvxens.problems.target_losses import SumOfHinges
from cvxens.rounding import EPSILON, TINY, sum_error
from cvxens.types import Array, Indices, Mask

Rows: TypeAlias = tuple[sparse.csr_array, Array]
"""A and b of rows ``A x <= b``."""

MOST_LINES = 32
"""Lines that an envelope is made of, and kinks of a sample on either side: the work is the square of it."""


class ReadHinges(SumOfHinges):
    """A sum of hinges that was read off an expression, and a constant.

    Parameters
    ----------
    hinges : tuple of Hinges
        With knots and prices of every sample.
    constant : float
        What the least values of all samples add up to.
    size : float
        The sum of the sizes of what knots and constant were made of, of which rounding is a share.
    """

    on_scores = False

    def __init__(self, hinges: tuple[Hinges, ...], constant: float, size: float) -> None:
        self.hinges, self.constant, self.size = hinges, constant, size
        self.t = np.stack([part.knots for part in hinges])
        self.C = max(float(part.prices.max()) for part in hinges)

    @property
    def linear_dual(self) -> LinearDual:
        return LinearDual(self.hinges)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        return self.hinges[0].knots.shape

    @property
    def basis(self) -> str:
        if [part.sign for part in self.hinges] == [1.0, -1.0] and not np.ptp(self.t, axis=0).any():
            levels = self.hinges[0].prices / sum(part.prices for part in self.hinges)
            if np.ptp(levels) == 0:
                return f"the loss read as pinball {levels[0]:.3g}"
        slopes = [-part.sign * part.prices for part in self.hinges]
        named = " and ".join(f"{each[0]:.3g}" if np.ptp(each) == 0 else "its own of each sample" for each in slopes)
        return f"the loss read as hinges of slopes {named}"

    def model(self, z: cp.Expression) -> Term:
        return Term(super().model(z).expression + self.constant)

    def terms(self, z: Array) -> Array:
        return np.append(super().terms(z), self.constant)

    def dual_terms(self, u: Array) -> Array:
        return np.append(super().dual_terms(u), self.constant)

    def rounding(self, z: Array) -> float:
        sizes = sum(float((part.prices * (np.abs(part.knots) + np.abs(z))).sum()) for part in self.hinges)
        return sum_error(z.size + 64, sizes + self.size)

    def dual_rounding(self, u: Array) -> float:
        return super().dual_rounding(u) + sum_error(64, self.size)


def read_hinges(form: ConicForm, *, in_part: bool = False) -> ReadHinges | None:
    """Return the sum of hinges that a canonical form is, of margins in one dimension; None where it is no such sum.

    Slopes of every sample are to have both signs or 0 among them, so that there is a least value. With `in_part`
    samples may have none, and count as one of price 0; else that is no such sum.
    """
    if form.cones.n_rows != form.cones.nonnegative or (lines := _read_lines(form)) is None:
        return None
    n, (sample, factor, s, c, offset) = len(form.rows), lines
    function, knots, jumps = _find_kinks(s, c)
    if not len(function):
        return None
    slopes = form.c[form.rows] + np.bincount(sample, factor * s[:, 0], n)
    # a row for every sample, its kinks in their order, and behind them some whose slopes do not change
    order = np.lexsort((knots, sample[function]))
    of, knots, jumps = sample[function][order], knots[order], (factor[function] * jumps)[order]
    places = np.arange(len(of)) - np.searchsorted(of, of)
    if (most := int(places.max()) + 1) > MOST_LINES:
        return None
    at, by = np.zeros((n, most)), np.zeros((n, most))
    at[of, places], by[of, places] = knots, jumps
    rises = np.cumsum(by, axis=1)
    # a change of slopes below 0 is a hinge that pulls up; what is below the rounding of their sums is none
    up = np.clip(by - rises - slopes[:, np.newaxis], 0.0, by)
    least = 16 * EPSILON * (np.abs(slopes) + rises[:, -1])
    if (slopes > least).any() or (slopes + rises[:, -1] < -least).any():
        return None
    hinges: list[Hinges] = []
    for sign, prices in ((1.0, up), (-1.0, by - up)):
        kept, ahead = prices > least[:, np.newaxis], slice(None, None, -int(sign))
        counts = kept.sum(axis=1)
        if counts.min() == 0 < counts.max() and not (in_part and counts.max() == 1):
            return None
        best = np.argsort(~kept[:, ahead], axis=1, kind="stable")
        for k in range(counts.max()):
            place = (np.arange(n), np.take_along_axis(best, np.minimum(k, counts - 1)[:, np.newaxis], 1)[:, 0])
            # the last one of a sample with fewer is cut into halves, and one half again, which rounds nothing
            halvings = np.maximum(np.minimum(k + 1, counts.max() - 1) - (counts - 1), 0)
            hinges.append(Hinges(sign, at[:, ahead][place], np.ldexp(prices[:, ahead][place], -halvings)))
    if not hinges:
        return None
    # all hinges are 0 at the first knot
    lowest = hinges[0].knots
    values = factor * (s * lowest[sample][:, np.newaxis] + c).max(axis=1)
    parts = np.concatenate([[form.offset, offset], form.c[form.rows] * lowest, values])
    size = float(np.abs(parts).sum() + (factor * np.abs(c).sum(axis=1)).sum())
    return ReadHinges(tuple(hinges), float(parts.sum()), size)


def _find_kinks(s: Array, c: Array) -> tuple[Indices, Array, Array]:
    """Return where the largest of lines ``s x + c``, by rising s in every row, has kinks: row, x and change of slope.

    A line is the largest between its crossings with those before it and with those behind.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        crossings = (c[:, :, np.newaxis] - c[:, np.newaxis]) / (s[:, np.newaxis] - s[:, :, np.newaxis])
    # of parallel lines the later is the higher
    crossings[s[:, np.newaxis] == s[:, :, np.newaxis]] = -np.inf
    later = np.triu(np.ones((s.shape[1],) * 2, dtype=bool), 1)
    begin, end = np.where(later, crossings, -np.inf).max(axis=1), np.where(later, crossings, np.inf).min(axis=2)
    places = np.where(begin < end, np.arange(s.shape[1]), -1)
    previous = np.maximum.accumulate(places, axis=1)[:, :-1]
    row, k = np.nonzero((places[:, 1:] >= 0) & (previous >= 0))
    before = previous[row, k]
    return row, crossings[row, before, k + 1], s[row, k + 1] - s[row, before]


def _read_lines(form: ConicForm) -> tuple[Indices, Array, Array, Array, float] | None:
    """Return sample, factor, and slopes and intercepts of lines of every maximum in a linear form, and a constant."""
    A, b, sample_of = _eliminate_idle(form)
    is_own = sample_of < 0
    entries, n_rows = A.tocoo(), A.shape[0]
    (row, column), value = entries.coords, entries.data
    own = is_own[column]
    # one variable in every row, on the side that its cost pulls to, and at most one margin
    if (np.bincount(row[own], minlength=n_rows) != 1).any() or (np.bincount(row[~own], minlength=n_rows) > 1).any():
        return None
    variable, bound = np.empty(n_rows, int), np.empty(n_rows)
    sample, slope = np.full(n_rows, -1), np.zeros(n_rows)
    variable[row[own]], bound[row[own]] = column[own], value[own]
    sample[row[~own]], slope[row[~own]] = sample_of[column[~own]], value[~own]
    slope, intercept = slope / np.abs(bound), -b / np.abs(bound)
    order = np.lexsort((intercept, slope, variable))
    variable, first, counts = np.unique(variable[order], return_index=True, return_counts=True)
    # a variable without rows has no least cost
    is_costly = np.array_equal(variable, np.flatnonzero((form.c != 0) & is_own))
    if not is_costly or not 0 < counts.max(initial=0) <= MOST_LINES or (value[own] * form.c[column[own]] > 0).any():
        return None
    # the last line stands for those that others have more
    lines = order[first[:, np.newaxis] + np.minimum(np.arange(counts.max()), counts[:, np.newaxis] - 1)]
    of, factor = sample[lines].max(axis=1), np.abs(form.c[variable])
    if ((sample[lines] != of[:, np.newaxis]) & (sample[lines] >= 0)).any():
        return None
    free = of < 0
    constant = float((factor * intercept[lines].max(axis=1))[free].sum())
    return of[~free], factor[~free], slope[lines][~free], intercept[lines][~free], constant


def _eliminate_idle(form: ConicForm) -> tuple[sparse.csr_array, Array, Indices]:
    """Return the rows ``A x <= b`` of a linear form without variables of no cost, and the sample of each, or -1."""
    sample_of = np.full(len(form.c), -1)
    sample_of[form.rows] = np.arange(len(form.rows))
    A, b, zero = sparse.csr_array(form.A), form.b, form.cones.zero
    # an equality is one from both sides
    A, b = sparse.csr_array(sparse.vstack([A, -A[:zero]])) if zero else A, np.append(b, -b[:zero])
    for _ in range(MOST_LINES):
        # a row over all samples doubles with every variable that is eliminated from it
        if (fewer := _eliminate(A, b, (form.c == 0) & (sample_of < 0), 8 * form.A.nnz)) is None:
            break
        A, b = fewer
    return A, b, sample_of


def read_rows(form: ConicForm, most: int) -> tuple[Array, Array] | None:
    """Return at most so many rows A and limits b of ``A z <= b``, the set where a form without a cost is finite.

    None where it is no such set: where a cone is curved, or a variable cannot be eliminated.
    """
    if form.cones.n_rows != form.cones.nonnegative + form.cones.zero:
        return None
    A, b, sample_of = _eliminate_idle(form)
    kept = np.flatnonzero(np.diff(A.indptr))
    # a row of no variables says that its limit is not below 0
    if len(kept) > most or (np.delete(b, kept) < 0).any() or A[:, sample_of < 0].nnz:
        return None
    return A[kept][:, form.rows].toarray(), b[kept] + 0.0


@dataclass(frozen=True)
class ReadCVaR(CVaR):
    """The mean of the largest hinges that was read off an expression, whose own variable has the name it was given."""

    origin: Loss = field(kw_only=True)

    def own_values(self, z: Array) -> Mapping[str, Array]:
        return self.origin.own_values(z)


def read_largest(stated: Stated, origin: Loss) -> ReadCVaR | None:
    """Return the sum of the largest hinges ``max(0, 1 - z_i)`` that an expression is a multiple of; else None.

    It is a sum of the k largest, or ``eta + sum_i max(0, hinge_i - eta) / k`` at the best eta (Rockafellar & Uryasev).
    """
    numbers, node = take_factor(stated.term.expression)
    factor = float(numbers.flat[0])
    if type(node).__name__ == "sum_largest":
        hinges, D = node.args[0], 1 / float(node.k)
        factor /= D
    elif (found := _read_threshold(node, stated.variable)) is not None:
        share, hinges, D = found
        factor *= share
    else:
        return None
    summed = Stated(stated.variable, Term(cp.sum(hinges), stated.term.constraints), stated.parameters)
    if hinges.shape != stated.variable.shape or (read := read_hinges(summed.conic.form)) is None:
        return None
    [(sign, knots, prices), *others] = read.hinges
    is_one = sign > 0 and not (others or read.constant or np.ptp(prices) or (knots != 1).any())
    # of smaller prices D there is no least value
    return ReadCVaR(D, factor * float(prices[0]), origin=origin) if is_one and D * len(knots) >= 1 else None


def _read_threshold(node: cp.Expression, z: cp.Variable) -> tuple[float, cp.Expression, float] | None:
    """Return c, h and D of ``c (eta + D sum_i max(0, h_i - eta))`` in a variable eta of the expression's own."""
    own = [variable for variable in node.variables() if variable.id != z.id]
    if len(own) != 1 or own[0].size > 1 or own[0].attributes["nonneg"] or type(node).__name__ != "AddExpression":
        return None
    parts = sorted(map(take_factor, node.args), key=lambda part: part[1] is not own[0])
    (c, eta), (price, total), *others = ((float(numbers.flat[0]), part) for numbers, part in parts)
    clipped = total.args[0] if type(total).__name__ == "Sum" else total
    if others or eta is not own[0] or min(c, price) <= 0 or type(clipped).__name__ != "maximum":
        return None
    within, *zeros = sorted(clipped.args, key=lambda part: part.is_constant())
    taken = [part for part in within.args if {v.id for v in part.variables()} == {eta.id} and part.is_affine()]
    rest = [part for part in within.args if all(part is not each for each in taken)]
    if type(within).__name__ != "AddExpression" or len(taken) != 1 or not rest or len(zeros) != 1:
        return None
    value, eta.value = eta.value, 1.0
    is_less = bool(np.all(zeros[0].is_constant() and zeros[0].value == 0) and (taken[0].value == -1).all())
    eta.value = value
    return (c, sum(rest[1:], rest[0]), price / c) if is_less else None


def _eliminate(A: sparse.csr_array, b: Array, free: Mask, most: int) -> Rows | None:
    """Eliminate variables of no cost, the first in each of their rows; None if there are none, or too many entries."""
    entries = A.tocoo()
    mine = free[entries.coords[1]]
    row, column, value = entries.coords[0][mine], entries.coords[1][mine], entries.data[mine]
    first = np.full(A.shape[0], A.shape[1])
    np.minimum.at(first, row, column)
    taken = ~np.isin(column, column[first[row] < column])
    row, column, value = row[taken], column[taken], value[taken]
    above, below = np.flatnonzero(value > 0), np.flatnonzero(value < 0)
    n_above, n_below = (np.bincount(column[side], minlength=A.shape[1]) for side in (above, below))
    lengths = np.diff(A.indptr)[row]
    n_entries = n_below[column[above]] @ lengths[above] + n_above[column[below]] @ lengths[below]
    if not (n_above @ n_below and n_entries <= most):
        return None
    # in units in which they are 1 and -1, a row that bounds one from above and one that does from below add up to none
    rows = A[row]
    rows.data = rows.data / np.repeat(np.abs(value), np.diff(rows.indptr))
    gains = b[row] / np.abs(value)
    signs = sparse.csr_array((np.sign(value), (np.arange(len(row)), column)), shape=rows.shape)
    i, j = (signs[above] @ signs[below].T).tocoo().coords
    pairs = rows[above[i]] + rows[below[j]]
    pairs.eliminate_zeros()
    others = np.setdiff1d(np.arange(A.shape[0]), row)
    kept = sparse.csr_array(sparse.vstack([A[others], pairs]))
    return kept, np.concatenate([b[others], gains[above[i]] + gains[below[j]]])


@dataclass(frozen=True, eq=False)
class ScalarSum:
    """A sum of one scalar convex function over samples, by bounds at a table of multipliers.

    Of ``price phi(v) + slope z`` with ``v = scale z + shift`` the multiplier u of z is one of phi by
    ``mu = (u + slope) / (price scale)``: then ``min_z price phi(v) + (slope + u) z`` is
    ``price min_v (phi(v) + mu v) - (u + slope) shift / scale``.

    Parameters
    ----------
    of : SumOfCurves
        What it was read as.
    v : ndarray of shape (n_points,)
        Numbers, ascending.
    slopes : ndarray of shape (n_points,)
        ``-phi'(v)``, descending.
    u, bounds : ndarray of shape (n_points,)
        Multipliers of phi, ascending, and bounds on ``phi(v) + u v`` from below over all v.
    """

    of: SumOfCurves
    v: Array
    slopes: Array
    u: Array
    bounds: Array

    @classmethod
    def from_stated(cls, stated: Stated) -> ScalarSum | None:
        """Make the table of what is such a sum over its variable, smooth, with a least value; else None."""
        term, z = stated.term, stated.variable
        if z.ndim > 1 or term.constraints or (of := read_sum(term.expression, z)) is None:
            return None
        phi, unit = of.curve, float(np.abs(of.scales).max())
        # where scores of 0 are, and what is as far from one another as they are
        first, last, spread = float(of.shifts.min()), float(of.shifts.max()), float(np.ptp(of.shifts))
        inner = min(first, -spread), max(last, spread)
        # multipliers of 0 have to be in it, so that shrunk ones are
        wanted = of.slopes / (of.prices * of.scales)
        # how far a table reaches on both sides, tried in turn; multipliers beyond its ends are clipped, which costs
        # those that tend to 1 as 1 - exp(-v) does no more than the last digit
        for below, above in ((36, 36), (10, 30), (30, 10), (6, 25), (25, 6), (3, 15), (15, 3)):
            most = 2.0 if below == above else 2e3
            coarse = np.linspace(inner[0] - below * unit, inner[1] + above * unit, 400)
            slopes = -phi.slopes(coarse)
            near = np.abs(np.interp(np.linspace(first - unit, last + unit, 50), coarse, slopes)).max()
            # the chord of far larger slopes than those near scores of 0 would miss too much
            is_short = np.isfinite(slopes).all() and np.abs(slopes).max() <= most * max(near, np.abs(wanted).max())
            room = 1e-6 * float(np.ptp(slopes)) if is_short else 0.0
            if is_short and slopes[-1] - room <= wanted.min() and wanted.max() <= slopes[0] + room:
                break
        else:
            return None
        # points at equal steps of the integral of sqrt phi'', and some everywhere: a logistic loss is met to 1e-7
        falls = np.sqrt(np.maximum(-np.diff(slopes), 0.0) * np.diff(coarse)) + 1e-3 * np.diff(coarse)
        lengths = np.concatenate([[0.0], np.cumsum(falls)])
        grid = np.interp(np.linspace(0.0, lengths[-1], 8_000), lengths, coarse)
        # where phi'' jumps, in some places, steps are shorter
        bends = np.diff(phi.slopes(grid)) / np.diff(grid)
        jumps = np.flatnonzero(np.abs(np.diff(bends)) > 0.05 * bends.max())[:16]
        grid = np.unique(np.append(grid, np.linspace(grid[jumps], grid[jumps + 2], 500)))
        left, right = phi.bounds(grid)
        u, range_of_u, slopes = -right[::-1], float(np.ptp(right)), -right
        # the share of the range of u that a smooth function's may fall by from one point to the next; at one it is 0
        if not range_of_u > 0 or max(np.diff(right).max(), 1e8 * (right - left).max()) > 0.02 * range_of_u:
            return None
        u = np.unique(np.append(u, [min(wanted.min(), u[0]), max(wanted.max(), u[-1])]))
        bounds = _bound(phi, u)
        return cls(of, grid, slopes, u, bounds) if np.isfinite(bounds).all() else None

    @cached_property
    def _units(self) -> Array:
        """What multipliers of phi are multiplied by."""
        return self.of.prices * self.of.scales

    @cached_property
    def _ends(self) -> tuple[Array, Array]:
        """The least and the largest multipliers of samples."""
        ends = np.sort(self._units * self.u[[0, -1], np.newaxis], axis=0) - self.of.slopes
        # 0 is in the table but for digits
        return np.minimum(ends[0], 0.0), np.maximum(ends[1], 0.0)

    def multipliers(self, z: Array) -> Array:
        """Return minus the slopes, sample by sample; beyond the table those at its ends."""
        v = np.clip(self.of.scales * z + self.of.shifts, *self.v[[0, -1]])
        return -self._units * self.of.curve.slopes(v) - self.of.slopes

    def best_intercept(self, f: Array, y: Array) -> Array | None:
        """Return the b at which the multipliers of ``y (f + b)`` balance; None where no b in the table does that."""
        far = np.abs(self.v).max() + np.abs(self.of.shifts).max()
        reach = float(np.abs(f).max() + far / np.abs(self.of.scales).min())

        def pull(b: float) -> float:
            return float(y @ self.multipliers(y * (f + b)))

        return np.asarray(brentq(pull, -reach, reach)) if pull(-reach) > 0 > pull(reach) else None

    def curvature(self, u: Array) -> Array:
        """Return the second derivatives at the z whose multipliers are u."""
        return self._units * self.of.scales * self._bend(self._read(u))

    def _bend(self, u: Array) -> Array:
        """Return the second derivative of phi where its multiplier is u."""
        bends = -np.diff(self.slopes) / np.diff(self.v)
        middles = (self.slopes[1:] + self.slopes[:-1]) / 2
        return np.interp(u, middles[::-1], bends[::-1])

    def repair(self, u: Array, y: Array | None) -> Array:
        """Clip multipliers into the table; with signs, the heavier side of y u is scaled down until y'u = 0."""
        clipped = np.clip(u, *self._ends)
        # no size grows, and 0 is in the table
        return clipped if y is None else balance_exactly(balance_classes(clipped, y), y)

    def _read(self, u: Array) -> Array:
        """Return the multipliers of phi."""
        return (u + self.of.slopes) / self._units

    def _bound_closely(self, u: Array) -> Array:
        """Bound ``phi(v) + u v`` from below over all v: by the chord, or by tangents on both sides of the minimiser.

        Of points a < b with slopes s < t of ``phi(v) + u v`` on the two sides of 0 the share ``t / (t - s)`` of the
        tangent at a and the rest of that at b are a constant.
        """
        phi, v = self.of.curve, np.interp(u, self.slopes[::-1], self.v[::-1])
        # twice as far as the slope that is left, and the curvature in the table, say that the minimiser is
        left = phi.slopes(v) + u
        reach = 2 * left / np.maximum(self._bend(u), TINY) + np.copysign(1e-12 * (1 + np.abs(v)), left)
        a, b = np.minimum(v, v - reach), np.maximum(v, v - reach)
        at_a, at_b, s, t = phi.values(a), phi.values(b), phi.slopes(a) + u, phi.bounds(b)[0] + u
        with np.errstate(divide="ignore", invalid="ignore"):
            share = t / (t - s)
            tangents = share * (at_a + u * a) + (1 - share) * (at_b + u * b) - share * (1 - share) * (t - s) * (b - a)
        return np.fmax(np.interp(u, self.u, self.bounds), np.where((share >= 0) & (share <= 1), tangents, -np.inf))

    def dual_value(self, u: Array) -> float:
        """Bound the sum plus u'z from below over all z: beyond the table by the function itself, -inf where that is."""
        of, read = self.of, self._read(u)
        bounds, shifted = self._bound_closely(np.clip(read, *self.u[[0, -1]])), (u + of.slopes) * of.shifts
        if (beyond := (u < self._ends[0]) | (u > self._ends[1])).any():
            # a bound that is concave in the multiplier is least at an end of where rounding may have moved that from
            at, moved = read[beyond], 4 * EPSILON * ((np.abs(u) + np.abs(of.slopes)) / np.abs(self._units))[beyond]
            bounds[beyond] = np.minimum(_bound(of.curve, at - moved), _bound(of.curve, at + moved))
        bounds = of.prices * bounds
        terms = bounds - shifted / of.scales
        # what roundings of scores, multipliers and of one at an end of the table may move
        far = (np.abs(u) + np.abs(of.slopes)) * (np.abs(self.v).max() + np.abs(of.shifts)) / np.abs(of.scales)
        lost = sum_error(len(u) + 4, float(np.abs(terms).sum())) + sum_error(32, float((np.abs(bounds) + far).sum()))
        return float(terms.sum()) + of.constant - lost


def _bound(phi: Curve, u: Array) -> Array:
    """Bound ``phi(z) + u z`` from below over all z: over those from 0 on, and over their negatives."""
    mirrored = Curve.of(slope=-1.0).then(phi.sides)
    return -np.maximum(phi.conjugate(-u), mirrored.conjugate(u))
