"""The equalities of LL08 and KIE06 on kernels, each by an independent road."""

from itertools import pairwise, product
from math import exp, factorial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.integrate import quad
from scipy.optimize import brentq
from sklearn.svm import SVC

from cvxens.hypotheses import LinearForm
from cvxens.hypotheses import Stump as StumpHypothesis
from cvxens.kernels import (
    DecisionStump,
    DecisionTree,
    Gaussian,
    HistogramIntersection,
    Laplacian,
    Linear,
    MiddleStump,
    Perceptron,
    SimplifiedPerceptron,
    SimplifiedStump,
    Stump,
    StumpRegion,
    WeakLearner,
    and_,
    or_,
)
from cvxens.kernels.kernel import OPEN
from cvxens.kernels.logic import Constants
from cvxens.kernels.perceptron import mean_projection
from cvxens.problems import SVMDual, SVMPrimal
from cvxens.solvers import solve_svm_dual
from reproduction.ll08_checks import print_regions

LOW, HIGH = np.array([-2.0, -1.0, 0.0]), np.array([2.0, 3.0, 0.5])
WITHIN = Stump(LOW, HIGH)
DELTA = WITHIN.total_mass()

XOR_POINTS = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
XOR_LABELS = np.array([-1.0, 1.0, 1.0, -1.0])

units = arrays(float, (6, 3), elements=st.integers(0, 8).map(lambda k: k / 8))
inside = units.map(lambda unit: LOW + unit * (HIGH - LOW))


def stumps_on(X, box, n_thresholds):
    """Values of stumps of both signs on a grid of thresholds, and the r^2 of each."""
    low, high = box
    found = []
    for d in range(X.shape[1]):
        width = (high[d] - low[d]) / n_thresholds
        for a in low[d] + width * (np.arange(n_thresholds) + 0.5):
            found += [(q * np.where(X[:, d] >= a, 1.0, -1.0), width / 4) for q in (-1, 1)]
    return found


GRID = np.array([[0.0, 0.0], [0.25, 1.0], [0.5, 0.5], [1.0, 0.25]])
BOX = (np.zeros(2), np.ones(2))
ON_GRID = Stump(*BOX)


def test_definition_3_the_stump_kernel_by_its_integral():
    total = sum(mass * np.outer(h, h) for h, mass in stumps_on(GRID, BOX, 8))
    np.testing.assert_allclose(ON_GRID(GRID), total, atol=1e-12)
    assert ON_GRID.total_mass() == pytest.approx(sum(mass for _, mass in stumps_on(GRID, BOX, 8)))


@pytest.mark.parametrize(
    ("kernel", "join"),
    [
        (ON_GRID * ON_GRID, lambda a, b: [-a * b]),
        (and_(ON_GRID, ON_GRID), lambda a, b: [np.sqrt(2) * q * np.minimum(a, b) for q in (-1, 1)]),
        (or_(ON_GRID, ON_GRID), lambda a, b: [np.sqrt(2) * q * np.maximum(a, b) for q in (-1, 1)]),
    ],
    ids=["theorem 14, xor", "theorem 16, and", "theorem 16, or"],
)
def test_joined_sets_by_their_definition(kernel, join):
    stumps = stumps_on(GRID, BOX, 4)
    total, mass = np.zeros((4, 4)), 0.0
    for (first, mass_1), (second, mass_2) in product(stumps, stumps):
        for h in join(first, second):
            total += mass_1 * mass_2 * np.outer(h, h)
            mass += mass_1 * mass_2 * h[0] ** 2
    np.testing.assert_allclose(kernel(GRID), total, atol=1e-12)
    assert kernel.total_mass() == pytest.approx(mass)


@settings(max_examples=20)
@given(X=inside)
def test_theorem_8_averaged_stumps_give_the_kernel_between_samples(X):
    """New points see the average over each cell: -1 to 1 across it."""
    X[0], new = LOW + 0.4 * (HIGH - LOW), LOW + np.random.default_rng(0).random((5, 3)) * (HIGH - LOW)
    if (X[0] == X).all():
        X[1] = HIGH
    K = np.zeros((5, len(X)))
    for d in range(3):
        edges = np.unique(np.concatenate([[LOW[d]], X[:, d], [HIGH[d]]]))
        for below, above in pairwise(edges):
            averaged = np.clip((2 * new[:, d] - below - above) / (above - below), -1, 1)
            K += (above - below) / 2 * np.outer(averaged, np.where(X[:, d] >= above, 1.0, -1.0))
    np.testing.assert_allclose(WITHIN(new, X), K, atol=1e-12)
    np.testing.assert_allclose(WITHIN.cells(X).widths.sum(), (HIGH - LOW).sum())


