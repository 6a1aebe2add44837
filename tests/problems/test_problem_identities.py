"""What ties the formulations to each other and to closed forms."""

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from problem_cases import dense, solved
from scipy.optimize import linprog
from sklearn.svm import SVC

from cvxens import problems
from cvxens.kernels import MiddleStump, Perceptron, SimplifiedStump, Stump

seeds = st.integers(0, 2**32 - 1)
few = settings(max_examples=5)
many = settings(max_examples=20)


def sample(seed, n=14, d=3):
    """A sample with ties, a duplicated and a constant feature, and noisy labels."""
    random = np.random.default_rng(seed)
    y = np.array([1.0, -1.0])[np.arange(n) % 2]
    X = np.round(random.normal(size=(n, d)) + 0.5 * y[:, None], 1)
    return np.column_stack([X, X[:, 0], np.ones(n)]), y


def hypotheses(seed, n=14, m=9):
    random = np.random.default_rng(seed)
    y = np.array([1.0, -1.0])[np.arange(n) % 2]
    return np.where(random.random((n, m)) < 0.35, -1.0, 1.0) * y[:, None], y


@many
@given(seed=seeds, C=st.sampled_from([0.01, 0.3, 5.0]))
def test_a_point_is_worth_the_same_under_every_stump_kernel(seed, C):
    X, y = sample(seed)
    random = np.random.default_rng(seed)
    u, b = random.uniform(0, C, len(y)), float(random.normal())
    wide = Stump(low=X.min(axis=0) - 1, high=X.max(axis=0) + 3)(X)
    kernels = [Stump()(X), wide, SimplifiedStump()(X), Stump()(X) + 7.0, Stump()(X) - 50.0]
    certificates = [problems.SVMDual(K, y, C).certify(u=u, b=b) for K in kernels]
    for other in certificates[1:]:
        assert other.primal == pytest.approx(certificates[0].primal, rel=1e-9, abs=1e-9)
        assert other.dual == pytest.approx(certificates[0].dual, rel=1e-9, abs=1e-9)


@few
@given(seed=seeds)
def test_the_stump_kernels_give_one_classifier(seed):
    X, y = sample(seed)
    posed = [problems.SVMDual(K, y, 0.4) for K in (Stump()(X), SimplifiedStump()(X), Stump()(X) - 3.0)]
    solutions = [solved(problem) for problem in posed]
    scores = [
        problem.K @ (y * solution.variables["u"]) + solution.duals["b"]
        for problem, solution in zip(posed, solutions, strict=True)
    ]
    for solution in solutions:
        assert solution.objective == pytest.approx(solutions[0].objective, rel=1e-6)
        for problem in posed:
            assert problem.certify(solution).holds(1e-6)
    for f in scores[1:]:
        np.testing.assert_allclose(f - f.mean(), scores[0] - scores[0].mean(), atol=2e-4)


@few
@given(seed=seeds, C=st.sampled_from([0.05, 2.0]))
def test_the_infinite_svm_on_the_cells_of_stumps_is_the_stump_kernel_svm(seed, C):
    X, y = sample(seed)
    kernel = Stump(low=X.min(axis=0) - 0.5, high=X.max(axis=0) + 0.25)
    infinite, finite = problems.InfiniteSVM(kernel.cells(X), y, C), problems.SVMDual(kernel(X), y, C)
    primal, dual = solved(infinite), solved(finite)
    assert primal.objective == pytest.approx(-dual.objective, rel=1e-6)
    assert infinite.certify(primal, u=dual.variables["u"]).holds(1e-6)
    assert finite.certify(u=primal.duals["u"], b=primal.variables["b"]).holds(1e-6)


