"""Model selection gives what scikit-learn's grid search gives."""

import numpy as np
import pandas as pd
import pytest
from estimator_samples import three_classes, two_classes
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_score
from sklearn.svm import SVC

from cvxens import InfiniteEnsembleSVC, InfiniteEnsembleSVCCV
from cvxens.datasets import make_threenorm
from cvxens.errors import InvalidInput
from cvxens.estimators import machines
from cvxens.estimators.infinite_ensembles import PRICES, WIDTHS
from cvxens.kernels import DecisionStump, Gaussian, Perceptron, Stump
from cvxens.solvers import blockwise

X, Y = make_threenorm(120, 4, random_state=0)
CS = [0.5, 2.0**-9, 4.0, 2.0**-5]


def assert_same_search(ours, grid):
    assert ours.cv_results_["params"] == grid.cv_results_["params"]
    for name in ("mean_test_score", "std_test_score"):
        assert_allclose(ours.cv_results_[name], grid.cv_results_[name], atol=1e-12)
    assert_array_equal(ours.cv_results_["rank_test_score"], grid.cv_results_["rank_test_score"])
    for k in range(grid.n_splits_):
        name = f"split{k}_test_score"
        assert_allclose(ours.cv_results_[name], grid.cv_results_[name], atol=1e-12)
    assert ours.best_params_ == grid.best_params_
    assert ours.best_score_ == pytest.approx(grid.best_score_)
    assert (ours.best_index_, ours.n_splits_) == (grid.best_index_, grid.n_splits_)


def both(estimator, sample=X, y=Y, *, gammas=None, sample_weight=None, **options):
    ours = InfiniteEnsembleSVCCV(estimator, Cs=CS, gammas=gammas, **options).fit(sample, y, sample_weight)
    values = {"C": CS} | ({} if gammas is None else {"gamma": gammas})
    return ours, GridSearchCV(estimator, values, **options).fit(sample, y, sample_weight=sample_weight)


@pytest.mark.parametrize("kernel", ["stump", "perceptron", DecisionStump(), Gaussian(0.1), Stump() + Gaussian(0.1)])
@pytest.mark.parametrize("solver", ["auto", "libsvm"])
def test_the_answer_is_that_of_a_grid_search(kernel, solver):
    ours, grid = both(InfiniteEnsembleSVC(kernel, tol=1e-8, solver=solver))
    assert_same_search(ours, grid)
    assert_allclose(ours.decision_function(X), grid.decision_function(X), atol=2e-3)
    assert_array_equal(ours.predict(X), grid.predict(X))
    assert (ours.cv_results_["max_relative_gap"] <= 1e-8).all()


def test_the_answer_is_that_of_a_grid_search_with_the_additive_solver():
    ours, grid = both(InfiniteEnsembleSVC(tol=1e-8, solver="additive"))
    assert_same_search(ours, grid)
    assert ours.best_estimator_.solver_ == "additive"


@pytest.mark.parametrize("kernel", ["gaussian", "laplacian"])
def test_a_grid_of_gamma_and_C(kernel):
    assert_same_search(*both(InfiniteEnsembleSVC(kernel, tol=1e-8), gammas=[0.5, 0.01]))


def test_the_answer_is_that_of_a_search_over_scikit_learn_machines():
    ours = InfiniteEnsembleSVCCV(InfiniteEnsembleSVC("perceptron", tol=1e-8), Cs=CS).fit(X, Y)
    peer = GridSearchCV(SVC(kernel="precomputed", tol=1e-8), {"C": CS}, cv=5).fit(Perceptron()(X), Y)
    assert_same_search(ours, peer)


def test_several_classes():
    sample, y = three_classes(90)
    assert_same_search(*both(InfiniteEnsembleSVC(tol=1e-8), sample, y, cv=3))


@pytest.mark.parametrize(
    "options",
    [
        {"cv": KFold(3, shuffle=True, random_state=0)},
        {"cv": StratifiedKFold(4)},
        {"cv": [(np.arange(100)[::-1], np.arange(100, 120)), (np.arange(20, 120), np.arange(20))]},
        {"scoring": "roc_auc"},
        {"scoring": "balanced_accuracy"},
        {"scoring": lambda model, sample, y: float(np.mean(model.decision_function(sample) * y))},
        {"n_jobs": 2},
    ],
    ids=", ".join,
)
def test_folds_and_scores(options):
    ours, grid = both(InfiniteEnsembleSVC(tol=1e-9), **{"cv": 5, **options})
    assert_allclose(ours.cv_results_["mean_test_score"], grid.cv_results_["mean_test_score"], atol=1e-3)
    assert ours.best_params_ == grid.best_params_


@pytest.mark.parametrize("class_weight", [None, "balanced", {-1: 3.0, 1: 0.5}])
def test_weights(class_weight):
    weights = np.random.default_rng(0).integers(0, 3, len(Y))
    estimator = InfiniteEnsembleSVC(class_weight=class_weight, tol=1e-8)
    assert_same_search(*both(estimator, sample_weight=weights))


def test_a_given_matrix():
    assert_same_search(*both(InfiniteEnsembleSVC("precomputed", tol=1e-8), Perceptron()(X)))


def test_a_matrix_that_does_not_fit(monkeypatch):
    dense = InfiniteEnsembleSVCCV(InfiniteEnsembleSVC("perceptron", tol=1e-8), Cs=CS).fit(X, Y)
    monkeypatch.setattr(machines, "available_memory", lambda: 50_000)
    cached = InfiniteEnsembleSVCCV(InfiniteEnsembleSVC("perceptron", tol=1e-8), Cs=CS).fit(X, Y)
    assert_array_equal(dense.cv_results_["mean_test_score"], cached.cv_results_["mean_test_score"])


