"""Penalties on hypothesis weights: the pricing rule and the dual bound of a formulation follow from them."""

from __future__ import annotations

import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Any

import numpy as np
from scipy.optimize import brentq

from cvxens.errors import InvalidInput
from cvxens.problems.constraints import read_term
from cvxens.problems.curves import FAR, ROUNDED, Curve
from cvxens.problems.duality import Edges, as_rows, capped_simplex, row_sizes
from cvxens.problems.losses import excess
from cvxens.problems.modelling import Term, cp
from cvxens.problems.structure import ALL, Structure, Unrecognised
from cvxens.rounding import EPSILON, sum_error
from cvxens.types import Array


class Penalty(ABC):
    """A convex penalty on weights w; `edges` are H'(y u), one per weight.

    Fast masters name what they need of the properties that are None here, and take any penalty that has it.

    Attributes
    ----------
    one_sided : bool
        True if it is for weights w >= 0 alone.
    has_conjugate : bool
        True if its conjugate is known, also over hypotheses that are not there, so that there are bounds.
    unrecognised : str
        What in it is none of the sums whose conjugates are known.
    """

    one_sided: bool = False
    has_conjugate: bool = True
    unrecognised: str = ""

    @property
    def structure(self) -> Structure | None:
        """The parts that are summed over weights or rows, and of their sum; None where that is not known."""
        return None

    @property
    def edge_limit(self) -> float | None:
        """The factor of a penalty ``edge_limit |w|_1``: u is dual feasible where no edge exceeds it; None of others."""
        return None

    @property
    def ridge(self) -> float | None:
        """The factor of a penalty ``ridge / 2 |w|^2``; None of others."""
        return None

    @property
    def entry_sizes(self) -> tuple[float, float] | None:
        """The factors, the first above 0, of ``sum_j size |w_j| + square w_j^2``; None of others."""
        return None

    @property
    def row_sizes(self) -> tuple[float, float] | None:
        """The same for the 2-norms of the rows of weights that hypotheses have for several outputs."""
        return None

    @property
    def total(self) -> float | None:
        """The t of the constraint ``w >= 0, sum w = t``, whose conjugate is t times the largest edge, or None."""
        return None

    @property
    def least_sum(self) -> float:
        """The least sum of the sizes of weights in the domain."""
        return 0.0 if self.structure is None else self.structure.total.least

    @property
    def largest_sum(self) -> float:
        """The largest sum of the sizes of weights in the domain."""
        return inf if self.structure is None else self.structure.total.limit

    @property
    def row_norm(self) -> float:
        """The order of the norm over the outputs by which the edges of a hypothesis are ranked and bounded.

        It is the dual of the norm of its weights, and inf where every weight counts by itself or there is one output.
        """
        return inf if self.structure is None else self.structure.row_norm

    @abstractmethod
    def model(self, w: cp.Expression) -> Term:
        """Model the penalty of the cvxpy variable `w`."""

    @abstractmethod
    def value(self, w: Array) -> float:
        """Evaluate the penalty at repaired weights."""

    def repair(self, w: Array) -> Array:
        """Move `w` into the domain."""
        return w

    def shrink(self, edges: Edges) -> float:
        """Return the factor in (0, 1] on u that makes it dual feasible."""
        return 1.0

    @abstractmethod
    def conjugate(self, edges: Edges) -> float:
        """Return what the penalty takes off the dual value of a feasible u: its conjugate at the edges."""

    @abstractmethod
    def threshold(self, w: Array, edges: Array) -> float:
        """Return the edge above which an outside hypothesis improves, given the edges of those inside."""

    def slopes(self, w: Array) -> tuple[Array, Array]:
        """Return the least and the largest slope at every weight, within which its edge is at the optimum.

        What is here measures the slope in a weight that is not 0, and takes the `threshold` at 0, in both signs.
        """
        limit, of_w = np.full(w.shape, self.threshold(w, np.zeros(w.shape))), np.zeros(w.shape)
        for j in np.flatnonzero(w):
            step = np.zeros(w.size)
            # step of the difference that measures a slope, relative to the weight
            step[j] = 1e-5 * abs(w.flat[j])
            up, down = (self.value(w + side * step.reshape(w.shape)) for side in (1, -1))
            of_w.flat[j] = (up - down) / (2 * step[j])
        return np.where(w == 0, -limit, of_w), np.where(w == 0, limit, of_w)

    def primal_violation(self, w: Array) -> float:
        """Measure how far `w` is from the domain."""
        return 0.0

    @abstractmethod
    def stationarity(self, w: Array, edges: Array) -> float:
        """Measure how far `edges` is from a subgradient of the penalty at `w`, on the support of w; relative."""

    def pricing_slack(self, edges: Array) -> float:
        """Measure how far the largest edge exceeds what dual feasibility allows; relative."""
        return 0.0

    def own_values(self, w: Array) -> Mapping[str, Array]:
        """Return the best values at w of the variables that a user named."""
        return {}

    def __add__(self, other: Penalty) -> PenaltySum:
        """Return the sum of two penalties whose structures are known."""
        for part in (self, other):
            if part.structure is None:
                found = f"found {type(part).__name__}, whose structure is not known"
                raise InvalidInput("penalty", found, "add penalties whose `structure` is, or write a cvxpy expression")
        return PenaltySum((self, other))


