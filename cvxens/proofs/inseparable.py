"""Proofs that no weighted vote has a margin above 0 on every sample, as hard margins ask for.

By Farkas's lemma there is none exactly if some multipliers have no edge above 0:

    u >= 0,   sum_i u_i = 1,   sum_i u_i y_i h(x_i) <= 0   for all h,

as the margins of any vote, averaged with u, are then at most 0. Where -h is in the set with h the edges are all 0. Of
stumps that says: with s_i = u_i y_i, the sum over the samples below each gap of a feature is half of all, so that it is
0 over those that share a value, but for the least and the largest one, whose sums are equal; and with the constant they
are 0 too. Two samples that share every value and have opposite classes are enough. With the constant there is no such u
where one feature has a value of its own for every sample.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import csr_array, hstack, vstack

from cvxens.errors import InvalidInput
from cvxens.problems.formulation import Formulation
from cvxens.proofs.forms import Form, Point, to_integers
from cvxens.proofs.proof import Layout, Proof, write_proof
from cvxens.proofs.vertices import LARGEST, independent_rows, solve_rationals
from cvxens.types import Array


def prove_inseparable(
    formulation: Formulation, X: Any, y: Any, *, over: str = "stumps and constant", layout: Layout | None = None
) -> Proof:
    """Prove in rational numbers that no weighted vote over a set of hypotheses has a margin above 0 on every sample.

    Parameters
    ----------
    formulation : Formulation
        One with the loss HardMargin, such as ``formulations.hard_margin()``.
    X : array-like of shape (n_samples, n_features)
        The features, finite; for a pool the values of its hypotheses.
    y : array-like of shape (n_samples,)
        Labels, -1 and +1.
    over : {"stumps and constant", "stumps", "pool", "one-sided pool"}
        The set that the proof is over, as for `prove`.
    layout : Layout, optional
        Where the numbers stand in the data file; by default as `Proof.save` writes it.

    Returns
    -------
    Proof
        Without a model: the multipliers are the proof. They are a vertex, so few of them are above 0.

    Raises
    ------
    InvalidInput
        Another loss, a sample that can be separated, or one whose multipliers are too many to be solved exactly.

    Examples
    --------
    >>> from cvxens.colgen import formulations
    >>> X = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    >>> proof = prove_inseparable(formulations.hard_margin(), X, [-1.0, 1.0, 1.0, -1.0])
    >>> proof.claim.partition("), ")[2]
    'no weighted vote has a margin above 0 on every sample.'
    >>> proof.document["multipliers"]
    ['4', '1', '1', '1', '1']
    """
    X = np.ascontiguousarray(X, dtype=np.float64) + 0.0
    signs = np.asarray(y, dtype=np.float64)
    form = Form.from_formulation(formulation, len(signs), over)
    if form.loss != "hard":
        raise InvalidInput("formulation", f"found the {form.loss} loss", "give one that asks for hard margins")
    equations = _state_equations(form, X, signs)
    at, values = _solve_vertex(equations)
    u = [Fraction(0)] * len(signs)
    for i, value in zip(at.tolist(), values, strict=True):
        # what follows the multipliers is the room below 0 of the edges
        if i < len(u):
            u[i] = value
    return write_proof(form, X, signs, Point(None, None, *to_integers(u)), layout or Layout.of_width(X.shape[1]))


def _state_equations(form: Form, X: Array, y: Array) -> csr_array:
    """State what u, and the room of each edge below 0 in a one-sided pool, are to be in combination: 0, row by row."""
    n = len(y)
    if form.is_pool:
        rows = csr_array((X * y[:, np.newaxis]).T)
        if form.hypotheses == "one-sided pool":
            rows = hstack([rows, csr_array(np.eye(X.shape[1]))], format="csr")
    else:
        rows = vstack([_sum_groups(column, y, form.hypotheses) for column in X.T], format="csr")
    if form.intercept or form.hypotheses == "stumps and constant":
        balance = np.zeros((1, rows.shape[1]))
        balance[0, :n] = y
        rows = vstack([rows, csr_array(balance)], format="csr")
    total = np.zeros((1, rows.shape[1]))
    total[0, :n] = 1.0
    return vstack([csr_array(total), rows], format="csr")


def _sum_groups(column: Array, y: Array, hypotheses: str) -> csr_array:
    """Return rows that add up u y over the samples that share a value; without the constant, the ends are one row."""
    values, place = np.unique(column, return_inverse=True)
    signs = y.copy()
    if hypotheses == "stumps":
        if len(values) == 1:
            return csr_array((0, len(y)))
        # the sums of the least and of the largest value are equal: one less the other is 0
        signs[place == len(values) - 1] *= -1
        place = np.where(place == len(values) - 1, 0, place)
    return csr_array((signs, (place, np.arange(len(y)))))


def _solve_vertex(equations: csr_array) -> tuple[NDArray[np.intp], list[Fraction]]:
    """Find v >= 0 of which the first row makes 1 and every other 0, over the rationals: where v is above 0, and v."""
    sizes = abs(equations).max(axis=1).toarray().ravel()
    scaled = equations / np.where(sizes > 0, sizes, 1.0)[:, np.newaxis]
    rhs = np.zeros(equations.shape[0])
    rhs[0] = 1.0
    # the simplex method ends at a vertex, where the columns of what is above 0 are independent
    program = linprog(np.zeros(equations.shape[1]), A_eq=scaled, b_eq=rhs, method="highs-ds")
    if program.status != 0:
        found = f"found a sample that can be separated, or one too near to it ({program.message})"
        raise InvalidInput("X", found, "ask for the optimum of its hard margins instead")
    # so small a share of the largest is none of the vertex, which is then solved exactly, and checked
    at = np.flatnonzero(program.x > 1e-9 * program.x.max())
    rows = csr_array(scaled)[:, at].toarray()
    chosen = independent_rows(rows, 1)
    values = None
    if len(chosen) == len(at):
        values = solve_rationals(equations[:, at].toarray()[chosen], [Fraction(int(i == 0)) for i in chosen.tolist()])
    if values is None or min(values) < 0:
        remedy = f"give fewer samples or features; cvxens[exact] solves for up to {LARGEST}"
        raise InvalidInput("X", f"found {len(at)} multipliers that cannot be solved exactly", remedy)
    return at, values
