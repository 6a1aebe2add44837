"""Exact solutions near floats, against those in rational numbers."""

from fractions import Fraction

import exact
import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy import sparse

from cvxens.problems import verified
from cvxens.problems.verified import Equations, sum_columns


def solve_exactly(matrix, right):
    return [row[0] for row in exact.solve(exact.fractions(matrix), exact.fractions(np.reshape(right, (-1, 1))))]


def state(S, errors=None):
    """Equations with as many rows, all of which may move."""
    S = sparse.csr_array(S)
    n = S.shape[0]
    every = np.arange(n)
    return Equations(every, every, [], S, 0 * S if errors is None else errors, n)


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 6), spare=st.integers(0, 4), size=st.sampled_from([1e-15, 1e-3, 1]))
def test_an_exact_solution_is_within_what_is_said(seed, n, spare, size):
    """Triangular equations but for two that have the same rows, as an intercept beside a fixed sum makes them."""
    rng = np.random.default_rng(seed)
    B = np.triu(rng.integers(-2, 3, (n, n)) * (rng.random((n, n)) < 0.5), 1) + np.diag(rng.choice([-1.0, 0.3, 2.0], n))
    B = np.vstack([B, rng.integers(-2, 3, (spare, n))])
    if n > 1:
        B[:2, :2] = [[1.0, 1.0], [1.0, -1.0]]
    B = B[rng.permutation(len(B))][:, rng.permutation(n)]
    missed = rng.normal(size=n) * (rng.random(n) < 0.7) * size
    equations = Equations.choose(sparse.csc_array(B), sparse.csc_array(B.shape), rng.random(len(B)))
    # none of them depends on others
    assert equations.kept.tolist() == list(range(n))
    e = equations.enclose(np.abs(missed))
    exact = solve_exactly(B[equations.rows].T, -missed)
    assert all(abs(d) <= Fraction(float(bound)) for d, bound in zip(exact, e[equations.rows], strict=True))
    assert e.max() <= 1e5 * np.abs(missed).max()
    others = np.setdiff1d(np.arange(len(B)), equations.rows)
    assert not e[others].any()
    assert not equations.enclose(np.zeros(n)).any()


@settings(max_examples=60)
@given(seed=st.integers(0, 10**6), n=st.integers(2, 5), near=st.sampled_from([1e-6, 1e-10, 1e-13, 1e-15, 1e-16]))
def test_nearly_singular_blocks_are_verified_or_not_at_all(seed, n, near):
    """Their inverses in floats have few digits: what these lose is made good, or nothing is said."""
    rng = np.random.default_rng(seed)
    S = rng.normal(size=(n, n))
    S[-1] = S[:-1].sum(axis=0) + near * rng.normal(size=n)
    assume(is_regular(S))
    missed = 1e-3 * rng.normal(size=n)
    try:
        equations = state(S)
    except (RuntimeError, np.linalg.LinAlgError):
        # the block or its comparison matrix is singular in floats
        return
    e = equations.enclose(np.abs(missed))
    if e is not None:
        exact = solve_exactly(S.T, -missed)
        assert all(abs(d) <= Fraction(float(bound)) for d, bound in zip(exact, e, strict=True))
    assert e is not None or near < 1e-10


