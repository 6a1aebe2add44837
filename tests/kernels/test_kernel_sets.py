"""Each kernel against the integral over its hypotheses, and what holds for all kernels alike."""

import copy
import pickle

import numpy as np
import pytest
from kernel_makers import EMBODYING, EVERY, SIMPLIFIED, forest
from sklearn.base import clone
from sklearn.svm import SVC

from cvxens import kernels
from cvxens.errors import InvalidInput
from cvxens.kernels import Precomputed, Stump, TreeEnsemble, tiles
from cvxens.kernels.kernel import Kernel

X = np.random.default_rng(0).gamma(1.5, size=(12, 3))
X[3] = X[4]
X[:, 2] = np.round(X[:, 2])
N_DRAWN = 2000

embodying = pytest.mark.parametrize("make", EMBODYING.values(), ids=EMBODYING)
every = pytest.mark.parametrize("make", EVERY.values(), ids=EVERY)


def values(hypotheses, X):
    """h(x), shape (n_hypotheses, n_samples); equal hypotheses are evaluated once."""
    distinct = {h: h(X) for h in set(hypotheses)}
    return np.array([distinct[h] for h in hypotheses])


@embodying
def test_the_mean_over_sampled_hypotheses_is_the_kernel(make):
    kernel, few = make(X), X[:5]
    H = values(kernel.sample(N_DRAWN, random_state=1), few)
    products = kernel.total_mass() * H[:, :, None] * H[:, None, :]
    error = products.std(axis=0) / np.sqrt(N_DRAWN)
    K = kernel(few)
    assert (np.abs(products.mean(axis=0) - K) <= 4.5 * error + 1e-9 * np.abs(K).max()).all()
    assert error.max() <= 0.1 * np.abs(K).max()


@embodying
def test_neutral_sets_are_two_valued_and_average_to_zero(make):
    kernel = make(X)
    H = values(kernel.sample(N_DRAWN, random_state=2), X[:5])
    balanced = (np.abs(H) == 1).all() and (np.abs(H.mean(axis=0)) <= 4.5 / np.sqrt(N_DRAWN)).all()
    assert balanced >= kernel.neutral
    if kernel.neutral:
        np.testing.assert_allclose(kernel.diag(X), kernel.total_mass(), rtol=1e-12)


@embodying
def test_sampled_hypotheses_are_values(make):
    kernel = make(X)
    drawn, again = kernel.sample(30, random_state=5), kernel.sample(30, random_state=5)
    assert drawn == again
    assert [hash(h) for h in drawn] == [hash(h) for h in again]
    assert len({str(h) for h in drawn}) > 3
    assert len(kernel.sample(1, random_state=np.random.default_rng(0))) == 1
    for h in drawn[:3]:
        np.testing.assert_array_equal(pickle.loads(pickle.dumps(h))(X), h(X))
        assert h(X).shape == (len(X),)


@every
def test_kernels_are_symmetric_psd_and_have_their_diagonal(make):
    kernel = make(X)
    K = kernel(X)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_allclose(kernel.diag(X), np.diag(K), rtol=1e-12, atol=1e-12)
    J = np.eye(len(X)) - 1 / len(X)
    size = np.abs(K).max() * len(X)
    assert np.linalg.eigvalsh(J @ K @ J).min() >= -1e-12 * size
    assert (np.linalg.eigvalsh(K).min() >= -1e-12 * size) == kernel.psd


