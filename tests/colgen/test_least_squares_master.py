"""Simplex least squares: the growing equations against the closed form from scratch."""

import numpy as np
import pytest
from brute_force import as_columns, interrupted
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from cvxens.colgen import formulations
from cvxens.colgen.masters import LeastSquaresMaster
from cvxens.problems import simplex_codes
from cvxens.solvers.least_squares import GrowingCholesky


def drawn(seed, n_samples, n_columns, n_classes=3):
    rng = np.random.default_rng(seed)
    H = rng.normal(size=(n_samples, n_columns))
    return H, simplex_codes(n_classes)[np.arange(n_samples) % n_classes]


def master_of(L, C):
    return LeastSquaresMaster(formulations.simplex_least_squares(L, C), np.ones((len(L), 1)))


def normal_equations(H, L, C):
    G = H - H.mean(axis=0)
    return np.linalg.solve(G.T @ G + np.eye(H.shape[1]) / C, G.T @ (L - L.mean(axis=0)))


@given(st.integers(0, 10**6), st.lists(st.integers(1, 6), min_size=1, max_size=8))
def test_a_factor_grown_in_blocks_is_the_factor_at_once(seed, sizes):
    n = sum(sizes)
    root = np.random.default_rng(seed).normal(size=(n, n + 2))
    A = root @ root.T + np.eye(n)
    factor = GrowingCholesky()
    for size in sizes:
        known = factor.n
        factor.grow(A[known : known + size, :known], A[known : known + size, known : known + size])
    assert_allclose(factor.L, np.linalg.cholesky(A), atol=1e-10)
    right = root[:, :3]
    assert_allclose(A @ factor.solve(right), right, atol=1e-8)


def test_a_factor_that_rounding_has_made_indefinite_is_kept_usable():
    rng = np.random.default_rng(0)
    G = rng.normal(size=(40, 5))
    A = np.block([[G.T @ G, G.T @ G], [G.T @ G, G.T @ G]])
    factor = GrowingCholesky()
    factor.grow(np.empty((5, 0)), A[:5, :5])
    factor.grow(A[5:, :5], A[5:, 5:] - 1e-13 * np.eye(5))
    right = A @ rng.normal(size=10)
    assert_allclose(A @ factor.solve(right), right, rtol=1e-6)


@pytest.mark.product(C=[1e-6, 1.0, 1e6, 1e12], n_samples=[8, 60])
def test_duplicated_constant_and_badly_scaled_columns(C, n_samples):
    H, L = drawn(1, n_samples, 6)
    H = np.column_stack([H, H, np.ones(n_samples), 1e4 * H[:, :2], 1e-4 * H[:, :2], -H])
    master = master_of(L, C)
    for block in np.array_split(H, 7, axis=1):
        master.add(as_columns(block))
        found = master.solve()
    S = np.linalg.svd(H - H.mean(axis=0), full_matrices=False)
    shrunk = S[2].T @ ((S[1] / (S[1] ** 2 + 1 / C))[:, None] * (S[0].T @ (L - L.mean(axis=0))))
    errors = L - L.mean(axis=0) - (H - H.mean(axis=0)) @ shrunk
    best = np.square(shrunk).sum() / 2 + C / 2 * np.square(errors).sum()
    assert found.objective == pytest.approx(best, rel=1e-6)
    assert np.abs(found.u.sum(axis=0)).max() <= 1e-9 * max(1.0, np.abs(found.u).sum())


def test_the_equations_are_never_larger_than_the_fewer_of_columns_and_samples():
    H, L = drawn(3, 20, 50)
    master, sizes = master_of(L, 1.0), []
    for h in H.T:
        master.add(as_columns(h[:, None]))
        master.solve()
        sizes.append(len(master.by_samples.gram) if master.by_samples.n else master.by_columns.factor.n)
    assert sizes == [min(j, 20) for j in range(1, 51)]


def test_an_interrupt_leaves_a_usable_master(monkeypatch):
    H, L = drawn(4, 30, 10)
    master = master_of(L, 1.0)
    master.add(as_columns(H[:, :4]))
    master.solve()
    master.add(as_columns(H[:, 4:]))
    with monkeypatch.context() as patched:
        patched.setattr(GrowingCholesky, "grow", interrupted)
        with pytest.raises(KeyboardInterrupt):
            master.solve()
    assert_allclose(master.solve().w, normal_equations(H, L, 1.0), atol=1e-9)
