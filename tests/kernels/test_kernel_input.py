"""What kernels refuse, and that they say what to do about it."""

import numpy as np
import pytest
from brute_force import refused
from kernel_makers import EVERY

import cvxens.limits
from cvxens.kernels import (
    DecisionStump,
    DecisionTree,
    Gaussian,
    HistogramIntersection,
    Laplacian,
    Linear,
    MiddleStump,
    Perceptron,
    Precomputed,
    SimplifiedStump,
    Stump,
    StumpRegion,
    WeakLearner,
    and_,
    or_,
    tiles,
)

X = np.array([[0.0, 1.0], [1.0, 0.5], [0.5, 2.0]])
BOX = ((0.0, 0.0), (1.0, 2.0))
INDEX = np.arange(3)[:, None]


OPEN = {"stump of any range": lambda X: Stump(), "perceptron of any radius": lambda X: Perceptron()}
EVERY = EVERY | OPEN
CHECKING = [name for name in EVERY if name not in {"weak learners", "same leaf", "common depth", "common ancestors"}]


@pytest.mark.parametrize("name", CHECKING)
@pytest.mark.parametrize(
    ("bad", "found"),
    [
        ([[0.0, np.inf], [1.0, 2.0]], "found inf at [0, 1]"),
        ([0.0, 1.0], "found 1 dimensions"),
        (np.empty((0, 2)), "found no data"),
        ([["a", "b"]], "not numeric"),
    ],
)
def test_samples_that_are_no_finite_table(name, bad, found):
    kernel = EVERY[name](X)
    for call, argument in ((lambda: kernel(bad), "X"), (lambda: kernel(X, bad), "Z"), (lambda: kernel.diag(bad), "X")):
        refused(call, argument, found)


@pytest.mark.parametrize("name", CHECKING)
def test_samples_of_other_features(name):
    refused(lambda: EVERY[name](X)(X, X[:, :1]), found="found 1 features for 2 of X")


@pytest.mark.parametrize("name", [name for name in CHECKING if "simplified" not in name and name not in OPEN])
def test_samples_of_features_that_the_kernel_does_not_have(name):
    if name not in {"Laplacian", "Gaussian"}:
        refused(lambda: EVERY[name](X)(np.ones((2, 3))), found="3")


