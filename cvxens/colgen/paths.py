"""A formulation at every price of an interval at once: few runs, and a certified gap between them.

The price t is a number that the objective depends on linearly wherever the weights stay, such as C in ``penalty(w) + C
loss(z)`` or lambda in ``lambda penalty(w) + loss(z)``. The optimum F(t) is then the lowest of lines, one for every
ensemble, so it is **concave** in t. Two facts follow, for any such formulation:

- the ensemble of a run at t_i is feasible at every t, where its objective is a line: F lies below all those lines;
- F lies above the chord between certified bounds at t_i and t_k, anywhere between the two.

Where two neighbouring lines cross, their gap to the chord is largest. A run there cuts it; where F is a polygon, as of
linear programs, and the crossing lies on it, both sides are exact, and F bends there (Eisner & Severance 1976; in
convex optimisation this is called a sandwich algorithm). So runs go to where the certified gap is largest until it is
small everywhere, and each starts from the hypotheses of its neighbours.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import inf, isfinite
from typing import Any

import numpy as np

from cvxens import validation
from cvxens.certificates import ROUNDING, relative
from cvxens.colgen.loop import Run, column_generation
from cvxens.colgen.protocols import Column, Oracle
from cvxens.errors import InvalidInput
from cvxens.limits import Ending, limit_time, time_is_up
from cvxens.problems.formulation import Formulation
from cvxens.types import Array

SHARE = 1 / 3
"""The part of `tol` that runs may use up at their own prices; the rest is for what lies between.

A gap between two runs is at most about theirs and that of the chord. With 1/10 runs take longer, with 1/2 there are
more of them.
"""

STRAIGHT = 1e-9
"""How far an objective may be from linear in the price, relative to it: its sums are rounded."""


@dataclass(frozen=True, eq=False)
class PathPoint:
    """A run at one price, and what its ensemble costs at others.

    Parameters
    ----------
    price : float
        What it was solved for.
    run : Run
        Its columns are those with a weight, and have no values.
    line : tuple of float
        ``(a, c)``: at the price t the objective of its ensemble is ``a + t c``.
    rounding : float
        How far at most rounding has moved that line within the interval, and the certified bound, together.

    Examples
    --------
    >>> from cvxens.colgen import formulations, oracles
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), [1.0, -1.0, 1.0]
    >>> first = solve_path(formulations.soft_margin, oracles.Stumps(X), y, prices=(0.1, 3.0)).points[0]
    >>> first.price, first.objective(np.array([0.1, 0.2]))
    (0.1, array([0.3, 0.6]))
    """

    price: float
    run: Run
    line: tuple[float, float]
    rounding: float

    def objective(self, price: Any) -> Any:
        """Evaluate the ensemble's objective at another price, or at several."""
        return self.line[0] + price * self.line[1]

    @property
    def bound(self) -> float:
        """The certified bound on the optimum at the own price."""
        return self.run.certificate.dual


@dataclass(frozen=True, eq=False)
class Path:
    """Ensembles along an interval of prices, and how far at most they are from the optimum, anywhere in it.

    Parameters
    ----------
    points : tuple of PathPoint
        By price, from one end of the interval to the other.
    ending : Ending
        OPTIMAL if the relative gap is within `tol` at every price of the interval; why not else.

    Examples
    --------
    >>> from cvxens.colgen import formulations, oracles
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), [1.0, -1.0, 1.0]
    >>> path = solve_path(formulations.soft_margin, oracles.Stumps(X), y, prices=(0.1, 3.0), tol=1e-9)
    >>> path.breakpoints
    array([1.])
    >>> path.bounds(np.array([0.25, 0.75, 2.0]))
    (array([0.75, 2.25, 3.  ]), array([0.75, 2.25, 3.  ]))
    """

    points: tuple[PathPoint, ...]
    ending: Ending

    @property
    def prices(self) -> Array:
        """The prices that were solved for, increasing, shape (n_points,)."""
        return np.array([point.price for point in self.points])

    @property
    def runs(self) -> Mapping[float, Run]:
        """The runs by price, such as `cvxens.plotting.PathDisplay.from_runs` draws."""
        return {point.price: point.run for point in self.points}

    @property
    def relative_gap(self) -> float:
        """The largest certified relative gap at any price of the interval."""
        return max(_largest_gap(*neighbours)[0] for neighbours in pairwise(self.points))

    @property
    def breakpoints(self) -> Array:
        """The prices at which the lowest of the ensembles' lines changes, shape (n_breakpoints,).

        Those of a linear program, where the path is exact: the optimum is linear in the price in between.
        """
        low, high = self.points[0].price, self.points[-1].price
        found: list[float] = []
        for left, right in pairwise(self.points):
            price, turn = _crossing(left, right), left.line[1] - right.line[1]
            # the same line, but for rounding, goes on; and a point at a bend has the lines of both sides cross there
            if price is None or turn <= STRAIGHT * abs(left.line[1]) or not low < price < high:
                continue
            if not found or price - found[-1] > STRAIGHT * price:
                found.append(price)
        return np.array(found)

    def bounds(self, prices: Any) -> tuple[Array, Array]:
        """Return a bound below the optimum and the objective of the best ensemble, at any prices of the interval."""
        given = self._check(prices)
        lower = np.interp(given, self.prices, [point.bound for point in self.points])
        upper = np.min([point.objective(given) + point.rounding for point in self.points], axis=0)
        return lower, upper

    def at(self, price: float) -> Run:
        """Return the run whose ensemble has the lowest objective at a price of the interval; `bounds` says how low."""
        self._check(price)
        return min(self.points, key=lambda point: point.objective(price)).run

    def _check(self, prices: Any) -> Array:
        given = np.asarray(validation.finite_array("prices", np.atleast_1d(prices), ndim=1))
        low, high = self.points[0].price, self.points[-1].price
        if given.min() < low or given.max() > high:
            outside = given[(given < low) | (given > high)][0]
            raise InvalidInput("prices", f"found {outside:g}", f"stay within the path's, from {low:g} to {high:g}")
        return given if np.ndim(prices) else given[0]


