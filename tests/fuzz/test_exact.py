"""The solver in rational numbers, against HiGHS, optimality conditions and closed forms."""

from fractions import Fraction

import exact
import numpy as np
import pytest
from scipy.optimize import linprog

from cvxens.problems import SVMPrimal


@pytest.mark.parametrize("seed", range(20))
def test_exact_linear_programs_agree_with_highs(seed):
    random = np.random.default_rng(seed)
    n, m = random.integers(2, 6, 2)
    A, b, c = (random.integers(-3, 4, shape).astype(float) for shape in ((m, n), m, n))
    found = exact.minimise(None, *(exact.fractions(values) for values in (c, A, b)))
    peer = linprog(c, A_ub=-A, b_ub=-b, method="highs")
    assert (found is None) == (peer.status in (2, 3, 4))
    if found is not None:
        assert float(found[0]) == pytest.approx(peer.fun, abs=1e-9)
        assert exact.dot(exact.fractions(b), found[2]) == found[0]


@pytest.mark.parametrize("seed", range(10))
def test_exact_quadratic_programs_fulfil_their_conditions(seed):
    random = np.random.default_rng(seed)
    H = exact.fractions(random.integers(-3, 4, (4, 2)).astype(float))
    y, C = exact.fractions(np.array([1.0, -1.0, 1.0, -1.0])), [Fraction(1, 3), *[Fraction(2)] * 3]
    K = [[a + 7 for a in row] for row in exact.gram(H)]
    value, u, b = exact.svm_dual(K, y, C)
    f = exact.product(K, [a * s for a, s in zip(u, y, strict=True)])
    assert exact.dot(u, y) == 0
    for multiplier, price, score, sign in zip(u, C, f, y, strict=True):
        margin = sign * (score + b)
        assert 0 <= multiplier <= price
        assert multiplier == price or margin >= 1
        assert multiplier == 0 or margin <= 1
    problem = SVMPrimal([[float(a) for a in row] for row in H], [1, -1, 1, -1], 1.0)
    certificate = problem.certify(problem.solve())
    same, _, _ = exact.svm_dual(exact.gram(H), y, [Fraction(1)] * 4)
    assert certificate.primal == pytest.approx(-float(same), rel=1e-6, abs=1e-6)
    assert value <= 0


def test_degenerate_programs_do_not_cycle():
    """Beale's example, on which the simplex method with the plainest rule cycles."""
    c = [Fraction(-3, 4), Fraction(150), Fraction(-1, 50), Fraction(6)]
    A = [
        [Fraction(-1, 4), Fraction(60), Fraction(1, 25), Fraction(-9)],
        [Fraction(-1, 2), Fraction(90), Fraction(1, 50), Fraction(-3)],
        [Fraction(0), Fraction(0), Fraction(-1), Fraction(0)],
    ]
    value, x, _ = exact.minimise(None, c, A, [Fraction(0), Fraction(0), Fraction(-1)])
    assert value == Fraction(-1, 20)
    assert x == [Fraction(1, 25), 0, 1, 0]


def test_brackets_of_what_has_logarithms_are_tight():
    K, y = exact.fractions(np.array([[2.0, 1.0], [1.0, 3.0]])), exact.fractions(np.array([1.0, -1.0]))
    low, high, eta = exact.regularized_exp_loss(K, y, Fraction(1, 100))
    assert abs(high - low) < high / 10**30
    assert abs(exact.exp_loss_at(K, y, Fraction(1, 100), eta) - high) < high / 10**30
    half, rho = Fraction(1, 2), Fraction(5, 4)
    value, at = exact.entropy_projection([Fraction(1), Fraction(2)], [half, half], rho, equality=True)
    # alpha = (3/4, 1/4): 3/4 ln 3/2 + 1/4 ln 1/2, and eta = ln 3
    assert float(value) == pytest.approx(0.75 * np.log(1.5) + 0.25 * np.log(0.5), rel=1e-14)
    assert float(at) == pytest.approx(np.log(3), rel=1e-14)
    assert float(exact.exponential_less_one(Fraction(-1, 2))) == pytest.approx(np.expm1(-0.5), rel=1e-15)
    assert float(exact.exponential_less_one(Fraction(-1, 10**40))) == -1e-40