# Theta_D = int_{|theta| = 1} dtheta and Xi_D = int_{|theta| = 1} |theta_1| dtheta of LL08 Definition 9, by D
AREAS = {1: 2, 2: 2 * np.pi, 3: 4 * np.pi}
PROJECTED_AREAS = {1: 2, 2: 4, 3: 2 * np.pi}


def test_definition_9_the_perceptron_kernel_in_the_plane():
    X, radius = np.array([[0.3, -0.2], [1.0, 0.5], [-0.6, 0.9]]), 1.5
    angles = 2 * np.pi * (np.arange(20_000) + 0.5) / 20_000
    theta = np.stack([np.cos(angles), np.sin(angles)])
    apart = np.abs((X[:, None] - X[None]) @ theta)
    # r^2 int (2 R - 2 |theta'(x - x')|) dtheta, thresholds being integrated exactly
    K = (2 * radius - 2 * apart).mean(axis=2) * AREAS[2] / (2 * PROJECTED_AREAS[2])
    np.testing.assert_allclose(Perceptron(radius)(X), K, atol=1e-7)
    assert Perceptron(radius, 2).total_mass() == pytest.approx(radius * AREAS[2] / PROJECTED_AREAS[2])


def test_appendix_a_theta_and_xi_of_the_perceptron_kernel():
    for d, area in AREAS.items():
        assert area * mean_projection(d) == pytest.approx(PROJECTED_AREAS[d])
    for d in (2, 3, 6):
        weight = quad(lambda t, d=d: np.sin(t) ** (d - 2), 0, np.pi)[0]
        mean = quad(lambda t, d=d: abs(np.cos(t)) * np.sin(t) ** (d - 2), 0, np.pi, points=[np.pi / 2])[0] / weight
        assert mean_projection(d) == pytest.approx(mean)
    assert mean_projection(10_000) == pytest.approx(np.sqrt(2 / (np.pi * 10_000)), rel=1e-4)


def test_the_perceptron_kernel_is_that_of_stumps_on_one_feature():
    X = np.array([[-2.0], [0.5], [2.0]])
    np.testing.assert_allclose(Perceptron(2.0)(X), Stump(low=[-2.0], high=[2.0])(X), atol=1e-12)
    np.testing.assert_allclose(Perceptron()(X), Stump()(X) - 2 * OPEN, atol=1e-12)


def test_cells_of_perceptrons_tend_to_the_kernel_and_are_reproducible():
    X = np.random.default_rng(1).normal(size=(7, 3))
    kernel = Perceptron()
    errors = []
    for n_directions in (10, 300, 5_000):
        cells = kernel.cells(X, n_directions, random_state=4)
        assert cells.shape == (7, 8 * n_directions)
        errors.append(np.abs(cells.scores(cells.edges(np.eye(7))) - kernel(X)).max())
    assert errors[2] < errors[1] < errors[0]
    assert errors[2] < 0.1
    again = kernel.cells(X, 5_000, random_state=4)
    np.testing.assert_array_equal(again.thresholds, cells.thresholds)
    assert (kernel.cells(X, 5, random_state=5).X != kernel.cells(X, 5, random_state=4).X).any()


def test_perceptrons_with_the_longest_sample_on_the_sphere_keep_their_cells():
    X = np.array([[3.0, 4.0], [0.0, 5.0], [-5.0, 0.0], [0.0, 0.0]])
    cells = Perceptron(radius=5.0).cells(X, 50, random_state=0)
    assert (cells.widths >= 0).all()
    assert cells.scale.max() > 0


def close_printed(X, level):
    """The closed form of Definition 17 as it is printed, (2 Delta_S)^L sum_{l=1}^L (k / (2 Delta_S))^l."""
    share = (WITHIN(X) + DELTA) / (2 * DELTA)
    return (2 * DELTA) ** level * sum(share**below for below in range(1, level + 1))


