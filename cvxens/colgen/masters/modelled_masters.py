"""Masters of formulations as they are modelled: any by cvxpy's solvers, the reference; conic forms by Clarabel."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

from cvxens.colgen.protocols import MasterSolution, Priced, relative_gap
from cvxens.colgen.restricted import FastMaster, Needs
from cvxens.errors import InvalidInput, NotSeparable, SolverFailed
from cvxens.problems import Formulation, Problem
from cvxens.problems.cones import Cones
from cvxens.problems.conic import ACCURACY, ConicForm, ConicFunction, solve_cones
from cvxens.problems.duality import Edges, edge_rounding
from cvxens.problems.expressions import ROOMS, canonicalise_penalty
from cvxens.problems.modelling import Model, cp, solve_model
from cvxens.rounding import TINY
from cvxens.solvers.differences import Differences
from cvxens.types import Array, Indices, Solution


class CvxpyMaster(FastMaster):
    """Solves the restricted problem of any formulation with the chain of cvxpy's solvers.

    Parameters
    ----------
    formulation : Formulation
        Any.
    y : ndarray of shape (n_samples,) or (n_samples, 1)
        Signs of the margins; a column of ones for scores of several outputs.
    solver : str or None
        A solver to use and no other; None for the chain.
    **options
        Passed to the solver.
    """

    source = "cvxpy"

    def __init__(self, formulation: Formulation, y: Array, *, solver: str | None = None, **options: Any) -> None:
        super().__init__(formulation, y)
        self.solver = solver
        self.options = options

    def solve(self) -> MasterSolution:
        """Model and solve; where no margins of 1 can be reached yet, return the Farkas vector to price with."""
        if self.restricted.n_columns == 0:
            return self._start()
        if (wider := self.restricted.widen()) is not None:
            return wider
        sided = self.loss.model_violation is not None
        try:
            solution = self.restricted.problem.solve(self.solver, **self.options)
        except NotSeparable as proof:
            return self._lower_violation() if sided else self.restricted.farkas(proof.farkas)
        except SolverFailed as failure:
            if sided and failure.attempts[0].status == "infeasible":
                return self._lower_violation()
            raise
        found = self.restricted.evaluate({**_read_weights(solution), **solution.duals})
        if self.restricted.is_mended:
            # constraints hold to a solver's digits only: tighter ones by more than these are met with the weights
            formulation = replace(self.restricted.formulation, loss=self.loss.tighten())
            tighter = Problem(formulation, self.restricted.H, self.restricted.y)
            with suppress(SolverFailed, NotSeparable):
                weights = _read_weights(tighter.solve(self.solver, **self.options))
                return self.restricted.evaluate({**weights, "u": found.u})
        return found

    def _lower_violation(self) -> MasterSolution:
        """Minimise the violation of side constraints: its multipliers u have ``u'z`` above 0 wherever these hold."""
        formulation, y, H = self.restricted.formulation, self.restricted.y, self.restricted.H
        w, b = cp.Variable(H.shape[1], nonneg=formulation.nonnegative), cp.Variable()
        z = cp.Variable(len(y))
        link = z == cp.multiply(y, H @ w + b if formulation.intercept else H @ w)
        violated = cp.Problem(cp.Minimize(self.loss.model_violation(z)), [link])
        return self.restricted.farkas(solve_model(Model(violated, {}, {"u": (link, 1.0)}), None, {}).duals["u"])

    def _start(self) -> MasterSolution:
        """Return the point to price with before there are columns, or say what keeps it from being found."""
        formulation, y = self.restricted.formulation, self.restricted.y
        # what is not convex is named before anything is solved
        _ = Problem(formulation, np.zeros((len(y), 1)), y).problem
        try:
            return self.restricted.start()
        except SolverFailed as failure:
            if formulation.constraints is None or failure.attempts[0].status != "infeasible":
                raise
            found = "found no constant score that satisfies them"
            raise InvalidInput("constraints", found, "give some that hold for a constant score b, or 0") from failure


