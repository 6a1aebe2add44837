"""Every formulation with every master that supports it, against an optimum found without the package."""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import pairwise

import cvxpy as cp
import numpy as np
import pytest
from brute_force import (
    PlainTable,
    Table,
    all_stumps,
    as_columns,
    assert_optimum,
    degenerate,
    linear_program,
    noisy,
    soft_minimum_program,
    solve_all,
    solve_by_libsvm,
)
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from benchmarks.smoothing import Averaged, InOut, stabilised
from cvxens.colgen import Ending, Formulation, column_generation, formulations, iterate, masters
from cvxens.colgen.masters import (
    MASTERS,
    ConicMaster,
    CvxpyMaster,
    HighsMaster,
    InteriorPointMaster,
    LeastSquaresMaster,
    NewtonMaster,
    fastest_master,
)
from cvxens.colgen.oracles import Stumps
from cvxens.errors import InvalidInput
from cvxens.problems import simplex_codes
from cvxens.problems.duality import Edges
from cvxens.problems.losses import Exponential, HardMargin, Hinge, Logistic, SoftMinimumMargin, SquaredHinge
from cvxens.problems.penalties import L1, Simplex, SquaredL2

pytestmark = pytest.mark.filterwarnings("ignore::cvxens.errors.SolverFallbackWarning")

X, y = noisy()
H = all_stumps(X)
N = len(y)
EASY = np.where(X[:, 0] - 3 * (X[:, 1] > 4) > 2.5, 1.0, -1.0)
CLASSES = np.digitize(X.sum(axis=1), [5, 10])
CODES = simplex_codes(3)[CLASSES]
SLS = formulations.simplex_least_squares(CODES, 0.3)
BOXED = Formulation(Logistic(1.0), lambda w: [0, cp.abs(w) <= 1])


dense = partial(solve_all, H, y, tol=1e-10)


def closed_form(C):
    """SL (11): S = H H' + I/C, U = S^-1 (L - 1 b'), W = H'U."""
    inverse = np.linalg.inv(H @ H.T + np.eye(N) / C)
    ones = np.ones((N, 1))
    b = (ones.T @ inverse @ CODES) / (ones.T @ inverse @ ones)
    U = inverse @ (CODES - ones @ b)
    W = H.T @ U
    return np.square(W).sum() / 2 + C / 2 * np.square(CODES - H @ W - ones @ b).sum()


@dataclass(frozen=True)
class Case:
    """A formulation, its labels, and its optimum over all stumps."""

    formulation: Formulation
    y: np.ndarray | None
    optimum: Callable[[], float]


CASES = {
    "svm": Case(formulations.svm(0.3), y, lambda: -solve_by_libsvm(H @ H.T, y, 0.3)),
    "hard margin": Case(formulations.hard_margin(), EASY, lambda: linear_program(H, EASY, slack=None)),
    "hard margin, intercept": Case(
        Formulation(HardMargin(), L1(1.7), intercept=True, nonnegative=True),
        EASY,
        lambda: linear_program(H, EASY, slack=None, weight=1.7, intercept=True),
    ),
    "soft margin": Case(formulations.soft_margin(0.4), y, lambda: linear_program(H, y, slack=0.4)),
    "soft margin, intercept": Case(
        Formulation(Hinge(0.4), L1(1.3), intercept=True, nonnegative=True),
        y,
        lambda: linear_program(H, y, slack=0.4, weight=1.3, intercept=True),
    ),
    "soft margin, free, intercept": Case(
        Formulation(Hinge(0.4), L1(), intercept=True), y, lambda: linear_program(H, y, slack=0.4, intercept=True)
    ),
    "lpboost": Case(formulations.lpboost(0.11), y, lambda: soft_minimum_program(H, y, 0.11)),
    "lpboost, intercept": Case(
        Formulation(SoftMinimumMargin(0.11), Simplex(), intercept=True, nonnegative=True, maximise=True),
        y,
        lambda: soft_minimum_program(H, y, 0.11, intercept=True),
    ),
    "exponential": Case(
        formulations.exponential(N, 0.02),
        y,
        lambda: dense(lambda z: cp.sum(cp.exp(-z)) / N, lambda w: 0.02 * cp.sum_squares(w), intercept=False),
    ),
    "exponential, l1, intercept": Case(
        Formulation(Exponential(0.2), L1(), intercept=True),
        y,
        lambda: dense(lambda z: 0.2 * cp.sum(cp.exp(-z)), cp.norm1, intercept=True),
    ),
    "logistic, l1": Case(
        Formulation(Logistic(0.8), L1(), intercept=True),
        y,
        lambda: dense(lambda z: 0.8 * cp.sum(cp.logistic(-z)), cp.norm1, intercept=True),
    ),
    "squared hinge, l2, nonnegative": Case(
        Formulation(SquaredHinge(0.5), SquaredL2(0.9), intercept=True, nonnegative=True),
        y,
        lambda: dense(
            lambda z: 0.25 * cp.sum_squares(cp.pos(1 - z)), lambda w: 0.45 * cp.sum_squares(w), intercept=True
        ),
    ),
    "simplex least squares": Case(SLS, None, lambda: closed_form(0.3)),
}
SUPPORTED = [(name, master) for name, case in CASES.items() for master in MASTERS if master.supports(case.formulation)]
ids = [f"{name}-{master.__name__}" for name, master in SUPPORTED]