@pytest.mark.parametrize(
    ("call", "argument", "found"),
    [
        (lambda: Stump(*BOX)(X + 0.1), "X", "found feature 0 from 0.1 to 1.1"),
        (lambda: Stump(*BOX)(X, X - 1), "X", "found feature 0 from -1 to 1"),
        (lambda: Stump(*BOX).cells(X + 0.1), "X", "found feature 0"),
        (lambda: Stump(*BOX).with_ranges_of(X + 0.1), "X", "found feature 0"),
        (lambda: DecisionStump(*BOX)(X, X + 0.1), "X", "found feature 0 from 0.1 to 1.1"),
        (lambda: DecisionStump((1.0, 0.0), (1.0, 0.0))(np.array([[1.0, 0.0]])), "X", "no feature with a range"),
        (lambda: DecisionStump((1.0,), (1.0,)).sample(2), "low", "no feature with a range"),
        (lambda: StumpRegion(2, *BOX)(X + 0.1), "X", "found feature 0 from 0.1 to 1.1"),
        (lambda: DecisionTree(0.1, *BOX)(X + 0.1), "X", "found feature 0 from 0.1 to 1.1"),
        (lambda: Stump(low=[0.0])(X), "low", "found 1 values for 2 features"),
        (lambda: Stump(high=[1.0, 2.0, 3.0])(X), "high", "found 3 values for 2 features"),
        (lambda: Stump(low=0.0)(X), "low", "found 0 dimensions"),
        (lambda: Stump(low=[0.0, np.nan])(X), "low", "found nan at [1]"),
        (lambda: Stump(high=["a", "b"])(X), "high", "not numeric"),
        (lambda: Stump(low=[0.5, -9.0])(X), "X", "found feature 0 from 0 to 1"),
        (lambda: Stump(high=[9.0, 0.75])(X), "X", "found feature 1 from 0.5 to 2"),
        (lambda: Stump().cells(X[:1]), "X", "found one sample"),
        (lambda: Stump().cells(X[[0, 0, 0]]), "X", "all rows alike"),
        (lambda: Perceptron(np.nan)(X), "radius", "found nan"),
        (lambda: Perceptron().cells(X, 0), "n_directions", "found 0"),
        (lambda: Perceptron().cells(X[[1, 1]], 5), "X", "all rows alike"),
        (lambda: MiddleStump(X[:1])(X), "X", "found one sample"),
        (lambda: MiddleStump(X[[0, 0]])(X), "X", "all rows alike"),
        (lambda: MiddleStump(X + np.inf)(X), "X", "found inf"),
        (lambda: HistogramIntersection()(X - 0.1), "X", "found feature 0 from -0.1 to 0.9"),
        (lambda: HistogramIntersection().diag(X - 0.1), "X", "found feature 0 from -0.1 to 0.9"),
        (lambda: HistogramIntersection((1.0, 1.5))(X), "X", "found feature 1 from 0.5 to 2"),
        (lambda: Perceptron(1.0)(X), "X", "found a sample of norm 2.06"),
        (lambda: Perceptron(9.0, 3)(X), "X", "found 2 features for 3 of the kernel"),
        (lambda: Perceptron(-1.0)(X), "radius", "found -1.0"),
        (lambda: Stump((2.0,), (1.0,)).total_mass(), "low", "found 2 for feature 0, above its high of 1"),
        (lambda: Stump((0.0,)).sample(2), "low", "found no ranges"),
        (lambda: Stump().total_mass(), "low", "found no ranges"),
        (lambda: StumpRegion(2).sample(2), "low", "found no ranges"),
        (lambda: DecisionTree(0.1).sample(2), "low", "found no ranges"),
        (lambda: HistogramIntersection().sample(2), "high", "found no ranges"),
        (lambda: Perceptron(2.0).sample(2), "radius", "n_features=None"),
        (lambda: Perceptron().total_mass(), "radius", "radius=None"),
        (lambda: Gaussian(1.0).sample(2), "n_features", "found none"),
        (lambda: Laplacian(1.0, 0).sample(2), "n_features", "found 0"),
        (lambda: Stump(*BOX).sample(0), "n", "found 0"),
        (lambda: (Stump(*BOX) + Stump(*BOX)).sample(2.5), "n", "found 2.5"),
        (lambda: Stump(*BOX).sample(2, random_state="seed"), "random_state", "found 'seed'"),
        (lambda: Gaussian(0.0), "gamma", "found 0.0"),
        (lambda: Laplacian(-1.0), "gamma", "found -1.0"),
        *(
            (lambda gamma=gamma: DecisionTree(gamma, *BOX), "gamma", f"found {gamma!r}")
            for gamma in (0.0, -1.0, np.nan, np.inf, "auto", None)
        ),
        (lambda: StumpRegion(0), "level", "found 0"),
        (lambda: StumpRegion(1.5), "level", "found 1.5"),
        (lambda: Linear(np.diag([1.0, -0.5]))(X), "V", "found the eigenvalue -0.5"),
        (lambda: Linear(np.ones((2, 3)))(X), "V", "found shape (2, 3)"),
        (lambda: Linear(np.eye(3))(X), "X", "found 2 features for 3 of V"),
        (lambda: Precomputed(np.triu(np.ones((3, 3))))(INDEX), "K", "found |K - K'| up to 1"),
        (lambda: Precomputed(np.eye(3))(INDEX, INDEX + 1), "Z", "found the index 3"),
        (lambda: Precomputed(np.eye(3))(INDEX - 1), "X", "found the index -1"),
        (lambda: Precomputed(np.eye(3))(INDEX + 1e300), "X", "found the index 1e+300"),
        (lambda: Precomputed(np.eye(3)).diag(INDEX + 0.5), "X", "found the index 0.5"),
        (lambda: Precomputed(np.eye(3))(np.eye(3)), "X", "found 3 features"),
        (lambda: WeakLearner([]), "columns", "found 0 columns"),
        (lambda: WeakLearner(None), "columns", "found 0 columns"),
        (lambda: and_(Stump(), 1.0), "kernel", "found 1.0"),
        (lambda: or_(None, Stump()), "kernel", "found None"),
        (lambda: WeakLearner([1.0]), "columns", "found 1 columns"),
        (lambda: WeakLearner([np.sum], [0.5, 0.5]), "weights", "found 2 values for 1 columns"),
        (lambda: WeakLearner([np.sum, np.sum], [0.5, -0.5]), "weights", "found -0.5 to 0.5"),
        (lambda: WeakLearner([np.sum], [0.0]), "weights", "found 0 to 0"),
        (lambda: WeakLearner([np.sum])(X), "columns", "found values of shape () on 3 samples"),
        (lambda: WeakLearner([lambda X: np.full(len(X), np.nan)])(X), "columns", "found nan"),
        (lambda: 0.0 * Stump(), "factor", "found 0.0"),
        (lambda: -2.0 * Stump(), "factor", "found -2.0"),
    ],
)
def test_parameters_and_samples_that_do_not_fit(call, argument, found):
    refused(call, argument, found)


