"""The fast masters by Newton's method: hinge and smooth losses, and squares, with a squared l2 or an l1 penalty."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from cvxens import validation
from cvxens.colgen.protocols import Column, MasterSolution, Priced, relative_gap
from cvxens.colgen.restricted import SHARE, FastMaster, InexactTolerance, Needs, stack_dual
from cvxens.docstrings import documented
from cvxens.limits import Pace, TimeUp
from cvxens.problems.duality import Edges, row_sizes
from cvxens.problems.formulation import Formulation
from cvxens.solvers.least_squares import ByColumns, ByInverse, BySamples
from cvxens.solvers.newton import Iterate, SmoothProblem
from cvxens.solvers.proximal_hinge import HingePoint, ProximalHinge
from cvxens.solvers.proximal_l1 import Hessian, SparsePoint, SparseProblem
from cvxens.solvers.proximal_rows import SOLVED, RowProblem
from cvxens.types import Array, Point

MAX_STEPS = 100
"""Proximal Newton steps of a round; from warm starts a handful is usual."""

OF_GAP = 0.1
"""The accuracy of the models of `RowMaster`, as a share of the gap that is allowed: about what they leave of it."""


class NewtonMaster(FastMaster, ABC):
    """A master by Newton's method, warm-started, which solves a round as far as the columns found last warrant.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        Labels -1 and +1.
    tol : float
        Relative duality gap of the restricted problem, recomputed, at which a solution is exact.
    share : float
        Of what the last columns found can gain, down to which the problem is solved otherwise; 0 for exact solutions
        in every round.
    """

    def __init__(self, formulation: Formulation, y: Array, *, tol: float, share: float) -> None:
        super().__init__(formulation, y)
        self.tolerance = InexactTolerance(self.penalty, tol, share)

    @abstractmethod
    def minimise(self, tol: float) -> Point:
        """Return a point of the restricted problem whose relative gap is at most `tol`, if it can."""

    def solve(self) -> MasterSolution:
        if self.restricted.n_columns == 0:
            return self.restricted.start()
        point = self.minimise(self.tolerance.next(self.restricted.n_columns))
        return replace(self.restricted.evaluate(point), exact=self.tolerance.is_exact)

    def bound(self, solution: MasterSolution, priced: Priced) -> float:
        self.tolerance.learn(solution, priced)
        return super().bound(solution, priced)


@documented
class HingeMaster(NewtonMaster):
    """LL08 P1, SL (1) over the columns found so far, warm-started from the last round's multipliers and weights.

    `ProximalHinge` solves it. Dual coordinate descent, as in liblinear, needs many passes over the samples where C is
    large; the proximal steps are Newton's, exact in the intercept, and cost a few products with H each. The two are
    timed side by side in `benchmarks/hinge_masters.py`.

    Parameters
    ----------
    formulation : Formulation
        A loss of hinges, also of regression, with a squared l2 penalty, with or without an intercept, w free or w >= 0.
    """

    source = "LL08 P1; SL (1), line 6 of Algorithm 1"
    needs = (Needs("linear_dual", "ridge"),)

    def __init__(self, formulation: Formulation, y: Array, *, tol: float = 1e-9, share: float = SHARE) -> None:
        super().__init__(formulation, y, tol=tol, share=share)
        self.stack = stack = stack_dual(formulation, y)
        # w = unit v makes of min ridge/2 |w|^2 + prices'max(0, knots - z) the same of v, at prices / unit; and a margin
        # m that is to reach its gain is one of m + 1 - gain that is to reach 1
        labels = stack.repeat(y)
        prices, offset = stack.upper / stack.unit, labels * (1 - stack.gains)
        self.solver = ProximalHinge(
            labels, prices, self.penalty.ridge, formulation.intercept, tol, offset, formulation.nonnegative
        )
        self.point = HingePoint.zero(len(labels))

    @classmethod
    def supports(cls, formulation: Formulation) -> bool:
        return super().supports(formulation) and cast(Any, formulation.terms[0]).linear_dual.is_separable

    def minimise(self, tol: float) -> Point:
        unit, n_copies = self.stack.unit, len(self.stack.signs)
        rows = self.restricted.H.T if n_copies == 1 else np.tile(self.restricted.H.T, n_copies)
        self.point = replace(self.solver, tol=tol).solve(rows, self.point)
        b, u = np.asarray(self.stack.origin + unit * self.point.b), unit * self.stack.fold(self.point.u)
        return {"w": unit * self.point.w, "b": b, "u": u}


def hinge_path(H: Any, y: Any, C: Sequence[float], *, tol: float = 1e-9) -> Iterator[HingePoint]:
    """Solve LL08 P1 over fixed columns for one C after the other, each from the solution of the one before.

    Parameters
    ----------
    H : array-like of shape (n_samples, n_columns)
        H[i, j] = h_j(x_i).
    y : array-like of shape (n_samples,)
        Labels -1 and +1.
    C : sequence of float
        Prices of a unit of slack, above 0, in the order in which to solve; neighbours should be close.
    tol : float
        Relative duality gap at which to stop.

    Yields
    ------
    HingePoint
        Weights, intercept and multipliers, with both objectives recomputed.

    Examples
    --------
    >>> H, y = np.array([[1.0], [-1.0]]), [1.0, -1.0]
    >>> [round(point.primal, 6) for point in hinge_path(H, y, [0.25, 1.0])]
    [0.375, 0.5]
    """
    H, y = validation.finite_array("H", H, ndim=2), validation.signs(y)
    validation.same_length("y", y, len(H))
    rows, point, last = np.ascontiguousarray(H.T), HingePoint.zero(len(y)), 0.0
    for price in validation.finite_array("C", C, ndim=1).tolist():
        prices = np.full(len(y), validation.positive("C", price))
        solver = ProximalHinge(y, prices, 1.0, True, validation.positive("tol", tol))
        # a multiplier at the old bound starts at the new one
        u = np.where(point.u < last * (1 - 1e-12), np.minimum(point.u, price), price)
        point, last = solver.solve(rows, replace(point, u=u) if last else point), price
        yield point


@documented
class SmoothMaster(NewtonMaster):
    """A smooth loss with a squared l2 penalty, warm-started from the last weights.

    At u = -loss'(z) and the best intercept, Fenchel's equality holds between loss and conjugate, so the duality gap
    of the restricted problem is that of the penalty, |ridge w - edges|^2 / (2 ridge) where w is free, and Newton's
    method stops on it.

    Parameters
    ----------
    formulation : Formulation
        A loss that has a `curvature` (exponential, logistic, Huber's, counts, ..., or your own) of one score a sample,
        with a squared l2 penalty, with or without an intercept, w free or w >= 0.
    """

    source = "KIE06 (14)"
    needs = (Needs("curvature", "ridge", several=False),)

    def __init__(self, formulation: Formulation, y: Array, *, tol: float = 1e-11, share: float = SHARE) -> None:
        super().__init__(formulation, y, tol=tol, share=share)
        start = self.restricted.start()
        self.w, self.b = start.w, float(start.b)

    def minimise(self, tol: float) -> Point:
        rows, y, loss, penalty = self.restricted.H.T, self.restricted.y, self.loss, self.penalty
        w = np.concatenate([self.w, np.zeros(len(rows) - len(self.w))])
        intercept = self.restricted.formulation.intercept
        nonnegative = self.restricted.formulation.nonnegative
        problem = SmoothProblem(
            rows, y, penalty.ridge, intercept, loss.multipliers, loss.curvature, nonnegative=nonnegative
        )
        at = problem.minimise(Iterate(w, self.b, w @ rows), lambda w, z, _: tol * (loss.value(z) + penalty.value(w)))
        self.w, self.b = at.w, at.b
        return {"w": at.w, "b": np.asarray(at.b), "u": loss.multipliers(y * (at.f + at.b))}


@dataclass(frozen=True)
class _State:
    """A point with U = -loss'(z), the edges H'(y U), the objective, and the duality gap of the restricted problem."""

    point: SparsePoint
    U: Array
    edges: Array
    objective: float
    gap: float


class ProximalMaster(NewtonMaster, ABC):
    """A master by proximal Newton steps for a smooth loss, warm-started from the last weights.

    At u = -loss'(z), scaled until no edge exceeds what the penalty allows, is the bound whose gap stops the search.
    """

    def __init__(self, formulation: Formulation, y: Array, *, tol: float = 1e-9, share: float = SHARE) -> None:
        super().__init__(formulation, y, tol=tol, share=share)
        start = self.restricted.start()
        self.W, self.b = start.w.reshape(0, formulation.outputs or 1), np.ravel(start.b)

    @abstractmethod
    def state_problem(self) -> SparseProblem | RowProblem:
        """Return the problem over the columns so far, which takes steps."""

    @abstractmethod
    def summarise(self, edges: Array) -> Edges:
        """Return what the penalty needs to know of the edges of the columns so far."""

    def bound_found(self, solution: MasterSolution, priced: Priced) -> float:
        """Bound the optimum over the columns so far and those found last."""
        best, squares = priced.best_edge, sum(column.edge**2 for column in priced.columns)
        return self.restricted.bound(solution, Priced(priced.columns, best, squares, best))

    def add(self, columns: Sequence[Column]) -> None:
        added = self.restricted.add(columns)
        self.W = np.vstack([self.W, np.zeros((len(added), self.W.shape[1]))])

    def minimise(self, tol: float) -> Point:
        """Step from the last round's weights until the gap is allowed, or neither it nor the objective falls."""
        problem, pace = self.state_problem(), Pace()
        at = self._evaluate(SparsePoint(self.W, self.b, problem.rows.T @ self.W + self.b))
        for _ in range(MAX_STEPS):
            if at.gap <= tol * abs(at.objective) or not pace.allows_step():
                break
            ahead = self._evaluate(problem.step(at.point, at.U, at.edges))
            if ahead.objective >= at.objective and ahead.gap >= at.gap:
                break
            at = ahead
        self.W, self.b = at.point.W, at.point.b
        outputs = self.restricted.problem.outputs
        w, u = self.W.reshape(-1, *outputs), at.U.reshape(-1, *outputs)
        return {"w": w, "b": self.b.reshape(outputs), "u": u}

    def bound(self, solution: MasterSolution, priced: Priced) -> float:
        """Bound the optimum over all hypotheses; the next round is allowed a share of the gap to the ones found."""
        self.tolerance.gap = relative_gap(solution.objective, self.bound_found(solution, priced))
        return self.restricted.bound(solution, priced)

    def _evaluate(self, point: SparsePoint) -> _State:
        """Evaluate a point, and the bound from its multipliers."""
        problem, y, loss = self.restricted.problem, self.restricted.y, self.loss
        z = (y.reshape(-1, 1) * point.F).reshape(-1, *problem.outputs)
        u = loss.multipliers(z)
        edges = problem.H.edges(y * u)
        objective = loss.value(z) + self.penalty.value(point.W.reshape(-1, *problem.outputs))
        repaired = loss.repair(u, y if problem.intercept else None)
        gap = objective - problem.bound(
            repaired, self.summarise(problem.H.edges(y * repaired) if problem.intercept else edges)
        )
        return _State(point, u.reshape(point.F.shape), edges.reshape(point.W.shape), objective, gap)


@documented
class SparseMaster(ProximalMaster):
    """A smooth loss with an l1 penalty or an elastic net, w free or w >= 0, warm-started from the last weights.

    At u = -loss'(z), scaled until no edge exceeds the weight of the penalty, is the dual bound whose gap stops the
    search.

    Parameters
    ----------
    formulation : Formulation
        A loss that has a `curvature`, or on several scores a `hessian`, with an l1 penalty; of one score also with
        ``sum_j size |w_j| + square |w_j|^2``.
    y : ndarray of shape (n_samples,) or (n_samples, 1)
        Labels -1 and +1; a column of ones for several outputs.
    share : float
        Of the gap to the bound from the columns found last, down to which the problem is solved otherwise; 0 for exact
        solutions in every round.
    """

    source = "Lee, Sun & Saunders 2014"
    needs = (
        Needs("curvature", "edge_limit"),
        Needs("hessian", "edge_limit"),
        Needs("curvature", "entry_sizes", several=False),
    )

    def state_problem(self) -> SparseProblem:
        formulation, outputs, loss = self.restricted.formulation, self.restricted.problem.outputs, self.loss
        size, square = self.penalty.entry_sizes or (self.penalty.edge_limit, 0.0)
        return SparseProblem(
            self.restricted.H.T,
            self.restricted.y.reshape(-1, 1),
            size,
            formulation.nonnegative,
            formulation.intercept,
            loss=lambda z: loss.value(z.reshape(-1, *outputs)),
            hessian=find_hessian(loss),
            square=square,
        )

    def summarise(self, edges: Array) -> Edges:
        # -loss*(-t u) at the t for which the largest edge is the slope of an l1 penalty; no column is outside
        sizes = edges if self.restricted.formulation.nonnegative else np.abs(edges)
        return Edges(float(sizes.max()), np.inf, lambda: sizes, -np.inf)


@documented
class RowMaster(ProximalMaster):
    """A smooth loss with a group lasso whose groups are hypotheses, or an elastic net, of free w; warm-started.

    Parameters
    ----------
    formulation : Formulation
        A loss that has a `curvature`, of one or several scores, with a penalty ``sum_j size |w_j| + square |w_j|^2`` on
        the 2-norms of the weights of hypotheses.
    y : ndarray of shape (n_samples,) or (n_samples, 1)
        Labels -1 and +1; a column of ones for several outputs.
    share : float
        Of the gap to the bound from the columns found last, down to which the problem is solved otherwise; 0 for exact
        solutions in every round.
    """

    source = "Qin, Scheinberg & Goldfarb 2013"
    needs = (
        Needs("curvature", "row_sizes", nonnegative=False),
        Needs("curvature", "entry_sizes", nonnegative=False, several=False),
    )

    def state_problem(self) -> RowProblem:
        outputs, loss, penalty = self.restricted.problem.outputs, self.loss, self.penalty
        size, square = penalty.row_sizes or penalty.entry_sizes
        shape = (-1, self.W.shape[1])
        return RowProblem(
            self.restricted.H.T,
            self.restricted.y.reshape(-1, 1),
            size,
            square,
            self.restricted.formulation.intercept,
            loss=lambda z: loss.value(z.reshape(-1, *outputs)),
            curvature=lambda U: loss.curvature(U.reshape(-1, *outputs)).reshape(shape),
            accuracy=max(SOLVED, OF_GAP * self.tolerance.last),
        )

    def summarise(self, edges: Array) -> Edges:
        sizes = np.abs(edges)
        largest = float(row_sizes(edges, self.penalty.row_norm).max())
        return Edges(largest, float((edges**2).sum()), lambda: sizes, -np.inf)


def find_hessian(loss: Any) -> Hessian:
    """Return the loss's own second derivatives in the weights, or X diag(phi''(z)) X' of each output by itself."""

    def sum_curvatures(U: Array, X: Array, outputs: NDArray[np.intp]) -> Array:
        D = loss.curvature(U[:, 0] if U.shape[1] == 1 else U).reshape(U.shape)
        B = (X * D.T[outputs]) @ X.T
        return B if U.shape[1] == 1 else B * np.equal.outer(outputs, outputs)

    return loss.hessian or sum_curvatures


class LeastSquaresMaster(FastMaster):
    """SL (10), all outputs at once, by equations of size min(n_columns, n_samples).

    By columns they are ``(G'G + weight/C I) W = G'L``, G the columns less their means, with a Cholesky factor that
    grows by the rows of the new columns; once there are more columns than samples, they are SL (11). The intercept is
    ``b = mean(L - H W)`` and ``U = C (L - H W - 1 b')``, so 1'U = 0 by construction. Prices C_i of the samples weigh
    means and squares.

    With `inverse`, as SL has it, S^-1 is updated by SL (20): at one column a round in an eighth of the time (2,000
    columns over 200 samples, or 1,000 over 500), with weights that are off by about 2e-13 C, relative, by then.

    Parameters
    ----------
    formulation : Formulation
        Squared error with a squared l2 penalty and an intercept, of any number of outputs.
    y : ndarray of shape (n_samples, 1)
        A column of ones.
    inverse : bool
        True for the updated inverse of SL (20), in memory for n_samples^2 numbers.
    """

    source = "SL (11), (20)"
    needs = (Needs("targets", "ridge", nonnegative=False, intercept=True),)

    def __init__(self, formulation: Formulation, y: Array, *, inverse: bool = False) -> None:
        super().__init__(formulation, y)
        self.pace = Pace()
        # prices with the mean 1: 1/2 sum_i v_i |r_i|^2 + ridge/2 |W|^2
        price = float(np.mean(self.loss.prices))
        targets, prices = self.loss.targets.reshape(len(y), -1), np.full(len(y), self.loss.prices.ravel() / price)
        problem = targets, self.penalty.ridge / price, prices
        self.by_columns, self.by_samples = ByColumns(*problem), BySamples(*problem)
        self.by_inverse = ByInverse(*problem) if inverse else None

    def solve(self) -> MasterSolution:
        """Grow the equations by the new columns and solve them; a TimeUp where that may take longer than is left."""
        if self.restricted.n_columns == 0:
            return self.restricted.start()
        if not self.pace.allows_step():
            raise TimeUp
        H = self.restricted.H
        W = (self.by_inverse or (self.by_columns if H.shape[1] <= len(H) else self.by_samples)).weights(H.T)
        W = W.reshape(-1, *self.restricted.problem.outputs)
        scores = H @ W
        b = self.loss.best_intercept(scores, self.restricted.y)
        return self.restricted.evaluate({"w": W, "b": b, "u": self.loss.multipliers(scores + b)})
