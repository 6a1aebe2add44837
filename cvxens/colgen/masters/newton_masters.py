"""The fast masters by Newton's method: hinge and smooth losses with a squared l2 or an l1 penalty."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from cvxens import validation
from cvxens.colgen.protocols import Column, MasterSolution, Priced, relative_gap
from cvxens.colgen.restricted import Restricted
from cvxens.deadline import Pace
from cvxens.errors import InvalidInput
from cvxens.problems.duality import Edges
from cvxens.problems.formulation import Formulation
from cvxens.problems.losses import Exponential, Hinge, Logistic, MulticlassExponential, SquaredHinge
from cvxens.problems.penalties import L1, Penalty, SquaredL2
from cvxens.solvers.newton import Iterate, SmoothProblem
from cvxens.solvers.proximal_hinge import HingePoint, ProximalHinge
from cvxens.solvers.proximal_l1 import SparsePoint, SparseProblem
from cvxens.types import Array

SHARE = 0.1
"""Of what new columns can gain; between 0.3 and 0.02 runs take about as long."""

COARSE = 1e-3
"""The largest gap: limits may end a run in any round, and then its weights are the last ones."""

FINE = 1e-4
"""The gap after columns that were not priced before, and the share of the last gap where nothing new has come."""


class Allowance:
    """The relative gap at which a master may leave its restricted problem.

    Until the columns are good, their exact weights are not wanted: a share of what the last columns found can gain at
    most will do, and the run's own tolerance plays no part. So a run goes the same way to any tolerance.

    Parameters
    ----------
    penalty : Penalty
        Of the formulation; its conjugate says what columns can gain.
    tol : float
        The gap at which a solution counts as exact, above 0.
    share : float
        Of what columns can gain, in [0, 1); 0 for exact solutions in every round.

    Examples
    --------
    >>> from cvxens.problems.penalties import SquaredL2
    >>> Allowance(SquaredL2(), 1e-9, 0.1).of(1)
    1e-09
    """

    def __init__(self, penalty: Penalty, tol: float, share: float) -> None:
        self.penalty = penalty
        self.tol = validation.positive("tol", tol)
        if not 0 <= validation.number("share", share) < 1:
            raise InvalidInput("share", f"found {share!r}", "give a number from 0 up to, but below, 1")
        self.share = share
        self.n_columns = 0
        self.gap = 0.0
        self.n_found = 0
        self.last = self.tol

    def of(self, n_columns: int) -> float:
        """The gap that is allowed now; asked again with nothing new, it is smaller."""
        new = n_columns - self.n_columns
        limit = FINE * self.last if new == 0 else FINE if new > self.n_found else COARSE
        self.n_columns, self.last = n_columns, max(self.tol, min(self.share * self.gap, limit))
        return self.last

    @property
    def exact(self) -> bool:
        """Whether the last one was `tol`."""
        return self.last == self.tol

    def learn(self, solution: MasterSolution, priced: Priced) -> None:
        """Learn what the columns found under a solution can gain beyond its own gap."""
        edges = [column.edge for column in priced.columns]
        self.n_found = len(edges)
        gain = self.penalty.conjugate(Edges(priced.best_edge, sum(edge**2 for edge in edges)))
        self.gap = relative_gap(solution.objective, (1 - self.last) * solution.objective - gain)


class HingeMaster:
    """LL08 P1, SL (1) over the columns found so far, warm-started from the last round's multipliers and weights.

    `ProximalHinge` solves it. Dual coordinate descent, as in liblinear, needs many passes over the samples where C is
    large; the proximal steps are Newton's, exact in the intercept, and cost a few products with H each. The two are
    timed side by side in `benchmarks/hinge_masters.py`.

    Parameters
    ----------
    formulation : Formulation
        Hinge loss with a squared l2 penalty and free w, with or without an intercept.
    y : ndarray of shape (n_samples,)
        Labels -1 and +1.
    tol : float
        Relative duality gap of the restricted problem, recomputed, at which a solution is exact.
    share : float
        Of what the last columns found can gain, down to which the problem is solved otherwise; 0 for exact solutions
        in every round.
    """

    source = "SL (1)"

    def __init__(self, formulation: Formulation, y: Array, *, tol: float = 1e-9, share: float = SHARE) -> None:
        if not self.supports(formulation):
            raise InvalidInput(
                "master",
                f"found HingeMaster for {formulation}",
                "give it Hinge + SquaredL2 with free w; or use CvxpyMaster",
            )
        self.restricted = Restricted(formulation, y)
        loss, penalty = cast(tuple[Hinge, SquaredL2], formulation.terms)
        self.allowance = Allowance(penalty, tol, share)
        self.solver = ProximalHinge(y, np.full(len(y), loss.C), penalty.weight, formulation.intercept, tol)
        self.point = HingePoint.zero(len(y))

    @staticmethod
    def supports(formulation: Formulation) -> bool:
        """Whether it is hinge loss and a squared l2 penalty with free w."""
        loss, penalty = formulation.terms
        return isinstance(loss, Hinge) and isinstance(penalty, SquaredL2) and not formulation.nonnegative

    def add(self, columns: Sequence[Column]) -> None:
        """Store the columns; their weights start at 0."""
        self.restricted.add(columns)

    def solve(self) -> MasterSolution:
        """Solve from the last round's point, as far as the columns found last warrant."""
        if self.restricted.n_columns == 0:
            return self.restricted.start()
        solver = replace(self.solver, tol=self.allowance.of(self.restricted.n_columns))
        self.point = solver.solve(self.restricted.H.T, self.point)
        solution = self.restricted.evaluate({"w": self.point.w, "b": np.asarray(self.point.b), "u": self.point.u})
        return replace(solution, exact=self.allowance.exact)

    def bound(self, solution: MasterSolution, priced: Priced) -> float:
        """Bound the optimum over all hypotheses; the next solution is as good as the columns found warrant."""
        self.allowance.learn(solution, priced)
        return self.restricted.bound(solution, priced)


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