@cache
def optimum(name):
    return CASES[name].optimum()


@pytest.mark.thinned(1)
@pytest.mark.parametrize(("name", "master"), SUPPORTED, ids=ids)
def test_the_optimum_over_all_stumps_is_reached_and_bounded_in_every_round(name, master):
    case = CASES[name]
    best, sign = optimum(name), case.formulation.sense
    found = column_generation(case.formulation, Stumps(X), case.y, tol=1e-8, master=master)
    run = assert_optimum(found, best, rel=1e-7)
    squares_with_signs = isinstance(case.formulation.penalty, SquaredL2) and case.formulation.nonnegative
    assert all(v < 2e-4 for k, v in run.certificate.residuals.items() if k != "stationarity" or not squares_with_signs)
    slack = 1e-7 * abs(best)
    for row in run.history:
        assert sign * row.bound <= sign * best + slack
        assert sign * best - slack <= sign * row.objective
    objectives = [sign * row.objective for row in run.history]
    bounds = [sign * row.bound for row in run.history]
    assert all(later <= earlier + slack for earlier, later in pairwise(objectives))
    assert bounds == sorted(bounds)
    assert [row.size for row in run.history] == sorted(row.size for row in run.history)
    # the run is a point of the problem as it is stated
    signs = np.ones((N, 1)) if case.y is None else case.y
    scores = np.column_stack([c.values for c in run.columns]) @ run.weights + run.intercept
    assert_allclose(run.decision_function(X), scores, atol=1e-9)
    loss, penalty = case.formulation.terms
    value = sign * (loss.value(signs * scores) + penalty.value(run.weights))
    assert run.certificate.primal == pytest.approx(value, rel=1e-9)
    assert loss.violation(run.u) < 1e-9
    if case.formulation.nonnegative:
        assert run.weights.min() >= 0
    if case.formulation.intercept:
        assert np.abs((signs * run.u).sum(axis=0)).max() < 1e-9 * np.abs(run.u).sum()
    edges = np.abs(H.T @ (signs * run.u))
    expected = sign * (loss.dual_value(run.u * penalty.shrink(summary(edges))) - penalty.conjugate(summary(edges)))
    assert run.certificate.dual == pytest.approx(expected, rel=1e-9)


FREE = [(name, master) for name, master in SUPPORTED if not CASES[name].formulation.nonnegative]


@pytest.mark.parametrize(("name", "master"), FREE, ids=[f"{name}-{master.__name__}" for name, master in FREE])
def test_weights_that_are_free_turn_with_the_signs_of_their_columns(name, master):
    case, random = CASES[name], np.random.default_rng(1)
    pool, signs = random.normal(size=(N, 6)) + H[:, :6], np.array([-1.0, 1, -1, 1, 1, -1])
    solutions = []
    for turned in (pool, pool * signs):
        made = master(case.formulation, case.formulation.signs(case.y))
        made.add(as_columns(turned))
        solutions.append([made.solve() for _ in range(9)][-1])
    one, other = solutions
    assert one.objective == pytest.approx(other.objective, rel=1e-6)
    assert_allclose(one.w.T, other.w.T * signs, atol=1e-3 * np.abs(one.w).max())
    assert min(one.w.min(), other.w.min()) < 0


def summary(edges):
    """What a bound needs to know, from all edges."""
    return Edges(float(edges.max()), float(np.square(edges).sum()))


EXACT = {
    "svm": partial(NewtonMaster, share=0.0),
    "exponential": partial(NewtonMaster, share=0.0),
    "simplex least squares": LeastSquaresMaster,
}


