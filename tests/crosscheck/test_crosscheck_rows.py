"""Every formulation on real data: the rows agree, and their proofs hold when recomputed from the arrays."""

import numpy as np
import pytest
from breast_cancer_rows import breast_cancer_sample, every_cell, stump_kernel
from brute_force import linear_program, soft_minimum_program
from sklearn.svm import SVC
from variants import list_stumps

from cvxens.colgen import column_generation, formulations
from cvxens.colgen.masters import HighsMaster
from cvxens.colgen.oracles import Stumps
from cvxens.crosscheck import CASES, crosscheck, named
from cvxens.errors import InvalidInput
from cvxens.problems import FORMULATIONS, HardMarginBoosting, InfiniteSVM, LPBoost, SVMDual, SVMPrimal
from cvxens.solvers import solve_svm_dual, solve_svm_primal

NAMES = [formulation.__name__ for formulation in FORMULATIONS]
P1_TO_P5 = ["SVMPrimal", "SVMDual", "HardMarginBoosting", "SoftMarginBoosting", "InfiniteSVM"]


@pytest.fixture(scope="module")
def sample():
    return breast_cancer_sample()


@pytest.fixture(scope="module")
def rows(sample):
    return {row.formulation: row for row in crosscheck(sample)}


def relative_gap(primal, dual):
    return (primal - dual) / max(abs(primal), abs(dual))


def balanced(u, y, C):
    """Clip into [0, C] and scale down the heavier class until y'u = 0."""
    u = np.clip(u, 0, C)
    plus, minus = u[y > 0].sum(), u[y < 0].sum()
    return u * np.where(y > 0, min(plus, minus) / plus, min(plus, minus) / minus)


def svm_gap(H, y, C, found):
    w, b, u = found.variables["w"], found.variables["b"], balanced(found.duals["u"], y, C)
    primal = w @ w / 2 + C * np.maximum(0, 1 - y * (H @ w + b)).sum()
    return primal, relative_gap(primal, u.sum() - ((H.T @ (y * u)) ** 2).sum() / 2)


def scores(run, X):
    """H w, each stump evaluated by what it says of itself."""
    total = np.zeros(len(X))
    for column, weight in zip(run.columns, run.weights, strict=True):
        h = column.hypothesis
        values = np.where(X[:, h.feature] >= h.threshold, 1.0, -1.0) if hasattr(h, "feature") else np.ones(len(X))
        total += weight * h.sign * values
    return total


def test_every_formulation_has_a_case():
    assert set(CASES) == set(FORMULATIONS)
    assert len({place for place, _ in CASES.values()}) == len(FORMULATIONS)


def test_one_row_per_formulation_in_order(rows):
    assert list(rows) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_the_row_agrees(rows, name):
    row = rows[name]
    a, b = row.reference.objective, row.fast.objective
    assert abs(a - b) <= 1e-5 * max(abs(a), abs(b))
    assert row.relative_difference == pytest.approx(abs(a - b) / max(abs(a), abs(b)))
    assert row.certificate.proven
    assert 0 <= row.certificate.relative_gap <= 1e-6
    assert row.certificate.kkt_residual <= 1e-6
    assert row.agrees
    assert row.source
    assert row.reference.solver != row.fast.solver
    assert min(row.reference.seconds, row.fast.seconds) > 0


@pytest.mark.parametrize("name", P1_TO_P5)
def test_the_certificate_encloses_what_is_reported(rows, name):
    certificate, row = rows[name].certificate, rows[name]
    assert certificate.dual <= certificate.primal + 1e-13 * abs(certificate.primal)
    for objective in (row.reference.objective, row.fast.objective):
        assert certificate.dual - 1e-6 * abs(objective) <= objective <= certificate.primal + 1e-6 * abs(objective)


def test_primal_recomputed_over_all_stumps(sample, rows):
    problem = CASES[SVMPrimal][0](sample)
    found = solve_svm_primal(problem)
    H = list_stumps(sample.X)[0]
    assert pytest.approx(1 / H.shape[1]) == problem.C
    primal, gap = svm_gap(H, sample.y, problem.C, found)
    assert -1e-12 <= gap <= 1e-6
    assert primal == pytest.approx(rows["SVMPrimal"].certificate.primal, rel=1e-9)


def test_dual_recomputed_with_the_stump_kernel(sample, rows):
    problem = CASES[SVMDual][0](sample)
    K, y, C = stump_kernel(sample.X), sample.y, problem.C
    assert pytest.approx(1 / np.diag(K).mean()) == C
    found = solve_svm_dual(problem)
    u, b = balanced(found.variables["u"], y, C), found.duals["b"]
    half = (y * u) @ K @ (y * u) / 2
    primal = half + C * np.maximum(0, 1 - y * (K @ (y * u) + b)).sum()
    assert -1e-12 <= relative_gap(primal, u.sum() - half) <= 1e-6
    assert u.sum() - half == pytest.approx(-rows["SVMDual"].certificate.primal, rel=1e-9)


