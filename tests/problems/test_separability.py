import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problem_cases import dense

from cvxens.errors import NotSeparable
from cvxens.problems import DenseColumns, HardMarginBoosting, Signed, StumpColumns
from cvxens.problems.problem import not_separable

SOLVERS = [None, "CLARABEL", "SCS"]


def assert_farkas(error, H, y):
    """No hypothesis has a positive edge under weights u >= 0 with sum 1, checked without the package."""
    u = error.farkas
    assert u.shape == y.shape
    assert u.min() >= 0
    assert u.sum() == pytest.approx(1.0, abs=1e-12)
    edges = [sum(u[i] * y[i] * H[i, j] for i in range(len(y))) for j in range(H.shape[1])]
    assert max(edges) <= 1e-7 * np.abs(H).max()
    assert error.max_edge == pytest.approx(max(edges), abs=1e-14 * np.abs(H).max())


def test_xor_is_beyond_stumps():
    X, y = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]]), np.array([1.0, 1.0, -1.0, -1.0])
    columns = Signed(StumpColumns(X))
    with pytest.raises(NotSeparable) as caught:
        HardMarginBoosting(columns, y).solve()
    assert_farkas(caught.value, dense(columns), y)
    np.testing.assert_allclose(caught.value.farkas, 0.25, atol=1e-6)
    assert columns.edges(y).max() == 0


@settings(max_examples=15)
@given(seed=st.integers(0, 2**32 - 1), size=st.sampled_from([1e-6, 1.0, 1e5]))
def test_a_sample_under_both_labels_is_proof_whatever_the_scale_of_H(seed, size):
    random = np.random.default_rng(seed)
    n = int(random.integers(2, 7))
    H = size * np.where(random.random((n, 6)) < 0.5, -1.0, 1.0)
    H, y = np.vstack([H, H[:1], H]), np.r_[np.ones(n), -1.0, np.ones(n)]
    with pytest.raises(NotSeparable) as caught:
        HardMarginBoosting(H, y).solve()
    assert_farkas(caught.value, H, y)


@pytest.mark.parametrize("solver", SOLVERS)
def test_every_solver_leads_to_the_proof(solver):
    H, y = np.array([[1.0, -1.0], [1.0, -1.0], [1.0, 1.0]]), np.array([1.0, -1.0, 1.0])
    with pytest.raises(NotSeparable) as caught:
        HardMarginBoosting(H, y).solve(solver)
    assert_farkas(caught.value, H, y)
    assert caught.value.farkas[2] == pytest.approx(0, abs=1e-6)


def test_hypotheses_that_are_all_wrong_have_negative_edges():
    y = np.array([1.0, -1.0, 1.0])
    with pytest.raises(NotSeparable) as caught:
        HardMarginBoosting(-y[:, None], y).solve()
    assert caught.value.max_edge < -0.1
    assert_farkas(caught.value, -y[:, None], y)


@pytest.mark.parametrize("margin", [1.0, 1e-3, 1e-5])
def test_separable_classes_are_solved_however_thin_the_margin(margin):
    y = np.array([1.0, -1.0, 1.0, -1.0])
    H = (y * [margin, 1.0, 1.0, 1.0])[:, None]
    problem = HardMarginBoosting(H, y)
    solution = problem.solve()
    assert solution.objective == pytest.approx(1 / margin, rel=1e-6)
    assert problem.certify(solution).holds(1e-6)


def test_where_margins_can_be_reached_there_is_no_proof():
    y = np.array([1.0, -1.0, 1.0])
    H = DenseColumns(np.column_stack([y, -y]))
    assert not_separable(H, y, intercept=False, nonnegative=True) is None
    threshold = DenseColumns(np.array([[3.0], [1.0], [2.5]]))
    assert not_separable(threshold, y, intercept=False, nonnegative=True) is not None
    assert not_separable(threshold, y, intercept=True, nonnegative=True) is None
    assert not_separable(DenseColumns(-threshold.H), y, intercept=True, nonnegative=True) is not None
    assert not_separable(DenseColumns(-threshold.H), y, intercept=True, nonnegative=False) is None


def test_multipliers_prove_bounds_on_an_infeasible_problem_too():
    H, y = np.array([[1.0], [1.0]]), np.array([1.0, -1.0])
    certificate = HardMarginBoosting(H, y).certify(u=[5.0, 5.0], w=[1.0])
    assert (certificate.primal, certificate.dual, certificate.gap) == (np.inf, 10.0, np.inf)
    assert not certificate.proven