@pytest.mark.parametrize("gamma", [101.0, 1e300])
def test_gamma_of_trees_leaves_room_for_squares(gamma):
    for call in (
        lambda: DecisionTree(gamma, *BOX),
        lambda: DecisionTree(gamma)(np.array(BOX)),
        lambda: DecisionTree(gamma).with_ranges_of(np.array(BOX)),
    ):
        # what is not given is a thousandth wider
        refused(call, "gamma", "Delta_S of 1.5", "at most 150 / Delta_S = ")
    assert np.isfinite(DecisionTree(100.0, *BOX)(X) ** 2).all()


@pytest.mark.parametrize(
    "kernel",
    [
        *(SimplifiedStump(), Gaussian(1.0), HistogramIntersection(), Linear(np.eye(2)), Precomputed(np.eye(2))),
        *(WeakLearner([len]), Stump() + Gaussian(1.0), Stump() * Laplacian(1.0), 2.0 * Gaussian(1.0)),
    ],
    ids=repr,
)
@pytest.mark.parametrize("join", [and_, or_])
def test_logic_is_for_neutral_sets(kernel, join):
    for call in (lambda: join(Stump(), kernel), lambda: join(kernel, Perceptron())):
        refused(call, "kernel", repr(kernel))


def test_conditionally_psd_kernels_have_no_products():
    for call in (lambda: SimplifiedStump() * Stump(), lambda: Stump() * (Stump() + SimplifiedStump())):
        refused(call, found="not PSD")
    assert not (Stump() + SimplifiedStump()).psd


@pytest.mark.parametrize(
    "kernel",
    [
        *(StumpRegion(2), DecisionTree(0.01), DecisionStump(), Stump() * Stump(*BOX), and_(Stump(), Stump(*BOX))),
        *(or_(Perceptron(), Stump(*BOX)), Stump(*BOX) * (Gaussian(1.0) + 2.0 * Perceptron(n_features=2))),
    ],
    ids=repr,
)
def test_kernels_without_ranges_are_not_for_two_samples(kernel):
    assert not kernel.is_data_independent
    assert kernel(X).shape == (3, 3)
    refused(lambda: kernel(X, X.copy()), "kernel", remedy="kernel.with_ranges_of(X)")
    np.testing.assert_allclose(kernel.with_ranges_of(X)(X, X[:2]), kernel(X)[:, :2], rtol=1e-12)


@pytest.mark.parametrize("other", [2.0, np.ones(2), "stump", None])
def test_kernels_add_and_multiply_with_kernels(other):
    with pytest.raises(TypeError):
        Stump() + other
    with pytest.raises(TypeError):
        Stump() * other
    assert np.float64(2.0) * Stump() == 2.0 * Stump()
    refused(lambda: np.ones(2) * Stump(), "factor")


@pytest.mark.parametrize(
    "kernel", [Stump((1.0,), (1.0,)), StumpRegion(2, (1.0,), (1.0,)), DecisionTree(1.0, (1,), (1,))]
)
def test_ranges_of_no_width_have_no_hypotheses(kernel):
    for empty in (kernel, kernel + kernel):
        assert empty.total_mass() == 0
        refused(lambda empty=empty: empty.sample(3), found="mass 0")


def test_a_matrix_that_does_not_fit_into_memory():
    many = np.zeros((3_000_000, 1))
    for kernel in (Stump(), Gaussian(1.0), MiddleStump([[0.0], [1.0]])):
        found = "3,000,000 x 3,000,000 samples, whose float64 kernel matrix takes 67,055.2 GiB"
        refused(lambda kernel=kernel: kernel(many), "X", found, "float32")
    single = many.astype(np.float32)
    refused(lambda: Stump()(single), found="float32 kernel matrix takes 33,527.6 GiB")


def test_memory_is_what_the_system_leaves(monkeypatch, tmp_path):
    monkeypatch.setattr(cvxens.limits, "MEMINFO", tmp_path / "meminfo")
    monkeypatch.setattr(cvxens.limits, "CONTROL_GROUP", tmp_path / "memory.max")
    physical = cvxens.limits.available_memory()
    (tmp_path / "memory.max").write_text("max\n")
    assert cvxens.limits.available_memory() == physical
    (tmp_path / "meminfo").write_text("MemTotal:  9 kB\nMemAvailable:    300 kB\n")
    assert cvxens.limits.available_memory() == 300 * 1024
    (tmp_path / "memory.max").write_text("1000\n")
    assert cvxens.limits.available_memory() == 1000
    tiles.check_room(10, 100, np.dtype(float))
    monkeypatch.setattr(cvxens.limits, "SMALL_ALLOCATION", 0)
    tiles.check_room(1, 125, np.dtype(float))
    refused(lambda: tiles.check_room(1, 126, np.dtype(float)), "X")