@settings(max_examples=20)
@given(X=inside, level=st.integers(1, 5))
def test_definition_17_is_theorem_16_level_by_level_and_has_closed_forms(X, level):
    """As printed, it is a mixture of ANDs and exclusive ors; the masses are those of the hypotheses."""
    k, expected = WITHIN(X) + DELTA, WITHIN + Constants(DELTA)
    for _ in range(1, level):
        expected = and_(expected, WITHIN)
    regions, printed = StumpRegion(level, LOW, HIGH), print_regions(level, WITHIN)
    np.testing.assert_allclose(regions(X), expected(X), rtol=1e-10)
    assert regions.neutral
    masses = [2 * DELTA * (4 * DELTA) ** (below - 1) for below in range(1, level + 1)]
    corrected = k**level + sum(masses[below - 1] * k ** (level - below) for below in range(1, level))
    np.testing.assert_allclose(regions(X), corrected, rtol=1e-10, atol=1e-9)
    assert regions.total_mass() == pytest.approx(masses[-1]) == expected.total_mass()
    np.testing.assert_allclose(printed(X), close_printed(X, level), rtol=1e-10, atol=1e-9)
    assert printed.total_mass() == pytest.approx(level * (2 * DELTA) ** level)


def corrected_weight(level, t):
    """gamma^-L times the weight of K_L with the masses of Theorem 16 in Theorem 18."""
    return 1 / factorial(level) - sum((2 * t) ** j / factorial(level + j) for j in range(1, 60))


@settings(max_examples=15)
@given(X=inside, t=st.floats(0.05, 0.95))
def test_theorem_18_decision_trees_are_regions_of_all_levels(X, t):
    gamma = t / DELTA
    K = DecisionTree(gamma, LOW, HIGH)(X)
    np.testing.assert_allclose(K, sum((gamma * (WITHIN(X) + DELTA)) ** j / factorial(j) for j in range(1, 40)))
    tau = [gamma**n / factorial(n) - 2 * DELTA * gamma ** (n + 1) / factorial(n + 1) for n in range(1, 40)]
    assert min(tau) > 0
    printed = sum(weight * close_printed(X, n) for n, weight in enumerate(tau, start=1))
    np.testing.assert_allclose(K, printed, rtol=1e-9)
    corrected = sum(gamma**n * corrected_weight(n, t) * StumpRegion(n, LOW, HIGH)(X) for n in range(1, 60))
    np.testing.assert_allclose(K, corrected, rtol=1e-6)


def test_theorem_18_the_weights_of_right_masses_are_positive_up_to_0_628():
    zero = brentq(lambda t: corrected_weight(1, t), 0.1, 1.0)
    assert 0.628 < zero < 0.629
    assert exp(2 * zero) == pytest.approx(1 + 4 * zero)
    assert all(corrected_weight(level, t) > 0 for level in range(2, 20) for t in (0.1, 0.5, 0.628))


@settings(max_examples=15)
@given(X=inside, t=st.floats(0.05, 8.0))
def test_footnote_5_decision_trees_are_exclusive_ors_of_stumps_for_any_gamma(X, t):
    gamma = t / DELTA
    K = DecisionTree(gamma, LOW, HIGH)(X)
    xors = sum(gamma**j / factorial(j) * WITHIN(X) ** j for j in range(1, 80))
    np.testing.assert_allclose(K, exp(t) - 1 + exp(t) * xors, rtol=1e-9, atol=1e-9 * exp(2 * t))
    np.testing.assert_allclose(Laplacian(gamma)(X), exp(-2 * t) * (K + 1), rtol=1e-12)
    assert DecisionTree(gamma, LOW, HIGH).total_mass() == pytest.approx(exp(2 * t) - 1)


@pytest.mark.parametrize("level", [1, 2, 3, 4])
def test_ands_of_stumps_alone_have_powers_as_kernels_up_to_a_constant(level):
    """int h h' of the AND of independent neutral hypotheses: 4 ((K + Delta) / 4)^L + Delta^L (1 - 2^(2 - L))."""
    stumps = stumps_on(GRID[:, :1], (np.zeros(1), np.ones(1)), 4)
    kernel = Stump((0.0,), (1.0,))
    total = np.zeros((4, 4))
    for drawn in product(stumps, repeat=level):
        h = np.min([values for values, _ in drawn], axis=0)
        total += np.prod([mass for _, mass in drawn]) * np.outer(h, h)
    delta = kernel.total_mass()
    power = 4 * ((kernel(GRID[:, :1]) + delta) / 4) ** level
    np.testing.assert_allclose(total, power + delta**level * (1 - 2.0 ** (2 - level)), atol=1e-12)