class SizesAndSquares(Penalty):
    """A penalty ``sum_j size |w_j| + square w_j^2``, of two factors: of any weights, each of which counts by itself."""

    least_sum, largest_sum, row_norm = 0.0, inf, inf

    @property
    @abstractmethod
    def factors(self) -> tuple[float, float]:
        """The factors of the sizes and of the squares, 0 or above."""

    @property
    def structure(self) -> Structure:
        return Structure(entry=Curve.of(0.0, 0.0, *self.factors))

    def value(self, w: Array) -> float:
        size, square = self.factors
        return float((size * np.abs(w).sum() if size else 0.0) + (square * (w * w).sum() if square else 0.0))

    def threshold(self, w: Array, edges: Array) -> float:
        """Return the slope at 0."""
        return self.factors[0]

    def slopes(self, w: Array) -> tuple[Array, Array]:
        """Return the slope of the squares, and of sizes that in the sign of w_j, or in both where that is 0."""
        size, square = self.factors
        return np.where(w > 0, size, -size) + 2 * square * w, np.where(w < 0, -size, size) + 2 * square * w

    def stationarity(self, w: Array, edges: Array) -> float:
        """Return max |2 square w_j - sign(edge_j) max(|edge_j| - size, 0)|, relative to the largest edge."""
        size, square = self.factors
        best = np.sign(edges) * np.maximum(np.abs(edges) - size, 0)
        return float(np.abs(2 * square * w - best).max()) / max(size or 1.0, float(np.abs(edges).max()))


@dataclass(frozen=True)
class L1(SizesAndSquares):
    """`weight` times sum_j |w_j|: LL08 P3 and P4. Dual feasible: no edge above `weight`.

    Parameters
    ----------
    weight : float
        Above 0.
    """

    weight: float = 1.0

    @property
    def edge_limit(self) -> float:
        return self.weight

    @property
    def factors(self) -> tuple[float, float]:
        return self.weight, 0.0

    def model(self, w: cp.Expression) -> Term:
        return Term(self.weight * (cp.sum(w) if w.is_nonneg() else cp.norm1(w)))

    def shrink(self, edges: Edges) -> float:
        """Return ``weight / max edge``, at most 1."""
        return self.weight / max(self.weight, edges.bound)

    def conjugate(self, edges: Edges) -> float:
        return 0.0

    def stationarity(self, w: Array, edges: Array) -> float:
        """Return max |w_j| (weight - edge_j sign w_j), relative to weight and sum |w|."""
        reduced = np.abs(w) * np.maximum(self.weight - edges * np.sign(w), 0)
        return excess(reduced) / (self.weight * max(1.0, float(np.abs(w).sum())))

    def pricing_slack(self, edges: Array) -> float:
        """Return ``(max edge - weight) / weight``."""
        return excess(edges - self.weight) / self.weight


