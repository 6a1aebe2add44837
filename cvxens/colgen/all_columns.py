"""Least squares over every hypothesis of a finite set at once, in place of column generation.

A squared l2 penalty spreads the weights over all hypotheses, so that a run whose set is finite ends with nearly all of
them, and its bounds say little before. Where products with the set need no array of it, the whole problem is one of
conjugate gradients.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

from cvxens.certificates import Certificate, Round
from cvxens.colgen.loop import Run
from cvxens.colgen.oracles.quantile_stumps import QuantileStumps
from cvxens.colgen.protocols import Column
from cvxens.limits import Ending, find_reason
from cvxens.problems import Formulation, Problem
from cvxens.problems.duality import as_rows
from cvxens.problems.maps import ColumnMap
from cvxens.solvers.least_squares import iterate_least_squares


def solve_over_all(formulation: Formulation, oracle: QuantileStumps, tol: float) -> Run:
    """Solve squared errors with a squared l2 penalty and an intercept over all hypotheses of an oracle.

    Parameters
    ----------
    formulation : Formulation
        Such as `formulations.simplex_least_squares`.
    oracle : QuantileStumps
        Of numeric features, so that it has `columns`.
    tol : float
        Relative gap; the run has a larger one where there is not the time.

    Returns
    -------
    Run
        Of one round.

    Raises
    ------
    SolverFailed
        Conjugate gradients came to no end, as the prices are too large.
    """
    H = oracle.columns
    assert H is not None
    start, problem = perf_counter(), Problem(formulation, ColumnMap(H), np.ones((H.shape[0], 1)))
    # half of the gap is for rounding, and for the edges anew
    found = problem.evaluate(iterate_least_squares(problem, tol / 2))
    values, note = (found.primal, found.dual), "over every hypothesis of the oracle"
    certificate = Certificate.between(*values, residuals=found.residuals({}), rounding=found.rounding, note=note)
    sizes = np.abs(as_rows(found.edges)).max(axis=1)
    columns = [Column(h, oracle.sample, size) for h, size in zip(oracle.hypotheses, sizes.tolist(), strict=True)]
    seconds = perf_counter() - start
    row = Round(certificate.primal, certificate.dual, certificate.relative_gap, len(columns), seconds)
    ending = Ending.OPTIMAL if certificate.holds(tol) else find_reason()
    return Run(certificate, columns, found.w, found.point["b"], found.u, (row,), ending)
