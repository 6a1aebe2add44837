"""Hypotheses that a kernel samples are those of the oracles: they can be exported, tabulated and plotted."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from onnxruntime import InferenceSession
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import minmax_scale

from cvxens import LPBoostClassifier, hypotheses
from cvxens.colgen.oracles import Pool, Stumps
from cvxens.export import to_onnx
from cvxens.kernels import DecisionStump, Gaussian, HistogramIntersection, MiddleStump, Perceptron, Stump
from cvxens.plotting import ShapeDisplay

X, Y = load_breast_cancer(return_X_y=True)
X, Y = minmax_scale(X[::4, :4]), Y[::4]

KERNELS = {
    "stump": (Stump(), hypotheses.Stump),
    "middle stump": (MiddleStump(X), hypotheses.Stump),
    "decision stump": (DecisionStump(), hypotheses.Stump),
    "histogram intersection": (HistogramIntersection(), hypotheses.Indicator),
}


def sampled(kernel):
    """An ensemble of hypotheses that the kernel drew, one of them more than once."""
    drawn = kernel.with_ranges_of(X).sample(150, 0)
    return LPBoostClassifier(oracle=lambda X: Pool.of(drawn * 2, X), nu=0.05, tol=1e-3).fit(X, Y)


@pytest.mark.parametrize(("kernel", "kind"), KERNELS.values(), ids=KERNELS)
def test_sampled_stumps_are_exported_tabulated_and_plotted(kernel, kind):
    model = sampled(kernel)
    f = model.decision_function(X)
    learners = [h for h, w in zip(model.weak_learners_, model.weights_, strict=True) if w > 0]
    assert {type(h) for h in learners} == {kind}
    (scores,) = InferenceSession(to_onnx(model).SerializeToString()).run(["scores"], {"X": X})
    np.testing.assert_array_equal(np.ravel(scores), f)
    frame = model.to_frame()
    assert set(frame["feature"]) <= set(range(4))
    assert set(frame["threshold"]) == {h.threshold for h in learners}
    assert len(model.to_text(999).splitlines()) == len(learners) > 2
    assert model.feature_importances_.sum() == pytest.approx(1)
    display = ShapeDisplay.from_estimator(model, X=X, ax=Figure().subplots(1, frame["feature"].nunique()))
    shapes = {shape.name: shape for shape in display.shapes}
    parts = sum(shape.at(X[:, int(name[2:-1])]) for name, shape in shapes.items())
    np.testing.assert_allclose(f - parts, np.full(len(X), (f - parts)[0]), atol=1e-12)


def test_of_either_sign_a_sampled_stump_is_one_that_the_oracle_prices():
    oracle, drawn = Stumps(X), MiddleStump(X).sample(50, 1)
    H = np.column_stack([h(X) for h in drawn])
    s = np.random.default_rng(0).normal(size=len(X))
    assert np.abs(H.T @ s).max() <= oracle.price(s).edge_bound
    best = {c.hypothesis for c in oracle.price(s, drawn).columns}
    assert best.isdisjoint({*drawn, *(-h for h in drawn)})


@pytest.mark.parametrize(("kernel", "kind"), [(Perceptron(), hypotheses.Perceptron), (Gaussian(0.1), hypotheses.Wave)])
def test_other_samples_are_those_of_their_oracles(kernel, kind):
    drawn = kernel.with_ranges_of(X).sample(20, 0)
    assert {type(h) for h in drawn} == {kind}
    priced = Pool.of(drawn, X).price(np.where(Y == 1, 1.0, -2.0))
    assert {type(column.hypothesis) for column in priced.columns} == {kind}