@pytest.mark.thinned(1)
@every
@pytest.mark.parametrize("side", [1, 5, 12])
def test_tiles_make_up_the_matrix(monkeypatch, make, side):
    kernel, new = make(X), X[2:9] * 0.9
    expected = {"whole": kernel(X), "block": kernel(X, new)}
    monkeypatch.setattr(tiles, "SIDE", side)
    np.testing.assert_allclose(kernel(X), expected["whole"], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(kernel(X, X.copy()), expected["whole"], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(kernel(X, new), expected["block"], rtol=1e-12, atol=1e-12)
    assert expected["block"].shape == (12, 7)


@every
def test_a_prepared_kernel_has_the_same_matrix(make):
    kernel = make(X)
    prepared, features = kernel.prepare(X)
    np.testing.assert_array_equal(prepared(features), kernel(X))
    np.testing.assert_allclose(prepared(features[:1], features), kernel(X)[:1], rtol=1e-14, atol=1e-15)


@every
def test_the_matrix_is_in_single_precision_if_both_samples_are(make):
    rounded = X.astype(np.float32)
    kernel = make(rounded.astype(float))
    single, double = kernel(rounded), kernel(rounded.astype(float))
    assert (single.dtype, double.dtype) == (np.float32, np.float64)
    np.testing.assert_array_equal(single, double.astype(np.float32))
    assert kernel(rounded, rounded.astype(float)).dtype == np.float64


@pytest.mark.parametrize("name", [name for name, make in EVERY.items() if make(X).homogeneity is not None])
def test_scaling_the_samples_scales_the_kernel(name):
    kernel, scaled = EVERY[name](X), EVERY[name](4.0 * X)
    np.testing.assert_allclose(scaled(4.0 * X), 4.0**kernel.homogeneity * kernel(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kernel", [kernels.Laplacian(0.1), kernels.Gaussian(0.1), kernels.DecisionTree(0.01)])
def test_scaling_the_samples_matters_to_exponentials(kernel):
    off_diagonal = np.triu_indices(3, 1)
    ratios = kernel(4.0 * X[:3])[off_diagonal] / kernel(X[:3])[off_diagonal]
    assert np.ptp(ratios) > 1e-3 * ratios.max()


def test_degrees():
    degrees = {name: make(X).homogeneity for name, make in EVERY.items()}
    assert {name for name, degree in degrees.items() if degree is None} == {
        *("decision trees", "decision trees, large gamma", "decision trees beyond Theorem 18"),
        *("Laplacian", "Gaussian", "weak learners", "regions of level 3, printed"),
        *("same leaf", "common depth", "common ancestors", "simplified Laplacian", "simplified Gaussian"),
    }
    assert [degrees[name] for name in ("stump", "middle stump", "linear", "regions of level 3")] == [1, 0, 2, 3]
    assert [degrees[name] for name in ("sum", "product", "product of a sum", "and", "or")] == [1, 1, 3, 2, 4]
    assert (Stump() + kernels.Linear(np.eye(1))).homogeneity is None
    assert (Stump() * kernels.Gaussian(1.0)).homogeneity is None


def test_neutrality_is_carried_along():
    assert {name for name, make in EVERY.items() if not make(X).neutral} == {
        *(
            "histogram intersection",
            "Laplacian",
            "Gaussian",
            "weak learners",
            "linear",
            "same leaf",
            "common depth",
            "common ancestors",
        ),
        *SIMPLIFIED,
    }
    assert not (Stump() + kernels.Gaussian(1.0)).neutral
    assert not (Stump() * kernels.Gaussian(1.0)).neutral


@every
def test_scikit_learn_takes_kernels_as_callables(make):
    kernel, y = make(X), np.where(np.arange(len(X)) % 3 == 0, -1.0, 1.0)
    y[3] = y[4]
    model = clone(SVC(kernel=kernel, C=0.5)).fit(X, y)
    precomputed = SVC(kernel="precomputed", C=0.5).fit(kernel(X), y)
    new = 0.95 * X[:7]
    np.testing.assert_allclose(model.decision_function(new), precomputed.decision_function(kernel(new, X)), atol=1e-9)


@every
def test_kernels_are_frozen_values(make):
    kernel = make(X)
    assert kernel in {kernel}
    for twin in (copy.deepcopy(kernel), pickle.loads(pickle.dumps(kernel))):
        np.testing.assert_array_equal(twin(X), kernel(X))
    with pytest.raises(AttributeError):
        kernel.equation = "another"
    with pytest.raises(AttributeError):
        kernel.X = X
    assert 5 < len(repr(kernel)) < 1000
    assert kernel.source
    assert kernel.equation


def test_kernels_with_the_same_parameters_are_equal():
    assert Stump([0.0], np.array([2.0])) == Stump((0.0,), (2.0,))
    assert hash(Stump([0.0], np.array([2.0]))) == hash(Stump((0.0,), (2.0,)))
    for name in ("sum", "and", "regions of level 2", "decision trees", "weak learners"):
        assert EVERY[name](X) == EVERY[name](X)
        assert hash(EVERY[name](X)) == hash(EVERY[name](X))
    assert EVERY["and"](X) != EVERY["or"](X)


def test_representations_are_formulas():
    stump = Stump((0.0,), (1.0,))
    text = repr(2.0 * stump + stump * kernels.Gaussian(0.5))
    assert text == (
        "(2 * Stump(low=(0.0,), high=(1.0,)) + Stump(low=(0.0,), high=(1.0,)) * Gaussian(gamma=0.5, n_features=None))"
    )
    assert repr(kernels.or_(Stump(), Stump())) == "or_(Stump(low=None, high=None), Stump(low=None, high=None))"
    assert repr(kernels.MiddleStump(X)) == "MiddleStump(sample of shape (12, 3))"
    assert repr(TreeEnsemble(forest(X), "depth")) == "TreeEnsemble(RandomForestRegressor, 'depth')"
    assert repr(kernels.Linear(np.eye(3))) == "Linear(V of shape (3, 3))"
    assert repr(Precomputed(np.eye(3))) == "Precomputed(K of shape (3, 3))"


def test_every_kernel_says_its_own_equation_and_source():
    classes = [getattr(kernels, name) for name in kernels.__all__ if name[0].isupper() and name != "Kernel"]
    assert all(issubclass(kernel, Kernel) and {"equation", "source"} <= vars(kernel).keys() for kernel in classes)
    tested = {type(make(X)) for make in EVERY.values()} | {Precomputed}
    assert set(classes) <= tested


@pytest.mark.parametrize("make", [*SIMPLIFIED.values(), lambda X: Precomputed(X @ X.T)])
def test_what_embodies_no_set_says_so(make):
    for call in (lambda: make(X).total_mass(), lambda: make(X).sample(3)):
        with pytest.raises(InvalidInput, match="embodies no set of hypotheses") as caught:
            call()
        assert caught.value.argument == "kernel"


def test_a_precomputed_kernel_is_its_matrix():
    K = X @ X.T
    kernel, index = Precomputed(K), np.arange(len(X))[:, None]
    np.testing.assert_array_equal(kernel(index), K)
    np.testing.assert_array_equal(kernel(index[[3, 1]], index[5:]), K[[3, 1], 5:])
    np.testing.assert_array_equal(kernel.diag(index[[3, 1]]), K[[3, 1], [3, 1]])
    np.testing.assert_allclose((2.0 * kernel + kernel * kernel)(index), 2 * K + K**2)