@settings(max_examples=20)
@given(X=inside)
def test_theorems_4_and_10_simplified_kernels_differ_by_a_constant(X):
    opened = Stump().total_mass(X), (1 + 2 * OPEN) * np.ptp(X, axis=0).sum() / 2
    assert opened[0] == pytest.approx(opened[1])
    np.testing.assert_allclose(SimplifiedStump()(X), [[-sum(abs(a - b)) for b in X] for a in X], atol=1e-12)
    for exact, simplified in (
        *((WITHIN, SimplifiedStump()), (Stump(), SimplifiedStump()), (Perceptron(9.0), SimplifiedPerceptron())),
    ):
        np.testing.assert_allclose(exact(X) - simplified(X), exact.total_mass(X), rtol=1e-12, atol=1e-12)


@given(X=inside, seed=st.integers(0, 99))
def test_the_middle_stump_kernel_counts_middle_stumps(X, seed):
    X[0], X[-1] = LOW, HIGH
    kernel = MiddleStump(X)
    thresholds = []
    for feature in range(X.shape[1]):
        cuts = sorted(set(X[:, feature]))
        thresholds += [(feature, (low + high) / 2) for low, high in pairwise(cuts)]
    new = np.random.default_rng(seed).normal(scale=3, size=(3, X.shape[1]))
    for left, right in ((X, X), (X, new), (new, new)):
        brute = [[sum(np.sign(a[j] - t) * np.sign(b[j] - t) for j, t in thresholds) for b in right] for a in left]
        np.testing.assert_array_equal(kernel(left, right), brute)
    columns = kernel.columns()
    assert columns.shape == (len(X), len(thresholds))
    np.testing.assert_allclose(columns.scores(columns.edges(np.eye(len(X)))), kernel(X), atol=1e-12)


def test_middle_stumps_between_adjacent_floats_stay_between_them():
    below = 1.0
    for _ in range(4):
        above = np.nextafter(below, 2)
        X = np.array([[below], [above]])
        np.testing.assert_array_equal(MiddleStump(X)(X), [[1.0, -1.0], [-1.0, 1.0]])
        below = above
    X = [[0.0], [5e-324]]
    np.testing.assert_array_equal(MiddleStump(X)(X), [[1.0, -1.0], [-1.0, 1.0]])


def test_constant_features_add_nothing_but_their_range():
    X = np.array([[0.0, 2.0], [1.0, 2.0], [3.0, 2.0]])
    for kernel in (Stump(), SimplifiedStump(), MiddleStump(X)):
        alone = MiddleStump(X[:, :1]) if isinstance(kernel, MiddleStump) else kernel
        np.testing.assert_allclose(kernel(X), alone(X[:, :1]), atol=1e-12)


@given(X=units)
def test_after_theorem_4_histogram_intersection_is_a_form_of_the_stump_kernel(X):
    K = HistogramIntersection()(X)
    np.testing.assert_allclose(K, [[np.minimum(a, b).sum() for b in X] for a in X], atol=1e-12)
    bins = np.concatenate([X, 1 - X], axis=1)
    np.testing.assert_allclose(HistogramIntersection()(bins), 3 + SimplifiedStump()(X), atol=1e-12)


def test_after_theorem_4_histograms_need_not_be_of_equal_size():
    """Any f(x) + f(x') is cancelled: half the stump kernel and histogram intersection have the same solutions."""
    X = np.random.default_rng(8).uniform(0, 3, (16, 3))
    y = np.where(X[:, 0] > X[:, 1] + 0.3, 1.0, -1.0)
    assert np.ptp(X.sum(axis=1)) > 3
    found = [solve_svm_dual(SVMDual(K, y, C=0.8)) for K in (HistogramIntersection()(X), 0.5 * Stump()(X))]
    assert found[0].objective == pytest.approx(found[1].objective, rel=1e-8)
    u = found[0].variables["u"]
    np.testing.assert_allclose(u, found[1].variables["u"], atol=1e-4)
    # the intercepts differ by what f adds to all scores
    moved = -0.5 * (u * y) @ X.sum(axis=1)
    assert float(found[0].duals["b"]) - float(found[1].duals["b"]) == pytest.approx(moved, abs=1e-3)


