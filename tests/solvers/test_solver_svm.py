"""Every way to an SVM against cvxpy, LIBSVM and closed forms, and P1, P2 and P5 against each other."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.svm import SVC

from cvxens.datasets import make_threenorm, make_twonorm
from cvxens.errors import SolverFallbackWarning
from cvxens.kernels import Gaussian, Linear, SimplifiedPerceptron, SimplifiedStump, Stump
from cvxens.problems import DenseColumns, InfiniteSVM, StumpColumns, SVMDual, SVMPrimal
from cvxens.solvers import Ending, blockwise, solve_svm_dual, solve_svm_path, solve_svm_primal
from cvxens.solvers.additive import AdditiveSVM, solve_additive_svm
from cvxens.solvers.blockwise import KernelRows, KernelSVM, solve_blockwise
from reproduction.svm_path import svm_path

X, Y = make_twonorm(40, 3, random_state=0)
LARGE, SIDES = make_threenorm(300, 5, random_state=0)

KERNELS = {
    "stump": SimplifiedStump(),
    "perceptron": SimplifiedPerceptron(),
    "gaussian": Gaussian(0.1),
    "linear": lambda X: Linear(np.eye(X.shape[1]))(X),
    "shifted below PSD": lambda X: SimplifiedStump()(X) - 10,
    "rank one": lambda X: np.outer(X[:, 0], X[:, 0]),
}

SOLVERS = {
    "blocks": (solve_blockwise, lambda kernel, *given: KernelSVM.of(kernel(given[0]), *given[1:])),
    "rows": (
        solve_blockwise,
        lambda kernel, *given: KernelSVM.of(KernelRows.of(kernel.__call__, given[0]), *given[1:]),
    ),
    "additive": (solve_additive_svm, lambda _, *given: AdditiveSVM.of(*given)),
}
"""Solvers, and what they take of a kernel, a sample, labels and prices: the additive one is of the stump kernel."""

ON_STUMPS = pytest.mark.parametrize("name", SOLVERS)


def solve(name, kernel, *given, tol=1e-8, **options):
    """The solution by one of the solvers, of the problem that it takes."""
    solver, make = SOLVERS[name]
    return solver(make(kernel, *given), tol, **options)


def find_point(way, kernel, X, y, C):
    """Multipliers and an intercept by one of the ways, and the price: no more than that of the end of a path."""
    if way == "path":
        path = svm_path(kernel(X), y)
        assert path.gaps.max() <= 1e-8
        assert (np.diff(path.C) > 0).all()
        C = min(C, path.C_max)
        return *path.at(C), C
    if way == "dual":
        solution = solve_svm_dual(SVMDual(kernel(X), y, C))
        return solution.variables["u"], solution.duals["b"], C
    solution = solve(way, kernel, X, y, C, tol=1e-7)
    assert solution.certificate.holds(1e-7)
    certificate = SVMDual(kernel(X), y, C).certify(u=solution.u, b=solution.b)
    assert certificate.primal == pytest.approx(solution.objective, rel=1e-9)
    assert certificate.relative_gap - 1e-9 <= solution.certificate.relative_gap
    return solution.u, solution.b, C


@st.composite
def samples(draw):
    """Rounded features, classes of all sizes, often duplicates of both classes, sometimes separable."""
    n, d, seed = draw(st.integers(2, 50)), draw(st.integers(1, 4)), draw(st.integers(0, 10**6))
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, d)), draw(st.integers(0, 3)))
    y = np.where(rng.random(n) < draw(st.sampled_from([0.2, 0.5, 0.9])), 1.0, -1.0)
    y[:2] = 1.0, -1.0
    X[:, 0] += 2 * y * draw(st.booleans())
    if draw(st.booleans()):
        X[n // 2 :] = X[: n - n // 2]
    X[0, 0] = X[:, 0].max() + 1
    return X, y


@pytest.mark.thinned(1)
@pytest.mark.parametrize(
    ("way", "kernel"), [*product(("dual", "blocks", "path"), KERNELS), ("rows", "gaussian"), ("additive", "stump")]
)
@settings(max_examples=15)
@given(sample=samples(), log_C=st.floats(-4, 2.5))
def test_the_reference_certifies_the_optimum(way, kernel, sample, log_C):
    (X, y), C, kernel = sample, 10**log_C, KERNELS[kernel]
    u, b, C = find_point(way, kernel, X, y, C)
    assert u.min() >= 0
    assert u.max() <= C * (1 + 1e-8)
    # scores of 1e-8 about an optimum of none are squares in the dual objective, which rounding hides
    assert SVMDual(kernel(X), y, C).certify(u=u, b=b).holds({"dual": 2e-8, "path": 1e-7}.get(way, 1e-6))


@pytest.mark.parametrize("way", ["blocks", "rows"])
def test_a_valley_that_pairs_hardly_descend_is_crossed(way):
    # by pairs alone the gap was 0.08 after 5 x 10^6 steps
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 5))
    y = np.where(X[:, 0] + rng.normal(scale=0.7, size=100) > 0, 1.0, -1.0)
    solution = solve(way, Linear(np.eye(5)), X, y, 1e5, tol=1e-9)
    assert solution.ending is Ending.OPTIMAL
    assert -solution.objective == pytest.approx(solve_svm_primal(SVMPrimal(X, y, 1e5)).objective, rel=1e-8)


def test_a_violation_whose_square_underflows_ends_blocks():
    sample, y = make_twonorm(9, 1, random_state=125)
    u, b, _ = find_point("blocks", KERNELS["gaussian"], np.round(sample, 2), y, 10.0)
    assert SVMDual(KERNELS["gaussian"](np.round(sample, 2)), y, 10.0).certify(u=u, b=b).holds(1e-6)


@pytest.mark.thinned(2, C=[2.0**-17, 1e-3, 2.0**-5, 0.45, 2.0**3, 300.0])
@pytest.mark.parametrize(
    ("way", "kernel"),
    [*product(("dual", "path", "blocks", "rows"), ("stump", "perceptron", "gaussian")), ("additive", "stump")],
)
def test_objectives_and_scores_are_those_of_cvxpy_and_libsvm_whatever_the_blocks(way, kernel, C, monkeypatch):
    monkeypatch.setattr(blockwise, "BLOCK", 8)
    monkeypatch.setattr(blockwise, "WHOLE", 8)
    K = KERNELS[kernel](X)
    u, b, C = find_point(way, KERNELS[kernel], X, Y, C)
    problem = SVMDual(K, Y, C)
    objective, scores = problem.value({"u": u, "b": b}), K @ (Y * u) + b
    assert problem.certify(u=u, b=b).holds(1e-11 if way == "dual" else 1e-6)
    assert objective == pytest.approx(problem.solve().objective, rel=1e-6)
    peer = SVC(C=C, kernel="precomputed", tol=1e-10).fit(K - K.min(), Y)
    v = np.zeros(len(Y))
    v[peer.support_] = peer.dual_coef_[0]
    assert objective == pytest.approx(v @ K @ v / 2 - np.abs(v).sum(), rel=1e-6)
    # an intercept that a free multiplier fixes
    if ((u > 1e-6 * C) & (u < (1 - 1e-6) * C)).any():
        peers = (K - K.min()) @ v + peer.intercept_
        assert_allclose(scores, peers, atol=1e-2 * max(1, np.abs(scores).max()))


@ON_STUMPS
def test_a_path_has_the_solutions_of_single_problems(name):
    Cs, prices = 2.0 ** np.arange(-15, 4, 3), np.random.default_rng(0).uniform(0.5, 2, 300)
    solver, make = SOLVERS[name]
    path = solve_svm_path(solver, make(KERNELS["stump"], LARGE, SIDES, prices), Cs, 1e-8)
    single = [solver(make(KERNELS["stump"], LARGE, SIDES, C * prices), 1e-8) for C in Cs]
    assert_allclose([s.objective for s in path], [s.objective for s in single], rtol=1e-7)
    assert all(s.certificate.holds(1e-8) for s in path)


@ON_STUMPS
def test_a_fold_is_the_problem_on_its_samples(name):
    prices, chosen = np.linspace(0.1, 1, 300), np.flatnonzero(np.arange(300) % 5 != 2)
    solver, make = SOLVERS[name]
    fold = solver(make(KERNELS["stump"], LARGE, SIDES, prices).among(chosen), 1e-9)
    alone = solve(name, KERNELS["stump"], LARGE[chosen], SIDES[chosen], prices[chosen], tol=1e-9)
    assert fold.objective == pytest.approx(alone.objective, rel=1e-8)
    copies = make(KERNELS["stump"], np.array([[0.0], [0.0], [2.0]]), [1.0, -1.0, 1.0], 0.5).among(np.arange(2))
    assert_allclose(solver(copies, 1e-9).u, 0.5)


@pytest.mark.parametrize(
    ("name", "limit", "ending"),
    [
        *((name, {"max_time": 1e-9}, Ending.MAX_TIME) for name in SOLVERS),
        ("additive", {"max_steps": 3}, Ending.MAX_STEPS),
    ],
)
def test_limits_return_a_certified_point(name, limit, ending, monkeypatch):
    monkeypatch.setattr(blockwise, "WHOLE", 32)
    solution = solve(name, KERNELS["stump"], LARGE, SIDES, 0.1, tol=1e-12, **limit)
    assert solution.ending is ending
    certificate = SVMDual(KERNELS["stump"](LARGE), SIDES, 0.1).certify(u=solution.u, b=solution.b)
    assert certificate.relative_gap == pytest.approx(solution.relative_gap, rel=1e-6)
    assert name != "additive" or solution.history[-1].steps <= 3


def test_the_certificate_of_an_additive_problem_knows_a_wrong_point():
    dense = SVMDual(KERNELS["stump"](LARGE), SIDES, 0.1).certify(u=np.full(300, 0.1), b=3.0)
    certificate = AdditiveSVM.of(LARGE, SIDES, 0.1).certify(u=np.full(300, 0.1), b=3.0)
    assert certificate.relative_gap > 0.1
    assert certificate.primal == pytest.approx(dense.primal)
    slackness = certificate.residuals["complementary slackness"]
    assert slackness == pytest.approx(dense.residuals["complementary slackness"])
    assert slackness > 0.1


WAYS = pytest.mark.parametrize("way", ["dual", "path", *SOLVERS])


@WAYS
@pytest.mark.parametrize("C", [0.01, 1.0, 10.0])
def test_two_samples_on_a_line_in_closed_form(way, C):
    """At a distance of 4: u is 1 over it, or C."""
    u, b, _ = find_point(way, KERNELS["stump"], np.array([[0.0], [4.0]]), np.array([1.0, -1.0]), C)
    assert_allclose(u, min(C, 0.25), rtol=1e-7)
    assert C < 0.25 or b == pytest.approx(0.0, abs=1e-7)


@WAYS
def test_duplicates_of_both_classes_are_all_bounded(way):
    u, *_ = find_point(way, KERNELS["stump"], np.repeat(X[:10], 2, axis=0), np.tile([1.0, -1.0], 10), 0.5)
    assert_allclose(u, 0.5)


@pytest.mark.product(way=["dual", "path", "blocks"], value=[0.0, 1.0, -1.0])
@pytest.mark.parametrize("y", [np.where(np.arange(40) % 2, 1.0, -1.0), np.where(np.arange(40) == 7, 1.0, -1.0)])
def test_a_kernel_that_tells_nothing_costs_C_for_two_of_each_pair(way, value, y):
    problem = SVMDual(np.full((40, 40), value), y, C=2.0)
    u, b, _ = find_point(way, lambda X: np.full((len(X), len(X)), value), X, y, 2.0)
    certificate = problem.certify(u=u, b=b)
    assert -certificate.primal == pytest.approx(2 * 2.0 * min((y > 0).sum(), (y < 0).sum()))
    assert certificate.holds(1e-9)


@pytest.mark.parametrize("C", [1e-2, 1.0])
@pytest.mark.parametrize(
    "H",
    [DenseColumns(X), StumpColumns(X), StumpColumns(X, constant=False)],
    ids=["dense", "stumps", "stumps without the constant"],
)
def test_primal_equals_the_reference(H, C):
    problem = SVMPrimal(H, Y, C / H.shape[1])
    fast = solve_svm_primal(problem)
    assert fast.objective == pytest.approx(problem.solve().objective, rel=1e-6)
    assert problem.certify(fast).holds(1e-11)
    assert_allclose(fast.variables["w"], H.edges(Y * fast.duals["u"]), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_scaling_the_kernel_is_scaling_C(scale):
    unscaled = solve_svm_dual(SVMDual(Stump()(X), Y, 0.5))
    problem = SVMDual(scale * Stump()(X), Y, 0.5 / scale)
    scaled = solve_svm_dual(problem)
    assert scale * scaled.objective == pytest.approx(unscaled.objective, rel=1e-9)
    assert problem.certify(scaled).holds(1e-11)


@settings(max_examples=20)
@given(st.integers(0, 10**6), st.integers(4, 25), st.integers(1, 4), st.sampled_from([0.01, 0.3, 2.0]))
def test_dual_primal_and_infinite_agree(seed, n_samples, n_features, C):
    X, y = make_threenorm(n_samples, n_features, random_state=seed)
    X = np.round(X, 1)
    K = Stump()(X)
    dual = solve_svm_dual(SVMDual(K, y, C))
    cells = Stump().cells(X)
    infinite = solve_svm_primal(InfiniteSVM(cells, y, C))
    primal = solve_svm_primal(SVMPrimal(cells.scores(np.eye(cells.shape[1])), y, C))
    assert -dual.objective == pytest.approx(infinite.objective, rel=1e-9)
    assert -dual.objective == pytest.approx(primal.objective, rel=1e-9)
    scores = K @ (y * dual.variables["u"]) + dual.duals["b"]
    from_cells = cells.scores(infinite.variables["w"]) + infinite.variables["b"]
    on_the_margin = (dual.variables["u"] > 1e-6 * C) & (dual.variables["u"] < (1 - 1e-6) * C)
    assert_allclose((scores - from_cells)[on_the_margin], 0, atol=1e-7)


@given(st.floats(0.1, 10), st.floats(0.1, 10), st.floats(-1, 1), st.floats(1e-3, 1e3))
def test_two_samples_in_closed_form(a, b, correlation, C):
    across = correlation * np.sqrt(a * b)
    distance = a + b - 2 * across
    u = min(C, 2 / distance) if distance > 0 else C
    solution = solve_svm_dual(SVMDual([[a, across], [across, b]], [1.0, -1.0], C))
    assert solution.objective == pytest.approx(distance * u * u / 2 - 2 * u, rel=1e-9)
    assert_allclose(solution.variables["u"], [u, u], rtol=1e-7)


def overlapping(n_samples):
    X = 100 * np.random.default_rng(0).normal(size=(n_samples, 2))
    return X @ X.T, np.where(np.arange(n_samples) % 2, 1.0, -1.0)


def test_few_that_overlap_are_solved_without_the_reference():
    problem = SVMDual(*overlapping(6), 1e5)
    assert problem.certify(solve_svm_dual(problem)).holds(1e-6)


@pytest.mark.parametrize("n_samples", [20, 80])
def test_held_up_far_from_the_optimum_leaves_it_to_the_better_of_two(n_samples):
    problem = SVMDual(*overlapping(n_samples), 1e5)
    with pytest.warns(SolverFallbackWarning, match=r"relative gap .* from (blocks|CLARABEL)"):
        solution = solve_svm_dual(problem)
    assert {attempt.solver for attempt in solution.attempts} == {"blocks of variables", "CLARABEL"}
    assert problem.certify(solution).relative_gap <= min(1e-5, problem.certify(problem.solve()).relative_gap)