@few
@given(seed=seeds)
def test_weights_over_scale_are_edges_signed_by_y(seed):
    """LL08 Theorem 7 with the y_i that its printed proof drops: w(a)/r(a) = sum_i u_i y_i h_a(x_i)."""
    X, y = sample(seed)
    cells = Stump().cells(X)
    solution = solved(problems.InfiniteSVM(cells, y, 0.5))
    stumps = np.where(X[:, cells.features] >= cells.thresholds, 1.0, -1.0)
    edges = stumps.T @ (y * solution.duals["u"])
    np.testing.assert_allclose(solution.variables["w"] / cells.scale, edges, atol=1e-4)
    assert np.abs(edges).max() > 0.1
    without_labels = stumps.T @ solution.duals["u"]
    assert np.abs(solution.variables["w"] / cells.scale - without_labels).max() > 0.1


def test_the_infinite_svm_on_perceptron_cells_tends_to_the_perceptron_kernel_svm():
    random = np.random.default_rng(3)
    y = np.array([1.0, -1.0] * 4)
    X = random.normal(size=(8, 2)) + 0.5 * y[:, None]
    kernel = Perceptron(radius=4.0)
    optimum = -solved(problems.SVMDual(kernel(X), y, 1.0)).objective
    errors = []
    for n_directions in (3, 60, 2000):
        cells = kernel.cells(X, n_directions, random_state=0)
        sampled = cells.scores(cells.edges(np.eye(len(y))))
        infinite = solved(problems.InfiniteSVM(cells, y, 1.0)).objective
        assert infinite == pytest.approx(-solved(problems.SVMDual(sampled, y, 1.0)).objective, rel=1e-6)
        errors.append(abs(infinite - optimum) / optimum)
    assert errors[2] < 0.03 < errors[0]
    assert errors[2] < errors[1] < errors[0]


@few
@given(seed=seeds, C=st.sampled_from([0.02, 0.5]))
def test_the_middle_stump_kernel_svm_is_the_svm_over_middle_stumps(seed, C):
    X, y = sample(seed)
    kernel = -solved(problems.SVMDual(MiddleStump(X)(X), y, C)).objective
    for constant in (False, True):
        primal = solved(problems.SVMPrimal(problems.StumpColumns(X, constant=constant), y, C))
        assert primal.objective == pytest.approx(kernel, rel=1e-6)


def p4(H, y, C):
    n, m = H.shape
    rows = -np.hstack([y[:, None] * H, np.eye(n)])
    answer = linprog(np.r_[np.ones(m), np.full(n, C)], A_ub=rows, b_ub=-np.ones(n), method="highs")
    return answer.fun


@few
@given(seed=seeds, C=st.sampled_from([0.15, 0.4, 3.0]))
def test_p4_and_lpboost_are_one_model(seed, C):
    H, y = hypotheses(seed)
    U = p4(H, y, C)
    assume(0.999 * C * len(y) > U)
    soft, boost = problems.SoftMarginBoosting(H, y, C), problems.LPBoost(H, y, C / U)
    solution = solved(boost)
    assert solution.objective == pytest.approx(1 / U, rel=1e-6)
    assert solved(soft).objective == pytest.approx(U, rel=1e-6)
    rho = solution.variables["rho"]
    assert soft.certify(w=solution.variables["a"] / rho, u=solution.duals["u"] * U).holds(1e-6)
    back = solved(soft)
    a = back.variables["w"] / back.variables["w"].sum()
    assert boost.certify(a=a, u=back.duals["u"] / back.duals["u"].sum()).holds(1e-6)


@few
@given(seed=seeds)
def test_over_all_stumps_the_sparse_link_gives_the_linear_program_of_all_columns(seed):
    X, y = sample(seed)
    columns = problems.Signed(problems.StumpColumns(X))
    H = dense(columns)
    assert solved(problems.SoftMarginBoosting(columns, y, 0.3)).objective == pytest.approx(p4(H, y, 0.3), rel=1e-6)
    own, other = solved(problems.LPBoost(columns, y, 0.3)), solved(problems.LPBoost(H, y, 0.3))
    assert own.objective == pytest.approx(other.objective, rel=1e-6)


