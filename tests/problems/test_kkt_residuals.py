"""Every residual shows the fault that it is named after, signs included."""

from functools import cache

import numpy as np
import pytest
from problem_cases import CASES, SEPARATING, C, D, H, K, q, y

from cvxens.colgen import Formulation, column_generation, formulations
from cvxens.colgen.oracles import Stumps
from cvxens.problems import Problem, RegularizedExpLoss, RhoSVM
from cvxens.problems.losses import Hinge
from cvxens.problems.penalties import SquaredL2

NAMES = {"primal feasibility", "dual feasibility", "complementary slackness", "stationarity", "pricing slack"}


@cache
def solved(name):
    problem = CASES[name].problem()
    solution = problem.solve()
    return problem, solution, {**solution.variables, **solution.duals}


def residuals(name, **changed):
    problem, solution, _ = solved(name)
    return problem.certify(solution, **changed).residuals


def entry(values, index, value):
    changed = np.array(values)
    changed[index] = value
    return changed


def about(value, rel=1e-12, absolute=1e-6):
    return pytest.approx(value, rel=rel, abs=absolute).__eq__


def above(value):
    return lambda found: found >= value - 1e-9


PRIMAL, DUAL = "primal feasibility", "dual feasibility"
SLACKNESS, STATIONARITY = "complementary slackness", "stationarity"
NONE, ONE_CLASS = np.zeros(len(y)), np.where(y > 0, C, 0.0)
BOXED = ("SVMPrimal", "InfiniteSVM", "SoftMarginBoosting")
FAULTS = [
    # a multiplier outside its box, in units of C, or an imbalance
    *((name, lambda p: {"u": entry(p["u"], 0, -0.1)}, DUAL, above(0.1 / C)) for name in BOXED),
    *((name, lambda p: {"u": entry(p["u"], 0, C + 0.2)}, DUAL, above(0.2 / C)) for name in BOXED),
    *((name, lambda p: {"u": ONE_CLASS}, DUAL, about(1.0)) for name in BOXED[:2]),
    ("SoftMarginBoosting", lambda p: {"u": entry(NONE, 3, -0.1)}, DUAL, about(0.1 / C, absolute=0)),
    ("HardMarginBoosting", lambda p: {"u": entry(NONE, 3, -0.1)}, DUAL, about(0.1, absolute=0)),
    ("HardMarginBoosting", lambda p: {"u": entry(NONE, 3, -5.0)}, DUAL, about(1.0, absolute=0)),
    ("RegularizedExpLoss", lambda p: {"u": entry(NONE, 3, -0.1)}, DUAL, about(0.1 * len(y))),
    # in the dual formulation multipliers are the primal point
    ("SVMDual", lambda p: {"u": entry(p["u"], 0, -0.1)}, PRIMAL, above(0.1 / C)),
    ("SVMDual", lambda p: {"u": entry(p["u"], 0, C + 0.1)}, PRIMAL, above(0.1 / C)),
    ("SVMDual", lambda p: {"u": ONE_CLASS}, PRIMAL, about(1.0)),
    ("SVMDual", lambda p: {"b": 50.0}, SLACKNESS, above(1.0)),
    # weights, slacks and margins
    ("SoftMarginBoosting", lambda p: {"w": entry(p["w"], 2, -0.25)}, PRIMAL, above(0.25)),
    ("HardMarginBoosting", lambda p: {"w": entry(p["w"], 2, -0.25)}, PRIMAL, above(0.25)),
    ("HardMarginBoosting", lambda p: {"w": p["w"] / 2}, PRIMAL, about(0.5)),
    ("SoftMarginBoosting", lambda p: {"xi": entry(p["xi"], 1, -0.3)}, PRIMAL, above(0.3)),
    ("SoftMarginBoosting", lambda p: {"xi": p["xi"] - 0.2}, PRIMAL, about(0.2)),
    ("SVMPrimal", lambda p: {"xi": entry(p["xi"], 1, -0.3)}, PRIMAL, above(0.3)),
    # weight on a hypothesis whose edge is too small
    ("SoftMarginBoosting", lambda p: {"w": entry(0 * p["w"], 0, 2.0), "u": NONE}, STATIONARITY, about(1.0)),
    ("LPBoost", lambda p: {"a": np.full(len(p["a"]), 1 / len(p["a"]))}, STATIONARITY, above(1e-2)),
    # LPBoost lives on two simplices
    ("LPBoost", lambda p: {"a": 1.5 * p["a"]}, PRIMAL, about(0.5)),
    ("LPBoost", lambda p: {"w": 1.5 * p["a"]}, PRIMAL, about(0.5)),
    ("LPBoost", lambda p: {"a": entry(p["a"], 1, -0.5)}, PRIMAL, above(0.5)),
    ("LPBoost", lambda p: {"u": 1.5 * p["u"]}, DUAL, about(0.5)),
    ("LPBoost", lambda p: {"u": entry(p["u"], 1, -0.1)}, DUAL, above(0.1 / D)),
    ("LPBoost", lambda p: {"u": entry(p["u"], 1, D + 0.1)}, DUAL, above(0.1 / D)),
    ("LPBoost", lambda p: {"rho": p["rho"] + 0.4, "xi": p["xi"]}, PRIMAL, about(0.4)),
    ("LPBoost", lambda p: {"xi": entry(p["xi"], 0, -0.4)}, PRIMAL, above(0.4)),
]


