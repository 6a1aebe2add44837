"""Sparse samples for oracles of one's own and for scikit-learn's learners, and refusals of those that take none."""

from functools import partial

import numpy as np
import pytest
from estimator_samples import Coordinates, three_classes, two_classes
from public_estimators import CLASSIFIERS, FAMILIES, PUBLIC
from scipy.sparse import coo_array, csc_array, csr_array, csr_matrix
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from cvxens import AdaBoostClassifier, AdaBoostECCClassifier
from cvxens.colgen import oracles
from cvxens.errors import InvalidInput

X, Y = two_classes()
X = np.where(np.abs(X) > 0.4, np.clip(X / 3, -1, 1), 0.0)
SPARSE = csr_array(X)
TARGETS = {name: Y if name in CLASSIFIERS else np.abs(X[:, 0] - 2 * X[:, 1]) for name in PUBLIC}

TREE = partial(oracles.SklearnLearner, DecisionTreeClassifier(max_depth=2, random_state=0))
LINEAR = partial(oracles.SklearnLearner, LogisticRegression())
WITH_ORACLE = [name for name in [*FAMILIES, "LPBoostRanker"] if "oracle" in PUBLIC[name].get_params()]
QUICK = {"n_rounds": 4, "tol": 0.3, "max_columns": 30}


def quick(name, oracle):
    estimator = clone(PUBLIC[name])
    return estimator.set_params(oracle=oracle, **{k: QUICK[k] for k in QUICK.keys() & estimator.get_params().keys()})


@pytest.mark.thinned(1)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.product(oracle=[Coordinates, partial(Coordinates), TREE, LINEAR], name=WITH_ORACLE)
def test_sparse_samples_are_learnt_and_classified(name, oracle):
    """One model as of dense samples, where ties between optima do not make two of it."""
    targets, use = TARGETS[name], "decision_function" if name in CLASSIFIERS else "predict"
    dense, sparse = (quick(name, oracle).fit(sample, targets) for sample in (X, SPARSE))
    if name.startswith("AdaBoost"):
        np.testing.assert_allclose(sparse.decision_function(SPARSE), dense.decision_function(X), atol=1e-6)
    assert sparse.score(SPARSE, targets) == pytest.approx(dense.score(X, targets), abs=0.06)
    for new in (csr_matrix(X), csc_array(X), coo_array(X), X):
        np.testing.assert_allclose(getattr(sparse, use)(new), getattr(sparse, use)(SPARSE), atol=1e-12)
    assert sparse.__sklearn_tags__().input_tags.sparse


@pytest.mark.parametrize(("given", "handed"), [(csr_array, "csr"), (csc_array, "csc"), (coo_array, "csr")])
def test_an_oracle_is_handed_sparse_samples_as_they_are(given, handed, monkeypatch):
    monkeypatch.setattr(Coordinates, "seen", ())
    AdaBoostClassifier(Coordinates, n_rounds=2).fit(given(X), Y)
    assert set(Coordinates.seen) == {handed}


@pytest.mark.parametrize(
    "estimator", [AdaBoostClassifier(TREE, n_rounds=3), AdaBoostECCClassifier(Coordinates, n_rounds=3)]
)
def test_several_classes_of_sparse_samples(estimator):
    Z, y = three_classes()
    Z = np.tanh(Z)
    dense, sparse = (clone(estimator).fit(sample, y) for sample in (Z, csr_array(Z)))
    np.testing.assert_allclose(sparse.decision_function(csr_array(Z)), dense.decision_function(Z), atol=1e-9)


def test_samples_that_are_alike_or_weigh_nothing():
    weights = np.arange(len(Y)) % 3
    twice = np.r_[np.arange(len(Y)), np.arange(len(Y))]
    dense, sparse = (
        AdaBoostClassifier(TREE, n_rounds=3).fit(sample[twice], Y[twice], sample_weight=weights[twice])
        for sample in (X, SPARSE)
    )
    np.testing.assert_allclose(sparse.decision_function(SPARSE), dense.decision_function(X))


@pytest.mark.parametrize(
    ("oracle", "message"),
    [
        ("perceptrons", "dense"),
        ("fourier", "dense"),
        (oracles.Perceptrons, "dense"),
        (oracles.KernelColumns, "dense"),
        (partial(oracles.Fourier, n_directions=5), "dense"),
        (partial(oracles.SklearnLearner, GaussianNB()), "dense"),
        (lambda X: oracles.Perceptrons(X, n_directions=5), "X: found a sparse matrix; give a dense one"),
        (lambda X: oracles.Pool(X, columns_per_round=2), "H: found a sparse matrix; give a dense one"),
    ],
)
def test_what_takes_no_sparse_samples_says_so(oracle, message):
    with pytest.raises((InvalidInput, TypeError), match=message):
        quick("LPBoostClassifier", oracle).fit(SPARSE, Y)


def test_learners_that_take_gaps_are_given_them():
    gaps = X.copy()
    gaps[::5, 1] = np.nan
    assert AdaBoostClassifier(TREE, n_rounds=2).fit(gaps, Y).predict(gaps).shape == Y.shape
    with pytest.raises(ValueError, match="NaN"):
        AdaBoostClassifier(LINEAR, n_rounds=2).fit(gaps, Y)