@pytest.mark.parametrize("name", EXACT)
def test_the_gap_of_a_squared_penalty_is_the_sum_of_squared_edges_outside(name):
    """SL Claim IV.1, by brute force at every round."""
    case = CASES[name]
    weight = case.formulation.terms[1].weight
    master = EXACT[name](case.formulation, case.formulation.signs(case.y))
    for step in iterate(master, Table(H, 4)):
        inside = {c.hypothesis.index for c in step.columns}
        edges = np.square(H.T @ step.solution.s).reshape(H.shape[1], -1).sum(axis=1)
        outside = [j for j in range(H.shape[1]) if j not in inside]
        gap = step.solution.objective - step.bound
        tolerance = 1e-7 * step.solution.objective
        if step.columns:
            assert gap == pytest.approx(edges[outside].sum() / (2 * weight), rel=1e-6, abs=tolerance)
        assert gap >= -tolerance
    assert gap < 1e-6 * step.solution.objective
    assert len(inside) > H.shape[1] / 2


@pytest.mark.product(n_classes=[2, 3, 4], C=[1e-3, 1.0, 1e3])
def test_least_squares_by_the_closed_form_with_any_number_of_classes(n_classes, C):
    rng = np.random.default_rng(n_classes)
    L = simplex_codes(n_classes)[np.arange(N) % n_classes]
    pool = rng.normal(size=(N, 9))
    formulation = formulations.simplex_least_squares(L, C)
    run = column_generation(formulation, Table(pool, 2), tol=1e-12, master=LeastSquaresMaster)
    S, ones = pool @ pool.T + np.eye(N) / C, np.ones((N, 1))
    system = np.block([[S, ones], [ones.T, np.zeros((1, 1))]])
    solution = np.linalg.solve(system, np.vstack([L, np.zeros((1, n_classes - 1))]))
    U, b = solution[:-1], solution[-1]
    assert_allclose(run.u, U, atol=1e-8 * np.abs(U).max())
    assert_allclose(run.intercept, b, atol=1e-8)
    order = [c.hypothesis.index for c in run.columns]
    assert sorted(order) == list(range(9))
    scale = np.array([c.hypothesis.sign for c in run.columns])[:, None]
    assert_allclose(run.weights * scale, (pool.T @ U)[order], atol=1e-8 * np.abs(U).max())


def test_the_fastest_master_that_supports_a_formulation_is_chosen():
    chosen = {name: type(fastest_master(c.formulation, c.formulation.signs(c.y))) for name, c in CASES.items()}
    linear = {k for k, c in CASES.items() if isinstance(c.formulation.loss, Hinge | HardMargin | SoftMinimumMargin)}
    assert {name for name, master in chosen.items() if master is HighsMaster} == linear - {"svm"}
    assert chosen["simplex least squares"] is LeastSquaresMaster
    for name in ("svm", "exponential", "logistic, l1", "squared hinge, l2, nonnegative"):
        assert chosen[name] is NewtonMaster
    several = formulations.multiboost(1.0, np.array([0, 1, 2]))
    assert isinstance(fastest_master(several, several.signs(None)), NewtonMaster)
    expression = Formulation(lambda z: cp.sum(cp.pos(1 - z)), L1())
    assert isinstance(fastest_master(expression, y), ConicMaster)


@pytest.mark.parametrize(
    ("master", "formulation", "found", "lacking"),
    [
        (HighsMaster, formulations.svm(1.0), "Hinge + SquaredL2 with free w and an intercept", ""),
        (HighsMaster, Formulation(Logistic(1.0), L1()), "Logistic + L1", "but Logistic has no `linear_dual`; or"),
        (HighsMaster, Formulation(HardMargin(), L1()), "HardMargin + L1 with free w and no intercept", ""),
        (HighsMaster, Formulation(cp.sum, cp.norm1), "ExpressionLoss + L1 with free w and no intercept", ""),
        (InteriorPointMaster, formulations.svm(1.0), "Hinge + SquaredL2 with free w and an intercept", ""),
        (InteriorPointMaster, Formulation(HardMargin(), L1()), "HardMargin + L1 with free w and no intercept", ""),
        (NewtonMaster, formulations.soft_margin(1.0), "Hinge + L1 with w >= 0 and no intercept", ""),
        (NewtonMaster, BOXED, "Logistic + Struct", "; or Logistic has no `hessian` and StructuredExpression has no"),
        (LeastSquaresMaster, formulations.soft_margin(1.0), "Hinge + L1", "but Hinge has no `targets` and"),
        (LeastSquaresMaster, replace(SLS, intercept=False), "SquaredError + SquaredL2", "intercept is not True;"),
    ],
)
def test_a_master_names_what_it_does_not_support(master, formulation, found, lacking):
    """What it was given, the term to blame, and what that lacks."""
    assert not master.supports(formulation)
    found = f"{re.escape(found)}.*{re.escape(lacking)}.*"
    with pytest.raises(InvalidInput, match=f"^master: found {master.__name__} for {found}CvxpyMaster$"):
        column_generation(formulation, Stumps(X), None if formulation.outputs else y, master=master)