@dataclass(frozen=True)
class SquaredL2(SizesAndSquares):
    """`weight`/2 times |w|^2: LL08 P1 and SL (1), (10). At the optimum weight w_j = edge_j for every j: SL (7), (12).

    Parameters
    ----------
    weight : float
        Above 0.
    """

    weight: float = 1.0

    @property
    def ridge(self) -> float:
        return self.weight

    @property
    def factors(self) -> tuple[float, float]:
        return 0.0, self.weight / 2

    def model(self, w: cp.Expression) -> Term:
        return Term(self.weight / 2 * cp.sum_squares(w))

    def conjugate(self, edges: Edges) -> float:
        """Return the sum of squared edges over twice the weight."""
        return edges.square_sum / (2 * self.weight)


@dataclass(frozen=True)
class ElasticNet(SizesAndSquares):
    """`l1` times sum_j |w_j| plus `l2`/2 times |w|^2 (Zou & Hastie 2005). At the optimum l2 w_j = max(edge_j - l1, 0).

    Its conjugate is ``sum_j max(edge_j - l1, 0)^2 / (2 l2)``. Of the hypotheses outside a master the largest edge is
    known, and u is shrunk until that is at most l1; those inside keep theirs.

    Parameters
    ----------
    l1, l2 : float
        Above 0.
    """

    l1: float = 1.0
    l2: float = 1.0

    @property
    def factors(self) -> tuple[float, float]:
        return self.l1, self.l2 / 2

    @property
    def entry_sizes(self) -> tuple[float, float]:
        return self.factors

    def model(self, w: cp.Expression) -> Term:
        return Term(L1(self.l1).model(w).expression + SquaredL2(self.l2).model(w).expression)

    def shrink(self, edges: Edges) -> float:
        """Return ``l1 / max edge`` of those outside, at most 1."""
        return self.l1 / max(self.l1, min(edges.bound, edges.outside))

    def conjugate(self, edges: Edges) -> float:
        """Return half the sum of (edge - l1)^2 over l2, where edges inside, shrunk, exceed l1."""
        excesses = np.maximum(self.shrink(edges) * edges.inside() - self.l1, 0)
        return float((excesses**2).sum() / (2 * self.l2))


@dataclass(frozen=True)
class Simplex(Penalty):
    """0 where w >= 0 and sum w = 1, else infinite: the convex combinations of LPBoost (DBS02)."""

    one_sided = True
    total = least_sum = largest_sum = 1.0

    def model(self, w: cp.Expression) -> Term:
        return Term(cp.Constant(0.0), (cp.sum(w) == 1,))

    def value(self, w: Array) -> float:
        return 0.0

    def repair(self, w: Array) -> Array:
        """Clip at 0 and divide by the sum; the uniform weights where nothing is left."""
        w = np.maximum(w, 0)
        total = w.sum()
        return w / total if total > 0 else np.full(len(w), 1 / len(w))

    def conjugate(self, edges: Edges) -> float:
        """Return the largest edge."""
        return edges.bound

    def threshold(self, w: Array, edges: Array) -> float:
        """Return the largest edge of those inside."""
        return float(edges.max(initial=-np.inf))

    def slopes(self, w: Array) -> tuple[Array, Array]:
        """Return slopes relative to the largest edge: 0 for positive weights, at most 0 for others."""
        return np.where(w > 0, 0.0, -np.inf), np.zeros(w.shape)

    def primal_violation(self, w: Array) -> float:
        """Return |sum w - 1| and max -w_j."""
        return max(abs(float(w.sum()) - 1), excess(-w))

    def stationarity(self, w: Array, edges: Array) -> float:
        """Return max w_j (max edge - edge_j)."""
        return float(np.abs(w * (edges.max() - edges)).max())


