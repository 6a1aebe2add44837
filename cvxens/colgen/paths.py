"""A formulation at every price of an interval at once: few runs, and a certified gap between them.

The price t is a number that the objective depends on linearly wherever the weights stay, such as C in ``penalty(w) + C
loss(z)`` or lambda in ``lambda penalty(w) + loss(z)``. The optimum F(t) is then the lowest of lines, one for every
ensemble, so it is **concave** in t. Two facts follow, for any such formulation:

- the ensemble of a run at t_i is feasible at every t, where its objective is a line: F lies below all those lines;
- F lies above the chord between certified bounds at t_i and t_k, anywhere between the two.

Where two neighbouring lines cross, their gap to the chord is largest. A run there cuts it; where F is a polygon, as of
linear programs, and the crossing lies on it, both sides are exact, and F bends there (Eisner & Severance 1976; in
convex optimisation this is called a sandwich algorithm). The mean of two neighbouring ensembles costs no run, and its
line lies below the crossing, as loss and penalty are convex. So runs go to where the certified gap is largest until it
is small everywhere, and each starts from the hypotheses of its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import inf, isfinite
from typing import Any

import numpy as np

from cvxens import validation
from cvxens.certificates import ROUNDING, Certificate, relative
from cvxens.colgen.loop import Run, column_generation
from cvxens.colgen.protocols import Column, Hypothesis, Oracle
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


@dataclass(frozen=True)
class Line:
    """The objective of one ensemble at every price t of an interval, ``at_zero + t slope``.

    Parameters
    ----------
    at_zero, slope : float
    rounding : float
        How far at most rounding has moved it within the interval, together with the certified bound beside it.

    Examples
    --------
    >>> Line(1.0, 2.0, 0.0)(np.array([0.5, 3.0]))
    array([2., 7.])
    """

    at_zero: float
    slope: float
    rounding: float

    def __call__(self, price: Any) -> Any:
        """Evaluate it at a price, or at several."""
        return self.at_zero + price * self.slope

    def cross(self, other: Line, low: float, high: float) -> float | None:
        """Return the price from `low` to `high` at which two lines cross; None where they do not."""
        if self.slope == other.slope:
            return None
        price = (other.at_zero - self.at_zero) / (self.slope - other.slope)
        return price if low <= price <= high else None


@dataclass(frozen=True, eq=False)
class PathPoint:
    """A run at one price, and what its ensemble costs at others.

    Parameters
    ----------
    price : float
        What it was solved for.
    run : Run
        Its columns are those with a weight, and have no values.
    line : Line
        The objective of its ensemble at the prices of the interval.

    Examples
    --------
    >>> from cvxens.colgen import formulations, oracles
    >>> X, y = np.array([[0.0], [1.0], [2.0]]), [1.0, -1.0, 1.0]
    >>> first = solve_path(formulations.soft_margin, oracles.Stumps(X), y, prices=(0.1, 3.0)).points[0]
    >>> first.price, first.line(np.array([0.1, 0.2]))
    (0.1, array([0.3, 0.6]))
    """

    price: float
    run: Run
    line: Line

    @property
    def bound(self) -> float:
        """The certified bound on the optimum at the own price."""
        return self.run.certificate.dual


@dataclass(frozen=True, eq=False)
class Mean:
    """The mean of two neighbours' ensembles, ``(1 - share) w + share w'`` over the columns of both."""

    left: PathPoint
    right: PathPoint
    share: float
    line: Line

    @property
    def lines(self) -> tuple[Line, Line, Line]:
        """The lines of the left neighbour, of the mean itself and of the right neighbour."""
        return self.left.line, self.line, self.right.line

    @property
    def crossing(self) -> float | None:
        """The price at which the lines of the neighbours cross; None where that is not between them."""
        return self.left.line.cross(self.right.line, self.left.price, self.right.price)


@dataclass(frozen=True, eq=False)
class Path:
    """Ensembles along an interval of prices, and how far at most they are from the optimum, anywhere in it.

    Parameters
    ----------
    points : tuple of PathPoint
        By price, from one end of the interval to the other.
    means : tuple of Mean
        One between every two neighbours.
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
    means: tuple[Mean, ...]
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
        return max(map(_largest_gap, self.means))

    @property
    def breakpoints(self) -> Array:
        """The prices at which the lowest of the ensembles' lines changes, shape (n_breakpoints,).

        Those of a linear program, where the path is exact: the optimum is linear in the price in between.
        """
        low, high = self.points[0].price, self.points[-1].price
        found: list[float] = []
        for mean in self.means:
            price, (before, _, after) = mean.crossing, mean.lines
            # the same line, but for rounding, goes on; and a point at a bend has the lines of both sides cross there
            if price is None or before.slope - after.slope <= STRAIGHT * abs(before.slope) or not low < price < high:
                continue
            if not found or price - found[-1] > STRAIGHT * price:
                found.append(price)
        return np.array(found)

    def bounds(self, prices: Any) -> tuple[Array, Array]:
        """Return a bound below the optimum and the objective of the best ensemble, at any prices of the interval."""
        given = self._check(prices)
        lower = np.interp(given, self.prices, [point.bound for point in self.points])
        lines = [*(point.line for point in self.points), *(mean.line for mean in self.means)]
        upper = np.min([line(given) + line.rounding for line in lines], axis=0)
        return lower, upper

    def at(self, price: float) -> Run:
        """Return the best ensemble at a price of the interval, of a point or the mean of two, certified at that price.

        Its multipliers are those that the bound rests on, the mean of the neighbours'; it has no history.
        """
        price = float(self._check(price))
        mean = next(mean for mean in self.means if price <= mean.right.price)
        share = (price - mean.left.price) / (mean.right.price - mean.left.price)
        left, right = mean.left.run, mean.right.run
        line = min(mean.lines, key=lambda line: line(price))
        # the mean of both, or one of them alone
        take = mean.share if line is mean.line else float(line is mean.right.line)
        columns, weights = _join(mean.left, mean.right, take)
        certificate = Certificate.between(
            line(price),
            (1 - share) * mean.left.bound + share * mean.right.bound,
            residuals={},
            repair={},
            rounding=line.rounding,
            note="by the bounds at the prices on both sides",
        )
        return Run(
            certificate,
            columns,
            weights,
            (1 - take) * left.intercept + take * right.intercept,
            (1 - share) * left.u + share * right.u,
            (),
            self.ending,
            {name: (1 - take) * value + take * right.variables[name] for name, value in left.variables.items()},
            left.decide,
        )

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
    (True, 10)
    """
    low, high = (validation.positive("prices", price) for price in prices)
    validation.positive("tol", tol)
    validation.whole("max_points", max_points, least=2)
    if low >= high:
        raise InvalidInput("prices", f"found {prices!r}", "give the lower end and a higher one")
    solver = _Solver(formulate, oracle, y, (low, high), {"tol": SHARE * tol, **options})
    means: list[Mean] = []
    ending: Ending | None = None
    with limit_time(max_time) as clock:
        ends: list[PathPoint] = []
        for price in (low, high):
            ends.append(solver.solve(price, ends))
            stopped = callback is not None and bool(callback(ends[-1]))
            if ends[-1].run.ending is Ending.INTERRUPTED:
                # the other end is brief then
                clock.interrupt()
        means = [solver.take_mean(*ends)]
        while True:
            widest = max(means, key=_largest_gap)
            price = _find_next(widest)
            if clock.interrupted:
                ending = Ending.INTERRUPTED
            elif _largest_gap(widest) <= tol:
                ending = Ending.OPTIMAL
            elif stopped:
                ending = Ending.STOPPED
            elif time_is_up():
                ending = Ending.MAX_TIME
            elif len(means) >= max_points - 1:
                ending = Ending.MAX_ROUNDS
            elif not widest.left.price < price < widest.right.price:
                # the gap is that of a run at its own price
                ending = _find_reason(widest)
            if ending is not None:
                break
            point = solver.solve(price, (widest.left, widest.right))
            stopped = callback is not None and bool(callback(point))
            if point.run.ending is Ending.INTERRUPTED:
                clock.interrupt()
            place = means.index(widest)
            means[place : place + 1] = [solver.take_mean(widest.left, point), solver.take_mean(point, widest.right)]
    return Path((means[0].left, *(mean.right for mean in means)), tuple(means), ending)


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
        self.scores: dict[float, Array] = {}
        """Of the ensembles on the sample, by their prices."""

    def solve(self, price: float, neighbours: Sequence[PathPoint]) -> PathPoint:
        """Run at a price from the hypotheses of its neighbours."""
        formulation = self.formulate(price)
        validation.instance("formulate", formulation, Formulation)
        if formulation.maximise:
            raise InvalidInput("formulate", "found a maximum", "state it as a minimum, such as soft_margin for lpboost")
        start = dict.fromkeys(column.hypothesis for point in neighbours for column in point.run.columns)
        run = column_generation(formulation, self.oracle, self.y, **{"start": list(start), **self.options})
        certificate = run.certificate
        if not certificate.proven and run.ending not in {Ending.INTERRUPTED, Ending.MAX_TIME}:
            found = f"found one with which nothing is proven at the price {price:g}: {certificate.note}"
            raise InvalidInput("oracle", found, "give one that bounds the edges of all its hypotheses")
        scores = np.zeros(run.u.shape) + run.intercept
        if run.columns:
            scores = scores + np.stack([column.values for column in run.columns], axis=1) @ run.weights
        self.scores[price] = scores
        line = self._find_line(scores, run.weights)
        used = np.flatnonzero(run.weights.any(axis=tuple(range(1, run.weights.ndim))))
        # without the values of columns, which would be kept for every point
        columns = tuple(Column(c.hypothesis, c.sample, c.edge) for c in (run.columns[j] for j in used.tolist()))
        kept = replace(run, columns=columns, weights=run.weights[used])
        # through the objective that is certified
        at_zero = certificate.primal - line.slope * price
        return PathPoint(price, kept, Line(at_zero, line.slope, certificate.rounding + line.rounding))

    def take_mean(self, left: PathPoint, right: PathPoint) -> Mean:
        """Return the mean of two neighbours' ensembles that suits the price where their lines cross."""
        price = left.line.cross(right.line, left.price, right.price)
        share = 0.5 if price is None else (price - left.price) / (right.price - left.price)
        scores = (1 - share) * self.scores[left.price] + share * self.scores[right.price]
        line = self._find_line(scores, _join(left, right, share)[1])
        rounding = max(left.line.rounding, right.line.rounding) + line.rounding
        return Mean(left, right, share, replace(line, rounding=rounding))

    def _find_line(self, scores: Array, w: Array) -> Line:
        """Return an ensemble's objective as a line, by three prices."""
        low, high = self.ends
        values = [self._evaluate(price, scores, w) for price in (low, (low + high) / 2, high)]
        size = max(map(abs, values))
        if not isfinite(size):
            raise InvalidInput("formulate", "found weights that are not feasible at every price", "solve one by one")
        if abs((values[0] + values[2]) / 2 - values[1]) > STRAIGHT * size:
            found = "found an objective that is not linear in the price where the weights stay"
            raise InvalidInput("formulate", found, "give one such as `penalty + price * loss`")
        slope = (values[2] - values[0]) / (high - low)
        return Line(values[0] - slope * low, slope, ROUNDING * size)

    def _evaluate(self, price: float, scores: Array, w: Array) -> float:
        formulation = self.formulate(price)
        loss, penalty = formulation.terms
        return float(loss.value(formulation.signs(self.y, len(scores)) * scores) + penalty.value(w))


