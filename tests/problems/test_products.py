"""A certificate multiplies by the hypotheses as often as it has vectors to multiply, and no more."""

import numpy as np
import pytest

from cvxens.certificates import certify
from cvxens.colgen import Column, formulations
from cvxens.colgen.restricted import Restricted
from cvxens.problems import DenseColumns, LPBoost, RegularizedExpLoss, RegularizedLeastSquares, RhoSVM, SVMDual, maps
from cvxens.problems import formulations as catalogue
from cvxens.problems.maps import KernelMatrix
from cvxens.problems.problem import Problem

random = np.random.default_rng(0)
y = np.array([1.0, -1.0] * 8)
H = random.normal(size=(16, 5))
K = H @ H.T + np.eye(16)
U = np.full(16, 0.05)


@pytest.fixture
def products(monkeypatch):
    """The matrices that were multiplied, measured or plain, since the start of the test."""
    made = []
    product = maps.product

    def counted(A, x, *norms):
        made.extend([A.shape] * (1 if x.ndim == 1 else x.shape[1]))
        return product(A, x, *norms)

    monkeypatch.setattr(maps, "product", counted)
    monkeypatch.setattr(KernelMatrix, "scores", lambda kernel, c: made.append("plain") or kernel.K @ c)
    for name, transposed in (("scores", False), ("edges", True)):

        def plain(columns, x, transposed=transposed):
            made.append("plain")
            return (columns.H.T if transposed else columns.H) @ x

        monkeypatch.setattr(DenseColumns, name, plain)
    return made


@pytest.mark.parametrize("given", [{"u": U}, {"u": U, "b": 0.3}, {"b": 0.3}])
def test_svm_dual_multiplies_by_k_once(products, given):
    problem = SVMDual(K, y, 1.0)
    certificate = certify(problem, **given)
    assert len(products) == 1
    assert certificate.rounding > 0
    assert np.isfinite(list(certificate.residuals.values())).all()


def test_svm_dual_multiplies_once_more_for_residuals_of_multipliers_that_are_moved(products):
    certify(SVMDual(K, y, 1.0), u=np.arange(16.0))
    assert len(products) == 2


def test_other_kernel_problems_multiply_once_for_weights_and_once_for_multipliers(products):
    for problem, given in (
        (RegularizedExpLoss(K, y, 0.1), {"eta": 0.1 * y, "u": U}),
        (RegularizedLeastSquares(K, H[:, 0], 0.1), {"c": 0.1 * y, "s": U}),
    ):
        products.clear()
        certify(problem, **given)
        assert len(products) == 2
    products.clear()
    certify(RhoSVM(K, y), u=np.full(16, 1 / 16))
    # of u, and of the weights y u at their best length
    assert len(products) <= 3


def test_columns_are_multiplied_once_by_weights_and_once_by_multipliers(products):
    certify(LPBoost(H, y, 0.2), a=np.full(5, 0.2), u=np.full(16, 1 / 16))
    assert len(products) == 2


def test_a_round_of_a_master_takes_two_plain_products(products):
    restricted = Restricted(formulations.svm(1.0), y)
    restricted.add([Column(lambda X, h=h: h, H, 0.0) for h in H.T])
    restricted.evaluate({"w": np.ones(5), "b": np.zeros(()), "u": np.linspace(0.1, 0.9, 16)})
    assert products == ["plain", "plain"]


def test_svm_dual_is_the_svm_over_a_kernel_with_its_sides_swapped():
    dual = SVMDual(K, y, 1.0).evaluate({"u": U, "b": np.asarray(0.3)})
    primal = Problem(catalogue.svm(1.0), KernelMatrix(K), y).evaluate({"w": y * U, "b": np.asarray(0.3), "u": U})
    assert (dual.primal, dual.dual) == (-primal.dual, -primal.primal)
    assert dual.rounding == pytest.approx(primal.rounding)