def not_of_any_number(error: ValueError) -> InvalidInput:
    """Return the error for a penalty that takes weights of one shape alone."""
    found = f"found one that cannot be evaluated at every number of weights: {error}"
    return InvalidInput("penalty", found, "give one that treats all weights alike, of any number")


def check_symmetry(penalty: Penalty, outputs: int | None = None, nonnegative: bool = False) -> None:
    """Raise InvalidInput where a penalty depends on the places, the signs or the number of the weights.

    Hypotheses come in any order, with free weights in either sign, and those that are not there have weights of 0: so
    only what does not change under these is a penalty on all of them. It is evaluated at a few random weights.
    """
    random, shape = np.random.default_rng(0), (4,) if outputs is None else (4, outputs)
    for scale in (0.05, 1.0, 20.0):
        w = scale * random.uniform(0.1, 1.0, shape)
        try:
            w = penalty.repair(w if nonnegative else w * random.choice([-1.0, 1.0], shape))
            flips = random.permutation([-1.0, -1.0, 1.0, 1.0]).reshape(4, *(1,) * (len(shape) - 1))
            changed = {"change places": w[random.permutation(4)], "change their signs": w if nonnegative else flips * w}
            changed["are joined by a weight of 0"] = np.concatenate([w, np.zeros((1, *shape[1:]))])
            before = penalty.value(w)
            found = dict(zip(changed, map(penalty.value, changed.values()), strict=True))
        except InvalidInput:
            raise
        except ValueError as error:
            raise not_of_any_number(error) from error
        for how, after in found.items():
            if not np.isclose(before, after, rtol=1e-6, atol=1e-9 * scale):
                differs = f"found one that goes from {before:.6g} to {after:.6g} where weights {how}"
                remedy = "give one that is the same in all weights; for prices of hypotheses give the oracle costs"
                raise InvalidInput("penalty", differs, f"{remedy}, and for weights of one sign nonnegative=True")


