"""What estimators refuse, and that a fit that fails leaves nothing behind."""

from functools import partial

import numpy as np
import pandas as pd
import pytest
from estimator_samples import BY_MARGINS, EVERY, called, three_classes, two_classes
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from cvxens import CGEnsSLSClassifier, ColumnGenerationClassifier, LPBoostClassifier
from cvxens.colgen import formulations, oracles
from cvxens.errors import InvalidInput

X, Y = two_classes()


def changed(X, value, dtype=float):
    X = X.astype(dtype)
    X[3, 1] = value
    return X


BAD_SAMPLES = {
    "no samples": (X[:0], Y[:0], "0 sample"),
    "one sample": (X[:1], Y[:1], "1|one"),
    "no features": (X[:, :0], Y, "0 feature"),
    "one dimension": (X[:, 0], Y, "2D array"),
    "three dimensions": (X[None], Y, "dim 3|3 dimensions|inconsistent"),
    "scalar": (1.0, Y, "2D array|scalar"),
    "NaN": (changed(X, np.nan), Y, "NaN"),
    "infinity": (changed(X, np.inf), Y, "infinity"),
    "negative infinity": (changed(X, -np.inf), Y, "infinity"),
    "words": (changed(X, "red", object), Y, "could not convert|numeric"),
    "only words": (np.full(X.shape, "red"), Y, "could not convert|numeric"),
    "complex": (X + 1j, Y, "[Cc]omplex"),
    "constant features": (np.ones_like(X), Y, "constant|alike"),
    "fewer labels": (X, Y[:-1], "inconsistent"),
    "no labels": (X, None, "requires y|y"),
    "one class": (X, np.ones(len(X)), "class"),
    "a continuous target": (X, np.linspace(0, 1, len(X)), "continuous"),
    "labels of two columns": (X, np.stack([Y, Y], axis=1), "1d array|shape"),
    "NaN among the labels": (X, np.where(Y == "yes", np.nan, 1.0), "NaN"),
    "infinity among the labels": (X, np.where(Y == "yes", np.inf, 1.0), "infinity|large"),
    "labels of mixed types": (X, np.array([1, "a"] * (len(X) // 2), object), "[Mm]ix|str|type|object"),
}

BAD_WEIGHTS = {
    "too few": (np.ones(3), "sample_weight"),
    "two dimensions": (np.ones((len(X), 2)), "1D|Sample weights"),
    "negative": (-np.ones(len(X)), "sample_weight"),
    "NaN": (np.full(len(X), np.nan), "NaN"),
    "infinity": (np.full(len(X), np.inf), "infinity"),
    "all zero": (np.zeros(len(X)), "non-zero|class"),
    "none for a class": ((Y == "yes").astype(float), "class"),
    "words": (np.full(len(X), "heavy"), "could not convert"),
}

BAD_PARAMETERS = {
    "tol": [0, -1, np.nan, np.inf, "small", None, True],
    "max_columns": [0, -3, "many"],
    "max_time": [0, -1.0, np.nan, "long"],
    "columns_per_round": [0, -1, 1.5],
    "solver": ["slow", None, 3],
    "oracle": ["stump", None, 3],
}

OWN_PARAMETERS = [
    *((CGEnsSLSClassifier(C=C), "C") for C in (0, -1, np.nan, np.inf, "large", None)),
    *((LPBoostClassifier(nu=nu), "nu") for nu in (0, -0.1, 1.1, np.nan, "small")),
    *((LPBoostClassifier(C=C), "C") for C in (0, -0.1, np.inf, "small")),
    (LPBoostClassifier(nu=0.5, C=1.0), "nu"),
    (ColumnGenerationClassifier(formulation="lpboost"), "formulation"),
    (ColumnGenerationClassifier(formulation=None), "formulation"),
    (ColumnGenerationClassifier(formulations.simplex_least_squares([[1.0], [-1.0]] * 20, 1.0)), "formulation"),
    (LPBoostClassifier(oracle=oracles.Trees, columns_per_round=3), "columns_per_round"),
]

BAD_NEW_SAMPLES = {
    "another number of features": (X[:, :2], ValueError, "2 features"),
    "one dimension": (X[0], ValueError, "2D array"),
    "no samples": (X[:0], ValueError, "0 sample"),
    "NaN": (changed(X, np.nan), ValueError, "NaN"),
    "infinity": (changed(X, np.inf), ValueError, "infinity"),
    "words": (changed(X, "red", object), ValueError, "could not convert|numeric"),
    "None": (None, ValueError, "2D array|None|dtype"),
}


def assert_untouched(estimator, before):
    assert vars(estimator).keys() == before.keys()
    assert all(vars(estimator)[name] is before[name] for name in before)


@pytest.mark.parametrize("estimator", EVERY, ids=called)
@pytest.mark.parametrize("case", BAD_SAMPLES)
def test_bad_samples(estimator, case):
    bad_X, bad_y, message = BAD_SAMPLES[case]
    estimator = clone(estimator)
    before = dict(vars(estimator))
    with pytest.raises((ValueError, TypeError), match=message):
        estimator.fit(bad_X, bad_y)
    assert_untouched(estimator, before)


@pytest.mark.parametrize("estimator", BY_MARGINS, ids=called)
@pytest.mark.parametrize("case", BAD_WEIGHTS)
def test_bad_weights(estimator, case):
    weights, message = BAD_WEIGHTS[case]
    estimator = clone(estimator)
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, Y, sample_weight=weights)
    assert not hasattr(estimator, "n_features_in_")


@pytest.mark.parametrize("estimator", EVERY, ids=called)
@pytest.mark.parametrize(
    ("name", "value"), [(name, value) for name in BAD_PARAMETERS for value in BAD_PARAMETERS[name]]
)
def test_bad_parameters_of_every_estimator(estimator, name, value):
    with pytest.raises(InvalidInput, match=name):
        clone(estimator).set_params(**{name: value}).fit(X, Y)


@pytest.mark.parametrize(("estimator", "name"), OWN_PARAMETERS)
def test_bad_parameters_of_one_estimator(estimator, name):
    with pytest.raises(InvalidInput, match=name):
        estimator.fit(X, Y)


@pytest.mark.parametrize("estimator", BY_MARGINS, ids=called)
def test_bad_decomposition(estimator):
    with pytest.raises(InvalidInput, match="multi_class"):
        clone(estimator).set_params(multi_class="both").fit(*three_classes())


@pytest.mark.parametrize("estimator", EVERY, ids=called)
@pytest.mark.parametrize("case", BAD_NEW_SAMPLES)
def test_bad_new_samples(estimator, case):
    new, error, message = BAD_NEW_SAMPLES[case]
    fitted = clone(estimator).fit(X, Y)
    with pytest.raises(error, match=message):
        fitted.predict(new)


@pytest.mark.parametrize("estimator", EVERY, ids=called)
@pytest.mark.parametrize("names", [["b", "a", "c"], ["a", "b", "d"]])
def test_features_by_other_names(estimator, names):
    fitted = clone(estimator).fit(pd.DataFrame(X, columns=["a", "b", "c"]), Y)
    with pytest.raises(ValueError, match="feature names"):
        fitted.predict(pd.DataFrame(X, columns=names))


@pytest.mark.parametrize("estimator", EVERY, ids=called)
@pytest.mark.parametrize(
    "use",
    [
        lambda model: model.predict(X),
        lambda model: model.decision_function(X),
        lambda model: model.score(X, Y),
        lambda model: model.certify(X, Y),
        lambda model: model.to_frame(),
        lambda model: model.to_text(),
        lambda model: model.feature_importances_,
    ],
)
def test_unfitted_use(estimator, use):
    with pytest.raises(NotFittedError, match="not fitted"):
        use(clone(estimator))


@pytest.mark.parametrize("estimator", EVERY, ids=called)
def test_sparse_samples_for_an_oracle_that_takes_none(estimator):
    with pytest.raises(TypeError, match="dense"):
        clone(estimator).set_params(oracle="perceptrons").fit(csr_array(X), Y)


@pytest.mark.parametrize("estimator", EVERY, ids=called)
def test_a_fit_that_fails_leaves_the_last_one(estimator):
    model = clone(estimator).fit(X, Y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match="NaN"):
        model.fit(changed(X[:, :2], np.nan), Y)
    assert_untouched(model, before)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weights": [1.0]}, "weights"),
        ({"weights": [np.nan]}, "weights"),
        ({"y": np.full(len(X), "yes")}, "y"),
        ({"y": np.where(Y == "yes", "yes", "perhaps")}, "y"),
    ],
)
def test_bad_certification(arguments, message):
    model = LPBoostClassifier().fit(X, Y)
    with pytest.raises(InvalidInput, match=message):
        model.certify(X, **{"y": Y, **arguments})


def test_fixed_prices_for_weighted_samples():
    model = ColumnGenerationClassifier(formulations.soft_margin(0.5))
    with pytest.raises(InvalidInput, match="function from the weights"):
        model.fit(X, Y, sample_weight=np.arange(1.0, 1 + len(X)))


def test_an_oracle_that_fails_leaves_nothing():
    model = LPBoostClassifier(oracle=partial(oracles.Perceptrons, n_directions=0))
    with pytest.raises(InvalidInput, match="n_directions"):
        model.fit(X, Y)
    assert not hasattr(model, "classes_")