def test_two_classes_need_one_output_and_agree_with_least_squares_in_an_array():
    H, y = hypotheses(5)
    flat, column = problems.SLSSVM(H, y, 0.7), problems.SLSSVM(H, y[:, None], 0.7)
    assert flat.L.shape == (len(y), 1)
    solution = solved(flat)
    assert solution.objective == pytest.approx(solved(column).objective, rel=1e-9)
    W, b = solution.variables["W"], solution.variables["b"]
    assert flat.certify(w=W.ravel(), b=float(b[0]), u=solution.duals["U"].ravel()).holds(1e-6)


def entropy_problem(seed, *, equality):
    X, y = sample(seed)
    K = Stump()(X) + 0.5 * np.eye(len(y))
    alpha_t = np.random.default_rng(seed).dirichlet(np.full(len(y), 3.0))
    q = y * (K @ (y * alpha_t))
    return problems.EntropyProjection(K, y, alpha_t, float(q @ alpha_t), equality=equality)


@few
@given(seed=seeds, share=st.sampled_from([0.1, 0.6, 0.95]))
def test_the_entropy_projection_is_the_softmax_at_its_multiplier(seed, share):
    equal, at_most = entropy_problem(seed, equality=True), entropy_problem(seed, equality=False)
    mean, low = equal.rho, float(equal.q.min())
    equal.rho = at_most.rho = (1 - share) * mean + share * low
    first, second = equal.solve(), at_most.solve()
    assert first.objective == pytest.approx(second.objective, rel=1e-5)
    assert first.duals["eta"] > 0
    for problem, solution in ((equal, first), (at_most, second)):
        eta = float(solution.duals["eta"])
        alpha = problem.alpha_t * np.exp(-eta * problem.q)
        np.testing.assert_allclose(solution.variables["alpha"], alpha / alpha.sum(), atol=1e-4)
        assert problem.q @ solution.variables["alpha"] == pytest.approx(problem.rho, abs=1e-6 * np.abs(problem.q).max())
        assert problem.certify(eta=eta).relative_gap < 1e-2


@many
@given(seed=seeds, share=st.sampled_from([1e-7, 1e-5, 1e-3, 0.1]))
@example(seed=171578, share=0.1)
def test_a_projection_however_small_is_certified_at_its_multiplier(seed, share):
    problem = entropy_problem(seed, equality=True)
    alpha = problem.alpha_t * np.exp(-share * problem.q)
    alpha /= alpha.sum()
    problem.rho = float(problem.q @ alpha)
    certificate = problem.certify(alpha=alpha, eta=share)
    # a margin that is off is mended by mixing in a vertex, whose entropy is -ln alpha_t; q, rho and the two sums that
    # make the margin are each off by at most two ulps of the largest |q|
    ends = [int(problem.q.argmin()), int(problem.q.argmax())]
    price = max(-np.log(problem.alpha_t[v]) / abs(problem.q[v] - problem.rho) for v in ends)
    assert certificate.gap >= 0
    assert certificate.gap < 8 * np.finfo(float).eps * (1 + np.abs(problem.q).max() * price)
    assert certificate.gap - certificate.rounding < 1e-15
    left = problem.q - problem.q @ problem.alpha_t
    assert certificate.dual == pytest.approx(share**2 / 2 * problem.alpha_t @ left**2, rel=0.3)


def test_where_p4_takes_no_weights_lpboost_at_the_mapped_price_takes_the_best_mean_margin():
    H, y = hypotheses(0)
    n, largest = len(y), (H.T @ y).max()
    C = 0.9 / largest
    U = p4(H, y, C)
    assert pytest.approx(n * C) == U
    assert solved(problems.LPBoost(H, y, C / U)).objective == pytest.approx(largest / n, rel=1e-6)
    assert largest / n < 1 / U


def test_prices_at_which_nothing_is_worth_its_weight():
    H, y = hypotheses(0)
    n = len(y)
    largest = (H.T @ y).max()
    soft = problems.SoftMarginBoosting(H, y, 0.9 / largest)
    solution = solved(soft)
    assert solution.objective == pytest.approx(n * 0.9 / largest, rel=1e-6)
    np.testing.assert_allclose(solution.variables["w"], 0, atol=1e-6)
    tiny = problems.SVMPrimal(H, y, 1e-5)
    assert tiny.solve().objective == pytest.approx(1e-5 * n, rel=1e-3)