class Structured(Penalty):
    """A penalty whose `structure` is known, ``sum_j phi(n_j) + psi(sum_j n_j)``: conjugate and price are exact.

    n_j is |w_j|, or the norm of the weights of hypothesis j over several outputs, or there is one n of all weights:
    then, as under squares, every hypothesis with an edge has a weight, unless there are none at all. The conjugate is
    the least over lam of ``psi*(lam) + sum_j phi*(|E_j| - lam)``, and a further weight costs ``lam + phi'(0)`` per unit
    of its size.
    """

    @property
    @abstractmethod
    def structure(self) -> Structure: ...

    @property
    def entry_sizes(self) -> tuple[float, float] | None:
        return self._find_sizes(None)

    @property
    def row_sizes(self) -> tuple[float, float] | None:
        return self._find_sizes(2.0)

    def _find_sizes(self, norm: float | None) -> tuple[float, float] | None:
        found = self.structure.factors if self.structure.norm == norm else None
        return found if found is not None and found[0] > 0 else None

    def value(self, w: Array) -> float:
        """Evaluate the penalty; a sum that misses the end of its domain by rounding is there."""
        structure, sizes = self.structure, self._measure(w)
        of_entries = structure.entry.values(sizes).sum()
        total = float(sizes.sum())
        within = float(np.clip(total, self.least_sum, self.largest_sum))
        missed = abs(within - total) > sum_error(w.size, total) + ROUNDED * total
        return float(of_entries + structure.total.values(np.asarray(total if missed else within)))

    def repair(self, w: Array) -> Array:
        """Scale weights down into their boxes, and all of them into the budget; or up to the least sum.

        Weights that cannot reach that within their boxes stay as they are.
        """
        structure, sizes = self.structure, self._measure(w)
        limit = structure.entry.limit
        if (sizes > limit).any():
            scale = np.minimum(1.0, limit / np.maximum(sizes, np.finfo(float).tiny))
            rows = w.reshape(-1, 1) if structure.norm is None else self._split(w)
            inwards = ROUNDED + (sum_error(w.size, 1.0) if structure.norm == ALL else 0.0)
            w = (rows * (scale * (1 - inwards))[:, np.newaxis]).reshape(w.shape)
            sizes = self._measure(w)
        total = float(sizes.sum())
        if total > self.largest_sum:
            inwards = 0.0 if self.least_sum == self.largest_sum else sum_error(w.size, 1.0) + ROUNDED
            return w * (self.largest_sum / total * (1 - inwards))
        if total < self.least_sum <= len(sizes) * limit:
            # only sums of w >= 0 have a least one; what is lacking goes to all alike, as far as there is room
            raised = sizes + (self.least_sum - total) / len(sizes)
            cap = min(limit * (1 - ROUNDED), self.least_sum)
            return capped_simplex(raised, cap, self.least_sum).reshape(w.shape)
        return w

    def shrink(self, edges: Edges) -> float:
        """Return the factor on u from which on edges are in the domain of the conjugate.

        No edge may exceed the steepest slopes of phi and psi together, and outside, where weights are 0, that of phi is
        the one at 0; unless that is 0 too, when sums of squares bound what they add.
        """
        entry, total = self.structure.entry, self.structure.total
        inside, outside = self._read(edges)
        if inside.max(initial=0.0) == inf:
            return 1.0
        limit_inside = entry.last_slope + total.last_slope
        limit_outside = entry.first_slope + total.last_slope
        if limit_outside <= 0:
            limit_outside = limit_inside
        share = 1.0
        for limit, largest in ((limit_inside, inside.max(initial=0.0)), (limit_outside, outside)):
            if largest > limit:
                share = min(share, limit / largest * (1 - 2 * ROUNDED))
        return float(share)

    def conjugate(self, edges: Edges) -> float:
        """Return the conjugate at all edges, or a bound: of those outside the largest and the squares are known."""
        entry, share = self.structure.entry, self.shrink(edges)
        inside, outside = self._read(edges)
        inside, outside = share * inside, share * outside
        if inside.max(initial=0.0) == inf:
            return inf
        # from this price on no weight outside is worth having
        least = outside + ROUNDED * abs(outside) - entry.first_slope if outside > -np.inf else -np.inf
        affordable = least <= self.structure.total.last_slope
        found = self._bound(inside, self._price(inside, least)) if affordable else np.inf
        if entry.first_slope == 0 and outside > 0 and np.isfinite(edges.square_sum) and outside <= entry.last_slope:
            # phi*(e - lam) <= phi*(e) <= q e^2, whatever the price from 0 on
            squares = np.square(share * np.maximum(edges.inside(), 0.0))
            rest = max(share**2 * edges.square_sum - float(squares.sum()) * (1 - sum_error(squares.size, 1.0)), 0.0)
            # |e|_1^2 <= n_outputs |e|_2^2
            factor = squares[0].size if self.row_norm == 1 and len(squares) else 1
            added = factor * entry.share_of_square(outside) * rest * (1 + ROUNDED) if rest > 0 else 0.0
            found = min(found, self._bound(inside, self._price(inside, 0.0)) + added)
        return found

    def threshold(self, w: Array, edges: Array) -> float:
        """Return the price of a further weight: the multiplier of the sum of the sizes, and the slope of phi at 0.

        Where all weights are one row it is of second order, or paid for by all of them together.
        """
        if self.structure.norm == ALL:
            return 0.0
        return self._price(self._measure_edges(edges), -np.inf) + self.structure.entry.first_slope

    def slopes(self, w: Array) -> tuple[Array, Array]:
        """Return the slopes of phi and psi together, to the left and to the right: both have kinks.

        In a row of norm 2 they go along the row; else what they are is not said of rows but of largest entries.
        """
        norm, entry, total = self.structure.norm, self.structure.entry, self.structure.total
        sizes = self._measure(w)
        (low, high), (below, above) = (curve.bounds(at) for curve, at in ((entry, sizes), (total, sizes.sum())))
        limit = np.where(sizes > 0, high + above, entry.first_slope + above)
        if norm is None or (w.ndim == 1 and norm != ALL):
            sign, flat = np.sign(w).ravel(), np.where(sizes > 0, low + below, -limit)
            least, largest = np.where(sign < 0, -limit, flat), np.where(sign < 0, -flat, limit)
            return least.reshape(w.shape), largest.reshape(w.shape)
        rows = self._split(w)
        ends = np.broadcast_to(limit.reshape(-1, 1), rows.shape)
        least, largest = -ends, ends
        if norm in {2.0, ALL}:
            units = rows / np.where(sizes > 0, sizes, 1.0).reshape(-1, 1)
            along = np.stack([units * (low + below).reshape(-1, 1), units * (high + above).reshape(-1, 1)])
            outside = (sizes == 0).reshape(-1, 1)
            least, largest = np.where(outside, -ends, along.min(axis=0)), np.where(outside, ends, along.max(axis=0))
        return least.reshape(w.shape), largest.reshape(w.shape)

    def primal_violation(self, w: Array) -> float:
        """Return how far sizes exceed their boxes, and their sum is from its domain; relative."""
        structure, sizes = self.structure, self._measure(w)
        beyond = (sizes.max(initial=0.0), structure.entry.limit), (sizes.sum(), self.largest_sum)
        exceeded = (max(0.0, size - limit) / max(limit, 1.0) if limit < np.inf else 0.0 for size, limit in beyond)
        return max(*exceeded, max(0.0, self.least_sum - float(sizes.sum())) / max(self.least_sum, 1.0))

    def stationarity(self, w: Array, edges: Array) -> float:
        """Return what Fenchel's equality ``P(w) + P*(E) = E'w`` lacks, at edges shrunk into the domain; relative."""
        # where there is no weight an edge below 0 stays so: of a fixed sum all edges may be, and nothing is outside
        aligned = np.where(w == 0, np.minimum(edges, 0.0), edges * np.sign(w))
        summary = Edges(np.inf, float((edges * edges)[w != 0].sum()), lambda: aligned, -np.inf)
        value = self.value(self.repair(w))
        lacking = value + self.conjugate(summary) - self.shrink(summary) * float((edges * w).sum())
        return max(0.0, lacking) / max(1.0, abs(value))

    def pricing_slack(self, edges: Array) -> float:
        """Return how far the largest edge exceeds the steepest slopes of phi and psi together; relative."""
        limit = self.structure.entry.last_slope + self.structure.total.last_slope
        # of one row all edges count together, and none by itself
        if limit == inf or self.structure.norm == ALL:
            return 0.0
        return excess(row_sizes(edges, self.row_norm) - limit) / max(limit, 1.0)

    def _split(self, w: Array) -> Array:
        """Return the rows of weights whose norms count, each a row of an array."""
        return w.reshape(1, -1) if self.structure.norm == ALL else as_rows(w)

    def _measure(self, w: Array) -> Array:
        """Return the sizes of weights, one for each or for each row."""
        if (norm := self.structure.norm) is None:
            return np.abs(w).ravel()
        return np.linalg.norm(self._split(w), 2.0 if norm == ALL else norm, axis=1)

    def _read(self, edges: Edges) -> tuple[Array, float]:
        """Return the sizes of the edges inside and a bound on those outside; where all are one row it is inside."""
        if self.structure.norm == ALL:
            return np.array([np.sqrt(edges.square_sum) * (1 + ROUNDED)]), -inf
        return self._measure_edges(edges.inside()), min(edges.bound, edges.outside)

    def _measure_edges(self, edges: Array) -> Array:
        """Return the sizes of edges in the dual norm; `edges` are sizes already, and signed where w >= 0."""
        if self.structure.norm is None:
            return edges.ravel()
        return row_sizes(edges, self.row_norm, one_sided=True) * (1 + sum_error(edges[:1].size, 1.0))

    def _price(self, inside: Array, least: float) -> float:
        """Return the best lam from `least` on: where the sizes that it wants of the entries add up to that of psi."""
        entry, total = self.structure.entry, self.structure.total
        largest = float(inside.max(initial=-np.inf))
        # a difference that rounding makes larger than the steepest slope has no finite conjugate
        steepest = largest - entry.last_slope + ROUNDED * abs(largest) if inside.size else -np.inf
        lowest, high = max(total.first_slope, least, steepest), total.last_slope
        if lowest >= high:
            return high

        if inside.size * entry.limit < total.least:
            # these weights alone cannot add up to what they have to
            return lowest

        def surplus(lam: float) -> float:
            wanted = entry.maximisers(inside - lam).sum()
            return float(np.clip(total.maximisers(np.full((), lam)) - wanted, -FAR, FAR))

        # the lowest may be as far as floats go
        low, step = max(largest - 1.0, lowest), 1.0
        while low > lowest and surplus(low) > 0:
            low, step = max(low - step, lowest), 2 * step
        # from the second price on the entries want nothing
        high = min(high, max(low, largest - entry.first_slope))
        if low >= high or surplus(low) >= 0:
            return low
        # any price bounds the conjugate, so how well this one is found costs nothing but the last digits
        accuracy = max(1e-14 * max(abs(low), abs(high)), np.finfo(float).tiny)
        return float(brentq(surplus, low, high, xtol=accuracy, rtol=4 * EPSILON, maxiter=200))

    def _bound(self, inside: Array, lam: float) -> float:
        """Return psi*(lam) + sum_j phi*(|E_j| - lam)."""
        of_entries = self.structure.entry.conjugate(inside - lam)
        added = float(of_entries.sum())
        return float(self.structure.total.conjugate(np.full((), lam))) + added + sum_error(inside.size, abs(added))


