"""Exact solutions near floats, against those in rational numbers."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

from cvxens.problems.verified import LARGEST_BLOCK, Equations, sum_columns


def solve_exactly(matrix, right):
    """Gauss's elimination in rational numbers."""
    n = len(matrix)
    rows = [
        [Fraction(float(value)) for value in row] + [Fraction(float(b))] for row, b in zip(matrix, right, strict=True)
    ]
    for k in range(n):
        pivot = next(i for i in range(k, n) if rows[i][k] != 0)
        rows[k], rows[pivot] = rows[pivot], rows[k]
        for i in range(n):
            if i != k and rows[i][k] != 0:
                factor = rows[i][k] / rows[k][k]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [rows[k][n] / rows[k][k] for k in range(n)]


@settings(deadline=None, max_examples=60)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 6), spare=st.integers(0, 4))
def test_an_exact_solution_is_within_what_is_said(seed, n, spare):
    """Triangular equations but for two that have the same rows, as an intercept beside a fixed sum makes them."""
    rng = np.random.default_rng(seed)
    B = np.triu(rng.integers(-2, 3, (n, n)) * (rng.random((n, n)) < 0.5), 1) + np.diag(rng.choice([-1.0, 0.3, 2.0], n))
    B = np.vstack([B, rng.integers(-2, 3, (spare, n))])
    if n > 1:
        B[:2, :2] = [[1.0, 1.0], [1.0, -1.0]]
    B = B[rng.permutation(len(B))][:, rng.permutation(n)]
    missed = rng.normal(size=n) * (rng.random(n) < 0.7) * 1e-15
    equations = Equations.choose(sparse.csc_array(B), rng.random(len(B)))
    # other rows may make larger blocks, which no inverse in floats need make small
    assume(equations is not None)
    e = equations.enclose(np.abs(missed))
    assume(e is not None)
    exact = solve_exactly(B[equations.rows].T, -missed)
    assert all(abs(d) <= Fraction(float(bound)) for d, bound in zip(exact, e[equations.rows], strict=True))
    others = np.setdiff1d(np.arange(len(B)), equations.rows)
    assert not e[others].any()
    assert not equations.enclose(np.zeros(n)).any()


@settings(deadline=None, max_examples=40)
@given(seed=st.integers(0, 10**6))
def test_sums_of_columns_are_bounded_and_exactly_0_where_they_are(seed):
    rng = np.random.default_rng(seed)
    A, dual = sparse.random_array((7, 5), density=0.5, rng=rng, format="csc"), rng.normal(size=7)
    added = np.stack([rng.normal(size=5), -(A.T @ dual)])
    bounds = sum_columns(A, dual, added)
    dense = A.toarray()
    for j in range(5):
        exact = abs(
            sum(Fraction(float(a)) * Fraction(float(b)) for a, b in zip(dense[:, j], dual, strict=True))
            + sum(Fraction(float(a)) for a in added[:, j])
        )
        assert exact <= Fraction(float(bounds[j])) <= exact * (1 + Fraction(1, 10**12))
    halves = sparse.csc_array(np.array([[0.5], [-0.25]]))
    assert sum_columns(halves, np.array([1.0, 2.0]), np.zeros((1, 1)))[0] == 0


def test_what_cannot_be_verified_is_not():
    alike = sparse.csc_array(np.ones((3, 2)))
    assert Equations.choose(alike, np.ones(3)) is None
    assert Equations.choose(sparse.csc_array((3, 2)), np.ones(3)) is None
    full = sparse.csc_array(np.random.default_rng(0).normal(size=(LARGEST_BLOCK + 1,) * 2))
    assert Equations.choose(full, np.ones(LARGEST_BLOCK + 1)) is None
    fine = Equations.choose(sparse.csc_array(np.eye(2)), np.ones(2))
    assert fine.enclose(np.array([np.inf, 0.0])) is None
    assert fine.enclose(np.array([1e-16, 0.0])) == pytest.approx([1e-16, 0.0], rel=2)
