"""Vertices of linear programs over all hypotheses, over the rationals.

With S the columns of positive weight, F the samples with 0 < u_i < price and U those at their price, a vertex has

    y_i (sum_S w_j h_j(x_i) + b) = 1   for i in F,     sum_F u_i y_i h_j(x_i) = 1 - sum_U C_i y_i h_j(x_i)   for j in S,

and objective and bound are equal. S, F and U are those of the simplex method in floats. Every hypothesis is then priced
with these u, in integers; those whose edges are too large enter, and the vertex is found anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.optimize import linprog

from cvxens.problems.verified import solve_fractions
from cvxens.proofs.forms import Form, Key, Point, Term, to_integers
from cvxens.types import Array, Indices

AT_BOUND = 1e-11
"""The distance from a bound, relative to the largest value, up to which the simplex method's numbers are at it."""

LARGEST = 1500
"""Unknowns up to which systems are solved at all: the digits of a solution grow with them, and the time with their 4th
power; 800 take 4 s."""


def find_vertex(form: Form, X: Array, y: Array, terms: Sequence[Term]) -> Point | None:
    """Find the optimum over all hypotheses over the rationals; None where that fails."""
    pricing = Pricing.from_sample(form, X)
    columns = {(feature, threshold): 1.0 if weight > 0 else -1.0 for feature, threshold, weight in terms}
    if not columns:
        # of an ensemble without weights: the best stumps under equal multipliers to begin with
        columns = {key: sign for key, (_, sign) in pricing.price(y.astype(int).tolist()).items()}
    # a float run to 1e-9 has all columns but a few
    for _ in range(20):
        if (vertex := _solve_vertex(form, X, y, columns)) is None:
            return None
        weights, intercept, u, limit = vertex
        numerators, denominator = to_integers(u)
        entering = pricing.price([v * int(sign) for v, sign in zip(numerators, y.tolist(), strict=True)])
        too_large = {key: sign for key, (edge, sign) in entering.items() if edge > limit * denominator}
        if not too_large:
            found = [(*key, int(columns[key]) * weight) for key, weight in zip(columns, weights, strict=True) if weight]
            point = Point(found, intercept, numerators, denominator)
            return point if is_short(point) else None
        if all(columns.get(key) == sign for key, sign in too_large.items()):
            return None
        columns |= too_large
    return None


def is_short(point: Point) -> bool:
    """Return True if the numbers of a point are short enough for the checker."""
    lengths = [point.denominator.bit_length(), *(v.bit_length() for v in point.numerators)]
    # the checker reads 4,300 decimal digits, and values are products of two numbers
    return max(lengths + [w.denominator.bit_length() for *_, w in point.terms or ()]) <= 6_000


def _evaluate_columns(X: Array, y: Array, columns: dict[Key, float]) -> Array:
    """Evaluate ``y_i sign h(x_i)`` for every column, shape (n_samples, n_columns)."""

    def evaluate(feature: int | None, threshold: float | None) -> Array:
        if feature is None:
            return np.ones(len(X))
        return X[:, feature] if threshold is None else np.where(X[:, feature] >= threshold, 1.0, -1.0)

    return y[:, np.newaxis] * np.column_stack([sign * evaluate(*key) for key, sign in columns.items()])