@dataclass(frozen=True, eq=False)
class StructuredExpression(Structured):
    """A penalty known by its cvxpy expression, in which a `Structure` was recognised."""

    express: Callable[[cp.Expression], Any]
    found: Structure

    @property
    def structure(self) -> Structure:
        return self.found

    def model(self, w: cp.Expression) -> Term:
        return read_term("penalty", self.express, w)


@dataclass(frozen=True)
class RowNorms(Structured):
    """`weight` times the sum over hypotheses of the norm of their weights over several outputs: groups by hypothesis.

    Dual feasible: no hypothesis whose edges have a dual norm above `weight`, by which oracles rank them.

    Parameters
    ----------
    weight : float
        Above 0.
    norm : {2, 1, inf}
        The order of the norm of a row.

    Examples
    --------
    >>> RowNorms(2.0).value(np.array([[3.0, 4.0], [0.0, 0.0]]))
    10.0
    """

    weight: float = 1.0
    norm: float = 2.0

    @cached_property
    def structure(self) -> Structure:
        return Structure(None if self.norm == 1 else float(self.norm), Curve.of(size=self.weight))

    def model(self, w: cp.Expression) -> Term:
        norms = cp.abs(w) if w.ndim == 1 else cp.norm(w, "inf" if self.norm == np.inf else self.norm, axis=1)
        return Term(self.weight * cp.sum(norms))


@dataclass(frozen=True)
class PenaltySum(Structured):
    """The sum of penalties whose structures are known, as ``RowNorms(0.1) + SquaredL2(3.0)`` makes it.

    Parameters
    ----------
    parts : tuple of Penalty
        Each has a `structure`.
    """

    parts: tuple[Any, ...]

    @cached_property
    def structure(self) -> Structure:
        first, *others = (part.structure for part in self.parts)
        try:
            return functools.reduce(Structure.plus, others, first)
        except Unrecognised as unrecognised:
            raise InvalidInput("penalty", f"found {unrecognised}", "add penalties of the same norm") from None

    def model(self, w: cp.Expression) -> Term:
        terms = [part.model(w) for part in self.parts]
        constraints = tuple(constraint for term in terms for constraint in term.constraints)
        return Term(sum(term.expression for term in terms), constraints)
