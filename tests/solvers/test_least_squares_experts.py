"""Every expert against numpy's solution of its system, the certified problem and cvxpy, solved in either way."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.ensemble import RandomForestRegressor

from cvxens import limits
from cvxens.datasets import make_twonorm
from cvxens.errors import InvalidInput, SolverFailed
from cvxens.kernels import Gaussian, TreeEnsemble
from cvxens.problems import RegularizedLeastSquares
from cvxens.solvers import conjugate_gradients, draw_members, iterated_least_squares_experts, least_squares_experts
from cvxens.solvers import experts as iterated
from cvxens.solvers.experts import certify_expert

SOLVERS = {least_squares_experts: 1e-9, iterated_least_squares_experts: 1e-5}
"""How far from the largest coefficient each is."""

X, Y = make_twonorm(30, 3, random_state=1)
K = Gaussian(0.3)(X)
MEMBERS = draw_members(30, 5, (0.5, 0.9), random_state=0)


def problem_of(K, y, gamma, member):
    return RegularizedLeastSquares(K[np.ix_(member, member)], y[member], gamma)


@pytest.mark.parametrize("solve", SOLVERS)
@given(st.integers(0, 10**6), st.integers(1, 20), st.sampled_from([1e-6, 1e-3, 1.0, 1e4]), st.booleans())
def test_every_expert_solves_its_system(solve, seed, n_outputs, gamma, tied):
    rng = np.random.default_rng(seed)
    K = Gaussian(1.0)(rng.normal(size=(12, 2)).round(0 if tied else 9))
    targets = 10 * rng.normal(size=(12, n_outputs))
    members = draw_members(12, 4, (0.3, 1.0), rng)
    experts = solve(K, targets, gamma, members)
    assert experts.certificate.holds(1e-10 if gamma >= 1e-3 else 1e-5)
    for e, member in enumerate(members.T):
        m = member.sum()
        system = m * gamma * np.eye(m) + K[np.ix_(member, member)]
        expected = np.linalg.solve(system, targets[member])
        atol = SOLVERS[solve] * np.abs(expected).max()
        assert_allclose(experts.coefficients[member, e], expected, rtol=1e-6, atol=atol)
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


MANY, SIGNS = make_twonorm(300, 3, random_state=1)
TARGETS = np.stack([SIGNS, MANY[:, 0], np.zeros(300)], axis=1)
PARTS = draw_members(300, 18, (0.5, 0.9), random_state=0)
FOREST = RandomForestRegressor(10, random_state=0).fit(MANY, MANY[:, 0] * MANY[:, 1])


@pytest.mark.thinned(1, gamma=[1e-5, 1e-3, 1.0], kind=["leaf", "depth"])
def test_experts_with_the_kernel_of_a_forest_are_those_of_the_closed_form(kind, gamma):
    kernel = TreeEnsemble(FOREST, kind)
    found = iterated_least_squares_experts(kernel.unwritten(MANY), TARGETS, gamma, PARTS)
    expected = least_squares_experts(kernel(MANY), TARGETS, gamma, PARTS)
    size = np.abs(expected.coefficients).max()
    assert_allclose(found.coefficients, expected.coefficients, atol=1e-5 * size)
    assert_array_equal(found.coefficients[~PARTS], 0)
    for ours, theirs in zip(found.certificates, expected.certificates, strict=True):
        assert ours.primal == pytest.approx(theirs.primal, rel=1e-10)
        assert ours.holds(1e-10)
        assert ours.gap - ours.rounding <= 1e-11 * ours.primal


def test_a_poor_preconditioner_costs_steps_only(monkeypatch):
    K = TreeEnsemble(FOREST, "ancestors").unwritten(MANY)
    known = iterated_least_squares_experts(K, SIGNS, 1e-3, PARTS)
    monkeypatch.setattr(iterated, "RANK", 2)
    unknown = iterated_least_squares_experts(K, SIGNS, 1e-3, PARTS)
    assert_allclose(unknown.coefficients, known.coefficients, atol=1e-5 * np.abs(known.coefficients).max())
    assert unknown.certificate.holds(1e-11)


def test_the_factor_is_below_the_matrix_and_exact_where_it_is_known():
    K = TreeEnsemble(FOREST, "depth")(MANY)
    L = iterated.factor_by_nystroem(K, 50)
    left_out = K - L @ L.T
    assert np.linalg.eigvalsh(left_out).min() > -1e-9 * np.abs(K).max()
    assert (np.abs(left_out).max(axis=0) < 1e-9 * np.abs(K).max()).sum() >= 50
    whole = iterated.factor_by_nystroem(K, 300)
    assert_allclose(whole @ whole.T, K, atol=1e-9 * np.abs(K).max())


def test_the_factor_ends_within_half_of_the_time(monkeypatch):
    K, clock = TreeEnsemble(FOREST, "depth")(MANY), SimpleNamespace(now=0.0)

    class Slow(SimpleNamespace):
        def __matmul__(self, units):
            clock.now += units.shape[1]
            return K @ units

    monkeypatch.setattr(limits, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    with limits.limit_time(100.0):
        L = iterated.factor_by_nystroem(Slow(shape=K.shape), 200)
    assert 50 <= clock.now <= 70
    assert np.linalg.eigvalsh(K - L @ L.T).min() > -1e-9 * np.abs(K).max()


def test_preconditioning_is_the_inverse_of_what_is_known():
    L = np.random.default_rng(0).normal(size=(300, 5))
    R = PARTS[:, :2].repeat(3, axis=1) * np.random.default_rng(1).normal(size=(300, 6))
    found = iterated.Systems.from_members(L, 0.1, PARTS[:, :2], 3).precondition(R)
    for k, rows in enumerate(PARTS[:, :2].repeat(3, axis=1).T):
        system = rows.sum() * 0.1 * np.eye(rows.sum()) + L[rows] @ L[rows].T
        assert_allclose(found[rows, k], np.linalg.solve(system, R[rows, k]), rtol=1e-9, atol=1e-12)
        assert_array_equal(found[~rows, k], 0)


def test_a_kernel_that_is_zero():
    experts = iterated_least_squares_experts(np.zeros((300, 300)), SIGNS, 0.01, PARTS)
    sizes = PARTS.sum(axis=0)
    assert_allclose(experts.coefficients[:, :, 0], PARTS * SIGNS[:, None] / (0.01 * sizes))


@pytest.mark.parametrize("solve", SOLVERS)
def test_threads_change_nothing(solve):
    K = TreeEnsemble(FOREST, "depth")(MANY)
    before = K.copy()
    one, two = (solve(K, TARGETS, 1e-3, PARTS, n_jobs=n_jobs) for n_jobs in (1, 2))
    assert_array_equal(one.coefficients, two.coefficients)
    assert_array_equal(K, before)


def test_systems_are_solved_as_far_as_asked(monkeypatch):
    monkeypatch.setattr(iterated, "RANK", 2)
    K = TreeEnsemble(FOREST, "depth").unwritten(MANY)
    for tol in (1e-2, 1e-4, 1e-7):
        experts = iterated_least_squares_experts(K, SIGNS, 1e-3, PARTS, tol=tol)
        assert tol / 100 < experts.certificate.relative_gap <= 1.01 * tol


def test_too_few_steps_are_a_failure(monkeypatch):
    monkeypatch.setattr(conjugate_gradients, "MAX_STEPS", 1)
    monkeypatch.setattr(iterated, "RANK", 2)
    with pytest.raises(SolverFailed, match=r"relative gap .* after 1 steps: give a larger gamma"):
        iterated_least_squares_experts(TreeEnsemble(FOREST, "depth").unwritten(MANY), SIGNS, 1e-6, PARTS)


@pytest.mark.parametrize("rank", [2, 300])
def test_matrices_that_are_not_psd(rank, monkeypatch):
    monkeypatch.setattr(iterated, "RANK", rank)
    with pytest.raises(InvalidInput, match=r"^K: found a kernel matrix that is not PSD"):
        iterated_least_squares_experts(np.eye(300) - np.ones((300, 300)) / 10, MANY[:, 0] + 9, 1e-6, PARTS)
