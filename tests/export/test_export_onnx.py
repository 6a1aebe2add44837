"""Under onnxruntime an exported model says what the estimator says, on thresholds, at ties, and of what it refuses."""

import json
import subprocess
import sys
from functools import partial

import numpy as np
import onnx
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from onnxruntime import InferenceSession
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from cvxens import (
    AdaBoostClassifier,
    AdaBoostECCClassifier,
    AdaBoostMHClassifier,
    AdditiveClassifier,
    AdditiveRanker,
    AdditiveRegressor,
    CGEnsClassifier,
    CGEnsSLSClassifier,
    ColumnGenerationClassifier,
    ColumnGenerationRegressor,
    ColumnGenerationSurvival,
    InfiniteEnsembleSVC,
    InfiniteEnsembleSVR,
    LPBoostClassifier,
    LPBoostRanker,
    LPBoostRegressor,
    MultiBoostClassifier,
    PartialSVMEnsembleClassifier,
    PriceSearchCV,
    RegAdaBoostClassifier,
    RhoSVC,
    SupervisedKernelRLSClassifier,
    SupervisedKernelRLSRegressor,
    __version__,
    estimators,
)
from cvxens.colgen.oracles import Constant, LevelStump, Stump, Stumps
from cvxens.errors import InvalidInput
from cvxens.export import to_onnx
from cvxens.hypotheses import Among, Branch, Interval, Ramp, Rule, Scaled
from cvxens.kernels import HistogramIntersection, SimplifiedStump
from cvxens.kernels import Stump as StumpKernel
from cvxens.solvers.additive import AdditiveModel
from cvxens.tables import encode


def sample(n_classes, n_samples=48):
    """Three features with ties, the first two of which tell the classes apart but for some noise."""
    rng = np.random.default_rng(n_classes)
    X = rng.normal(size=(n_samples, 3)).round(1)
    f = X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=n_samples)
    return X, np.array(["a", "bc", "", "d"])[f.argsort().argsort() * n_classes // n_samples]


STUMPS = {
    "LPBoost": LPBoostClassifier(tol=0.01),
    "CGEns": CGEnsClassifier(),
    "column generation": ColumnGenerationClassifier(oracle="quantile_stumps"),
    "AdaBoost": AdaBoostClassifier(n_rounds=12),
    "trees of depth 2": AdaBoostClassifier("depth_two_trees", n_rounds=5),
    "trees of depth 3": AdaBoostClassifier("depth_three_trees", n_rounds=3),
    "rules": LPBoostClassifier(oracle="pair_rules", tol=0.1),
    "AdaBoost.MH": AdaBoostMHClassifier(n_rounds=9),
    "AdaBoost.ECC": AdaBoostECCClassifier(n_rounds=9),
    "MultiBoost": MultiBoostClassifier(tol=0.01),
    "additive terms": AdditiveClassifier(C=1.0, tol=0.1),
}
ADDITIVE = {
    "stumps": InfiniteEnsembleSVC(C=0.1),
    "decision stumps": InfiniteEnsembleSVC("decision-stump"),
    "stumps in a range": InfiniteEnsembleSVC(StumpKernel((-9.0,) * 3, (9.0,) * 3)),
    "stumps whatever the range": InfiniteEnsembleSVC(SimplifiedStump(), solver="additive"),
    "a sum of sets": InfiniteEnsembleSVC(StumpKernel() + 0.5 * StumpKernel()),
    "cross-validation": PriceSearchCV(prices=[0.01, 1.0], cv=3),
    "histograms": InfiniteEnsembleSVC("histogram-intersection"),
}
CLASSES = pytest.mark.parametrize("n_classes", [2, 3, 4])


def session(model):
    """A session of the exported model, which is valid ONNX of the standard operators."""
    proto = to_onnx(model)
    onnx.checker.check_model(proto, full_check=True)
    assert [(opset.domain, opset.version) for opset in proto.opset_import] == [("", 17)]
    return InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])


def assert_same(model, X):
    """Scores to the last bit, the same labels, one sample or many."""
    run = session(model)
    label, scores = run.run(["label", "scores"], {"X": X})
    np.testing.assert_array_equal(scores, model.decision_function(X), strict=True)
    np.testing.assert_array_equal(label, model.predict(X))
    last, _ = run.run(["label", "scores"], {"X": X[-1:]})
    np.testing.assert_array_equal(last, label[-1:])
    nothing, none = run.run(["label", "scores"], {"X": X[:0]})
    assert (nothing.shape, none.shape) == ((0,), (0, *scores.shape[1:]))


