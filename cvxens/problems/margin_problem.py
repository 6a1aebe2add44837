"""Formulations over a matrix of hypotheses: a loss on margins and a penalty on weights."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np

from cvxens import validation
from cvxens.errors import NotSeparable
from cvxens.problems.duality import Edges, balance_classes, balance_exactly, edge_rounding, imbalance
from cvxens.problems.losses import Loss, dual_rounding, rise
from cvxens.problems.maps import (
    Columns,
    ColumnsLike,
    Shifted,
    as_columns,
    edges_with_errors,
    scores_with_errors,
)
from cvxens.problems.modelling import Model, cp, solve_model
from cvxens.problems.penalties import Penalty
from cvxens.problems.problem import Problem
from cvxens.rounding import EPSILON, dot, sum_error
from cvxens.types import Array, Point

SHIFTED = "intercept of the shifted columns"
"""The name of that intercept among the arrays of a repaired point."""

FEASIBLE = 1e-12
"""How far weights may be from the domain of a penalty through rounding, relative to their sum or to 1."""


NEAR = 1e-6
"""The size of edges and of sample weights, relative to the largest of theirs, that a solver may take for 0."""


class MarginProblem(Problem):
    """min loss(z) + penalty(w) with z = y * (H w + b).

    The multiplier of that one equality is u, with u = -loss'(z) at the optimum. The dual problem is to maximise
    ``-loss*(-u) - penalty*(H'(y u))``, with y'u = 0 where there is an intercept. With several outputs, w, b, z and u
    have a column for each and y is a column of ones: z are scores.

    Where there is an intercept, columns far from 0 are shifted to it inside: ``H w + b = (H - 1 c') w + (b + c'w)``, so
    that an offset in the data costs no digits. Points are those of H; a repaired one also has the intercept
    ``b + c'w`` of the shifted columns, which holds digits that b cannot.

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
        f, tied = self._shifted.H.link(w)
        centre = self._shifted.centre
        b_of_H = b if centre is None else b - centre @ w
        link = z == cp.multiply(self.y, f + b if self.intercept else f)
        on_z, on_w = loss.term(z), penalty.term(w)
        total = on_z.expression + on_w.expression
        sense = cp.Maximize(-total) if self.maximise else cp.Minimize(total)
        problem = cp.Problem(sense, [link, *tied, *on_z.constraints, *on_w.constraints])
        variables = {weights: w, **({intercept: b_of_H} if self.intercept else {}), **on_z.variables}
        return Model(problem, variables, {multipliers: (link, 1.0)}, parameters)

    @final
    def repair(self, point: Point) -> Point:
        """Clip weights and multipliers into their domains and scale both to feasibility."""
        weights, intercept, multipliers = self.letters
        loss, penalty = self._loss, self.penalty()
        w = point.get(weights, np.zeros((self.H.shape[1], *self.outputs)))
        w = penalty.repair(np.maximum(w, 0) if self.nonnegative else w)
        f, _ = scores_with_errors(self._shifted.H, w)
        if intercept in point:
            b = self._to_shifted(w, point[intercept])
        else:
            b = loss.best_intercept(f, self.y) if self.intercept else np.zeros(self.outputs)
        z = self.y * (f + b)
        scale = min(self._scales(loss, z, w), key=lambda scale: loss.value(scale * z) + penalty.value(scale * w))
        u = loss.repair(point.get(multipliers, np.zeros(f.shape)), self.y if self.intercept else None)
        u = u * penalty.shrink(self._summary(self._edges(u)))
        w, b = w * scale, b * scale
        if not self.intercept:
            return {weights: w, multipliers: u}
        if self._shifted.centre is None:
            return {weights: w, intercept: b, multipliers: u}
        of_H = point[intercept] if intercept in point and scale == 1 else self._from_shifted(w, b)
        return {weights: w, intercept: of_H, multipliers: u, SHIFTED: b}

    @final
    def value(self, point: Point) -> float:
        """Loss plus penalty, or minus that for a maximum."""
        w = point[self.letters[0]]
        total = self._loss.value(self._margins(point)[0]) + self.penalty().value(w)
        return -total if self.maximise else total

    @final
    def dual_value(self, point: Point) -> float:
        """-loss*(-u) less the penalty's conjugate at the edges, or minus that for a maximum."""
        u = point[self.letters[2]]
        return self.bound(u, self._summary(self._edges(u)))

    @final
    def rounding(self, point: Point) -> float:
        """Bound it by evaluating both objectives where the errors of margins and edges are at their worst."""
        return self._primal_rounding(point) + self.dual_rounding(point)

    @final
    def dual_rounding(self, point: Point) -> float:
        """Bound the rounding error of the dual value at a repaired u, a balance missed by rounding included.

        Penalties' conjugates rise with the sizes of edges, so they are evaluated at edges that are larger by their
        errors. A sum y'u = d in place of 0 is mended by moving one multiplier by d: an edge moves by at most
        d max |H_ij|, and the loss's part by d times its mean slope.
        """
        u, loss = point[self.letters[2]], self._loss
        edges, errors = edges_with_errors(self._shifted.H, self.y * u)
        size, magnitude = float(np.abs(u).sum()), abs(loss.dual_value(u))
        if not (size > 0 and np.isfinite(magnitude)):
            return 0.0
        missed = 0.0
        if self.intercept:
            sides = (self.y * u).reshape(len(u), -1)
            missed = max(abs(dot(side, np.ones(len(side)))) for side in sides.T)
        errors = errors + missed * self._shifted.H.largest
        nominal, worst = self.bound(u, self._summary(edges)), self.bound(u, self._summary(edges, errors))
        change = abs(nominal - worst) if np.isfinite(nominal) and np.isfinite(worst) else np.inf
        penalty = self.penalty().conjugate(self._summary(edges))
        of_penalty = sum_error(len(edges), abs(penalty) if np.isfinite(penalty) else 0.0)
        return change + dual_rounding(loss, u) + of_penalty + missed * (magnitude / size)

    @final
    def _primal_rounding(self, point: Point) -> float:
        """Evaluate the primal objective with every margin off by its error, rescaled where that makes it feasible."""
        w, loss, penalty = point[self.letters[0]], self._loss, self.penalty()
        z, errors = self._margins(point)
        value, of_w = loss.value(z), penalty.value(w)
        if not (np.isfinite(value) and np.isfinite(of_w)):
            return 0.0
        risen = rise(loss, z, errors)
        for scale in self._scales(loss, z - errors, w):
            if scale != 1:
                at_scale = loss.value(scale * (z - errors)) + penalty.value(scale * w) - value - of_w
                risen = min(risen, max(at_scale, 0.0) + sum_error(z.size, abs(value)))
        return risen + sum_error(w.size, abs(of_w))

    @final
    def residuals(self, point: Point) -> dict[str, float]:
        """Evaluate the KKT residuals of loss, penalty, signs and intercept.

        Where w >= 0, weights of rounding size, at most 1e-9 of the largest, may have edges below the threshold.
        """
        weights, _, multipliers = self.letters
        w, u = point[weights], point[multipliers]
        z, _ = self._margins({name: values for name, values in point.items() if name != SHIFTED})
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

    @cached_property
    def _shifted(self) -> Shifted:
        return Shifted.from_columns(self.H) if self.intercept else Shifted(self.H, None)

    def _to_shifted(self, w: Array, b: Array) -> Array:
        """B + c'w, with one rounding."""
        centre = self._shifted.centre
        if centre is None:
            return b
        flat = w.reshape(len(w), -1)
        sums = [
            dot(np.append(centre, 1.0), np.append(column, own)) for column, own in zip(flat.T, np.ravel(b), strict=True)
        ]
        return np.reshape(sums, self.outputs)

    def _from_shifted(self, w: Array, b: Array) -> Array:
        """B - c'w, with one rounding."""
        return self._to_shifted(-w, b)

    def _scales(self, loss: Loss, z: Array, w: Array) -> tuple[float, ...]:
        """Factors on w and b worth trying: 1, and what the loss suggests if the penalty's domain allows it."""
        scale = loss.rescaling(z)
        allowed = self.penalty().primal_violation(scale * w) <= FEASIBLE * max(1.0, float(np.abs(w).sum()))
        return (1.0, scale) if scale != 1 and allowed else (1.0,)

    def _margins(self, point: Point) -> tuple[Array, Array]:
        """The margins y (H w + b) and bounds on their rounding errors."""
        weights, intercept, _ = self.letters
        w = point[weights]
        f, errors = scores_with_errors(self._shifted.H, w)
        if not self.intercept:
            return self.y * f, errors
        b = point[SHIFTED] if SHIFTED in point else self._to_shifted(w, point[intercept])
        # f + b is rounded once, and b = b + c'w was
        return self.y * (f + b), errors + EPSILON * (np.abs(f) + np.abs(b))

    def _edges(self, u: Array) -> Array:
        return edges_with_errors(self._shifted.H, self.y * u)[0]

    def _summary(self, edges: Array, errors: Array | float = 0.0) -> Edges:
        counted = (edges if self.nonnegative else np.abs(edges)) + errors
        return Edges(float(counted.max()), float((np.maximum(counted, 0) ** 2).sum()), lambda: counted, 0.0)


def not_separable(H: Columns, y: Array, intercept: bool, nonnegative: bool) -> NotSeparable | None:
    """Find the Farkas vector of margins of at least 1, or None where they can be reached.

    The largest margin of weights with ``sum |w| <= 1`` equals the least largest edge of sample weights u with sum 1;
    at 0 the multipliers u of the margins are the proof. A solver finds them to its digits only. So they are moved to
    where the edges that it takes for 0 are, and are a proof if no edge is above 0 by more than rounding.
    """
    w = cp.Variable(H.shape[1], nonneg=nonnegative)
    b, z, rho = cp.Variable(), cp.Variable(len(y)), cp.Variable()
    f, tied = H.link(w / max(H.largest, np.finfo(float).tiny))
    link = z == cp.multiply(y, f + b if intercept else f)
    size = cp.sum(w) if nonnegative else cp.norm1(w)
    game = cp.Problem(cp.Maximize(rho), [link, *tied, z >= rho, size <= 1])
    u = np.maximum(solve_model(Model(game, {}, {"u": (link, 1.0)}), None, {}).duals["u"], 0)

    def signed_edges(u: Array) -> Array:
        edges = H.edges(y * u)
        return edges if nonnegative else np.abs(edges)

    for candidate in (u, _polished(H, y, u, intercept, nonnegative)):
        balanced = balance_exactly(balance_classes(candidate, y), y) if intercept else candidate
        if not balanced.any():
            continue
        farkas = balanced / balanced.sum()
        max_edge = float(signed_edges(farkas).max())
        if max_edge <= edge_rounding(len(y), H.largest):
            return NotSeparable(farkas, max_edge)
    return None


def _polished(H: Columns, y: Array, u: Array, intercept: bool, nonnegative: bool) -> Array:
    """The nearest weights, on the samples that u is on, under which the edges near 0 are 0."""
    kept = np.flatnonzero(u > NEAR * u.max())
    signs = np.zeros((len(y), len(kept)))
    signs[kept, np.arange(len(kept))] = y[kept]
    edges = H.edges(signs)
    tight = edges @ u[kept] > -NEAR * H.largest * u.sum() if nonnegative else np.full(len(edges), True)
    equations = np.vstack([edges[tight], *([y[kept]] if intercept else [])])
    polished = np.zeros_like(u)
    step = np.linalg.lstsq(equations, equations @ u[kept])[0]
    polished[kept] = np.maximum(u[kept] - step, 0.0)
    return polished