def test_lpboost_goes_from_the_mean_to_the_minimum_margin():
    H, y = hypotheses(4)
    mean = problems.LPBoost(H, y, 1 / len(y))
    assert solved(mean).objective == pytest.approx((H.T @ y).max() / len(y), rel=1e-6)
    separable = np.column_stack([H, 0.5 * y])
    hard = solved(problems.LPBoost(separable, y, 1.0)).objective
    assert hard == pytest.approx(1 / solved(problems.HardMarginBoosting(separable, y)).objective, rel=1e-6)


def test_p4_at_a_high_price_is_p3_and_the_infinite_svm_on_a_matrix_is_p1():
    H, y = hypotheses(4)
    separable = np.column_stack([H, 0.5 * y])
    hard = solved(problems.HardMarginBoosting(separable, y)).objective
    assert solved(problems.SoftMarginBoosting(separable, y, 100.0)).objective == pytest.approx(hard, rel=1e-6)
    own, other = solved(problems.InfiniteSVM(H, y, 0.3)), solved(problems.SVMPrimal(H, y, 0.3))
    assert own.objective == pytest.approx(other.objective, rel=1e-9)


@pytest.mark.parametrize("C", [10.0, 1e4, 1e7])
def test_slack_of_rounding_size_at_a_high_price_is_spared(C):
    X, y = sample(3)
    X = X + 2 * y[:, None]
    K = Stump()(X)
    machine = SVC(kernel="precomputed", C=C, tol=1e-8).fit(K, y)
    u = np.zeros(len(y))
    u[machine.support_] = np.abs(machine.dual_coef_[0])
    problem = problems.SVMDual(K, y, C)
    assert problem.certify(u=u, b=machine.intercept_).relative_gap < 1e-6
    cells = Stump().cells(X)
    infinite = problems.InfiniteSVM(cells, y, C).certify(w=cells.edges(y * u), b=machine.intercept_, u=u)
    assert infinite.relative_gap < 1e-6
    z = y * (K @ (y * u) + machine.intercept_)
    assert C * np.maximum(1 - z, 0).sum() > 1e-9 * C
    assert infinite.primal <= (y * u) @ K @ (y * u) / 2 + C * np.maximum(1 - z, 0).sum() + 1e-12


def test_slack_worth_its_price_stays():
    problem = problems.SVMPrimal([[1.0], [-1.0]], [1.0, -1.0], C=0.1)
    w = 0.2
    certificate = problem.certify(w=[w], b=0.0, u=[0.1, 0.1])
    assert certificate.primal == pytest.approx(w**2 / 2 + 0.1 * 2 * (1 - w))
    assert certificate.repair["w"] == 0
    assert certificate.holds(1e-9)


def test_heavy_and_light_penalties():
    X, y = sample(1)
    K = Stump()(X) + np.eye(len(y))
    assert problems.RegularizedExpLoss(K, y, 1e5).solve().objective == pytest.approx(1.0, abs=1e-4)
    assert problems.RegularizedLeastSquares(K, y, 1e5).solve().objective == pytest.approx(1.0, abs=1e-4)
    light = problems.RegularizedLeastSquares(K, y, 1e-9).solve()
    np.testing.assert_allclose(K @ light.variables["c"], y, atol=1e-6)


@pytest.mark.parametrize("k", range(2, 9))
def test_simplex_codes_are_the_corners_of_a_regular_simplex(k):
    codes = problems.simplex_codes(k)
    assert codes.shape == (k, k - 1)
    expected = np.full((k, k), -1 / (k - 1))
    np.fill_diagonal(expected, 1.0)
    np.testing.assert_allclose(codes @ codes.T, expected, atol=1e-14)
    np.testing.assert_allclose(codes.sum(axis=0), 0, atol=1e-14)
    np.testing.assert_allclose(codes.T @ codes, k / (k - 1) * np.eye(k - 1), atol=1e-14)