@pytest.mark.parametrize(("name", "change", "residual", "is_due"), FAULTS)
def test_a_fault_shows_in_its_residual(name, change, residual, is_due):
    assert is_due(residuals(name, **change(solved(name)[2]))[residual])


@pytest.mark.parametrize("name", CASES)
def test_the_five_are_named_and_vanish_at_the_solution(name):
    values = residuals(name)
    assert values.keys() == NAMES
    assert max(values.values()) < 1e-3


def test_an_edge_above_the_threshold_is_priced():
    for name, columns in (("SoftMarginBoosting", H), ("HardMarginBoosting", SEPARATING)):
        u = np.full(len(y), 0.6)
        largest = max(columns.T @ (y * u))
        assert largest > 1
        assert residuals(name, u=u)["pricing slack"] == pytest.approx(largest - 1)
        assert residuals(name, u=u / largest)["pricing slack"] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize(("name", "weights"), [("SVMPrimal", "w"), ("InfiniteSVM", "w"), ("SLSSVM", "W")])
def test_under_a_squared_norm_weights_equal_edges(name, weights):
    problem, _, point = solved(name)
    moved = point[weights] + 0.5
    edges = problem.H.edges(problem.y * point[problem.letters[2]])
    expected = np.abs(moved - edges).max() / max(1.0, np.abs(edges).max())
    assert residuals(name, **{weights: moved})["stationarity"] == pytest.approx(expected)
    assert expected > 0.1


def test_multipliers_off_the_margin_break_complementary_slackness():
    _, _, point = solved("SVMPrimal")
    z = y * (H @ point["w"] + point["b"])
    outside, inside = int(z.argmax()), int(z.argmin())
    assert z[outside] > 1.05
    assert z[inside] < 0.95
    loaded = residuals("SVMPrimal", u=entry(point["u"], outside, C))["complementary slackness"]
    assert loaded == pytest.approx(z[outside] - 1, rel=1e-6)
    relieved = residuals("SVMPrimal", u=entry(point["u"], inside, 0.0))["complementary slackness"]
    assert relieved == pytest.approx(1 - z[inside], rel=1e-6)


def test_the_rho_svm_lives_on_the_simplex():
    _, _, point = solved("RhoSVM")
    size = np.abs(K @ point["c"]).max()
    assert residuals("RhoSVM", u=2 * point["u"])["dual feasibility"] == pytest.approx(1.0, abs=1e-6)
    assert residuals("RhoSVM", u=entry(point["u"], 0, -0.3))["dual feasibility"] >= 0.3
    assert residuals("RhoSVM", rho=point["rho"] + 0.1)["primal feasibility"] == pytest.approx(0.1 / size, rel=1e-5)
    assert residuals("RhoSVM", u=np.full(len(y), 1 / len(y)))["complementary slackness"] > 1e-2
    assert residuals("RhoSVM", c=2 * point["c"])["stationarity"] == pytest.approx(0.5, abs=1e-6)