CURVATURES: Mapping[type, Callable[[Any, Array], Array]] = {
    Exponential: lambda _, u: u,
    Logistic: lambda C, u: u * (1 - u / C),
    SquaredHinge: lambda C, u: np.where(u > 0, C, 0.0),
}
"""phi'' of each loss C phi as a function of C and of u = -C phi'."""


class SmoothMaster:
    """Exponential, logistic or squared hinge loss with a squared l2 penalty, warm-started from the last weights.

    At u = -loss'(z) and the best intercept, Fenchel's equality holds between loss and conjugate, so the duality gap
    of the restricted problem is |weight w - edges|^2 / (2 weight) and Newton's method stops on it.

    Parameters
    ----------
    formulation : Formulation
        One of these losses with a squared l2 penalty and free w, with or without an intercept.
    y : ndarray of shape (n_samples,)
        Labels -1 and +1.
    tol : float
        Relative duality gap of the restricted problem, at which a solution is exact.
    share : float
        Of what the last columns found can gain, down to which the problem is solved otherwise; 0 for exact solutions
        in every round.
    """

    source = "KIE06 (14)"

    def __init__(self, formulation: Formulation, y: Array, *, tol: float = 1e-11, share: float = SHARE) -> None:
        if not self.supports(formulation):
            raise InvalidInput(
                "master",
                f"found SmoothMaster for {formulation}",
                "give it Exponential, Logistic or SquaredHinge with SquaredL2 and free w; or use CvxpyMaster",
            )
        self.restricted = Restricted(formulation, y)
        self.allowance = Allowance(formulation.terms[1], tol, share)
        start = self.restricted.start()
        self.w, self.b = start.w, float(start.b)

    @staticmethod
    def supports(formulation: Formulation) -> bool:
        """Whether it is one of the smooth losses and a squared l2 penalty with free w."""
        loss, penalty = formulation.terms
        return type(loss) in CURVATURES and isinstance(penalty, SquaredL2) and not formulation.nonnegative

    def add(self, columns: Sequence[Column]) -> None:
        """Store the columns; their weights start at 0."""
        self.restricted.add(columns)

    def solve(self) -> MasterSolution:
        """Solve from the last round's weights, as far as the columns found last warrant."""
        if self.restricted.n_columns == 0:
            return self.restricted.start()
        rows = self.restricted.H.T
        w = np.concatenate([self.w, np.zeros(len(rows) - len(self.w))])
        gap = self.allowance.of(len(rows))
        at = self._problem(rows).minimise(Iterate(w, self.b, w @ rows), lambda w, z, _: gap * self._value(w, z))
        self.w, self.b = at.w, at.b
        u = self.restricted.formulation.terms[0].multipliers(self.restricted.y * (at.f + at.b))
        solution = self.restricted.evaluate({"w": at.w, "b": np.asarray(at.b), "u": u})
        return replace(solution, exact=self.allowance.exact)

    def bound(self, solution: MasterSolution, priced: Priced) -> float:
        """Bound the optimum over all hypotheses; the next solution is as good as the columns found warrant."""
        self.allowance.learn(solution, priced)
        return self.restricted.bound(solution, priced)

    def _problem(self, rows: Array) -> SmoothProblem:
        formulation = self.restricted.formulation
        loss, penalty = cast(tuple[Logistic, SquaredL2], formulation.terms)
        curvature, C = CURVATURES[type(loss)], loss.C
        return SmoothProblem(
            rows,
            self.restricted.y,
            penalty.weight,
            formulation.intercept,
            multipliers=loss.multipliers,
            curvature=lambda u: curvature(C, u),
        )

    def _value(self, w: Array, z: Array) -> float:
        loss, penalty = self.restricted.formulation.terms
        return loss.value(z) + penalty.value(w)


