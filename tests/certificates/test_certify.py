"""certify on a problem of the textbook kind, with a fake, and on solutions from elsewhere."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.ensemble import AdaBoostClassifier
from sklearn.linear_model import Ridge
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from cvxens.certificates import certify
from cvxens.errors import InvalidInput
from cvxens.problems import LPBoost, RegularizedLeastSquares, SoftMarginBoosting, SVMDual, SVMPrimal
from cvxens.types import Solution

random = np.random.default_rng(7)
y = np.array([1.0, -1.0] * 10)
X = random.normal(size=(20, 3)) + 0.5 * y[:, None]


class Toy:
    """min x^2 subject to x >= 1; its dual is max u - u^2 / 4 on u >= 0."""

    maximise = False
    size = 0.0

    def __init__(self):
        self.aliases, self.shapes = {"weight": "x"}, {"x": (), "u": ()}

    def evaluate(self, point):
        x, u = np.maximum(point.get("x", 1.0), 1.0), np.maximum(point.get("u", 0.0), 0.0)

        def residuals(given):
            at = {"x": x, "u": u, **given}
            return {"primal feasibility": float(1 - at["x"]), "stationarity": float(2 * at["x"] - at["u"])}

        primal, dual = float(x**2), float(u - u**2 / 4)
        point = {"x": x, "u": u}
        return SimpleNamespace(point=point, primal=primal, dual=dual, condition="", rounding=0.0, residuals=residuals)


def test_values_are_at_the_repaired_point_and_residuals_at_the_given_one():
    certificate = certify(Toy(), x=0.5, u=1.0)
    assert (certificate.primal, certificate.dual, certificate.gap) == (1.0, 0.75, 0.25)
    assert certificate.relative_gap == 0.25
    assert certificate.residuals == {"primal feasibility": 0.5, "stationarity": 0.0}
    assert certificate.repair == {"x": 0.5, "u": 0.0}
    assert certify(Toy(), weight=0.5, u=1.0) == certificate


def test_what_is_not_given_is_derived():
    certificate = certify(Toy(), u=[2.0])
    assert (certificate.primal, certificate.dual) == (1.0, 1.0)
    assert certificate.repair == {"x": np.inf, "u": 0.0}
    assert "x derived, u moved by 0" in str(certificate)
    assert certify(Toy(), x=None, u=2.0) == certificate


def test_no_solver_is_asked_and_nothing_it_says_counts():
    problem = SVMDual(X @ X.T, y, 1.0)
    claimed = Solution(-1e9, {"u": np.zeros(20)}, {"b": np.asarray(0.0)}, "optimal", "a liar", 0.0)
    certificate = problem.certify(claimed)
    assert (certificate.primal, certificate.dual) == (0.0, -20.0)
    assert not certificate.holds(0.9)
    assert problem.certify(claimed.variables, **claimed.duals) == certificate


def test_arrays_override_those_of_a_solution():
    problem = SVMPrimal(X, y, 1.0)
    solution = problem.solve()
    spoilt = problem.certify(solution, u=np.zeros(20))
    assert spoilt.dual == 0
    assert spoilt.primal == problem.certify(solution).primal
    assert problem.certify({**solution.variables, **solution.duals}) == problem.certify(solution)


def test_libsvm_is_certified_from_its_own_attributes():
    machine = SVC(kernel="linear", C=0.5, tol=1e-9).fit(X, y)
    u = np.zeros(20)
    u[machine.support_] = np.abs(machine.dual_coef_[0])
    dual = SVMDual(X @ X.T, y, 0.5)
    assert dual.certify(u=u, b=machine.intercept_).holds(1e-6)
    assert SVMPrimal(X, y, 0.5).certify(w=machine.coef_, b=machine.intercept_, u=u).holds(1e-6)
    loose = SVC(kernel="linear", C=0.5, tol=0.5).fit(X, y)
    u = np.zeros(20)
    u[loose.support_] = np.abs(loose.dual_coef_[0])
    certificate = dual.certify(u=u, b=loose.intercept_)
    assert not certificate.holds(1e-6)
    assert certificate.gap > 0


def test_ridge_regression_is_certified_through_its_coefficients():
    K, gamma = X @ X.T, 0.05
    ridge = Ridge(alpha=20 * gamma, fit_intercept=False).fit(X, y)
    c = (y - ridge.predict(X)) / (20 * gamma)
    assert RegularizedLeastSquares(K, y, gamma).certify(c=c).holds(1e-9)


def test_adaboost_of_scikit_learn_is_within_its_gap_of_lpboost():
    stump = DecisionTreeClassifier(max_depth=1, random_state=0)
    boosted = AdaBoostClassifier(stump, n_estimators=12, random_state=0).fit(X, y)
    H = np.column_stack([tree.predict(X) for tree in boosted.estimators_])
    problem = LPBoost(H, y, 0.2)
    weights = boosted.estimator_weights_[: H.shape[1]]
    certificate = problem.certify(w=weights)
    assert certificate.repair["u"] == np.inf
    assert certificate.proven
    assert certificate.gap > 0
    optimum = problem.solve().objective
    assert certificate.primal <= optimum + 1e-9 <= certificate.dual + 2e-9


def test_lists_and_columns_will_do():
    problem = SoftMarginBoosting(X.tolist(), y.astype(int).tolist(), 1)
    w = [0.5, 0.0, 0.25]
    assert problem.certify(w=w).primal == problem.certify(w=np.array(w)[:, None]).primal


def test_points_are_copied_and_not_changed():
    problem = SoftMarginBoosting(X, y, 1.0)
    w, u = np.array([-1.0, 2.0, 3.0]), np.full(20, 5.0)
    problem.certify(w=w, u=u)
    np.testing.assert_array_equal(w, [-1.0, 2.0, 3.0])
    np.testing.assert_array_equal(u, 5.0)


def test_the_first_fault_is_named():
    with pytest.raises(InvalidInput, match=r"u: found shape \(3,\); give an array of shape \(20,\)"):
        certify(SVMPrimal(X, y, 1.0), w=np.ones(3), u=np.ones(3))


def test_products_below_the_least_float_count_as_rounding():
    K, c = np.diag([1e9, 2e9]), np.array([-6e-301, 5e-301])
    certificate = certify(RegularizedLeastSquares(K, [0.0, 0.0], 1e-5), c=c)
    # the least is 0, at c = 0; of this point no digit is known
    assert certificate.primal == certificate.dual == 0.0
    assert 0 < certificate.rounding < 1e-300
    assert certificate.proven
    assert not certificate.holds(1.0)
    assert certify(RegularizedLeastSquares(K, [0.0, 0.0], 1e-5), c=0 * c).holds(0.0)
