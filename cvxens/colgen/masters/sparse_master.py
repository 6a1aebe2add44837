"""The fast master of smooth losses with an l1 penalty: proximal Newton steps from the last weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from cvxens.colgen.masters.allowance import SHARE, Allowance
from cvxens.colgen.masters.smooth_master import CURVATURES
from cvxens.colgen.masters.sparse_newton import SparsePoint, SparseProblem
from cvxens.colgen.protocols import Column, MasterSolution, Priced
from cvxens.colgen.restricted import Restricted
from cvxens.colgen.stopping import relative_gap
from cvxens.deadline import Pace
from cvxens.errors import InvalidInput
from cvxens.problems.duality import Edges
from cvxens.problems.formulation import Formulation
from cvxens.problems.losses import MulticlassExponential
from cvxens.problems.penalties import L1
from cvxens.types import Array

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
        loss, penalty = problem.loss, problem.penalty
        z = (y.reshape(-1, 1) * point.F).reshape(-1, *problem.outputs)
        u = loss.multipliers(z)
        edges = problem.H.edges(y * u)
        objective = loss.value(z) + penalty.value(point.W)
        repaired = loss.repair(u, y if problem.intercept else None)
        repaired_edges = problem.H.edges(y * repaired) if problem.intercept else edges
        largest = float((repaired_edges if problem.nonnegative else np.abs(repaired_edges)).max())
        gap = objective - problem.bound(repaired, Edges(largest, np.inf))
        return _State(point, u.reshape(point.F.shape), edges.reshape(point.W.shape), objective, gap)
