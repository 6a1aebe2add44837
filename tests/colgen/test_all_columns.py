"""Least squares over all hypotheses of a finite set at once: against the closed form, an array, and generation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import load_iris

from cvxens import CGEnsSLSClassifier
from cvxens.colgen import column_generation, formulations
from cvxens.colgen.all_columns import solve_over_all
from cvxens.colgen.oracles import QuantileStumps
from cvxens.errors import SolverFallbackWarning
from cvxens.estimators import classifiers
from cvxens.limits import limit_threads, limit_time
from cvxens.problems import SLSSVM, simplex_codes
from cvxens.solvers import conjugate_gradients, solve_slssvm
from cvxens.solvers.least_squares import iterate_least_squares

ENTRIES = st.one_of(st.integers(-3, 3).map(float), st.just(np.nan))
SAMPLES = arrays(np.float64, (12, 2), elements=ENTRIES).filter(
    lambda X: all(len(np.unique(column[~np.isnan(column)])) > 1 for column in X.T)
)


@given(SAMPLES, st.integers(1, 5), st.integers(0, 2**20))
def test_products_are_those_of_the_array(X, n_thresholds, seed):
    oracle = QuantileStumps(X, n_thresholds=n_thresholds)
    columns, random = oracle.columns, np.random.default_rng(seed)
    if columns is None:
        assert len(oracle.hypotheses) > oracle._splits.shape[1]
        columns = oracle._splits
    listed = [h for h in oracle.hypotheses if type(h).__name__ != "LevelStump"]
    H = np.column_stack([h(X) for h in listed])
    assert columns.shape == H.shape
    for shape in ((), (3,)):
        w, s = random.normal(size=(H.shape[1], *shape)), random.normal(size=(len(X), *shape))
        np.testing.assert_allclose(columns.scores(w), H @ w, atol=1e-12)
        np.testing.assert_allclose(columns.edges(s), H.T @ s, atol=1e-12)


def test_products_are_the_same_bits_on_any_number_of_threads():
    random = np.random.default_rng(0)
    columns = QuantileStumps(random.normal(size=(3000, 40))).columns
    w, s = random.normal(size=(columns.shape[1], 2)), random.normal(size=(3000, 2))
    with limit_threads(1):
        alone = columns.scores(w), columns.edges(s)
    assert all(np.array_equal(a, b) for a, b in zip(alone, (columns.scores(w), columns.edges(s)), strict=True))


@given(st.integers(0, 2**20), st.sampled_from([1e-3, 1.0, 1e3]), st.booleans())
def test_conjugate_gradients_find_what_the_closed_form_does(seed, C, weighted):
    random = np.random.default_rng(seed)
    n, n_classes = 15, int(random.integers(2, 5))
    labels = np.append(np.arange(n_classes), random.integers(0, n_classes, n - n_classes))
    weights = random.choice([0.0, 0.5, 1.0, 3.0], n) if weighted else np.ones(n)
    weights[:n_classes] = 1.0
    problem = SLSSVM(random.normal(size=(n, 6)) + 2, simplex_codes(n_classes)[labels], C, weights)
    expected = solve_slssvm(problem)
    found = iterate_least_squares(problem, 1e-10)
    assert problem.certify(found).holds(1e-9)
    np.testing.assert_allclose(found["W"], expected.variables["W"], atol=1e-5)
    np.testing.assert_allclose(found["b"], expected.variables["b"], atol=1e-5)


def iris():
    X, labels = load_iris(return_X_y=True)
    return X[::3], labels[::3]


def test_all_at_once_is_where_generation_ends():
    X, labels = iris()
    oracle, formulation = QuantileStumps(X), formulations.simplex_least_squares(simplex_codes(3)[labels], 0.1)
    run, generated = solve_over_all(formulation, oracle, 1e-7), column_generation(formulation, oracle, tol=1e-7)
    assert run.certificate.holds(1e-7)
    assert run.ending.name == "OPTIMAL"
    assert run.certificate.primal == pytest.approx(generated.certificate.primal, rel=1e-6)
    np.testing.assert_allclose(run.decision_function(X), generated.decision_function(X), atol=1e-2)


def test_a_large_sample_is_fitted_over_all_hypotheses(monkeypatch):
    X, labels = iris()
    some = CGEnsSLSClassifier(C=0.1).fit(X, labels)
    monkeypatch.setattr(classifiers, "LARGE", 0)
    model = CGEnsSLSClassifier(C=0.1).fit(X, labels)
    assert len(model.weak_learners_) == len(QuantileStumps(X).hypotheses)
    assert model.certificate_.holds(1e-3)
    assert model.certificate_.primal == pytest.approx(some.certificate_.primal, rel=2e-3)
    assert (model.predict(X) == some.predict(X)).mean() > 0.95
    assert model.certify(X, labels).holds(1e-3)
    for asked in ({"max_columns": 30}, {"columns_per_round": 10}, {"min_edge": 0.5}, {"solver": "reference"}):
        assert len(CGEnsSLSClassifier(C=0.1, tol=0.5, **asked).fit(X, labels).history_) > 1


def test_prices_that_are_too_large_are_left_to_generated_columns(monkeypatch):
    X, labels = iris()
    monkeypatch.setattr(classifiers, "LARGE", 0)
    monkeypatch.setattr(conjugate_gradients, "MAX_STEPS", 0)
    with pytest.warns(SolverFallbackWarning, match="generated columns"):
        model = CGEnsSLSClassifier(C=0.1).fit(X, labels)
    assert model.certificate_.holds(1e-3)


def test_without_time_the_certificate_is_of_what_was_found():
    X, labels = iris()
    formulation = formulations.simplex_least_squares(simplex_codes(3)[labels], 0.1)
    with limit_time(1e-9):
        run = solve_over_all(formulation, QuantileStumps(X), 1e-6)
    assert run.ending.name == "MAX_TIME"
    assert 1e-6 < run.certificate.relative_gap < 1.001