def _solve_vertex(
    form: Form, X: Array, y: Array, columns: dict[Key, float]
) -> tuple[list[Fraction], Fraction, list[Fraction], Fraction] | None:
    """Solve the linear program over some columns: weights, intercept, multipliers, and what edges may be at most.

    The unknowns are the weights, then rho of the soft minimum, then b. The simplex method finds the vertex in floats.
    """
    G, n, k = _evaluate_columns(X, y, columns), len(y), len(columns)
    soft, simplex = form.loss != "hard", form.penalty == "simplex"
    extra = [-np.ones((n, 1))] * simplex + [y[:, np.newaxis]] * form.intercept
    rows = np.hstack([G, *extra])
    reached = Fraction(0 if simplex else 1)
    cost = [Fraction(0) if simplex else form.weight] * k + [Fraction(-1)] * simplex + [Fraction(0)] * form.intercept
    n_free = len(cost) - k
    prices, of_unknowns = np.array(list(map(float, form.prices))), np.array(list(map(float, cost)))
    program = linprog(
        np.append(of_unknowns, prices if soft else []),
        A_ub=-np.hstack([rows, np.eye(n)] if soft else [rows]),
        b_ub=np.full(n, -float(reached)),
        A_eq=np.hstack([np.ones((1, k)), np.zeros((1, n_free + n * soft))]) if simplex else None,
        b_eq=[1.0] if simplex else None,
        bounds=[(0, None)] * k + [(None, None)] * n_free + [(0, None)] * (n * soft),
        method="highs-ds",
        # the postsolve may leave a point inside a face
        options={"presolve": False},
    )
    if program.status != 0:
        return None
    x, u = program.x[: len(cost)], -program.ineqlin.marginals
    caps = prices if soft else np.full(n, np.inf)
    tiny = AT_BOUND * max(float(u.max()), 1e-300)
    support = [*np.flatnonzero(x[:k] > AT_BOUND * max(float(x[:k].max()), 1e-300)).tolist(), *range(k, len(cost))]
    free, at_cap = np.flatnonzero((u > tiny) & (u < caps - tiny)), np.flatnonzero(u >= caps - tiny)
    slack = np.abs(rows @ x - float(reached))
    tight = np.flatnonzero(slack < 1e-9 * max(1.0, float(np.abs(x).max())))
    order = np.concatenate([free, np.setdiff1d(tight, free)])
    # primal: the rows of `order`, and the sum of the weights of a simplex
    summing = np.array([[1.0 if j < k else 0.0 for j in support]])
    equations = np.vstack([rows[np.ix_(order, support)], *([summing] * simplex)])
    values = [reached] * len(order) + [Fraction(1)] * simplex
    chosen = independent_rows(np.vstack([equations[len(order) :], equations[: len(order)]]), simplex + len(free))
    chosen = np.where(chosen < simplex, chosen + len(order), chosen - simplex)
    # over a pool entries have 53 digits, and a solution the sum of all
    if len(chosen) != len(support) or (form.is_pool and len(support) > 100):
        return None
    on_support = solve_rationals(equations[chosen], [values[i] for i in chosen.tolist()])
    # dual: for every unknown the multipliers add up to its cost, less beta, the multiplier of a simplex's sum; first
    # for those of the support, then for others whose edge is as large, as a degenerate vertex has them in its basis
    beta = float(program.eqlin.marginals[0]) if simplex else 0.0
    reduced = of_unknowns - rows.T @ u - beta * (np.arange(len(cost)) < k)
    level = np.flatnonzero(np.abs(reduced) < 1e-9 * max(1.0, float(np.abs(u).sum())))
    level = np.concatenate([support, np.setdiff1d(level, support)]).astype(np.intp)
    capped, zero = at_cap.tolist(), Fraction(0)
    due = [cost[j] - sum((form.prices[i] * Fraction(rows[i, j]) for i in capped), zero) for j in level.tolist()]
    sums = -(level < k).astype(float)[:, np.newaxis]
    balances = np.hstack([rows[np.ix_(free, level)].T, *([sums] * simplex)])
    chosen = independent_rows(balances, len(support))
    if on_support is None or len(chosen) != balances.shape[1]:
        return None
    on_free = solve_rationals(balances[chosen], [due[j] for j in chosen.tolist()])
    if on_free is None:
        return None
    found, multipliers = np.full(len(cost), Fraction(0)), np.full(n, Fraction(0))
    found[support], multipliers[free] = on_support, on_free[: len(free)]
    multipliers[at_cap] = np.array(form.prices)[at_cap]
    limit, caps = on_free[-1] if simplex else form.weight, np.array(form.prices) if soft else caps
    if (found[:k] < 0).any() or ((multipliers < 0) | (multipliers > caps)).any():
        return None
    return found[:k].tolist(), found[-1] if form.intercept else Fraction(0), multipliers.tolist(), limit