def assert_refused(model, X, error="stay within the kernel's range|NaN|infinity"):
    """The estimator, where it has an error for them, and the graph refuse samples, and say why."""
    if error:
        with pytest.raises(ValueError, match=error):
            model.decision_function(X)
    with pytest.raises(InvalidArgument, match="X must be finite, and within the ranges of the model"):
        session(model).run(None, {"X": X})


def around(X, places):
    """Samples with values at the places (feature, value), just below, just above, and beyond all."""
    near = [f(value) for _, value in places for f in (float, _below, _above)]
    features = np.repeat([feature for feature, _ in places], 3)
    rows = X[np.arange(len(near)) % len(X)]
    rows[np.arange(len(near)), features] = near
    return np.vstack([X, rows, 1e3 * X, np.zeros_like(X[:1])])


def _below(value):
    return np.nextafter(value, -np.inf)


def _above(value):
    return np.nextafter(value, np.inf)


def thresholds(model):
    learners = model.weak_learners_
    stumps = [h for part in learners for h in (part if isinstance(part, tuple) else [part])]
    parts = [part for h in stumps if isinstance(h, Branch) for part in (h.root, h.above, h.below)]
    ends = [(i.feature, end) for h in stumps if isinstance(h, Rule) for i in h.intervals for end in (i.low, i.high)]
    splits = [(h.feature, h.threshold) for h in [*stumps, *parts] if isinstance(h, Stump)]
    return splits + [(feature, end) for feature, end in ends if np.isfinite(end)]


def knots(model):
    fitted = getattr(model, "best_estimator_", model)
    every = fitted.shape_functions_ if hasattr(fitted, "estimators_") else [fitted.shape_functions_]
    return [(d, knot) for parts in every for d, (places, _) in enumerate(parts) for knot in places.tolist()]


@pytest.mark.thinned(1)
@CLASSES
@pytest.mark.parametrize("name", [*STUMPS, *ADDITIVE])
def test_ensembles_of_stumps_and_additive_models(name, n_classes):
    X, y = sample(n_classes)
    inside = {"stumps in a range": lambda T: np.clip(T, -9.0, 9.0), "histograms": np.abs}.get(name, np.asarray)
    model = clone((STUMPS | ADDITIVE)[name]).fit(inside(X), y)
    assert_same(model, inside(around(X, thresholds(model) if name in STUMPS else knots(model))))


@CLASSES
def test_simplex_codes(n_classes):
    X, y = sample(n_classes)
    model = CGEnsSLSClassifier().fit(X, y)
    T = around(X, thresholds(model))
    label, scores = session(model).run(["label", "scores"], {"X": T})
    np.testing.assert_allclose(scores, model.decision_function(T), rtol=1e-12, atol=1e-15)
    np.testing.assert_array_equal(label, model.predict(T))


EXPANSIONS = [RhoSVC, RegAdaBoostClassifier, PartialSVMEnsembleClassifier]