def test_a_master_takes_a_solver_and_its_options():
    def scs(formulation, signs):
        return CvxpyMaster(formulation, signs, solver="SCS", eps_abs=1e-4, eps_rel=1e-4)

    run = column_generation(formulations.soft_margin(0.4), Stumps(X), y, tol=1e-9, max_columns=40, master=scs)
    best = optimum("soft margin")
    assert run.certificate.dual <= best <= run.certificate.primal
    assert run.certificate.gap > 1e-9
    assert run.certificate.primal == pytest.approx(best, rel=1e-2)
    with pytest.raises(InvalidInput, match=r"^solver: found 'nosuch'"):
        column_generation(formulations.svm(1.0), Stumps(X), y, master=lambda f, y: CvxpyMaster(f, y, solver="nosuch"))


def test_masters_are_listed():
    assert {m.__name__ for m in MASTERS} <= set(masters.__all__)


RULES = st.none() | st.builds(
    lambda rule, share: rule(share), st.sampled_from([InOut, Averaged]), st.sampled_from([0.0, 0.3, 0.9])
)


@pytest.mark.thinned(1, margins=[False, True], master=[HighsMaster, InteriorPointMaster])
@given(
    sample=degenerate(30, 6),
    C=st.sampled_from([1e-6, 1e-3, 0.02, 0.05, 0.4, 0.5, 1.0, 20.0, 30.0, 1e3, 1e6]),
    nu=st.sampled_from([0.01, 0.05, 0.3, 0.4, 0.7, 0.999, 1.0]),
    signs=st.tuples(st.booleans(), st.booleans()),
    oracle=st.sampled_from([lambda X, _: Stumps(X), lambda _, H: PlainTable(H, 2), lambda _, H: Table(H, 2)]),
    rule=RULES,
)
def test_every_round_of_a_linear_program_brackets_its_optimum(master, margins, sample, C, nu, signs, oracle, rule):
    """Of any exact oracle, with smoothed multipliers or those of the master, on data with ties and copies."""
    (Z, labels), (intercept, nonnegative) = sample, signs
    M, n = all_stumps(Z), len(labels)
    if margins:
        most = max(1 / (nu * n), 0.5 / min((labels > 0).sum(), (labels < 0).sum()) if intercept else 0.0)
        loss = SoftMinimumMargin(most)
        formulation = Formulation(loss, Simplex(), intercept=intercept, nonnegative=True, maximise=True)
        optimum = -soft_minimum_program(M, labels, most, intercept=intercept)
    else:
        most, formulation = C, Formulation(Hinge(C), L1(), intercept=intercept, nonnegative=nonnegative)
        optimum = linear_program(M, labels, slack=C, intercept=intercept)
    chosen = master if rule is None else stabilised(master, rule)
    tol = 1e-9 if master is HighsMaster else 1e-8
    run = column_generation(formulation, oracle(Z, M), labels, tol=tol, master=chosen)
    slack, sense = 1e-9 * (1.0 if margins else optimum), formulation.sense
    for row in run.history:
        assert sense * row.bound <= optimum + slack
        assert sense * row.objective >= optimum - slack
    assert sense * run.certificate.primal == pytest.approx(optimum, **({"abs": 1e-8} if margins else {"rel": 1e-8}))
    assert run.certificate.gap <= 2e-8 * (1.0 if margins else optimum)
    assert margins or run.ending is Ending.OPTIMAL
    assert 0 <= run.u.min() <= run.u.max() <= most * (1 + 1e-9 * margins)
    assert not margins or run.u.sum() == pytest.approx(1.0, abs=1e-9)
    assert not margins or run.weights.sum() == pytest.approx(1.0)