@dataclass(frozen=True)
class Pricing:
    """Finds the best hypotheses under any multipliers, in integers; every feature is sorted once."""

    form: Form
    X: Array
    cuts: list[tuple[list[int], list[tuple[int, float]]]]
    """For every feature the samples in order, and after how many of them a stump cuts, with its threshold."""
    pool: list[tuple[list[int], int]]
    """For every column of a pool its values, as integers over one denominator."""

    @classmethod
    def from_sample(cls, form: Form, X: Array) -> Pricing:
        """Sort every feature, or bring every column of a pool to one denominator."""
        if form.is_pool:
            return cls(form, X, [], [to_integers(list(map(Fraction, column))) for column in X.T.tolist()])
        cuts = []
        for column in X.T:
            order = column.argsort(kind="stable")
            at = column[order]
            # the threshold is the value above the cut: a sample on it counts as above
            places = np.flatnonzero(at[:-1] < at[1:])
            cuts.append((order.tolist(), list(zip(places.tolist(), at[places + 1].tolist(), strict=True))))
        return cls(form, X, cuts, [])

    def price(self, s: list[int]) -> dict[Key, tuple[Fraction, float]]:
        """Return the best stump of every feature and the constant, or every column of a pool, with edge and sign."""
        total = sum(s)
        has_constant = self.form.hypotheses == "stumps and constant"
        edges: dict[Key, Fraction] = {(None, None): Fraction(total)} if has_constant else {}
        for feature, (order, places) in enumerate(self.cuts):
            below = list(accumulate(s[i] for i in order))
            if places:
                edge, threshold = max(((total - 2 * below[k], threshold) for k, threshold in places), key=_size)
                edges[feature, threshold] = Fraction(edge)
        for feature, (values, denominator) in enumerate(self.pool):
            edges[feature, None] = Fraction(sum(v * e for v, e in zip(values, s, strict=True)), denominator)
        if self.form.hypotheses == "one-sided pool":
            return {key: (edge, 1.0) for key, edge in edges.items()}
        return {key: (abs(edge), 1.0 if edge >= 0 else -1.0) for key, edge in edges.items()}


def _size(found: tuple[int, float]) -> int:
    """Return the size of an edge."""
    return abs(found[0])


def independent_rows(rows: Array, first: int = 0) -> Indices:
    """Choose rows that span all of them: from the `first` ones as many as are independent, then from the others."""
    # rows whose remainder, after those before them, is smaller than 1e-9 count as dependent; entries are -1, 0 and 1
    nothing = None, np.zeros((0, 0)), np.arange(0)
    _, R, order = qr(rows[:first].T, mode="economic", pivoting=True) if first else nothing
    chosen = order[: int((np.abs(np.diag(R)) > 1e-9 * rows.shape[1]).sum())]
    basis = np.linalg.qr(rows[chosen].T)[0]
    rest = rows[first:] - (rows[first:] @ basis) @ basis.T
    if not len(rest):
        return np.asarray(chosen)
    _, R, order = qr(rest.T, mode="economic", pivoting=True)
    more = order[: int((np.abs(np.diag(R)) > 1e-9 * rows.shape[1]).sum())]
    return np.concatenate([chosen, first + more])


def solve_rationals(A: Array, rhs: Sequence[Fraction]) -> list[Fraction] | None:
    """Solve a square system of doubles, which are rationals, without rounding; None as for `solve_system`."""
    # doubles are integers over powers of 2: every row times the largest of its powers
    rows = [to_integers(list(map(Fraction, row))) for row in A.tolist()]
    scaled = [value * scale for value, (_, scale) in zip(rhs, rows, strict=True)]
    return solve_system(np.array([row for row, _ in rows], dtype=object).reshape(np.shape(A)), scaled)


def solve_system(A: NDArray[np.int64 | np.object_], rhs: Sequence[Fraction]) -> list[Fraction] | None:
    """Solve a square system of integers over the rationals; None where it is singular or too large."""
    n = len(A)
    if n > LARGEST:
        return None
    if n == 0:
        return []
    numerators, denominator = to_integers(rhs)
    try:
        from flint import fmpz_mat
    except ImportError:
        # elimination over rationals takes 2 s for 40 unknowns
        rows = [[*map(Fraction, row), value] for row, value in zip(A.tolist(), rhs, strict=True)]
        return solve_fractions(rows) if n <= 40 else None
    try:
        solution = fmpz_mat(A.tolist()).solve(fmpz_mat([[value] for value in numerators]))
    except ZeroDivisionError:
        return None
    found = (solution[i, 0] for i in range(n))
    return [Fraction(int(value.p), int(value.q) * denominator) for value in found]
