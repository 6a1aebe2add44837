"""Formulations over a matrix of hypotheses: a loss on margins and a penalty on weights."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, final

import numpy as np

from cvxens import validation
from cvxens.errors import NotSeparable
from cvxens.problems.columns import Columns, ColumnsLike, as_columns
from cvxens.problems.duality import Edges, imbalance
from cvxens.problems.losses import Loss
from cvxens.problems.modelling import Model, cp
from cvxens.problems.penalties import Penalty
from cvxens.problems.problem import Problem
from cvxens.problems.separation import not_separable
from cvxens.types import Array, Point


class MarginProblem(Problem):
    """min loss(z) + penalty(w) with z = y * (H w + b).

    The multiplier of that one equality is u, with u = -loss'(z) at the optimum. The dual problem is to maximise
    ``-loss*(-u) - penalty*(H'(y u))``, with y'u = 0 where there is an intercept. With several outputs, w, b, z and u
    have a column for each and y is a column of ones: z are scores.

    Attributes
    ----------
    H : Columns
        The hypotheses.
    y : ndarray of shape (n_samples,) or (n_samples, 1)
        Labels -1 and +1, or a column of ones.
    intercept, nonnegative : bool
        Whether there is a b, unpenalised; whether w >= 0.
    outputs : tuple of int
        The shape of b: () for one output.
    arrays : tuple of str
        The arrays of a point: primal first, then dual.
    letters : tuple of str
        What the source calls w, b and u.
    swept : tuple of str
        The parameters of the loss that may be swept.
    """

    arrays: ClassVar[tuple[str, ...]] = ("w", "b", "xi", "u")
    letters: ClassVar[tuple[str, str, str]] = ("w", "b", "u")
    swept: ClassVar[tuple[str, ...]] = ("C",)
    H: Columns
    y: Array
    intercept: bool = False
    nonnegative: bool = False
    outputs: tuple[int, ...] = ()

    def __init__(self, H: ColumnsLike, y: Any) -> None:
        self.y = validation.signs(y)
        self.H = as_columns(H, len(self.y))

    @abstractmethod
    def loss(self, *swept: Any) -> Loss:
        """The loss at the swept parameters: numbers, or cvxpy parameters."""

    @abstractmethod
    def penalty(self) -> Penalty:
        """The penalty."""

    @final
    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The arrays of a point and their shapes."""
        n_samples, n_columns = self.H.shape
        weights, intercept, multipliers = self.letters
        shapes = {
            weights: (n_columns, *self.outputs),
            intercept: self.outputs,
            multipliers: (n_samples, *self.outputs),
            "xi": (n_samples,),
            "rho": (),
        }
        return {name: shapes[name] for name in self.arrays}

    @final
    def build(self) -> Model:
        """Model w, b and the margins z, tied by the one equality whose multiplier is u."""
        parameters = {name: cp.Parameter(pos=True, name=name) for name in self.swept}
        loss, penalty = self.loss(*parameters.values()), self.penalty()
        weights, intercept, multipliers = self.letters
        w = cp.Variable((self.H.shape[1], *self.outputs), nonneg=self.nonnegative, name=weights)
        b = cp.Variable(self.outputs, name=intercept)
        z = cp.Variable((self.H.shape[0], *self.outputs), name="z")
        f, tied = self.H.link(w)
        link = z == cp.multiply(self.y, f + b if self.intercept else f)
        on_z, on_w = loss.term(z), penalty.term(w)
        total = on_z.expression + on_w.expression
        sense = cp.Maximize(-total) if self.maximise else cp.Minimize(total)
        problem = cp.Problem(sense, [link, *tied, *on_z.constraints, *on_w.constraints])
        variables = {weights: w, **({intercept: b} if self.intercept else {}), **on_z.variables}
        return Model(problem, variables, {multipliers: (link, 1.0)}, parameters)

    @final
    def repair(self, point: Point) -> Point:
        """Clip weights and multipliers into their domains and scale both to feasibility."""
        weights, intercept, multipliers = self.letters
        loss, penalty = self._loss, self.penalty()
        w = point.get(weights, np.zeros((self.H.shape[1], *self.outputs)))
        w = penalty.repair(np.maximum(w, 0) if self.nonnegative else w)
        f = self.H.scores(w)
        if intercept in point:
            b = point[intercept]
        else:
            b = loss.best_intercept(f, self.y) if self.intercept else np.zeros(self.outputs)
        z = self.y * (f + b)
        scale = min(1.0, loss.scale(z), key=lambda scale: loss.value(scale * z) + penalty.value(scale * w))
        u = loss.repair(point.get(multipliers, np.zeros(f.shape)), self.y if self.intercept else None)
        u = u * penalty.shrink(self._summary(self._edges(u)))
        return {weights: w * scale, **({intercept: b * scale} if self.intercept else {}), multipliers: u}

    @final
    def value(self, point: Point) -> float:
        """Loss plus penalty, or minus that for a maximum."""
        w = point[self.letters[0]]
        total = self._loss.value(self._margins(point)) + self.penalty().value(w)
        return -total if self.maximise else total

    @final
    def dual_value(self, point: Point) -> float:
        """-loss*(-u) less the penalty's conjugate at the edges, or minus that for a maximum."""
        u = point[self.letters[2]]
        return self.bound(u, self._summary(self._edges(u)))

    @final
    def rounding(self, point: Point) -> float:
        """That of (y u)'H w, which both objectives contain: epsilon times the sum of the sizes of its terms."""
        weights, _, multipliers = self.letters
        size = float(np.abs(point[weights]).sum()) * float(np.abs(point[multipliers]).sum())
        return float(np.finfo(float).eps) * self.H.largest * size

    @final
    def residuals(self, point: Point) -> dict[str, float]:
        """Evaluate the KKT residuals of loss, penalty, signs and intercept.

        Where w >= 0, weights of rounding size, at most 1e-9 of the largest, may have edges below the threshold.
        """
        weights, _, multipliers = self.letters
        w, u, z = point[weights], point[multipliers], self._margins(point)
        loss, penalty, edges = self._loss, self.penalty(), self._edges(u)
        threshold = penalty.threshold(w, edges)
        counted = (w > 1e-9 * w.max()) | (edges >= threshold) if self.nonnegative else np.full(w.shape, True)
        signs = max(0.0, float(-w.min())) if self.nonnegative else 0.0
        return {
            "primal feasibility": max(signs, penalty.primal_violation(w), loss.primal_violation(z, point)),
            "dual feasibility": max(loss.dual_violation(u), imbalance(u, self.y) if self.intercept else 0.0),
            "complementary slackness": loss.slackness(z, u),
            "stationarity": penalty.stationarity(w[counted], edges[counted]) if counted.any() else 0.0,
            "pricing slack": penalty.pricing_slack(edges if self.nonnegative else np.abs(edges)),
        }

    @final
    def bound(self, u: Array, edges: Edges) -> float:
        """Bound the optimum from a repaired u and what is known of the edges of ALL hypotheses."""
        penalty = self.penalty()
        bound = self._loss.dual_value(u * penalty.shrink(edges)) - penalty.conjugate(edges)
        return -bound if self.maximise else bound

    @final
    def infeasibility(self) -> NotSeparable | None:
        """Prove that hypotheses do not separate the classes, where that leaves no feasible point."""
        if np.isfinite(self._loss.value(np.zeros((len(self.y), *self.outputs)))):
            return None
        return not_separable(self.H, self.y, self.intercept, self.nonnegative)

    @property
    def _loss(self) -> Loss:
        return self.loss(*(getattr(self, name) for name in self.swept))

    def _margins(self, point: Point) -> Array:
        weights, intercept, _ = self.letters
        f = self.H.scores(point[weights])
        return self.y * (f + point[intercept] if self.intercept else f)

    def _edges(self, u: Array) -> Array:
        return self.H.edges(self.y * u)

    def _summary(self, edges: Array) -> Edges:
        counted = edges if self.nonnegative else np.abs(edges)
        return Edges(float(counted.max()), float((np.maximum(counted, 0) ** 2).sum()), lambda: counted, 0.0)