@pytest.mark.thinned(2, n_classes=[2, 3], kernel=["middle-stump", "stump", "decision-stump", "histogram-intersection"])
@pytest.mark.parametrize("kind", EXPANSIONS)
def test_expansions_in_additive_kernels(kind, kernel, n_classes):
    X, y = sample(n_classes, n_samples=24)
    positive = kernel == "histogram-intersection"
    X = X + 5.0 * positive
    model = kind(kernel).fit(X, y)
    T = around(X, knots(model))
    T = np.abs(T) if positive else T
    label, scores = session(model).run(["label", "scores"], {"X": T})
    expected = model.decision_function(T)
    np.testing.assert_allclose(scores, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    ranked = np.sort(expected if n_classes > 2 else np.column_stack([np.zeros_like(expected), expected]), axis=1)
    clear = ranked[:, -1] - ranked[:, -2] > 1e-9 * np.abs(expected).max()
    assert clear.mean() > 0.9
    np.testing.assert_array_equal(label[clear], model.predict(T)[clear])


WEIGHTS = st.sampled_from([-1.0, -0.5, 0.1, 0.2, 0.3, 0.7, 1e-9, 0.0])
LEARNERS = st.one_of(
    st.builds(Stump, st.integers(0, 1), st.integers(-2, 2).map(float), st.sampled_from([1, -1])),
    st.builds(Constant, st.sampled_from([1, -1])),
)
LOWER, UPPER = st.sampled_from([-np.inf, -1.0, 0.0]), st.sampled_from([1.0, np.inf])
INTERVALS = st.builds(Interval, st.integers(0, 1), LOWER, UPPER)
INTERACTIONS = st.one_of(
    LEARNERS,
    st.builds(Branch, LEARNERS.filter(lambda h: isinstance(h, Stump)), LEARNERS, LEARNERS),
    st.builds(Rule, st.lists(INTERVALS, min_size=1, max_size=3).map(tuple), st.sampled_from([1, -1])),
    st.builds(Scaled, LEARNERS, st.sampled_from([0.5, 0.3])),
    st.builds(
        Ramp, st.integers(0, 1), st.sampled_from([0.3, -1.0]), st.sampled_from([1, -1, 0]), st.sampled_from([0.7])
    ),
)


def make_vote(X, y, terms, intercept):
    """A classifier of these terms."""
    model = LPBoostClassifier(tol=0.9).fit(X, y)
    model.weak_learners_ = tuple(learner for learner, _ in terms)
    model.weights_, model.intercept_ = np.array([weight for _, weight in terms]), np.array(intercept)
    return model


@given(
    st.lists(st.tuples(st.one_of(LEARNERS, INTERACTIONS), WEIGHTS), max_size=9),
    WEIGHTS,
    arrays(float, (6, 2), elements=st.integers(-3, 3)),
)
def test_ties_are_broken_alike(terms, intercept, X):
    assert_same(make_vote([[0.0, 0.0], [1.0, 1.0]], [0, 1], terms, intercept), X)


@given(st.data())
def test_any_functions_of_single_features(data):
    model = InfiniteEnsembleSVC().fit([[0.0, 0.0], [1.0, 1.0]], [0, 1])
    numbers = st.floats(-4, 4, width=32)
    drawn = [np.unique(data.draw(st.lists(numbers, min_size=1, max_size=9))) for _ in range(2)]
    starts = np.cumsum([0, *map(len, drawn)])
    values = data.draw(arrays(float, int(starts[-1]), elements=st.floats(-9, 9)))
    model._predictor = AdditiveModel(starts, np.concatenate(drawn), values, data.draw(numbers))
    model.intercept_ = np.array(model._predictor.intercept)
    grid = np.stack(np.meshgrid(*drawn), axis=-1).reshape(-1, 2)
    assert_same(model, np.vstack([data.draw(arrays(float, (9, 2), elements=numbers)), grid]))


LEVELS = ("blue", "grey", "red")
SKY = st.sampled_from([*LEVELS, "green", None])
GAPPED = st.one_of(
    st.builds(Stump, st.just(0), st.sampled_from([-1.0, 0.5]), st.sampled_from([1, -1]), st.sampled_from([-1, 0, 1])),
    st.builds(
        LevelStump,
        st.just(1),
        st.sampled_from([(), (1,), (0, 2), (0, 1, 2)]),
        st.sampled_from([1, -1]),
        st.sampled_from([-1, 0, 1]),
    ),
    st.builds(LevelStump, st.just(0), st.just(()), st.sampled_from([1, -1]), st.just(1)),
    st.builds(lambda missing: Rule((Interval(0, -1.0, 0.5, missing),), -1), st.booleans()),
    st.builds(
        lambda ends, levels, inside, missing: Rule(
            (Interval(0, *ends, missing), Among(1, levels, (), inside, missing)), 1
        ),
        st.sampled_from([(-1.0, 0.5), (0.5, np.inf)]),
        st.sampled_from([(), (1,), (0, 2)]),
        st.booleans(),
        st.booleans(),
    ),
    st.builds(
        Branch,
        st.sampled_from(
            [Stump(0, 0.5, 1, way) for way in (-1, 0, 1)] + [LevelStump(1, (0, 2), 1, way) for way in (-1, 1)]
        ),
        st.sampled_from([Stump(0, 0.5, 1, -1), Constant(-1)]),
        st.sampled_from([LevelStump(0, (), 1, 1), LevelStump(1, (1,), -1, 1)]),
    ),
    st.builds(
        Ramp, st.just(0), st.sampled_from([-1.0, 0.5]), st.sampled_from([1, -1, 0]), st.sampled_from([-0.3, 2.0])
    ),
    st.builds(Constant, st.sampled_from([1, -1])),
)


def assert_same_of_frame(model, frame):
    """Scores to the last bit and the same labels where the graph gets codes for the levels of a data frame."""
    codes = encode(model.features_, frame).to_numpy(np.float64)
    label, scores = session(model).run(["label", "scores"], {"X": codes})
    np.testing.assert_array_equal(scores, model.decision_function(frame), strict=True)
    np.testing.assert_array_equal(label, model.predict(frame))


@given(
    st.lists(st.tuples(st.one_of(GAPPED, st.builds(Scaled, GAPPED, st.just(0.3))), WEIGHTS), max_size=7),
    WEIGHTS,
    st.lists(st.tuples(st.sampled_from([-2.0, -1.0, 0.5, np.nan]), SKY), min_size=1, max_size=8),
)
def test_levels_and_gaps(terms, intercept, rows):
    frame = pd.DataFrame({"heat": [0.0, 1.0, 2.0], "sky": LEVELS})
    model = make_vote(frame, [0, 1, 1], terms, intercept)
    assert_same_of_frame(model, pd.DataFrame(rows, columns=["heat", "sky"]).astype({"sky": object}))


GAPS = {
    "a side": LPBoostClassifier(tol=0.1),
    "zero": ColumnGenerationClassifier(oracle=partial(Stumps, levels="subsets", missing="zero"), tol=0.1),
    "AdaBoost.MH": AdaBoostMHClassifier(n_rounds=9),
}


@pytest.mark.product(n_classes=[2, 3], name=GAPS)
def test_ensembles_of_levels_and_gaps(name, n_classes):
    X, y = sample(n_classes)
    frame = pd.DataFrame(X, columns=["u", "v", "w"])
    frame["sky"] = np.array(LEVELS, object)[np.digitize(X[:, 1], [-0.5, 0.5])]
    frame.loc[::5, "u"], frame.loc[1::6, "sky"] = np.nan, None
    model = clone(GAPS[name]).fit(frame.drop(columns="v"), y)
    assert any(isinstance(h, LevelStump) for part in model._parts() for h in part.weak_learners_)
    frame.loc[::4, "sky"], frame.loc[1::5, "w"] = "green", np.nan
    assert_same_of_frame(model, frame.drop(columns="v"))


def test_what_is_no_code_is_refused():
    model = LPBoostClassifier(tol=0.9).fit(pd.DataFrame({"heat": [0.0, 1.0, 2.0], "sky": LEVELS}), [0, 1, 1])
    properties = {entry.key: entry.value for entry in to_onnx(model).metadata_props}
    assert json.loads(properties["columns"]) == {"heat": None, "sky": list(LEVELS)}
    assert properties["input"].endswith("; NaN where missing or of no level in columns")
    for row in ([0.0, 3.0], [0.0, -1.0], [0.0, 0.5], [np.inf, 0.0]):
        assert_refused(model, np.array([row]), error="")


def test_gaps_of_numbers():
    X, y = sample(3)
    X[::5, 0] = np.nan
    model = LPBoostClassifier(tol=0.1).fit(X, y)
    X[1::7, 2] = np.nan
    assert_same(model, X)


def test_constant_and_repeated_features():
    X, y = sample(2)
    X = np.column_stack([X, np.full(len(X), 5.0), X[:, 0]])
    for model in (LPBoostClassifier(), InfiniteEnsembleSVC(), AdaBoostClassifier()):
        assert_same(model.fit(X, y), np.vstack([X, X + 0.05]))
    # and a stump that errs nowhere
    X = np.arange(4.0)[:, None]
    assert_same(AdaBoostClassifier().fit(X, X[:, 0] > 1), X)


LABELS = {
    "int8": (np.array([3, -4], np.int8), np.int64),
    "uint16": (np.array([3, 4], np.uint16), np.int64),
    "bool": (np.array([False, True]), np.bool_),
    "float": (np.array([-1.0, 1.0]), np.float64),
    "text": (np.array(["nein", "ja"]), object),
    "objects": (np.array(["\xfc", "\u03b1"], object), object),
}


@pytest.mark.parametrize("kind", LABELS)
def test_types_of_classes(kind):
    classes, expected = LABELS[kind]
    X, y = sample(2)
    model = LPBoostClassifier(tol=0.1).fit(X, classes[(y == "a").astype(int)])
    (label,) = session(model).run(["label"], {"X": X})
    assert label.dtype == expected
    assert label.tolist() == model.predict(X).tolist()


def test_classes_that_onnx_has_no_type_for():
    X, y = sample(2)
    model = LPBoostClassifier(tol=0.1).fit(X, y)
    model.classes_ = np.array([1, "a"], object)
    with pytest.raises(InvalidInput, match=r"^model: found the classes .*; fit with classes that are numbers or text$"):
        to_onnx(model)


@pytest.mark.product(n_classes=[2, 3], value=[np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("estimator", [LPBoostClassifier(oracle="ramps", tol=0.1), InfiniteEnsembleSVC()])
def test_what_is_not_finite_is_refused(estimator, value, n_classes):
    X, y = sample(n_classes)
    model = clone(estimator).fit(X, y)
    X[7, 1] = value
    assert_refused(model, X)


RANGED = {
    "low and high": StumpKernel((0.0,) * 3, (4.0,) * 3),
    "histograms": HistogramIntersection(),
    "histograms with an end": HistogramIntersection((4.0,) * 3),
    "a sum": StumpKernel() + 2 * HistogramIntersection((4.0,) * 3),
}


@pytest.mark.product(n_classes=[2, 3], name=RANGED)
def test_what_the_kernel_refuses_is_refused(name, n_classes):
    X, y = sample(n_classes)
    model = InfiniteEnsembleSVC(RANGED[name]).fit(np.abs(X), y)
    assert_same(model, np.vstack([np.abs(X), np.zeros((1, 3)), np.full((1, 3), 4.0)]))
    outside = [[-1e-300, 0.0, 0.0], *([] if name == "histograms" else [[0.0, 0.0, _above(4.0)]])]
    for row in np.array(outside)[:, None]:
        assert_refused(model, row)


def test_what_expansions_and_graphs_refuse_is_refused():
    X, y = sample(2)
    expansion = RhoSVC("histogram-intersection").fit(np.abs(X), y)
    for row in ([[-1.0, 0.0, 0.0]], [[np.nan, 0.0, 0.0]]):
        assert_refused(expansion, np.array(row))
    run = session(LPBoostClassifier(tol=0.1).fit(X, y))
    with pytest.raises(InvalidArgument, match="invalid dimensions for input: X"):
        run.run(None, {"X": X[:, :2]})


def test_what_the_file_says_of_itself():
    X, y = sample(3)
    model = LPBoostClassifier(tol=0.1).fit(pd.DataFrame(X, columns=["u", "v", "\xfc"]), y)
    proto = to_onnx(model)
    properties = {entry.key: entry.value for entry in proto.metadata_props}
    assert (proto.producer_name, proto.producer_version, proto.ir_version) == ("cvxens", __version__, 8)
    assert properties["estimator"] == "LPBoostClassifier"
    assert properties["certificate"] == "\n\n".join(map(str, model.certificate_))
    assert json.loads(properties["feature_names"]) == ["u", "v", "\xfc"]
    assert [value.name for value in (*proto.graph.input, *proto.graph.output)] == ["X", "label", "scores"]
    searched = PriceSearchCV(prices=[0.1], cv=3).fit(X, y == "a")
    assert {entry.key: entry.value for entry in to_onnx(searched).metadata_props} == {
        "estimator": "PriceSearchCV",
        "certificate": str(searched.best_estimator_.certificate_),
        "input": "numbers",
    }


REFUSED = {
    "trees": (LPBoostClassifier(oracle="trees"), "a SignedTree as a weak learner, which is no stump"),
    "perceptrons": (AdaBoostClassifier("perceptrons", n_rounds=2, random_state=0), "which is no stump"),
    "Fourier features": (LPBoostClassifier(oracle="fourier", tol=0.5, random_state=0), "which is no stump"),
    "a Gaussian kernel": (InfiniteEnsembleSVC("gaussian"), "the kernel 'gaussian' is not additive"),
    "middle stumps": (InfiniteEnsembleSVC("middle-stump"), "the kernel 'middle-stump' is not additive"),
    "a kernel of pairs": (InfiniteEnsembleSVC(StumpKernel() * StumpKernel()), "is not additive"),
    "RhoSVC": (RhoSVC("laplacian"), "the kernel Laplacian.* is no sum over features"),
    "kernels of given ranges": (RhoSVC(StumpKernel((-9.0,) * 3, (9.0,) * 3)), "was given ranges; leave them open"),
    "SupervisedKernelRLSClassifier": (SupervisedKernelRLSClassifier(n_experts=3), "a SupervisedKernelRLSClassifier"),
    "SupervisedKernelRLSRegressor": (SupervisedKernelRLSRegressor(n_experts=3), "a SupervisedKernelRLSRegressor"),
    "another library's": (LogisticRegression(), "a LogisticRegression, which is not made of"),
    "a pipeline": (make_pipeline(LPBoostClassifier(tol=0.1)), "a Pipeline, which is not made of"),
}


PREDICTORS = {
    "AdditiveRegressor": AdditiveRegressor(C=1.0),
    "counts": AdditiveRegressor("poisson", C=1.0),
    "LPBoostRanker": LPBoostRanker(tol=0.1),
    "AdditiveRanker": AdditiveRanker(C=0.1),
    "LPBoostRegressor": LPBoostRegressor(tol=0.1, oracle="pair_rules"),
    "quantiles": LPBoostRegressor("quantile", quantile=[0.2, 0.5, 0.9], tol=0.1),
    "ColumnGenerationRegressor": ColumnGenerationRegressor(tol=0.1, oracle="depth_two_trees"),
    "ColumnGenerationSurvival": ColumnGenerationSurvival(tol=0.1),
    "InfiniteEnsembleSVR": InfiniteEnsembleSVR(),
}


@pytest.mark.parametrize("name", PREDICTORS)
def test_models_without_classes_predict_alike(name):
    X, y = sample(2)
    t = np.abs(X[:, 0] * X[:, 1]) + (y == "a")
    model = clone(PREDICTORS[name]).fit(X, t)
    run = session(model)
    assert [each.name for each in run.get_outputs()] == ["scores"]
    (scores,) = run.run(None, {"X": X})
    if name in {"InfiniteEnsembleSVR", "counts"}:
        np.testing.assert_allclose(scores, model.predict(X), rtol=1e-12)
    else:
        np.testing.assert_array_equal(scores, model.predict(X), strict=True)
    X[3, 1] = np.inf
    assert_refused(model, X, error="")


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_exported(name):
    estimator, found = REFUSED[name]
    X, y = sample(2)
    model = clone(estimator).fit(X, (y == "a").astype(int))
    with pytest.raises(InvalidInput, match=f"^model: found (that )?.*{found}.*; give an ensemble of stumps, or a mach"):
        to_onnx(model)


def test_every_estimator_is_exported_or_refused():
    exported = (
        *STUMPS.values(),
        *PREDICTORS.values(),
        *ADDITIVE.values(),
        CGEnsSLSClassifier(),
        *(kind() for kind in EXPANSIONS),
    )
    tried = {type(estimator).__name__ for estimator in exported}
    refused = {type(estimator).__name__ for estimator, _ in REFUSED.values()}
    assert tried | refused >= {name for name in estimators.__all__ if hasattr(getattr(estimators, name), "fit")}


def test_an_unfitted_estimator():
    with pytest.raises(NotFittedError):
        to_onnx(LPBoostClassifier())


WITHOUT = """
import sys
sys.modules["onnx"] = None
from cvxens import LPBoostClassifier
from cvxens.errors import InvalidInput
from cvxens.export import to_onnx
from cvxens.hypotheses import Branch, Interval, Rule, Scaled
try:
    to_onnx(LPBoostClassifier().fit([[0.0], [1.0]], [0, 1]))
except InvalidInput as error:
    print(error)
"""


def test_without_the_package_the_error_says_what_to_install():
    done = subprocess.run([sys.executable, "-c", WITHOUT], capture_output=True, text=True, check=True, timeout=120)
    assert done.stdout.strip() == "onnx: found no such package; install it: pip install 'cvxens[onnx]'"