def test_an_svm_over_random_fourier_features_is_a_linear_one():
    """Rahimi & Recht: z_j(x) = sqrt(2 / n) cos(theta_j'x - kappa_j), P1 over these columns."""
    X = np.random.default_rng(9).normal(size=(20, 2))
    y = np.where(X[:, 0] ** 2 + X[:, 1] > 0.5, 1.0, -1.0)
    features = WeakLearner.from_kernel(Gaussian(0.7).with_ranges_of(X), 40, random_state=2)
    Z = np.column_stack([np.sqrt(2 / 40) * np.cos(X @ h.theta - h.kappa) for h in features.columns])
    linear = SVMPrimal(Z, y, C=2.0).solve()
    assert linear.objective == pytest.approx(-SVMDual(features(X), y, C=2.0).solve().objective, rel=1e-6)


def test_kie06_13_is_the_limit_of_weak_learners_as_stumps_get_dense():
    X = np.random.default_rng(0).uniform(LOW, HIGH, (8, 3))
    kernel = DecisionStump(LOW, HIGH)
    errors = []
    for n in (10, 100, 1000):
        at = (np.arange(n) + 0.5) / n
        stumps = [StumpHypothesis(d, LOW[d] + t * (HIGH[d] - LOW[d]), 1) for d in range(3) for t in at]
        errors.append(np.abs(WeakLearner(stumps)(X) - kernel(X)).max())
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] <= 2 / 1000


@settings(max_examples=20)
@given(X=inside)
def test_kie06_13_counts_features_alike(X):
    kernel = DecisionStump(LOW, HIGH)
    np.testing.assert_allclose(kernel(X), Stump([0.0] * 3, [2 / 3] * 3)((X - LOW) / (HIGH - LOW) * 2 / 3), atol=1e-12)
    scale, shift = np.array([2.0, 0.5, 8.0]), np.array([1.0, -4.0, 2.0])
    moved = DecisionStump(LOW * scale + shift, HIGH * scale + shift)
    np.testing.assert_allclose(moved(X * scale + shift), kernel(X), atol=1e-12)
    constant = DecisionStump([*LOW, 7.0], [*HIGH, 7.0])
    np.testing.assert_allclose(constant(np.column_stack([X, np.full(len(X), 7.0)])), kernel(X), atol=1e-12)


@pytest.mark.parametrize("make", [lambda X: DecisionStump(LOW, HIGH), MiddleStump, lambda X: WITHIN, lambda X: Stump()])
def test_cells_of_finite_and_scaled_stumps_have_the_kernel_as_inner_products(make):
    X = np.random.default_rng(1).uniform(LOW, HIGH, (9, 3)).round(1).clip(LOW, HIGH)
    kernel, part = make(X), X[2:7]
    for sample in (X, part):
        cells = kernel.cells(sample)
        np.testing.assert_allclose(cells.scores(cells.edges(np.eye(len(sample)))), kernel(sample), atol=1e-9)


def test_the_linear_kernel_is_a_quadratic_form():
    X, A = np.random.default_rng(0).normal(size=(7, 3)), np.random.default_rng(1).normal(size=(3, 2))
    np.testing.assert_allclose(Linear(A @ A.T)(X), X @ A @ A.T @ X.T, atol=1e-12)
    np.testing.assert_allclose(Linear(np.eye(3))(X, X[:2]), X @ X[:2].T, atol=1e-12)


def test_weak_learners_by_brute_force():
    X = np.random.default_rng(0).uniform(LOW, HIGH, (6, 3))
    forms = [LinearForm((0, 2), (0.5, -1.0)), StumpHypothesis(1, 0.0, 1), StumpHypothesis(2, 0.2, 1)]
    pi = np.array([0.3, 0.7, 0.0])
    np.testing.assert_allclose(WeakLearner(forms, 5 * pi)(X), WeakLearner(forms, pi)(X), rtol=1e-12)
    assert WeakLearner(forms, [2, 3, 4]).total_mass() == 1
    expected = sum(p * np.outer(h(X), h(X)) for p, h in zip(pi, forms, strict=True))
    np.testing.assert_allclose(WeakLearner(forms, pi)(X), expected, atol=1e-12)
    np.testing.assert_allclose(3 * WeakLearner(forms)(X), sum(np.outer(h(X), h(X)) for h in forms), atol=1e-12)


