"""Proofs of certificates of problems over given columns, which are a pool."""

from __future__ import annotations

from typing import Any

import numpy as np

from cvxens.certificates import PROVERS
from cvxens.errors import InvalidInput
from cvxens.hypotheses import TabulatedColumn
from cvxens.problems import Columns, DenseColumns, Evaluated, Problem
from cvxens.problems.maps import ColumnMap
from cvxens.proofs.proof import Proof, prove
from cvxens.types import Array

LARGEST_POOL = 5_000_000
"""Entries of the columns up to which a pool is written down."""


def prove_evaluated(problem: Any, evaluated: Evaluated) -> Proof:
    """Prove how far a point of a problem is from the optimum over its columns, or that optimum itself.

    `InvalidInput` for a problem over others than columns, one with several outputs, or one on scores.
    """
    over_columns = isinstance(problem, Problem) and isinstance(problem.linear_map, ColumnMap)
    if not over_columns or problem.outputs or problem.formulation.on_scores:
        found = f"found one of {type(problem).__name__}, that is not over columns and labels"
        remedy = "take a problem over columns, or prove_kernel(...) with the samples of a kernel"
        raise InvalidInput("certificate", found, remedy)
    H = _tabulate(problem.H)
    w, b, u = (evaluated.point.get(letter) for letter in problem.letters)
    hypotheses = [TabulatedColumn(j, H.shape[1], 1) for j in range(H.shape[1])]
    over = "one-sided pool" if problem.nonnegative else "pool"
    return prove(problem.formulation, H, problem.signs, hypotheses, w, 0.0 if b is None else float(b), u=u, over=over)


def _tabulate(H: Columns) -> Array:
    """Return columns as an array."""
    n_samples, n_columns = H.shape
    if n_samples * n_columns > LARGEST_POOL:
        found = f"found {n_samples:,} x {n_columns:,} values of columns"
        raise InvalidInput("H", found, f"give fewer, up to {LARGEST_POOL:,} in all")
    return H.H if isinstance(H, DenseColumns) else H.scores(np.eye(n_columns))


PROVERS.append(prove_evaluated)
