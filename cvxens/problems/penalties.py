"""Penalties on hypothesis weights: the pricing rule and the dual bound of a formulation follow from them."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from cvxens.problems.duality import Edges
from cvxens.problems.losses import excess
from cvxens.problems.modelling import Term, cp
from cvxens.types import Array

STEP = 1e-5
"""Step of the difference that measures a slope, relative to the weight."""


class Penalty(Protocol):
    """A convex penalty on weights w; `edges` are H'(y u), one per weight.

    Fast masters ask a penalty for one of these, and take any that has it:

    - ``edge_limit``: the penalty is ``edge_limit |w|_1``, so that u is dual feasible where no edge exceeds it;
    - ``ridge``: the penalty is ``ridge / 2 |w|^2``;
    - ``total``: the penalty is the constraint ``w >= 0, sum w = total``, so that its conjugate is the largest edge.

    Attributes
    ----------
    one_sided : bool
        True if it is for weights w >= 0 alone.
    """

    one_sided: ClassVar[bool] = False

    @abstractmethod
    def term(self, w: Any) -> Term:
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
            step[j] = STEP * abs(w.flat[j])
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


@dataclass(frozen=True)
class L1(Penalty):
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

    def term(self, w: Any) -> Term:
        return Term(self.weight * (cp.sum(w) if w.is_nonneg() else cp.norm1(w)))

    def value(self, w: Array) -> float:
        return float(self.weight * np.abs(w).sum())

    def shrink(self, edges: Edges) -> float:
        """Return ``weight / max edge``, at most 1."""
        return self.weight / max(self.weight, edges.bound)

    def conjugate(self, edges: Edges) -> float:
        return 0.0

    def threshold(self, w: Array, edges: Array) -> float:
        """Return the slope at 0."""
        return self.weight

    def slopes(self, w: Array) -> tuple[Array, Array]:
        """Return the weight in the sign of w_j, and both signs where that is 0."""
        return np.where(w > 0, self.weight, -self.weight), np.where(w < 0, -self.weight, self.weight)

    def stationarity(self, w: Array, edges: Array) -> float:
        """Return max |w_j| (weight - edge_j sign w_j), relative to weight and sum |w|."""
        reduced = np.abs(w) * np.maximum(self.weight - edges * np.sign(w), 0)
        return excess(reduced) / (self.weight * max(1.0, float(np.abs(w).sum())))

    def pricing_slack(self, edges: Array) -> float:
        """Return ``(max edge - weight) / weight``."""
        return excess(edges - self.weight) / self.weight


@dataclass(frozen=True)
class SquaredL2(Penalty):
    """`weight`/2 times |w|^2: LL08 P1 and SL (1), (10). At the optimum weight w_j = edge_j for every j.

    Parameters
    ----------
    weight : float
        Above 0.
    """

    weight: float = 1.0

    @property
    def ridge(self) -> float:
        return self.weight

    def term(self, w: Any) -> Term:
        return Term(self.weight / 2 * cp.sum_squares(w))

    def value(self, w: Array) -> float:
        return float(self.weight / 2 * (w * w).sum())

    def conjugate(self, edges: Edges) -> float:
        """Return the sum of squared edges over twice the weight."""
        return edges.square_sum / (2 * self.weight)

    def threshold(self, w: Array, edges: Array) -> float:
        """Return the slope at 0, which is 0."""
        return 0.0

    def slopes(self, w: Array) -> tuple[Array, Array]:
        """Return ``weight w_j``."""
        return self.weight * w, self.weight * w

    def stationarity(self, w: Array, edges: Array) -> float:
        """Return max |weight w_j - edge_j|, relative to the largest."""
        return float(np.abs(self.weight * w - edges).max()) / max(1.0, float(np.abs(edges).max()))


@dataclass(frozen=True)
class ElasticNet(Penalty):
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

    def term(self, w: Any) -> Term:
        return Term(L1(self.l1).term(w).expression + SquaredL2(self.l2).term(w).expression)

    def value(self, w: Array) -> float:
        return L1(self.l1).value(w) + SquaredL2(self.l2).value(w)

    def shrink(self, edges: Edges) -> float:
        """Return ``l1 / max edge`` of those outside, at most 1."""
        return L1(self.l1).shrink(Edges(min(edges.bound, edges.outside), edges.square_sum))

    def conjugate(self, edges: Edges) -> float:
        """Return half the sum of (edge - l1)^2 over l2, where edges inside, shrunk, exceed l1."""
        excesses = np.maximum(self.shrink(edges) * edges.inside() - self.l1, 0)
        return float((excesses**2).sum() / (2 * self.l2))

    def threshold(self, w: Array, edges: Array) -> float:
        """Return the slope at 0."""
        return self.l1

    def slopes(self, w: Array) -> tuple[Array, Array]:
        """Return those of the two parts added up."""
        least, largest = L1(self.l1).slopes(w)
        return least + self.l2 * w, largest + self.l2 * w

    def stationarity(self, w: Array, edges: Array) -> float:
        """Return max |l2 w_j - sign(edge_j) max(|edge_j| - l1, 0)|, relative to the largest edge."""
        best = np.sign(edges) * np.maximum(np.abs(edges) - self.l1, 0)
        return float(np.abs(self.l2 * w - best).max()) / max(self.l1, float(np.abs(edges).max()))


@dataclass(frozen=True)
class Simplex(Penalty):
    """0 where w >= 0 and sum w = 1, else infinite: the convex combinations of LPBoost (DBS02)."""

    one_sided: ClassVar[bool] = True
    total: ClassVar[float] = 1.0

    def term(self, w: Any) -> Term:
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
