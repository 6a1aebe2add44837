"""Every estimator inside scikit-learn's tools, on data frames, in other processes."""

import io
import pickle

import joblib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pytest
from estimator_samples import three_classes, two_classes
from public_estimators import CLASSIFIERS, FAMILIES, PUBLIC, TARGETS
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.inspection import DecisionBoundaryDisplay
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.validation import has_fit_parameter

from cvxens import AdaBoostClassifier, CGEnsClassifier, InfiniteEnsembleSVC, LPBoostClassifier, RhoSVC

X, Y = two_classes()

X3, Y3 = three_classes()

FRAMES = [pd.DataFrame, lambda X, columns: pl.DataFrame(X, schema=columns)]

CLASSIFYING = [name for name in FAMILIES if name in CLASSIFIERS]

WEIGHTED = [name for name in FAMILIES if has_fit_parameter(PUBLIC[name], "sample_weight")]


def scores_of(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else model.predict(X)


GRIDS = [
    (CGEnsClassifier(), {"C": [1e-6, 0.1], "oracle": ["stumps", "quantile_stumps"]}, {"C": 0.1}),
    (InfiniteEnsembleSVC(), {"C": [1e-6, 0.1], "kernel": ["stump", "gaussian"]}, {"C": 0.1}),
    (RhoSVC(), {"C": [1e-3, 1.0], "kernel": ["middle-stump", "laplacian"]}, {}),
    (AdaBoostClassifier(), {"n_rounds": [1, 30], "oracle": ["stumps", "quantile_stumps"]}, {}),
]


@pytest.mark.parametrize(("estimator", "grid", "best"), GRIDS, ids=lambda found: type(found).__name__)
def test_grid_search_in_two_processes(estimator, grid, best):
    search = GridSearchCV(estimator, grid, cv=3, n_jobs=2, error_score="raise").fit(X, Y)
    assert len(search.cv_results_["params"]) == 4
    assert search.best_params_.items() >= best.items()
    assert search.score(X, Y) > 0.8


@pytest.mark.thinned(1, name=FAMILIES, frame=FRAMES)
def test_a_pipeline_of_scaled_features(name, frame):
    table = frame(X, columns=["a", "b", "c"])
    scale = StandardScaler().set_output(transform="pandas" if frame is pd.DataFrame else "polars")
    model = make_pipeline(scale, clone(PUBLIC[name])).fit(table, TARGETS[name])
    assert list(model[-1].feature_names_in_) == ["a", "b", "c"]
    assert model.score(table, TARGETS[name]) > 0.8
    # the scaler rounds frames in another order than arrays
    scaled = np.array(model[0].transform(table))
    plain = clone(PUBLIC[name]).fit(scaled, TARGETS[name])
    np.testing.assert_array_equal(model.predict(table), plain.predict(scaled))


@pytest.mark.parametrize("name", FAMILIES)
def test_a_column_transformer_of_words_and_numbers(name):
    table = pd.DataFrame({"size": X[:, 0], "weight": X[:, 1], "colour": np.where(X[:, 2] > 0, "red", "blue")})
    words = OneHotEncoder(sparse_output=False)
    encode = ColumnTransformer([("words", words, ["colour"])], remainder="passthrough")
    models = [
        make_pipeline(clone(encode).set_output(transform=output), clone(PUBLIC[name])).fit(found, TARGETS[name])
        for output, found in (("pandas", table), ("default", pl.from_pandas(table)))
    ]
    assert models[0].score(table, TARGETS[name]) > 0.8
    np.testing.assert_array_equal(models[0].predict(table), models[1].predict(pl.from_pandas(table)))


@pytest.mark.thinned(1, name=FAMILIES, sample=[(X, Y), (X3, Y3)])
def test_copies_are_equal_to_the_last_bit(name, sample):
    estimator = clone(PUBLIC[name])
    target = sample[1] if name in CLASSIFIERS else np.abs(sample[0].sum(axis=1))
    fitted = estimator.fit(sample[0], target)
    file = io.BytesIO()
    joblib.dump(fitted, file)
    file.seek(0)
    copies = pickle.loads(pickle.dumps(fitted)), joblib.load(file), clone(fitted).fit(sample[0], target)
    for copied in copies:
        np.testing.assert_array_equal(copied.predict(sample[0]), fitted.predict(sample[0]))
        np.testing.assert_array_equal(scores_of(copied, sample[0]), scores_of(fitted, sample[0]))


LABELS = {
    "bools": lambda y: y == 1,
    "integers": lambda y: 7 * y - 3,
    "floats": lambda y: 2.0 * y,
    "objects": lambda y: np.array(["no", "yes", "maybe"], object)[y],
    "a list": lambda y: np.array(["no", "yes", "maybe"])[y].tolist(),
    "a series": lambda y: pd.Series(np.array(["no", "yes", "maybe"])[y]),
    "categories": lambda y: pd.Categorical(np.array(["no", "yes", "maybe"])[y]),
    "polars": lambda y: pl.Series(np.array(["no", "yes", "maybe"])[y]),
}


@pytest.mark.parametrize("name", CLASSIFYING)
def test_labels_of_any_type(name):
    for kind, make in LABELS.items():
        y = np.where(Y == "yes", 1, 0)
        for sample, codes in ((X, y), (X3, Y3)) if kind != "bools" else ((X, y),):
            labels = make(codes)
            model = clone(PUBLIC[name]).fit(sample, labels)
            assert list(model.classes_) == sorted(set(labels))
            assert set(model.predict(sample)) <= set(labels)
            assert model.score(sample, labels) > 0.6


@pytest.mark.parametrize("name", CLASSIFYING)
def test_inside_other_classifiers(name):
    estimator = PUBLIC[name]
    votes = VotingClassifier([("a", estimator), ("b", DummyClassifier())]).fit(X, Y)
    stack = StackingClassifier([("a", estimator)], cv=2).fit(X, Y)
    bags = BaggingClassifier(estimator, n_estimators=2, random_state=0).fit(X, Y)
    frozen = CalibratedClassifierCV(FrozenEstimator(clone(estimator).fit(X, Y))).fit(X, Y)
    assert min(model.score(X, Y) for model in (stack, bags, frozen)) > 0.8
    assert votes.score(X, Y) > 0.5
    for scheme in (OneVsRestClassifier, OneVsOneClassifier):
        assert scheme(estimator).fit(X3, Y3).score(X3, Y3) > 0.6


@pytest.mark.parametrize("name", CLASSIFYING)
def test_decision_boundaries(name):
    for sample in ((X[:, :2], Y), (X3, Y3)):
        model = clone(PUBLIC[name]).fit(*sample)
        display = DecisionBoundaryDisplay.from_estimator(model, sample[0], grid_resolution=10)
        assert display.response.shape[:2] == (10, 10)
        plt.close(display.figure_)


@pytest.mark.parametrize("name", WEIGHTED)
def test_weights_are_routed(name):
    weights = np.where(Y == "yes", 5.0, 1.0)
    targets = TARGETS[name]
    alone = clone(PUBLIC[name]).fit(X, targets, sample_weight=weights)
    with config_context(enable_metadata_routing=True):
        asking = clone(PUBLIC[name]).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
        routed = make_pipeline(asking).fit(X, targets, sample_weight=weights)
        search = GridSearchCV(make_pipeline(asking), {}, cv=2, error_score="raise")
        search.fit(X, targets, sample_weight=weights)
        cross_validate(asking, X, targets, cv=2, params={"sample_weight": weights}, error_score="raise")
    use = "decision_function" if name in CLASSIFIERS else "predict"
    for model in (routed, search):
        np.testing.assert_array_equal(getattr(model, use)(X), getattr(alone, use)(X))


def test_sub_problems_in_two_processes():
    one, two = (LPBoostClassifier(n_jobs=n_jobs).fit(X3, Y3) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.decision_function(X[:, :2]), two.decision_function(X[:, :2]))


def test_missing_values_go_to_stumps_and_trees():
    holes = np.where(np.arange(X.size).reshape(X.shape) % 11 == 0, np.nan, X)
    assert LPBoostClassifier(oracle="trees", max_columns=200).fit(holes, Y).score(holes, Y) > 0.8
    assert LPBoostClassifier(oracle="stumps").fit(holes, Y).score(holes, Y) > 0.8
    with pytest.raises(ValueError, match="NaN"):
        LPBoostClassifier(oracle="perceptrons").fit(holes, Y)
