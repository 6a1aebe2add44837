"""Data far from 0, and objectives of any size: no certificate holds that should not, and few that should do not."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cvxens import certify, rounding
from cvxens.problems import (
    SLSSVM,
    Formulation,
    HardMarginBoosting,
    Problem,
    RegularizedLeastSquares,
    RhoSVM,
    SoftMarginBoosting,
    SVMDual,
    SVMPrimal,
    simplex_codes,
)
from cvxens.problems.losses import Hinge
from cvxens.problems.maps import check_kernel
from cvxens.problems.penalties import Simplex

seeds = st.integers(0, 10**6)
offsets = st.sampled_from([1e3, 1e6, 1e9, 1e12, -1e12])


def sample(seed, n=8, m=2):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return rng.normal(size=(n, m)).round(3), y


@settings(max_examples=20)
@given(seeds, offsets)
def test_an_offset_that_an_intercept_absorbs_costs_no_digits(seed, offset):
    H, y = sample(seed)
    H = H + offset
    centred = SVMPrimal(H - offset, y, C=1.0)  # exact: H was rounded before
    solution = centred.solve()
    truth = centred.certify(solution)
    w, b, u = solution.variables["w"], solution.variables["b"], solution.duals["u"]
    derived = certify(SVMPrimal(H, y, C=1.0), w=w, u=u)
    assert derived.holds(1e-6)
    assert derived.primal == pytest.approx(truth.primal, rel=1e-6)
    assert derived.dual == pytest.approx(truth.dual, rel=1e-9)
    # a given b has the digits of a float: what it costs is counted
    given_b = certify(SVMPrimal(H, y, C=1.0), w=w, b=b - offset * w.sum(), u=u)
    assert given_b.primal >= truth.dual - given_b.rounding
    assert given_b.gap >= truth.primal - truth.dual - 1e-9


@settings(max_examples=10)
@given(seeds, offsets)
def test_a_reference_solves_data_far_from_zero_as_those_near_it(seed, offset):
    H, y = sample(seed)
    H = H + offset
    far, near = SVMPrimal(H, y, C=1.0), SVMPrimal(H - offset, y, C=1.0)
    assert far.solve().objective == pytest.approx(near.solve().objective, rel=1e-6)
    L = simplex_codes(3)[np.arange(8) % 3]
    solution = SLSSVM(H, L, C=0.5).solve()
    assert solution.objective == pytest.approx(SLSSVM(H - offset, L, C=0.5).solve().objective, rel=1e-6)


def exact_p2(K, y, u, b, C, *, offset):
    """The objective of P2 at u, balanced exactly, and the bound of u and b, in rational numbers.

    Where rounding leaves y'u = d, the offset adds a constant to the scores of u, which moves to the intercept.
    """
    fraction = np.vectorize(Fraction, otypes=[object])
    K, y, u = fraction(K) - Fraction(offset), fraction(y), fraction(u)
    b = Fraction(float(b)) + Fraction(offset) * (y @ u)
    plus, minus = sum(u[y > 0]), sum(u[y < 0])
    u = np.where(y > 0, u * min(Fraction(1), minus / plus), u * min(Fraction(1), plus / minus))
    v = y * u
    f = K @ v
    half = (v @ f) / 2
    slack = sum(Fraction(C) * max(Fraction(0), 1 - z) for z in y * (f + b))
    return half - sum(u), -half - slack


@given(seeds, st.sampled_from([0.0, 1e6, 1e10, 1e12]), st.sampled_from([1e-3, 1.0, 1e3]))
def test_p2_is_certified_within_its_rounding_of_exact_values(seed, offset, C):
    H, y = sample(seed)
    rng = np.random.default_rng(seed)
    K = H @ H.T + offset
    K = (K + K.T) / 2
    u, b = rng.uniform(0.1, 1, len(y)) * C, rng.normal()
    problem = SVMDual(K, y, C)
    certificate = certify(problem, u=u, b=b)
    primal, dual = exact_p2(K, y, problem.repair({"u": u})["u"], b, C, offset=offset)
    assert abs(Fraction(certificate.primal) - primal) <= Fraction(certificate.rounding)
    assert dual - Fraction(certificate.dual) <= Fraction(certificate.rounding)
    assert certificate.rounding < 1e-6 * (1 + offset * 1e-6) * max(abs(certificate.primal), abs(certificate.dual))


def exact_least_squares(K, y, gamma, c, s):
    fraction = np.vectorize(Fraction, otypes=[object])
    K, y, c, s = fraction(K), fraction(y), fraction(c), fraction(s)
    m, gamma = len(y), Fraction(gamma)
    f = K @ c
    primal = sum((f - y) ** 2) / m + gamma * (c @ f)
    return primal, s @ y - Fraction(m, 4) * (s @ s) - (s @ (K @ s)) / (4 * gamma)


@given(seeds, st.sampled_from([0.0, 1e6, 1e12]), st.sampled_from([1e-12, 1e-6, 1e-1]), st.booleans())
def test_least_squares_are_certified_within_their_rounding_of_exact_values(seed, offset, gamma, at_optimum):
    H, y = sample(seed)
    K = H @ H.T + offset
    K = (K + K.T) / 2
    c = np.random.default_rng(seed).normal(size=len(y))
    if at_optimum:
        c = np.linalg.lstsq(K + gamma * len(y) * np.eye(len(y)), y)[0]
    problem = RegularizedLeastSquares(K, y, gamma)
    certificate = problem.certify(c=c)
    s = problem.repair({"c": c})["s"]
    primal, dual = exact_least_squares(K, y, gamma, c, s)
    assert abs(Fraction(certificate.primal) - primal) <= Fraction(certificate.rounding)
    assert abs(Fraction(certificate.dual) - dual) <= Fraction(certificate.rounding)
    if certificate.holds(1e-6):
        assert primal - dual <= Fraction(1.01e-6) * max(abs(primal), abs(dual))


@pytest.mark.parametrize("offset", [0.0, 1e8, 1e14, 1e15])
def test_the_margin_of_a_kernel_far_from_zero_is_found(offset):
    certificate = certify(RhoSVM(offset + np.array([[2.0, 1.0], [1.0, 2.0]]), [1.0, -1.0]), u=[0.5, 0.5])
    assert certificate.holds(1e-12)
    assert certificate.primal == pytest.approx(0.5, rel=1e-12)


@pytest.mark.parametrize("unit", [1e-16, 1e-8, 1.0, 1e8, 1e16])
def test_a_point_ten_times_too_large_holds_in_no_unit(unit):
    problem = HardMarginBoosting([[unit], [-unit]], [1.0, -1.0])
    assert certify(problem, w=[1 / unit], u=[0.5 / unit, 0.5 / unit]).holds(1e-12)
    far = certify(problem, w=[10 / unit], u=[0.5 / unit, 0.5 / unit])
    assert far.relative_gap == pytest.approx(0.9)


def test_weights_are_not_scaled_out_of_the_domain_of_their_penalty():
    hinge_on_the_simplex = Formulation(Hinge(1.0), Simplex(), nonnegative=True)
    problem = Problem(hinge_on_the_simplex, np.array([[0.5, 0.4], [-0.5, -0.4]]), [1.0, -1.0])
    certificate = certify(problem, w=[1.0, 0.0])
    assert certificate.primal == pytest.approx(1.0)
    assert problem.solve().objective == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(5))
def test_bounds_from_edges_in_single_precision_of_work_are_within_their_rounding(monkeypatch, seed):
    """Where products are too large to be compensated, edges of offset columns lose digits: the bound says how many."""
    monkeypatch.setattr(rounding, "COMPENSATED", 0)
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(40) % 2 == 0, 1.0, -1.0)
    problem = SoftMarginBoosting(rng.normal(size=(40, 6)) + 1e7, y, 1.0)
    u = np.repeat(rng.uniform(0.4, 0.6, 20), 2)  # y'u = 0 cancels the offset, not its rounding
    found = problem.evaluate({"u": u})
    u = list(map(Fraction, found.u.tolist()))
    edges = [sum(Fraction(s) * Fraction(h) * v for s, h, v in zip(y, h, u, strict=True)) for h in problem.H.H.T]
    truth = sum(u) / max(1, *edges)
    assert 0 < abs(Fraction(found.dual) - truth) <= Fraction(found.rounding)


@pytest.mark.parametrize("offset", [1e4, -1e6])
def test_the_reference_reports_its_intercept_for_the_columns_as_they_are_given(offset):
    X, y = sample(3)
    L = simplex_codes(2)[(y > 0).astype(int)]
    for make in (lambda H: SVMPrimal(H, y, 1.0), lambda H: SLSSVM(H, L, 1.0)):
        solution = make(X + offset).solve()
        points = {**solution.variables, **solution.duals}
        assert make(X + offset).certify(**points).holds(1e-5)
        moved = {name: value for name, value in points.items() if name in {"w", "W"}}
        centred = points["b"] + offset * sum(value.sum(axis=0) for value in moved.values())
        assert make(X).certify(**points | {"b": centred}).holds(1e-4)


@pytest.mark.parametrize("seed", range(5))
def test_the_form_of_a_kernel_that_is_indefinite_by_rounding_may_be_that_of_a_psd_one(seed):
    rng = np.random.default_rng(seed)
    Q, _ = np.linalg.qr(rng.normal(size=(6, 6)))
    kernel = check_kernel((Q * [1.0, 0.5, 0.1, 0, 0, -1e-10]) @ Q.T, 6)
    assert 0.9e-10 < kernel.lift < 1.1e-10
    f, errors = kernel.measure_scores(Q[:, -1])
    value, error = kernel.form(Q[:, -1], f), kernel.form_error(Q[:, -1], f, errors, 0.0)
    assert value < 0
    assert value + error > -1e-14  # where eigenvalues are rounded
    c = rng.normal(size=6)
    psd = (Q * [1.0, 0.5, 0.1, 0, 0, 0]) @ Q.T @ c
    f, errors = kernel.measure_scores(c)
    assert (np.abs(f - psd) <= 2 * np.linalg.norm(c) * kernel.lift).all()
    assert (errors >= kernel.lift * np.abs(c)).all()


def cancelling(seed):
    """Columns in pairs of opposite values of the size 1e7, whose sums are of the size 1; labels."""
    rng = np.random.default_rng(seed)
    large, small = 1e7 * rng.normal(size=(2, 30, 3))
    return np.hstack([large, 1e-7 * small - large]), np.where(rng.random(30) < 0.5, 1.0, -1.0)


def exact_product(A, x):
    return [sum(Fraction(a) * Fraction(v) for a, v in zip(row, x, strict=True)) for row in A.tolist()]


@pytest.mark.parametrize("seed", range(5))
def test_objectives_at_scores_that_cancel_are_within_their_rounding(monkeypatch, seed):
    """Where products are too large to be compensated: a loss that falls in the margins, and one that has no sign."""
    monkeypatch.setattr(rounding, "COMPENSATED", 0)
    H, y = cancelling(seed)
    signs, w, codes = list(map(int, y)), np.full(6, 0.3), simplex_codes(2)[(y > 0).astype(int)]

    problem = SoftMarginBoosting(H, y, 1.0)
    found = problem.evaluate({"w": w})
    f = exact_product(H, found.w.tolist())
    truth = sum(map(Fraction, found.w.tolist())) + sum(max(1 - s * z, 0) for s, z in zip(signs, f, strict=True))
    assert 0 < abs(Fraction(found.primal) - truth) <= Fraction(problem._measure_primal(found, found.f_errors))

    problem = SLSSVM(H, codes, 1.0)
    found = problem.evaluate({"W": w[:, None], "b": np.zeros(1)})
    point = found.point
    f = exact_product(H, point["W"].ravel().tolist())
    squares = [(Fraction(c) - z - Fraction(float(point["b"][0]))) ** 2 for c, z in zip(codes.ravel(), f, strict=True)]
    truth = (sum(Fraction(v) ** 2 for v in point["W"].ravel().tolist()) + sum(squares)) / 2
    assert 0 < abs(Fraction(found.primal) - truth) <= Fraction(problem._measure_primal(found, found.f_errors))


@pytest.mark.parametrize("seed", range(5))
def test_the_margin_of_a_kernel_whose_scores_cancel_is_within_its_rounding(monkeypatch, seed):
    monkeypatch.setattr(rounding, "COMPENSATED", 0)
    H, y = cancelling(seed)
    K = np.tril(H @ H.T + 30 * np.eye(30))
    problem = RhoSVM(K + np.tril(K, -1).T, y)
    found = problem.evaluate({"c": y / 30, "u": np.full(30, 1 / 30)})
    point = found.point
    c, u = point["c"].tolist(), (y * point["u"]).tolist()
    f, from_u = exact_product(problem.K, c), exact_product(problem.K, u)
    norm, form = (sum(Fraction(a) * b for a, b in zip(v, g, strict=True)) for v, g in ((c, f), (u, from_u)))
    primal = 2 * min(int(s) * z for s, z in zip(y, f, strict=True)) - norm
    off = abs(Fraction(found.primal) - primal) + abs(Fraction(found.dual) - form)
    assert off <= Fraction(found.rounding)