def test_the_entropy_projection_has_a_sign_only_for_the_inequality():
    assert residuals("EntropyProjection, at most", eta=-1.0)["dual feasibility"] == pytest.approx(np.abs(q).max())
    assert residuals("EntropyProjection", eta=-1.0)["dual feasibility"] == 0
    for name in ("EntropyProjection", "EntropyProjection, at most"):
        problem, _, point = solved(name)
        alpha = point["alpha"]
        assert residuals(name, alpha=entry(alpha, 0, -0.2))["primal feasibility"] >= 0.2
        assert residuals(name, alpha=2 * alpha)["primal feasibility"] >= 1 - 1e-6
        missed = q @ problem.alpha_t - problem.rho
        assert missed > 0
        expected = pytest.approx(missed / np.abs(q).max(), rel=1e-6)
        assert residuals(name, alpha=problem.alpha_t)["primal feasibility"] == expected
        assert residuals(name, eta=0.0)["stationarity"] > 1e-2
    problem, _, _ = solved("EntropyProjection, at most")
    below = np.eye(len(y))[int(q.argmin())]
    values = residuals("EntropyProjection, at most", alpha=below, eta=2.0)
    assert values["primal feasibility"] == 0
    assert values["complementary slackness"] == pytest.approx(2 * (problem.rho - q.min()))


def test_losses_of_kernel_problems_tie_their_multipliers():
    _, _, point = solved("RegularizedExpLoss")
    loss = np.exp(-y * (K @ point["eta"])) / len(y)
    assert residuals("RegularizedExpLoss", u=loss + loss.max())["complementary slackness"] == pytest.approx(1.0)
    assert residuals("RegularizedExpLoss", u=2 * point["u"])["stationarity"] == pytest.approx(1.0, rel=1e-3)
    _, _, point = solved("RegularizedLeastSquares")
    f = K @ point["c"]
    found = residuals("RegularizedLeastSquares", s=0 * y)
    assert found["complementary slackness"] == pytest.approx(np.abs(y - f).max())
    assert residuals("RegularizedLeastSquares", s=0 * y)["stationarity"] == pytest.approx(np.abs(f).max())
    problem, _, point = solved("SLSSVM")
    U = np.zeros_like(point["U"])
    missed = np.abs(C * (problem.L - H @ point["W"] - point["b"])).max() / (C * np.abs(problem.L).max())
    assert residuals("SLSSVM", U=U)["complementary slackness"] == pytest.approx(missed)
    tilted = point["U"] + 1.0
    imbalance = np.abs(tilted.sum(axis=0)).max() / np.abs(tilted).sum()
    assert residuals("SLSSVM", U=tilted)["dual feasibility"] == pytest.approx(imbalance)


def test_where_the_optimum_vanishes_residuals_do_not_explode():
    problem = RhoSVM(np.ones((4, 4)) + np.diag([0.0, 0.0, 1.0, 1.0]), np.array([1.0, -1.0, 1.0, -1.0]))
    certificate = problem.certify(problem.solve())
    assert certificate.primal == pytest.approx(0, abs=1e-6)
    assert max(certificate.residuals.values()) < 1e-2
    problem = RegularizedExpLoss(K, y, lam=1e12)
    assert max(problem.certify(problem.solve()).residuals.values()) < 1e-4


def test_weights_of_rounding_size_are_no_support():
    problem = Problem(Formulation(Hinge(1.0), SquaredL2(), nonnegative=True), np.array([[1.0, -1.0]] * 2), y[:2])
    u = np.array([1.0, 0.25])
    for tiny, expected in ((1e-12, 0.0), (1e-3, 0.751)):
        point = {"w": np.array([0.75, tiny]), "u": u}
        assert problem.residuals(point)["stationarity"] == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("formulation", [formulations.hard_margin(), formulations.soft_margin(50.0)])
def test_a_run_reports_multipliers_that_are_feasible_for_every_hypothesis(formulation):
    X = np.random.default_rng(1).normal(size=(30, 2))
    run = column_generation(formulation, Stumps(X), np.where(X[:, 0] + 0.2 * X[:, 1] > 0, 1.0, -1.0))
    assert run.certificate.holds(1e-6)
    assert max(run.certificate.residuals.values()) < 1e-3
