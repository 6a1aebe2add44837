"""A formulation at every price of an interval at once: few runs, and a certified gap between them.

The price t is a number that the objective depends on linearly wherever the weights stay, such as C in ``penalty(w) + C
loss(z)`` or lambda in ``lambda penalty(w) + loss(z)``. The optimum F(t) is then the lowest of lines, one for every
ensemble, so it is **concave** in t. Two facts follow, for any such formulation:

- the ensemble of a run at t_i is feasible at every t, where its objective is a line: F lies below all those lines;
- F lies above the chord between certified bounds at t_i and t_k, anywhere between the two.

Where two neighbouring lines cross, their gap to the chord is largest. A run there cuts it; where F is a polygon, as of
linear programs, and the crossing lies on it, both sides are exact, and F bends there (Eisner & Severance 1976; in
convex optimisation this is called a sandwich algorithm).

Means of two neighbours cost no run. That of their ensembles has a line below the crossing, as loss and penalty are
convex. That of their multipliers has a dual value above the chord: for given margins loss_t(z) is linear in t, so that
loss_t*(-u), a supremum of functions linear in (t, u), is convex in both, and so is the penalty's conjugate; what the
loss's gains, an evaluation tells, and the penalty's is left on the chord. Where the loss is smooth, both values are off
by the fourth power of the distance, where line and chord are by the second.

So runs go to where the certified gap is largest until it is small everywhere, and each starts from the hypotheses of
its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from math import inf, isfinite
from typing import Unpack

import numpy as np
from numpy.typing import ArrayLike

from cvxens import validation
from cvxens.certificates import ROUNDING, Certificate, relative
from cvxens.colgen.loop import Run, RunOptions, Step, column_generation
from cvxens.colgen.protocols import Column, Oracle
from cvxens.errors import InvalidInput, refusing
from cvxens.hypotheses import Hypothesis
from cvxens.limits import Ending, limit_time, time_is_up
from cvxens.problems.duality import Edges
from cvxens.problems.formulation import Formulation
from cvxens.types import Array, Given, Value

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

    def __call__(self, price: Value) -> Value:
        """Evaluate it at a price, or at several."""
        return self.at_zero + price * self.slope

    def cross(self, other: Line, low: float, high: float) -> float | None:
        """Return the price from `low` to `high` at which two lines cross; None where they do not."""
        if self.slope == other.slope:
            return None
        price = (other.at_zero - self.at_zero) / (self.slope - other.slope)
        # at an end lines of the same corner may cross beyond it by rounding
        found = min(max(price, low), high)
        return found if abs(price - found) <= STRAIGHT * found else None


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
        The objective of its ensemble at the prices of the interval, or minus it where the formulation is a maximum.
    bound : float
        The certified bound on the optimum at the own price, or minus it.

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
    bound: float


@dataclass(frozen=True, eq=False)
class Mean:
    """The means ``(1 - share) w + share w'`` of two neighbours' ensembles, of their multipliers and of their prices."""

    share: float
    price: float
    line: Line
    bound: float
    gain: float
    """What the bound is above the chord."""


@dataclass(frozen=True, eq=False)
class Segment:
    """The prices between two neighbours, with the means of these."""

    left: PathPoint
    right: PathPoint
    means: tuple[Mean, ...]

    @property
    def knots(self) -> tuple[PathPoint | Mean, ...]:
        """The neighbours and their means, by price."""
        return self.left, *self.means, self.right

    @property
    def crossing(self) -> float | None:
        """The price at which the lines of the neighbours cross; None where that is not between them."""
        return self.left.line.cross(self.right.line, self.left.price, self.right.price)

    @cached_property
    def widest(self) -> tuple[float, float]:
        """The largest relative gap of the segment, and its price.

        Between two knots the lowest of their lines is linear up to where they cross, and the chord is; the ratio of two
        linear functions without a sign change is monotone, so the largest gap is at a knot or at a crossing. Where the
        optimum changes its sign, no relative gap is small.
        """
        found, signs = [], set()
        lines = np.array([(knot.line.at_zero, knot.line.slope) for knot in self.knots])
        rounding = max(knot.line.rounding for knot in self.knots)
        for low, high in pairwise(self.knots):
            crossing = low.line.cross(high.line, low.price, high.price)
            for price in (low.price, *(() if crossing is None else (crossing,)), high.price):
                share = (price - low.price) / (high.price - low.price)
                bound = (1 - share) * low.bound + share * high.bound
                value = float((lines @ (1.0, price)).min()) + rounding
                found.append((relative(value - bound, value, bound) if isfinite(bound) else inf, price))
                signs |= {np.sign(value), np.sign(bound)}
        gap, price = max(found)
        return (inf if {-1.0, 1.0} <= signs else gap), price


@dataclass(frozen=True, eq=False)
class Path:
    """Ensembles along an interval of prices, and how far at most they are from the optimum, anywhere in it.

    Parameters
    ----------
    points : tuple of PathPoint
        By price, from one end of the interval to the other.
    segments : tuple of Segment
        One between every two neighbours, with their means.
    ending : Ending
        OPTIMAL if the relative gap is within `tol` at every price of the interval; why not else.
    maximise : bool
        True if the formulation is a maximum; lines and bounds of points and segments are of minus it.

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
    segments: tuple[Segment, ...]
    ending: Ending
    maximise: bool = False

    @property
    def prices(self) -> Array:
        """The prices that were solved for, increasing, shape (n_points,)."""
        return np.array([point.price for point in self.points])

    @property
    def runs(self) -> Mapping[float, Run]:
        """The runs by price; `cvxens.plotting.PathDisplay.from_path` draws their weights."""
        return {point.price: point.run for point in self.points}

    @property
    def relative_gap(self) -> float:
        """The largest certified relative gap at any price of the interval."""
        return max(segment.widest[0] for segment in self.segments)

    @property
    def breakpoints(self) -> Array:
        """The prices at which the lowest of the ensembles' lines changes, shape (n_breakpoints,).

        Those of a linear program, where the path is exact: the optimum is linear in the price in between.
        """
        low, high = self.points[0].price, self.points[-1].price
        found: list[float] = []
        for segment in self.segments:
            price, before, after = segment.crossing, segment.left.line, segment.right.line
            # the same line, but for rounding, goes on; and a point at a bend has the lines of both sides cross there
            if price is None or before.slope - after.slope <= STRAIGHT * abs(before.slope) or not low < price < high:
                continue
            if not found or price - found[-1] > STRAIGHT * price:
                found.append(price)
        return np.array(found)

    def bounds(self, prices: ArrayLike) -> tuple[Array, Array]:
        """Return what the optimum is not below, and what it is not above, at any prices of the interval.

        The one is the objective of the best ensemble there, the other is proven; which is which depends on the sense.
        """
        given = self._check(prices)
        knots = [self.points[0], *(knot for segment in self.segments for knot in segment.knots[1:])]
        proven = np.interp(given, [knot.price for knot in knots], [knot.bound for knot in knots])
        reached = np.min([knot.line(given) + knot.line.rounding for knot in knots], axis=0)
        return (-reached, -proven) if self.maximise else (proven, reached)

    def at(self, price: float) -> Run:
        """Return the best ensemble at a price of the interval, of a point or a mean of two, certified at that price.

        Its multipliers are those that the bound rests on, a mean of the neighbours'; it has no history.
        """
        price = float(self._check(price))
        segment = next(segment for segment in self.segments if price <= segment.right.price)
        left, right = segment.left.run, segment.right.run
        best = min(segment.knots, key=lambda knot: knot.line(price))
        # a mean of both, or one of them alone
        take = best.share if isinstance(best, Mean) else float(best is segment.right)
        columns, weights = _join(segment.left, segment.right, take)
        share = (price - segment.left.price) / (segment.right.price - segment.left.price)
        sense = -1.0 if self.maximise else 1.0
        certificate = Certificate.between(
            sense * best.line(price),
            float(self.bounds(price)[self.maximise]),
            maximise=self.maximise,
            rounding=best.line.rounding,
            note="by the bounds at the prices on both sides",
            condition=left.certificate.condition or right.certificate.condition,
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

    def _check(self, prices: ArrayLike) -> Array:
        given = np.asarray(validation.finite_array("prices", np.atleast_1d(prices), ndim=1))
        low, high = self.points[0].price, self.points[-1].price
        if given.min() < low or given.max() > high:
            outside = given[(given < low) | (given > high)][0]
            raise InvalidInput("prices", f"found {outside:g}", f"stay within the path's, from {low:g} to {high:g}")
        return given if np.ndim(prices) else given[0]


def solve_path(
    formulate: Callable[[float], Formulation],
    oracle: Oracle,
    y: Given = None,
    *,
    prices: tuple[float, float],
    tol: float = 1e-3,
    max_points: int = 200,
    max_time: float = inf,
    callback: Callable[[PathPoint], bool | None] | None = None,
    **options: Unpack[RunOptions],
) -> Path:
    """Solve a formulation at all prices of an interval, to a certified gap that holds at each of them.

    Parameters
    ----------
    formulate : callable
        From a price to a `Formulation` whose objective, of given weights, is linear in the price, such as
        ``formulations.soft_margin`` or ``lambda C: Formulation(Logistic(C), L1(), intercept=True)``; or
        ``formulations.lpboost``, along D = 1/(nu n_samples), whose objective is linear of given weights and margin rho.
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
        The objective is not linear in the price, the oracle does not bound its edges, the interval is empty, or what
        `column_generation` raises.

    Examples
    --------
    The l1-regularised logistic loss, proven to within 1 % at every C from 0.1 to 10:

    >>> from cvxens.colgen import oracles
    >>> from cvxens.problems.losses import Logistic
    >>> from cvxens.problems.penalties import L1
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), [1.0, -1.0, 1.0, 1.0]
    >>> path = solve_path(lambda C: Formulation(Logistic(C), L1()), oracles.Stumps(X), y, prices=(0.1, 10), tol=0.01)
    >>> path.relative_gap < 0.01, len(path.points)
    (True, 6)
    """
    if not callable(formulate):
        raise InvalidInput("formulate", f"found {formulate!r:.100}", "give a function from a price to a Formulation")
    with refusing("prices", f"found {prices!r}", "give the lower end and a higher one", (TypeError, ValueError)):
        low, high = (validation.positive("prices", price) for price in prices)
    validation.positive("tol", tol)
    validation.whole("max_points", max_points, least=2)
    if low >= high:
        raise InvalidInput("prices", f"found {prices!r}", "give the lower end and a higher one")
    solver = _Solver(formulate, oracle, y, (low, high), tol, options)
    segments: list[Segment] = []
    with limit_time(max_time) as clock:
        ends: list[PathPoint] = []
        for price in (low, high):
            ends.append(solver.solve(price, ends))
            stopped = callback is not None and bool(callback(ends[-1]))
        segments = [solver.take_means(*ends)]
        while True:
            widest = max(segments, key=lambda segment: segment.widest[0])
            gap, price = widest.widest
            # how a run has ended whose gap is too wide at its own price; else rounding is in the way
            ended = {point.run.ending for point in (widest.left, widest.right)} - {Ending.OPTIMAL}
            reason = min(ended, key=lambda ending: ending.name, default=Ending.ROUNDING)
            # where a run lowers the gap most
            price = price if widest.crossing is None else widest.crossing
            endings = (
                (Ending.INTERRUPTED, clock.interrupted),
                (Ending.OPTIMAL, gap <= tol),
                (Ending.STOPPED, stopped),
                (Ending.MAX_TIME, time_is_up()),
                (Ending.MAX_ROUNDS, len(segments) >= max_points - 1),
                # the gap is that of a run at its own price
                (reason, not widest.left.price < price < widest.right.price),
            )
            ending = next((ending for ending, is_here in endings if is_here), None)
            if ending is not None:
                break
            point = solver.solve(price, (widest.left, widest.right))
            stopped = callback is not None and bool(callback(point))
            k = segments.index(widest)
            segments[k : k + 1] = [solver.take_means(widest.left, point), solver.take_means(point, widest.right)]
    points = (segments[0].left, *(segment.right for segment in segments))
    return Path(points, tuple(segments), ending, solver.maximise)


@dataclass(frozen=True)
class _Sample:
    """What a point's ensemble and multipliers are on the sample: its scores, its u and the dual value of the loss."""

    scores: Array
    u: Array
    dual_value: float


@dataclass(eq=False)
class _Solver:
    """Runs at one price after another, and finds how the objectives of their ensembles depend on it."""

    formulate: Callable[[float], Formulation]
    oracle: Oracle
    y: Given
    ends: tuple[float, float]
    tol: float
    options: RunOptions
    samples: dict[float, _Sample] = field(default_factory=dict)
    """By the prices of points."""
    maximise: bool = False

    def solve(self, price: float, neighbours: Sequence[PathPoint]) -> PathPoint:
        """Run at a price from the hypotheses of its neighbours."""
        formulation = self.formulate(price)
        validation.instance("formulate", formulation, Formulation)
        self.maximise = formulation.maximise
        start = dict.fromkeys(column.hypothesis for point in neighbours for column in point.run.columns)
        last: list[Step] = []

        def watch(step: Step) -> None:
            last[:] = [step]

        own, tol = self.options, SHARE * self.tol
        run = column_generation(formulation, self.oracle, self.y, tol=tol, start=start, callback=watch, **own)
        certificate = run.certificate
        bounded = certificate.proven or certificate.condition
        if not bounded and run.ending not in {Ending.INTERRUPTED, Ending.MAX_TIME}:
            found = f"found one with which nothing is proven at the price {price:g}: {certificate.note}"
            raise InvalidInput("oracle", found, "give one that bounds the edges of all its hypotheses")
        used = np.flatnonzero(run.weights.any(axis=tuple(range(1, run.weights.ndim))))
        columns, w = [run.columns[j] for j in used.tolist()], run.weights[used]
        scores = np.zeros(run.u.shape) + run.intercept
        if columns:
            scores = scores + np.stack([column.values for column in columns], axis=1) @ w
        u, of_loss = self._read_bound(formulation, run, last)
        self.samples[price] = _Sample(scores, u, of_loss)
        line = self._find_line(price, scores, w)
        # without the values of columns, which would be kept for every point
        kept = replace(run, columns=tuple(Column(c.hypothesis, c.sample, c.edge) for c in columns), weights=w, u=u)
        # through the objective that is certified
        at_zero = formulation.sense * certificate.primal - line.slope * price
        line = Line(at_zero, line.slope, certificate.rounding + line.rounding)
        return PathPoint(price, kept, line, formulation.sense * certificate.dual)

    def take_means(self, left: PathPoint, right: PathPoint) -> Segment:
        """Return two neighbours with as many of their means as lower the largest gap, or bring it within `tol`.

        Means go to where the gap is largest. At the price of a knot no further one lowers it.
        """
        segment = Segment(left, right, ())
        price = segment.crossing
        price = (left.price + right.price) / 2 if price is None else price
        # each mean takes evaluations of the loss, and halves an interval
        for _ in range(15):
            if any(knot.price == price for knot in segment.knots):
                break
            means = (*segment.means, self._take_mean(left, right, price))
            segment = Segment(left, right, tuple(sorted(means, key=lambda mean: mean.price)))
            gap, price = segment.widest
            # without a gain the chord stays, which the price of the first mean is the farthest from
            if gap <= self.tol or not any(mean.gain for mean in means):
                break
        return segment

    def _take_mean(self, left: PathPoint, right: PathPoint, price: float) -> Mean:
        """Return the means of two neighbours' ensembles and multipliers that belong to a price."""
        share = (price - left.price) / (right.price - left.price)
        first, second = self.samples[left.price], self.samples[right.price]
        line = self._find_line(price, _mix(share, first.scores, second.scores), _join(left, right, share)[1])
        rounding = max(left.line.rounding, right.line.rounding) + line.rounding
        # the dual value of the loss above its chord; that of the penalty is on it
        ends = first.dual_value, second.dual_value
        value = self._bound_loss(self.formulate(price), _mix(share, first.u, second.u)) if isfinite(min(ends)) else -inf
        gain = value - _mix(share, *ends) - ROUNDING * max(map(abs, ends)) if isfinite(value) else 0.0
        gain = gain if gain > STRAIGHT * abs(value) else 0.0
        bound = _mix(share, left.bound, right.bound) + gain
        return Mean(share, price, replace(line, rounding=rounding), bound, gain)

    def _find_line(self, price: float, scores: Array, w: Array) -> Line:
        """Return an ensemble's objective as a line, by three prices."""
        low, high = self.ends
        values = [self._evaluate(each, scores, w, price) for each in (low, (low + high) / 2, high)]
        size = max(map(abs, values))
        if not isfinite(size):
            raise InvalidInput("formulate", "found weights that are not feasible at every price", "solve one by one")
        if abs((values[0] + values[2]) / 2 - values[1]) > STRAIGHT * size:
            found = "found an objective that is not linear in the price where the weights stay"
            raise InvalidInput("formulate", found, "give one such as `penalty + price * loss`")
        slope = (values[2] - values[0]) / (high - low)
        return Line(values[0] - slope * low, slope, ROUNDING * size)

    def _evaluate(self, price: float, scores: Array, w: Array, own: float) -> float:
        """Evaluate the objective, with what the loss itself chooses, such as rho, as it is at the `own` price."""
        formulation = self.formulate(price)
        loss, penalty = formulation.terms
        z = formulation.signs(self.y, len(scores)) * scores
        return float(loss.value_beside(z, self.formulate(own).terms[0]) + penalty.value(w))

    @staticmethod
    def _bound_loss(formulation: Formulation, u: Array) -> float:
        """Return the dual value of the loss, -inf where only a solver's conic proofs tell."""
        loss = formulation.terms[0]
        return -inf if loss.is_searched else loss.dual_value(u)

    def _read_bound(self, formulation: Formulation, run: Run, last: Sequence[Step]) -> tuple[Array, float]:
        """Return the multipliers that a run's bound is the value of, and the loss's part of it; -inf if it is not so.

        They are the run's own, made feasible for all that was priced.
        """
        bound = formulation.sense * run.certificate.dual
        if not last or not isfinite(bound):
            return run.u, -inf
        priced, penalty = last[0].incumbent.priced, formulation.terms[1]
        s = formulation.signs(self.y, len(run.u)) * run.u

        def inside() -> Array:
            edges = np.array([column.values @ s for column in run.columns])
            return edges if formulation.nonnegative else np.abs(edges)

        edges = Edges(priced.edge_bound, priced.edge_square_sum, inside, priced.outside_bound)
        u = run.u * penalty.shrink(edges)
        value = self._bound_loss(formulation, u)
        known = isfinite(value) and abs(value - penalty.conjugate(edges) - bound) <= STRAIGHT * abs(bound)
        return (u, value) if known else (run.u, -inf)


def _mix(share: float, first: Value, second: Value) -> Value:
    return (1 - share) * first + share * second


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