MAX_STEPS = 100


def of_margins(loss: Any, U: Array, X: Array, _: NDArray[np.intp]) -> Array:
    """X diag(phi''(z)) X' for one margin per sample."""
    D = CURVATURES[type(loss)](loss.C, U[:, 0])
    return (X * D) @ X.T


def of_classes(loss: MulticlassExponential, U: Array, X: Array, outputs: NDArray[np.intp]) -> Array:
    """The sum over the pairs of v_ik (e_{y_i} - e_k)(e_{y_i} - e_k)' between the outputs, times h(x_i) h'(x_i)."""
    v = loss.pairs(U)
    B = np.zeros((len(X), len(X)))
    for c in range(loss.n_classes):
        mine, at = np.flatnonzero(outputs == c), loss.labels == c
        own = X[mine]
        B[np.ix_(mine, mine)] += (own * np.where(at, v.sum(axis=1), v[:, c])) @ own.T
        crossed = (X[:, at] * v[at].T[outputs]) @ own[:, at].T
        B[:, mine] -= crossed
        B[mine] -= crossed.T
    return B


HESSIANS: Mapping[type, Callable[[Any, Array, Array, NDArray[np.intp]], Array]] = {
    **dict.fromkeys(CURVATURES, of_margins),
    MulticlassExponential: of_classes,
}
"""The second derivatives of each loss, in the weights of columns X (n_active, n_samples) for given outputs."""


@dataclass(frozen=True)
class _State:
    """A point with -loss'(z), H'(y U), the objective, and the duality gap of the restricted problem."""

    point: SparsePoint
    U: Array
    edges: Array
    objective: float
    gap: float