def is_regular(S):
    """Return whether there is an exact solution."""
    try:
        solve_exactly(S, np.ones(len(S)))
    except StopIteration:
        return False
    return True


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 5))
def test_entries_that_are_off_are_counted(seed, n):
    rng = np.random.default_rng(seed)
    S = np.tril(rng.normal(size=(n, n))) + 3 * np.eye(n)
    off = 1e-3 * rng.random((n, n)) * (S != 0)
    e = state(S, sparse.csr_array(off)).enclose(np.full(n, 0.01))
    for _ in range(3):
        missed = 0.01 * rng.choice([-1.0, 1.0], n)
        exact = solve_exactly((S + off * rng.choice([-1.0, 1.0], (n, n))).T, missed)
        assert all(abs(d) <= Fraction(float(bound)) for d, bound in zip(exact, e, strict=True))


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), n=st.integers(1, 6), n_dependent=st.integers(1, 3), unit=st.sampled_from([1, 1e-15]))
def test_equations_that_depend_on_others_are_left_out(seed, n, n_dependent, unit):
    rng = np.random.default_rng(seed)
    B = np.vstack([np.diag(rng.choice([-1.0, 0.5, 2.0], n)), rng.integers(-2, 3, (3, n))])
    # products that are not rounded
    combined = np.float32(unit) * (B @ rng.integers(-2, 3, (n, n_dependent)))
    B = np.hstack([B, combined.astype(float)])
    B = B[rng.permutation(len(B))][:, rng.permutation(n + n_dependent)]
    equations = Equations.choose(sparse.csc_array(B), sparse.csc_array(B.shape), rng.random(len(B)))
    assert len(equations.kept) == n
    assert len(equations.dependence) == n_dependent
    for factors in equations.dependence:
        assert not any(sum(factor * Fraction(float(row[k])) for k, factor in factors.items()) for row in B)
    missed = 1e-3 * rng.random(n + n_dependent)
    e = equations.enclose(missed)
    exact = solve_exactly(B[equations.rows][:, equations.kept].T, missed[equations.kept])
    assert all(abs(d) <= Fraction(float(bound)) for d, bound in zip(exact, e[equations.rows], strict=True))


def test_rows_are_given_to_equations_whose_assignment_by_cost_does_not_end():
    """scipy's minimum weight matching loops for ever on these costs."""
    B = [[0, 2, 0, 0, -2], [0, 0, 0, 0, -1], [0, -2, 1, -1, 0], [0.3, 0, 0, 0, 0], [0, 0, 1, 1, 0]]
    rng = np.random.default_rng(2)
    rng.integers(-2, 3, (5, 5)), rng.random((5, 5)), rng.choice([-1.0, 0.3, 2.0], 5), rng.integers(-2, 3, (0, 5))
    rng.permutation(5), rng.permutation(5), rng.normal(size=5), rng.random(5)
    equations = Equations.choose(sparse.csc_array(B, dtype=float), sparse.csc_array((5, 5)), rng.random(5))
    assert sorted(equations.rows.tolist()) == list(range(5))


@settings(max_examples=40)
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


def test_dense_columns_are_given_rows_together(monkeypatch):
    monkeypatch.setattr(verified, "THIN", 2)
    rng = np.random.default_rng(0)
    B = np.vstack([np.eye(8), rng.normal(size=(6, 8))])
    B = np.hstack([B, B[:, :1] - B[:, 1:2]])
    room = rng.random(len(B))
    equations = Equations.choose(sparse.csc_array(B), sparse.csc_array(B.shape), room)
    assert len(equations.kept) == 8
    assert np.linalg.matrix_rank(B[equations.rows][:, equations.kept]) == 8
    assert equations.enclose(np.full(9, 1e-3)).max() < 0.1


def test_what_cannot_be_verified_is_not(monkeypatch):
    nothing = Equations.choose(sparse.csc_array((3, 2)), sparse.csc_array((3, 2)), np.ones(3))
    assert nothing.kept.tolist() == []
    assert not nothing.enclose(np.ones(2)).any()
    fine = Equations.choose(sparse.csc_array(np.eye(2)), sparse.csc_array((2, 2)), np.ones(2))
    assert fine.enclose(np.array([np.inf, 0.0])) is None
    assert fine.enclose(np.array([1e-16, 0.0])) == pytest.approx([1e-16, 0.0], rel=2)
    # entries that may be 0, or of the other sign
    assert state([[1.0]], sparse.csr_array([[1.5]])).enclose(np.array([0.1])) is None
    monkeypatch.setattr(verified, "LARGEST_BLOCK", 5)
    full = sparse.csc_array(np.random.default_rng(0).normal(size=(6, 6)))
    assert Equations.choose(full, 0 * full, np.ones(6)) is None
