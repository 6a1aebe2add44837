"""Every expert against numpy's solution of its system, the certified problem and cvxpy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from cvxens.datasets import make_twonorm
from cvxens.errors import SolverFailed
from cvxens.kernels import Gaussian
from cvxens.problems import RegularizedLeastSquares
from cvxens.solvers import draw_members, least_squares_experts
from cvxens.solvers.experts import certify_expert

X, Y = make_twonorm(30, 3, random_state=1)
K = Gaussian(0.3)(X)
MEMBERS = draw_members(30, 5, (0.5, 0.9), random_state=0)


def problem_of(K, y, gamma, member):
    return RegularizedLeastSquares(K[np.ix_(member, member)], y[member], gamma)


@given(st.integers(0, 10**6), st.integers(1, 4), st.sampled_from([1e-6, 1e-3, 1.0, 1e4]))
def test_every_expert_solves_its_system(seed, n_outputs, gamma):
    rng = np.random.default_rng(seed)
    K = Gaussian(1.0)(rng.normal(size=(12, 2)))
    targets = 10 * rng.normal(size=(12, n_outputs))
    members = draw_members(12, 4, (0.3, 1.0), rng)
    experts = least_squares_experts(K, targets, gamma, members)
    for e, member in enumerate(members.T):
        m = member.sum()
        system = m * gamma * np.eye(m) + K[np.ix_(member, member)]
        expected = np.linalg.solve(system, targets[member])
        assert_allclose(experts.coefficients[member, e], expected, rtol=1e-6, atol=1e-9 * np.abs(expected).max())
        assert_array_equal(experts.coefficients[~member, e], 0)


@given(st.integers(0, 10**6), st.sampled_from([1e-3, 0.1, 10.0]))
def test_the_gap_of_any_coefficients_is_the_residual_of_the_system(seed, gamma):
    rng = np.random.default_rng(seed)
    K, y, c = Gaussian(1.0)(rng.normal(size=(9, 2))), rng.normal(size=9), rng.normal(size=9)
    residual = 9 * gamma * c + K @ c - y
    certificate = RegularizedLeastSquares(K, y, gamma).certify(c=c, s=2 * gamma * c)
    assert certificate.gap == pytest.approx(residual @ residual / 9, rel=1e-8)
    of_expert = certify_expert(c[:, None], (K @ c)[:, None], y[:, None], gamma, largest=1.0)
    assert (of_expert.primal, of_expert.dual) == pytest.approx((certificate.primal, certificate.dual), rel=1e-8)


@pytest.mark.parametrize("gamma", [1e-3, 0.1, 10.0])
def test_certificates_are_those_of_the_problems_and_objectives_those_of_the_reference(gamma):
    experts = least_squares_experts(K, Y, gamma, MEMBERS)
    for e, member in enumerate(MEMBERS.T):
        problem, c = problem_of(K, Y, gamma, member), experts.coefficients[member, e, 0]
        expected = problem.certify(c=c, s=2 * gamma * c)
        assert experts.certificates[e].primal == pytest.approx(expected.primal, rel=1e-10)
        assert experts.certificates[e].dual == pytest.approx(expected.dual, rel=1e-10)
        assert experts.certificates[e].primal == pytest.approx(problem.solve().objective, rel=1e-6)
        assert expected.holds(1e-10)
        assert experts.certificates[e].holds(1e-10)


def test_a_certificate_adds_up_the_outputs():
    targets = np.stack([Y, X[:, 0], X[:, 1]], axis=1)
    together = least_squares_experts(K, targets, 0.01, MEMBERS)
    alone = [least_squares_experts(K, y, 0.01, MEMBERS) for y in targets.T]
    assert_allclose(together.coefficients, np.concatenate([it.coefficients for it in alone], axis=2), rtol=1e-9)
    for e, certificate in enumerate(together.certificates):
        assert certificate.primal == pytest.approx(sum(it.certificates[e].primal for it in alone))


def test_the_certificate_of_all_is_the_worst():
    experts = least_squares_experts(K, Y, 1e-9, MEMBERS)
    worst = experts.certificate
    assert all(it.relative_gap <= worst.relative_gap for it in experts.certificates)
    assert worst in experts.certificates
    assert "of 5 experts" in worst.note
    assert worst.holds(1e-9)


def test_scores_are_expansions():
    targets = np.stack([Y, X[:, 0]], axis=1)
    experts = least_squares_experts(K, targets, 0.01, MEMBERS)
    scores = experts.scores(K[:4])
    assert scores.shape == (4, len(experts), 2)
    for i, e, k in np.ndindex(scores.shape):
        assert scores[i, e, k] == pytest.approx(sum(K[i, j] * experts.coefficients[j, e, k] for j in range(30)))


@pytest.mark.parametrize(
    ("share", "least", "largest"), [(0.5, 10, 10), (1.0, 20, 20), ((0.5, 0.9), 10, 18), (1e-9, 1, 1)]
)
def test_sizes_of_samples(share, least, largest):
    sizes = draw_members(20, 200, share, random_state=0).sum(axis=0)
    assert sizes.min() == least
    assert sizes.max() == largest


def test_samples_are_drawn_alike_and_reproducibly():
    members = draw_members(20, 2000, 0.5, random_state=3)
    assert_array_equal(members, draw_members(20, 2000, 0.5, random_state=3))
    # the share of a binomial count is within 4 standard deviations
    assert np.abs(members.mean(axis=1) - 0.5).max() < 4 * 0.5 / np.sqrt(2000)


def test_matrices_that_are_symmetric_up_to_rounding():
    skewed = K + 1e-15 * np.triu(np.ones_like(K))
    assert least_squares_experts(skewed, Y, 0.01, MEMBERS).certificate.holds(1e-9)


def test_a_penalty_lost_in_rounding_is_a_failure():
    with pytest.raises(SolverFailed, match="Cholesky: singular"):
        least_squares_experts(np.ones((30, 30)), Y, 1e-300, MEMBERS)