def solve_path(
    formulate: Callable[[float], Formulation],
    oracle: Oracle,
    y: Any = None,
    *,
    prices: tuple[float, float],
    tol: float = 1e-3,
    max_points: int = 200,
    max_time: float = inf,
    callback: Callable[[PathPoint], bool | None] | None = None,
    **options: Any,
) -> Path:
    """Solve a formulation at all prices of an interval, to a certified gap that holds at each of them.

    Parameters
    ----------
    formulate : callable
        From a price to a `Formulation` whose objective, of given weights, is linear in the price, such as
        ``formulations.soft_margin`` or ``lambda C: Formulation(Logistic(C), L1(), intercept=True)``.
    oracle : Oracle
        One that bounds the edges of its hypotheses, such as ``oracles.Stumps(X)``.
    y : array-like of shape (n_samples,), optional
        Labels -1 and +1; none where the loss is on scores.
    prices : tuple of float
        The ends of the interval, above 0.
    tol : float
        The relative gap to reach at every price of the interval.
    max_points : int
        The most runs.
    max_time : float
        Seconds after which the path ends as it is, once both ends are solved.
    callback : callable, optional
        Called with every new `PathPoint`; returns True to end the path after it, as `Ending.STOPPED`.
    **options
        Further arguments of `column_generation`.

    Returns
    -------
    Path
        Also when a limit or Ctrl-C ended it, once both ends are there; its relative gap says how far it is.

    Raises
    ------
    InvalidInput
        The objective is not linear in the price or is a maximum, the oracle does not bound its edges, the interval is
        empty, or what `column_generation` raises.

    Examples
    --------
    The l1-regularised logistic loss, proven to within 1 % at every C from 0.1 to 10:

    >>> from cvxens.colgen import oracles
    >>> from cvxens.problems.losses import Logistic
    >>> from cvxens.problems.penalties import L1
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [1.0, -1.0, 1.0, 1.0]
    >>> path = solve_path(lambda C: Formulation(Logistic(C), L1()), oracles.Stumps(X), y, prices=(0.1, 10), tol=0.01)
    >>> path.relative_gap < 0.01, len(path.points)
    (True, 14)
    """
    low, high = (validation.positive("prices", price) for price in prices)
    validation.positive("tol", tol)
    validation.whole("max_points", max_points, least=2)
    if low >= high:
        raise InvalidInput("prices", f"found {prices!r}", "give the lower end and a higher one")
    solve = _Solver(formulate, oracle, y, (low, high), {"tol": SHARE * tol, **options})
    points: list[PathPoint] = []
    ending: Ending | None = None
    with limit_time(max_time) as clock:
        while ending is None:
            # the ends first, then where the gap is largest
            price = (low, high)[len(points)] if len(points) < 2 else _find_widest(points, tol)[1]
            point = solve(price, points)
            insort(points, point, key=lambda each: each.price)
            stopped = callback is not None and callback(point)
            if point.run.ending is Ending.INTERRUPTED:
                clock.interrupt()
            if len(points) < 2:
                continue
            gap, following = _find_widest(points, tol)
            if clock.interrupted:
                ending = Ending.INTERRUPTED
            elif gap <= tol:
                # nothing is wide but, where a limit ended a run, its own gap
                ending = _find_reason(points, tol)
            elif stopped:
                ending = Ending.STOPPED
            elif time_is_up():
                ending = Ending.MAX_TIME
            elif len(points) >= max_points:
                ending = Ending.MAX_ROUNDS
            elif any(following == each.price for each in points):
                ending = Ending.ROUNDING
    return Path(tuple(points), ending)