lines = st.lists(st.integers(-40, 40), min_size=2, max_size=8, unique=True).map(
    lambda values: np.array(values, float)[:, np.newaxis] / 4
)


@given(X=lines, scale=st.sampled_from([1.0, 2.0**-30, 2.0**40]))
def test_theorems_5_and_11_gram_matrices_of_distinct_samples_are_pd(X, scale):
    """Also on a line, where both ends of a closed box have opposite rows: K (e_first + e_last) = 0."""
    planar = np.column_stack([X, np.round(X)])
    for kernel, sample in ((Stump(), X), (Perceptron(), X - X.mean()), (Stump(), planar), (Perceptron(), planar)):
        K, gap = kernel(scale * sample), np.diff(np.sort(scale * X[:, 0])).min()
        # a pair that is `gap` apart has about that eigenvalue, and 2 v'1 / |v|^2 margin that of the ends
        assert np.linalg.eigvalsh(K).min() > min(OPEN * np.ptp(scale * X), gap) / 8
    closed = Stump(X.min(axis=0), X.max(axis=0))(X)
    assert abs(np.linalg.eigvalsh(closed).min()) < 1e-12 * closed.max() * len(X)


@settings(max_examples=20)
@given(X=lines)
def test_section_4_1_the_constant_is_in_the_span_of_an_open_box_and_ball(X):
    ones = np.ones(len(X))
    for cells in (Stump().cells(X), Perceptron().cells(X - X.mean(), 1, random_state=0)):
        H = cells.scores(np.eye(cells.shape[1]))
        constant = np.ptp(H, axis=0) == 0
        assert constant.sum() == 2
        assert (H[0, constant] != 0).all()
        w = np.linalg.lstsq(H, ones, rcond=None)[0]
        np.testing.assert_allclose(H @ w, ones, atol=1e-8)
    closed = Stump(X.min(axis=0), X.max(axis=0)).cells(X)
    H = closed.scores(np.eye(closed.shape[1]))
    # H's rows of the two ends are opposite, so no combination is 1 at both
    np.testing.assert_allclose(H[X[:, 0].argmin()], -H[X[:, 0].argmax()])


def test_theorem_13_the_union_of_two_sets_is_the_sum_of_their_kernels():
    """P5 over the columns of both is P2 with the sum, whatever each set weighs."""
    X = np.random.default_rng(5).normal(size=(14, 2))
    y = np.where(X[:, 0] * X[:, 1] > -0.2, 1.0, -1.0)
    first, second = Stump().cells(X), MiddleStump(X).columns()
    H = np.hstack([each.scores(np.eye(each.shape[1])) * scale for each, scale in ((first, 1.0), (second, 0.5))])
    union = SVMPrimal(H, y, C=0.7).solve()
    dual = SVMDual((Stump() + 0.25 * MiddleStump(X))(X), y, C=0.7).solve()
    assert union.objective == pytest.approx(-dual.objective, rel=1e-7)


def test_section_7_svm_mid_has_half_of_the_middle_stumps_kernel():
    """K_M sums (1/2)^2 m(x) m(x') over both signs; the machine of C there is ours of C / 2."""
    X = np.random.default_rng(6).normal(size=(12, 2))
    y = np.where(X.sum(axis=1) > 0.1, 1.0, -1.0)
    both = [q * h for h in MiddleStump(X).columns().scores(np.eye(22)).T for q in (-1, 1)]
    K = sum(0.25 * np.outer(m, m) for m in both)
    np.testing.assert_allclose((0.5 * MiddleStump(X))(X), K, atol=1e-12)
    printed = solve_svm_dual(SVMDual(K, y, C=0.25)).variables["u"]
    ours = solve_svm_dual(SVMDual(MiddleStump(X)(X), y, C=0.125)).variables["u"]
    np.testing.assert_allclose(printed, 2 * ours, atol=1e-5)