def test_dual_equals_scikit_learn(sample, rows):
    K, C = stump_kernel(sample.X), CASES[SVMDual][0](sample).C
    model = SVC(C=C, kernel="precomputed", tol=1e-8).fit(K, sample.y)
    signed = model.dual_coef_[0]
    objective = signed @ K[np.ix_(model.support_, model.support_)] @ signed / 2 - np.abs(signed).sum()
    assert rows["SVMDual"].fast.objective == pytest.approx(objective, rel=1e-6)


def test_infinite_recomputed_on_cells(sample, rows):
    problem = CASES[InfiniteSVM][0](sample)
    found = solve_svm_primal(problem)
    H = every_cell(sample.X)
    primal, gap = svm_gap(H, sample.y, problem.C, found)
    assert -1e-12 <= gap <= 1e-6
    assert primal == pytest.approx(rows["InfiniteSVM"].certificate.primal, rel=1e-9)
    assert primal == pytest.approx(-rows["SVMDual"].fast.objective, rel=1e-9)


def lpboost_margin(z, D):
    return max(rho - D * np.maximum(0, rho - z).sum() for rho in z)


RECOMPUTED = {
    # the formulation of a price; the primal at weights w with margins z, and the dual at u of the largest edge e
    "SoftMarginBoosting": (
        formulations.soft_margin,
        lambda w, z, C: w.sum() + C * np.maximum(0, 1 - z).sum(),
        lambda u, e, C: u.sum() / max(1, e),
    ),
    "HardMarginBoosting": (
        lambda price: formulations.hard_margin(),
        lambda w, z, price: w.sum() / z.min(),
        lambda u, e, price: u.sum() / max(1, e),
    ),
    "LPBoost": (formulations.lpboost, lambda w, z, D: -lpboost_margin(z / w.sum(), D), lambda u, e, D: -e / u.sum()),
}


@pytest.mark.parametrize("name", RECOMPUTED)
def test_runs_recomputed_over_all_stumps(sample, rows, name):
    formulation, primal_of, dual_of = RECOMPUTED[name]
    X, y = sample.X, sample.y
    price = {"SoftMarginBoosting": 20 / len(y), "LPBoost": CASES[LPBoost][0](sample).D}.get(name, np.inf)
    run = column_generation(formulation(price), Stumps(X), y, tol=1e-9, master=HighsMaster)
    assert run.weights.min() >= 0
    u = np.clip(run.u, 0, price)
    assert u.max() / u.sum() <= price * (1 + 1e-9)
    primal = primal_of(run.weights, y * scores(run, X), price)
    dual = dual_of(u, np.abs(list_stumps(X)[0].T @ (y * u)).max(), price)
    assert -1e-12 <= relative_gap(primal, dual) <= 1e-6
    assert abs(primal) == pytest.approx(rows[name].certificate.primal, rel=1e-8)


@pytest.mark.parametrize(
    ("name", "slack", "rel"), [("SoftMarginBoosting", 20 / 120, 1e-8), ("HardMarginBoosting", 1e4, 1e-7)]
)
def test_margins_equal_scipy_over_the_dense_matrix_hard_ones_at_a_prohibitive_price(sample, rows, name, slack, rel):
    expected = linear_program(list_stumps(sample.X)[0], sample.y, slack=slack)
    assert rows[name].fast.objective == pytest.approx(expected, rel=rel)


def test_lpboost_is_the_soft_margin_in_other_words(sample, rows):
    U = rows["SoftMarginBoosting"].fast.objective
    assert rows["LPBoost"].fast.objective == pytest.approx(1 / U, rel=1e-8)
    D = CASES[LPBoost][0](sample).D
    assert pytest.approx(20 / len(sample.y) / U) == D
    expected = soft_minimum_program(list_stumps(sample.X)[0], sample.y, D)
    assert rows["LPBoost"].fast.objective == pytest.approx(expected, rel=1e-8)


def test_formulations_are_named_in_any_case_and_others_are_refused():
    assert named(None) == FORMULATIONS
    assert named("svmdual") == [SVMDual]
    assert named("HARDMARGINBOOSTING") == [HardMarginBoosting]
    with pytest.raises(InvalidInput, match=r"formulation: found 'SVM'; name one of SVMPrimal, .*LeastSquares"):
        named("SVM")