class _Solver:
    """Runs at one price after another, and finds how the objectives of their ensembles depend on it."""

    def __init__(
        self,
        formulate: Callable[[float], Formulation],
        oracle: Oracle,
        y: Any,
        ends: tuple[float, float],
        options: Mapping[str, Any],
    ) -> None:
        self.formulate = formulate
        self.oracle = oracle
        self.y = y
        self.ends = ends
        self.options = options

    def __call__(self, price: float, points: Sequence[PathPoint]) -> PathPoint:
        """Run at a price from the hypotheses of its neighbours."""
        formulation = self.formulate(price)
        validation.instance("formulate", formulation, Formulation)
        if formulation.maximise:
            raise InvalidInput("formulate", "found a maximum", "state it as a minimum, such as soft_margin for lpboost")
        nearest = sorted(points, key=lambda point: abs(point.price - price))[:2]
        start = dict.fromkeys(column.hypothesis for point in nearest for column in point.run.columns)
        run = column_generation(formulation, self.oracle, self.y, **{"start": list(start), **self.options})
        certificate = run.certificate
        if not certificate.proven and run.ending not in {Ending.INTERRUPTED, Ending.MAX_TIME}:
            found = f"found one with which nothing is proven at the price {price:g}: {certificate.note}"
            raise InvalidInput("oracle", found, "give one that bounds the edges of all its hypotheses")
        slope, rounding = self._find_slope(run)
        used = np.flatnonzero(run.weights.any(axis=tuple(range(1, run.weights.ndim))))
        # without the values of columns, which would be kept for every point
        columns = tuple(Column(c.hypothesis, c.sample, c.edge) for c in (run.columns[j] for j in used.tolist()))
        kept = replace(run, columns=columns, weights=run.weights[used])
        # through the objective that is certified
        line = certificate.primal - slope * price, slope
        return PathPoint(price, kept, line, certificate.rounding + rounding)

    def _find_slope(self, run: Run) -> tuple[float, float]:
        """Return c of the objective ``a + t c`` of a run's ensemble, by three prices, and how far rounding moves it."""
        scores = np.zeros(run.u.shape) + run.intercept
        if run.columns:
            scores = scores + np.stack([column.values for column in run.columns], axis=1) @ run.weights
        low, high = self.ends
        values = [self._evaluate(price, scores, run.weights) for price in (low, (low + high) / 2, high)]
        size = max(map(abs, values))
        if not isfinite(size):
            raise InvalidInput("formulate", "found weights that are not feasible at every price", "solve one by one")
        if abs((values[0] + values[2]) / 2 - values[1]) > STRAIGHT * size:
            found = "found an objective that is not linear in the price where the weights stay"
            raise InvalidInput("formulate", found, "give one such as `penalty + price * loss`")
        return (values[2] - values[0]) / (high - low), ROUNDING * size

    def _evaluate(self, price: float, scores: Array, w: Array) -> float:
        formulation = self.formulate(price)
        loss, penalty = formulation.terms
        return float(loss.value(formulation.signs(self.y, len(scores)) * scores) + penalty.value(w))


def _find_widest(points: Sequence[PathPoint], tol: float) -> tuple[float, float]:
    """Return the largest gap between neighbours that another run can lower, and where it is; 0 if there is none."""
    widest = 0.0, points[0].price
    for left, right in pairwise(points):
        gap, price = _largest_gap(left, right)
        if gap > max(tol, widest[0]) and left.price < price < right.price:
            widest = gap, price
    return widest


def _find_reason(points: Sequence[PathPoint], tol: float) -> Ending:
    """Return OPTIMAL if all gaps are within `tol`, else how a run has ended that is not."""
    if all(_largest_gap(*neighbours)[0] <= tol for neighbours in pairwise(points)):
        return Ending.OPTIMAL
    endings = {point.run.ending for point in points} - {Ending.OPTIMAL}
    return min(endings, key=lambda ending: ending.name, default=Ending.ROUNDING)


def _crossing(left: PathPoint, right: PathPoint) -> float | None:
    """Return the price between two points at which their lines cross; None where they do not."""
    (a, c), (d, e) = left.line, right.line
    if c <= e:
        return None
    price = (d - a) / (c - e)
    return price if left.price <= price <= right.price else None


def _largest_gap(left: PathPoint, right: PathPoint) -> tuple[float, float]:
    """Return the largest relative gap between two neighbours, and the price at which it is.

    The lower line of the two is linear on both sides of the crossing, and so is the chord; the ratio of two linear
    functions without a sign change is monotone, so the largest gap is at an end or at the crossing. Where the optimum
    changes its sign in between, no relative gap is small.
    """
    crossing = _crossing(left, right)
    at = [left.price, right.price] if crossing is None else [left.price, crossing, right.price]
    gaps, signs = [], set()
    for price in at:
        share = (price - left.price) / (right.price - left.price)
        bound = (1 - share) * left.bound + share * right.bound
        value = min(left.objective(price), right.objective(price)) + max(left.rounding, right.rounding)
        gaps.append(relative(value - bound, value, bound) if isfinite(bound) else inf)
        signs |= {np.sign(value), np.sign(bound)}
    if {-1.0, 1.0} <= signs:
        gaps = [inf] * len(gaps)
    if crossing is not None:
        return max(gaps), crossing
    return max(gaps), at[int(np.argmax(gaps))]