class SparseMaster:
    """A smooth loss with an l1 penalty, w free or w >= 0, warm-started from the last weights.

    At u = -loss'(z), scaled until no edge exceeds the weight of the penalty, is the dual bound whose gap stops the
    search.

    Parameters
    ----------
    formulation : Formulation
        Exponential, Logistic, SquaredHinge or MulticlassExponential with L1.
    y : ndarray of shape (n_samples,) or (n_samples, 1)
        Labels -1 and +1; a column of ones for several outputs.
    tol : float
        Relative duality gap of the restricted problem, at which a solution is exact.
    share : float
        Of the gap to the bound from the columns found last, down to which the problem is solved otherwise; 0 for exact
        solutions in every round.
    """

    source = "Lee, Sun & Saunders 2014"

    def __init__(self, formulation: Formulation, y: Array, *, tol: float = 1e-9, share: float = SHARE) -> None:
        if not self.supports(formulation):
            raise InvalidInput(
                "master",
                f"found SparseMaster for {formulation}",
                f"give it {', '.join(loss.__name__ for loss in HESSIANS)} with L1; or use CvxpyMaster",
            )
        self.restricted = Restricted(formulation, y)
        self.allowance = Allowance(formulation.terms[1], tol, share)
        start = self.restricted.start()
        self.W, self.b = start.w.reshape(0, formulation.outputs or 1), float(start.b.sum())

    @staticmethod
    def supports(formulation: Formulation) -> bool:
        """Whether it is one of the smooth losses and an l1 penalty."""
        loss, penalty = formulation.terms
        return type(loss) in HESSIANS and isinstance(penalty, L1)

    def add(self, columns: Sequence[Column]) -> None:
        """Store the columns; their weights start at 0."""
        added = self.restricted.add(columns)
        self.W = np.vstack([self.W, np.zeros((len(added), self.W.shape[1]))])

    def solve(self) -> MasterSolution:
        """Solve from the last round's weights."""
        if self.restricted.n_columns == 0:
            return self.restricted.start()
        at = self._solved()
        self.W, self.b = at.point.W, at.point.b
        outputs = self.restricted.problem.outputs
        w, u = self.W.reshape(-1, *outputs), at.U.reshape(-1, *outputs)
        solution = self.restricted.evaluate({"w": w, "b": np.full(outputs, self.b), "u": u})
        return replace(solution, exact=self.allowance.exact)

    def bound(self, solution: MasterSolution, priced: Priced) -> float:
        """Bound the optimum over all hypotheses; the next solution is as good as the columns found warrant."""
        best = self.restricted.problem.bound(solution.u, Edges(priced.best_edge, np.inf))
        self.allowance.gap = relative_gap(solution.objective, best)
        return self.restricted.bound(solution, priced)

    def _solved(self) -> _State:
        """Step until the gap is within what is allowed, or neither it nor the objective falls any more."""
        problem, allowed = self._problem(), self.allowance.of(self.restricted.n_columns)
        at = self._at(SparsePoint(self.W, self.b, problem.rows.T @ self.W + self.b))
        pace = Pace()
        for _ in range(MAX_STEPS):
            if at.gap <= allowed * at.objective or not pace.allows_step():
                break
            ahead = self._at(problem.step(at.point, at.U, at.edges))
            if ahead.objective >= at.objective and ahead.gap >= at.gap:
                break
            at = ahead
        return at

    def _problem(self) -> SparseProblem:
        formulation = self.restricted.formulation
        loss, penalty = cast(tuple[MulticlassExponential, L1], formulation.terms)
        outputs = self.restricted.problem.outputs
        return SparseProblem(
            self.restricted.H.T,
            self.restricted.y.reshape(-1, 1),
            penalty.weight,
            formulation.nonnegative,
            formulation.intercept,
            loss=lambda z: loss.value(z.reshape(-1, *outputs)),
            hessian=partial(HESSIANS[type(loss)], loss),
        )

    def _at(self, point: SparsePoint) -> _State:
        """Evaluate a point, and the bound from its multipliers, scaled until no edge inside exceeds the penalty's."""
        problem, y = self.restricted.problem, self.restricted.y
        loss, penalty = problem.loss(), problem.penalty()
        z = (y.reshape(-1, 1) * point.F).reshape(-1, *problem.outputs)
        u = loss.multipliers(z)
        edges = problem.H.edges(y * u)
        objective = loss.value(z) + penalty.value(point.W)
        repaired = loss.repair(u, y if problem.intercept else None)
        repaired_edges = problem.H.edges(y * repaired) if problem.intercept else edges
        largest = float((repaired_edges if problem.nonnegative else np.abs(repaired_edges)).max())
        gap = objective - problem.bound(repaired, Edges(largest, np.inf))
        return _State(point, u.reshape(point.F.shape), edges.reshape(point.W.shape), objective, gap)