DISTINCT = {
    "stump": Stump(),
    "perceptron": Perceptron(),
    "regions": StumpRegion(3),
    "trees": DecisionTree(0.05),
    "Laplacian": Laplacian(1.0),
    "Gaussian": Gaussian(2.0),
}


@pytest.mark.parametrize("kernel", DISTINCT.values(), ids=DISTINCT)
def test_theorems_6_and_12_distinct_samples_are_dichotomised(kernel):
    """The Gram matrix is PD, so every labelling is that of a classifier without training error."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.permutation(12) / 4, rng.integers(0, 2, 12)])
    assert np.linalg.eigvalsh(kernel(X)).min() > 1e-6
    for _ in range(5):
        y = rng.permutation(np.repeat([-1.0, 1.0], 6))
        assert SVC(C=1e8, kernel=kernel).fit(X, y).score(X, y) == 1.0


UNIT = Stump((0.0, 0.0), (1.0, 1.0))
STUMPS = [Stump(), SimplifiedStump(), MiddleStump(XOR_POINTS), DecisionStump()]
RICHER = [
    *(UNIT * UNIT, and_(UNIT, UNIT), or_(UNIT, UNIT), StumpRegion(2), StumpRegion(2, (0.0, 0.0), (1.0, 1.0))),
    *(DecisionTree(0.3), Laplacian(1.0), Gaussian(1.0), Perceptron(), UNIT + Perceptron()),
]


@pytest.mark.parametrize("kernel", STUMPS + RICHER, ids=repr)
def test_stumps_do_not_learn_xor_and_richer_sets_do(kernel):
    K = kernel(XOR_POINTS)
    score = SVC(C=1e6, kernel="precomputed").fit(K, XOR_LABELS).score(K, XOR_LABELS)
    if kernel in RICHER:
        assert XOR_LABELS @ K @ XOR_LABELS > 1e-3
        assert score == 1
    else:
        np.testing.assert_allclose(XOR_LABELS @ K @ XOR_LABELS, 0, atol=1e-12)
        assert score < 1


def test_sums_and_multiples_are_those_of_values():
    X = np.random.default_rng(0).uniform(LOW, HIGH, (5, 3))
    parts = [WITHIN(X), Perceptron(9.0)(X), Laplacian(0.5)(X)]
    composed = WITHIN + 2.5 * Perceptron(9.0) + Laplacian(0.5) * WITHIN * Laplacian(0.5)
    np.testing.assert_allclose(composed(X), parts[0] + 2.5 * parts[1] + parts[2] ** 2 * parts[0], rtol=1e-12)
    assert composed.total_mass(X) == pytest.approx(DELTA + 2.5 * Perceptron(9.0).total_mass(X) + DELTA)


@pytest.mark.parametrize(
    "kernel",
    [
        *(Stump(), Perceptron(), DecisionStump(), StumpRegion(2), DecisionTree(0.05), HistogramIntersection()),
        *(Stump() + 2.0 * Perceptron(), Stump() * Stump(), and_(Stump(), Perceptron())),
        *(Laplacian(0.3), Gaussian(0.3)),
    ],
    ids=repr,
)
def test_a_kernel_within_a_sample_has_its_ranges(kernel):
    X = np.random.default_rng(3).random((6, 2))
    within = kernel.with_ranges_of(X)
    assert within.is_data_independent
    np.testing.assert_allclose(within(X), kernel(X), rtol=1e-12)
    np.testing.assert_allclose(within(X[:3] * 0.5 + X[3:] * 0.5, X).shape, (3, 6))
    assert within.total_mass() == pytest.approx(kernel.total_mass(X))
    assert within.with_ranges_of(X) == within
    assert len(within.sample(3, random_state=0)) == 3


def test_what_an_svm_does_not_notice_may_be_read_off_both_samples():
    X = np.random.default_rng(3).random((6, 2))
    wide = Stump((-1.0, -1.0), (2.0, 2.0))
    y = np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    models = [SVC(kernel=kernel, C=1.0, tol=1e-9).fit(X, y) for kernel in (Stump(), wide, SimplifiedStump())]
    scores = [model.decision_function(2 * X - 0.5) for model in models]
    np.testing.assert_allclose(scores[0], scores[1], atol=1e-6)
    np.testing.assert_allclose(scores[0], scores[2], atol=1e-6)
