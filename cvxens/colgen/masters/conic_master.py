"""The master of formulations whose loss has a conic form: canonicalised once, solved by Clarabel as it is."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
from scipy import sparse

from cvxens.colgen.masters.cvxpy_master import CvxpyMaster
from cvxens.colgen.protocols import MasterSolution
from cvxens.colgen.restricted import FastMaster, Needs
from cvxens.errors import SolverFailed
from cvxens.problems import Formulation, Problem
from cvxens.problems.cones import Cones
from cvxens.problems.conic import ConicForm, ConicFunction, solve_cones
from cvxens.problems.duality import edge_rounding
from cvxens.problems.modelling import Term
from cvxens.types import Array


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
    needs = (Needs("conic", "term"),)

    def __init__(self, formulation: Formulation, y: Array) -> None:
        super().__init__(formulation, y)
        # what is not convex, or named twice, is named before anything is solved
        _ = Problem(formulation, np.zeros((len(y), 1)), y).problem
        self.outputs = () if formulation.outputs is None else (formulation.outputs,)
        self.balanced = y if formulation.intercept else None
        self.n_shifts = prod(self.outputs) if formulation.intercept else 0
        self.conic: ConicFunction = self.loss.conic((len(y), *self.outputs))

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
        form, penalty = self.conic.form, self._canonicalise_penalty()
        A, b = self._link(form, penalty)
        cost = np.concatenate([form.c, penalty.c, np.zeros(self.n_shifts)])
        found = solve_cones(A, b, cost, [self._free, form.cones, penalty.cones])
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
        w = found.x[n_columns + penalty.rows].reshape(-1, *self.outputs)
        point = {"w": w, "u": proof.u}
        if self.balanced is not None:
            point["b"] = found.x[len(found.x) - self.n_shifts :].reshape(self.outputs)
        return self.restricted.evaluate(point)

    def _lower_violation(self) -> MasterSolution:
        """Minimise the violation of the loss's rows: its multipliers u have ``u'z`` above 0 wherever these hold."""
        form, penalty = self.conic.form, self._canonicalise_penalty()
        A, b = self._link(form, penalty)
        n_link, n_rows, zero = len(form.rows), len(form.b), form.cones.zero
        # rows of equalities are off by p - q, others are moved into their cones by t
        relaxed = sparse.hstack(
            [
                sparse.eye_array(n_rows, zero),
                -sparse.eye_array(n_rows, zero),
                -sparse.csc_array(form.cones.interior[:, np.newaxis]),
            ]
        )
        n_relaxed = relaxed.shape[1]
        above, below = sparse.csc_array((n_link, n_relaxed)), sparse.csc_array((len(penalty.b), n_relaxed))
        sizes = sparse.hstack([sparse.csc_array((n_relaxed, A.shape[1])), -sparse.eye_array(n_relaxed)])
        rows = sparse.vstack([sparse.hstack([A, sparse.vstack([above, relaxed, below])]), sizes], format="csc")
        cost = np.concatenate([np.zeros(A.shape[1]), np.ones(n_relaxed)])
        cones = [self._free, form.cones, penalty.cones, Cones(nonnegative=n_relaxed)]
        found = solve_cones(rows, np.concatenate([b, np.zeros(n_relaxed)]), cost, cones)
        proof = None
        if found.solved:
            dual = found.dual[n_link : n_link + n_rows]
            proof = self.loss.domain(self.conic.shape).adopt(dual, found.x[: form.A.shape[1]], self.balanced)
        if proof is None:
            raise SolverFailed([found.attempt])
        u, y, total = proof.u, self.restricted.y, getattr(self.penalty, "total", None)
        largest = float(np.abs(self.restricted.H).max(initial=0.0))
        # weights of a given sum reach u'z of at most that times the largest edge; others reach any with any edge
        least = edge_rounding(len(y), largest) * float(np.abs(u).sum())
        threshold = least if total is None else max(proof.bound, 0.0) / total
        w, b = np.zeros((self.restricted.n_columns, *self.outputs)), np.zeros(self.outputs)
        closed = np.zeros(len(w), dtype=bool) if self.restricted.formulation.nonnegative else None
        return MasterSolution(w, b, u, y * u, np.inf, threshold, closed, row_norm=self.penalty.row_norm)

    def _canonicalise_penalty(self) -> ConicForm:
        """Return the conic form of the penalty of the weights so far, of one where there are none."""
        nonnegative, penalty = self.restricted.formulation.nonnegative, self.penalty

        def model(w: Any) -> Term:
            term = penalty.term(w)
            return Term(term.expression, (*term.constraints, *([w >= 0] if nonnegative else [])), term.variables)

        return ConicFunction.from_term(model, (max(self.restricted.n_columns, 1), *self.outputs)).form

    def _link(self, form: ConicForm, penalty: ConicForm) -> tuple[sparse.csc_array, Array]:
        """Stack ``z - y (H w + b) = 0`` on the rows of the loss and of the penalty."""
        y, k = self.restricted.y, prod(self.outputs)
        H = self.restricted.H if self.restricted.n_columns else np.zeros((len(y), 1))
        signed = sparse.csc_array(-y.reshape(-1, 1) * H)
        n_link = len(form.rows)
        of_z = sparse.csc_array((np.ones(n_link), (np.arange(n_link), form.rows)), shape=(n_link, len(form.c)))
        select = sparse.csc_array(
            (np.ones(len(penalty.rows)), (np.arange(len(penalty.rows)), penalty.rows)),
            shape=(len(penalty.rows), len(penalty.c)),
        )
        # v and w are in the order of their rows, outputs within
        of_w = sparse.kron(signed, sparse.eye_array(k)) @ select
        # without an intercept there are no columns of b
        of_b = sparse.kron(-y.reshape(-1, 1), sparse.eye_array(k)) if self.n_shifts else sparse.csc_array((n_link, 0))
        A = sparse.block_array([[of_z, of_w, of_b], [form.A, None, None], [None, penalty.A, None]], format="csc")
        return A, np.concatenate([np.zeros(n_link), form.b, penalty.b])

    @property
    def _free(self) -> Cones:
        return Cones(zero=len(self.conic.rows))
