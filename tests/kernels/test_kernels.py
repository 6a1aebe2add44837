from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.integrate import quad

from cvxens.errors import InvalidInput
from cvxens.kernels import MiddleStump, Perceptron, SimplifiedStump, Stump
from cvxens.kernels.kernel import OPEN
from cvxens.kernels.perceptron import mean_projection

values = st.one_of(st.integers(-3, 3).map(float), st.floats(-5, 5).map(lambda v: round(v, 3)))


@st.composite
def samples(draw):
    """Ties, duplicate rows, constant and duplicated features; at least one feature varies."""
    X = draw(arrays(float, (draw(st.integers(2, 8)), draw(st.integers(1, 4))), elements=values))
    X[0, 0], X[-1, 0] = -1.0, 1.5
    if draw(st.booleans()):
        X[:, -1] = X[:, 0]
    return X


KERNELS = {
    "stump": Stump(),
    "stump within ranges": Stump(low=(-6.0,) * 4, high=(7.0,) * 4),
    "simplified": SimplifiedStump(),
    "perceptron": Perceptron(),
    "perceptron within a radius": Perceptron(radius=12.0),
}


def kernel_of(name, X):
    if name == "stump within ranges":
        return Stump(low=(-6.0,) * X.shape[1], high=(7.0,) * X.shape[1])
    return MiddleStump(X) if name == "middle" else KERNELS[name]


every = pytest.mark.parametrize("name", [*KERNELS, "middle"])


@every
@settings(deadline=None, max_examples=25)
@given(X=samples())
def test_kernels_are_symmetric_and_psd_up_to_the_constant(name, X):
    K = kernel_of(name, X)(X)
    assert K.shape == (len(X), len(X))
    np.testing.assert_array_equal(K, K.T)
    J = np.eye(len(X)) - 1 / len(X)
    size = np.abs(K).max() * len(X)
    assert np.linalg.eigvalsh(J @ K @ J).min() >= -1e-12 * size
    if name == "simplified":
        assert (np.diag(K) == 0).all()
        assert np.linalg.eigvalsh(K).min() < 0
    else:
        assert np.linalg.eigvalsh(K).min() >= -1e-12 * size
        assert (np.diag(K)[:, None] + 1e-12 * size >= K).all()


@every
@settings(deadline=None, max_examples=15)
@given(X=samples())
def test_rows_of_two_samples_are_a_block_of_the_whole(name, X):
    kernel = kernel_of(name, X)
    whole, split = kernel(X), len(X) // 2
    block = kernel(X[:split], X[split:])
    assert block.shape == (split, len(X) - split)
    difference = whole[:split, split:] - block
    if name in {"stump", "perceptron"}:
        difference = difference - difference[0, 0]
    np.testing.assert_allclose(difference, 0, atol=1e-9)


@settings(deadline=None, max_examples=25)
@given(X=samples())
def test_the_stump_kernels_are_one_up_to_a_constant(X):
    low, high = X.min(axis=0), X.max(axis=0)
    distance = np.array([[sum(abs(a - b)) for b in X] for a in X])
    np.testing.assert_allclose(SimplifiedStump()(X), -distance, atol=1e-12)
    np.testing.assert_allclose(Stump()(X), (1 + 2 * OPEN) * sum(high - low) / 2 - distance, atol=1e-12)
    np.testing.assert_allclose(Stump(low=low - 1, high=high + 2)(X), sum(high - low + 3) / 2 - distance, atol=1e-12)


@pytest.mark.parametrize(("a", "b"), [(0.0, 0.0), (-1.0, 1.5), (0.3, 2.0), (2.0, -1.0)])
def test_the_stump_kernel_is_the_integral_over_thresholds_and_signs(a, b):
    def product(threshold):
        return 2 * 0.25 * np.sign(a - threshold) * np.sign(b - threshold)

    integral = quad(product, -1, 2, points=[a, b])[0]
    assert Stump(low=[-1.0], high=[2.0])([[a]], [[b]])[0, 0] == pytest.approx(integral, abs=1e-9)


@settings(deadline=None, max_examples=25)
@given(X=samples(), wide=st.booleans())
def test_cells_of_stumps_have_the_kernel_as_inner_products(X, wide):
    low, high = X.min(axis=0), X.max(axis=0)
    kernel = Stump(low=low - [1.0] * len(low), high=high + 0.5) if wide else Stump()
    cells = kernel.cells(X)
    np.testing.assert_allclose(cells.scores(cells.edges(np.eye(len(X)))), kernel(X), atol=1e-9)
    total = sum(high - low) + (1.5 * len(low) if wide else 2 * OPEN * sum(high - low))
    assert (cells.scale**2).sum() == pytest.approx(total / 2)


@settings(deadline=None, max_examples=25)
@given(X=samples(), seed=st.integers(0, 99))
def test_the_middle_stump_kernel_counts_middle_stumps(X, seed):
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