def _join(left: PathPoint, right: PathPoint, share: float) -> tuple[tuple[Column, ...], Array]:
    """Return the columns of two points, and ``(1 - share) w + share w'`` of them; at 0 and 1 those of one alone."""
    if share in {0.0, 1.0}:
        run = (right if share else left).run
        return tuple(run.columns), run.weights
    weights: dict[Hypothesis, Array] = {}
    columns: dict[Hypothesis, Column] = {}
    for point, part in ((left, 1 - share), (right, share)):
        for column, w in zip(point.run.columns, point.run.weights, strict=True):
            columns.setdefault(column.hypothesis, column)
            weights[column.hypothesis] = weights.get(column.hypothesis, 0.0) + part * w
    shape = left.run.weights.shape[1:]
    return tuple(columns.values()), np.array([weights[h] for h in columns]).reshape(len(columns), *shape)


def _measure_gaps(mean: Mean) -> list[tuple[float, float]]:
    """Return the relative gaps between two neighbours where they may be largest, each with its price.

    The lowest of the lines is linear between crossings, and the chord is; the ratio of two linear functions without a
    sign change is monotone, so the largest gap is at an end or at a crossing. Where the optimum changes its sign in
    between, no relative gap is small.
    """
    left, right = mean.left, mean.right
    crossings = [one.cross(other, left.price, right.price) for one, other in combinations(mean.lines, 2)]
    found, signs = [], set()
    for price in (left.price, *(each for each in crossings if each is not None), right.price):
        share = (price - left.price) / (right.price - left.price)
        bound = (1 - share) * left.bound + share * right.bound
        value = min(line(price) for line in mean.lines) + mean.line.rounding
        found.append((relative(value - bound, value, bound) if isfinite(bound) else inf, price))
        signs |= {np.sign(value), np.sign(bound)}
    return [(inf, price) for _, price in found] if {-1.0, 1.0} <= signs else found


def _largest_gap(mean: Mean) -> float:
    """Return the largest relative gap between two neighbours."""
    return max(gap for gap, _ in _measure_gaps(mean))


def _find_next(mean: Mean) -> float:
    """Return where a run lowers the gap most: where the neighbours' lines cross, or else where it is."""
    return max(_measure_gaps(mean))[1] if mean.crossing is None else mean.crossing


def _find_reason(mean: Mean) -> Ending:
    """Return how a run has ended whose gap is too wide at its own price; else rounding is in the way."""
    endings = {point.run.ending for point in (mean.left, mean.right)} - {Ending.OPTIMAL}
    return min(endings, key=lambda ending: ending.name, default=Ending.ROUNDING)