def test_the_grids_are_multiples_of_the_defaults_or_those_of_the_paper():
    sample, y = two_classes(60)
    shares = [2.0**k for k in range(-8, 9, 2)]
    stump = InfiniteEnsembleSVCCV(cv=2).fit(sample, y)
    default = InfiniteEnsembleSVC().fit(sample, y)
    assert_allclose(stump.cv_results_["param_C"], np.multiply(shares, default.C_))
    gaussian = InfiniteEnsembleSVCCV(InfiniteEnsembleSVC("gaussian"), cv=2).fit(sample, y)
    default = InfiniteEnsembleSVC("gaussian").fit(sample, y)
    assert_allclose(np.unique(gaussian.cv_results_["param_C"]), np.multiply(shares, default.C_))
    assert_allclose(np.unique(gaussian.cv_results_["param_gamma"]), np.multiply(shares, default.kernel_.gamma))
    of_paper = InfiniteEnsembleSVCCV(cv=2, Cs=PRICES).fit(sample, y)
    assert of_paper.cv_results_["param_C"].tolist() == list(PRICES) == [2.0**k for k in range(-17, 4, 2)]
    assert tuple(2.0**k for k in range(-15, 4, 2)) == WIDTHS
    fixed = InfiniteEnsembleSVCCV(InfiniteEnsembleSVC("gaussian", gamma=0.5), Cs=CS, cv=2).fit(sample, y)
    assert fixed.best_estimator_.kernel_ == Gaussian(0.5)
    assert set(fixed.best_params_) == {"C"}


@pytest.mark.parametrize(
    ("kernel", "n_Cs", "n_gammas", "smallest"),
    [
        *(("stump", 11, 1, 2.0**-17), ("perceptron", 11, 1, 2.0**-17), ("middle-stump", 11, 1, 2.0**-18)),
        *(("laplacian", 11, 10, 2.0**-5), (Gaussian(0.1), 11, 1, 2.0**-5)),
    ],
    ids=str,
)
def test_the_grids_of_ll08_section_7(kernel, n_Cs, n_gammas, smallest):
    search = InfiniteEnsembleSVCCV(InfiniteEnsembleSVC(kernel, tol=1e-2), Cs="ll08", cv=2).fit(X[:16], Y[:16])
    tried = search.cv_results_["params"]
    assert len(tried) == n_Cs * n_gammas
    assert min(params["C"] for params in tried) == smallest
    assert max(params["C"] for params in tried) == 2.0**20 * smallest
    if n_gammas > 1:
        assert sorted({params["gamma"] for params in tried}) == list(WIDTHS)


def test_results_are_a_table():
    ours = InfiniteEnsembleSVCCV(InfiniteEnsembleSVC("gaussian"), Cs=CS, gammas=[0.1, 1.0], cv=2).fit(X, Y)
    table = pd.DataFrame(ours.cv_results_)
    assert len(table) == 8
    assert table.loc[ours.best_index_, ["param_C", "param_gamma"]].to_dict() == {
        f"param_{name}": value for name, value in ours.best_params_.items()
    }
    assert ours.refit_time_ > 0


def test_it_can_be_cross_validated_itself():
    scores = cross_val_score(InfiniteEnsembleSVCCV(Cs=CS, cv=3), X, Y, cv=3)
    assert scores.mean() > 0.7


def test_names_of_features():
    sample, y = two_classes()
    frame = pd.DataFrame(sample, columns=["a", "b", "c"])
    model = InfiniteEnsembleSVCCV(Cs=CS, cv=2).fit(frame, y)
    assert list(model.feature_names_in_) == ["a", "b", "c"]
    assert set(model.predict(frame)) == {"no", "yes"}


def test_fits_without_time_are_told_of():
    estimator = InfiniteEnsembleSVC(max_time=1e-9, tol=1e-12)
    with pytest.warns(ConvergenceWarning) as told:
        InfiniteEnsembleSVCCV(estimator, Cs=CS, cv=2).fit(X, Y)
    assert ["of 8 fits" in str(told[0].message), len(told)] == [True, 2]


def test_an_interrupt_ends_the_search(monkeypatch):
    def interrupt(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(blockwise, "close_gap", interrupt)
    model = InfiniteEnsembleSVCCV(Cs=CS)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, Y)
    assert not hasattr(model, "classes_")


@pytest.mark.parametrize(
    "bad",
    [
        {"Cs": []},
        {"Cs": [0.0, 1.0]},
        {"Cs": ["a"]},
        {"Cs": 1.0},
        {"gammas": [1.0]},
        {"gammas": [-1.0], "estimator": InfiniteEnsembleSVC("gaussian")},
        {"estimator": SVC()},
        {"estimator": InfiniteEnsembleSVC, "Cs": [1.0]},
        {"cv": [(np.flatnonzero(Y > 0), np.arange(5))]},
    ],
    ids=str,
)
def test_bad_searches(bad):
    model = InfiniteEnsembleSVCCV(**bad)
    with pytest.raises(InvalidInput, match=next(iter(bad)).replace("gammas", "gammas?")):
        model.fit(X, Y)
    assert not hasattr(model, "best_estimator_")


def test_searches_that_are_not_fitted():
    with pytest.raises(NotFittedError, match="not fitted"):
        InfiniteEnsembleSVCCV().predict(X)


def test_a_search_shows_how_far_it_is_where_that_is_asked_for(capsys):
    InfiniteEnsembleSVCCV(InfiniteEnsembleSVC("gaussian", verbose=1), Cs=[0.1, 1.0], gammas=[0.5], cv=2).fit(X, Y)
    shown = capsys.readouterr()
    assert "InfiniteEnsembleSVC: 2 folds, 2 prices, gamma 0.5" in shown.err
    assert shown.out == ""
