"""A kernel from outside the package is one class: machines, samplers, plots and exports ask its methods."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose
from onnxruntime import InferenceSession
from sklearn.base import clone
from sklearn.preprocessing import minmax_scale

from cvxens import InfiniteEnsembleSVC, LPBoostClassifier, RhoSVC, hypotheses
from cvxens.colgen.oracles import Pool
from cvxens.export import to_onnx
from cvxens.kernels import Kernel
from cvxens.plotting import ShapeDisplay

X = minmax_scale(np.random.default_rng(0).normal(size=(40, 3)))
Y = np.where(X.sum(axis=1) + np.random.default_rng(1).normal(size=40) / 4 > 1.5, "yes", "no")


@dataclass(frozen=True)
class RatedStumps(Kernel):
    """K(x, x') = sum_d rate_d (1/2 - |x_d - x'_d|) on [0, 1]^D: all stumps, some features more likely than others."""

    rates: tuple[float, ...]
    equation: ClassVar[str] = "sum_d rate_d (1/2 - |x_d - x'_d|)"
    source: ClassVar[str] = "a user"
    neutral = True

    def tile(self, X, Z):
        X, Z = np.asarray(X, float), np.asarray(Z, float)
        return lambda rows, columns: (0.5 - np.abs(X[rows, None] - Z[None, columns])) @ np.array(self.rates)

    def total_mass(self, X=None, Z=None):
        return sum(self.rates) / 2

    def sample(self, n, random_state=None):
        random = np.random.default_rng(random_state)
        features = random.choice(len(self.rates), n, p=np.array(self.rates) / sum(self.rates))
        return tuple(hypotheses.Stump(int(d), float(random.random()), int(random.choice([-1, 1]))) for d in features)

    def additive_scales(self, X):
        return np.array(self.rates)

    def domain(self, n_features):
        return np.outer([0.0, 1.0], np.ones(n_features))


@dataclass(frozen=True)
class Cosine(Kernel):
    """The least that a kernel has to say: K(x, x') = sum_d cos(x_d - x'_d)."""

    equation: ClassVar[str] = "sum_d cos(x_d - x'_d)"
    source: ClassVar[str] = "a user"

    def tile(self, X, Z):
        X, Z = np.asarray(X, float), np.asarray(Z, float)
        return lambda rows, columns: np.cos(X[rows, None] - Z[None, columns]).sum(axis=2)


RATED = RatedStumps((1.0, 0.5, 2.0))
COMBINED = RATED + 0.5 * RATED


@pytest.mark.parametrize("kernel", [RATED, COMBINED, Cosine(), RATED * RATED, 2.0 * Cosine()], ids=repr)
def test_a_machine_with_the_kernel_is_the_one_with_its_matrix(kernel):
    model = clone(InfiniteEnsembleSVC(kernel, C=0.5, tol=1e-8)).fit(X, Y)
    peer = InfiniteEnsembleSVC("precomputed", C=0.5, tol=1e-8).fit(kernel(X), Y)
    assert model.certificate_.holds(1e-7)
    assert model.certificate_.primal == pytest.approx(peer.certificate_.primal, rel=1e-6)
    assert_allclose(model.decision_function(X), peer.decision_function(kernel(X)), atol=1e-3)


@pytest.mark.parametrize("kernel", [RATED, COMBINED], ids=repr)
def test_additive_kernels_of_users_are_solved_without_a_matrix_drawn_and_exported(kernel):
    model = InfiniteEnsembleSVC(kernel, C=0.5, solver="additive", tol=1e-8).fit(X, Y)
    rows = InfiniteEnsembleSVC(kernel, C=0.5, solver="blockwise", tol=1e-8).fit(X, Y)
    assert model.certificate_.primal == pytest.approx(rows.certificate_.primal, rel=1e-6)
    sums = sum(np.interp(x, *shape) for x, shape in zip(X.T, model.shape_functions_, strict=True))
    f = model.decision_function(X)
    assert_allclose(model.intercept_ + sums, f, atol=1e-9)
    display = ShapeDisplay.from_estimator(model, X=X, ax=Figure().subplots(1, 3))
    assert len(display.axes_) == 3
    (scores,) = InferenceSession(to_onnx(model).SerializeToString()).run(["scores"], {"X": X})
    assert_allclose(np.ravel(scores), f, atol=1e-12)
    with pytest.raises(ValueError, match="within the kernel's range of 0 to 1"):
        model.decision_function(X + 1.0)


def test_kernels_that_say_no_more_have_no_shapes_and_no_hypotheses():
    model = RhoSVC(Cosine()).fit(X, Y)
    assert not hasattr(model, "shape_functions_")
    with pytest.raises(ValueError, match="embodies no set of hypotheses"):
        Cosine().sample(3)
    with pytest.raises(ValueError, match="'additive' for the kernel"):
        InfiniteEnsembleSVC(Cosine(), solver="additive").fit(X, Y)


def test_its_samples_are_hypotheses_like_all_others():
    drawn = RATED.sample(2000, 0)
    H = np.column_stack([h(X[:5]) for h in drawn])
    assert_allclose(RATED.total_mass() * H @ H.T / 2000, RATED(X[:5]), atol=0.15)
    model = LPBoostClassifier(oracle=lambda X: Pool.of(drawn[:200], X), tol=1e-3).fit(X, Y)
    (scores,) = InferenceSession(to_onnx(model).SerializeToString()).run(["scores"], {"X": X})
    np.testing.assert_array_equal(np.ravel(scores), model.decision_function(X))
    assert set(model.to_frame()["threshold"]) <= {h.threshold for h in drawn}
