"""All points of a problem whose objective is at most a level: how far a linear function of the weights reaches there.

    maximise c'w   subject to   loss(z) + penalty(w) <= level,   z = y (H w + b)

With t > 0 the multiplier of the level, the inner minimum of ``t (loss + penalty - level) - c'w`` is t times the dual
of the problem itself, with the edges ``H'(y u) + c / t`` in place of ``H'(y u)``. So for any t and any u

    c'w <= t (level + loss*(-u) + penalty*(H'(y u) + c / t)),      y'u = 0 where there is an intercept

which is a bound over all hypotheses where their edges, raised by c / t, are bounded.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from cvxens.errors import InvalidInput
from cvxens.problems.duality import Edges
from cvxens.problems.formulation import Formulation
from cvxens.problems.modelling import Model, cp, solve_model
from cvxens.problems.problem import Problem
from cvxens.rounding import EPSILON, sum_error
from cvxens.types import Array


class Reached(NamedTuple):
    """Where a linear function is largest within a level, to a solver's digits."""

    w: Array
    b: Array
    u: Array  # of the samples, as those of the problem itself
    price: float  # t, what a unit of the level is worth


class LevelSet:
    """The weights w >= 0 of a problem's columns, and intercepts, whose objective is at most a level.

    Parameters
    ----------
    problem : Problem
        With w >= 0 and one output.
    level : float
        As the objective of a minimum: above the optimum.

    Examples
    --------
    One column and its negation, of weights that add up to at most 2:

    >>> from cvxens.problems import formulations
    >>> problem = Problem(formulations.soft_margin(C=1.0), [[1.0, -1.0], [-1.0, 1.0]], [1.0, -1.0])
    >>> reached = LevelSet(problem, 2.0).maximise(np.array([1.0, 0.0]))
    >>> reached.w.round(4)
    array([2., 0.])
    """

    def __init__(self, problem: Problem, level: float) -> None:
        self.problem, self.level = problem, level

    @cached_property
    def _model(self) -> tuple[Model, Any]:
        problem = self.problem
        loss, penalty = problem.formulation.terms
        v, w, f, tied = problem.linear_map.model(problem.outputs, problem.nonnegative)
        b, z, c = cp.Variable(name="b"), cp.Variable(len(problem.y), name="z"), cp.Parameter(w.shape, name="c")
        link = z == cp.multiply(problem.y, f + b if problem.intercept else f)
        on_z, on_w = loss.model(z), penalty.model(v)
        within = on_z.expression + on_w.expression <= self.level
        stated = cp.Problem(cp.Minimize(-c @ w), [link, within, *tied, *on_z.constraints, *on_w.constraints])
        found = {"w": w, **({"b": problem.linear_map.shift(w, b, -1.0)} if problem.intercept else {})}
        return Model(stated, found, {"u": (link, 1.0), "price": (within, 1.0)}), c

    def maximise(self, c: Array) -> Reached:
        """Maximise c'w; where nothing limits it but the level, `price` is above 0.

        Raises
        ------
        SolverFailed
            No solver found an optimum.
        """
        model, parameter = self._model
        parameter.value = c
        # what the solver that is asked first is asked for: its points are moved to where they hold, and evaluated there
        solution = solve_model(model, None, {"tol_gap_abs": 1e-8, "tol_gap_rel": 1e-8, "tol_feas": 1e-8})
        price = abs(float(solution.duals["price"]))
        w = np.maximum(solution.variables["w"], 0.0)
        u = solution.duals["u"] / price if price > 0 else np.zeros(len(self.problem.y))
        return Reached(w, solution.variables.get("b", np.zeros(())), u, price)

    def move_inside(self, inner: tuple[Array, Array], outer: tuple[Array, Array]) -> tuple[Array, Array] | None:
        """Return the point (w, b) nearest to `outer`, on the way from `inner`, that is proven to be within the level.

        None where that of `inner` is not. The objective is convex, so the points within it are a part of the way.
        """
        problem, y = self.problem, self.problem.y
        loss, penalty = problem.formulation.terms
        (w, b), (far_w, far_b) = inner, outer
        z = y * (problem.linear_map.scores(w) + problem.linear_map.shift(w, b))
        far_z = y * (problem.linear_map.scores(far_w) + problem.linear_map.shift(far_w, far_b))

        def value(share: float) -> float:
            far = loss.value((1 - share) * z + share * far_z)
            return float(far + penalty.value((1 - share) * w + share * far_w))

        low, high = 0.0, 1.0
        if value(1.0) <= self.level:
            low = 1.0
        while low < 1.0 and high - low > EPSILON:
            middle = (low + high) / 2
            low, high = (middle, high) if value(middle) <= self.level else (low, middle)
        # by plain sums so far; a little further in, it is proven
        # shares of the way back to a point within the level, until rounding is no longer in the way
        for back in (0.0, *(1e-14, 1e-12, 1e-10, 1e-8, 1e-6)):
            share = low * (1 - back)
            at = (1 - share) * w + share * far_w, (1 - share) * b + share * far_b
            if self.holds(*at):
                return at
        return inner if self.holds(*inner) else None

    def holds(self, w: Array, b: Array) -> bool:
        """Return True if the objective at a point is within the level, with all that rounding can have done."""
        problem = self.problem
        at = problem.evaluate_at(w, problem.linear_map.shift(w, b), np.zeros(len(problem.y)), b_of_H=b)
        return bool(problem.formulation.sense * at.primal + at.rounding <= self.level)

    def bound(self, u: Array, price: float, largest: float) -> float:
        """Bound c'w over all hypotheses, of which none has an edge, raised by c_j / price, above `largest`.

        Parameters
        ----------
        u : ndarray of shape (n_samples,)
            Multipliers in the domain of the loss, balanced where there is an intercept.
        price : float
            t, above 0.
        largest : float
            At least ``max_j (H'(y u) + c / t)_j``; as u, scaled with t, where the penalty allows less.
        """
        loss, penalty = self.problem.formulation.terms
        edges = Edges(largest, np.inf)
        shrink = penalty.shrink(edges)
        dual = loss.dual_value(shrink * u) - penalty.conjugate(Edges(shrink * largest, np.inf))
        lost = loss.dual_rounding(shrink * u) + sum_error(4, abs(self.level) + abs(dual))
        # t u and c stay where u is shrunk, so t grows
        found = price / shrink * (self.level - dual + lost)
        return float(found + 4 * EPSILON * abs(found))


def check_penalty(formulation: Formulation) -> None:
    """Raise where the penalty's conjugate needs more than the largest edge."""
    penalty = formulation.terms[1]
    if penalty.edge_limit is None and penalty.total is None:
        found = f"found {type(penalty).__name__}, which needs more than the largest edge"
        raise InvalidInput("penalty", found, "give one of l1, or weights of a given sum")