def _read_weights(solution: Solution) -> dict[str, Array]:
    """Return weights, and the intercept where there is one."""
    return {name: solution.variables[name] for name in ("w", "b") if name in solution.variables}


class ConicMaster(FastMaster):
    """A loss given as an expression, or under constraints, with any penalty whose conjugate is known.

    The rows of the loss are canonicalised once, those of the penalty in every round; the link of margins and weights is
    added to them, and the multipliers of the loss's rows are the beginning of its proof. Where no weights on the
    columns so far satisfy the constraints, phase 1 takes the least violation for the objective: its multipliers price
    columns that lower it, and where there are none they prove that no weights do (Farkas).

    Parameters
    ----------
    formulation : Formulation
        Such a loss and penalty.
    y : ndarray of shape (n_samples,) or (n_samples, 1)
        Signs of the margins; ones for scores.
    """

    source = "Clarabel"
    needs = (Needs("conic", "model"),)

    def __init__(self, formulation: Formulation, y: Array) -> None:
        super().__init__(formulation, y)
        # what is not convex, or named twice, is named before anything is solved
        _ = Problem(formulation, np.zeros((len(y), 1)), y).problem
        self.outputs = self.restricted.outputs
        self.balanced = y if formulation.intercept else None
        self.n_shifts = prod(self.outputs) if formulation.intercept else 0
        self.conic: ConicFunction = self.loss.conic((len(y), *self.outputs))
        self.gap = 1.0
        """The relative gap to what the columns found last can gain."""
        self.inwards = 0.0
        """The share by which the penalty is lowered, so that edges are within its own limits without u being shrunk."""
        self.total = np.inf
        """The sum of the sizes of the multipliers that were adopted last."""
        self._n_solved = 0

    @classmethod
    def supports(cls, formulation: Formulation) -> bool:
        return super().supports(formulation) and formulation.has_conjugate

    def solve(self) -> MasterSolution:
        """Solve; where no weights satisfy the constraints yet, return multipliers to price with."""
        if self.restricted.n_columns == 0:
            try:
                start = self.restricted.start()
                # no weights at all may be none of the penalty's, as on a simplex: then any column is a step
                if np.isfinite(start.objective) or np.isfinite(self.loss.value(self.restricted.margins(start))):
                    return start
            except SolverFailed as failure:
                if failure.attempts[0].status != "infeasible":
                    raise
            return self._lower_violation()
        if (wider := self.restricted.widen()) is not None:
            return wider
        form, penalty, tol = self.conic.form, self._canonicalise_penalty(), self._next_tolerance()
        found = self._minimise(form, penalty, tol)
        if found.status in {"PrimalInfeasible", "AlmostPrimalInfeasible"}:
            return self._lower_violation()
        n_rows, n_columns = form.A.shape
        proof = None
        if found.solved:
            first = len(form.rows)
            proof = self.conic.adopt(found.dual[first : first + n_rows], found.x[:n_columns], self.balanced)
        if proof is None:
            reference = CvxpyMaster(self.restricted.formulation, self.restricted.y)
            reference.restricted = self.restricted
            return reference.solve()
        self.total = max(float(np.abs(proof.u).sum()), TINY)
        solution = self.restricted.evaluate({**self._read_weights(found.x, n_columns, penalty), "u": proof.u})
        for tighter in self._tighten(found.x, penalty):
            if np.isfinite(solution.objective) and not self.restricted.is_mended:
                break
            # constraints hold to a solver's digits only: tighter ones by more than these are met with the weights
            again = self._minimise(*tighter, tol)
            if again.solved:
                point = self._read_weights(again.x, n_columns, penalty)
                solution = self.restricted.evaluate({**point, "u": proof.u})
        return replace(solution, exact=tol == ACCURACY)

    def _tighten(self, x: Array, penalty: ConicForm) -> Iterator[tuple[ConicForm, ConicForm]]:
        """Yield loss and penalty with tighter constraints, by more and more of their sizes at a solution."""
        if (tighter := self.loss.tighten()) is not self.loss:
            # its limits of 0 stay
            yield tighter.conic(self.conic.shape).form, penalty
            return
        form, n_columns = self.conic.form, len(self.conic.form.c)
        for room in ROOMS[1:]:
            yield form.tighten(x[:n_columns], room), penalty.tighten(x[n_columns : n_columns + len(penalty.c)], room)

    def _minimise(self, form: ConicForm, penalty: ConicForm, tol: float) -> Any:
        """Minimise loss and penalty in conic form to a relative gap."""
        link, of_penalty = self._link(form, penalty), (1 - self.inwards) * penalty.c
        cost = np.concatenate([form.c, of_penalty, np.zeros(link.A.shape[1] - len(form.c) - len(penalty.c))])
        # objective and bound are free of the residuals of other rounds, as both are evaluated anew
        feasibility = ACCURACY if tol == ACCURACY else 1e-6
        return solve_cones(link.A, link.b, cost, link.cones, tol_gap_rel=tol, tol_feas=feasibility)

    def _read_weights(self, x: Array, n_columns: int, penalty: ConicForm) -> dict[str, Array]:
        """Return weights, and the intercept where there is one, of what was minimised over."""
        point = {"w": x[n_columns + penalty.rows].reshape(-1, *self.outputs)}
        if self.balanced is not None:
            point["b"] = x[len(x) - self.n_shifts :].reshape(self.outputs)
        return point

    def bound(self, solution: MasterSolution, priced: Priced) -> float:
        """Bound the optimum over all hypotheses; the next solution is as good as the gap to what was found warrants."""
        found = Edges(priced.best_edge, priced.edge_square_sum)
        gap = relative_gap(solution.objective, self.restricted.problem.bound(solution.u, found))
        self.gap = gap if np.isfinite(gap) else 1.0
        # multipliers of a given sum have no bound once they are shrunk: near the end, others are not to need that
        shrunk = self.restricted.shrink(solution.u, priced)
        missed = 1 - float(np.abs(shrunk).sum()) / self.total
        is_near = solution.exact and abs(missed) < 1e-4
        self.inwards = max(2 * missed, 10 * ACCURACY) if is_near and self.loss.condition(shrunk) else 0.0
        return super().bound(solution, priced)

    def _next_tolerance(self) -> float:
        """Return the relative gap that is allowed now: the least one where nothing is new, or constraints have to hold.

        Weights that miss constraints by a solver's residual have an objective that is too low by as much.
        """
        has_new = self.restricted.n_columns > self._n_solved
        self._n_solved = self.restricted.n_columns
        if not has_new or self.inwards or self.loss.is_constrained(self.conic.shape):
            return ACCURACY
        # until columns are good, their exact weights are not wanted
        return max(ACCURACY, min(0.1, 0.1 * self.gap))

    def _lower_violation(self) -> MasterSolution:
        """Minimise the violation of the loss's rows: its multipliers u have ``u'z`` above 0 wherever these hold."""
        form, penalty = self.conic.form, self._canonicalise_penalty()
        A, b, cones = self._link(form, penalty)
        n_link, n_rows, zero = len(form.rows), len(form.b), form.cones.zero
        # rows of equalities are off by p - q, others are moved into their cones by t
        ones = sparse.eye_array(n_rows, zero)
        relaxed = sparse.hstack([ones, -ones, -sparse.csc_array(form.cones.fill()[:, np.newaxis])])
        n_relaxed = relaxed.shape[1]
        above, below = sparse.csc_array((n_link, n_relaxed)), sparse.csc_array((len(b) - n_link - n_rows, n_relaxed))
        sizes = sparse.hstack([sparse.csc_array((n_relaxed, A.shape[1])), -sparse.eye_array(n_relaxed)])
        rows = sparse.vstack([sparse.hstack([A, sparse.vstack([above, relaxed, below])]), sizes], format="csc")
        cost = np.concatenate([np.zeros(A.shape[1]), np.ones(n_relaxed)])
        right, cones = np.concatenate([b, np.zeros(n_relaxed)]), [*cones, Cones(nonnegative=n_relaxed)]
        found = solve_cones(rows, right, cost, cones)
        proof = None
        if found.solved:
            dual = found.dual[n_link : n_link + n_rows]
            proof = self.loss.domain(self.conic.shape).adopt(dual, found.x[: form.A.shape[1]], self.balanced)
        if proof is None:
            raise SolverFailed([found.attempt])
        u, y, total = proof.u, self.restricted.y, self.penalty.largest_sum
        largest = float(np.abs(self.restricted.H).max(initial=0.0))
        # weights of a largest sum reach u'z of at most that times the largest edge; others reach any with any edge
        least = edge_rounding(len(y), largest) * float(np.abs(u).sum())
        threshold = least if total == np.inf else max(proof.bound, 0.0) / total
        w, b = np.zeros((self.restricted.n_columns, *self.outputs)), np.zeros(self.outputs)
        closed = np.zeros(len(w), dtype=bool) if self.restricted.formulation.nonnegative else None
        return MasterSolution(w, b, u, y * u, np.inf, threshold, closed, row_norm=self.penalty.row_norm)

    def _canonicalise_penalty(self) -> ConicForm:
        """Return the conic form of the penalty of the weights so far, of one where there are none."""
        shape = (max(self.restricted.n_columns, 1), *self.outputs)
        return canonicalise_penalty(self.penalty, shape, self.restricted.formulation.nonnegative).form

    def _link(self, form: ConicForm, penalty: ConicForm) -> _Linked:
        """Stack ``z - y (H w + b) = 0`` on the rows of the loss and of the penalty, with ``H w = D v + t 1``."""
        y, k = self.restricted.y, prod(self.outputs)
        H = self.restricted.H if self.restricted.n_columns else np.zeros((len(y), 1))
        differences, n_link, n_columns = Differences.from_columns(H), len(form.rows), H.shape[1]
        signs = sparse.csc_array(-y.reshape(-1, 1))

        def spread(values: ArrayLike) -> Any:
            # v, w and z are in the order of their rows, outputs within
            return sparse.kron(values, sparse.eye_array(k), format="csc")

        def select(rows: Indices, n_entries: int) -> Any:
            return sparse.csc_array((np.ones(len(rows)), (np.arange(len(rows)), rows)), shape=(len(rows), n_entries))

        # a w - v + (sum over children) = 0 of every column, and t - (sum over children of the root) - b = 0
        children = differences.children
        of_v = spread(sparse.vstack([-children[:1], children[1:] - sparse.eye_array(n_columns)]))
        sizes = sparse.vstack([sparse.csc_array((1, n_columns)), sparse.diags_array(differences.sizes)])
        of_w = spread(sizes) @ select(penalty.rows, len(penalty.c))
        unit = sparse.csc_array(([1.0], ([0], [0])), shape=(1 + n_columns, 1))
        # without an intercept there are no columns of b
        of_b = -spread(unit) if self.n_shifts else None
        A = sparse.block_array(
            [
                [select(form.rows, len(form.c)), None, spread(differences.D.multiply(signs)), spread(signs), None],
                [form.A, None, None, None, None],
                [None, penalty.A, None, None, None],
                [None, of_w, of_v, spread(unit), of_b],
            ],
            format="csc",
        )
        n_tree = k * (1 + n_columns)
        b = np.concatenate([np.zeros(n_link), form.b, penalty.b, np.zeros(n_tree)])
        return _Linked(A, b, [Cones(zero=n_link), form.cones, penalty.cones, Cones(zero=n_tree)])


class _Linked(NamedTuple):
    """The rows of link, loss, penalty and tree over the unknowns of loss and penalty, v, t and the intercept."""

    A: Any
    b: Array
    cones: list[Cones]