@pytest.mark.parametrize("n_features", [1, 2, 3, 7, 400, 10_000])
def test_the_mean_projection_of_a_random_direction(n_features):
    theta = np.random.default_rng(0).normal(size=(2000, n_features if n_features < 1000 else 2))
    expected = np.abs(theta[:, 0] / np.sqrt((theta**2).sum(axis=1))).mean()
    if n_features >= 1000:
        expected = np.sqrt(2 / (np.pi * n_features))
    assert mean_projection(n_features) == pytest.approx(expected, rel=0.06)


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


@every
@pytest.mark.parametrize(
    ("X", "argument", "found"),
    [
        ([[0.0, np.nan], [1.0, 2.0]], "X", "found nan at [0, 1]"),
        ([0.0, 1.0], "X", "found 1 dimensions"),
        (np.empty((0, 2)), "X", "found no data"),
        ([["a", "b"]], "X", "not numeric"),
    ],
)
def test_samples_that_are_no_finite_table(name, X, argument, found):
    good = np.array([[0.0, 1.0], [1.0, 0.5]])
    kernel = kernel_of(name, good)
    for call, expected in ((lambda: kernel(X), "X"), (lambda: kernel(good, X), "Z")):
        with pytest.raises(InvalidInput) as caught:
            call()
        assert caught.value.argument == expected
        assert found in caught.value.found


@every
def test_samples_of_other_features(name):
    good = np.array([[0.0, 1.0], [1.0, 0.5]])
    kernel = kernel_of(name, good)
    with pytest.raises(InvalidInput, match="Z: found 3 features for 2 of X") as caught:
        kernel(good, np.ones((1, 3)))
    assert caught.value.argument == "Z"
    assert kernel(good, good[:1]).shape == (2, 1)


@pytest.mark.parametrize("n_features", [1, 3])
def test_middle_stumps_know_the_features_of_their_sample(n_features):
    kernel = MiddleStump([[0.0, 1.0], [1.0, 0.5]])
    with pytest.raises(InvalidInput, match=f"X: found {n_features} features for 2 of the sample"):
        kernel(np.ones((2, n_features)))


@pytest.mark.parametrize(
    ("make", "argument", "found"),
    [
        (Stump(low=[0.0]), "low", "found 1 values for 2 features"),
        (Stump(high=[1.0, 2.0, 3.0]), "high", "found 3 values for 2 features"),
        (Stump(low=0.0), "low", "found 0 dimensions"),
        (Stump(low=[0.0, np.nan]), "low", "found nan at [1]"),
        (Stump(high=["a", "b"]), "high", "not numeric"),
        (Stump(low=[0.5, -9.0]), "X", "found feature 0 from 0 to 1"),
        (Stump(high=[9.0, 0.75]), "X", "found feature 1 from 0.5 to 1"),
        (lambda X: Stump(low=[0.5, -9.0]).cells(X), "X", "found feature 0 from 0 to 1"),
        (lambda X: Stump().cells(X[:1]), "X", "found one sample"),
        (lambda X: Stump().cells(X[[0, 0, 0]]), "X", "all rows alike"),
        (Perceptron(radius=1.0), "X", "found a sample of norm 1.11803"),
        (Perceptron(radius=0.0), "radius", "found 0.0"),
        (Perceptron(radius=np.nan), "radius", "found nan"),
        (lambda X: Perceptron().cells(X, 0), "n_directions", "found 0"),
        (lambda X: Perceptron().cells(X[[1, 1]], 5), "X", "all rows alike"),
        (lambda X: MiddleStump(X[:1])(X), "X", "found one sample"),
        (lambda X: MiddleStump(X[[0, 0]])(X), "X", "all rows alike"),
        (lambda X: MiddleStump(X * np.inf)(X), "X", "found"),
    ],
)
def test_ranges_and_samples_that_do_not_fit(make, argument, found):
    with np.errstate(invalid="ignore"), pytest.raises(InvalidInput) as caught:
        make(np.array([[0.0, 1.0], [1.0, 0.5]]))
    assert caught.value.argument == argument
    assert found in caught.value.found
    assert caught.value.remedy


def test_constant_features_add_nothing_but_their_range():
    X = np.array([[0.0, 2.0], [1.0, 2.0], [3.0, 2.0]])
    for kernel in (Stump(), SimplifiedStump(), MiddleStump(X)):
        alone = MiddleStump(X[:, :1]) if isinstance(kernel, MiddleStump) else kernel
        np.testing.assert_allclose(kernel(X), alone(X[:, :1]), atol=1e-12)


@every
@settings(deadline=None, max_examples=10)
@given(X=samples())
def test_a_prepared_kernel_has_the_same_matrix(name, X):
    kernel = kernel_of(name, X)
    prepared, features = kernel.prepare(X)
    np.testing.assert_array_equal(prepared(features), kernel(X))
    np.testing.assert_array_equal(prepared(features[:1], features), kernel(X)[:1])
